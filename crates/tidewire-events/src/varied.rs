//! Values that vary among folded events, as a person reads it: how many values, which ones most, from where to where.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use crate::{
    cursor::Cursor,
    error::DecodeError,
    event::Value,
    json::value_to_json,
    lanes::{Lane, Meaning, Plan, Values, blob_value, int_value},
    message::{FieldType, Shape},
    record::Record,
};

/// Values of a member that are counted one by one.
const DISTINCT_MAX: usize = 4096;
/// Bytes of such values.
const DISTINCT_BYTES_MAX: usize = 256 << 10;
/// Values that the table shows of a member, at most.
pub const TOP_MAX: usize = 100;

/// A table of what varies among the events of one or more records, usually of one fold.
#[derive(Default)]
pub struct Varied {
    count: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    members: Vec<Counted>,
}

/// A row of the table: a member that has more than one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name, as for [`Identity`](crate::Identity).
    pub name: String,
    /// How many values it takes.
    pub distinct: u64,
    /// There may be more values, and counts may be too low: only the first 4,096 values (or 256 KiB) are counted.
    pub is_at_least: bool,
    /// The least and the greatest value of numbers, times and addresses.
    pub range: Option<(Value, Value)>,
    /// The most frequent values, each with its count; the most frequent first.
    pub top: Vec<(Value, u64)>,
}

/// A value of a lane, or of the two lanes of an IPv6 address.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Int(u128),
    Blob(Vec<u8>),
}

struct Counted {
    name: String,
    meaning: Meaning,
    counts: HashMap<Key, u64>,
    bytes: usize,
    is_at_least: bool,
    /// Least and greatest by order, each with its value.
    range: Option<[(u128, u128); 2]>,
}

impl Varied {
    /// Adds the events of a record.
    ///
    /// # Errors
    /// The record is damaged. Events before the damage are counted.
    pub fn add(&mut self, record: &Record) -> Result<(), DecodeError> {
        let message = record.message()?;
        let plan = Plan::new(&Shape::read(&mut Cursor::new(message.shape_bytes()))?);
        let members: Vec<usize> = plan.lanes.iter().map(|lane| self.member(lane)).collect();
        let mut unfold = record.unfold()?;
        while let Some((_, message)) = unfold.next()? {
            let mut values = Values::default();
            plan.split(message.time_ns(), message.values(), &mut values)?;
            self.count += 1;
            self.first_ns = Some(self.first_ns.unwrap_or(u64::MAX).min(message.time_ns()));
            self.last_ns = self.last_ns.max(message.time_ns());
            let (mut ints, mut blobs) = (values.ints.iter(), values.blobs.iter());
            let mut lanes = plan.lanes.iter().zip(&members);
            while let Some((lane, member)) = lanes.next() {
                let key = if lane.is_blob() {
                    Key::Blob(blobs.next().map(|blob| blob.to_vec()).unwrap_or_default())
                } else {
                    let int = u128::from(ints.next().copied().unwrap_or(0));
                    let low = if lane.is_high() { lanes.next().and(ints.next()) } else { None };
                    Key::Int(low.map_or(int, |low| int << 64 | u128::from(*low)))
                };
                self.members[*member].note(key);
            }
        }
        Ok(())
    }

    /// The place of a lane's member, made if there is none.
    fn member(&mut self, lane: &Lane) -> usize {
        let found = self.members.iter().position(|member| member.name == lane.name && member.meaning == lane.meaning);
        found.unwrap_or_else(|| {
            let (name, counts) = (lane.name.clone(), HashMap::new());
            self.members.push(Counted {
                name,
                meaning: lane.meaning,
                counts,
                bytes: 0,
                is_at_least: false,
                range: None,
            });
            self.members.len() - 1
        })
    }

    /// How many events were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The earliest and the latest time; `None` without events.
    #[must_use]
    pub fn times_ns(&self) -> Option<(u64, u64)> {
        Some((self.first_ns?, self.last_ns))
    }

