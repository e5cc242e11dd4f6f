//! The fields that transactions of all protocols have. Those of one protocol are members of an object with its name.

use std::sync::LazyLock;

use crate::{
    app::push_transaction,
    json::Object,
    model::Exchange,
    records::{Csv, Field, Form, Json, RecordKind},
    table::{
        Cell,
        Kind::{Int, Long, Text, Time},
        Unit, protocol_cell,
    },
};

/// Records of transactions.
#[derive(Clone, Copy, Debug)]
pub struct Transacted;

impl RecordKind for Transacted {
    type Record<'r> = Exchange<'r>;
}

type F = Field<Transacted>;

const ENDS: &str = "as of flows";
const TIMES: &str = "from the first packet of the request to the last of the response";
const TABLE: Form = Form::TABLE;
const TEXTS: Form = Form::TABLE.and(Form::CSV);

/// The fields, in the order of JSON.
#[rustfmt::skip]
pub(crate) const TRANSACTION: [F; 15] = [
    F::new("stream", Long, |of| Cell::Number(of.stream), "the stream's id"),
    F::new("proto", Text, |of| protocol_cell(of.key.proto), ENDS).word(),
    F::new("client_addr", Text, |of| Cell::Address(of.key.client.address), ENDS).unit(Unit::Address).within("client", "addr"),
    F::new("client_port", Int, |of| Cell::Number(of.key.client.port.into()), ENDS).unit(Unit::Port).within("client", "port"),
    F::new("server_addr", Text, |of| Cell::Address(of.key.server.address), ENDS).unit(Unit::Address).within("server", "addr"),
    F::new("server_port", Int, |of| Cell::Number(of.key.server.port.into()), ENDS).unit(Unit::Port).within("server", "port"),
    F::new("start", Time, |of| Cell::Number(of.transaction.start_ns), TIMES).only(TABLE),
    F::new("end", Time, |of| Cell::Number(of.transaction.end_ns), TIMES).only(TABLE),
    // As times, and as the nanoseconds that they are.
    F::new("start_ns", Long, |of| Cell::Number(of.transaction.start_ns), TIMES).optional().unit(Unit::Time),
    F::new("end_ns", Long, |of| Cell::Number(of.transaction.end_ns), TIMES).optional().unit(Unit::Time),
    F::new("service", Text, |of| Cell::Text(of.transaction.service.name()), "the protocol").word(),
    F::new("name", Text, |of| Cell::text(of.transaction.name()), "whom it names").optional().always_quoted(),
    F::new("request", Text, |of| text(of.transaction.request()), "the request in words").optional().always_quoted().only(TEXTS),
    F::new("response", Text, |of| text(of.transaction.response()), "the response in words").optional().always_quoted().only(TEXTS),
    F::named_by_value(Form::JSON, push_fields, "the fields of the protocol, under its name"),
];

/// JSON of `transactions`.
pub fn transaction_json() -> &'static Json<Transacted> {
    static JSON: LazyLock<Json<Transacted>> = LazyLock::new(|| Json::of(&TRANSACTION, Form::JSON));
    &JSON
}

/// Comma-separated values of `transactions`.
pub fn transaction_csv() -> &'static Csv<Transacted> {
    static CSV: LazyLock<Csv<Transacted>> = LazyLock::new(|| Csv::of(&TRANSACTION, Form::CSV));
    &CSV
}

fn text(text: String) -> Cell<'static> {
    if text.is_empty() { Cell::Null } else { Cell::Owned(text) }
}

fn push_fields(of: &Exchange<'_>, out: &mut Vec<u8>) -> bool {
    push_transaction(&mut Object::go_on(out), of.transaction);
    true
}
