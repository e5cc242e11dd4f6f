//! The cells of one column.

use std::{net::IpAddr, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray, StructArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use tidewire_protocols::Value;

use crate::{
    columns::{
        ColumnsError,
        stage::{Waiting, kind},
    },
    json::push_address,
    table::{Cell, Column, Kind, Unit, long},
};

/// Rows of a batch, at most: columns of them fit in the cache.
pub(super) const BATCH_ROWS: usize = 8192;

/// Cells of a column.
pub(super) struct Builder {
    column: Column,
    values: Values,
    nulls: NullBufferBuilder,
    /// Absent cells since the last one that was there: most columns of most rows are absent, and cost an addition.
    absent: usize,
    /// Cells but for those.
    len: usize,
}

enum Values {
    /// Microseconds.
    Times(Vec<i64>),
    Longs(Vec<i64>),
    Ints(Vec<i32>),
    Truths(BooleanBufferBuilder),
    Texts {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    Lists {
        ends: Vec<i32>,
        items: Box<Builder>,
    },
    Objects(Vec<Builder>),
}

/// The elements of a list.
fn item(kind: Kind) -> Column {
    Column { name: "item", kind, is_optional: true, unit: Unit::None }
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::Long => DataType::Int64,
        Kind::Int => DataType::Int32,
        Kind::Truth => DataType::Boolean,
        Kind::Text => DataType::Utf8,
        Kind::List(of) => DataType::List(Arc::new(field(&item(*of)))),
        Kind::Object(columns) => DataType::Struct(columns.iter().map(field).collect()),
    }
}

fn field(column: &Column) -> Field {
    // Members of objects that may be absent are absent with them.
    Field::new(column.name, data_type(column.kind), column.is_optional)
}

impl Builder {
    pub(super) fn new(column: &Column) -> Self {
        let values = match column.kind {
            Kind::Time => Values::Times(Vec::new()),
            Kind::Long => Values::Longs(Vec::new()),
            Kind::Int => Values::Ints(Vec::new()),
            Kind::Truth => Values::Truths(BooleanBufferBuilder::new(0)),
            Kind::Text => Values::Texts { ends: vec![0], bytes: Vec::new() },
            Kind::List(of) => Values::Lists { ends: vec![0], items: Box::new(Self::new(&item(*of))) },
            Kind::Object(columns) => Values::Objects(columns.iter().map(Self::new).collect()),
        };
        Self { column: *column, values, nulls: NullBufferBuilder::new(BATCH_ROWS), absent: 0, len: 0 }
    }

    pub(super) fn field(&self) -> Field {
        field(&self.column)
    }

    /// The next cell. One of another type than the column's counts as absent.
    // Callers know which cell it is: only that arm is left of it where it is compiled into.
    #[inline(always)]
    pub(super) fn push(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Null => self.push_null(),
            Cell::Number(number) => self.push_number(number),
            Cell::Text(text) => self.push_text(text),
            Cell::Owned(text) => self.push_text(&text),
            Cell::Address(address) => self.push_address(address),
            other => self.push_other(other),
        }
    }

    /// The next cells, which were gathered.
    pub(super) fn push_waiting(&mut self, waiting: &Waiting<'_>) {
        let count = waiting.len();
        if count == 0 {
            return;
        }
        if waiting.kinds == kind::NULL && self.column.is_optional {
            self.absent += count;
            return;
        }
        self.settle();
        match (&mut self.values, waiting.kinds) {
            (Values::Times(list), kind::NUMBER) => list.extend(waiting.values().map(|ns| (ns / 1000) as i64)),
            (Values::Longs(list), kind::NUMBER) => {
                let before = list.len();
                list.extend(waiting.values().map_while(long));
                if list.len() < before + count {
                    list.truncate(before);
                    return waiting.cells().for_each(|cell| self.push(cell));
                }
            }
            (Values::Ints(list), kind::NUMBER) => {
                list.extend(waiting.values().map(|number| i32::try_from(number).unwrap_or(i32::MAX)));
            }
            (Values::Truths(list), kind::TRUTH) => waiting.values().for_each(|truth| list.append(truth != 0)),
            (Values::Texts { ends, bytes }, kind::TEXT) => waiting.texts().for_each(|text| {
                bytes.extend_from_slice(text);
                ends.push(bytes.len() as i32);
            }),
            // Of several kinds, or of another one than the column's.
            _ => return waiting.cells().for_each(|cell| self.push(cell)),
        }
        // Columns without absent cells have no bits that say so.
        if self.column.is_optional {
            self.nulls.append_n_non_nulls(count);
        }
        self.len += count;
    }

    #[inline]
    fn push_null(&mut self) {
        if self.column.is_optional {
            self.absent += 1;
        } else {
            self.push_mismatch();
        }
    }

    #[inline(never)]
    fn push_number(&mut self, number: u64) {
        self.settle();
        match &mut self.values {
            Values::Times(list) => list.push((number / 1000) as i64),
            Values::Longs(list) => match long(number) {
                Some(number) => list.push(number),
                None => return self.push_null(),
            },
            Values::Ints(list) => list.push(i32::try_from(number).unwrap_or(i32::MAX)),
            _ => return self.push_mismatch(),
        }
        self.count_present();
    }

    #[inline(never)]
    fn push_text(&mut self, text: &str) {
        self.settle();
        let Values::Texts { ends, bytes } = &mut self.values else { return self.push_mismatch() };
        bytes.extend_from_slice(text.as_bytes());
        ends.push(bytes.len() as i32);
        self.count_present();
    }

    #[inline(never)]
    fn push_address(&mut self, address: IpAddr) {
        self.settle();
        let Values::Texts { ends, bytes } = &mut self.values else { return self.push_mismatch() };
        push_address(bytes, address);
        ends.push(bytes.len() as i32);
        self.count_present();
    }

    fn push_other(&mut self, cell: Cell<'_>) {
        self.settle();
        match (&mut self.values, cell) {
            (Values::Longs(list), Cell::Signed(number)) => list.push(number),
            (Values::Truths(list), Cell::Truth(truth)) => list.append(truth),
            (Values::Lists { ends, items }, Cell::List(cells)) => {
                cells.into_iter().for_each(|cell| items.push(cell));
                ends.push(items.rows() as i32);
            }
            (Values::Objects(members), Cell::Object(cells)) => {
                let mut cells = cells.into_iter();
                members.iter_mut().for_each(|member| member.push(cells.next().unwrap_or(Cell::Null)));
            }
            (Values::Objects(members), Cell::Members(values)) => push_members(members, values),
            _ => return self.push_mismatch(),
        }
        self.count_present();
    }

    /// Counts a cell that is there.
    #[inline]
    fn count_present(&mut self) {
        // Columns without absent cells have no bits that say so.
        if self.column.is_optional {
            self.nulls.append(true);
        }
        self.len += 1;
    }

    /// A cell of another type than the column's.
    #[cold]
    fn push_mismatch(&mut self) {
        debug_assert!(self.column.is_optional, "{} has no value", self.column.name);
        self.settle();
        push_absent(&mut self.values, 1);
        if self.column.is_optional {
            self.nulls.append(false);
        }
        self.len += 1;
    }

    /// A field of a protocol.
    fn push_value(&mut self, value: Option<&Value<'_>>) {
        match value {
            None => self.push(Cell::Null),
            Some(Value::Number(number)) => self.push(Cell::Number(*number)),
            Some(Value::Text(text)) => self.push(Cell::Text(text)),
            Some(Value::Seconds(seconds)) => self.push(Cell::Signed(*seconds)),
            Some(Value::Truth(truth)) => self.push(Cell::Truth(*truth)),
            Some(Value::Texts(texts)) => self.push(Cell::List(texts.iter().map(|text| Cell::Text(text)).collect())),
            Some(Value::Objects(list)) => self.push(Cell::List(list.iter().map(|one| Cell::Members(one)).collect())),
            Some(Value::Object(members)) => self.push(Cell::Members(members)),
        }
    }

    /// Cells so far.
    fn rows(&self) -> usize {
        self.len + self.absent
    }

    /// Adds the absent cells before one that is there.
    #[inline]
    fn settle(&mut self) {
        if self.absent > 0 {
            self.add_absent();
        }
    }

    #[inline(never)]
    fn add_absent(&mut self) {
        if self.absent > 0 {
            push_absent(&mut self.values, self.absent);
            self.nulls.append_n_nulls(self.absent);
            self.len += std::mem::take(&mut self.absent);
        }
    }

    /// The column; none of its cells are left.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ColumnsError> {
        let kind = data_type(self.column.kind);
        if self.len == 0 && self.absent > 0 {
            return Ok(new_null_array(&kind, std::mem::take(&mut self.absent)));
        }
        self.settle();
        let (nulls, len) = (self.nulls.finish(), std::mem::take(&mut self.len));
        let ends = |ends: &mut Vec<i32>| OffsetBuffer::new(ScalarBuffer::from(emptied(ends)));
        Ok(match &mut self.values {
            Values::Times(list) => {
                let list = emptied(list);
                Arc::new(TimestampMicrosecondArray::try_new(list.into(), nulls)?.with_timezone("UTC"))
            }
            Values::Longs(list) => {
                let list = emptied(list);
                Arc::new(Int64Array::try_new(list.into(), nulls)?)
            }
            Values::Ints(list) => {
                let list = emptied(list);
                Arc::new(Int32Array::try_new(list.into(), nulls)?)
            }
            Values::Truths(list) => Arc::new(BooleanArray::new(list.finish(), nulls)),
            Values::Texts { ends: all, bytes } => {
                let offsets = ends(all);
                all.push(0);
                Arc::new(StringArray::try_new(offsets, std::mem::take(bytes).into(), nulls)?)
            }
            Values::Lists { ends: all, items } => {
                let offsets = ends(all);
                all.push(0);
                let of = Arc::new(items.field());
                Arc::new(ListArray::try_new(of, offsets, items.finish()?, nulls)?)
            }
            Values::Objects(members) => {
                let fields: Fields = members.iter().map(Self::field).collect();
                let arrays = members.iter_mut().map(Self::finish).collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, len)?)
            }
        })
    }
}

