//! Numbers of packets in archives. They are the same whatever is looked for: a stream has the number of its first packet as its id, and
//! by the number of any of its packets it is found again.

use super::entry::Entry;
use crate::{Error, Identities};

/// Packets of a directory have numbers below this; those of the next one begin there.
const FOLDER_PACKETS: u64 = 1 << 40;
/// Numbers that are set aside for a capture without an index.
const UNKNOWN_PACKETS: u64 = 1 << 32;

/// The directory and the number in it of a packet; `None`: no packet has this number.
pub(super) fn folder_and_packet(number: u64, folders: usize) -> Option<(usize, u64)> {
    let packet = number.checked_sub(1)?;
    let folder = usize::try_from(packet / FOLDER_PACKETS).ok().filter(|folder| *folder < folders)?;
    Some((folder, packet % FOLDER_PACKETS))
}

/// Gives each capture the numbers of its packets. What has no index yet comes after all others.
pub(super) fn give(entries: &mut [Entry], folder: usize) {
    let base = (folder as u64).saturating_mul(FOLDER_PACKETS);
    let ended = |entry: &Entry| {
        let summary = entry.summary.as_ref().filter(|_| !entry.is_part)?;
        Some(summary.packets_before.saturating_add(summary.packets))
    };
    let mut next = entries.iter().filter_map(ended).max().unwrap_or(0);
    for entry in entries {
        let known = entry.summary.as_ref().filter(|_| !entry.is_part).map(|summary| summary.packets_before);
        entry.packets_before = base.saturating_add(known.unwrap_or(next));
        if known.is_none() {
            next = next.saturating_add(entry.summary.as_ref().map_or(UNKNOWN_PACKETS, |summary| summary.packets));
        }
    }
}

/// A stream that a packet belongs to.
pub(super) struct Found {
    /// The capture that has the packet, of its directory.
    place: usize,
    /// Its id in the index.
    stream: u64,
    recording: String,
}

/// Finds the stream of a packet. `packet`: its number in the directory, from 0.
pub(super) fn find_stream(entries: &[Entry], packet: u64, identities: &Identities) -> Result<Option<Found>, Error> {
    for (place, entry) in entries.iter().enumerate() {
        let Some(summary) = &entry.summary else { continue };
        let own = (packet + 1)
            .checked_sub(entry.packets_before % FOLDER_PACKETS)
            .filter(|own| (1..=summary.packets).contains(own));
        let Some(own) = own else { continue };
        if let Some(mut sidecar) = entry.sidecar(identities)?
            && let Some(stream) = sidecar.stream_of(own - 1)?
        {
            return Ok(Some(Found { place, stream, recording: summary.recording.clone() }));
        }
        break;
    }
    Ok(None)
}

/// Keeps the captures of a directory that have packets of a stream. `is_own`: the packet by which it was found is here. Captures without
/// an index stay: nobody knows.
pub(super) fn keep_stream(entries: &mut Vec<Entry>, found: Option<&Found>, is_own: bool) {
    let mut place = 0;
    entries.retain_mut(|entry| {
        let here = place;
        place += 1;
        let Some(summary) = &entry.summary else { return true };
        let Some(found) = found else { return false };
        entry.stream = Some(found.stream);
        is_own && here == found.place || !found.recording.is_empty() && summary.recording == found.recording
    });
}
