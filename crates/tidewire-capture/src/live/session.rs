//! All of a capture's rings and what is watched beside them.

use std::{sync::Arc, time::Duration};

use super::{
    Interface, InterfaceCounts, Worker,
    kernel::{Kernel, KernelCounters},
    xsk::XdpAttachment,
};
use crate::Error;

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
}

/// Looks at interfaces while packets flow elsewhere.
pub struct Monitor {
    interfaces: Vec<Watched>,
    kernels: Vec<Arc<Kernel>>,
    /// Programs are taken off with the monitor.
    _attachments: Vec<XdpAttachment>,
}

struct Watched {
    name: String,
    engine: String,
    before: InterfaceCounts,
}

impl Monitor {
    /// Watches `interfaces`, each with a word on how its frames are got.
    #[must_use]
    pub fn new(interfaces: impl IntoIterator<Item = (Interface, String)>) -> Self {
        let watched = |(interface, engine): (Interface, String)| Watched {
            name: interface.name,
            engine,
            before: interface.counts,
        };
        let interfaces = interfaces.into_iter().map(watched).collect();
        Self { interfaces, kernels: Vec::new(), _attachments: Vec::new() }
    }

    /// With programs in the kernel, which are taken off when this is dropped.
    #[must_use]
    pub fn with_programs(self, kernels: Vec<Arc<Kernel>>, attachments: Vec<XdpAttachment>) -> Self {
        Self { kernels, _attachments: attachments, ..self }
    }

    /// What the programs in the kernel counted, all interfaces together; `None` where there are none.
    #[must_use]
    pub fn kernel(&self) -> Option<KernelCounters> {
        let sum = |mut sum: KernelCounters, kernel: &Arc<Kernel>| {
            sum.add(&kernel.counters());
            sum
        };
        (!self.kernels.is_empty()).then(|| self.kernels.iter().fold(KernelCounters::default(), sum))
    }

    /// What each interface counted so far.
    ///
    /// # Errors
    /// The kernel refuses to tell.
    pub fn report(&mut self) -> Result<Vec<InterfaceReport>, Error> {
        let all = Interface::all()?;
        let report = |watched: &Watched| {
            let now = all.iter().find(|interface| interface.name == watched.name);
            InterfaceReport {
                name: watched.name.clone(),
                engine: watched.engine.clone(),
                counts: now.map(|interface| interface.counts.since(&watched.before)),
            }
        };
        Ok(self.interfaces.iter().map(report).collect())
    }
}

/// How long an idle worker waits before it looks at its clocks again.
pub const TICK: Duration = Duration::from_millis(50);
