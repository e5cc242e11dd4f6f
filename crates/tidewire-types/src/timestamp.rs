//! Times of packets.

use std::{
    fmt::{self, Debug, Display, Formatter},
    time::Duration,
};

use crate::calendar::Civil;

const SECOND_NS: u64 = 1_000_000_000;

/// A packet's time: nanoseconds since 1970-01-01 in UTC, without leap seconds, up to the year 2554.
///
/// Printed as RFC 3339 has it, with nine digits behind the second, so that texts sort as times do. With the feature `serde` it is a number,
/// nanoseconds, as in the command's JSON.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tidewire_types::Timestamp;
///
/// let first = Timestamp::from_nanos(1_700_000_000_000_000_000);
/// let last = first.checked_add(Duration::from_micros(1_500)).unwrap();
/// assert_eq!(last.to_string(), "2023-11-14T22:13:20.001500000Z");
/// assert_eq!(last.checked_duration_since(first), Some(Duration::from_micros(1_500)));
/// assert_eq!(first.checked_duration_since(last), None);
/// assert_eq!(Timestamp::try_from(SystemTime::from(last)), Ok(last));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(0);

    /// The latest one, in the year 2554.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds since 1970.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Nanoseconds since 1970.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since an earlier one; `None` if that is later. Packets may be captured out of order.
    #[must_use]
    #[inline]
    pub const fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(nanoseconds) => Some(Duration::from_nanos(nanoseconds)),
            None => None,
        }
    }

    /// Time since an earlier one; zero if that is later.
    #[must_use]
    #[inline]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// A later time, at most [`MAX`](Self::MAX).
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(saturating_nanos(duration)))
    }

    /// An earlier time, at least [`UNIX_EPOCH`](Self::UNIX_EPOCH).
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(saturating_nanos(duration)))
    }

    /// A later time; `None` after the year 2554.
    #[must_use]
    #[inline]
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        u64::try_from(duration.as_nanos()).ok().and_then(|nanoseconds| self.0.checked_add(nanoseconds)).map(Self)
    }

    /// An earlier time; `None` before 1970.
    #[must_use]
    #[inline]
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        u64::try_from(duration.as_nanos()).ok().and_then(|nanoseconds| self.0.checked_sub(nanoseconds)).map(Self)
    }
}

/// Nanoseconds of a duration; those of 584 years if it is longer.
///
/// ```
/// use std::time::Duration;
/// use tidewire_types::saturating_nanos;
///
/// assert_eq!(saturating_nanos(Duration::from_micros(1)), 1_000);
/// assert_eq!(saturating_nanos(Duration::MAX), u64::MAX);
/// ```
#[must_use]
#[inline]
pub const fn saturating_nanos(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(SECOND_NS).saturating_add(duration.subsec_nanos() as u64)
}

/// A time before 1970 or after 2554.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimestampOutOfRange;

impl Display for TimestampOutOfRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a time before 1970 or after 2554 has no timestamp")
    }
}

impl std::error::Error for TimestampOutOfRange {}

impl Display for Timestamp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second } = Civil::of((self.0 / SECOND_NS) as i64);
        let fraction = self.0 % SECOND_NS;
        let time = format_args!("{hour:02}:{minute:02}:{second:02}.{fraction:09}Z");
        let text = format_args!("{year:04}-{month:02}-{day:02}T{time}");
        // A column of a table may have a width; fewer digits of the second would be another time.
        match f.width() {
            None => f.write_fmt(text),
            Some(width) if f.align() == Some(fmt::Alignment::Right) => write!(f, "{:>width$}", text.to_string()),
            Some(width) => write!(f, "{:width$}", text.to_string()),
        }
    }
}

impl Debug for Timestamp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_rfc_3339_has_them() {
        assert_eq!(Timestamp::UNIX_EPOCH.to_string(), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(Timestamp::from_nanos(u64::MAX).to_string(), "2554-07-21T23:34:33.709551615Z");
        assert_eq!(format!("{:>32}|{:32}|", Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH).len(), 66);
        assert!(Timestamp::from_nanos(999_999_999) < Timestamp::from_nanos(1_000_000_000));
    }

    #[test]
    fn sums_have_bounds() {
        let (first, last) = (Timestamp::from_nanos(7), Timestamp::from_nanos(u64::MAX));
        let second = Duration::from_secs(1);
        assert_eq!((last.checked_add(second), first.checked_sub(second)), (None, None));
        assert_eq!(first.checked_add(Duration::MAX), None);
        assert_eq!(first.saturating_duration_since(last), Duration::ZERO);
        assert_eq!(
            (last.saturating_add(second), first.saturating_sub(second)),
            (Timestamp::MAX, Timestamp::UNIX_EPOCH)
        );
        assert_eq!(first.saturating_add(second).saturating_sub(second), first);
        assert_eq!(last.checked_sub(Duration::from_nanos(u64::MAX)), Some(Timestamp::UNIX_EPOCH));
    }
}
