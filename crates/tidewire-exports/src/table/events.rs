//! The table `events`: a row for each record of similar events.

use crate::{
    model::EventRecord,
    table::{
        Cell,
        Kind::{Int, Long, Text, Time, Truth},
        Table, Unit, always, maybe,
    },
};

/// The table. `event` is the first one, `varied` what the others differ in, both as JSON.
#[rustfmt::skip]
pub const EVENTS: Table = Table { name: "events", columns: &[
    maybe("sensor", Text), maybe("fold", Long), always("analyzer", Text), always("kind", Text), always("severity", Text),
    maybe("count", Long).unit(Unit::Count), always("first", Time), always("last", Time), maybe("first_ns", Long), maybe("last_ns", Long),
    always("encrypted", Truth), maybe("proto", Text), maybe("client_addr", Text).unit(Unit::Address), maybe("client_port", Int).unit(Unit::Port), maybe("server_addr", Text).unit(Unit::Address),
    maybe("server_port", Int).unit(Unit::Port), maybe("stream", Long), maybe("event", Text), maybe("varied", Text),
] };

pub(super) fn cells(event: &EventRecord<'_>, each: &mut impl FnMut(Cell<'_>)) {
    each(Cell::text(event.sensor));
    each(Cell::Number(event.fold));
    for text in [event.analyzer, event.kind, event.severity] {
        each(Cell::Text(text));
    }
    each(Cell::Number(event.count));
    for _ in 0..2 {
        each(Cell::Number(event.first_ns));
        each(Cell::Number(event.last_ns));
    }
    each(Cell::Truth(event.is_encrypted));
    each(Cell::text(event.proto));
    for (address, port) in [event.client, event.server] {
        each(address.map_or(Cell::Null, Cell::Address));
        each(Cell::number(port.map(u64::from)));
    }
    each(Cell::number(event.stream));
    each(Cell::text(event.event));
    each(Cell::text(event.varied));
}
