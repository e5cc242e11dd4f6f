use std::{io, path::PathBuf};

use caps::{CapSet, CapsHashSet};

use super::{
    Capability,
    connections::Connections,
    files::{self, Restricted},
    sends, system_calls,
};
use crate::{Error, KernelError, Operation};

/// The rights that a process keeps once its rings are open. [`new`](Self::new) leaves only open descriptors.
///
/// It holds for the calling thread and those that it starts afterwards: confine before workers are started.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    keep: Vec<Capability>,
    terminal: bool,
    passes_descriptors: bool,
    connections: Connections,
    required: bool,
    kill: bool,
}

/// The result of a confinement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Confined {
    /// Protections that this kernel lacks or refused, in words; empty: everything was done.
    pub missing: Vec<String>,
}

impl Confinement {
    /// Nothing is kept.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Files below `path`, or the file itself, may be read.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Files below `path` may be read, written, made, renamed and removed.
    #[must_use]
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// A capability is kept.
    #[must_use]
    pub fn keep(mut self, capability: Capability) -> Self {
        self.keep.push(capability);
        self
    }

    /// The terminal may be opened: for views that draw on it.
    #[must_use]
    pub fn terminal(mut self, terminal: bool) -> Self {
        self.terminal = terminal;
        self
    }

    /// Memory may be passed to other processes over Unix sockets that are open (`memfd_create`, `sendmsg`); descriptors cannot
    /// be received then (`recvmsg`). A process that is taken over could pass its packet sockets to a process at the other end of
    /// such a socket, which then could send frames: let only programs connect that are trusted so far.
    #[must_use]
    pub fn pass_descriptors(mut self, passes: bool) -> Self {
        self.passes_descriptors = passes;
        self
    }

    /// Connections may be made. Sockets of streams to local services, over which root could ask for anything, stay out of reach.
    #[must_use]
    pub fn connect(mut self, connections: Connections) -> Self {
        self.connections = connections;
        self
    }

    /// Makes every missing protection an error. Default: it is listed in [`Confined::missing`].
    #[must_use]
    pub fn required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }

    /// A system call that is not allowed ends the process (SIGSYS). Default: it fails with `EPERM`.
    #[must_use]
    pub fn kill(mut self, kill: bool) -> Self {
        self.kill = kill;
        self
    }

    /// Confines the calling thread and all that it starts: files (Landlock), capabilities, and system calls (seccomp),
    /// each with `no_new_privs`, so that no program that could be run brings privileges back. Sockets that frames come from and
    /// that are open by now (`AF_PACKET`, `AF_XDP`) send none from then on: open them before.
    ///
    /// # Errors
    /// [`Error::Kernel`]: with [`required`](Self::required), what could not be done; in any case where capabilities could
    /// not be given up.
    pub fn confine(self) -> Result<Confined, Error> {
        let mut confined = Confined::default();
        let threads = threads();
        if threads > 1 {
            let others = threads - 1;
            confined
                .missing
                .push(format!("{others} threads that run already are not confined; confine before they start"));
        }
        // Looked at before files are out of reach.
        let capturing = sends::capturing().unwrap_or_else(|what| {
            confined.missing.push(format!("packet sockets can still send frames: {what}"));
            Vec::new()
        });
        match files::restrict(&self.readable, &self.writable, self.terminal, &self.connections) {
            Ok(Restricted::Fully) => {}
            Ok(Restricted::Partly) => {
                confined.missing.push("this kernel's Landlock is older: files are restricted, TCP may not be".into());
            }
            Ok(Restricted::Not) => {
                confined.missing.push("this kernel has no Landlock: files are not restricted".into())
            }
            Err(what) => confined.missing.push(format!("files are not restricted (Landlock): {what}")),
        }
        self.give_up_capabilities()?;
        if let Err(what) = system_calls::restrict(self.kill, self.passes_descriptors, &self.connections, &capturing) {
            confined.missing.push(format!("system calls are not restricted (seccomp): {what}"));
        }
        match confined.missing.first() {
            Some(first) if self.required => Err(failed("confining the process", first.clone())),
            _ => Ok(confined),
        }
    }

    fn give_up_capabilities(&self) -> Result<(), Error> {
        let refused = |error: caps::errors::CapsError| failed("giving up capabilities", error.to_string());
        let permitted = caps::read(None, CapSet::Permitted).map_err(refused)?;
        let kept: CapsHashSet =
            self.keep.iter().map(|kept| caps::Capability::from(*kept)).filter(|one| permitted.contains(one)).collect();
        // Without CAP_SETPCAP the bounding set is harmless under no_new_privs.
        if caps::has_cap(None, CapSet::Effective, caps::Capability::CAP_SETPCAP).map_err(refused)? {
            for capability in caps::all().difference(&kept) {
                // A capability that this kernel does not know is in no set.
                let _ = caps::drop(None, CapSet::Bounding, *capability);
            }
        }
        // Kernels before 4.3 have no ambient set.
        let _ = caps::clear(None, CapSet::Ambient);
        caps::clear(None, CapSet::Inheritable).map_err(refused)?;
        // Effective capabilities have to be permitted.
        for set in [CapSet::Effective, CapSet::Permitted] {
            caps::set(None, set, &kept).map_err(refused)?;
        }
        let left = caps::read(None, CapSet::Permitted).map_err(refused)?;
        if left == kept { Ok(()) } else { Err(failed("giving up capabilities", format!("{left:?} are left"))) }
    }
}

fn failed(what: &str, why: String) -> Error {
    KernelError::new(Operation::Confine, what, io::Error::other(why)).into()
}

/// How many threads the process has; 1 where that cannot be seen.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count().max(1))
}
