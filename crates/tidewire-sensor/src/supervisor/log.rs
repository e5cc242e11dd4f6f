//! Lines about a sensor: written by a thread of their own, so that a log without a reader does not stop the supervisor, and few where
//! others decide how many there are.

use std::{
    cell::Cell,
    sync::mpsc::{SyncSender, TrySendError, sync_channel},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Lines that wait for a reader of the log; later ones are counted only.
const WAITING_MAX: usize = 1024;
/// Lines of a kind at once; then one a second.
const BURST: u32 = 64;
/// How often a kind may have a line.
const REFILL: Duration = Duration::from_secs(1);
/// Characters of a text of the capture.
const TEXT_MAX: usize = 2000;

/// Where lines go.
#[derive(Debug)]
pub struct Log {
    to: Option<SyncSender<String>>,
    left_out: Cell<u64>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// Writes lines with `write`.
    pub fn new(write: fn(&str)) -> std::io::Result<Self> {
        let (to, lines) = sync_channel::<String>(WAITING_MAX);
        let thread = Builder::new().name("log".into()).spawn(move || lines.iter().for_each(|line| write(&line)))?;
        Ok(Self { to: Some(to), left_out: Cell::new(0), thread: Some(thread) })
    }

    /// Writes a line as soon as the log accepts it.
    pub fn line(&self, text: &str) {
        let Some(to) = &self.to else { return };
        let left_out = self.left_out.get();
        if left_out > 0 && to.try_send(format!("{left_out} lines are missing: those before them were not read")).is_ok()
        {
            self.left_out.set(0);
        }
        if let Err(TrySendError::Full(_)) = to.try_send(text.to_owned()) {
            self.left_out.set(self.left_out.get() + 1);
        }
    }

    /// Waits for the last lines.
    pub fn finish(&mut self, most: Duration) {
        self.to = None;
        let begun = Instant::now();
        while begun.elapsed() < most && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.finish(REFILL);
    }
}

/// Kinds of lines that other processes cause as often as they like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Readers come and go.
    Readers,
    /// Readers are refused.
    Refusals,
    /// Parts warn.
    Warnings,
    /// Analyzers connect to the event processor, go, and are refused.
    Analyzers,
    /// Something cannot be stored, delivered or published, or can be again.
    Troubles,
}

impl LineKind {
    const ALL: [Self; 5] = [Self::Readers, Self::Refusals, Self::Warnings, Self::Analyzers, Self::Troubles];

    /// The subject of its lines.
    pub fn words(self) -> &'static str {
        match self {
            Self::Readers => "about readers",
            Self::Refusals => "about refused readers",
            Self::Warnings => "with warnings",
            Self::Analyzers => "about analyzers that emit events",
            Self::Troubles => "about what cannot be stored or delivered",
        }
    }
}

/// Lines of a kind.
#[derive(Debug)]
struct Limit {
    left: u32,
    filled: Instant,
    left_out: u64,
}

impl Limit {
    /// Whether another line may be written.
    fn admits(&mut self, now: Instant) -> bool {
        let seconds = now.saturating_duration_since(self.filled).as_secs();
        if seconds > 0 {
            self.left = self.left.saturating_add(u32::try_from(seconds).unwrap_or(u32::MAX)).min(BURST);
            self.filled += REFILL * u32::try_from(seconds).unwrap_or_default();
        }
        self.left > 0
    }
}

/// The limits of all kinds.
#[derive(Debug)]
pub struct Limits([Limit; 5]);

impl Limits {
    pub fn new(now: Instant) -> Self {
        Self(LineKind::ALL.map(|_| Limit { left: BURST, filled: now, left_out: 0 }))
    }

    /// Whether a line of this kind may be written; otherwise it is counted.
    pub fn admit(&mut self, kind: LineKind, now: Instant) -> bool {
        let Some(limit) = self.0.get_mut(kind as usize) else { return true };
        let admits = limit.admits(now);
        match admits {
            true => limit.left -= 1,
            false => limit.left_out += 1,
        }
        admits
    }

    /// The kinds of which lines were left out, and how many, where that may be said.
    pub fn left_out(&mut self, now: Instant) -> Vec<(LineKind, u64)> {
        let mut found = Vec::new();
        for (kind, limit) in LineKind::ALL.into_iter().zip(&mut self.0) {
            if limit.left_out > 0 && limit.admits(now) {
                limit.left -= 1;
                found.push((kind, std::mem::take(&mut limit.left_out)));
            }
        }
        found
    }
}

/// A text of the capture, which others may have chosen: without control characters, and not too long.
pub fn shown(text: &str) -> String {
    let mut shown: String = tidewire::legible::legible(text).chars().take(TEXT_MAX + 1).collect();
    if let Some((end, _)) = shown.char_indices().nth(TEXT_MAX) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_kind_has_a_line_a_second_and_the_others_are_counted() {
        let begun = Instant::now();
        let mut limits = Limits::new(begun);
        let admitted = |limits: &mut Limits, at| (0..1000).filter(|_| limits.admit(LineKind::Refusals, at)).count();
        assert_eq!(admitted(&mut limits, begun), BURST as usize);
        assert!(limits.admit(LineKind::Readers, begun), "another kind");
        assert_eq!(limits.left_out(begun), []);
        let later = begun + REFILL * 3;
        assert_eq!(limits.left_out(later), [(LineKind::Refusals, 1000 - u64::from(BURST))]);
        assert_eq!(admitted(&mut limits, later), 2);
        assert_eq!(admitted(&mut limits, later + REFILL * 100_000), BURST as usize);
    }

    #[test]
    fn texts_are_shown_in_a_line_and_not_for_ever() {
        assert_eq!(shown("a\n\u{1b}[2J"), "a\\n\\u{1b}[2J");
        assert_eq!(shown(&"ä".repeat(1 << 20)).chars().count(), TEXT_MAX + 1);
        assert_eq!(shown("as it is"), "as it is");
    }

    #[test]
    fn an_unread_log_does_not_stop_the_supervisor() {
        static BLOCKED: Mutex<()> = Mutex::new(());
        static WRITTEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
        fn write(text: &str) {
            drop(BLOCKED.lock());
            WRITTEN.lock().expect("no panic").push(text.to_owned());
        }
        let blocked = BLOCKED.lock();
        let mut log = Log::new(write).expect("a thread");
        for number in 0..2 * WAITING_MAX {
            log.line(&number.to_string());
        }
        drop(blocked);
        let written = || WRITTEN.lock().expect("no panic").len();
        tidewire_testing::wait_until("what waited", || written() >= WAITING_MAX);
        log.line("last");
        log.finish(tidewire_testing::PATIENCE);
        let written = WRITTEN.lock().expect("no panic");
        assert!(written.iter().any(|line| line.contains("lines are missing")), "{:?}", written.last());
        assert_eq!(written.last().map(String::as_str), Some("last"));
    }
}
