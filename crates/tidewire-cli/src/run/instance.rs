//! One instance: the process that was started, and what it left behind.

use std::{
    io,
    process::{Child, ExitStatus},
};

use tidewire_live::sys::process;

use super::heirs;

/// One of them: the process that was started, and those that outlive it.
pub struct Instance {
    pub child: Child,
    pub processor: Option<usize>,
    /// How the process that was started ended.
    pub own: Option<ExitStatus>,
    /// Processes that came from it and have no other parent any more.
    pub heirs: Vec<u32>,
    /// How one of those failed.
    heir_failed: Option<ExitStatus>,
    /// Whether it was said that it goes on.
    pub is_known_to_go_on: bool,
    /// How it ended, when all of them have.
    pub ended: Option<ExitStatus>,
}

impl Instance {
    pub fn new(child: Child, processor: Option<usize>) -> Self {
        Self {
            child,
            processor,
            own: None,
            heirs: Vec::new(),
            heir_failed: None,
            is_known_to_go_on: false,
            ended: None,
        }
    }

    /// The process: the one that was started, while it is there.
    pub fn number(&self) -> u32 {
        self.heirs.first().copied().filter(|_| self.own.is_some()).unwrap_or(self.child.id())
    }

    /// Sends a signal to all of its processes.
    pub fn tell(&mut self, signal: i32) -> io::Result<()> {
        let own = if self.own.is_none() { process::send(&mut self.child, signal) } else { Ok(()) };
        self.heirs.iter().fold(own, |result, heir| result.and(heirs::send(*heir, signal)))
    }

    /// Looks which of its processes have ended; whether any has.
    pub fn reap(&mut self) -> bool {
        let before = (self.own, self.heirs.len());
        if self.own.is_none() {
            self.own = self.child.try_wait().ok().flatten();
        }
        let failed = &mut self.heir_failed;
        self.heirs.retain(|heir| {
            let Some(status) = heirs::ended(*heir) else { return true };
            if !status.success() {
                *failed = Some(status);
            }
            false
        });
        before != (self.own, self.heirs.len())
    }

    /// How it ended, if all of its processes have. What the first one said counts, unless that was only that a daemon is on
    /// its way.
    pub fn conclude(&self) -> Option<ExitStatus> {
        let own = self.own.filter(|_| self.heirs.is_empty())?;
        Some(if own.success() { self.heir_failed.unwrap_or(own) } else { own })
    }
}
