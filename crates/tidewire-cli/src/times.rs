//! Times on the command line: how long ago, a date and time, a time of today, or seconds or nanoseconds since 1970.

use std::ops::RangeInclusive;

use jiff::{Timestamp, Zoned, civil, tz::TimeZone};

use crate::units::Span;

pub use tidewire_types::clock::wall_ns as now_ns;

const SECOND_NS: u64 = 1_000_000_000;
/// Digits of a number of nanoseconds since 1970, from 2001 to 2286.
const NANOSECOND_DIGITS: usize = 19;

/// Nanoseconds since 1970 of a text: the beginning of what it means. `now_ns`: the present time.
pub fn parse(text: &str, now_ns: u64) -> Result<u64, String> {
    span(text, now_ns).map(|span| *span.start())
}

/// The last nanosecond of what a text means: a bound that is included.
pub fn parse_last(text: &str, now_ns: u64) -> Result<u64, String> {
    span(text, now_ns).map(|span| *span.end())
}

/// The nanoseconds since 1970 that a text means: all that begin with its digits. How long ago is a single one.
pub fn span(text: &str, now_ns: u64) -> Result<RangeInclusive<u64>, String> {
    let expected = "expected how long ago (1h, 30m), a time (2026-11-23T06:00:00Z, '2026-11-23 06:00', 06:00), or seconds or \
                    nanoseconds since 1970";
    let unknown = || format!("invalid time '{text}': {expected}");
    let nanoseconds = |time: Timestamp| u64::try_from(time.as_nanosecond()).map_err(|_| unknown());
    if let Some(span) = since_1970(text) {
        return span.ok_or_else(unknown);
    }
    if let Ok(Span(ago)) = text.strip_suffix(" ago").unwrap_or(text).parse::<Span>() {
        let time_ns = now_ns.saturating_sub(ago);
        return Ok(time_ns..=time_ns);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return nanoseconds(time).map(|begin| lasting(begin, unit_ns(text)));
    }
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    let local = |time: civil::DateTime| time.to_zoned(zone.clone()).map_err(|_| unknown());
    let begin = |time: civil::DateTime| nanoseconds(local(time)?.timestamp());
    if let Ok(time) = text.parse::<civil::DateTime>() {
        // A day has 23 to 25 hours.
        return match time_of_day(text) {
            None => Ok(begin(time)?..=begin(time.tomorrow().map_err(|_| unknown())?)?.saturating_sub(1)),
            Some(_) => Ok(lasting(begin(time)?, unit_ns(text))),
        };
    }
    let now = Timestamp::from_nanosecond(i128::from(now_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    let today = Zoned::new(now, zone.clone()).date();
    match text.parse::<civil::Time>() {
        Ok(time) => Ok(lasting(begin(today.to_datetime(time))?, unit_ns(text))),
        Err(_) => Err(unknown()),
    }
}

fn lasting(begin_ns: u64, unit_ns: u64) -> RangeInclusive<u64> {
    begin_ns..=begin_ns.saturating_add(unit_ns - 1)
}

/// A number: seconds since 1970, with a fraction as `tcpdump -tt` and `tshark -e frame.time_epoch` print them, or 19 digits of
/// nanoseconds, as in JSON. Digits beyond nanoseconds are cut. `None`: it is no number; `Some(None)`: it is no time.
fn since_1970(text: &str) -> Option<Option<RangeInclusive<u64>>> {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    let is_whole = seconds.len() == text.len();
    let number = seconds.parse::<u64>().ok();
    if is_whole && seconds.len() == NANOSECOND_DIGITS {
        return Some(number.map(|time_ns| time_ns..=time_ns));
    }
    // A year is no number of seconds that anybody means.
    let number = number.filter(|seconds| !is_whole || *seconds > 100_000_000);
    let digits = if is_whole { "" } else { &fraction[..fraction.len().min(9)] };
    let unit_ns = fraction_ns(digits);
    let below = digits.parse::<u64>().unwrap_or(0) * unit_ns;
    let begin = number.and_then(|seconds| seconds.checked_mul(SECOND_NS)?.checked_add(below));
    Some(begin.map(|begin| lasting(begin, unit_ns)))
}

/// The unit of the last digit of a time of day, with or without colons.
fn unit_ns(text: &str) -> u64 {
    let time = time_of_day(text).unwrap_or(text);
    let end = time.find(|of: char| !of.is_ascii_digit() && !matches!(of, ':' | '.' | ',')).unwrap_or(time.len());
    let (whole, fraction) = time[..end].split_once(['.', ',']).unwrap_or((&time[..end], ""));
    match whole.bytes().filter(u8::is_ascii_digit).count() {
        0..=2 => 3600 * SECOND_NS,
        3..=4 => 60 * SECOND_NS,
        _ => fraction_ns(fraction),
    }
}

/// The part behind the date; `None`: there is one part.
fn time_of_day(text: &str) -> Option<&str> {
    text.split_once(['T', 't', ' ']).map(|(_, time)| time)
}

/// The unit of the last of these digits of a fraction of a second.
fn fraction_ns(digits: &str) -> u64 {
    SECOND_NS / 10_u64.pow(digits.len().min(9) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_many_forms() {
        let now = 1_800_000_000_000_000_000;
        assert_eq!(parse("1h", now), Ok(now - 3_600_000_000_000));
        assert_eq!(parse("1h ago", now), Ok(now - 3_600_000_000_000));
        assert_eq!(parse("1h30m", now), Ok(now - 5_400_000_000_000));
        assert_eq!(parse("1700000000", now), Ok(1_700_000_000_000_000_000));
        assert_eq!(parse("1700000000.5", now), Ok(1_700_000_000_500_000_000));
        assert_eq!(parse("1700000000.123456789", now), Ok(1_700_000_000_123_456_789));
        assert_eq!(parse("1700000000.1234567891", now), Ok(1_700_000_000_123_456_789));
        // Captures whose clock began with 1970.
        assert_eq!(parse("29.806959", now), Ok(29_806_959_000));
        assert_eq!(parse("2023-11-14T22:13:20Z", now), Ok(1_700_000_000_000_000_000));
        assert_eq!(parse("2023-11-14T23:13:20+01:00", now), Ok(1_700_000_000_000_000_000));
        assert!(parse("2023-11-14 22:13", now).is_ok() && parse("2023-11-14", now).is_ok());
        assert!(parse("06:00", now).is_ok());
        assert_eq!(parse("1700000000123456789", now), Ok(1_700_000_000_123_456_789));
        for wrong in ["", "2026", "yesterday", "1x", "25:00", "-1h", "1.", ".5", "1.5.2", "99999999999.5"] {
            let said = parse(wrong, now).expect_err(wrong);
            assert!(said.contains("how long ago (1h, 30m)"), "{wrong}: {said}");
        }
    }

    #[test]
    fn a_time_is_all_that_begins_with_its_digits() {
        let now = 1_800_000_000_000_000_000;
        for (text, lasting_ns) in [
            ("1700000000", 1_000_000_000),
            ("1700000000.1", 100_000_000),
            ("1700000000.123456789", 1),
            ("1700000000.1234567891", 1),
            ("1700000000123456789", 1),
            ("2023-11-14T22:13:20.967Z", 1_000_000),
            ("2023-11-14T22:13:20Z", 1_000_000_000),
            ("2023-11-14T23:13:20+01:00", 1_000_000_000),
            ("2023-11-14T22:13Z", 60_000_000_000),
            ("20231114T221320Z", 1_000_000_000),
            ("2023-11-14 22:13:20.5", 100_000_000),
            ("2023-11-14 22:13", 60_000_000_000),
            ("06:00", 60_000_000_000),
            ("06:00:00", 1_000_000_000),
            ("1h ago", 1),
        ] {
            let found = span(text, now).expect(text);
            assert_eq!(found.end() - found.start() + 1, lasting_ns, "{text}");
            assert_eq!((parse(text, now), parse_last(text, now)), (Ok(*found.start()), Ok(*found.end())), "{text}");
        }
        let day = span("2023-11-14", now).expect("a day");
        assert!((23..=25).contains(&((day.end() - day.start()) / 3_600_000_000_000 + 1)), "{day:?}");
    }
}
