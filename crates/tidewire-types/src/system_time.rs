//! Packet times as the standard library's, and back. Reads no clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::timestamp::{Timestamp, TimestampOutOfRange};

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_nanos(timestamp.as_nanos())
    }
}

impl TryFrom<SystemTime> for Timestamp {
    type Error = TimestampOutOfRange;

    fn try_from(time: SystemTime) -> Result<Self, TimestampOutOfRange> {
        let since = time.duration_since(UNIX_EPOCH).map_err(|_| TimestampOutOfRange)?;
        Timestamp::UNIX_EPOCH.checked_add(since).ok_or(TimestampOutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_within_bounds() {
        let last = Timestamp::from_nanos(u64::MAX);
        for time in [Timestamp::UNIX_EPOCH, Timestamp::from_nanos(7), last] {
            assert_eq!(Timestamp::try_from(SystemTime::from(time)), Ok(time));
        }
        let second = Duration::from_secs(1);
        assert_eq!(Timestamp::try_from(UNIX_EPOCH - second), Err(TimestampOutOfRange));
        assert_eq!(Timestamp::try_from(SystemTime::from(last) + second), Err(TimestampOutOfRange));
    }
}
