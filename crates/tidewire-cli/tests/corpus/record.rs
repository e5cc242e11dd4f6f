//! A handler that notes everything about every stream, and checks on the way what must always hold.

use sha2::{Digest, Sha256};
use std::path::Path;
use tidewire::{
    Anomaly, AnomalyKind, Capture, Chunk, Config, Conflict, Datagram, Direction, DirectionStats, Duplicates, EndReason,
    Error, Files, FlowKey, Gap, GapCause, Handler, Ledger, Stream, StreamPacket, TcpState,
};

/// One direction of a stream, when it had ended.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionRecord {
    /// The engine's figures.
    pub stats: DirectionStats,
    /// Bytes delivered before the first gap, and their SHA-256.
    pub prefix_bytes: u64,
    /// See `prefix_bytes`.
    pub prefix_sha256: String,
    /// All bytes delivered, and their SHA-256.
    pub delivered_bytes: u64,
    /// See `delivered_bytes`.
    pub sha256: String,
    /// The gaps, as the handler got them.
    pub gaps: Vec<Gap>,
    /// Bytes that came in two versions.
    pub conflicts: Vec<Conflict>,
    /// Packets shown to the handler.
    pub packets_shown: u64,
}

/// A stream, when it had ended.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// Number of its first packet.
    pub id: u64,
    /// Addresses.
    pub key: FlowKey,
    /// Whether the client is known rather than inferred.
    pub client_known: bool,
    /// How far it got.
    pub state: TcpState,
    /// Why it ended.
    pub reason: EndReason,
    /// First and last timestamp.
    pub time_ns: [u64; 2],
    /// Client to server, and back.
    pub directions: [DirectionRecord; 2],
    /// The anomalies.
    pub anomalies: Vec<Anomaly>,
}

/// A datagram that came in fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramRecord {
    /// Number of the fragment that ended it.
    pub packet: u64,
    /// Sender and receiver, as text.
    pub addresses: [String; 2],
    /// IP identification.
    pub ip_id: u32,
    /// Fragments.
    pub fragments: u32,
    /// Bytes of IP payload.
    pub bytes: u64,
    /// SHA-256 of the IP payload.
    pub sha256: String,
    /// Fragments that overlapped.
    pub overlaps: u32,
    /// Why it was rejected.
    pub rejected: Option<&'static str>,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The streams, by id.
    pub streams: Vec<StreamRecord>,
    /// The datagrams, by packet.
    pub datagrams: Vec<DatagramRecord>,
    /// The ledger.
    pub ledger: Ledger,
    /// Errors of the file, as text.
    pub damages: Vec<String>,
    /// Findings that a handler must never see.
    pub broken: Vec<String>,
}

/// A handler's view of one direction so far.
#[derive(Default)]
pub struct Progress {
    next: u64,
    hash: Sha256,
    delivered_bytes: u64,
    prefix: Option<(u64, String)>,
    gaps: Vec<Gap>,
    packets: u64,
    last_packet: u64,
    captured_bytes: u64,
    opened_ns: u64,
    cut: bool,
}

/// See [`Record`]; one a worker.
#[derive(Default)]
pub struct Recorder {
    streams: Vec<StreamRecord>,
    datagrams: Vec<DatagramRecord>,
    open: i64,
    broken: Vec<String>,
}

impl Recorder {
    fn hold(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.broken.len() < 20 {
            self.broken.push(what());
        }
    }
}

impl Handler for Recorder {
    type Data = [Progress; 2];

