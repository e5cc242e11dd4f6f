//! Many real captures mixed into one: each begins at a random time within 20 seconds, in several copies with different
//! addresses.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidewire_core::{Frame, Timestamp};
use tidewire_files::{Block, Source};
use tidewire_lab::random::Random;
use tidewire_wire::LinkType;

use super::traffic::Trace;

/// The period in which captures begin, nanoseconds.
const BEGIN_NS: u64 = 20_000_000_000;
/// Longer pauses within a capture are shortened to this, nanoseconds.
const PAUSE_NS: u64 = 200_000_000;
/// Most packets of one capture, so that none outweighs the others.
const PACKETS_MAX: usize = 5000;
/// Time of the first packet.
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

/// Captures below a folder.
fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
            found.push(path);
        }
    }
}

/// Mixes the Ethernet captures below a folder, `copies` times each; how many captures there were.
///
/// # Errors
/// The folder has no captures of Ethernet.
pub fn mix(folder: &Path, copies: u32) -> Result<(Trace, usize), String> {
    let mut paths = Vec::new();
    captures(folder, &mut paths);
    paths.sort();
    let (mut trace, mut random, mut count) = (Trace::default(), Random::new(1), 0);
    let mut block = Block::new();
    for path in &paths {
        let Ok(mut source) = tidewire_files::open(std::slice::from_ref(path)) else { continue };
        let (first, mut last_ns, mut at_ns) = (trace.frames.len(), None, 0);
        // A damaged capture counts up to the damage.
        while trace.frames.len() - first < PACKETS_MAX && source.fill(&mut block).unwrap_or(false) {
            let batch = block.batch();
            for frame in batch.frames.iter().filter(|frame| frame.link == LinkType::ETHERNET) {
                at_ns += frame
                    .timestamp
                    .as_nanos()
                    .saturating_sub(last_ns.unwrap_or(frame.timestamp.as_nanos()))
                    .min(PAUSE_NS);
                last_ns = Some(frame.timestamp.as_nanos());
                let place = trace.memory.len() as u32;
                trace
                    .frames
                    .push(frame.with_place(place, frame.captured_bytes).with_timestamp(Timestamp::from_nanos(at_ns)));
                trace.memory.extend_from_slice(batch.bytes(frame));
            }
        }
        count += usize::from(trace.frames.len() > first);
        repeat(&mut trace, first, copies, &mut random);
    }
    if trace.frames.is_empty() {
        return Err(format!("{}: no captures of Ethernet below it", folder.display()));
    }
    trace.frames.sort_by_key(|frame| frame.timestamp.as_nanos());
    Ok((trace, count))
}

/// Adds copies that begin at random times and differ in the second octet of IPv4 addresses. Checksums are not updated.
fn repeat(trace: &mut Trace, first: usize, copies: u32, random: &mut Random) {
    let own: Vec<Frame> = trace.frames.drain(first..).collect();
    for copy in 0..copies {
        let begin_ns = EPOCH_NS + random.below(BEGIN_NS);
        for frame in &own {
            let (from, at) = (frame.at as usize, trace.memory.len());
            let bytes = from..from + frame.captured_bytes as usize;
            trace.memory.extend_from_within(bytes);
            if let Some(packet) = trace.memory.get_mut(at..)
                && packet.len() > 34
                && packet[12..14] == [8, 0]
            {
                packet[27] ^= copy as u8;
                packet[31] ^= copy as u8;
            }
            trace.frames.push(
                frame
                    .with_place(at as u32, frame.captured_bytes)
                    .with_timestamp(Timestamp::from_nanos(begin_ns + frame.timestamp.as_nanos())),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locality::traffic::Traffic;

    #[test]
    fn captures_are_mixed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(mix(folder.path(), 1).is_err());
        for (name, seed) in [("a.pcap", 1), ("b.pcap", 2)] {
            Traffic { flows: 10, packets: 100, seed }.make().write(&folder.path().join(name)).unwrap();
        }
        let (trace, count) = mix(folder.path(), 3).unwrap();
        assert_eq!((trace.frames.len(), count), (600, 2));
        assert!(trace.frames.is_sorted_by_key(|frame| frame.timestamp.as_nanos()));
    }
}
