//! All of a capture's rings and what is watched beside them.

use std::{sync::Arc, time::Duration};

use super::{
    Interface, InterfaceCounts, InterfaceEvent, Watch, Worker,
    kernel::{Kernel, KernelCounters},
    packet::SteeredOut,
    xsk::XdpAttachment,
};
use crate::{Error, sys::bpf::Link};

/// A capture that has been opened: its workers, each to be run by one thread, and what is looked at beside them.
pub struct Live {
    /// The workers.
    pub workers: Vec<Worker>,
    /// What is looked at now and then.
    pub monitor: Monitor,
}

/// What became of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceReport {
    /// Its name.
    pub name: String,
    /// How its frames are got, and why so.
    pub engine: String,
    /// What it counted since the capture was opened; `None` while it is gone.
    pub counts: Option<InterfaceCounts>,
    /// What the programs in the kernel counted for it, where there are some.
    pub kernel: Option<KernelCounters>,
    /// Frames that a steering program dropped among packet sockets, as [`Monitor::steered_out`] says; those of AF_XDP are in
    /// `kernel`.
    pub steered_out: u64,
}

impl InterfaceReport {
    /// How its frames are got, in a word: `packet`, `af_xdp`, or `af_xdp_generic`.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        match self.engine.strip_prefix("AF_XDP") {
            None => "packet",
            Some(how) if how.starts_with(", generic") => "af_xdp_generic",
            Some(_) => "af_xdp",
        }
    }
}

/// Looks at interfaces while packets flow elsewhere.
pub struct Monitor {
    /// None where the kernel does not let us watch.
    watch: Option<Watch>,
    interfaces: Vec<Watched>,
    /// The interfaces when it was stopped.
    last: Option<Vec<Interface>>,
}

struct Watched {
    name: String,
    /// It may be renamed, or come back with another number.
    index: u32,
    engine: String,
    before: InterfaceCounts,
    kernel: Option<Arc<Kernel>>,
    attached: Option<Attached>,
    steered_out: Option<SteeredOut>,
}

/// A program on an interface, which is taken off when this goes away.
pub(super) enum Attached {
    /// With AF_XDP sockets.
    Xdp { _attachment: XdpAttachment },
    /// Before packet sockets.
    Link { _link: Link },
}

/// How an interface's frames are got.
pub(super) struct Connected {
    pub interface: Interface,
    /// In words, with the reason.
    pub engine: String,
    pub kernel: Option<Arc<Kernel>>,
    pub attached: Option<Attached>,
    pub steered_out: Option<SteeredOut>,
}

impl Monitor {
    pub(super) fn new(interfaces: Vec<Connected>) -> Self {
        let watched = |connected: Connected| Watched {
            index: connected.interface.index,
            name: connected.interface.name,
            engine: connected.engine,
            before: connected.interface.counts,
            kernel: connected.kernel,
            attached: connected.attached,
            steered_out: connected.steered_out,
        };
        let looked_up: Vec<_> = interfaces.iter().map(|connected| connected.interface.clone()).collect();
        Self {
            watch: Watch::new(&looked_up).ok(),
            interfaces: interfaces.into_iter().map(watched).collect(),
            last: None,
        }
    }

    /// What became of the interfaces since the last call.
    ///
    /// # Errors
    /// The kernel refuses to tell.
    pub fn events(&mut self) -> Result<Vec<InterfaceEvent>, Error> {
        self.watch.as_mut().map_or(Ok(Vec::new()), Watch::events)
    }

    /// Takes programs off the interfaces: nothing is counted there any more. What they counted can still be asked for.
    pub fn stop(&mut self) {
        self.interfaces.iter_mut().for_each(|watched| watched.attached = None);
        if self.last.is_none() {
            // What the interfaces count from now on is nobody's.
            self.last = Interface::all().ok();
        }
    }

    /// Frames that a steering program dropped among packet sockets, on all interfaces, since the capture was opened: those
    /// that had passed the filter and the direction. They are in no ring, and in no ring's counts.
    ///
    /// Among the members of a group of several processes, each frame that the program drops comes to one member, any one,
    /// and is held against that one's direction and filter first: what these leave out is counted nowhere, as all that
    /// filters leave out. Where all have the same, what came is what the members received, had no room for, and counted
    /// here. A member that joins later counts from the moment before it joins, when it still gets all frames for itself.
    /// What comes in the microseconds until a new member's filter lets frames in is lost, and is not counted.
    ///
    /// # Errors
    /// The kernel refuses to tell.
    pub fn steered_out(&self) -> Result<u64, Error> {
        let of = |watched: &Watched| watched.steered_out.as_ref().map_or(Ok(0), SteeredOut::frames);
        self.interfaces.iter().map(of).sum()
    }

    /// What each interface counted so far.
    ///
    /// # Errors
    /// The kernel refuses to tell.
    pub fn report(&mut self) -> Result<Vec<InterfaceReport>, Error> {
        let all = match &self.last {
            Some(last) => last.clone(),
            None => Interface::all()?,
        };
        let report = |watched: &Watched| {
            let now = all.iter().find(|interface| interface.index == watched.index);
            let now = now.or_else(|| all.iter().find(|interface| interface.name == watched.name));
            Ok(InterfaceReport {
                name: watched.name.clone(),
                engine: watched.engine.clone(),
                counts: now.map(|interface| interface.counts.since(&watched.before)),
                kernel: watched.kernel.as_ref().map(|kernel| kernel.counters()),
                steered_out: watched.steered_out.as_ref().map_or(Ok(0), SteeredOut::frames)?,
            })
        };
        self.interfaces.iter().map(report).collect()
    }
}

/// How long an idle worker waits before it looks at its clocks again.
pub const TICK: Duration = Duration::from_millis(50);
