//! Lines about sensors: few, where others decide how many there are.

use std::{
    fmt::Display,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use tidewire_wire::legible::legible;

/// Lines at once; then one a second.
const BURST: u64 = 64;
/// Characters of a line.
const TEXT_MAX: usize = 1000;

/// Where lines go.
pub(super) struct Log {
    write: Box<dyn Fn(&str) + Send + Sync>,
    limit: Mutex<Limit>,
}

struct Limit {
    left: u64,
    filled: Instant,
    left_out: u64,
}

impl Log {
    pub(super) fn new(write: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { write, limit: Mutex::new(Limit { left: BURST, filled: Instant::now(), left_out: 0 }) }
    }

    /// A line that this collector decided on.
    pub(super) fn line(&self, text: impl Display) {
        let text: String = legible(&text.to_string()).chars().take(TEXT_MAX).collect();
        (self.write)(&text);
    }

    /// A line that others bring about as often as they like: beyond a limit it is only counted.
    pub(super) fn limited(&self, text: impl Display) {
        let left_out = {
            let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
            let seconds = limit.filled.elapsed().as_secs();
            if seconds > 0 {
                limit.left = limit.left.saturating_add(seconds).min(BURST);
                limit.filled = Instant::now();
            }
            if limit.left == 0 {
                limit.left_out += 1;
                return;
            }
            limit.left -= 1;
            std::mem::take(&mut limit.left_out)
        };
        if left_out > 0 {
            self.line(format_args!("{left_out} lines about connections were left out"));
        }
        self.line(text);
    }
}
