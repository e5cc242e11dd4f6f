//! `anomaly`: what the engine flags.
//!
//! Of each kind a stream's first occurrence is an event when it is seen, and the others are one event when the stream ends. Packets
//! that belong to no stream have nobody to be counted for: of each kind one is an event, and in the next second of packet time
//! others are counted for the next event of that kind. So no flood of anomalies is a flood of events.
//! What the point of the capture explains (checksum offload, connections that were open before) is known when a stream ends, and is
//! reported likewise: one event of each kind in an hour, of no stream, with the number of the others.

mod rare;
mod severity;

use tidewire::{AnomalyKind, Datagram, Direction, Explanation, Outside, OutsidePacket, Stream, StreamEvidence};
use tidewire_events::{Event, FlowKey, Place, Severity, Value};

use self::rare::Rare;
use crate::{describe, emit::Outlet, settings::AnomalySettings};

/// Packet time in which one event is made of each kind of things that belong to no stream.
const OUTSIDE_NS: u64 = 1_000_000_000;

/// The same of what the point of the capture explains: an hour.
const EXPLAINED_NS: u64 = 3_600_000_000_000;

/// Streams on several paths that have events of their own. Of more, the capture is what they have in common.
const SEVERAL_PATHS_MIN: u32 = 16;

/// What is kept of a stream.
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
    explained: Rare,
    several_paths: u32,
    /// Time of the first packet of streams that ended.
    first_ns: u64,
}

impl Anomaly {
    pub(crate) fn new(settings: &AnomalySettings, outlet: Outlet) -> Self {
        Self {
            outlet,
            least: settings.severity,
            rare: Rare::new(OUTSIDE_NS),
            explained: Rare::new(EXPLAINED_NS),
            several_paths: 0,
            first_ns: u64::MAX,
        }
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
        self.first_ns = self.first_ns.min(stream.start_ns());
        if stream.anomalies().is_empty() {
            return;
        }
        self.look_closely(stream, state);
        let explained = self.explained(stream);
        let list = stream.anomalies();
        for (at, first) in list.iter().enumerate().filter(|(_, anomaly)| may_be_explained(anomaly.kind)) {
            if list[..at].iter().all(|earlier| earlier.kind != first.kind) && !explained.contains(&first.kind) {
                self.report(stream, first.kind, first.packet, 0);
            }
        }
        for (at, last) in list.iter().enumerate().filter(|(_, anomaly)| !explained.contains(&anomaly.kind)) {
            if list[at + 1..].iter().all(|later| later.kind != last.kind) {
                let more = list[..at].iter().filter(|earlier| earlier.kind == last.kind).count();
                if more != 0 {
                    self.report(stream, last.kind, last.packet, more as u64);
                }
            }
        }
    }

    /// Counts the stream for each kind that is explained, and returns these kinds.
    fn explained<D>(&mut self, stream: &Stream<'_, D>) -> Vec<AnomalyKind> {
        const DIRECTIONS: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];
        let evidence = StreamEvidence {
            start_ns: stream.start_ns(),
            capture_start_ns: self.first_ns,
            stats: &DIRECTIONS.map(|direction| stream.stats(direction)),
            gaps: stream.gaps(),
            has_conflicts: DIRECTIONS.iter().any(|&direction| !stream.conflicts(direction).is_empty()),
            anomalies: stream.anomalies(),
        };
        let (mut kinds, end_ns) = (Vec::new(), stream.end_ns());
        for kind in stream.anomalies().iter().map(|anomaly| anomaly.kind).filter(|kind| may_be_explained(*kind)) {
            let Some(explanation) = evidence.explains(kind).filter(|_| !kinds.contains(&kind)) else { continue };
            if explanation == Explanation::SeveralPaths && self.several_paths < SEVERAL_PATHS_MIN {
                self.several_paths += 1;
                continue;
            }
            kinds.push(kind);
            if severity::of(kind) >= self.least
                && let Some(more) = self.explained.note(kind.name(), explanation.name(), end_ns)
            {
                self.emit_explained(kind.name(), explanation.name(), more, end_ns);
            }
        }
        kinds
    }

    /// All of them are what ordinary captures show.
    fn emit_explained(&self, what: &str, why: &str, more: u64, time_ns: u64) {
        self.outlet.emit(Event { time_ns, severity: Severity::Info, ..of_kind(what, why, more, None) });
    }

    /// `more`: how many more there were; 0: this is the first.
    fn report<D>(&self, stream: &Stream<'_, D>, kind: AnomalyKind, packet: u64, more: u64) {
        let severity = severity::of(kind);
        if severity < self.least {
            return;
        }
        let mut event = Event {
            time_ns: stream.end_ns(),
            kind: name(kind.name()),
            severity,
            key: Some(describe::key(&stream.key())),
            stream: Some(stream.id()),
            ..Event::default()
        };
        event = event.with("first", Value::Time(stream.start_ns())).with("packet", Value::U64(packet));
        if more != 0 {
            event = event.with("more", Value::U64(more));
        }
        if kind == AnomalyKind::OverlapConflict {
            let directions = [Direction::ClientToServer, Direction::ServerToClient];
            let last = |direction| stream.conflicts(direction).last().map(|conflict| (direction, *conflict));
            if let Some((direction, conflict)) = directions.into_iter().find_map(last) {
                event.place = Some(Place { direction: describe::direction(direction), offset: conflict.offset });
                event = event.with("bytes", Value::U64(conflict.bytes));
            }
        }
        self.outlet.emit(event);
    }

    /// A packet that belongs to no stream.
    pub(crate) fn outside(&mut self, packet: &OutsidePacket<'_>) {
        let Outside::Malformed(why) = packet.why else { return };
        if Severity::Low < self.least {
            return;
        }
        let why = why.map_or("unknown", tidewire::Malformation::name);
        if let Some(more) = self.rare.note("malformed", why, packet.timestamp_ns) {
            let event = Event { time_ns: packet.timestamp_ns, ..of_kind("malformed", why, more, Some(packet.number)) };
            self.outlet.emit(event);
        }
    }

    /// A rebuilt or rejected datagram.
    pub(crate) fn datagram(&mut self, datagram: &Datagram<'_>) {
        let time_ns = datagram.timestamp_ns;
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
        for (what, why, more, time_ns) in self.explained.rest() {
            self.emit_explained(what, why, more, time_ns);
        }
    }
}

/// Whether the point of the capture may be the reason, which is decided at the stream's end.
fn may_be_explained(kind: AnomalyKind) -> bool {
    matches!(
        kind,
        AnomalyKind::BadChecksum
            | AnomalyKind::Midstream
            | AnomalyKind::AckedUnseen
            | AnomalyKind::LinkMismatch
            | AnomalyKind::EncapsulationChange
    )
}

fn name(of: &str) -> String {
    format!("anomaly.{of}")
}

/// `more`: how many more of this kind were seen since its last event.
fn of_kind(what: &str, why: &str, more: u64, packet: Option<u64>) -> Event {
    let mut event = Event { kind: name(what), severity: Severity::Low, ..Event::default() };
    event = event.with("reason", Value::Text(why.to_owned()));
    if let Some(packet) = packet {
        event = event.with("packet", Value::U64(packet));
    }
    if more != 0 {
        event = event.with("more", Value::U64(more));
    }
    event
}