/// Takes a list, and leaves room for one of the same length.
fn emptied<T>(list: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(list.len());
    std::mem::replace(list, room)
}

/// The fields of a protocol. They mostly come in the order of the columns: the next one is looked at first.
fn push_members(members: &mut [Builder], values: &[(&'static str, Value<'_>)]) {
    let mut next = 0;
    for member in members {
        let is_it = |(name, _): &(&str, Value<'_>)| *name == member.column.name;
        let found = match values.get(next).is_some_and(is_it) {
            true => Some(next),
            false => values.iter().position(is_it),
        };
        if let Some(place) = found {
            next = place + 1;
        }
        member.push_value(found.map(|place| &values[place].1));
    }
}

/// Something in the place of absent values.
fn push_absent(values: &mut Values, count: usize) {
    match values {
        Values::Times(list) | Values::Longs(list) => list.resize(list.len() + count, 0),
        Values::Ints(list) => list.resize(list.len() + count, 0),
        Values::Truths(list) => list.append_n(count, false),
        Values::Texts { ends, .. } | Values::Lists { ends, .. } => {
            let last = ends.last().copied().unwrap_or_default();
            ends.resize(ends.len() + count, last);
        }
        Values::Objects(members) => members.iter_mut().for_each(|member| member.push_absent(count)),
    }
}

impl Builder {
    /// Cells of members of an object that is absent.
    fn push_absent(&mut self, count: usize) {
        if self.column.is_optional {
            self.absent += count;
            return;
        }
        push_absent(&mut self.values, count);
        self.len += count;
    }
}