    /// The members that have more than one value, in the order of the event, with at most `top` values each.
    #[must_use]
    pub fn rows(&self, top: usize) -> Vec<Row> {
        let varies = |member: &&Counted| member.counts.len() > 1 || member.is_at_least;
        self.members.iter().filter(varies).map(|member| member.row(top.min(TOP_MAX))).collect()
    }

    /// The table as a JSON object: `count`, `first_ns`, `last_ns`, and `varied`, an array of objects with `name`, `distinct`,
    /// `at_least` (truth value), `least` and `greatest` (numbers, times and addresses only), and `top`, an array of `[value, count]`.
    /// Values are as in an event's JSON. These names are as stable as those.
    #[must_use]
    pub fn to_json(&self, top: usize) -> String {
        let row = |row: Row| {
            let value = |value: &Value| value_to_json(value).0;
            let mut object = Map::new();
            object.insert("name".into(), row.name.into());
            object.insert("distinct".into(), row.distinct.into());
            object.insert("at_least".into(), row.is_at_least.into());
            if let Some((least, greatest)) = &row.range {
                object.insert("least".into(), value(least));
                object.insert("greatest".into(), value(greatest));
            }
            let top = row.top.iter().map(|(of, count)| Json::Array(vec![value(of), (*count).into()]));
            object.insert("top".into(), top.collect());
            Json::Object(object)
        };
        let rows: Vec<Json> = self.rows(top).into_iter().map(row).collect();
        let (first_ns, last_ns) = self.times_ns().unwrap_or_default();
        serde_json::json!({ "count": self.count, "first_ns": first_ns, "last_ns": last_ns, "varied": rows }).to_string()
    }
}

impl Counted {
    fn note(&mut self, key: Key) {
        if let Key::Int(int) = key {
            let at = (self.order(int), int);
            let [least, greatest] = self.range.get_or_insert([at, at]);
            *least = at.min(*least);
            *greatest = at.max(*greatest);
        }
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
            return;
        }
        let bytes = if let Key::Blob(blob) = &key { blob.len() } else { 0 };
        if self.counts.len() < DISTINCT_MAX && self.bytes + bytes <= DISTINCT_BYTES_MAX {
            self.bytes += bytes;
            self.counts.insert(key, 1);
        } else {
            self.is_at_least = true;
        }
    }

    /// A number whose order is that of the values.
    fn order(&self, int: u128) -> u128 {
        const SIGN: u64 = 1 << 63;
        match self.meaning {
            Meaning::Field(FieldType::I64) => u128::from(int as u64 ^ SIGN),
            Meaning::Field(FieldType::F64) if int as u64 & SIGN != 0 => u128::from(!(int as u64)),
            Meaning::Field(FieldType::F64) => u128::from(int as u64 | SIGN),
            _ => int,
        }
    }

    /// The order of values with the same count.
    fn rank<'a>(&self, key: &'a Key) -> (u128, &'a [u8]) {
        match key {
            Key::Int(int) => (self.order(*int), &[]),
            Key::Blob(blob) => (0, blob),
        }
    }

    fn int(&self, int: u128) -> Value {
        match self.meaning {
            Meaning::Field(FieldType::Ipv6) => int_value(self.meaning, (int >> 64) as u64, int as u64),
            meaning => int_value(meaning, int as u64, 0),
        }
    }

    fn row(&self, top: usize) -> Row {
        let mut counts: Vec<(&Key, u64)> = self.counts.iter().map(|(key, count)| (key, *count)).collect();
        counts
            .sort_unstable_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(self.rank(a).cmp(&self.rank(b))));
        let value = |(key, count): &(&Key, u64)| match key {
            Key::Int(int) => (self.int(*int), *count),
            Key::Blob(blob) => (blob_value(self.meaning, blob), *count),
        };
        let has_order = !matches!(self.meaning, Meaning::Protocol | Meaning::Field(FieldType::Bool));
        let range = self.range.filter(|_| has_order).map(|[least, greatest]| (self.int(least.1), self.int(greatest.1)));
        Row {
            name: self.name.clone(),
            distinct: self.counts.len() as u64,
            is_at_least: self.is_at_least,
            range,
            top: counts.iter().take(top).map(value).collect(),
        }
    }
}
