//! Lines of JSON to the supervisor, who may not read them: nothing here waits for it.

use std::{
    collections::VecDeque,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, write},
};

use crate::report::SpoolReport;

/// Lines that wait, at most; further ones are left out.
const WAITING_MAX: usize = 64;

/// Where reports go.
pub(super) struct Reporter {
    to: OwnedFd,
    waiting: VecDeque<SpoolReport>,
    /// A line that was begun, and how much of it was written.
    line: Vec<u8>,
    written: usize,
    is_gone: bool,
}

impl Reporter {
    pub(super) fn new(to: OwnedFd) -> Self {
        // Where that is not possible, a supervisor that reads nothing stops its own spooler's reports.
        let _ = fcntl_getfl(&to).and_then(|flags| fcntl_setfl(&to, flags | OFlags::NONBLOCK));
        Self { to, waiting: VecDeque::new(), line: Vec::new(), written: 0, is_gone: false }
    }

    /// Leaves a line. Of figures only the newest wait.
    pub(super) fn send(&mut self, report: SpoolReport) {
        if matches!(report, SpoolReport::Status(_)) {
            self.waiting.retain(|other| !matches!(other, SpoolReport::Status(_)));
        }
        let is_last = matches!(report, SpoolReport::Finished(_) | SpoolReport::Failed { .. });
        if self.waiting.len() < WAITING_MAX || is_last {
            self.waiting.push_back(report);
        }
        self.write();
    }

    /// Whether the supervisor has closed its end, within this time.
    pub(super) fn is_gone(&mut self, wait: Duration) -> bool {
        let nanoseconds = i64::from(wait.subsec_nanos());
        let wait = Timespec { tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX), tv_nsec: nanoseconds };
        let mut ends = [PollFd::new(&self.to, PollFlags::empty())];
        if let Ok(1..) = poll(&mut ends, Some(&wait)) {
            let [end] = &ends;
            self.is_gone |= end.revents().intersects(PollFlags::HUP | PollFlags::ERR);
        }
        self.is_gone
    }

    /// Writes what can be written now. Whether nothing is left.
    pub(super) fn write(&mut self) -> bool {
        while !self.is_gone {
            if self.written == self.line.len() {
                let Some(report) = self.waiting.pop_front() else { return true };
                self.written = 0;
                // These types can always be written.
                self.line = serde_json::to_vec(&report).unwrap_or_default();
                self.line.push(b'\n');
            }
            match write(&self.to, self.line.get(self.written..).unwrap_or_default()) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::AGAIN) => return false,
                Err(Errno::INTR) => {}
                Err(_) => self.is_gone = true,
            }
        }
        true
    }

    /// Writes the rest, for at most so long.
    pub(super) fn write_for(&mut self, most: Duration) {
        let begun = Instant::now();
        while !self.write() && begun.elapsed() < most {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
