//! Streams from packets that a program already has: a `Source` over a vector.
//!
//! `cargo run -p tidewire --example own_source`

use std::{collections::VecDeque, time::Duration};

use tidewire::{Block, Capture, Direction, FileError, Frame, FrameCounter, LinkType, Source, Timestamp};

/// Packets of IP, each with its time.
struct Packets {
    waiting: VecDeque<(Timestamp, Vec<u8>)>,
    counter: FrameCounter,
}

impl Packets {
    fn new(packets: Vec<(Timestamp, Vec<u8>)>) -> Self {
        Self { waiting: packets.into(), counter: FrameCounter::new() }
    }
}

impl Source for Packets {
    fn fill(&mut self, block: &mut Block) -> Result<bool, FileError> {
        block.clear();
        while let Some((timestamp, bytes)) = self.waiting.front() {
            let frame = Frame::new(LinkType::RAW, *timestamp);
            if self.counter.push(block, frame, bytes).is_err() {
                break; // Full: the rest follows in the next block.
            }
            self.waiting.pop_front();
        }
        Ok(!block.batch().frames.is_empty())
    }
}

/// A datagram from port 40000 of 192.0.2.1 to port 53 of 192.0.2.2; checksums are left out.
fn datagram(payload: &[u8]) -> Vec<u8> {
    let [total, length] = [28, 8].map(|headers| (headers + payload.len() as u16).to_be_bytes());
    let ip = [0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    let udp = [0x9c, 0x40, 0, 53, length[0], length[1], 0, 0];
    [&ip[..], &udp, payload].concat()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begin = Timestamp::from_nanos(1_700_000_000_000_000_000);
    let later = begin.checked_add(Duration::from_millis(20)).ok_or("a time after 2554")?;
    let packets = vec![(begin, datagram(b"a question, ")), (later, datagram(b"and another one"))];

    let mut streams = Capture::source(Packets::new(packets)).checksum(tidewire::ChecksumMode::Ignore).streams()?;
    for stream in &mut streams {
        let bytes = String::from_utf8_lossy(stream.bytes(Direction::ClientToServer)).into_owned();
        println!("{}: {bytes}", stream.key());
        assert_eq!(bytes, "a question, and another one");
    }
    assert_eq!(streams.finish().ledger.received, 2);
    Ok(())
}
