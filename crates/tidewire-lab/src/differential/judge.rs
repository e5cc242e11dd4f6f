//! Runs the engine over a script's packets, and compares its result with what the host's application received.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
};

use tidewire_core::{
    AnomalyKind, Batch, Chunk, Config, Direction, EndReason, Engine, Frame, Gap, GapCause, Handler, Share, Stream,
    TcpState, Timestamp, wire,
};

use super::{
    player::{Packet, Played},
    script::{Listener, Script},
};
use crate::oracle::network::host;

/// Anomalies that do not affect the bytes of a stream.
const SAYS_NOTHING: &[AnomalyKind] = &[
    AnomalyKind::KeepAlive,
    AnomalyKind::Urgent,
    AnomalyKind::LowTtl,
    AnomalyKind::ListFull,
    AnomalyKind::SimultaneousOpen,
];

/// A stream towards the host.
#[derive(Clone, Debug, Default)]
struct Found {
    bytes: Vec<u8>,
    kinds: BTreeSet<&'static str>,
    state: Option<TcpState>,
}

/// Streams that the engine delivered, by the client's address and port, then in the order of the streams' beginnings.
#[derive(Default)]
struct Collector {
    streams: HashMap<(IpAddr, u16), BTreeMap<u64, Found>>,
}

impl Collector {
    fn of(&mut self, stream: &Stream<'_, ()>) -> (&mut Found, Direction) {
        let key = stream.key();
        // The host connects, or the engine takes it for the client because it saw no SYN.
        let is_turned = key.client.address == host(key.client.address.is_ipv6());
        let client = if is_turned { key.server } else { key.client };
        let direction = if is_turned { Direction::ServerToClient } else { Direction::ClientToServer };
        let streams = self.streams.entry((client.address, client.port)).or_default();
        (streams.entry(stream.id()).or_default(), direction)
    }
}

impl Handler for Collector {
    type Data = ();

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        // The key of the stream when its bytes arrive.
        let is_midstream = !stream.client_known() || stream.state() == TcpState::Midstream;
        let (found, direction) = self.of(stream);
        if is_midstream {
            found.kinds.insert("midstream");
        }
        if chunk.direction == direction {
            found.bytes.extend_from_slice(chunk.fresh());
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, ()>, gap: Gap) {
        let (found, direction) = self.of(stream);
        if gap.direction == direction && gap.cause != GapCause::Urgent {
            found.kinds.insert("gap");
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, _reason: EndReason) {
        let kinds: Vec<AnomalyKind> = stream.anomalies().iter().map(|anomaly| anomaly.kind).collect();
        let (_, direction) = self.of(stream);
        // The fate of bytes that were never answered is unknown, which the stream's figures show.
        let is_unanswered = stream.stats(direction.opposite()).packets == 0;
        let state = stream.state();
        let (found, _) = self.of(stream);
        found.state = Some(state);
        if is_unanswered {
            found.kinds.insert("unanswered");
        }
        // A second one means that the result depends on when the application reads.
        if kinds.iter().filter(|kind| **kind == AnomalyKind::Urgent).count() > 1 {
            found.kinds.insert("urgent twice");
        }
        found.kinds.extend(kinds.iter().filter(|kind| !SAYS_NOTHING.contains(kind)).map(|kind| kind.name()));
    }
}

/// How the two results of a script relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The engine delivered what the application received.
    Agreed,
    /// It did not, and reported an anomaly, a conflict or a gap.
    Reported,
    /// It did not, and reported nothing.
    Silent,
}

/// A script's outcome with its reasons.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Bytes that the applications received.
    pub received: Vec<Vec<u8>>,
    /// Bytes that the engine delivered.
    pub delivered: Vec<Vec<u8>>,
    /// Reports of the engine.
    pub kinds: BTreeSet<&'static str>,
    /// Whether the handshake was completed, for the host and for the engine, where both know it.
    pub opened: Option<(bool, bool)>,
}

impl Verdict {
    /// See [`Outcome`].
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let is_same = self.received == self.delivered && self.opened.is_none_or(|(host, engine)| host == engine);
        match (is_same, self.kinds.is_empty()) {
            (true, _) => Outcome::Agreed,
            (false, false) => Outcome::Reported,
            (false, true) => Outcome::Silent,
        }
    }

    /// A description of the difference.
    #[must_use]
    pub fn describe(&self) -> String {
        let text = |streams: &[Vec<u8>]| -> String {
            let each = streams.iter().map(|bytes| match bytes.len() {
                0..=64 => format!("'{}'", String::from_utf8_lossy(bytes)),
                count => format!("'{}…' ({count} bytes)", String::from_utf8_lossy(&bytes[..64])),
            });
            each.collect::<Vec<_>>().join(" ")
        };
        let kinds: Vec<_> = self.kinds.iter().copied().collect();
        let opened = match self.opened {
            Some((host, engine)) if host != engine => format!("; open: {host}, for the engine {engine}"),
            _ => String::new(),
        };
        format!(
            "the host received {}; delivered {}{opened}; reported: {}",
            text(&self.received),
            text(&self.delivered),
            kinds.join(", ")
        )
    }
}

fn engine_says(packets: &[&Packet], urgent_inline: bool) -> Collector {
    let config = Config::default().with_urgent_inline(urgent_inline);
    let mut engine = Engine::new(config, Share::ALL, Collector::default());
    let mut clock = 0;
    for (number, packet) in (1..).zip(packets) {
        let timestamp_ns = 1_000_000_000_000 + packet.at_ns;
        clock = timestamp_ns.max(clock);
        let frame = Frame::new(wire::LinkType::ETHERNET, Timestamp::from_nanos(timestamp_ns))
            .with_number(number)
            .with_place(0, packet.frame.len() as u32)
            .with_clock(Timestamp::from_nanos(clock));
        engine.process(&Batch::new(packet.frame.as_slice(), &[frame]));
    }
    engine.finish();
    assert!(engine.ledger().closes(), "every packet is counted once");
    engine.into_parts().0
}

/// Whether the engine saw a completed handshake; `None`: several streams, or one that was reset.
fn is_open(mut states: impl Iterator<Item = Option<TcpState>>) -> Option<bool> {
    match (states.next().flatten(), states.next()) {
        (Some(TcpState::SynSent | TcpState::SynReceived), None) => Some(false),
        (Some(TcpState::Established | TcpState::HalfClosed | TcpState::Closed), None) => Some(true),
        _ => None,
    }
}

/// Compares the host's result with the engine's.
#[must_use]
pub fn judge(scripts: &[Script], played: Vec<Played>, packets: &[Packet]) -> Vec<Verdict> {
    let is_out = |packet: &&Packet| scripts[packet.script as usize].listener == Listener::UrgentOut;
    let (out, usual): (Vec<&Packet>, Vec<&Packet>) = packets.iter().partition(is_out);
    let mut found = engine_says(&usual, true).streams;
    found.extend(engine_says(&out, false).streams);
    let verdict = |played: Played| {
        let streams = found.get(&played.client);
        let streams = || streams.iter().flat_map(|streams| streams.values());
        let is_some = |bytes: &Vec<u8>| !bytes.is_empty();
        Verdict {
            opened: played.is_open.zip(is_open(streams().map(|found| found.state))),
            received: played.received.into_iter().filter(is_some).collect(),
            delivered: streams().map(|found| found.bytes.clone()).filter(is_some).collect(),
            kinds: streams().flat_map(|found| found.kinds.iter().copied()).collect(),
        }
    };
    played.into_iter().map(verdict).collect()
}
