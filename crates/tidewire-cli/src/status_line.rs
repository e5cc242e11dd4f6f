//! A line on a terminal that says how a run goes, below what it prints.

use std::{
    io::{IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use crate::{progress, terminal};

/// Time between two updates.
const EVERY: Duration = Duration::from_secs(1);
/// Columns left free at the end of the line: terminals print `^C` there, which must not wrap.
const FREE_COLUMNS: usize = 6;

/// A part of the line, and how early it is left out where there is no room: 0 is never.
pub type Item = (u8, String);

/// The line.
pub struct StatusLine {
    is_on: bool,
    begun: Instant,
    drawn: Instant,
}

impl StatusLine {
    /// A line, where standard error is a terminal that can remove it.
    pub fn new() -> Self {
        let is_on = std::io::stderr().is_terminal() && terminal::has_escapes();
        Self { is_on, begun: Instant::now(), drawn: Instant::now() }
    }

    /// A line below records on standard output: none where they go elsewhere, where another program may print to this terminal.
    #[cfg(feature = "live")]
    pub fn below_records() -> Self {
        let line = Self::new();
        Self { is_on: line.is_on && terminal::is_terminal(), ..line }
    }

    /// Since it was made.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether an update is due: how long ago the last one was.
    pub fn due(&self) -> Option<Duration> {
        let since = self.drawn.elapsed();
        (self.is_on && since >= EVERY).then_some(since)
    }

    /// Whether it was removed for other output, or an update is due.
    #[cfg(feature = "live")]
    pub fn is_due_or_removed(&self) -> bool {
        self.due().is_some() || self.is_on && self.begun.elapsed() >= EVERY && !progress::is_shown()
    }

    /// Draws it.
    pub fn draw(&mut self, items: Vec<Item>) {
        self.drawn = Instant::now();
        let columns = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let text = fitted(items, columns.saturating_sub(FREE_COLUMNS));
        let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        progress::set_shown();
    }
}

/// As many of the items as fit, whole ones.
pub fn fitted(mut items: Vec<Item>, columns: usize) -> String {
    loop {
        let text = items.iter().map(|(_, text)| &**text).collect::<Vec<_>>().join(", ");
        let last = items.iter().map(|(rank, _)| *rank).max().unwrap_or(0);
        if last == 0 || text.chars().count() <= columns {
            return text.chars().take(columns).collect();
        }
        items.retain(|(rank, _)| *rank != last);
    }
}
