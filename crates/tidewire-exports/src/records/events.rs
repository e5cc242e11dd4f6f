//! The fields of events: rows of folds.

use crate::{
    json::push_escaped,
    model::EventRecord,
    records::{Csv, Description, Field, Form, Json, Quotes, RecordKind, kind, writers},
    table::{
        Cell,
        Kind::{Int, Long, Text, Time, Truth},
        Unit,
    },
};

kind! {
    /// Records of events.
    EventKind(EventRecord<'r>): EVENT
}

type F = Field<EventKind>;

const WHO: &str = "who found it, what it is, how bad it is (`info`, `low`, `medium`, `high`, `critical`)";
const TIMES: &str = "the earliest and the latest time of these, nanoseconds since 1970";
const ENCRYPTED: &str = "`true`: nothing else is known without an identity";
const EVENT_JSON: &str = "the first event, as below";
const VARIED: &str = "members that have more than one value: `name`, `distinct` (values), `at_least` (there may be more), `least` and `greatest` (numbers, times, addresses), `top`: up to ten `[value, count]`";
const SAME: &str = "as far as all events have the same";
const NAME: &str = r##"{ "$ref": "event.json#/$defs/name" }"##;
const CSV: Form = Form::CSV;
const TABLE: Form = Form::TABLE;
const COLUMNS: Form = TABLE.and(CSV);

/// The fields, in the order of JSON. Comma-separated values begin with times, and end with what identifies the fold.
#[rustfmt::skip]
const EVENT: [F; 25] = [
    F::new("sensor", Text, |of| Cell::text(of.sensor), "whose store it is from; only with several stores, or a folder of them")
        .optional().quotes(Quotes::IfNeeded).late(CSV, 1),
    F::number("fold", Long, |of| of.fold, "its number in the store").optional().late(CSV, 4),
    F::new("analyzer", Text, |of| Cell::Text(of.analyzer), WHO).schema(NAME).quotes(Quotes::IfNeeded).late(CSV, 3),
    F::new("kind", Text, |of| Cell::Text(of.kind), WHO).schema(NAME).quotes(Quotes::IfNeeded).late(CSV, 3),
    F::new("severity", Text, |of| Cell::Text(of.severity), WHO).word().late(CSV, 2)
        .schema(r#"{ "enum": ["info", "low", "medium", "high", "critical"] }"#),
    F::number("count", Long, |of| of.count, "how many events it holds").optional().unit(Unit::Count).late(CSV, 3),
    F::number("first", Time, |of| of.first.as_nanos(), TIMES).only(TABLE),
    F::number("last", Time, |of| of.last.as_nanos(), TIMES).only(TABLE),
    F::number("first_ns", Long, |of| of.first.as_nanos(), TIMES).optional().unit(Unit::Time).called_as_time("start_time"),
    F::number("last_ns", Long, |of| of.last.as_nanos(), TIMES).optional().unit(Unit::Time).called_as_time("end_time"),
    F::new("encrypted", Truth, |of| Cell::Truth(of.is_encrypted), ENCRYPTED).only(TABLE),
    F::new("encrypted", Truth, |of| if of.is_encrypted { Cell::Truth(true) } else { Cell::Null }, ENCRYPTED).optional().only(Form::JSON)
        .schema(r#"{ "const": true }"#),
    F::new("proto", Text, |of| Cell::text(of.proto), SAME).optional().word().only(COLUMNS).late(CSV, 3),
    F::new("client_addr", Text, |of| of.client.0.map_or(Cell::Null, Cell::Address), SAME).optional().unit(Unit::Address).only(COLUMNS).late(CSV, 3),
    F::new("client_port", Int, |of| Cell::number(of.client.1.map(u64::from)), SAME).optional().unit(Unit::Port).only(COLUMNS).late(CSV, 3),
    F::new("server_addr", Text, |of| of.server.0.map_or(Cell::Null, Cell::Address), SAME).optional().unit(Unit::Address).only(COLUMNS).late(CSV, 3),
    F::new("server_port", Int, |of| Cell::number(of.server.1.map(u64::from)), SAME).optional().unit(Unit::Port).only(COLUMNS).late(CSV, 3),
    F::new("stream", Long, |of| Cell::number(of.stream), SAME).optional().only(COLUMNS).late(CSV, 3),
    F::new("event", Text, |of| Cell::text(of.event), EVENT_JSON).optional().only(TABLE),
    F::new("varied", Text, |of| Cell::text(of.varied), VARIED).optional().only(TABLE),
    F::raw("event", Form::JSON, |of, out| push_json(of.event, out), EVENT_JSON).schema(r#"{ "$ref": "event.json" }"#),
    F::raw("varied", Form::JSON, |of, out| push_json(of.varied, out), VARIED).array()
        .schema(r##"{ "type": "array", "items": { "$ref": "record.json#/$defs/member" } }"##),
    F::raw("totals", Form::JSON, |of, out| push_json(of.totals, out), "of a scan, its last event, which has the totals, as `event`")
        .schema(r#"{ "$ref": "event.json" }"#),
    F::new("fields", Text, |of| Cell::text(of.fields), "the fields of the first event, as JSON").optional().quotes(Quotes::IfNeeded).only(CSV).late(CSV, 5),
    F::new("community_id", Text, |of| Cell::text(of.community_id), "the Community ID (version 1, seed 0) of its flow, if all events are of one")
        .optional().word().late(CSV, 6),
];

writers! {
    /// JSON of `events`.
    event_json: Json<EventKind>(JSON);
    /// Comma-separated values of `events`.
    event_csv: Csv<EventKind>(CSV);
}

fn push_json(json: Option<&str>, out: &mut Vec<u8>) -> bool {
    json.map(|json| push_escaped(out, json)).is_some()
}
