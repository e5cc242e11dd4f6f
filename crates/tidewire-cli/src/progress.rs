//! A progress bar on standard error.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tidewire::Progress;

use crate::{terminal, units::Bytes};

/// Delay before the bar appears.
const AFTER: Duration = Duration::from_millis(400);

/// Time between two updates.
const EVERY: Duration = Duration::from_millis(200);

/// Smaller inputs have no bar: they are read within that delay.
const INPUT_BYTES_MIN: u64 = 64 << 20;

/// Columns left free at the end of the line: terminals print `^C` there, which must not wrap, or a line of the bar would
/// remain.
const FREE_COLUMNS: usize = 6;

/// Least columns of a bar.
const BAR_COLUMNS_MIN: usize = 8;

/// Whether a bar is on the last line of the terminal.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// When the run began, and when its bar was updated last.
pub struct Bar {
    begun: Instant,
    drawn: Option<Instant>,
}

impl Bar {
    /// `None` if standard error is not a terminal with escape sequences.
    pub fn new() -> Option<Self> {
        let is_possible = std::io::stderr().is_terminal() && terminal::has_escapes();
        is_possible.then(|| Self { begun: Instant::now(), drawn: None })
    }

    /// Updates the bar if it is due.
    pub fn show(&mut self, progress: Progress) {
        let is_short = progress.bytes_total.is_some_and(|total| total < INPUT_BYTES_MIN);
        let is_early = match self.drawn {
            None => self.begun.elapsed() < AFTER,
            Some(drawn) => drawn.elapsed() < EVERY,
        };
        if is_short || is_early {
            return;
        }
        self.drawn = Some(Instant::now());
        SHOWN.store(true, Ordering::Relaxed);
        let columns = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let line = line(progress, self.begun.elapsed(), columns);
        let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        remove();
    }
}

/// Whether a bar is on the terminal.
pub fn is_shown() -> bool {
    SHOWN.load(Ordering::Relaxed)
}

/// A line is on the terminal, to be removed as the bar is.
pub fn set_shown() {
    SHOWN.store(true, Ordering::Relaxed);
}

/// A terminal has printed `^C` where the next line begins: it is removed before that is printed, as the bar is.
pub fn hide_echo() {
    if std::io::stderr().is_terminal() && terminal::is_terminal() && terminal::has_escapes() {
        set_shown();
    }
}

/// Removes the bar before other output, or at the end.
pub fn remove() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// The bar, if the total is known and there is room, and the rate.
fn line(progress: Progress, elapsed: Duration, columns: usize) -> String {
    let (room, pace) = (columns.saturating_sub(FREE_COLUMNS), pace(progress, elapsed));
    let pace: String = pace.chars().take(room).collect();
    let bar = room.saturating_sub(pace.chars().count() + 1);
    match progress.bytes_total {
        Some(total) if bar >= BAR_COLUMNS_MIN => {
            let share = progress.bytes_read as f64 / total.max(1) as f64;
            let done = ((share * bar as f64) as usize).min(bar);
            format!("{}{} {pace}", "█".repeat(done), "░".repeat(bar - done))
        }
        _ => pace,
    }
}

/// Progress of a run, its average rate, and the remaining time.
fn pace(progress: Progress, elapsed: Duration) -> String {
    let (read, seconds) = (progress.bytes_read, elapsed.as_secs_f64().max(1e-3));
    let rate = read as f64 / seconds;
    let rate_text = Bytes(rate as u64);
    match progress.bytes_total {
        Some(total) => {
            let left = total.saturating_sub(read) as f64 / rate.max(1.0);
            format!("{} of {}, {rate_text}/s, {left:.0} s left", Bytes(read), Bytes(total))
        }
        None => format!("{}, {rate_text}/s, {seconds:.0} s", Bytes(read)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_whole_run() {
        let known = Progress::new(500_000_000, Some(1_500_000_000), 1);
        let text = pace(known, Duration::from_secs(2));
        assert_eq!(text, "500 MB of 1.5 GB, 250 MB/s, 4 s left");
        let unknown = Progress::new(500_000_000, None, 1);
        assert_eq!(pace(unknown, Duration::from_secs(2)), "500 MB, 250 MB/s, 2 s");
        let nothing = Progress::new(0, Some(0), 0);
        assert_eq!(pace(nothing, Duration::ZERO), "0 B of 0 B, 0 B/s, 0 s left");
    }

    #[test]
    fn the_line_leaves_room_for_what_the_terminal_echoes() {
        let progress = Progress::new(500_000_000, Some(1_500_000_000), 1);
        for columns in [0, 1, 7, 20, 40, 80, 200] {
            let line = line(progress, Duration::from_secs(2), columns);
            assert!(line.chars().count() <= columns.saturating_sub(FREE_COLUMNS), "{columns}: {line}");
        }
        let line = line(progress, Duration::from_secs(2), 63);
        assert_eq!(line, "██████░░░░░░░░░░░░░░ 500 MB of 1.5 GB, 250 MB/s, 4 s left");
    }
}
