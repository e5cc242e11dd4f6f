//! Times on the command line: how long ago, a date and time, a time of today, or seconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, Zoned, civil, tz::TimeZone};

use crate::units::Span;

/// The present time, nanoseconds since 1970.
pub fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since 1970 of a text. `now_ns`: the present time.
pub fn parse(text: &str, now_ns: u64) -> Result<u64, String> {
    let expected = "expected how long ago (1h, 30m), a time (2026-11-23T06:00:00Z, '2026-11-23 06:00', 06:00), or seconds since 1970";
    let unknown = || format!("invalid time '{text}': {expected}");
    let nanoseconds = |time: Timestamp| u64::try_from(time.as_nanosecond()).map_err(|_| unknown());
    if let Ok(seconds) = text.parse::<u64>() {
        // A year is no number of seconds that anybody means.
        let is_time = seconds > 100_000_000;
        return if is_time { seconds.checked_mul(1_000_000_000).ok_or_else(unknown) } else { Err(unknown()) };
    }
    if let Some(time) = seconds_and_fraction(text) {
        return Ok(time);
    }
    if let Ok(Span(ago)) = text.strip_suffix(" ago").unwrap_or(text).parse::<Span>() {
        return Ok(now_ns.saturating_sub(ago));
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return nanoseconds(time);
    }
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    let local = |time: civil::DateTime| time.to_zoned(zone.clone()).map_err(|_| unknown());
    if let Ok(time) = text.parse::<civil::DateTime>() {
        return nanoseconds(local(time)?.timestamp());
    }
    let now = Timestamp::from_nanosecond(i128::from(now_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    let today = Zoned::new(now, zone.clone()).date();
    match text.parse::<civil::Time>() {
        Ok(time) => nanoseconds(local(today.to_datetime(time))?.timestamp()),
        Err(_) => Err(unknown()),
    }
}

/// Seconds since 1970 with a fraction, as `tcpdump -tt` and `tshark -e frame.time_epoch` print them. Digits beyond nanoseconds are cut.
fn seconds_and_fraction(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    let digits = &fraction[..fraction.len().min(9)];
    let nanoseconds = digits.parse::<u64>().ok()? * 10_u64.pow(9 - digits.len() as u32);
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
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
        for wrong in ["", "2026", "yesterday", "1x", "25:00", "-1h", "1.", ".5", "1.5.2", "99999999999.5"] {
            let said = parse(wrong, now).expect_err(wrong);
            assert!(said.contains("how long ago (1h, 30m)"), "{wrong}: {said}");
        }
    }
}
