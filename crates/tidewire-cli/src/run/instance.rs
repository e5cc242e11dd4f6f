//! One instance: its first process, and the processes that it leaves behind.

use std::{
    io,
    process::{Child, ExitStatus},
};

use tidewire_live::sys::process;
use tidewire_sensor::processes::orphans;

/// An instance: its first process, and those that outlive it.
pub struct Instance {
    pub child: Child,
    pub processor: Option<usize>,
    /// Exit status of the first process.
    pub own: Option<ExitStatus>,
    /// Its processes whose parent has ended.
    pub orphans: Vec<u32>,
    /// Exit status of an orphan that failed.
    orphan_failed: Option<ExitStatus>,
    /// Whether it was reported that the instance continues.
    pub is_reported_running: bool,
    /// Its exit status, when all processes have ended.
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

    /// Its process id: that of the first process while it runs.
    pub fn number(&self) -> u32 {
        self.orphans.first().copied().filter(|_| self.own.is_some()).unwrap_or(self.child.id())
    }

    /// Sends a signal to all of its processes.
    pub fn send(&mut self, signal: i32) -> io::Result<()> {
        let own = if self.own.is_none() { process::send(&mut self.child, signal) } else { Ok(()) };
        self.orphans.iter().fold(own, |result, orphan| result.and(orphans::send(*orphan, signal)))
    }

    /// Collects ended processes; returns whether any has ended.
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

    /// Its exit status if all processes have ended. That of the first process counts, unless it succeeded because a daemon
    /// continues.
    pub fn conclude(&self) -> Option<ExitStatus> {
        let own = self.own.filter(|_| self.orphans.is_empty())?;
        Some(if own.success() { self.orphan_failed.unwrap_or(own) } else { own })
    }
}
