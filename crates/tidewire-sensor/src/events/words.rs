//! Events of analyzers, in words; not more of them than a log can hold.

use std::time::{Duration, Instant};

use tidewire_event_socket::ServerEvent;

use super::report::EventsReport;
use crate::reporter::Reporter;

/// Lines about analyzers in a second, at most: clients cause them.
const LINES_MAX: u32 = 10;

/// The event of an analyzer, in words.
pub(super) fn of(event: &ServerEvent) -> String {
    match event {
        ServerEvent::Connected { analyzer, user } => format!("{analyzer} (user {user}) sends events"),
        ServerEvent::Gone { analyzer } => format!("{analyzer} sends no more events"),
        ServerEvent::Refused { analyzer: Some(analyzer), user, why } => {
            format!("{analyzer} (user {user}) was refused: {why}")
        }
        ServerEvent::Refused { analyzer: None, user, why } => {
            format!("a client of user {user} was refused: {why}")
        }
        other => format!("{other:?}"),
    }
}

/// Lets pass as many in a second as there may be lines.
#[derive(Default)]
pub(super) struct Sparing {
    since: Option<Instant>,
    count: u32,
    left_out: u64,
}

impl Sparing {
    /// Whether this one passes, and then how many before it did not.
    pub(super) fn admit(&mut self, may: bool) -> Option<u64> {
        if self.since.is_none_or(|since| since.elapsed() >= Duration::from_secs(1)) {
            (self.since, self.count) = (Some(Instant::now()), 0);
        }
        if may && self.count < LINES_MAX {
            self.count += 1;
            return Some(std::mem::take(&mut self.left_out));
        }
        self.left_out += 1;
        None
    }
}

/// Reports lines, as many as there may be.
pub(super) struct Lines {
    reporter: Reporter<EventsReport>,
    since: Instant,
    lines: u32,
    left_out: u64,
}

impl Lines {
    pub(super) fn new(reporter: Reporter<EventsReport>) -> Self {
        Self { reporter, since: Instant::now(), lines: 0, left_out: 0 }
    }

    pub(super) fn send(&mut self, text: String) {
        self.look();
        if self.lines < LINES_MAX {
            self.lines += 1;
            self.reporter.send(EventsReport::Analyzer { text });
        } else {
            self.left_out += 1;
        }
    }

    /// Says what the event processor does itself: seldom, so it is not counted.
    pub(super) fn say(&self, text: String) {
        self.reporter.warn(text);
    }

    /// Says what was left out when the second is over.
    pub(super) fn look(&mut self) {
        if self.since.elapsed() < Duration::from_secs(1) {
            return;
        }
        (self.since, self.lines) = (Instant::now(), 0);
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            let text = format!("{left_out} more lines about analyzers were left out");
            self.reporter.send(EventsReport::Analyzer { text });
        }
    }
}
