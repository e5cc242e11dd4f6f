//! Mistakes in a configuration: the place, the error, and a correction.

use std::{fmt, ops::Range};

/// Characters of a value that a message quotes.
const QUOTED_CHARS: usize = 60;

/// A mistake, or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or where else it comes from.
    pub file: String,
    /// Line and column from 1, in characters; `None`: the mistake is not in the file (an option, or something that is missing).
    pub place: Option<(usize, usize)>,
    /// The error.
    pub what: String,
    /// A correction; empty where `what` contains it.
    pub instead: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ": line {line}, column {column}")?;
        }
        write!(f, ": {}", self.what)?;
        if self.instead.is_empty() { Ok(()) } else { write!(f, "; {}", self.instead) }
    }
}

/// Line and column, from 1, of an offset in the text.
pub fn place(text: &str, span: &Range<usize>) -> (usize, usize) {
    let at = span.start.min(text.len());
    let before = (0..=at).rev().find_map(|at| text.get(..at)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// A value as messages quote it: on one line, at most 60 characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Of these names the one that was probably meant. Underscores stand for hyphens.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    tidewire_types::nearest(&word.replace('_', "-"), known)
}
