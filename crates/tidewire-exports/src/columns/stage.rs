//! Rows that wait to become cells of columns.
//!
//! A row has cells of fifty columns, each with memory of its own: added one row at a time, between packets of other streams, most of that
//! memory is out of the cache each time. So rows are gathered close together first, and given to one column after the other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::table::Cell;

/// Rows that are gathered: as many as fit in the cache nearest to the processor.
const ROWS: usize = 64;

/// Bytes of text behind which fewer are.
const TEXT_BYTES: usize = 64 << 10;

/// The kind of a gathered cell; bits, so that those of a column are seen at a glance.
pub(super) mod kind {
    pub(in crate::columns) const NULL: u8 = 1;
    pub(in crate::columns) const NUMBER: u8 = 2;
    pub(in crate::columns) const TRUTH: u8 = 4;
    pub(in crate::columns) const TEXT: u8 = 8;
    pub(in crate::columns) const ADDRESS: u8 = 16;
    pub(in crate::columns) const ADDRESS_6: u8 = 32;
}

/// Rows, one behind the other.
pub(super) struct Stage {
    columns: usize,
    rows: usize,
    /// The kinds and values of cells. Those of text are its place in `texts`, those of IPv6 addresses likewise.
    kinds: Box<[u8]>,
    values: Box<[u64]>,
    texts: Vec<u8>,
    /// Of each column, the kinds that wait, and the first row that waits.
    waiting: Box<[(u8, u8)]>,
}

/// The gathered cells of a column.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'a> {
    stage: &'a Stage,
    column: usize,
    first: usize,
    /// The kinds of all of them.
    pub(super) kinds: u8,
}

impl Stage {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: 0,
            kinds: vec![0; columns * ROWS].into(),
            values: vec![0; columns * ROWS].into(),
            texts: Vec::new(),
            waiting: vec![(0, 0); columns].into(),
        }
    }

    /// A cell of the row that is being gathered. `false`: it is a nested one, which its column takes at once ([`pass`](Self::pass)).
    #[inline(always)]
    pub(super) fn push(&mut self, column: usize, cell: &Cell<'_>) -> bool {
        let (kind, value) = match *cell {
            Cell::Null => (kind::NULL, 0),
            Cell::Number(number) => (kind::NUMBER, number),
            Cell::Truth(truth) => (kind::TRUTH, truth.into()),
            Cell::Text(text) => (kind::TEXT, self.keep(text.as_bytes())),
            Cell::Owned(ref text) => (kind::TEXT, self.keep(text.as_bytes())),
            Cell::Address(IpAddr::V4(address)) => (kind::ADDRESS, address.to_bits().into()),
            Cell::Address(IpAddr::V6(address)) => (kind::ADDRESS_6, self.keep(&address.octets())),
            Cell::Signed(_) | Cell::List(_) | Cell::Object(_) | Cell::Members(_) => return false,
        };
        let at = self.rows * self.columns + column;
        (self.kinds[at], self.values[at]) = (kind, value);
        self.waiting[column].0 |= kind;
        true
    }

    /// Keeps bytes; where they are, and how many.
    #[inline]
    fn keep(&mut self, bytes: &[u8]) -> u64 {
        let at = self.texts.len() as u64;
        self.texts.extend_from_slice(bytes);
        at << 32 | bytes.len() as u64
    }

    /// Ends a row. Whether columns should take what there is.
    #[inline]
    pub(super) fn end_row(&mut self) -> bool {
        self.rows += 1;
        self.rows == ROWS || self.texts.len() >= TEXT_BYTES
    }

    /// Bytes of the texts that wait.
    pub(super) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// The cells of a column that wait.
    pub(super) fn waiting(&self, column: usize) -> Waiting<'_> {
        let (kinds, first) = self.waiting[column];
        Waiting { stage: self, column, first: first.into(), kinds }
    }

    /// The column took what waits and the cell of this row.
    pub(super) fn pass(&mut self, column: usize) {
        self.waiting[column] = (0, self.rows as u8 + 1);
    }

    /// All columns took what there was.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.texts.clear();
        self.waiting.fill((0, 0));
    }
}

impl<'a> Waiting<'a> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.stage.rows.saturating_sub(self.first)
    }

    fn places(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (column, columns) = (self.column, self.stage.columns);
        (self.first..self.stage.rows).map(move |row| row * columns + column)
    }

    /// Their values.
    pub(super) fn values(&self) -> impl Iterator<Item = u64> + use<'a> {
        let stage = self.stage;
        self.places().map(move |at| stage.values[at])
    }

    /// Their texts, if they are.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let stage = self.stage;
        self.values().map(move |value| stage.text(value))
    }

    /// All of them as they were.
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        let stage = self.stage;
        self.places().map(move |at| {
            let value = stage.values[at];
            match stage.kinds[at] {
                kind::NUMBER => Cell::Number(value),
                kind::TRUTH => Cell::Truth(value != 0),
                kind::TEXT => Cell::Text(std::str::from_utf8(stage.text(value)).unwrap_or_default()),
                kind::ADDRESS => Cell::Address(IpAddr::V4(Ipv4Addr::from_bits(value as u32))),
                kind::ADDRESS_6 => {
                    let octets = stage.text(value).first_chunk().copied().unwrap_or_default();
                    Cell::Address(IpAddr::V6(Ipv6Addr::from_octets(octets)))
                }
                _ => Cell::Null,
            }
        })
    }
}

impl Stage {
    fn text(&self, value: u64) -> &[u8] {
        let (at, len) = ((value >> 32) as usize, value as u32 as usize);
        self.texts.get(at..at + len).unwrap_or_default()
    }
}
