//! Formats times for people, in the time zone and form of `--time`.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::{Arc, OnceLock},
};

use clap::ValueEnum;
use jiff::{Timestamp, tz::TimeZone};

use crate::error;

/// The forms of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeForm {
    /// `2026-11-21 05:00:48.885960` in the time zone of `TZ`, else of the system.
    Local,
    /// The same in UTC.
    Utc,
    /// `2026-11-21T05:00:48.885960+01:00` (ISO 8601, RFC 3339), in the zone of `local`.
    Iso,
    /// `1795233648.885960`: seconds since 1970-01-01 00:00 UTC.
    Epoch,
}

/// Formats timestamps.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    form: TimeForm,
    /// Whether `--time` was given.
    is_given: bool,
    zone: TimeZone,
    /// Abbreviation of the zone at the first time in a cell, for the title.
    title_zone: OnceLock<String>,
}

/// Characters of a date, and of a date with a time to the second, in the forms `local` and `utc`.
pub const DATE_CHARS: usize = 10;
pub const SECOND_CHARS: usize = 19;

impl Default for Clock {
    /// Times in UTC.
    fn default() -> Self {
        Self::with(TimeForm::Utc, false, TimeZone::UTC)
    }
}

/// Whether a zone is the path of something other than a file (tzset(3): a colon may precede it).
fn is_no_file(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let path = Path::new(OsStr::from_bytes(bytes.strip_prefix(b":").unwrap_or(bytes)));
    path.is_absolute() && !path.is_file()
}

impl Clock {
    /// Creates a clock with the form of `--time`. The zone is read now: a capture from interfaces later has no access to its
    /// file. An unknown zone is reported, and UTC is used.
    pub fn new(option: Option<TimeForm>) -> Self {
        let form = option.unwrap_or(TimeForm::Local);
        let name = std::env::var_os("TZ").filter(|name| !name.is_empty());
        let zone = match form {
            // A file is read to its end, so it must be a regular one.
            TimeForm::Local | TimeForm::Iso if name.as_deref().is_some_and(is_no_file) => None,
            TimeForm::Local | TimeForm::Iso => TimeZone::try_system().ok().filter(|zone| !zone.is_unknown()),
            TimeForm::Utc | TimeForm::Epoch => Some(TimeZone::UTC),
        };
        let zone = zone.unwrap_or_else(|| {
            // Without TZ, a missing /etc/localtime means UTC.
            if let Some(name) = &name {
                error::notify(format_args!("TZ={}: no such time zone here; times are in UTC", name.display()));
            }
            TimeZone::UTC
        });
        Self::with(form, option.is_some(), zone)
    }

    /// Times as `--time iso` has them, in UTC.
    pub fn iso_utc() -> Self {
        Self::with(TimeForm::Iso, true, TimeZone::UTC)
    }

    fn with(form: TimeForm, is_given: bool, zone: TimeZone) -> Self {
        Self(Arc::new(Inner { form, is_given, zone, title_zone: OnceLock::new() }))
    }

    /// Whether `--time` was given.
    pub fn is_given(&self) -> bool {
        self.0.is_given
    }

    /// Whether a cell may be shortened to its time of day.
    pub fn has_brief_form(&self) -> bool {
        matches!(self.0.form, TimeForm::Local | TimeForm::Utc)
    }

    /// Formats a table cell, to the microsecond. If the offset differs from that of [`Clock::unit`], the zone's abbreviation
    /// follows.
    pub fn cell(&self, ns: u64) -> String {
        let (mut text, zone) = self.parts(ns, 6);
        if self.has_brief_form() && *self.0.title_zone.get_or_init(|| zone.clone()) != zone {
            let _ = write!(text, " {zone}");
        }
        text
    }

    /// The unit of cells for their title: a time zone. `None` if cells contain it.
    pub fn unit(&self) -> Option<&str> {
        match self.0.form {
            TimeForm::Local | TimeForm::Utc => self.0.title_zone.get().map(String::as_str),
            TimeForm::Iso => None,
            TimeForm::Epoch => Some("s since 1970"),
        }
    }

    /// Formats a time within a sentence, with its zone, to the second.
    pub fn sentence(&self, ns: u64) -> String {
        let (text, zone) = self.parts(ns, 0);
        match self.0.form {
            TimeForm::Local | TimeForm::Utc => format!("{text} {zone}"),
            TimeForm::Iso => text,
            TimeForm::Epoch => format!("{text} s since 1970"),
        }
    }

