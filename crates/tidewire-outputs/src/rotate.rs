//! `--rotate`: when a file is completed and the next one begun.

use std::str::FromStr;

use tidewire_types::{Size, Span};

/// Least size of a file: one that holds a few records.
const BYTES_MIN: u64 = 64 << 10;

/// Limits of a file; `None`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotate {
    /// Bytes.
    pub bytes: Option<u64>,
    /// Nanoseconds.
    pub ns: Option<u64>,
}

impl Rotate {
    /// Whether there is more than one file.
    pub fn is_on(self) -> bool {
        self != Self::default()
    }
}

impl FromStr for Rotate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rotate = Self::default();
        for part in text.split(',') {
            // `1h` is a time and `100M` a size; minutes have a small letter.
            match (part.parse::<Span>(), part.parse::<Size>()) {
                (Ok(Span(ns)), _) if ns >= 1_000_000_000 => rotate.ns = Some(ns),
                (Ok(_), _) => return Err(format!("'{part}': at least a second, as in 1h")),
                (_, Ok(Size(bytes))) if (BYTES_MIN..u64::MAX).contains(&bytes) => rotate.bytes = Some(bytes),
                (_, Ok(_)) => return Err(format!("'{part}': at least 64K, as in 100M")),
                _ => return Err(format!("'{part}': expected a size, a time, or both, as in 100M,1h")),
            }
        }
        Ok(rotate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_distinguished() {
        let of = |bytes, ns| Ok(Rotate { bytes, ns });
        assert_eq!("100M".parse(), of(Some(100 << 20), None));
        assert_eq!("5m".parse(), of(None, Some(300_000_000_000)));
        assert_eq!("1h,1G".parse(), of(Some(1 << 30), Some(3_600_000_000_000)));
        for wrong in ["", "x", "1K", "1ms", "all", "100M,"] {
            assert!(wrong.parse::<Rotate>().is_err(), "{wrong}");
        }
    }
}
