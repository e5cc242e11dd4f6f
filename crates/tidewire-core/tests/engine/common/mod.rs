//! Packets, and a handler that checks the invariants of its events.

use std::collections::BTreeMap;

use tidewire_core::{
    Batch, ChecksumMode, ChecksumStatus, Chunk, Config, Direction, DirectionStats, EndReason, Engine, Fate, Frame, Gap,
    Handler, Ledger, Share, Stream, Timestamp, wire::LinkType,
};

pub use tidewire_core::wire::tcp_flag::{ACK, FIN, PSH, RST, SYN, URG};

/// A TCP segment between 10.0.0.1:1000 (client) and 10.0.0.2:80.
#[derive(Clone, Debug)]
pub struct Seg {
    pub from_client: bool,
    pub client_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub timestamp: Option<u32>,
    pub urgent: u16,
    /// Further TCP options, a multiple of four bytes.
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
    /// Bytes cut off the end by the snap length.
    pub snapped: usize,
    pub time_ms: u64,
    pub sum: Sum,
}

/// A segment's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// None: the field is zero.
    Zero,
    Good,
    Bad,
    /// The pseudo-header's sum alone, as offloading leaves it.
    Partial,
}

/// The ones' complement sum of big-endian words, folded.
fn folded(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    (once + (once >> 16)) as u16
}

/// Sets the checksums of an IPv4 packet without options: its header's, and that of TCP (field at 16) or UDP (at 6).
pub fn seal(packet: &mut [u8], field: usize, sum: Sum) {
    if sum == Sum::Zero {
        return;
    }
    let header = !folded(&[&packet[..20]]);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    let length = (packet.len() - 20) as u16;
    let pseudo = [&packet[12..20], &[0, packet[9]], &length.to_be_bytes()].concat();
    let value = match sum {
        Sum::Partial => folded(&[&pseudo]),
        Sum::Good => !folded(&[&pseudo, &packet[20..]]),
        _ => !folded(&[&pseudo, &packet[20..]]) ^ 0x5555,
    };
    packet[20 + field..22 + field].copy_from_slice(&value.to_be_bytes());
}