    /// Formats a time for comma-separated values, to the nanosecond; `local` includes the offset from UTC.
    pub fn value(&self, ns: u64) -> String {
        let (mut text, _) = self.parts(ns, 9);
        if self.has_brief_form() {
            push_offset(&mut text, self.offset_s(ns));
        }
        text
    }

    /// Passes on how times are written, if a form was requested.
    pub fn with_times<T>(&self, write: impl FnOnce(Option<&dyn Fn(u64) -> String>) -> T) -> T {
        match self.is_given() {
            true => write(Some(&|ns| self.value(ns))),
            false => write(None),
        }
    }

    /// Formats with this number of decimals of a second (0, 6 or 9); also returns the zone's abbreviation.
    fn parts(&self, ns: u64, decimals: usize) -> (String, String) {
        let (seconds, below) = (ns / 1_000_000_000, ns % 1_000_000_000);
        let fraction = match decimals {
            0 => String::new(),
            6 => format!(".{:06}", below / 1000),
            _ => format!(".{below:09}"),
        };
        if self.0.form == TimeForm::Epoch {
            return (format!("{seconds}{fraction}"), String::new());
        }
        let at = timestamp(ns);
        let zone = self.0.zone.to_offset_info(at).abbreviation().to_owned();
        let date = self.0.zone.to_datetime(at);
        let gap = if self.0.form == TimeForm::Iso { 'T' } else { ' ' };
        let mut text = format!(
            "{:04}-{:02}-{:02}{gap}{:02}:{:02}:{:02}{fraction}",
            date.year(),
            date.month(),
            date.day(),
            date.hour(),
            date.minute(),
            date.second()
        );
        if self.0.form == TimeForm::Iso {
            push_offset(&mut text, self.offset_s(ns));
        }
        (text, zone)
    }

    fn offset_s(&self, ns: u64) -> i32 {
        self.0.zone.to_offset(timestamp(ns)).seconds()
    }
}

/// 64 bits of nanoseconds since 1970 reach to 2554.
fn timestamp(ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Appends `Z` or `+01:00`.
fn push_offset(text: &mut String, seconds: i32) {
    if seconds == 0 {
        return text.push('Z');
    }
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
    let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(form: TimeForm, zone: &str) -> Clock {
        Clock::with(form, true, TimeZone::posix(zone).unwrap())
    }

    const MIDEUROPE: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
    /// 2023-11-14 22:13:20 UTC, and a summer's day.
    const WINTER: u64 = 1_700_000_000_123_456_789;
    const SUMMER: u64 = 1_690_000_000_000_000_000;

    #[test]
    fn the_forms() {
        let local = clock(TimeForm::Local, MIDEUROPE);
        assert_eq!(local.unit(), None);
        assert_eq!(local.cell(WINTER), "2023-11-14 23:13:20.123456");
        assert_eq!(local.unit(), Some("CET"));
        assert_eq!(local.sentence(WINTER), "2023-11-14 23:13:20 CET");
        assert_eq!(local.value(WINTER), "2023-11-14 23:13:20.123456789+01:00");
        let iso = clock(TimeForm::Iso, MIDEUROPE);
        assert_eq!(iso.cell(WINTER), "2023-11-14T23:13:20.123456+01:00");
        assert_eq!((iso.unit(), iso.value(SUMMER)), (None, "2023-07-22T06:26:40.000000000+02:00".into()));
        let utc = Clock::default();
        assert_eq!(utc.cell(WINTER), "2023-11-14 22:13:20.123456");
        assert_eq!((utc.unit(), utc.value(WINTER)), (Some("UTC"), "2023-11-14 22:13:20.123456789Z".into()));
        let epoch = clock(TimeForm::Epoch, MIDEUROPE);
        assert_eq!((epoch.cell(WINTER), epoch.unit()), ("1700000000.123456".into(), Some("s since 1970")));
        assert_eq!(clock(TimeForm::Iso, "NST3:30").value(0), "1969-12-31T20:30:00.000000000-03:30");
    }

    #[test]
    fn a_time_of_another_offset_than_the_titles_says_so() {
        let local = clock(TimeForm::Local, MIDEUROPE);
        assert_eq!(local.cell(SUMMER), "2023-07-22 06:26:40.000000");
        assert_eq!(local.cell(WINTER), "2023-11-14 23:13:20.123456 CET");
        assert_eq!(local.unit(), Some("CEST"));
    }

    #[test]
    fn every_timestamp_has_a_date() {
        assert_eq!(Clock::default().cell(u64::MAX), "2554-07-21 23:34:33.709551");
        assert_eq!(Clock::default().cell(951_782_400_000_000_000), "2000-02-29 00:00:00.000000");
    }
}