    const PACKETS: bool = true;
    const DATAGRAMS: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        self.open += 1;
        let id = stream.id();
        stream.data()[0].opened_ns = stream.start().as_nanos();
        let times = [stream.start().as_nanos(), stream.end().as_nanos()];
        self.hold(times[0] <= times[1], || format!("{id} opens with the times {times:?}"));
        self.hold(id > 0, || format!("a stream opened with id {id}"));
    }

    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        let (number, time_ns) = (packet.number, packet.timestamp.as_nanos());
        let [client, server] = stream.data();
        let (last, opened_ns) = (client.last_packet.max(server.last_packet), client.opened_ns);
        let is_first = client.packets + server.packets == 0;
        let progress = &mut stream.data()[packet.direction as usize];
        progress.packets += 1;
        progress.last_packet = number;
        progress.captured_bytes += u64::from(packet.payload_captured_bytes);
        // A SYN in an open connection comes when it is clear whose it is: in the old one it may be late.
        let blind = |anomaly: &Anomaly| anomaly.kind == AnomalyKind::BlindSyn && anomaly.packet == number;
        let late = stream.anomalies().iter().any(blind);
        self.hold(last < number || late, || format!("packet {number} after packet {last}"));
        // (An outlier of time opens its stream at the time of the packets around it.)
        let is_its = opened_ns == time_ns || time_ns.abs_diff(opened_ns) > 3_600_000_000_000;
        self.hold(!is_first || is_its, || format!("opened at {opened_ns} ns with a packet of {time_ns}"));
        let payload_end = packet.payload_at as usize + packet.payload_captured_bytes as usize;
        let bytes = packet.bytes.len();
        self.hold(payload_end <= bytes, || format!("packet {number}: payload ends at {payload_end} of {bytes} bytes"));
    }

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        let id = stream.id();
        let progress = &mut stream.data()[chunk.direction as usize];
        let begins = chunk.offset + chunk.repeated_bytes as u64;
        let expected = progress.next;
        let fresh = chunk.fresh();
        progress.next = begins + fresh.len() as u64;
        progress.delivered_bytes += fresh.len() as u64;
        progress.hash.update(fresh);
        let name = chunk.direction.name();
        self.hold(begins == expected, || format!("{id} {name}: bytes at {begins}, not at {expected}"));
        self.hold(!chunk.bytes.is_empty(), || format!("{id} {name}: an empty chunk at {begins}"));
    }

    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        let id = stream.id();
        let progress = &mut stream.data()[gap.direction as usize];
        let expected = progress.next;
        if progress.prefix.is_none() {
            progress.prefix = Some((progress.delivered_bytes, hex(progress.hash.clone())));
        }
        progress.next = gap.offset.saturating_add(gap.bytes);
        progress.cut |= gap.cause == GapCause::Cutoff;
        progress.gaps.push(gap);
        let name = gap.direction.name();
        self.hold(gap.offset == expected, || format!("{id} {name}: gap at {}, not at {expected}", gap.offset));
        self.hold(gap.bytes > 0, || format!("{id} {name}: an empty gap at {}", gap.offset));
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        self.open -= 1;
        let id = stream.id();
        let progress = std::mem::take(stream.data());
        let mut directions = Vec::with_capacity(2);
        for (direction, progress) in [Direction::ClientToServer, Direction::ServerToClient].into_iter().zip(progress) {
            let stats = stream.stats(direction);
            let conflicts = stream.conflicts(direction).to_vec();
            let name = direction.name();
            let (shown, counted) = (progress.packets, stats.packets);
            self.hold(shown == counted, || format!("{id} {name}: {shown} packets shown, {counted} counted"));
            let delivered = progress.delivered_bytes;
            let missing: u64 = progress.gaps.iter().map(|gap| gap.bytes).sum();
            self.hold(stats.delivered_bytes == delivered, || {
                format!("{id} {name}: {delivered} bytes delivered, counted as {}", stats.delivered_bytes)
            });
            self.hold(progress.cut || progress.next == delivered + missing, || {
                format!("{id} {name}: {} bytes, of them {delivered} delivered and {missing} missing", progress.next)
            });
            // Beyond a cutoff, and in track mode, gaps are counted and not reported one by one.
            // Subflows of Multipath TCP deliver what others carried, or nothing.
            let is_together = stream.mptcp().is_some_and(|mptcp| mptcp.is_together);
            if !progress.cut && !is_together && stats.cutoff_bytes == 0 && stats.reassembled_bytes + missing > 0 {
                let of_packets = progress.gaps.iter().filter(|gap| gap.cause.is_of_packets());
                let placed = stats.reassembled_bytes + stats.retransmitted_bytes + stats.ignored_bytes;
                let placed = placed + of_packets.map(|gap| gap.bytes).sum::<u64>();
                self.hold(stats.payload_wire_bytes == placed, || {
                    format!("{id} {name}: {} bytes of payload, {placed} accounted for", stats.payload_wire_bytes)
                });
            }
            let is_whole = progress.captured_bytes == stats.payload_wire_bytes;
            self.hold(progress.captured_bytes <= stats.payload_wire_bytes, || {
                format!("{id} {name}: payload uncounted")
            });
            self.hold(stats.ignored_bytes == 0 || !is_whole || !stream.anomalies().is_empty(), || {
                format!("{id} {name}: {} bytes ignored without a reason", stats.ignored_bytes)
            });
            directions.push(record(progress, stats, conflicts));
        }
        let directions = directions.try_into().expect("two");
        self.streams.push(StreamRecord {
            id,
            key: stream.key(),
            client_known: stream.client_known(),
            state: stream.state(),
            reason,
            time_ns: [stream.start().as_nanos(), stream.end().as_nanos()],
            directions,
            anomalies: stream.anomalies().to_vec(),
        });
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.datagrams.push(DatagramRecord {
            packet: datagram.packet,
            addresses: [datagram.source.to_string(), datagram.destination.to_string()],
            ip_id: datagram.ip_id,
            fragments: datagram.fragments,
            bytes: datagram.payload.len() as u64,
            sha256: hex(Sha256::new_with_prefix(datagram.payload)),
            overlaps: datagram.overlaps,
            rejected: datagram.rejected.map(|reason| reason.name()),
        });
    }
}