impl Seg {
    pub fn new(from_client: bool, seq: u32, ack: u32, flags: u8, payload: &[u8]) -> Self {
        Self {
            from_client,
            client_port: 1000,
            seq,
            ack,
            flags,
            window: 65_535,
            timestamp: None,
            urgent: 0,
            options: Vec::new(),
            payload: payload.to_vec(),
            snapped: 0,
            time_ms: 0,
            sum: Sum::Zero,
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let (a, b) = if self.from_client { (1, 2) } else { (2, 1) };
        let options = self.options.len() + if self.timestamp.is_some() { 12 } else { 0 };
        let total = 40 + options + self.payload.len();
        let mut bytes = vec![0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
        bytes.extend([10, 0, 0, a, 10, 0, 0, b]);
        let (source, destination) = if self.from_client { (self.client_port, 80) } else { (80, self.client_port) };
        bytes.extend(source.to_be_bytes());
        bytes.extend(destination.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([(((20 + options) / 4) << 4) as u8, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(self.urgent.to_be_bytes());
        if let Some(value) = self.timestamp {
            bytes.extend([1, 1, 8, 10]);
            bytes.extend(value.to_be_bytes());
            bytes.extend([0; 4]);
        }
        bytes.extend(&self.options);
        bytes.extend(&self.payload);
        seal(&mut bytes, 16, self.sum);
        bytes
    }

    /// The same with a checksum.
    pub fn summed(self, sum: Sum) -> Self {
        Self { sum, ..self }
    }
}

/// The events of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamLog {
    /// By direction: bytes and gaps in order, as (offset, bytes or their absence).
    pub bytes: [Vec<u8>; 2],
    /// Offsets of `bytes`, one for each.
    pub offsets: [Vec<u64>; 2],
    pub gaps: [Vec<(u64, u64, String)>; 2],
    reached: [u64; 2],
    pub closed: Option<String>,
    pub anomalies: Vec<String>,
    pub anomaly_packets: Vec<u64>,
    pub conflicts: [u64; 2],
    pub packets: [u64; 2],
    pub wire: [u64; 2],
    pub retransmitted: [u64; 2],
    pub ignored: [u64; 2],
    pub state: String,
    pub client_port: u16,
}

impl StreamLog {
    /// Every byte of payload is delivered, repeated, in a gap, or ignored for a reason that has a name.
    fn account(&self, stats: &[DirectionStats; 2]) {
        const OF_PACKETS: [&str; 4] = ["snapped", "shed", "urgent", "bad_checksum"];
        for (at, stats) in stats.iter().enumerate() {
            let of = |gap: &&(u64, u64, String)| OF_PACKETS.contains(&gap.2.as_str());
            let is_cut = self.gaps[at].iter().any(|gap| gap.2 == "cutoff");
            let gaps: u64 = self.gaps[at].iter().filter(of).map(|gap| gap.1).sum();
            let placed = stats.reassembled_bytes + stats.retransmitted_bytes + stats.ignored_bytes;
            // In track mode, and beyond a cutoff, gaps are counted and not reported one by one.
            if !is_cut && stats.cutoff_bytes == 0 && stats.delivered_bytes > 0 {
                assert_eq!(stats.payload_wire_bytes, placed + gaps, "payload is accounted for: {stats:?} {self:?}");
            }
            if stats.ignored_bytes > 0 && gaps == 0 {
                assert!(!self.anomalies.is_empty(), "what is ignored has a reason: {stats:?} {self:?}");
            }
        }
    }
}

/// Checks the order of calls and that bytes and gaps cover each direction without holes; keeps everything.
#[derive(Default)]
pub struct InvariantChecker {
    pub streams: BTreeMap<u64, StreamLog>,
}

impl Handler for InvariantChecker {
    type Data = StreamLog;

    fn data(&mut self, stream: &mut Stream<'_, StreamLog>, chunk: Chunk<'_>) {
        let at = chunk.direction as usize;
        let log = stream.data();
        assert!(log.closed.is_none());
        assert_eq!(log.reached[at], chunk.offset + chunk.repeated_bytes as u64, "bytes continue the stream");
        let fresh = chunk.fresh();
        assert!(!fresh.is_empty(), "no empty chunk");
        if chunk.repeated_bytes > 0 {
            let known = &log.bytes[at][log.bytes[at].len() - chunk.repeated_bytes..];
            assert_eq!(known, &chunk.bytes[..chunk.repeated_bytes], "what is repeated is what was delivered");
        }
        let start = log.reached[at];
        log.offsets[at].extend(start..start + fresh.len() as u64);
        log.bytes[at].extend(fresh);
        log.reached[at] += fresh.len() as u64;
    }

    fn gap(&mut self, stream: &mut Stream<'_, StreamLog>, gap: Gap) {
        let at = gap.direction as usize;
        let log = stream.data();
        assert_eq!(log.reached[at], gap.offset, "gaps continue the stream");
        assert!(gap.bytes > 0);
        log.reached[at] += gap.bytes;
        log.gaps[at].push((gap.offset, gap.bytes, gap.cause.name().into()));
    }

    fn close(&mut self, stream: &mut Stream<'_, StreamLog>, reason: EndReason) {
        let anomalies = stream.anomalies().iter().map(|odd| odd.kind.name().into()).collect();
        let packets = stream.anomalies().iter().map(|odd| odd.packet).collect();
        let both = [Direction::ClientToServer, Direction::ServerToClient];
        let stats = both.map(|direction| stream.stats(direction));
        let conflicts = both.map(|direction| stream.conflicts(direction).iter().map(|c| c.bytes).sum());
        let (id, state, port) = (stream.id(), stream.state().name(), stream.key().client.port);
        let is_together = stream.mptcp().is_some_and(|mptcp| mptcp.is_together);
        let log = stream.data();
        log.closed = Some(reason.name().into());
        log.anomalies = anomalies;
        log.anomaly_packets = packets;
        log.conflicts = conflicts;
        log.packets = stats.map(|stats| stats.packets);
        log.wire = stats.map(|stats| stats.payload_wire_bytes);
        log.retransmitted = stats.map(|stats| stats.retransmitted_bytes);
        log.ignored = stats.map(|stats| stats.ignored_bytes);
        log.state = state.into();
        log.client_port = port;
        for (stats, bytes) in stats.iter().zip(&log.bytes) {
            assert_eq!(stats.delivered_bytes, bytes.len() as u64);
        }
        // Subflows of Multipath TCP deliver what others carried, or nothing.
        if !is_together {
            log.account(&stats);
        }
        let log = std::mem::take(log);
        assert!(self.streams.insert(id, log).is_none(), "an id stands for one stream");
    }
}

/// An engine that is given one packet after the other.
pub struct Feed<H: Handler> {
    pub engine: Engine<H>,
    /// What is known of the checksums of the packets to come.
    pub checksum: ChecksumStatus,
    /// Where the next packet's first byte can be read again; 0: nowhere.
    pub origin: u64,
    number: u64,
}

impl<H: Handler> Feed<H> {
    pub fn new(config: &Config, handler: H) -> Self {
        Self::shared(config, Share::ALL, handler)
    }

    /// One of several workers.
    pub fn shared(config: &Config, share: Share, handler: H) -> Self {
        let engine = Engine::new(config.clone(), share, handler);
        Self { engine, checksum: ChecksumStatus::Unknown, origin: 0, number: 0 }
    }

    /// A packet of a link type, of which `cut` bytes were not captured.
    pub fn packet(&mut self, link: LinkType, bytes: &[u8], cut: usize, time_ns: u64) {
        self.number += 1;
        let captured = bytes.len() - cut;
        let frame = Frame::new(link, Timestamp::from_nanos(time_ns))
            .with_number(self.number)
            .with_place(0, captured as u32)
            .with_wire_bytes(bytes.len() as u32)
            .with_origin(self.origin)
            .with_checksum(self.checksum);
        self.engine.process(&Batch::new(&bytes[..captured], &[frame]));
    }

    /// An IP packet at a time.
    pub fn ip(&mut self, bytes: &[u8], time_ns: u64) {
        self.packet(LinkType::RAW, bytes, 0, time_ns);
    }

    pub fn segment(&mut self, segment: &Seg) {
        let time_ns = 1_000_000_000 + segment.time_ms * 1_000_000;
        self.packet(LinkType::RAW, &segment.bytes(), segment.snapped.min(segment.payload.len()), time_ns);
    }

    pub fn segments<'a>(&mut self, segments: impl IntoIterator<Item = &'a Seg>) {
        for segment in segments {
            self.segment(segment);
        }
    }

    /// Ends the input; the ledger has to close.
    pub fn finish(mut self) -> (H, Ledger) {
        self.engine.finish();
        assert_eq!(self.engine.buffered_bytes(), 0);
        let (handler, ledger) = self.engine.into_parts();
        assert_eq!(ledger.received, self.number);
        assert!(ledger.closes(), "every packet has one fate: {ledger:?}");
        (handler, ledger)
    }
}

/// A UDP datagram from 10.0.0.1 with this port to 10.0.0.2:9, as an IPv4 packet.
pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let total = (28 + payload.len()) as u16;
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.extend([0, 9]);
    bytes.extend((total - 20).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// An Ethernet frame with VLAN tags.
pub fn ethernet(tags: &[u16], packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        bytes.extend([0x81, 0]);
        bytes.extend(tag.to_be_bytes());
    }
    bytes.extend([8, 0]);
    bytes.extend(packet);
    bytes
}

/// A frame in VXLAN with a network identifier.
pub fn vxlan(identifier: u32, inner: &[u8]) -> Vec<u8> {
    vxlan_tagged(identifier, &[], inner)
}

/// The same with VLAN tags inside.
pub fn vxlan_tagged(identifier: u32, tags: &[u16], inner: &[u8]) -> Vec<u8> {
    let mut payload = vec![8, 0, 0, 0];
    payload.extend((identifier << 8).to_be_bytes());
    payload.extend(ethernet(tags, inner));
    let mut outer = udp(40_000, &payload);
    outer[22..24].copy_from_slice(&4789_u16.to_be_bytes());
    outer
}

/// A configuration for made-up packets.
pub fn config() -> Config {
    Config::default().with_checksum(ChecksumMode::Ignore).with_history_segments(256).with_history_copy_bytes(1 << 14)
}

/// Runs segments through one engine for each share; the ledger has to close.
pub fn run_shared(config: &Config, segments: &[Seg], workers: u32) -> (BTreeMap<u64, StreamLog>, Ledger) {
    let mut memory = Vec::new();
    let mut frames = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        let bytes = segment.bytes();
        let captured = bytes.len() - segment.snapped.min(segment.payload.len());
        let time = 1_000_000_000 + segment.time_ms * 1_000_000;
        frames.push(
            Frame::new(LinkType::RAW, Timestamp::from_nanos(time))
                .with_number(number as u64 + 1)
                .with_place(memory.len() as u32, captured as u32)
                .with_wire_bytes(bytes.len() as u32),
        );
        memory.extend(&bytes[..captured]);
    }
    let mut streams = BTreeMap::new();
    let mut ledger = Ledger::default();
    for index in 0..workers {
        let mut engine = Engine::new(config.clone(), Share::new(index, workers), InvariantChecker::default());
        for group in frames.chunks(7) {
            engine.process(&Batch::new(&memory, group));
        }
        engine.finish();
        let (checker, own) = engine.into_parts();
        ledger.add(&own);
        for (id, log) in checker.streams {
            assert!(streams.insert(id, log).is_none());
        }
    }
    assert_eq!(ledger.received, segments.len() as u64);
    if fate(&ledger, Fate::NoRoom) == 0 {
        let sent: usize = segments.iter().map(|segment| segment.payload.len()).sum();
        let counted: u64 = streams.values().flat_map(|log: &StreamLog| log.wire).sum();
        assert_eq!(counted, sent as u64, "all payload is some stream's");
    }
    assert!(ledger.closes(), "every packet has one fate: {ledger:?}");
    (streams, ledger)
}

pub fn run(config: &Config, segments: &[Seg]) -> (BTreeMap<u64, StreamLog>, Ledger) {
    run_shared(config, segments, 1)
}

/// How many packets had a fate.
pub fn fate(ledger: &Ledger, fate: Fate) -> u64 {
    ledger.fate(fate)
}

/// Handshake with the given initial numbers, no options.
pub fn handshake(client: u32, server: u32) -> Vec<Seg> {
    vec![
        Seg::new(true, client, 0, SYN, b""),
        Seg::new(false, server, client.wrapping_add(1), SYN | ACK, b""),
        Seg::new(true, client.wrapping_add(1), server.wrapping_add(1), ACK, b""),
    ]
}
