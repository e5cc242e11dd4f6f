//! Tables whose columns are those of a description.

use crate::{
    records::{self, Description, EventKind, Field, FlowKind, MatchKind, RecordKind},
    table::{Cell, Table},
};

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident = $name:literal, $cells:ident: $kind:ident;)*) => {$(
        $(#[$doc])*
        pub const $table: Table = Table {
            name: $name,
            columns: &records::columns(&records::of_table::<_, { records::count_columns($kind::FIELDS) }>($kind::FIELDS)),
        };

        /// The cells of a record, in the order of the columns.
        pub(super) fn $cells<'r>(record: &'r <$kind as RecordKind>::Record<'r>, each: &mut impl FnMut(Cell<'_>)) {
            static FIELDS: [Field<$kind>; records::count_columns($kind::FIELDS)] = records::of_table($kind::FIELDS);
            records::cells(&FIELDS, record, each);
        }
    )*};
}

tables! {
    /// A row for each stream that ended.
    FLOWS = "flows", flow_cells: FlowKind;
    /// A row for each pattern found in a stream.
    MATCHES = "matches", match_cells: MatchKind;
    /// A row for each record of similar events. `event` is the first one, `varied` what the others differ in, both as JSON.
    EVENTS = "events", event_cells: EventKind;
}
