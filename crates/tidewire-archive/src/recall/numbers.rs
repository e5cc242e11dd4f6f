//! Numbers of packets in archives. They are the same whatever is looked for: a stream has the number of its first packet as its id, and
//! by the number of any of its packets it is found again.

use super::{entry::Entry, packets::packets_of};
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

/// Numbers the packets of each capture. What has no index yet comes after all others, in the order in which it was begun: as
/// the next recorder completes it.
pub(super) fn assign(entries: &mut [Entry], folder: usize, identities: &Identities) {
    let base = (folder as u64).saturating_mul(FOLDER_PACKETS);
    let ended = |entry: &Entry| {
        let summary = entry.summary.as_ref().filter(|_| !entry.is_part)?;
        Some(summary.packets_before.saturating_add(summary.packets))
    };
    let mut next = entries.iter().filter_map(ended).max().unwrap_or(0);
    let last = entries.iter().rposition(|entry| ended(entry).is_none());
    for place in 0..entries.len() {
        let Some(entry) = entries.get(place) else { break };
        let known = entry.summary.as_ref().filter(|_| !entry.is_part).map(|summary| summary.packets_before);
        let before = known.unwrap_or(next);
        // Those of the last one are not counted: nothing has its number behind them.
        if known.is_none() && last != Some(place) {
            let indexed = entry.summary.as_ref().map(|summary| summary.packets);
            let counted = || entry.is_part.then(|| packets_of(entry, entries, identities)).flatten();
            next = next.saturating_add(indexed.or_else(counted).unwrap_or(UNKNOWN_PACKETS));
        }
        if let Some(entry) = entries.get_mut(place) {
            entry.packets_before = base.saturating_add(before);
        }
    }
}

/// A stream that a packet belongs to.
pub(super) struct Found {
    /// Its directory.
    pub folder: usize,
    /// The capture that has the packet, of its directory.
    pub place: usize,
    /// Its id in the indexes of its recording; 0: none of them has it.
    pub stream: u64,
    pub recording: String,
}

/// Finds the stream of a packet. `packet`: its number in the directory, from 0.
pub(super) fn find_stream(
    folder: usize,
    entries: &[Entry],
    packet: u64,
    identities: &Identities,
) -> Result<Option<Found>, Error> {
    for (place, entry) in entries.iter().enumerate() {
        let Some(summary) = &entry.summary else { continue };
        let own = (packet + 1)
            .checked_sub(entry.packets_before % FOLDER_PACKETS)
            .filter(|own| (1..=summary.packets).contains(own));
        let Some(own) = own else { continue };
        if let Some(mut sidecar) = entry.sidecar(identities)?
            && let Some(stream) = sidecar.stream_of(own - 1)?
        {
            return Ok(Some(Found { folder, place, stream, recording: summary.recording.clone() }));
        }
        break;
    }
    Ok(None)
}

/// The open segment that may have a packet. `packet`: its number in the directory, from 0.
pub(super) fn find_part(entries: &[Entry], packet: u64) -> Option<usize> {
    let before = |entry: &Entry| entry.packets_before % FOLDER_PACKETS;
    let parts = entries.iter().enumerate().filter(|(_, entry)| entry.is_unindexed_part() && before(entry) <= packet);
    parts.max_by_key(|(_, entry)| before(entry)).map(|(place, _)| place)
}

/// Keeps the captures of a directory that have packets of a stream. Captures of its directory without an index stay.
pub(super) fn keep_stream(entries: &mut Vec<Entry>, found: Option<&Found>, folder: usize, is_own: bool) {
    let mut place = 0;
    entries.retain_mut(|entry| {
        let here = place;
        place += 1;
        if entry.is_unindexed_part() {
            return entry.trace.is_some();
        }
        let Some(summary) = &entry.summary else { return is_own };
        let Some(found) = found.filter(|found| found.stream != 0) else { return false };
        entry.stream = Some(found.stream);
        (folder, here) == (found.folder, found.place)
            || !found.recording.is_empty() && summary.recording == found.recording
    });
}
