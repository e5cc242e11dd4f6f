//! The policy `linux` against the running kernel; see `tidewire_lab::oracle`. Needs root and `ip`; says so otherwise.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::PoisonError,
};

use tidewire_core::{
    Batch, ChecksumMode, Chunk, Config, Datagram, DefragPolicy, Direction, EndReason, Engine, Frame, Handler, Share,
    Stream, TcpPolicy, Timestamp,
    internals::{Defragmenter, Incoming, Outcome, Queue},
    wire,
};
use tidewire_lab::{
    oracle::{
        Report,
        arrange::{all, random},
        forms, fragments, hosts,
        network::{Network, missing},
        tcp::{Case, Player},
    },
    random::Random,
};

/// Protocol number (IANA).
const TCP: u8 = 6;

/// Data that the engine delivers: TCP by the client's port, UDP datagrams by their sender, datagrams of other protocols if they
/// came in fragments. A port's connection is the first stream that it has: segments to another network (a VLAN) or another
/// host (the final destination of a routing header) are streams of their own, and never in it.
#[derive(Default)]
struct Collector {
    streams: HashMap<u16, Vec<u8>>,
    /// Clients' ports whose connection is open or was.
    connected: HashSet<u16>,
    /// Payload of UDP, by the client's port, and the anomalies of every stream.
    by_port: HashMap<u16, Vec<Vec<u8>>>,
    anomalies: HashMap<u16, Vec<&'static str>>,
    datagrams: HashMap<IpAddr, Vec<Vec<u8>>>,
}

impl Handler for Collector {
    /// Whether a stream of TCP is its port's connection.
    type Data = bool;
    const DATAGRAMS: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, bool>) {
        let key = stream.key();
        *stream.data() = key.proto == TCP && self.connected.insert(key.client.port);
    }

    fn data(&mut self, stream: &mut Stream<'_, bool>, chunk: Chunk<'_>) {
        let client = stream.key().client;
        if chunk.is_datagram && stream.key().proto == tidewire_types::ip_protocol::UDP {
            self.datagrams.entry(client.address).or_default().push(chunk.bytes.to_vec());
            self.by_port.entry(client.port).or_default().push(chunk.bytes.to_vec());
        } else if *stream.data() && chunk.direction == Direction::ClientToServer {
            self.streams.entry(client.port).or_default().extend_from_slice(chunk.fresh());
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, bool>, _: EndReason) {
        let kinds = stream.anomalies().iter().map(|anomaly| anomaly.kind.name());
        self.anomalies.entry(stream.key().client.port).or_default().extend(kinds);
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        if datagram.rejected.is_none() && datagram.proto == fragments::EXPERIMENT {
            self.datagrams.entry(datagram.source).or_default().push(datagram.payload.to_vec());
        }
    }
}

/// A batch frame that consists of all of `bytes`.
fn frame_of(at: usize, bytes: &[u8], number: u64) -> Frame {
    Frame::new(wire::LinkType::ETHERNET, Timestamp::from_nanos(number))
        .with_number(number)
        .with_place(at as u32, bytes.len() as u32)
}

/// Feeds packets to an engine, as a capture would.
fn engine_says<'a>(packets: impl IntoIterator<Item = &'a [u8]>, checksum: ChecksumMode) -> Collector {
    let mut engine = Engine::new(Config::default().with_checksum(checksum), Share::ALL, Collector::default());
    for (number, packet) in (1..).zip(packets) {
        engine.process(&Batch::new(packet, &[frame_of(0, packet, number)]));
    }
    engine.finish();
    assert!(engine.ledger().closes());
    engine.into_parts().0
}

/// The result of the queue alone.
fn queue_says(case: &Case) -> Vec<u8> {
    let (mut queue, mut out, mut expected) = (Queue::default(), Vec::new(), 0);
    for (offset, bytes) in &case.segments {
        let incoming = Incoming { start: u64::from(*offset), bytes, length: bytes.len() as u64, ..Incoming::default() };
        queue.insert(TcpPolicy::Linux, expected, &incoming, &mut |_, _| ());
        while let Some(piece) = queue.take(expected, u64::MAX, 0) {
            out.extend(piece.bytes());
            expected += piece.length;
        }
    }
    out
}

