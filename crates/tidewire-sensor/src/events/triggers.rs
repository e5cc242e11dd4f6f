//! Events that trigger the recording of the capture: which, and how often.

use std::time::{Duration, Instant};

use tidewire_event_socket::Received;

/// Time between two triggers at least, so that events cost the supervisor little: what follows sooner is one trigger more after it.
const TRIGGER_TIME: Duration = Duration::from_millis(100);

/// Events that are triggers of the recording.
#[derive(Default)]
pub(super) struct Triggers {
    kinds: Vec<String>,
    /// Whether one came that was not passed on.
    is_due: bool,
    /// When one was passed on last.
    passed: Option<Instant>,
}

/// Whether a kind of events is this one, or one of these: `scan.vertical` is of `scan`.
fn is_of(kind: &str, kinds: &str) -> bool {
    kind.strip_prefix(kinds).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Triggers {
    /// Those of these kinds.
    pub(super) fn of(kinds: Vec<String>) -> Self {
        Self { kinds, ..Self::default() }
    }

    /// Notes a message that was received.
    pub(super) fn note(&mut self, received: &Received<'_>) {
        if let Received::Event(message) = received {
            self.is_due |= self.kinds.iter().any(|kinds| is_of(message.names().1, kinds));
        }
    }

    /// Whether one is to be passed on now.
    pub(super) fn take(&mut self) -> bool {
        let is_now = self.is_due && self.passed.is_none_or(|passed| passed.elapsed() >= TRIGGER_TIME);
        if is_now {
            (self.is_due, self.passed) = (false, Some(Instant::now()));
        }
        is_now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_itself_and_all_below_it() {
        assert!(is_of("scan", "scan") && is_of("scan.vertical", "scan") && is_of("scan.vertical", "scan.vertical"));
        assert!(!is_of("scanner", "scan") && !is_of("scan", "scan.vertical") && !is_of("match", "scan"));
    }

    #[test]
    fn those_that_come_together_are_passed_on_twice_at_most() {
        let mut triggers = Triggers { is_due: true, ..Triggers::of(Vec::new()) };
        assert!(triggers.take() && !triggers.take(), "once");
        triggers.is_due = true;
        assert!(!triggers.take() && triggers.is_due, "the next one waits");
        triggers.passed = Instant::now().checked_sub(TRIGGER_TIME);
        assert!(triggers.take() && !triggers.is_due);
    }
}
