//! A record with its table.

use tidewire_types::Timestamp;

use crate::{
    model::{EventRecord, Exchange, FlowRecord, MatchRecord},
    table::{Cell, EVENTS, FLOWS, MATCHES, Packed, TRANSACTIONS, Table, described, packed::Packer, transactions},
};

/// A record of any table.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// A stream that ended.
    Flow(&'a FlowRecord<'a>),
    /// A transaction.
    Transaction(&'a Exchange<'a>),
    /// A pattern found in a stream.
    Match(&'a MatchRecord<'a>),
    /// Similar events as one record.
    Event(&'a EventRecord<'a>),
    /// A row that was packed.
    Packed(Packed<'a>),
}

impl Row<'_> {
    /// Its table.
    #[must_use]
    pub fn table(&self) -> &'static Table {
        match self {
            Self::Flow(_) => &FLOWS,
            Self::Transaction(_) => &TRANSACTIONS,
            Self::Match(_) => &MATCHES,
            Self::Event(_) => &EVENTS,
            Self::Packed(row) => row.table(),
        }
    }

    /// When it was complete.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        match self {
            Self::Flow(flow) => flow.last,
            Self::Transaction(exchange) => exchange.transaction.end,
            Self::Match(found) => found.time,
            Self::Event(event) => event.last,
            Self::Packed(row) => Timestamp::from_nanos(row.end_ns()),
        }
    }

    /// Appends the row as bytes, from which [`Packed::all`] restores it. Rows have fewer than 4 GiB.
    pub fn pack(&self, out: &mut Vec<u8>) {
        let mut packer = Packer::begin(out, self.table(), self.end().as_nanos());
        self.cells(&mut |cell| packer.cell(&cell));
        packer.end();
    }

    /// Its cells, in the order of the table's columns.
    pub fn cells(&self, each: &mut impl FnMut(Cell<'_>)) {
        match self {
            Self::Flow(flow) => described::flow_cells(flow, each),
            Self::Transaction(exchange) => transactions::cells(exchange, each),
            Self::Match(found) => described::match_cells(found, each),
            Self::Event(event) => described::event_cells(event, each),
            Self::Packed(row) => row.cells(each),
        }
    }
}