/// Every arrangement of up to three chunks: from the stream's first byte on; behind a hole of one unit that is filled at
/// each position in the order; behind one that is filled by a segment which overlaps queued ones. And more chunks at random.
fn tcp_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in 1..=3 {
        for chunks in all(count) {
            for (unit, isn) in [(1, 1000), (8, u32::MAX - 20)] {
                cases.push(Case::new(&chunks, unit, isn, None));
                for at in 0..=count {
                    cases.push(Case::new(&chunks, unit, isn, Some((at, 1))));
                }
                cases.push(Case::new(&chunks, unit, isn, Some((count, 3))));
            }
        }
    }
    let mut seed = Random::new(1);
    for round in 0..4000 {
        let chunks = random(&mut seed, 4 + round % 9, 6 + round as u32 % 24);
        cases.push(Case::new(&chunks, 1 + round as u32 % 4, 7, Some((chunks.len(), 1))));
    }
    cases
}

fn segments_of(is_ipv6: bool) {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let cases = tcp_cases();
    let report = Network::inside(|network| {
        let mut report = Report::default();
        let mut player = Player::new(network, is_ipv6)?;
        for batch in cases.chunks(1000) {
            let (played, before) = (player.play(batch)?, player.trace.len());
            let trace = std::mem::take(&mut player.trace);
            let delivered = engine_says(trace.iter().map(Vec::as_slice), ChecksumMode::Ignore).streams;
            report.packets += before as u64;
            for (case, played) in batch.iter().zip(played) {
                let wanted = played.received.unwrap_or_default();
                let found = [&queue_says(case), delivered.get(&played.port).unwrap_or(&Vec::new())].map(Clone::clone);
                report.compare(!wanted.is_empty(), found.iter().all(|found| *found == wanted), || {
                    let ends = |(at, bytes): &(u32, Vec<u8>)| (*at, at + bytes.len() as u32);
                    let places: Vec<_> = case.segments.iter().map(ends).collect();
                    format!("{places:?}: the kernel gave {wanted:x?}, queue and engine {found:x?}")
                });
            }
        }
        Ok(report)
    })
    .unwrap();
    conclude(&report, "TCP segments", is_ipv6);
    assert_eq!(report.delivered, report.cases);
}

fn conclude(report: &Report, what: &str, is_ipv6: bool) {
    println!("IPv{} {what}: {report}", if is_ipv6 { 6 } else { 4 });
    assert_eq!(report.differing, 0, "{:#?}", report.differences);
}

/// The result of the defragmenter alone.
fn defragmenter_says(case: &fragments::Case) -> Vec<Vec<u8>> {
    let config = Config::default();
    let mut defragmenter = Defragmenter::new(&config);
    let mut out = Vec::new();
    for (number, bytes) in (1..).zip(case.frames()) {
        let decoded = wire::decode(wire::LinkType::ETHERNET, &bytes, bytes.len() as u32, config.wire());
        if decoded.kind != wire::Kind::Fragment {
            out.extend(case.application_gets(&bytes[decoded.transport_at as usize..]));
            continue;
        }
        let frame = frame_of(0, &bytes, number);
        let outcome = defragmenter.insert(DefragPolicy::Linux, &frame, &bytes, &decoded, &mut |_| ());
        if let Outcome::Rebuilt(rebuilt) = outcome {
            out.extend(case.application_gets(rebuilt.payload()));
        }
    }
    out
}

fn fragments_of(is_ipv6: bool) {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let cases = fragments::cases(is_ipv6);
    let received = Network::inside(|network| fragments::play(network, &cases)).unwrap();
    let frames: Vec<Vec<u8>> = cases.iter().flat_map(fragments::Case::frames).collect();
    // (The datagrams have no checksum, which IPv6 forbids; the socket is set to accept them.)
    let delivered = engine_says(frames.iter().map(Vec::as_slice), ChecksumMode::Ignore).datagrams;
    let mut report = Report { packets: frames.len() as u64, ..Report::default() };
    for (case, wanted) in cases.iter().zip(received) {
        // A datagram in one packet is not reassembled; for the others the engine's datagram is compared.
        let is_whole = |(offset, _, more): &fragments::Fragment| *offset == 0 && !more;
        let alone = case.proto == fragments::EXPERIMENT && case.fragments.iter().any(is_whole);
        let engine = delivered.get(&case.source).cloned().unwrap_or_default();
        let found = [defragmenter_says(case), if alone { wanted.clone() } else { engine }];
        report.compare(!wanted.is_empty(), found.iter().all(|found| *found == wanted), || {
            let of = |fragment: &fragments::Fragment| {
                (fragment.0 / 8, (fragment.0 + fragment.1.len() as u32) / 8, fragment.2)
            };
            let places: Vec<_> = case.fragments.iter().map(of).collect();
            let proto = case.proto;
            format!("protocol {proto} {places:?}: the kernel gave {wanted:x?}, defragmenter and engine {found:x?}")
        });
    }
    conclude(&report, "fragments", is_ipv6);
}

