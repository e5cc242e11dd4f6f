//! The table `transactions`: a row for each query, request and handshake.

use tidewire_protocols::{Service, Value};

use crate::{
    json,
    model::Exchange,
    table::{
        Cell, Column,
        Kind::{self, Int, Long, Text, Time},
        Table, always, ends, fields, maybe, protocol,
    },
};

/// Columns before those of protocols.
#[rustfmt::skip]
const COMMON: [Column; 14] = [
    always("stream", Long), always("proto", Text), always("client_addr", Text), always("client_port", Int), always("server_addr", Text),
    always("server_port", Int), always("start", Time), always("end", Time), maybe("start_ns", Long), maybe("end_ns", Long),
    always("service", Text), maybe("name", Text), maybe("request", Text), maybe("response", Text),
];

/// All of them; the last is JSON of fields that have no column, which is rare.
const COLUMNS: [Column; COMMON.len() + fields::SERVICES.len() + 1] = {
    let mut all = [maybe("other_fields", Text); COMMON.len() + fields::SERVICES.len() + 1];
    let mut index = 0;
    while index < all.len() - 1 {
        all[index] = if index < COMMON.len() { COMMON[index] } else { fields::SERVICES[index - COMMON.len()] };
        index += 1;
    }
    all
};

/// The table.
pub const TRANSACTIONS: Table = Table { name: "transactions", columns: &COLUMNS };

/// The cells of a transaction, in the order of the columns.
pub(super) fn cells(exchange: &Exchange<'_>, each: &mut impl FnMut(Cell<'_>)) {
    let (key, transaction) = (&exchange.key, exchange.transaction);
    each(Cell::Number(exchange.stream));
    protocol(key.proto, each);
    ends(key, each);
    for _ in 0..2 {
        each(Cell::Number(transaction.start_ns));
        each(Cell::Number(transaction.end_ns));
    }
    each(Cell::Text(transaction.service.name()));
    each(Cell::text(transaction.name()));
    for text in [transaction.request(), transaction.response()] {
        each(Cell::text(Some(&*text).filter(|text| !text.is_empty())));
    }
    let values = transaction.values();
    let service = transaction.service.name();
    for column in fields::SERVICES {
        each(if column.name == service { Cell::Members(&values) } else { Cell::Null });
    }
    let other = others(transaction.service, &values);
    each(Cell::text(other.as_deref()));
}

/// JSON of the fields without a column: those of a later version of the protocol's dissector.
fn others(service: Service, values: &[(&'static str, Value<'_>)]) -> Option<String> {
    let columns = match fields::SERVICES.iter().find(|column| column.name == service.name()) {
        Some(Column { kind: Kind::Object(columns), .. }) => columns,
        _ => &[][..],
    };
    // Both are in the same order, so that mostly one walk is enough.
    let mut known = columns.iter();
    if values.iter().all(|(name, _)| known.any(|column| column.name == *name)) {
        return None;
    }
    let is_other = |name: &str| !columns.iter().any(|column| column.name == name);
    let others: Vec<_> = values.iter().filter(|(name, _)| is_other(name)).cloned().collect();
    (!others.is_empty()).then(|| json::of_values(&others))
}
