//! Sizes and times with units: parsing and formatting.

use std::{fmt, str::FromStr, time::Duration};

/// A number of bytes: `1500`, `64K`, `1.5G`, `10MB`, `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// A time span in nanoseconds: `10s`, `500ms`, `1.5h`, `2m30s`, `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub u64);

impl Span {
    /// The time span.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The time span, for options whose `0` says that there is none.
    #[must_use]
    pub fn unless_zero(self) -> Option<Duration> {
        (self.0 > 0).then(|| self.duration())
    }
}

/// A share: `50%` or `0.5`, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub u32);

const SIZES: &str = "expected a size: a number with K, M, G or T (powers of 1024; KB, MB, ... powers of 1000), as in 64K or 1.5G, or 'all'";
const SPANS: &str = "expected a time: a number with ns, us, ms, s, m, h or d, as in 500ms, 10s or 1m30s";

/// Splits a leading decimal number off.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let value = digits.parse::<f64>().ok()?;
    Some((value, rest))
}

/// `value` times `scale` in whole units; exact for whole numbers. `None` on overflow.
fn scaled(digits: &str, value: f64, scale: u64) -> Option<u64> {
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(scale);
    }
    let product = value * scale as f64;
    // Fractions do not matter above 2^63.
    (product < 9.2e18).then_some(product.round() as u64)
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "all" | "unlimited" | "none") {
            return Ok(Self(u64::MAX));
        }
        let Some((value, unit)) = number(text) else {
            return Err(SIZES.into());
        };
        let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(format!("unknown unit '{}'; {SIZES}", unit.trim())),
        };
        let digits = &text[..text.len() - unit.len()];
        scaled(digits, value, scale).map(Self).ok_or_else(|| format!("'{text}' is too large"))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "0" {
            return Ok(Self(0));
        }
        let mut rest = text;
        let mut sum: u64 = 0;
        loop {
            let Some((value, after)) = number(rest) else {
                return Err(SPANS.into());
            };
            let digits = &rest[..rest.len() - after.len()];
            let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
            let (unit, next) = after.split_at(end);
            let too_much = || format!("'{text}' is too large");
            let part = scaled(digits, value, span_scale(unit.trim(), text)?).ok_or_else(too_much)?;
            sum = sum.checked_add(part).ok_or_else(too_much)?;
            rest = next.trim_start();
            if rest.is_empty() {
                return Ok(Self(sum));
            }
        }
    }
}

fn span_scale(unit: &str, text: &str) -> Result<u64, String> {
    Ok(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "" => return Err(format!("no unit; did you mean {text}s? {SPANS}")),
        other => return Err(format!("unknown unit '{other}'; {SPANS}")),
    })
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let explain = || "expected a share of 0 to 1, as in 50% or 0.5".to_owned();
        let (digits, whole) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (text.trim(), 1.0),
        };
        let share = digits.parse::<f64>().map_err(|_| explain())? / whole;
        if (0.0..=1.0).contains(&share) { Ok(Self((share * 1000.0).round() as u32)) } else { Err(explain()) }
    }
}

/// Formats bytes: at most five characters and a unit.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < UNITS.len() {
            value /= 1000.0;
            unit += 1;
        }
        let decimals = usize::from(unit > 0 && value < 99.95);
        f.pad(&format!("{value:.decimals$} {}", UNITS[unit]))
    }
}

/// Bytes in binary units, as options are given: `1 MiB`, `2.5 MiB`, `600 B`.
pub struct Binary(pub u64);

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let decimals = usize::from(value.fract() != 0.0);
        f.pad(&format!("{value:.decimals$} {}", UNITS[unit]))
    }
}

/// Formats bits a second.
pub struct BitRate(pub f64);

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
        let mut value = self.0;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < UNITS.len() {
            value /= 1000.0;
            unit += 1;
        }
        let decimals = match value {
            _ if unit == 0 => 0,
            value if value < 9.995 => 2,
            value if value < 99.95 => 1,
            _ => 0,
        };
        f.pad(&format!("{value:.decimals$} {}", UNITS[unit]))
    }
}

/// Formats a count with separated thousands.
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

/// A count and its noun in singular or plural.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", Count(count), if count == 1 { one } else { many })
}

/// Formats a duration.
pub struct Lasting(pub u64);

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let seconds = ns as f64 / 1e9;
        let text = match ns {
            0 => "0s".into(),
            1..1_000_000 => format!("{:.0}us", (ns as f64 / 1e3).max(1.0)),
            1_000_000..1_000_000_000 => format!("{:.1}ms", ns as f64 / 1e6),
            1_000_000_000..100_000_000_000 => format!("{seconds:.2}s"),
            100_000_000_000..7_200_000_000_000 => format!("{:.0}m{:02.0}s", (seconds / 60.0).floor(), seconds % 60.0),
            7_200_000_000_000..172_800_000_000_000 => format!("{:.1}h", seconds / 3600.0),
            _ => format!("{:.1}d", seconds / 86_400.0),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let read = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(read("0"), Ok(0));
        assert_eq!(read("1500"), Ok(1500));
        assert_eq!(read("64K"), Ok(65_536));
        assert_eq!(read("64k"), Ok(65_536));
        assert_eq!(read("64 KiB"), Ok(65_536));
        assert_eq!(read("64KB"), Ok(64_000));
        assert_eq!(read("1.5G"), Ok(1_610_612_736));
        assert_eq!(read("all"), Ok(u64::MAX));
        assert!(read("10x").unwrap_err().contains("unknown unit 'x'"));
        assert!(read("-1").unwrap_err().contains("expected a size"));
        assert!(read("99999999999T").unwrap_err().contains("too large"));
    }

    #[test]
    fn spans() {
        let read = |text: &str| text.parse::<Span>().map(|span| span.0);
        assert_eq!(read("0"), Ok(0));
        assert_eq!(read("10s"), Ok(10_000_000_000));
        assert_eq!(read("500ms"), Ok(500_000_000));
        assert_eq!(read("1m30s"), Ok(90_000_000_000));
        assert_eq!(read("1.5h"), Ok(5_400_000_000_000));
        assert_eq!(read("7ns"), Ok(7));
        assert!(read("10").unwrap_err().contains("did you mean 10s?"));
        assert!(read("10K").unwrap_err().contains("unknown unit"));
    }

    #[test]
    fn shares_and_figures() {
        assert_eq!("50%".parse(), Ok(Share(500)));
        assert_eq!("0.25".parse(), Ok(Share(250)));
        assert!("50".parse::<Share>().is_err());
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(1234).to_string(), "1.2 kB");
        assert_eq!(Bytes(2_054_500_000).to_string(), "2.1 GB");
        assert_eq!(Binary(1 << 20).to_string(), "1 MiB");
        assert_eq!(Binary(2_500_000).to_string(), "2.4 MiB");
        assert_eq!(BitRate(0.0).to_string(), "0 bit/s");
        assert_eq!(BitRate(9_870_000_000.0).to_string(), "9.87 Gbit/s");
        assert_eq!(BitRate(999_600.0).to_string(), "1.00 Mbit/s");
        assert_eq!(BitRate(45_678.0).to_string(), "45.7 kbit/s");
        assert_eq!(Count(1_234_567).to_string(), "1,234,567");
        assert_eq!(Lasting(0).to_string(), "0s");
        assert_eq!(Lasting(90_000_000_000).to_string(), "90.00s");
        assert_eq!(Lasting(180_000_000_000_000).to_string(), "2.1d");
    }
}
