//! Many concurrent connections without a file: batches are generated in memory and passed to the engine; only the engine's
//! CPU time is counted.

use std::fs;

use serde::{Deserialize, Serialize};
use tidewire_core::{
    Batch, ChecksumMode, Chunk, Config, Engine, Frame, Handler, Share, Stream, Timestamp, wire::LinkType,
};
use tidewire_lab::{
    craft::{ACK, FIN, PSH, SYN},
    random::{Random, mix},
    sys::thread_cpu_ns,
};

/// About the size of a block that a file is read into.
const BATCH_BYTES: usize = 256 << 10;
const HEADER_BYTES: usize = 54;
/// Handshakes are made in groups of this many, so that a group fits into the table of half-open connections.
const GROUP: u64 = 65_536;
/// Least number of measured packets; small numbers of connections are opened and closed repeatedly until it is reached.
const PACKETS_MIN: u64 = 4_000_000;
/// Packet time between two sets of connections, longer than `closed_timeout_ns`, so that the state of closed ones is dropped.
const PAUSE_NS: u64 = 200_000_000_000;
const PACKET_NS: u64 = 1_500;

/// The figures of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Connections open at once.
    pub connections: u64,
    /// Packets that the engine processed.
    pub packets: u64,
    /// The engine's CPU time per packet over whole connections, nanoseconds.
    pub ns_per_packet: f64,
    /// The same over data packets and their acknowledgments alone.
    pub ns_per_data_packet: f64,
    /// Growth of the resident set per connection when all are open and idle, bytes.
    pub bytes_per_connection: f64,
    /// Payload delivered, bytes.
    pub delivered_bytes: u64,
    /// Payload sent, bytes.
    pub sent_bytes: u64,
}

#[derive(Default)]
struct Count {
    bytes: u64,
}

impl Handler for Count {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.bytes += chunk.bytes.len() as u64;
    }
}

/// Runs `connections` at once, `rounds` packets of data for each; `length` 0: 60 to 1,460 bytes.
///
/// # Errors
/// The engine did not deliver what was sent, or its ledger does not close.
pub fn run(connections: u64, rounds: u64, length: u16) -> Result<Figures, String> {
    let mut feed = Feed::new(length);
    let mut epoch = 0;
    let mut bytes_per_connection = 0.0;
    while epoch == 0 || feed.packets < PACKETS_MIN {
        let before = resident_bytes();
        feed.open(epoch * connections, connections);
        if epoch == 0 {
            bytes_per_connection = resident_bytes().saturating_sub(before) as f64 / connections as f64;
        }
        feed.talk(epoch * connections, connections, rounds);
        feed.clock_ns += PAUSE_NS;
        epoch += 1;
    }
    feed.engine.finish();
    let (packets, sent, cpu_ns) = (feed.packets, feed.sent, feed.cpu_ns);
    let (data_packets, data_cpu_ns) = (feed.data_packets, feed.data_cpu_ns);
    let (handler, ledger) = feed.engine.into_parts();
    if !ledger.closes() || ledger.received != packets {
        return Err("the ledger does not close".into());
    }
    if handler.bytes != sent {
        return Err(format!("{sent} bytes were sent, {} delivered", handler.bytes));
    }
    Ok(Figures {
        connections,
        packets,
        ns_per_packet: cpu_ns as f64 / packets as f64,
        ns_per_data_packet: data_cpu_ns as f64 / data_packets as f64,
        bytes_per_connection,
        delivered_bytes: handler.bytes,
        sent_bytes: sent,
    })
}

fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

struct Feed {
    engine: Engine<Count>,
    memory: Vec<u8>,
    frames: Vec<Frame>,
    at: usize,
    length: u16,
    clock_ns: u64,
    packets: u64,
    sent: u64,
    cpu_ns: u64,
    data_packets: u64,
    data_cpu_ns: u64,
}

/// One packet of every connection: its sender, its flags, and the sequence numbers of both sides.
#[derive(Clone, Copy)]
struct Round {
    from_server: bool,
    flags: u8,
    bytes: u32,
    /// Sequence numbers of client and server relative to their first ones.
    sent: [u32; 2],
}

impl Feed {
    fn new(length: u16) -> Self {
        let mut memory = vec![0; BATCH_BYTES];
        Random::new(1).fill(&mut memory);
        // Room for all connections, whatever the default: the cost of a connection is measured.
        let config = Config::default().with_checksum(ChecksumMode::Ignore).with_midstream_bytes(0);
        Self {
            engine: Engine::new(config, Share::ALL, Count::default()),
            memory,
            frames: Vec::with_capacity(BATCH_BYTES / HEADER_BYTES + 1),
            at: 0,
            length,
            clock_ns: 1_700_000_000_000_000_000,
            packets: 0,
            sent: 0,
            cpu_ns: 0,
            data_packets: 0,
            data_cpu_ns: 0,
        }
    }

