//! Errors of a directory are reported once, however many files and threads meet them.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use tidewire_archive::Error;

/// An error that lasts is repeated after this time.
const REPEAT: Duration = Duration::from_secs(60);
/// One that comes and goes is reported after this time.
const REPEAT_AFTER_END: Duration = Duration::from_secs(10);

/// Errors of a directory that are distinguished: they may come in turn.
const KINDS_MAX: usize = 16;

/// Errors of a directory.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Reported errors, by the part that all repetitions share, with their time: the latest ones.
    reported: VecDeque<(String, Instant)>,
    /// Whether it was reported that it fails, and not that it works again.
    is_open: bool,
    /// Repetitions that were not reported since.
    unreported: u64,
    last: Option<Arc<Error>>,
}

/// The part that repetitions of an error share, for any file.
fn kind(error: &Error, retries: bool) -> String {
    match error {
        Error::Io { what, cause, .. } => format!("{retries} {what} {cause}"),
        _ => format!("{retries} {error}"),
    }
}

impl Trouble {
    /// Notes an error: whether it is to be reported, because it is not one of the last ones again. `retries`: it is tried again.
    pub fn add(&mut self, error: &Arc<Error>, retries: bool) -> bool {
        let kind = kind(error, retries);
        let pause = if self.is_open { REPEAT } else { REPEAT_AFTER_END };
        let is_known = self.reported.iter().any(|(known, at)| *known == kind && at.elapsed() < pause);
        if is_known {
            self.unreported += 1;
            self.last = Some(Arc::clone(error));
        } else {
            self.reported.retain(|(known, _)| *known != kind);
            if self.reported.len() == KINDS_MAX {
                self.reported.pop_front();
            }
            self.reported.push_back((kind, Instant::now()));
            (self.last, self.is_open) = (None, true);
        }
        !is_known
    }

    /// Notes that the failed operation works again: how many errors were not reported, if that is to be reported.
    pub fn end(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
        self.last = None;
        Some(std::mem::take(&mut self.unreported))
    }

    /// Nothing more comes: the last error that was not reported, and how many there were.
    pub fn rest(&mut self) -> Option<(Arc<Error>, u64)> {
        let last = self.last.take()?;
        Some((last, std::mem::take(&mut self.unreported)))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn an_error_of_many_files_is_reported_once_and_counted() {
        let full = |number: u32| {
            let path = format!("segment{number}").into();
            Arc::new(Error::Io { path, what: "writing", cause: io::ErrorKind::StorageFull.into() })
        };
        let mut trouble = Trouble::default();
        let reported = |trouble: &mut Trouble, count, retries| {
            (0..count).filter(|&number| trouble.add(&full(number), retries)).count()
        };
        assert_eq!(reported(&mut trouble, 22, true), 1);
        assert_eq!((trouble.end(), trouble.end()), (Some(21), None));
        // A disk that fails and works in turn is not reported each time.
        assert_eq!((reported(&mut trouble, 5, true), trouble.end()), (0, None));
        let (last, times) = trouble.rest().expect("five were not reported");
        assert!(last.to_string().contains("segment4") && times == 5, "{last}");
        // Then it is not tried again.
        assert_eq!(reported(&mut trouble, 3, false), 1);
        let (last, times) = trouble.rest().expect("two were not reported");
        assert!(last.to_string().contains("segment2") && times == 2, "{last}");
        assert!(trouble.rest().is_none());
    }

    #[test]
    fn errors_that_come_in_turn_are_reported_once_each() {
        let mut trouble = Trouble::default();
        let whats = ["looking for the directory", "writing again what was removed"];
        let mut add = |number: usize| {
            let error = Error::Io { path: "x".into(), what: whats[number % 2], cause: io::ErrorKind::NotFound.into() };
            trouble.add(&Arc::new(error), true)
        };
        assert_eq!((0..60).filter(|&number| add(number)).count(), 2);
        assert_eq!(trouble.end(), Some(58));
        // Those that never come again are forgotten, and nothing grows.
        let of = |number: usize| {
            Arc::new(Error::Io { path: "x".into(), what: "writing", cause: io::Error::other(number.to_string()) })
        };
        assert_eq!((0..1000).filter(|&number| trouble.add(&of(number), true)).count(), 1000);
        assert_eq!(trouble.reported.len(), KINDS_MAX);
    }
}
