//! `anomaly`: what the engine flags.
//!
//! Of each kind a stream's first occurrence is an event when it is seen, and the others are one event when the stream ends. Packets
//! that belong to no stream cannot be counted for a stream: of each kind one is an event, and in the next second of packet time
//! others are counted for the next event of that kind. So no flood of anomalies is a flood of events.
//! What the point of the capture explains (checksum offload, connections that were open before) is known when a stream ends, and is
//! counted over all workers: see [`Explained`].

mod explained;
mod rare;
mod severity;

use std::sync::Arc;

use tidewire::{AnomalyKind, Datagram, Direction, Explanation, Outside, OutsidePacket, Stream, StreamEvidence};
use tidewire_events::{Event, FlowKey, Severity, StreamPosition, Value};

pub(crate) use self::explained::Explained;
use self::rare::Rare;
use crate::{describe, emit::Outlet, settings::AnomalySettings};

/// Packet time in which one event is made of each kind of things that belong to no stream.
const OUTSIDE_NS: u64 = 1_000_000_000;

/// State of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnomalyState {
    /// A bit for each kind that was reported.
    reported: u64,
    /// Anomalies of the stream's list that were looked at.
    seen: u32,
}

/// The analyzer, for one worker.
#[derive(Debug)]
pub(crate) struct Anomaly {
    outlet: Outlet,
    least: Severity,
    rare: Rare,
    /// Of all workers.
    explained: Arc<Explained>,
}

impl Anomaly {
    pub(crate) fn new(settings: &AnomalySettings, outlet: Outlet, explained: Arc<Explained>) -> Self {
        Self { outlet, least: settings.severity, rare: Rare::new(OUTSIDE_NS), explained }
    }

    /// Looks for anomalies that are new in the stream. `state` finds its state.
    #[inline]
    pub(crate) fn look<D>(&self, stream: &mut Stream<'_, D>, state: impl Fn(&mut D) -> &mut AnomalyState) {
        // Nearly every stream has none.
        if !stream.anomalies().is_empty() {
            self.look_closely(stream, state);
        }
    }

    #[cold]
    fn look_closely<D>(&self, stream: &mut Stream<'_, D>, state: impl Fn(&mut D) -> &mut AnomalyState) {
        let mut known = *state(stream.data());
        for anomaly in stream.anomalies().get(known.seen as usize..).unwrap_or_default() {
            known.seen += 1;
            if may_be_explained(anomaly.kind) {
                continue;
            }
            let bit = 1_u64.checked_shl(anomaly.kind as u32).unwrap_or(0);
            if known.reported & bit == 0 {
                known.reported |= bit;
                self.report(stream, anomaly.kind, anomaly.packet, 0);
            }
        }
        *state(stream.data()) = known;
    }

    /// Reports what came after the first of each kind, and what may be explained.
    pub(crate) fn close<D>(&mut self, stream: &mut Stream<'_, D>, state: impl Fn(&mut D) -> &mut AnomalyState) {
        if stream.anomalies().is_empty() {
            return;
        }
        self.look_closely(stream, state);
        let explained = self.explained(stream);
        for kind in kinds_of(stream).filter(|kind| !explained.contains(kind)) {
            self.of_stream(stream, kind).into_iter().for_each(|event| self.outlet.emit(event));
        }
    }

    /// Pending report of a kind when a stream ends: the first one, if it might have been explained, and the number of the
    /// others.
    fn of_stream<D>(&self, stream: &Stream<'_, D>, kind: AnomalyKind) -> Vec<Event> {
        let list = || stream.anomalies().iter().filter(|anomaly| anomaly.kind == kind);
        let first =
            list().next().filter(|_| may_be_explained(kind)).map(|first| self.event(stream, kind, first.packet, 0));
        let more = list().skip(1).count() as u64;
        let last = list().next_back().filter(|_| more != 0).map(|last| self.event(stream, kind, last.packet, more));
        [first, last].into_iter().flatten().flatten().collect()
    }

    /// Counts the stream for each kind that is explained, and returns these kinds.
    fn explained<D>(&self, stream: &Stream<'_, D>) -> Vec<AnomalyKind> {
        let stats = Direction::BOTH.map(|direction| stream.stats(direction));
        let mut evidence = StreamEvidence::new(&stats);
        (evidence.gaps, evidence.anomalies) = (stream.gaps(), stream.anomalies());
        evidence.has_conflicts = Direction::BOTH.iter().any(|&direction| !stream.conflicts(direction).is_empty());
        let mut kinds = Vec::new();
        // Anomalies below the severity are reported in neither way.
        let is_possible = |kind: &AnomalyKind| may_be_explained(*kind) && severity::of(*kind) >= self.least;
        for kind in kinds_of(stream).filter(is_possible) {
            let Some(explanation) = evidence.explains(kind) else { continue };
            kinds.push(kind);
            let times_ns = (stream.start().as_nanos(), stream.end().as_nanos());
            match explanation {
                Explanation::SeveralPaths => self.explained.note_path(kind, times_ns, self.of_stream(stream, kind)),
                _ => self.explained.note(kind, explanation, times_ns),
            }
        }
        kinds
    }

