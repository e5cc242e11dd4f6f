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
    limits: [Mutex<Limit>; 2],
}

/// Who brings lines about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// Anybody who connects.
    Strangers,
    /// Sensors that proved who they are: strangers do not keep their lines out.
    Sensors,
}

struct Limit {
    left: u64,
    filled: Instant,
    left_out: u64,
}

impl Log {
    pub(super) fn new(write: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        let limit = || Mutex::new(Limit { left: BURST, filled: Instant::now(), left_out: 0 });
        Self { write, limits: [limit(), limit()] }
    }

    /// A line that this collector decided on.
    pub(super) fn line(&self, text: impl Display) {
        let text: String = legible(&text.to_string()).chars().take(TEXT_MAX).collect();
        (self.write)(&text);
    }

    /// A line that others bring about as often as they like: beyond a limit it is only counted.
    pub(super) fn limited(&self, about: About, text: impl Display) {
        let [strangers, sensors] = &self.limits;
        let (limit, whose) = match about {
            About::Strangers => (strangers, "strangers"),
            About::Sensors => (sensors, "sensors"),
        };
        let left_out = {
            let mut limit = limit.lock().unwrap_or_else(PoisonError::into_inner);
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
            self.line(format_args!("{left_out} lines about connections of {whose} were left out"));
        }
        self.line(text);
    }
}
