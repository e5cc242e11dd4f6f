//! The table `matches`: a row for each pattern found in a stream.

use crate::{
    model::MatchRecord,
    table::{
        Cell,
        Kind::{Int, Long, Text, Time},
        Table, Unit, always, ends, maybe, protocol,
    },
};

/// The table.
#[rustfmt::skip]
pub const MATCHES: Table = Table { name: "matches", columns: &[
    always("stream", Long), always("time", Time), maybe("time_ns", Long), always("direction", Text), always("offset", Long),
    always("length", Long).unit(Unit::Bytes), always("pattern", Text), always("pattern_index", Long), always("proto", Text), always("client_addr", Text).unit(Unit::Address),
    always("client_port", Int).unit(Unit::Port), always("server_addr", Text).unit(Unit::Address), always("server_port", Int).unit(Unit::Port),
] };

pub(super) fn cells(found: &MatchRecord<'_>, each: &mut impl FnMut(Cell<'_>)) {
    each(Cell::Number(found.stream));
    each(Cell::Number(found.time_ns));
    each(Cell::Number(found.time_ns));
    each(Cell::Text(found.direction.name()));
    each(Cell::Number(found.offset));
    each(Cell::Number(found.length));
    each(Cell::Text(found.pattern));
    each(Cell::Number(found.pattern_index));
    protocol(found.key.proto, each);
    ends(&found.key, each);
}
