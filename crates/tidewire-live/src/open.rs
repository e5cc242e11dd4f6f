//! From settings to rings.

mod packet;
mod xdp;

use std::{os::fd::AsFd, sync::Arc};

use super::{
    Interface, Live, LiveEngine, LiveSettings, Monitor, Ring, Role, Worker,
    kernel::{Jump, Kernel, KernelSettings, Shunts},
    session::Connected,
    wanted::Wanted,
};
use crate::{
    Error,
    sys::arena::{Arena, Place},
};
use tidewire_filter::FilterHook;

/// Interfaces of one capture, at most: what one worker can poll in turn without any of them waiting long.
const INTERFACES_MAX: usize = 64;

/// Smallest ring of an interface of `any`: a few dozen blocks.
const ANY_RING_BYTES_MIN: usize = 8 << 20;

/// Opens everything that `settings` ask for.
///
/// # Errors
/// The first thing that is wrong: no such interface, a missing capability, settings that do not go together, a filter or a
/// program that the kernel refuses.
pub fn open(settings: &LiveSettings) -> Result<Live, Error> {
    let every = every_interface(settings)?;
    let settings = every.as_ref().unwrap_or(settings);
    let interfaces = interfaces(settings)?;
    Wanted::of(settings)?;
    crate::privilege::check(settings)?;
    match (settings.engine, settings.role) {
        (LiveEngine::Packet, _) => packet::open(settings, interfaces, ""),
        (LiveEngine::Auto, Role::Host) => {
            packet::open(settings, interfaces, "AF_XDP would divert host traffic; use --tap on a mirror port")
        }
        (LiveEngine::Auto, Role::Tap) => match xdp::open(settings, &interfaces) {
            Ok(live) => Ok(live),
            // What is wrong with the user's own words is wrong everywhere.
            Err(error @ (Error::Filter(_) | Error::Steering(_))) => Err(error),
            Err(error) => packet::open(settings, interfaces, &error.to_string()),
        },
        (LiveEngine::Xdp | LiveEngine::XdpGeneric, _) => xdp::open(settings, &interfaces),
    }
}

/// `any`, where no interface is called so: every interface that is switched on now, which share the memory of one's ring.
fn every_interface(settings: &LiveSettings) -> Result<Option<LiveSettings>, Error> {
    if settings.interfaces != ["any"] {
        return Ok(None);
    }
    let all = Interface::all()?;
    if all.iter().any(|interface| interface.name == "any") {
        return Ok(None);
    }
    let up: Vec<String> = all.into_iter().filter(|interface| interface.up).map(|interface| interface.name).collect();
    if up.is_empty() {
        return Err(Error::Setting("any: no interface is switched on; ip link set eth0 up does it".into()));
    }
    if up.len() > INTERFACES_MAX {
        let what = format!("any: {} interfaces are on, and at most {INTERFACES_MAX} are possible; name some", up.len());
        return Err(Error::Setting(what));
    }
    let ring_bytes = (settings.ring_bytes / up.len()).max(ANY_RING_BYTES_MIN.min(settings.ring_bytes));
    Ok(Some(LiveSettings { interfaces: up, ring_bytes, ..settings.clone() }))
}

fn interfaces(settings: &LiveSettings) -> Result<Vec<Interface>, Error> {
    let names = &settings.interfaces;
    let refuse = |what: String| Err(Error::Setting(what));
    if names.is_empty() {
        return refuse("no interface is named; give at least one".into());
    }
    if names.len() > INTERFACES_MAX {
        return refuse(format!("{} interfaces: the limit is {INTERFACES_MAX}", names.len()));
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|other| other == *name))
    {
        return refuse(format!("{} is named twice", twice.1));
    }
    names.iter().map(|name| Interface::find(name)).collect()
}

/// What is common to all engines: each worker's arena and rings, and the interfaces with their programs.
struct Opening {
    arenas: Vec<Arc<Arena>>,
    rings: Vec<Vec<Box<dyn Ring>>>,
    connected: Vec<Connected>,
}

impl Opening {
    /// Room for so many bytes of rings in each worker's arena.
    fn new(bytes: &[usize]) -> Result<Self, Error> {
        let arenas = bytes.iter().map(|bytes| Arena::reserve(*bytes)).collect::<Result<Vec<_>, _>>();
        let arenas = arenas.map_err(|source| Error::Kernel {
            what: format!("reserving {} MiB of addresses for the rings", bytes.iter().sum::<usize>() >> 20),
            source,
            hint: "; ask for smaller rings".into(),
        })?;
        let rings = arenas.iter().map(|_| Vec::new()).collect();
        Ok(Self { arenas, rings, connected: Vec::new() })
    }

    /// Places of `bytes` each for a worker's rings on an interface.
    fn places(&self, worker: usize, rings: usize, bytes: usize) -> Result<Vec<Place>, Error> {
        let failed = |source| Error::Kernel { what: "dividing the rings' memory".into(), source, hint: String::new() };
        let Some(arena) = self.arenas.get(worker) else {
            return Err(Error::Setting(format!("there is no worker {worker}")));
        };
        (0..rings).map(|_| arena.take(bytes).map_err(failed)).collect()
    }

    fn add<R: Ring + 'static>(&mut self, by_worker: Vec<Vec<R>>, connected: Connected) {
        for (all, mine) in self.rings.iter_mut().zip(by_worker) {
            all.extend(mine.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>));
        }
        self.connected.push(connected);
    }

    fn live(self, settings: &LiveSettings) -> Live {
        let kernels: Vec<_> = self.connected.iter().filter_map(|connected| connected.kernel.clone()).collect();
        let (count, has_flows) = (self.arenas.len(), settings.kernel.needs_flows());
        let worker = |(index, (arena, rings))| {
            let mut worker = Worker::new(arena, rings, (index, count), settings.merge_window);
            if has_flows && !kernels.is_empty() {
                worker.set_shunt(Box::new(Shunts::new(kernels.iter().map(|kernel| kernel.shunt(index)))));
            }
            worker
        };
        let workers = self.arenas.into_iter().zip(self.rings).enumerate().map(worker).collect();
        Live { workers, monitor: Monitor::new(self.connected) }
    }
}

/// What the programs of an interface are to do, but for where frames go.
fn kernel_settings(settings: &LiveSettings) -> KernelSettings {
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

/// Puts the user's filter into its place before the programs of an interface.
fn put_filter(wanted: &Wanted, hook: FilterHook, kernel: &Kernel) -> Result<(), Error> {
    // Neither copied to us, nor let through: `XDP_DROP`.
    let otherwise = match hook {
        FilterHook::Socket => 0,
        FilterHook::Xdp => 1,
    };
    kernel.set_jump(Jump::Filter, wanted.load(hook, kernel.filter_ending(otherwise))?.as_fd())
}
