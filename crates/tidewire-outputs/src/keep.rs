//! `--keep`: bounds of the files that an output has completed.

use std::{str::FromStr, time::Duration};

use tidewire_types::{Size, Span};

/// Shortest age: files are looked at once a minute.
const AGE_MIN_NS: u64 = 60_000_000_000;

const EXPECTED: &str = "expected bounds of size, age, free and files, as in size=10G,age=30d,free=5G,files=100";

/// Bounds of an output's complete files, the oldest of which are removed. `None`: there is no bound. Those of a recorder's segments have the
/// same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Bytes of all files.
    pub size_bytes: Option<u64>,
    /// Time since a file was written last, a minute or more.
    pub age: Option<Duration>,
    /// Bytes that stay free on the file system.
    pub free_bytes: Option<u64>,
    /// Number of files.
    pub files: Option<u64>,
}

impl Keep {
    /// Whether there is a bound.
    #[must_use]
    pub fn is_on(self) -> bool {
        self != Self::default()
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut keep = Self::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("'{part}': {EXPECTED}"))?;
            let wrong = |what: String| format!("'{part}': {what}");
            let bytes = || match value.parse::<Size>() {
                Ok(Size(bytes)) if (1..u64::MAX).contains(&bytes) => Ok(Some(bytes)),
                Ok(_) => Err(wrong("a number of bytes, as in 10G".into())),
                Err(what) => Err(wrong(what)),
            };
            match name {
                "size" => keep.size_bytes = bytes()?,
                "free" => keep.free_bytes = bytes()?,
                "age" => match value.parse::<Span>().map_err(wrong)? {
                    Span(ns) if ns >= AGE_MIN_NS => keep.age = Some(Duration::from_nanos(ns)),
                    _ => return Err(wrong("at least a minute, as in 30d".into())),
                },
                "files" => match value.parse() {
                    Ok(files @ 1..) => keep.files = Some(files),
                    _ => return Err(wrong("at least one file, as in 100".into())),
                },
                _ => return Err(format!("'{part}': {EXPECTED}")),
            }
        }
        Ok(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_the_names_of_a_recorders() {
        let all = Keep {
            size_bytes: Some(10 << 30),
            age: Some(Duration::from_secs(30 * 86_400)),
            free_bytes: Some(5 << 30),
            files: Some(100),
        };
        assert_eq!("size=10G,age=30d,free=5G,files=100".parse(), Ok(all));
        assert_eq!("files=1".parse(), Ok(Keep { files: Some(1), ..Keep::default() }));
        for wrong in ["", "10G", "size=", "size=all", "size=0", "age=1s", "files=0", "files=x", "count=1", "files=1,"] {
            assert!(wrong.parse::<Keep>().is_err(), "{wrong}");
        }
    }
}
