//! Makes a large archive out of captures, to measure recall on: each round replays all of them one after another, later and between other
//! hosts, until the archive is as large as asked.
//!
//! `cargo run --release -p tidewire-archive --example replayed_archive -- DIR GIGABYTES CAPTURE...`

use std::{env, error::Error, path::Path, time::Instant};

use tidewire_archive::{
    Directory, Folder, Identities, SegmentWriter, Settings,
    block::{Interface, Packet, Writer, enhanced_packet, interface_description, section_header},
};
use tidewire_files::{Block, Reader, Source};
use tidewire_wire::{LinkType, Timestamp};

/// Between two rounds, and two captures.
const PAUSE_NS: u64 = 1_000_000;
/// Of all but the last segment.
const SEGMENT_BYTES: usize = 1 << 30;

struct Replayed {
    after_ns: u64,
    wire_bytes: u32,
    bytes: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [folder, gigabytes, captures @ ..] = &words[..] else { return Err("DIR GIGABYTES CAPTURE...".into()) };
    let packets = replayed(captures);
    let most = (gigabytes.parse::<f64>()? * 1e9) as u64;
    let directory = Directory::open(Path::new(folder), &Settings::default(), 1)?;
    let (mut now_ns, mut total, mut segment) = (1_750_000_000_000_000_000, 0, Vec::new());
    let begun = Instant::now();
    let (mut round, mut count) = (0_u16, 0_u64);
    'all: loop {
        for packet in &packets {
            if segment.is_empty() {
                section_header(&mut segment, &Writer::default());
                interface_description(&mut segment, &Interface::new("replay0", LinkType::ETHERNET));
            }
            now_ns += packet.after_ns;
            let mut bytes = packet.bytes.clone();
            between_others(&mut bytes, round);
            enhanced_packet(&mut segment, &Packet::new(0, Timestamp::from_nanos(now_ns), &bytes, packet.wire_bytes));
            count += 1;
            if segment.len() >= SEGMENT_BYTES || total + segment.len() as u64 >= most {
                total += segment.len() as u64;
                complete(&directory, now_ns, &segment)?;
                segment.clear();
                println!("{total} bytes, {count} packets, {round} rounds, {:.0} s", begun.elapsed().as_secs_f64());
                if total >= most {
                    break 'all;
                }
            }
        }
        round = round.wrapping_add(1);
    }
    Ok(())
}

/// Packets of Ethernet, one capture after the other.
fn replayed(captures: &[String]) -> Vec<Replayed> {
    let (mut packets, mut block) = (Vec::new(), Block::new());
    for path in captures {
        let Ok(mut reader) = Reader::open(path) else { continue };
        let mut before_ns = None;
        while matches!(reader.fill(&mut block), Ok(true)) {
            let batch = block.batch();
            for frame in batch.frames.iter().filter(|frame| frame.link == LinkType::ETHERNET) {
                let after_ns = before_ns.map_or(PAUSE_NS, |before| frame.timestamp.as_nanos().saturating_sub(before));
                before_ns = Some(frame.timestamp.as_nanos());
                let (bytes, wire_bytes) = (batch.bytes(frame).to_vec(), frame.wire_bytes);
                packets.push(Replayed { after_ns: after_ns.min(PAUSE_NS), wire_bytes, bytes });
            }
        }
    }
    packets
}

/// Adds to one address of IPv4 what it takes from the other: checksums stay right.
fn between_others(bytes: &mut [u8], round: u16) {
    if bytes.get(12..15) != Some(&[8, 0, 0x45]) || bytes.len() < 34 || round == 0 {
        return;
    }
    let is_lower = bytes[26..30] <= bytes[30..34];
    let shift = u32::from(round) * 7 % 0xffff;
    for (at, adds) in [(28, is_lower), (32, !is_lower)] {
        let word = u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let shifted = if adds { word + shift } else { word + 0xffff - shift } % 0xffff;
        bytes[at..at + 2].copy_from_slice(&(shifted as u16).to_be_bytes());
    }
}

fn complete(directory: &Directory, now_ns: u64, segment: &[u8]) -> Result<(), Box<dyn Error>> {
    let name = directory.begin(now_ns, 0);
    let storage: &Folder = directory.storage();
    let mut writer = SegmentWriter::create(storage, &name, None)?;
    writer.write(segment)?;
    writer.finish()?;
    directory.repair(&Identities::default(), now_ns)?;
    Ok(())
}