    fn open(&mut self, first: u64, count: u64) {
        let mut from = first;
        while from < first + count {
            let group = GROUP.min(first + count - from);
            let round = |from_server, flags, sent| Round { from_server, flags, bytes: 0, sent };
            self.round(from, group, round(false, SYN, [0, 0]));
            self.round(from, group, round(true, SYN | ACK, [1, 0]));
            self.round(from, group, round(false, ACK, [1, 1]));
            from += group;
        }
    }

    fn talk(&mut self, first: u64, count: u64, rounds: u64) {
        let mut sent = [1, 1];
        self.round(first, count, Round { from_server: false, flags: ACK | PSH, bytes: 300, sent });
        sent[0] += 300;
        let (packets, cpu_ns) = (self.packets, self.cpu_ns);
        for number in 0..rounds {
            let bytes = if self.length == 0 { 60 + (mix(number) % 1401) as u32 } else { u32::from(self.length) };
            self.round(first, count, Round { from_server: true, flags: ACK, bytes, sent });
            sent[1] += bytes;
            if number % 2 == 1 {
                self.round(first, count, Round { from_server: false, flags: ACK, bytes: 0, sent });
            }
        }
        self.data_packets += self.packets - packets;
        self.data_cpu_ns += self.cpu_ns - cpu_ns;
        self.round(first, count, Round { from_server: true, flags: FIN | ACK, bytes: 0, sent });
        sent[1] += 1;
        self.round(first, count, Round { from_server: false, flags: FIN | ACK, bytes: 0, sent });
        sent[0] += 1;
        self.round(first, count, Round { from_server: true, flags: ACK, bytes: 0, sent });
    }

    fn round(&mut self, first: u64, count: u64, round: Round) {
        for n in first..first + count {
            self.put(n, round);
        }
        self.flush();
    }

    /// Writes the `n`th connection's packet into the batch. It reads no table, so that the caches belong to the engine.
    fn put(&mut self, n: u64, round: Round) {
        let frame_bytes = HEADER_BYTES + round.bytes as usize;
        if self.at + frame_bytes > self.memory.len() {
            self.flush();
        }
        let place = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 26;
        let noise = mix(n);
        let client = (0x0a00_0000 | (place >> 14) as u32 & 0x00ff_ffff, 1024 + (place & 0x3fff) as u16);
        let server = (0xc0a8_0000 | (noise & 0xffff) as u32, 80_u16);
        let seqs = [(noise >> 16) as u32, (noise >> 32) as u32];
        let seqs = [seqs[0].wrapping_add(round.sent[0]), seqs[1].wrapping_add(round.sent[1])];
        let (from, to) = if round.from_server { (server, client) } else { (client, server) };
        let [mut seq, mut ack] = seqs;
        if round.from_server {
            (seq, ack) = (ack, seq);
        }
        let mut header = [0; HEADER_BYTES];
        header[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        header[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        header[16..18].copy_from_slice(&(40 + round.bytes as u16).to_be_bytes());
        header[26..30].copy_from_slice(&from.0.to_be_bytes());
        header[30..34].copy_from_slice(&to.0.to_be_bytes());
        header[34..36].copy_from_slice(&from.1.to_be_bytes());
        header[36..38].copy_from_slice(&to.1.to_be_bytes());
        header[38..42].copy_from_slice(&seq.to_be_bytes());
        header[42..46].copy_from_slice(&(if round.flags & ACK == 0 { 0 } else { ack }).to_be_bytes());
        header[46..50].copy_from_slice(&[0x50, round.flags, 0xfa, 0xf0]);
        self.memory[self.at..self.at + HEADER_BYTES].copy_from_slice(&header);
        self.packets += 1;
        self.sent += u64::from(round.bytes);
        self.clock_ns += PACKET_NS;
        self.frames.push(
            Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(self.clock_ns))
                .with_number(self.packets)
                .with_place(self.at as u32, frame_bytes as u32),
        );
        self.at += frame_bytes;
    }

    fn flush(&mut self) {
        let batch = Batch::new(&self.memory, &self.frames);
        let before = thread_cpu_ns();
        self.engine.process(&batch);
        self.cpu_ns += thread_cpu_ns() - before;
        self.frames.clear();
        self.at = 0;
    }
}