/// Behaviour of this host that other Linux hosts do not share, so that the engine doubts it: it accepts before it acknowledges,
/// and bytes that follow at the same offset win against the doubted ones.
const BY_SETTING: [(&str, hosts::Task); 3] = [
    // Kernels with mobility (CONFIG_IPV6_MIP6) drop it.
    ("routing header of type 2, 0 left", hosts::Task::Payload),
    ("routing header of type 2, 0 left", hosts::Task::Fin),
    ("routing header of type 2, 0 left", hosts::Task::Reset),
];

/// Every form of packet that hosts differ about, as a datagram and in a connection. What the application received is what the
/// engine delivered; where it is not, an anomaly says that there were two readings. TCP's receiver acknowledges: its bytes
/// are never in doubt.
fn forms_of(is_ipv6: bool) {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let forms = forms::forms(is_ipv6);
    let (played, trace) = Network::inside(|network| {
        let mut player = hosts::Player::new(network, is_ipv6)?;
        let mut played = Vec::new();
        for form in &forms {
            for task in hosts::Task::ALL {
                played.push((form.name.as_str(), task, player.play(form, task)?));
            }
        }
        Ok((played, player.trace))
    })
    .unwrap();
    // The host offloads checksums: its packets have none yet.
    let collector = engine_says(trace.iter().map(Vec::as_slice), ChecksumMode::Ignore);
    let mut report = Report { packets: trace.len() as u64, ..Report::default() };
    let mut doubted = Vec::new();
    for (name, task, played) in played {
        let is_datagram = task == hosts::Task::Datagram;
        let found = if is_datagram {
            collector.by_port.get(&played.port).cloned().unwrap_or_default()
        } else {
            vec![collector.streams.get(&played.port).cloned().unwrap_or_default()]
        };
        let anomalies = collector.anomalies.get(&played.port).cloned().unwrap_or_default();
        let is_reported = !anomalies.is_empty() && (is_datagram || BY_SETTING.contains(&(name, task)));
        if found != played.received && is_reported {
            doubted.push(name);
        }
        report.compare(!played.received.is_empty(), found == played.received || is_reported, || {
            let text = |all: &[Vec<u8>]| all.iter().map(|one| runs(one)).collect::<Vec<_>>().join(", ");
            let (wanted, found) = (text(&played.received), text(&found));
            format!("{name}, {task:?}: the kernel gave {wanted}, the engine {found}; {anomalies:?}")
        });
    }
    println!("datagrams with two readings: {doubted:#?}");
    conclude(&report, "forms", is_ipv6);
}

/// Bytes as text, each run once.
fn runs(bytes: &[u8]) -> String {
    let mut text: Vec<u8> = bytes.to_vec();
    text.dedup();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn ipv4_forms() {
    let _beside = super::TIMERS.read().unwrap_or_else(PoisonError::into_inner);
    forms_of(false);
}

#[test]
fn ipv6_forms() {
    let _beside = super::TIMERS.read().unwrap_or_else(PoisonError::into_inner);
    forms_of(true);
}

#[test]
fn ipv4_segments() {
    let _beside = super::TIMERS.read().unwrap_or_else(PoisonError::into_inner);
    segments_of(false);
}

#[test]
fn ipv6_segments() {
    let _beside = super::TIMERS.read().unwrap_or_else(PoisonError::into_inner);
    segments_of(true);
}

#[test]
fn ipv4_fragments() {
    let _beside = super::TIMERS.read().unwrap_or_else(PoisonError::into_inner);
    fragments_of(false);
}

#[test]
fn ipv6_fragments() {
    let _beside = super::TIMERS.read().unwrap_or_else(PoisonError::into_inner);
    fragments_of(true);
}
