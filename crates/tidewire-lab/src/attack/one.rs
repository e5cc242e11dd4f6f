//! One measurement: an engine, a flood, and honest connections among it.

use std::{fs, time::Duration};

use serde::{Deserialize, Serialize};
use tidewire_core::{
    Batch, Chunk, Config, EndReason, Engine, Frame, Gap, Handler, Share, Stream, Timestamp, wire::LinkType,
};

use super::{
    floods::{Crowd, Flood, Maker},
    honest::{BYTES, Honest, Load, PORT},
};
use crate::{random::Random, sys::thread_cpu_ns};

/// About the size of a block that a file is read into.
const BATCH_BYTES: usize = 256 << 10;
/// Packet time between two frames.
const PACKET_NS: u64 = 2_000;

/// The measurement.
#[derive(Clone, Copy, Debug)]
pub struct One {
    /// The flood.
    pub flood: Flood,
    /// Its source and destination addresses.
    pub crowd: Crowd,
    /// Memory budget, bytes.
    pub memory_bytes: u64,
    /// Packets in all.
    pub packets: u64,
    /// The attacker's share of them, percent.
    pub share: u64,
    /// The honest connections, to which the other packets belong.
    pub load: Load,
}

/// The figures of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Packets that the engine processed.
    pub packets: u64,
    /// The engine's CPU time per packet, nanoseconds.
    pub ns_per_packet: f64,
    /// Greatest resident memory of the process, bytes.
    pub peak_bytes: u64,
    /// Honest connections.
    pub honest: u64,
    /// Of these, the intact ones: every byte delivered, in one stream, without a gap.
    pub whole: u64,
}

#[derive(Default)]
struct Observer {
    whole: u64,
}

#[derive(Default)]
struct Delivered {
    bytes: [u64; 2],
    has_gap: bool,
}

impl Handler for Observer {
    type Data = Delivered;

    fn data(&mut self, stream: &mut Stream<'_, Delivered>, chunk: Chunk<'_>) {
        stream.data().bytes[chunk.direction as usize] += chunk.bytes.len() as u64;
    }

    fn gap(&mut self, stream: &mut Stream<'_, Delivered>, _: Gap) {
        stream.data().has_gap = true;
    }

    fn close(&mut self, stream: &mut Stream<'_, Delivered>, _: EndReason) {
        let delivered = stream.data();
        if delivered.bytes == BYTES && !delivered.has_gap && stream.key().server.port == PORT {
            self.whole += 1;
        }
    }
}

/// A flood's frame in a batch of its own: complete, checksum not verified. Its timestamp depends on its
/// number.
#[must_use]
pub fn frame(bytes: &[u8], number: u64) -> Frame {
    let clock_ns = 1_700_000_000_000_000_000 + number * PACKET_NS;
    Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(clock_ns))
        .with_number(number)
        .with_place(0, bytes.len() as u32)
}

struct Feed {
    engine: Engine<Observer>,
    memory: Vec<u8>,
    frames: Vec<Frame>,
    packets: u64,
    cpu_ns: u64,
}

impl Feed {
    fn put(&mut self, bytes: &[u8]) {
        if self.memory.len() + bytes.len() > BATCH_BYTES {
            self.flush();
        }
        self.packets += 1;
        self.frames.push(frame(bytes, self.packets).with_place(self.memory.len() as u32, bytes.len() as u32));
        self.memory.extend_from_slice(bytes);
    }

    fn flush(&mut self) {
        let before = thread_cpu_ns();
        self.engine.process(&Batch::new(self.memory.as_slice(), &self.frames));
        self.cpu_ns += thread_cpu_ns() - before;
        self.frames.clear();
        self.memory.clear();
    }
}

/// Runs a measurement in this process, whose peak memory is part of the figures.
///
/// # Errors
/// The settings do not fit the memory budget, or the ledger does not close.
pub fn one(what: &One) -> Result<Figures, String> {
    // As on an interface: closed streams release their memory for new ones.
    let mut config = Config::default().with_closed_timeout(Duration::from_secs(10)).with_memory_bytes(u64::MAX);
    config.share_out(what.memory_bytes, 1, size_of::<Delivered>()).map_err(|error| error.to_string())?;
    let engine = Engine::new(config, Share::ALL, Observer::default());
    let mut feed = Feed { engine, memory: Vec::with_capacity(BATCH_BYTES), frames: Vec::new(), packets: 0, cpu_ns: 0 };
    let mut maker = Maker::new(what.flood, what.crowd, what.packets * what.share / 100);
    let mut honest = Honest::new(what.load);
    let mut random = Random::new(3);
    while feed.packets < what.packets {
        let is_attack = random.below(100) < what.share;
        match if is_attack { None } else { honest.next_frame(false) } {
            Some(frame) => feed.put(&frame),
            None => feed.put(&maker.next_frame()),
        }
    }
    if what.share < 100 {
        // The flood continues until the last honest connection has ended.
        loop {
            if random.below(100) < what.share {
                feed.put(&maker.next_frame());
            } else if let Some(frame) = honest.next_frame(true) {
                feed.put(&frame);
            } else {
                break;
            }
        }
    }
    feed.flush();
    let (packets, cpu_ns) = (feed.packets, feed.cpu_ns);
    feed.engine.finish();
    let (handler, ledger) = feed.engine.into_parts();
    if !ledger.closes() || ledger.received != packets {
        return Err("the ledger does not close".into());
    }
    Ok(Figures {
        packets,
        ns_per_packet: cpu_ns as f64 / packets as f64,
        peak_bytes: peak_bytes(),
        honest: honest.begun,
        whole: handler.whole,
    })
}

/// The greatest resident set of this process so far.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}
