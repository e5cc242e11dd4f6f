//! The fields of matches: patterns that were found in streams.

use crate::{
    model::MatchRecord,
    records::{Csv, Description, Field, Form, Json, Quotes, RecordKind, count, joined, key::ends, kind, writers},
    table::{
        Cell,
        Kind::{Int, Long, Text, Time},
        Unit, protocol_cell,
    },
};

kind! {
    /// Records of matches.
    MatchKind(MatchRecord<'r>): MATCH
}

type F = Field<MatchKind>;

const ABOVE: &str = "as above";
const TIME: &str = "time of the packet that completed it";
const PATTERN: F =
    F::new("pattern", Text, |of| Cell::Text(of.pattern), "its id, else as given").quotes(Quotes::Legible);

#[rustfmt::skip]
const FOUND: &[F] = &[
    F::number("stream", Long, |of| of.stream, "the stream's id"),
    F::number("time", Time, |of| of.time.as_nanos(), TIME).only(Form::TABLE),
    F::number("time_ns", Long, |of| of.time.as_nanos(), TIME).only(Form::TABLE).optional().unit(Unit::Time),
    F::new("direction", Text, |of| Cell::Text(of.direction.name()), "`c2s` or `s2c`").word(),
    F::number("offset", Long, |of| of.offset, "of the match's first byte in the direction's stream"),
    F::number("length", Long, |of| of.length, "of the pattern, in bytes").unit(Unit::Bytes),
    PATTERN.only(Form::TABLE.and(Form::JSON)),
    F::number("pattern_index", Long, |of| of.pattern_index,
        "its index among all patterns, from 0; those of `-e` come before those of `-f`"),
    PATTERN.only(Form::CSV),
];

const PARTS: &[&[F]] = &[FOUND, &ends!(ABOVE, ABOVE)];

/// The fields, in the order of JSON.
const MATCH: [F; count(PARTS)] = joined(PARTS);

writers! {
    /// JSON of `match`.
    match_json: Json<MatchKind>(JSON);
    /// Comma-separated values of `match`.
    match_csv: Csv<MatchKind>(CSV);
}
