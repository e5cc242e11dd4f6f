//! A text with its position, and parsers for it.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use super::error::{Error, Source, word};

/// A text and its position.
#[derive(Clone, Debug)]
pub struct Text {
    /// The source.
    pub source: Arc<Source>,
    /// Line, from 1.
    pub line: u32,
    /// Column of the first character, from 1.
    pub column: u32,
    /// The text, trimmed.
    pub text: String,
}

/// A value and the text that it was parsed from.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// The text.
    pub text: Text,
}

impl Text {
    /// A text at this position; surrounding space is removed.
    pub fn new(source: Arc<Source>, line: u32, column: u32, text: &str) -> Self {
        let trimmed = text.trim_start();
        let before = text.get(..text.len() - trimmed.len()).unwrap_or_default();
        let lines = before.matches('\n').count() as u32;
        let last = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32;
        let column = if lines == 0 { column + last } else { last + 1 };
        Self { source, line: line + lines, column, text: trimmed.trim_end().to_owned() }
    }

    /// An error about the whole text.
    pub fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error {
            source: Arc::clone(&self.source),
            line: self.line,
            column: self.column,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The text, as errors show it.
    pub fn shown(&self) -> String {
        word(&self.text)
    }

    /// A value parsed from this text.
    pub fn at<T>(&self, value: T) -> At<T> {
        At { value, text: self.clone() }
    }

    /// Splits it at any of these characters.
    pub fn split(&self, signs: &[char]) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut column = self.column;
        for part in self.text.split(signs) {
            parts.push(Self::new(Arc::clone(&self.source), self.line, column, part));
            column += part.chars().count() as u32 + 1;
        }
        parts
    }

    /// Parses a decimal number in this range.
    pub fn number(&self, what: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
        let (first, last) = (*range.start(), *range.end());
        let digits = !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit());
        match self.text.parse::<u64>() {
            Ok(number) if digits && range.contains(&number) => Ok(number),
            _ => {
                let problem = if digits { "is out of range" } else { "is not a number" };
                Err(self.error(format!("{what}: '{}' {problem}", self.shown()), format!("give {first} to {last}")))
            }
        }
    }

    /// Parses numbers separated by commas.
    pub fn numbers(&self, what: &str, range: RangeInclusive<u64>) -> Result<Vec<u64>, Error> {
        self.split(&[',']).iter().map(|part| part.number(what, range.clone())).collect()
    }

    /// Parses one of these names.
    pub fn one_of<T: Copy>(&self, what: &str, names: &[(&str, T)]) -> Result<T, Error> {
        let found = names.iter().find(|(name, _)| name.eq_ignore_ascii_case(&self.text));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            let message = format!("{what}: '{}' is unknown; expected {}", self.shown(), known.join(", "));
            self.error(message, suggestion(&self.text, known.iter().copied()))
        })
    }

    /// Parses a switch: yes or no.
    pub fn switch(&self, what: &str) -> Result<bool, Error> {
        self.one_of(what, &[("on", true), ("off", false), ("1", true), ("0", false), ("yes", true), ("no", false)])
    }

    /// Parses a time: in milliseconds without a unit, else `us`, `ms` or `s`.
    pub fn time(&self, what: &str, range: RangeInclusive<Duration>) -> Result<Duration, Error> {
        let digits = self.text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = self.text.split_at(digits);
        let scale_us = match unit.trim() {
            "us" => 1,
            "" | "ms" => 1_000,
            "s" => 1_000_000,
            _ => 0,
        };
        let time = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale_us));
        match time.map(Duration::from_micros) {
            Some(time) if scale_us > 0 && range.contains(&time) => Ok(time),
            _ => Err(self.error(
                format!("{what}: '{}' is not a time in range", self.shown()),
                format!("give {:?} to {:?}, as in 100ms", range.start(), range.end()),
            )),
        }
    }
}

/// `did you mean ...?`, if a name is similar.
pub fn suggestion<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> String {
    let text = text.to_ascii_lowercase();
    let near = names.map(|name| (distance(&text, name), name)).min();
    match near {
        Some((distance, name)) if distance <= 1 + name.len() / 4 => format!("did you mean {name}?"),
        _ => String::new(),
    }
}

/// Number of insertions, deletions, replacements and swaps between two texts; long texts count as different.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let up = |back: usize, left: usize| {
                let above = rows.get(rows.len().wrapping_sub(back));
                above.and_then(|row| row.get(left)).copied().unwrap_or(usize::MAX / 2)
            };
            let mut least = (up(1, j) + usize::from(x != y)).min(up(1, j + 1) + 1).min(row.last().map_or(0, |n| n + 1));
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(up(2, j - 1) + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::new(Arc::new(Source::Variable("V".into())), 1, 1, text)
    }

    #[test]
    fn numbers_are_decimal_and_in_range() {
        assert_eq!(text(" 7 ").number("n", 0..=255), Ok(7));
        for wrong in ["", "+7", "-1", "7x", "256", "99999999999999999999", "7 8", "0x7", "٧"] {
            assert!(text(wrong).number("n", 0..=255).is_err(), "{wrong}");
        }
        let error = text("1, 2,300").numbers("n", 0..=255).unwrap_err();
        assert_eq!((error.line, error.column), (1, 6), "{error}");
    }

    #[test]
    fn times_have_units() {
        let range = Duration::from_millis(1)..=Duration::from_secs(10);
        assert_eq!(text("100").time("t", range.clone()), Ok(Duration::from_millis(100)));
        assert_eq!(text("2s").time("t", range.clone()), Ok(Duration::from_secs(2)));
        assert_eq!(text("1500us").time("t", range.clone()), Ok(Duration::from_micros(1500)));
        for wrong in ["", "0", "11s", "1h", "s", "99999999999999999999s", "-1"] {
            assert!(text(wrong).time("t", range.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn near_names_are_suggested() {
        let names = || ["hash", "lb", "cpu", "rollover"].into_iter();
        assert_eq!(suggestion("hsah", names()), "did you mean hash?");
        assert_eq!(suggestion("Rolover", names()), "did you mean rollover?");
        assert_eq!(suggestion("zebra", names()), "");
        assert_eq!(suggestion(&"x".repeat(10_000), names()), "");
        assert_eq!(distance("ca", "abc"), 3);
    }
}
