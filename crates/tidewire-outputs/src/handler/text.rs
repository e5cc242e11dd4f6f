//! Records as their descriptions have them: JSON, and comma-separated values with times in UTC.

use tidewire_exports::records::{Csv, Json, RecordKind};
use tidewire_types::calendar::Civil;

use crate::record::{TextForm, TextRow};

/// A record with its description.
pub struct TextRecord<'a, K: RecordKind> {
    json: &'static Json<K>,
    csv: &'static Csv<K>,
    record: &'a K::Record<'a>,
}

impl<'a, K: RecordKind> TextRecord<'a, K> {
    /// A record that is written in these forms.
    pub fn new(json: &'static Json<K>, csv: &'static Csv<K>, record: &'a K::Record<'a>) -> Self {
        Self { json, csv, record }
    }
}

impl<K: RecordKind> TextRow for TextRecord<'_, K> {
    fn push(&self, form: TextForm, out: &mut Vec<u8>) {
        match form {
            TextForm::Json => self.json.push(out, self.record),
            TextForm::Csv => self.csv.push(out, self.record, Some(&iso_utc)),
        }
    }
}

/// A time with nine decimals of a second (ISO 8601, RFC 3339).
fn iso_utc(ns: u64) -> String {
    let (seconds, below) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let Civil { year, month, day, hour, minute, second } = Civil::of(seconds as i64);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{below:09}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(iso_utc(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(iso_utc(951_782_399_000_000_001), "2000-02-28T23:59:59.000000001Z");
        assert_eq!(iso_utc(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }
}
