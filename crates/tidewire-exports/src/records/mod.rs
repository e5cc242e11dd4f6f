//! Descriptions of records: each field is stated once, with its name, type, unit, meaning and getter.
//!
//! JSON ([`Json`]), comma-separated values ([`Csv`]), typed columns ([`crate::table`]: Arrow, Parquet, SQLite, `--where`) and the
//! tables of `docs/output.md` ([`tables`]) are made of these descriptions. A field that is added to a description is in all of them.
//!
//! A description lists fields in the order of JSON. Other forms have the same order, but for fields that were added after a form's
//! order was fixed, or that the form has at its end: these are [`Field::late`].

mod aliases;
mod csv;
mod datagrams;
mod document;
mod events;
mod fields;
mod files;
mod flows;
mod json;
mod key;
mod matches;
mod schema;
#[cfg(test)]
mod tests;
mod transactions;

pub use aliases::Element;
pub(crate) use aliases::{Aliases, Eve, iana, own};
pub use csv::{Csv, push_quoted};
pub use datagrams::{DatagramKind, datagram_csv, datagram_json};
pub use document::{other_formats, tables};
pub use events::{EventKind, event_csv, event_json};
pub(crate) use fields::{cells, columns, count, count_columns, joined, of_table, ordered, place};
pub use files::{FileKind, file_json};
pub(crate) use flows::FLOW;
pub use flows::{FlowKind, flow_csv, flow_json, flow_texts, flow_values, stream_csv, stream_json, stream_values};
pub use json::Json;
pub(crate) use json::push_value;
pub use matches::{MatchKind, match_csv, match_json};
pub use schema::schemas;
pub(crate) use transactions::TRANSACTION;
pub use transactions::{TransactionKind, transaction_csv, transaction_json};

use crate::table::{Cell, Column, Kind, Unit};

/// A kind of record.
pub trait RecordKind: Copy + 'static {
    /// The record, with the lifetime of what it borrows.
    type Record<'r>;
}

/// A description of records: all of their fields.
pub trait Description {
    /// Whose description it is.
    type Kind: RecordKind;
    /// The fields, in the order of JSON.
    const FIELDS: &'static [Field<Self::Kind>];
}

/// A kind of record that is the whole of its description: `kind! { NAME(RECORD): FIELDS }`.
macro_rules! kind {
    ($(#[$doc:meta])* $kind:ident($record:ty): $fields:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $kind;

        impl RecordKind for $kind {
            type Record<'r> = $record;
        }

        impl Description for $kind {
            type Kind = Self;
            const FIELDS: &'static [Field<Self>] = &$fields;
        }
    };
}
use kind;

/// Writers of forms: `NAME: WRITER<KIND>(FORM)`.
macro_rules! writers {
    ($($(#[$doc:meta])* $name:ident: $writer:ident<$kind:ident>($form:ident);)*) => {$(
        $(#[$doc])*
        pub fn $name() -> &'static $writer<$kind> {
            static WRITER: std::sync::LazyLock<$writer<$kind>> =
                std::sync::LazyLock::new(|| $writer::of(<$kind as Description>::FIELDS, Form::$form));
            &WRITER
        }
    )*};
}
use writers;

/// Makes the cell of a record.
pub type CellOf<K> = for<'r> fn(&'r <K as RecordKind>::Record<'r>) -> Cell<'r>;

/// Makes the number of a record that always has one: most fields are such, and need no cell.
pub type NumberOf<K> = for<'r> fn(&'r <K as RecordKind>::Record<'r>) -> u64;

/// Appends a value as JSON; `false`: there is none, and nothing was appended.
pub type PushJson<K> = for<'r> fn(&'r <K as RecordKind>::Record<'r>, &mut Vec<u8>) -> bool;

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Get<K: RecordKind> {
    Cell(CellOf<K>),
    Number(NumberOf<K>),
    /// A value that exists as JSON only.
    Raw(PushJson<K>),
}

/// A form of records: one bit. Flows and streams are two selections of the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form(u8);

impl Form {
    /// Typed columns: Arrow, Parquet, SQLite and `--where`.
    pub const TABLE: Self = Self(1);
    /// JSON.
    pub const JSON: Self = Self(2);
    /// Comma-separated values.
    pub const CSV: Self = Self(4);
    /// JSON of `streams`: fields of a direction are members of `c2s` and `s2c`.
    pub const STREAM_JSON: Self = Self(8);
    /// Comma-separated values of `streams`: fields of one direction, then those of the other.
    pub const STREAM_CSV: Self = Self(16);
    /// JSON and comma-separated values of `flows`.
    pub const FLOWS: Self = Self::JSON.and(Self::CSV);
    /// JSON and comma-separated values of `streams`.
    pub const STREAMS: Self = Self::STREAM_JSON.and(Self::STREAM_CSV);
    /// Both.
    pub const TEXTS: Self = Self::FLOWS.and(Self::STREAMS);
    /// All of them.
    pub const ALL: Self = Self::TABLE.and(Self::TEXTS);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of `other` is among these forms.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is one of streams alone.
    fn is_of_streams(self) -> bool {
        self.has(Self::STREAMS) && !self.has(Self::FLOWS)
    }
}

/// JSON of a value that is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// No member. Members that come first in their object are never left out.
    Omitted,
    Null,
    EmptyArray,
}

/// How comma-separated values have a text that is no word of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// In quotes, and so that no two texts look alike.
    Distinct,
    /// The same; and quotes where it is absent.
    Always,
    /// In quotes, with escapes for what is not visible.
    Legible,
    /// The same, without quotes where it has letters, digits, and none of the signs that need them.
    IfNeeded,
}

