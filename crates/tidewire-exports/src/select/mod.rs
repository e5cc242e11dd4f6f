//! Selection of records by their fields: `tls.sni ends with example.org and bytes > 1M`.
//!
//! ```text
//! expression = term { "or" term }          term = factor { "and" factor }
//! factor     = "not" factor | "(" expression ")" | test
//! test       = field                       there is a value; it is true; a count or size is more than 0
//!            | field OPERATOR value        = != < <= > >= contains, starts with, ends with
//!            | field "in" "(" value { "," value } ")"
//! ```
//!
//! Fields are the columns of the record's table, sums and alternatives of them ([`fields`]), and the fields of protocols by their names in
//! JSON. What type a field has decides how a value is read: `1M`, `30s`, `10.0.0.0/8`. Text is compared without regard to the case of ASCII
//! letters. A list fulfils a test if one of its elements does, and `!=` if all of them do. A field without a value fulfils none, also not `!=`.

mod field;
mod hint;
mod known;
mod lexer;
mod node;
mod parser;
#[cfg(test)]
mod tests;
mod value;

use tidewire_protocols::{Transaction, Value};

use crate::table::{Cell, Column, Row, Table};
use field::{Field, Source};
use node::{Atom, Node};
pub use node::{SelectError, TESTS_MAX, TEXT_BYTES_MAX};

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Select {
    root: Node,
    atoms: Vec<Atom>,
    wants_fields: bool,
}

/// Which tests of a stream's transactions were fulfilled: one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u64);

impl Select {
    /// Compiles an expression on the rows of `table`.
    ///
    /// # Errors
    /// Where it is wrong, and why.
    pub fn new(text: &str, table: &'static Table) -> Result<Self, SelectError> {
        let (root, atoms) = parser::parse(text, table)?;
        let wants_fields = atoms.iter().any(|atom| matches!(atom.source, Source::Member(..)));
        Ok(Self { root, atoms, wants_fields })
    }

    /// Whether it tests fields of protocols, so that each transaction must be [seen](Self::see).
    #[must_use]
    pub fn wants_fields(&self) -> bool {
        self.wants_fields
    }

    /// Whether it tests the name of a stream, or a field of its protocol.
    #[must_use]
    pub fn is_of_names(&self) -> bool {
        self.wants_fields || self.atoms.iter().any(|atom| atom.name == "name")
    }

    /// The first field whose values are in the streams' bytes: there are none where nothing is delivered.
    #[must_use]
    pub fn field_of_bytes(&self) -> Option<&str> {
        self.atoms.iter().find(|atom| atom.is_of_bytes()).map(|atom| atom.name.as_str())
    }

    /// Looks at a transaction of a stream.
    pub fn see(&self, transaction: &Transaction, seen: &mut Seen) {
        if self.wants_fields {
            seen.0 |= self.of_members(transaction.service.name(), &transaction.values());
        }
    }

    /// Whether a record is selected. `seen`: what its transactions fulfilled.
    #[must_use]
    pub fn matches(&self, row: &Row<'_>, seen: Seen) -> bool {
        self.matches_cells(row.table().columns, seen, |mut each| row.cells(&mut each))
    }

    /// The same for the cells of these columns, which `visit` passes on in their order.
    pub(crate) fn matches_cells(
        &self,
        columns: &[Column],
        seen: Seen,
        visit: impl FnOnce(&mut dyn FnMut(Cell<'_>)),
    ) -> bool {
        let mut bits = seen.0;
        let mut sums = [0_u64; TESTS_MAX];
        let mut index = 0;
        visit(&mut |cell| {
            if let Cell::Members(values) = &cell
                && let Some(column) = columns.get(index)
            {
                bits |= self.of_members(column.name, values);
            }
            for (place, atom) in self.atoms.iter().enumerate() {
                let is_true = match &atom.source {
                    Source::Any(of) => of.contains(&index) && atom.test.holds(&cell),
                    Source::Sum(of) => {
                        if let (true, Cell::Number(number)) = (of.contains(&index), &cell) {
                            sums[place] = sums[place].saturating_add(*number);
                        }
                        false
                    }
                    Source::Between([from, to]) => {
                        match &cell {
                            Cell::Number(number) if index == *from => sums[place] = *number,
                            Cell::Number(number) if index == *to => sums[place] = number.saturating_sub(sums[place]),
                            _ => {}
                        }
                        false
                    }
                    Source::Count(of) => {
                        if let (true, Cell::List(items)) = (index == *of, &cell) {
                            sums[place] = items.len() as u64;
                        }
                        false
                    }
                    Source::Part(of, member) => index == *of && atom.test.holds_of_parts(&cell, *member),
                    Source::Member(..) => false,
                };
                bits |= u64::from(is_true) << place;
            }
            index += 1;
        });
        for (place, atom) in self.atoms.iter().enumerate() {
            if matches!(atom.source, Source::Sum(_) | Source::Between(_) | Source::Count(_)) {
                bits |= u64::from(atom.test.holds(&Cell::Number(sums[place]))) << place;
            }
        }
        self.root.holds(bits)
    }

    fn of_members(&self, service: &str, values: &[(&'static str, Value<'_>)]) -> u64 {
        let mut bits = 0;
        for (place, atom) in self.atoms.iter().enumerate() {
            if let Source::Member(of, path) = &atom.source
                && *of == service
            {
                bits |= u64::from(value::of_members(values, path, &atom.test) == Some(true)) << place;
            }
        }
        bits
    }
}

/// The fields of a table's records, by name with the type of their values: for help and documents.
#[must_use]
pub fn fields(table: &'static Table) -> Vec<(String, &'static str)> {
    field::all(table).into_iter().map(|Field { name, kind, .. }| (name, kind.name())).collect()
}
