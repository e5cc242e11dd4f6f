//! The fields that transactions of all protocols have. Those of one protocol are members of an object with its name.

use crate::{
    app::push_transaction,
    json::Object,
    model::Exchange,
    records::{Csv, Description, Field, Form, Json, Quotes, RecordKind, count, joined, key::ends, kind, writers},
    table::{
        Cell,
        Kind::{Int, Long, Text, Time},
        Unit, protocol_cell,
    },
};

kind! {
    /// Records of transactions.
    TransactionKind(Exchange<'r>): TRANSACTION
}

type F = Field<TransactionKind>;

const ENDS: &str = "as of flows";
const TIMES: &str = "from the first packet of the request to the last of the response";
const TABLE: Form = Form::TABLE;
const TEXTS: Form = Form::TABLE.and(Form::CSV);

const STREAM: &[F] = &[F::number("stream", Long, |of| of.stream, "the stream's id")];

#[rustfmt::skip]
const SAID: &[F] = &[
    F::number("start", Time, |of| of.transaction.start.as_nanos(), TIMES).only(TABLE),
    F::number("end", Time, |of| of.transaction.end.as_nanos(), TIMES).only(TABLE),
    // As times, and as the nanoseconds that they are.
    F::number("start_ns", Long, |of| of.transaction.start.as_nanos(), TIMES).optional().unit(Unit::Time),
    F::number("end_ns", Long, |of| of.transaction.end.as_nanos(), TIMES).optional().unit(Unit::Time),
    F::new("service", Text, |of| Cell::Text(of.transaction.service.name()), "the protocol").word(),
    F::new("name", Text, |of| Cell::text(of.transaction.name()), "the server name or host in it").optional().quotes(Quotes::Always),
    F::new("request", Text, |of| text(of.transaction.request()), "the request in words").optional().quotes(Quotes::Always).only(TEXTS),
    F::new("response", Text, |of| text(of.transaction.response()), "the response in words").optional().quotes(Quotes::Always).only(TEXTS),
    F::named_by_value(Form::JSON, push_fields, "the fields of the protocol, under its name"),
];

const PARTS: &[&[F]] = &[STREAM, &ends!(ENDS, ENDS), SAID];

/// The fields, in the order of JSON.
pub(crate) const TRANSACTION: [F; count(PARTS)] = joined(PARTS);

writers! {
    /// JSON of `transactions`.
    transaction_json: Json<TransactionKind>(JSON);
    /// Comma-separated values of `transactions`.
    transaction_csv: Csv<TransactionKind>(CSV);
}

fn text(text: String) -> Cell<'static> {
    if text.is_empty() { Cell::Null } else { Cell::Owned(text) }
}

fn push_fields(of: &Exchange<'_>, out: &mut Vec<u8>) -> bool {
    push_transaction(&mut Object::go_on(out), of.transaction);
    true
}