/// A field of a record.
#[derive(Clone, Copy)]
pub struct Field<K: RecordKind> {
    /// Name, type and unit.
    pub column: Column,
    /// Its meaning, for documents.
    pub meaning: &'static str,
    pub(crate) get: Get<K>,
    /// Its names in other formats.
    pub(crate) aliases: Aliases,
    /// The direction whose value it is, and the name without the direction's.
    pub(crate) side: Option<(usize, &'static str)>,
    /// The name in forms of `streams`, if it is another one.
    stream_name: Option<&'static str>,
    /// The object that JSON has it in, and its name there.
    member: Option<(&'static str, &'static str)>,
    forms: Form,
    /// Forms that have it at their end, and its order there.
    late: (Form, u8),
    absent: Absent,
    /// Whether it is a word of our own, which needs neither escapes nor quotes.
    pub(crate) is_word: bool,
    /// How comma-separated values have it otherwise.
    quotes: Quotes,
    /// Its name where comma-separated values have a time as text, if that is another one.
    time_name: Option<&'static str>,
    /// Its JSON schema, of a value that its type does not say.
    schema: Option<&'static str>,
}

impl<K: RecordKind> Field<K> {
    const fn of(name: &'static str, kind: Kind, get: Get<K>, meaning: &'static str) -> Self {
        Self {
            column: Column { name, kind, is_optional: false, unit: Unit::None },
            meaning,
            get,
            aliases: Aliases::NONE,
            side: None,
            stream_name: None,
            member: None,
            forms: Form::ALL,
            late: (Form(0), 0),
            absent: Absent::Omitted,
            is_word: false,
            quotes: Quotes::Distinct,
            time_name: None,
            schema: None,
        }
    }

    /// A field of every form.
    pub const fn new(name: &'static str, kind: Kind, get: CellOf<K>, meaning: &'static str) -> Self {
        Self::of(name, kind, Get::Cell(get), meaning)
    }

    /// A number that every record has.
    pub const fn number(name: &'static str, kind: Kind, get: NumberOf<K>, meaning: &'static str) -> Self {
        Self::of(name, kind, Get::Number(get), meaning)
    }

    /// A field of JSON alone.
    pub(crate) const fn raw(name: &'static str, forms: Form, get: PushJson<K>, meaning: &'static str) -> Self {
        Self::of(name, Kind::Object(&[]), Get::Raw(get), meaning).only(forms)
    }

