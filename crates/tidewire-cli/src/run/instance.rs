//! One instance: the process that was started, and what it left behind.

use std::{
    io,
    process::{Child, ExitStatus},
};

use tidewire_live::sys::process;

use super::orphans;

/// One of them: the process that was started, and those that outlive it.
pub struct Instance {
    pub child: Child,
    pub processor: Option<usize>,
    /// How the process that was started ended.
    pub own: Option<ExitStatus>,
    /// Processes that came from it and have no other parent any more.
    pub orphans: Vec<u32>,
    /// How one of those failed.
    orphan_failed: Option<ExitStatus>,
    /// Whether it was said that it goes on.
    pub is_reported_running: bool,
    /// How it ended, when all of them have.
    pub ended: Option<ExitStatus>,
}

impl Instance {
    pub fn new(child: Child, processor: Option<usize>) -> Self {
        Self {
            child,
            processor,
            own: None,
            orphans: Vec::new(),
            orphan_failed: None,
            is_reported_running: false,
            ended: None,
        }
    }

    /// The process: the one that was started, while it is there.
    pub fn number(&self) -> u32 {
        self.orphans.first().copied().filter(|_| self.own.is_some()).unwrap_or(self.child.id())
    }

    /// Sends a signal to all of its processes.
    pub fn tell(&mut self, signal: i32) -> io::Result<()> {
        let own = if self.own.is_none() { process::send(&mut self.child, signal) } else { Ok(()) };
        self.orphans.iter().fold(own, |result, orphan| result.and(orphans::send(*orphan, signal)))
    }

    /// Looks which of its processes have ended; whether any has.
    pub fn reap(&mut self) -> bool {
        let before = (self.own, self.orphans.len());
        if self.own.is_none() {
            self.own = self.child.try_wait().ok().flatten();
        }
        let failed = &mut self.orphan_failed;
        self.orphans.retain(|orphan| {
            let Some(status) = orphans::ended(*orphan) else { return true };
            if !status.success() {
                *failed = Some(status);
            }
            false
        });
        before != (self.own, self.orphans.len())
    }

    /// How it ended, if all of its processes have. What the first one said counts, unless that was only that a daemon is on
    /// its way.
    pub fn conclude(&self) -> Option<ExitStatus> {
        let own = self.own.filter(|_| self.orphans.is_empty())?;
        Some(if own.success() { self.orphan_failed.unwrap_or(own) } else { own })
    }
}
