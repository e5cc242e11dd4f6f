//! `anomaly`: what the engine flags.
//!
//! Of each kind a stream's first occurrence is an event when it is seen, and the others are one event when the stream ends. Packets
//! that belong to no stream have nobody to be counted for: of each kind one is an event, and in the next second of packet time
//! others are counted for the next event of that kind. So no flood of anomalies is a flood of events.

mod rare;
mod severity;

use tidewire::{AnomalyKind, Datagram, Direction, Outside, OutsidePacket, Stream};
use tidewire_events::{Event, FlowKey, Place, Severity, Value};

use self::rare::Rare;
use crate::{describe, emit::Outlet, settings::AnomalySettings};

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
}

impl Anomaly {
    pub(crate) fn new(settings: &AnomalySettings, outlet: Outlet) -> Self {
        Self { outlet, least: settings.severity, rare: Rare::default() }
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
            let bit = 1_u64.checked_shl(anomaly.kind as u32).unwrap_or(0);
            if known.reported & bit == 0 {
                known.reported |= bit;
                self.report(stream, anomaly.kind, anomaly.packet, 0);
            }
        }
        *state(stream.data()) = known;
    }

    /// Reports what came after the first of each kind.
    pub(crate) fn close<D>(&self, stream: &mut Stream<'_, D>, state: impl Fn(&mut D) -> &mut AnomalyState) {
        if stream.anomalies().is_empty() {
            return;
        }
        self.look_closely(stream, state);
        let list = stream.anomalies();
        for (at, last) in list.iter().enumerate() {
            if list[at + 1..].iter().all(|later| later.kind != last.kind) {
                let more = list[..at].iter().filter(|earlier| earlier.kind == last.kind).count();
                if more != 0 {
                    self.report(stream, last.kind, last.packet, more as u64);
                }
            }
        }
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
    }
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