    /// A member of JSON whose name is a value, too: `get` appends both.
    pub(crate) const fn named_by_value(forms: Form, get: PushJson<K>, meaning: &'static str) -> Self {
        Self::raw("", forms, get, meaning)
    }

    /// Records may be without it.
    pub const fn optional(mut self) -> Self {
        self.column.is_optional = true;
        self
    }

    /// The unit of its numbers.
    pub const fn unit(mut self, unit: Unit) -> Self {
        self.column.unit = unit;
        self
    }

    /// Only these forms have it.
    pub const fn only(mut self, forms: Form) -> Self {
        self.forms = forms;
        self
    }

    /// These forms have it at their end, in the order of `rank` (from 1) and then of the description.
    pub const fn late(mut self, forms: Form, rank: u8) -> Self {
        self.late = (forms, rank);
        self
    }

    pub(crate) const fn within(mut self, object: &'static str, name: &'static str) -> Self {
        self.member = Some((object, name));
        self
    }

    pub(crate) const fn absent(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self.optional()
    }

    pub(crate) const fn word(mut self) -> Self {
        self.is_word = true;
        self
    }

    pub(crate) const fn quotes(mut self, quotes: Quotes) -> Self {
        self.quotes = quotes;
        self
    }

    pub(crate) const fn called_as_time(mut self, name: &'static str) -> Self {
        self.time_name = Some(name);
        self
    }

    pub(crate) const fn schema(mut self, schema: &'static str) -> Self {
        self.schema = Some(schema);
        self
    }

    /// A raw value that is an array.
    pub(crate) const fn array(mut self) -> Self {
        self.column.kind = Kind::List(&Kind::Object(&[]));
        self
    }

    pub(crate) const fn side(mut self, side: usize, base: &'static str) -> Self {
        self.side = Some((side, base));
        self
    }

    pub(crate) const fn called_in_streams(mut self, name: &'static str) -> Self {
        self.stream_name = Some(name);
        self
    }

    /// The member of EVE's record `flow`, for which the encoder has code of its own.
    pub(crate) const fn eve(mut self, object: Eve, name: &'static str) -> Self {
        self.aliases.eve = Some((object, name));
        self
    }

    /// Its member of EVE's record `flow` is written by the field's getter, behind those that have code of their own.
    pub(crate) const fn eve_simple(mut self) -> Self {
        self.aliases.is_eve_simple = true;
        self
    }

    /// The members of EVE's record `flow` for both directions.
    pub(crate) const fn eve_sides(self, object: Eve, names: [&'static str; 2]) -> Self {
        match self.side {
            Some((side, _)) => self.eve(object, names[side]),
            None => self,
        }
    }

    /// The member of `tidewire.toserver` and `tidewire.toclient` in EVE's record `flow`.
    pub(crate) const fn eve_own(self, name: &'static str) -> Self {
        match self.side {
            Some((0, _)) => self.eve(Eve::ToServer, name),
            _ => self.eve(Eve::ToClient, name),
        }
    }

    /// The column of Zeek's log `conn`.
    pub(crate) const fn zeek(mut self, column: &'static str) -> Self {
        self.aliases.zeek = Some(column);
        self
    }

    /// The columns of Zeek's log `conn` for both directions.
    pub(crate) const fn zeek_sides(self, names: [&'static str; 2]) -> Self {
        match self.side {
            Some((side, _)) => self.zeek(names[side]),
            None => self,
        }
    }

    /// The elements of IPFIX.
    pub(crate) const fn ipfix(mut self, elements: &'static [Element]) -> Self {
        self.aliases.ipfix = elements;
        self
    }

    /// The order within a form.
    fn rank(&self, form: Form) -> (u8, usize) {
        match (self.late, self.side) {
            ((late, rank), _) if late.has(form) => (rank, 0),
            (_, Some((side, _))) if form.is_of_streams() => (0, side + 1),
            _ => (0, 0),
        }
    }
}
