use crate::{
    limits::OPTIONS_MAX,
    record_cursor::{u16_at, u32_at},
};
use tidewire_wire::LinkType;

const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;

const NS_PER_S: i128 = 1_000_000_000;

/// An interface description block, as far as packets need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub link: LinkType,
    /// Bytes kept of each packet; `u32::MAX` where the block says 0, no limit.
    pub snap_bytes: u32,
    /// Its place among the interfaces of the whole input.
    pub index: u16,
    unit: Unit,
    offset_ns: i128,
}

/// Unit of an interface's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// This many nanoseconds, with no offset: all that is met in practice.
    Nanoseconds(u64),
    /// 10 to the minus this, in seconds.
    Decimal(u8),
    /// 2 to the minus this, in seconds.
    Binary(u8),
}

impl Interface {
    pub fn parse(body: &[u8], big_endian: bool, index: u16) -> Result<Self, String> {
        let too_short = "an interface description is too short";
        let link = LinkType(u16_at(body, 0, big_endian).ok_or(too_short)?);
        let snap_bytes = match u32_at(body, 4, big_endian).ok_or(too_short)? {
            0 => u32::MAX,
            bytes => bytes,
        };
        let (mut resolution, mut offset_s) = (6, 0);
        each_option(body.get(8..).unwrap_or_default(), big_endian, |code, value| {
            match (code, value) {
                (OPTION_TSRESOL, &[exponent]) => resolution = exponent,
                (OPTION_TSOFFSET, &[a, b, c, d, e, f, g, h]) => {
                    let raw = [a, b, c, d, e, f, g, h];
                    offset_s = if big_endian { i64::from_be_bytes(raw) } else { i64::from_le_bytes(raw) };
                }
                (OPTION_TSRESOL | OPTION_TSOFFSET, _) => {
                    return Err(format!("an interface's option {code} has {} bytes", value.len()));
                }
                _ => {}
            }
            Ok(())
        })?;
        let unit = match (resolution & 0x80 != 0, resolution & 0x7f) {
            (false, exponent @ 0..=9) if offset_s == 0 => Unit::Nanoseconds(10u64.pow(9 - u32::from(exponent))),
            (false, exponent) => Unit::Decimal(exponent),
            (true, exponent) => Unit::Binary(exponent),
        };
        Ok(Self { link, snap_bytes, index, unit, offset_ns: i128::from(offset_s) * NS_PER_S })
    }

    /// A timestamp in nanoseconds since the epoch; `None`: 64 bits do not hold it.
    #[inline]
    pub fn nanoseconds(&self, units: u64) -> Option<u64> {
        let wide = match self.unit {
            Unit::Nanoseconds(per_unit) => return units.checked_mul(per_unit),
            Unit::Decimal(exponent @ 0..=9) => i128::from(units) * 10i128.pow(9 - u32::from(exponent)),
            // From 10^-29 s on every 64-bit count is less than a nanosecond.
            Unit::Decimal(exponent) => i128::from(units) / 10i128.pow(u32::from(exponent - 9).min(20)),
            Unit::Binary(exponent) => (i128::from(units) * NS_PER_S) >> exponent,
        };
        u64::try_from(wide + self.offset_ns).ok()
    }
}

/// Calls `take` with each option's code and value.
fn each_option(
    mut options: &[u8],
    big_endian: bool,
    mut take: impl FnMut(u16, &[u8]) -> Result<(), String>,
) -> Result<(), String> {
    for _ in 0..OPTIONS_MAX {
        let (Some(code), Some(length)) = (u16_at(options, 0, big_endian), u16_at(options, 2, big_endian)) else {
            return Ok(());
        };
        if code == OPTION_END {
            return Ok(());
        }
        let length = usize::from(length);
        let Some(value) = options.get(4..4 + length) else {
            return Err(format!("an interface's option {code} claims {length} bytes, more than its block has"));
        };
        take(code, value)?;
        options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(resolution: u8, offset_s: i64) -> Interface {
        let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, resolution, 0, 0, 0, 14, 0, 8, 0];
        body.extend_from_slice(&offset_s.to_le_bytes());
        Interface::parse(&body, false, 0).unwrap()
    }

    #[test]
    fn every_decimal_resolution_agrees_with_wide_arithmetic() {
        for exponent in 0..=127u8 {
            for units in [0, 1, 999, 1_700_000_000, 1_700_000_000_123_456, u64::MAX] {
                let mut expected = u128::from(units) * 1_000_000_000;
                for _ in 0..exponent {
                    expected /= 10;
                }
                let expected = u64::try_from(expected).ok();
                assert_eq!(interface(exponent, 0).nanoseconds(units), expected, "10^-{exponent}, {units}");
            }
        }
    }

    #[test]
    fn binary_resolutions_are_shifts() {
        assert_eq!(interface(0x80, 0).nanoseconds(3), Some(3_000_000_000));
        assert_eq!(interface(0x80 | 20, 0).nanoseconds((5 << 20) + (1 << 19)), Some(5_500_000_000));
        assert_eq!(interface(0x80 | 64, 0).nanoseconds(u64::MAX), Some(999_999_999));
        assert_eq!(interface(0xff, 0).nanoseconds(u64::MAX), Some(0));
    }

    #[test]
    fn offsets_are_added_in_seconds_and_times_that_do_not_fit_are_absent() {
        assert_eq!(interface(6, 10).nanoseconds(1_500_000), Some(11_500_000_000));
        assert_eq!(interface(6, -1).nanoseconds(1_500_000), Some(500_000_000));
        assert_eq!(interface(6, -10).nanoseconds(1_500_000), None);
        assert_eq!(interface(6, -10).nanoseconds(10_000_000), Some(0));
        assert_eq!(interface(0, i64::MAX).nanoseconds(u64::MAX), None);
        assert_eq!(interface(9, 0).nanoseconds(u64::MAX), Some(u64::MAX));
        assert_eq!(interface(9, 1).nanoseconds(u64::MAX), None);
        assert_eq!(interface(12, 1).nanoseconds(2_000), Some(1_000_000_002));
    }

    #[test]
    fn an_option_beyond_its_block_is_named() {
        let body = [1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 200, 0, 6];
        assert!(Interface::parse(&body, false, 0).unwrap_err().contains("claims 200 bytes"));
        let body = [1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 0, 6, 0, 0, 0];
        assert!(Interface::parse(&body, false, 0).unwrap_err().contains("has 2 bytes"));
    }
}