    fn report<D>(&self, stream: &Stream<'_, D>, kind: AnomalyKind, packet: u64, more: u64) {
        if let Some(event) = self.event(stream, kind, packet, more) {
            self.outlet.emit(event);
        }
    }

    /// `more`: how many more there were; 0: this is the first.
    fn event<D>(&self, stream: &Stream<'_, D>, kind: AnomalyKind, packet: u64, more: u64) -> Option<Event> {
        let severity = severity::of(kind);
        if severity < self.least {
            return None;
        }
        let mut event = Event {
            time_ns: stream.end().as_nanos(),
            kind: describe::anomaly(kind.name()),
            severity,
            key: Some(describe::key(&stream.key())),
            stream: Some(stream.id()),
            ..Event::default()
        };
        event = event.with("first", Value::Time(stream.start().as_nanos())).with("packet", Value::U64(packet));
        if more != 0 {
            event = event.with("more", Value::U64(more));
        }
        if kind == AnomalyKind::OverlapConflict {
            let last = |direction| stream.conflicts(direction).last().map(|conflict| (direction, *conflict));
            if let Some((direction, conflict)) = Direction::BOTH.into_iter().find_map(last) {
                event.place = Some(StreamPosition { direction, offset: conflict.offset });
                event = event.with("bytes", Value::U64(conflict.bytes));
            }
        }
        Some(event)
    }

    /// A packet that belongs to no stream.
    pub(crate) fn outside(&mut self, packet: &OutsidePacket<'_>) {
        let Outside::Malformed(why) = packet.why else { return };
        if Severity::Low < self.least {
            return;
        }
        let why = why.map_or("unknown", tidewire::Malformation::name);
        if let Some(more) = self.rare.note("malformed", why, packet.timestamp.as_nanos()) {
            let event =
                Event { time_ns: packet.timestamp.as_nanos(), ..of_kind("malformed", why, more, Some(packet.number)) };
            self.outlet.emit(event);
        }
    }

    /// A rebuilt or rejected datagram.
    pub(crate) fn datagram(&mut self, datagram: &Datagram<'_>) {
        let time_ns = datagram.timestamp.as_nanos();
        let Some(why) = datagram.rejected.filter(|why| !why.is_unfinished()) else { return };
        if Severity::Low < self.least {
            return;
        }
        if let Some(more) = self.rare.note("fragments", why.name(), time_ns) {
            let mut event = Event { time_ns, ..of_kind("fragments", why.name(), more, Some(datagram.packet)) };
            if datagram.source.is_ipv4() == datagram.destination.is_ipv4() {
                event.key = Some(FlowKey {
                    protocol: datagram.proto,
                    client_addr: datagram.source,
                    client_port: 0,
                    server_addr: datagram.destination,
                    server_port: 0,
                });
            }
            self.outlet.emit(event);
        }
    }

    /// Reports what was only counted.
    pub(crate) fn finish(&mut self) {
        for (what, why, more, time_ns) in self.rare.rest() {
            self.outlet.emit(Event { time_ns, ..of_kind(what, why, more, None) });
        }
    }
}

/// Whether the point of the capture may be the reason, which is decided at the stream's end.
fn may_be_explained(kind: AnomalyKind) -> bool {
    matches!(
        kind,
        AnomalyKind::BadChecksum
            | AnomalyKind::AckedUnseen
            | AnomalyKind::LinkMismatch
            | AnomalyKind::EncapsulationChange
    )
}

/// The kinds of a stream's anomalies, each once, in the order of packets.
fn kinds_of<D>(stream: &Stream<'_, D>) -> impl Iterator<Item = AnomalyKind> {
    let list = stream.anomalies();
    let is_first = |at: usize| list[..at].iter().all(|earlier| earlier.kind != list[at].kind);
    let kinds: Vec<_> = (0..list.len()).filter(|&at| is_first(at)).map(|at| list[at].kind).collect();
    kinds.into_iter()
}

/// `more`: how many more of this kind were seen since its last event.
fn of_kind(what: &str, why: &str, more: u64, packet: Option<u64>) -> Event {
    let mut event = Event { kind: describe::anomaly(what), severity: Severity::Low, ..Event::default() };
    event = event.with("reason", Value::Text(why.to_owned()));
    if let Some(packet) = packet {
        event = event.with("packet", Value::U64(packet));
    }
    if more != 0 {
        event = event.with("more", Value::U64(more));
    }
    event
}
