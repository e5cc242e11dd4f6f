//! Times as formats have them, in UTC.

use tidewire_types::calendar::Civil;

use crate::json::{pair, push_number};

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

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
    // Years of five digits and negative ones are in forged certificates only.
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
    fn times_have_the_separators_of_a_format() {
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59");
        assert_eq!(text(-2_208_988_800), "1900-01-01T00:00:00");
        assert_eq!((text(253_402_300_800).as_str(), &text(-62_200_000_000)[..4]), ("9999-01-01T00:00:00", "0000"));
    }
}
