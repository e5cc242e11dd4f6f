use std::{os::fd::AsFd, sync::Arc};

use tidewire_filter::FilterHook;

use crate::{
    Error, KernelError, Live, LiveSettings, Monitor, Operation, Ring, SettingError, Worker,
    filter_spec::FilterSpec,
    kernel::{Jump, Kernel, KernelSettings, Shunts},
    packet::Slot,
    session::Connected,
    sys::arena::{Arena, ArenaRegion},
};

/// State common to all engines: each worker's arena and rings, and the interfaces with their programs.
pub(super) struct Opening {
    arenas: Vec<Arc<Arena>>,
    rings: Vec<Vec<Box<dyn Ring>>>,
    connected: Vec<Connected>,
    /// Places for interfaces that appear, and how their frames are captured.
    waiting: (Vec<Arc<Slot>>, String),
}

impl Opening {
    /// Reserves so many bytes for rings in each worker's arena.
    pub(super) fn new(bytes: &[usize]) -> Result<Self, Error> {
        let arenas = bytes.iter().map(|bytes| Arena::reserve(*bytes)).collect::<Result<Vec<_>, _>>();
        let arenas = arenas.map_err(|source| {
            let what = format!("reserving {} MiB of addresses for the rings", bytes.iter().sum::<usize>() >> 20);
            KernelError::new(Operation::ReserveMemory, what, source)
        })?;
        let rings = arenas.iter().map(|_| Vec::new()).collect();
        Ok(Self { arenas, rings, connected: Vec::new(), waiting: (Vec::new(), String::new()) })
    }

    /// Reserves places of `bytes` each for a worker's rings on an interface.
    pub(super) fn places(&self, worker: usize, rings: usize, bytes: usize) -> Result<Vec<ArenaRegion>, Error> {
        let failed = |source| Error::kernel("dividing the rings' memory", source);
        let Some(arena) = self.arenas.get(worker) else {
            return Err(SettingError::NoSuchWorker { worker }.into());
        };
        (0..rings).map(|_| arena.take(bytes).map_err(failed)).collect()
    }

    /// Adds rings that wait for an interface.
    pub(super) fn add_waiting<R: Ring + 'static>(&mut self, by_worker: Vec<Vec<R>>, slot: Arc<Slot>) {
        self.add_rings(by_worker);
        self.waiting.0.push(slot);
    }

    /// Sets how frames of interfaces that appear are captured, in words.
    pub(super) fn describe_waiting(&mut self, description: String) {
        self.waiting.1 = description;
    }

    pub(super) fn add<R: Ring + 'static>(&mut self, by_worker: Vec<Vec<R>>, connected: Connected) {
        self.add_rings(by_worker);
        self.connected.push(connected);
    }

    fn add_rings<R: Ring + 'static>(&mut self, by_worker: Vec<Vec<R>>) {
        for (all, mine) in self.rings.iter_mut().zip(by_worker) {
            all.extend(mine.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>));
        }
    }

    pub(super) fn live(self, settings: &LiveSettings) -> Live {
        let kernels: Vec<_> = self.connected.iter().filter_map(|connected| connected.kernel.clone()).collect();
        let (count, is_used) = (self.arenas.len(), settings.kernel.needs_flows() || settings.kernel.counts);
        let worker = |(index, (arena, rings))| {
            let mut worker = Worker::new(arena, rings, (index, count), settings.merge_window);
            if is_used && !kernels.is_empty() {
                worker.set_shunt(Box::new(Shunts::new(kernels.iter().map(|kernel| kernel.shunt(index)))));
            }
            worker
        };
        let workers = self.arenas.into_iter().zip(self.rings).enumerate().map(worker).collect();
        let (slots, description) = self.waiting;
        Live { workers, monitor: Monitor::new(self.connected).following(slots, description) }
    }
}

/// The settings of an interface's programs, except for the destination of frames.
pub(super) fn kernel_settings(settings: &LiveSettings) -> KernelSettings {
    let needs = &settings.kernel;
    let flows = |count: u32| if needs.needs_flows() { count } else { 0 };
    KernelSettings {
        flows_v4: flows(needs.flows_v4),
        flows_v6: flows(needs.flows_v6),
        is_auto: needs.cuts_all && needs.needs_flows(),
        key_vlan: needs.key_vlan,
        wire: needs.wire.clone(),
        shed: needs.shed.clone().filter(|_| needs.needs_flows()),
        ..KernelSettings::default()
    }
}

/// Installs the user's filter before the programs of an interface.
pub(super) fn put_filter(wanted: &FilterSpec, hook: FilterHook, kernel: &Kernel) -> Result<(), Error> {
    // Neither copied nor passed: `XDP_DROP`.
    let otherwise = match hook {
        FilterHook::Socket => 0,
        FilterHook::Xdp => 1,
    };
    kernel.set_jump(Jump::Filter, wanted.load(hook, kernel.filter_ending(otherwise))?.as_fd())
}
