//! The proleptic Gregorian calendar in UTC. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

const DAY_SECONDS: i64 = 86_400;
/// Days of an era of 400 years.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01, where eras begin, to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
}

impl Civil {
    /// Converts seconds since the epoch, which may be negative.
    #[must_use]
    pub fn of(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
        let shifted = days + EPOCH_DAYS;
        let (era, day_of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
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

    /// Seconds since the epoch.
    #[must_use]
    pub fn seconds(self) -> i64 {
        let Self { year, month, day, hour, minute, second } = self;
        let [month, day, hour, minute, second] = [month, day, hour, minute, second].map(i64::from);
        seconds(year, [month, day, hour, minute, second])
    }
}

/// Seconds from the epoch to a date of a year of at most nine digits, and a time of day: month, day, hour, minute, second. Days and
/// times beyond their ranges count on: the 32nd is the first of the next month.
#[must_use]
pub fn seconds(year: i64, [month, day, hour, minute, second]: [i64; 5]) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH_DAYS;
    days * DAY_SECONDS + hour * 3_600 + minute * 60 + second
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let civil = Civil::of(seconds);
            let Civil { year, month, day, hour, minute, second } = civil;
            assert_eq!(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"), expected);
            assert_eq!(civil.seconds(), seconds);
        }
    }

    #[test]
    fn days_beyond_a_month_count_on() {
        assert_eq!(seconds(2023, [2, 29, 24, 0, 61]), seconds(2023, [3, 2, 0, 1, 1]));
    }

    #[test]
    fn every_day_of_an_era_comes_back() {
        let mut expected = Civil::of(-DAY_SECONDS);
        for day in 0..ERA_DAYS {
            let civil = Civil::of(day * DAY_SECONDS + 43_210);
            assert_eq!(civil.seconds(), day * DAY_SECONDS + 43_210);
            let follows = if civil.day == 1 { civil.month != expected.month } else { civil.day == expected.day + 1 };
            assert!(follows, "{expected:?} {civil:?}");
            expected = civil;
        }
    }
}
