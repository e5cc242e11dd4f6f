//! The table `transactions`: a row for each query, request and handshake.

use tidewire_protocols::{Service, Value};

use crate::{
    json,
    model::Exchange,
    records::{self, Field, TRANSACTION, TransactionKind},
    table::{
        Cell, Column,
        Kind::{self, Text},
        Table, fields, maybe,
    },
};

static FIELDS: [Field<TransactionKind>; COMMON.len()] = OF_TABLE;
const OF_TABLE: [Field<TransactionKind>; records::count_columns(&TRANSACTION)] = records::of_table(&TRANSACTION);

/// Columns before those of protocols.
const COMMON: [Column; records::count_columns(&TRANSACTION)] = records::columns(&OF_TABLE);

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
    records::cells(&FIELDS, exchange, each);
    let transaction = exchange.transaction;
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
