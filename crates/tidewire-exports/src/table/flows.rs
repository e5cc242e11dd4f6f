//! The table `flows`: a row for each stream that ended.

use crate::{
    model::FlowRecord,
    records::{self, FLOW, Field, Flow},
    table::{Cell, Column, Table},
};

const COUNT: usize = records::count_columns(&FLOW);
static FIELDS: [Field<Flow>; COUNT] = OF_TABLE;
const OF_TABLE: [Field<Flow>; COUNT] = records::of_table(&FLOW);
const COLUMNS: [Column; COUNT] = records::columns(&OF_TABLE);

/// The table.
pub const FLOWS: Table = Table { name: "flows", columns: &COLUMNS };

/// The cells of a stream, in the order of the columns.
pub(super) fn cells(flow: &FlowRecord<'_>, each: &mut impl FnMut(Cell<'_>)) {
    records::cells(&FIELDS, flow, each);
}
