//! Errors of programs: message, place and hint.

use std::fmt;

/// A place in a program's text, both from 1; a column is a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Position {
    /// Line of the text that was parsed.
    pub line: u32,
    /// Character in the line, the leading `>` of a configuration file counted.
    pub column: u32,
}

/// Why a program cannot be run, for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// Where the error begins.
    pub at: Position,
    /// The mistake.
    pub message: String,
    /// The correction or remedy; may be empty.
    pub hint: String,
    /// The line of the program, for display; empty if there is none.
    pub excerpt: String,
}

impl Error {
    /// An error at a place; [`Error::with_excerpt`] adds the line.
    pub(crate) fn new(at: Position, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into(), excerpt: String::new() }
    }

    /// The same with the line that it points at, from the whole text.
    pub(crate) fn with_excerpt(mut self, text: &str) -> Self {
        let line = text.lines().nth((self.at.line as usize).saturating_sub(1)).unwrap_or_default();
        self.excerpt = line.chars().take(EXCERPT_CHARS_MAX).collect();
        self
    }
}

/// Characters of a line that are shown, at most.
const EXCERPT_CHARS_MAX: usize = 200;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}: {}", self.at.line, self.at.column, self.message)?;
        let before = (self.at.column as usize).saturating_sub(1);
        if !self.excerpt.is_empty() && before <= self.excerpt.chars().count() {
            // Tabs stay tabs, so that the mark stands below its place.
            let indent: String =
                self.excerpt.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(out, "\n  {}\n  {indent}^", self.excerpt)?;
        }
        if self.hint.is_empty() { Ok(()) } else { write!(out, "\n  {}", self.hint) }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_below_what_it_means() {
        let error = Error::new(Position { line: 2, column: 6 }, "what", "do this").with_excerpt("tcp\n\tab >->x\n");
        assert_eq!(error.to_string(), "line 2, column 6: what\n  \tab >->x\n  \t    ^\n  do this");
    }
}