fn record(progress: Progress, stats: DirectionStats, conflicts: Vec<Conflict>) -> DirectionRecord {
    let sha256 = hex(progress.hash);
    let prefix = progress.prefix.unwrap_or_else(|| (progress.delivered_bytes, sha256.clone()));
    DirectionRecord {
        stats,
        prefix_bytes: prefix.0,
        prefix_sha256: prefix.1,
        delivered_bytes: progress.delivered_bytes,
        sha256,
        gaps: progress.gaps,
        conflicts,
        packets_shown: progress.packets,
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs one capture through the library.
///
/// # Errors
/// Where the file cannot be opened at all.
pub fn run(path: &Path, workers: usize, config: Config) -> Result<Record, Error> {
    // Other programs count each copy of a packet.
    collect(Capture::files([path]).config(config).duplicates(Duplicates::Keep).workers(workers))
}

/// The same for a builder that is set up.
pub fn collect(capture: Capture<Files<'_>>) -> Result<Record, Error> {
    let outcome = capture.run(|_| Recorder::default())?;
    let damages = outcome.input_errors.iter().map(ToString::to_string).collect();
    let ledger = outcome.ledger;
    let mut record = Record { streams: Vec::new(), datagrams: Vec::new(), ledger, damages, broken: Vec::new() };
    for mut recorder in outcome.handlers {
        let open = recorder.open;
        recorder.hold(open == 0, || format!("{open} more streams were opened than closed"));
        record.streams.append(&mut recorder.streams);
        record.datagrams.append(&mut recorder.datagrams);
        record.broken.append(&mut recorder.broken);
    }
    // A stream that ends hands over its place in the order of ids; workers end them each in their own order.
    record.streams.sort_by_key(|stream| stream.id);
    record.datagrams.sort_by(|a, b| (a.packet, &a.addresses, a.ip_id).cmp(&(b.packet, &b.addresses, b.ip_id)));
    let closes = record.ledger.closes();
    if !closes {
        record.broken.push(format!("the ledger does not close: {:?}", record.ledger));
    }
    Ok(record)
}
