//! Traffic with the locality of a link: services by popularity, flows by popularity, packets in trains that interleave.

use std::{io, path::Path};

use tidewire_core::{Frame, Timestamp};
use tidewire_files::{Block, Error, Source};
use tidewire_lab::{
    pcapfile::Writer,
    random::{Random, mix},
};
use tidewire_wire::LinkType;

/// Number of services.
pub const SERVICES: u64 = 100;
/// Words of a service's vocabulary.
const WORDS: u64 = 2000;
/// Trains of packets on the link at once.
const TRAINS: usize = 256;
/// Packets of a train at most; the mean is about a third.
const TRAIN_PACKETS: u64 = 8;
const HEADERS_BYTES: usize = 54;
/// Nanoseconds between packets: a million a second.
const PACKET_NS: u64 = 1000;
/// The first packet's time.
const BEGIN_NS: u64 = 1_700_000_000_000_000_000;

/// The traffic of an application.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Flows; few of them send most packets.
    pub flows: u64,
    /// Packets.
    pub packets: u64,
    /// The same seed gives the same packets.
    pub seed: u64,
}

/// A capture in memory.
#[derive(Debug, Default)]
pub struct Trace {
    /// The frames' bytes.
    pub memory: Vec<u8>,
    /// The frames.
    pub frames: Vec<Frame>,
}

/// A flow's service, addresses and ports, which depend on its number alone.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Number of the service.
    pub service: u64,
    /// Client and server: address and port.
    pub ends: [(u32, u16); 2],
}

impl Flow {
    /// The `n`th flow. Services are popular by Zipf's law, roughly: half of all flows have one of the first ten.
    #[must_use]
    pub fn of(n: u64) -> Self {
        let noise = mix(n ^ 0x5eed);
        let even = (noise >> 11) as f64 / (1_u64 << 53) as f64;
        let service = ((SERVICES as f64 + 1.0).powf(even) - 1.0) as u64 % SERVICES;
        let client = (0x0a00_0000 | (mix(n) as u32 & 0x00ff_ffff), 32_768 + (noise % 28_000) as u16);
        let server = (0xc0a8_0000 | (mix(service ^ (n % 7)) as u32 & 0xffff), port_of(service));
        Self { service, ends: [client, server] }
    }
}

/// The port of a service: a well-known one, so that the lower of a flow's two ports is the service's.
#[must_use]
pub fn port_of(service: u64) -> u16 {
    const FIRST: [u16; 12] = [443, 80, 53, 25, 22, 993, 143, 110, 445, 389, 123, 161];
    FIRST.get(service as usize).copied().unwrap_or(500 + service as u16)
}

/// Appends the `n`th word of a service's vocabulary, 3 to 10 letters.
pub fn push_word(service: u64, n: u64, into: &mut Vec<u8>) {
    let mut letters = mix((service << 32) | (n % WORDS));
    for _ in 0..3 + letters % 8 {
        letters = mix(letters);
        into.push(b'a' + (letters % 26) as u8);
    }
}

/// A random word; some words are more frequent.
#[must_use]
pub fn any_word(random: &mut Random) -> u64 {
    let even = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    (even * even * WORDS as f64) as u64
}

/// Payload sizes as on real links: many small ones, many full ones, some between.
fn payload_bytes(random: &mut Random) -> usize {
    match random.below(10) {
        0..=3 => 6 + random.below(60) as usize,
        4..=5 => 200 + random.below(600) as usize,
        _ => 1400,
    }
}

impl Traffic {
    /// Generates the packets.
    #[must_use]
    pub fn make(&self) -> Trace {
        let mut random = Random::new(self.seed);
        let mut trace = Trace::default();
        trace.frames.reserve(self.packets as usize);
        let mut trains = vec![(0_u64, 0_u64); TRAINS];
        let mut payload = Vec::new();
        for number in 0..self.packets {
            let train = &mut trains[random.below(TRAINS as u64) as usize];
            if train.1 == 0 {
                let even = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                *train =
                    ((self.flows as f64 * even * even) as u64, 1 + random.below(TRAIN_PACKETS).min(random.below(8)));
            }
            train.1 -= 1;
            let flow = Flow::of(train.0);
            payload.clear();
            let bytes = payload_bytes(&mut random);
            while payload.len() < bytes {
                push_word(flow.service, any_word(&mut random), &mut payload);
                payload.push(b' ');
            }
            payload.truncate(bytes);
            trace.push(&flow, random.below(3) == 0, number, &payload);
        }
        trace
    }
}

impl Trace {
    fn push(&mut self, flow: &Flow, from_client: bool, number: u64, payload: &[u8]) {
        let [client, server] = flow.ends;
        let (from, to) = if from_client { (client, server) } else { (server, client) };
        let mut header = [0; HEADERS_BYTES];
        header[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        header[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        header[16..18].copy_from_slice(&(40 + payload.len() as u16).to_be_bytes());
        header[26..30].copy_from_slice(&from.0.to_be_bytes());
        header[30..34].copy_from_slice(&to.0.to_be_bytes());
        header[34..36].copy_from_slice(&from.1.to_be_bytes());
        header[36..38].copy_from_slice(&to.1.to_be_bytes());
        header[38..42].copy_from_slice(&(number as u32).to_be_bytes());
        header[46..50].copy_from_slice(&[0x50, 0x18, 0xfa, 0xf0]);
        let bytes = (HEADERS_BYTES + payload.len()) as u32;
        let time_ns = BEGIN_NS + number * PACKET_NS;
        self.frames.push(
            Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(time_ns))
                .with_number(number + 1)
                .with_place(self.memory.len() as u32, bytes),
        );
        self.memory.extend_from_slice(&header);
        self.memory.extend_from_slice(payload);
    }

    /// Reads a capture, up to 3 GiB of it.
    ///
    /// # Errors
    /// The error of the reader.
    pub fn read(path: &Path) -> Result<Self, Error> {
        const BYTES_MAX: usize = 3 << 30;
        let mut source = tidewire_files::open(&[path.to_owned()])?;
        let (mut trace, mut block) = (Self::default(), Block::new());
        while trace.memory.len() < BYTES_MAX && source.fill(&mut block)? {
            let batch = block.batch();
            for frame in batch.frames {
                trace.frames.push(frame.with_place(trace.memory.len() as u32, frame.captured_bytes));
                trace.memory.extend_from_slice(batch.bytes(frame));
            }
        }
        Ok(trace)
    }

    /// Writes it as a capture file.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut writer = Writer::create(path)?;
        for frame in &self.frames {
            let at = frame.at as usize;
            writer.write(frame.timestamp.as_nanos() / 1000, &self.memory[at..at + frame.captured_bytes as usize])?;
        }
        writer.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_packets_of_many_flows_and_services() {
        let traffic = Traffic { flows: 1000, packets: 2000, seed: 1 };
        let (one, two) = (traffic.make(), traffic.make());
        assert_eq!(one.memory, two.memory);
        assert_eq!(one.frames.len(), 2000);
        let services: std::collections::HashSet<_> = (0..1000).map(|n| Flow::of(n).service).collect();
        assert!(services.len() > 80, "{} services", services.len());
    }
}
