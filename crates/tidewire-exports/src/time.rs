//! Times as formats have them, in UTC.

use crate::json::{pair, push_number};

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// A point in time by the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u8,
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
}

impl Civil {
    /// Of seconds since the epoch, which may be before it. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// civil_from_days.
    pub(crate) fn of(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Days since 0000-03-01, in eras of 400 years.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u8,
            day: (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u8,
            hour: (rest / 3600) as u8,
            minute: (rest / 60 % 60) as u8,
            second: (rest % 60) as u8,
        }
    }
}

/// Appends seconds with six digits behind the point.
pub(crate) fn push_seconds(out: &mut Vec<u8>, ns: u64) {
    push_number(out, ns / SECOND_NS);
    push_microseconds(out, ns);
}

/// Appends a point and the six digits behind it.
pub(crate) fn push_microseconds(out: &mut Vec<u8>, ns: u64) {
    let micros = (ns % SECOND_NS / 1000) as u32;
    let [[a, b], [c, d], [e, f]] = [micros / 10_000, micros / 100 % 100, micros % 100].map(|part| pair(part as u8));
    out.extend_from_slice(&[b'.', a, b, c, d, e, f]);
}

/// Appends date and time with the separators of a format: between parts of the date, between both, and between parts of the time.
pub(crate) fn push_civil(out: &mut Vec<u8>, seconds: i64, [in_date, between, in_time]: [u8; 3]) {
    let civil = Civil::of(seconds);
    // Years of five digits and negative ones only in certificates that nobody issued.
    let year = civil.year.clamp(0, 9999);
    let Civil { month, day, hour, minute, second, .. } = civil;
    let [century, year] = [(year / 100) as u8, (year % 100) as u8].map(pair);
    let [month, day, hour, minute, second] = [month, day, hour, minute, second].map(pair);
    let (date, time) = (in_date, in_time);
    #[rustfmt::skip]
    let text = [
        century[0], century[1], year[0], year[1], date, month[0], month[1], date, day[0], day[1], between,
        hour[0], hour[1], time, minute[0], minute[1], time, second[0], second[1],
    ];
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seconds: i64) -> String {
        let mut out = Vec::new();
        push_civil(&mut out, seconds, *b"-T:");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_calendar_is_that_of_date() {
        // date -u -d @SECONDS +%FT%T
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_795_329_000, "2026-11-22T06:30:00"),
            (-1, "1969-12-31T23:59:59"),
            (-2_208_988_800, "1900-01-01T00:00:00"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(text(seconds), expected);
        }
    }
}
