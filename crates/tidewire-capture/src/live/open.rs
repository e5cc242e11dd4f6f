//! From settings to rings.

use std::sync::Arc;

use super::{
    Interface, Live, LiveEngine, LiveSettings, Monitor, Ring, Role, Worker,
    kernel::{KernelSettings, Shunts},
    packet::{Filters, Plan, SocketFilter},
    xsk::XdpEngine,
};
use crate::{
    Error, Filter,
    sys::arena::{Arena, Place},
};

/// Interfaces of one capture, at most: what one worker can poll in turn without any of them waiting long.
const INTERFACES_MAX: usize = 64;

/// Opens everything that `settings` ask for.
///
/// # Errors
/// The first thing that is wrong: no such interface, a missing capability, settings that do not go together, a filter or a
/// program that the kernel refuses.
pub fn open(settings: &LiveSettings) -> Result<Live, Error> {
    let interfaces = interfaces(settings)?;
    crate::privilege::check(settings)?;
    match (settings.engine, settings.role) {
        (LiveEngine::Packet, _) => packet(settings, interfaces, ""),
        (LiveEngine::Auto, Role::Host) => {
            packet(settings, interfaces, "AF_XDP would take frames away from the machine: --tap where it only mirrors")
        }
        (LiveEngine::Auto, Role::Tap) => match xdp(settings, &interfaces) {
            Ok(live) => Ok(live),
            Err(error) => packet(settings, interfaces, &error.to_string()),
        },
        (LiveEngine::Xdp | LiveEngine::XdpGeneric, _) => xdp(settings, &interfaces),
    }
}

/// AF_XDP on every interface.
fn xdp(settings: &LiveSettings, interfaces: &[Interface]) -> Result<Live, Error> {
    let engines = interfaces.iter().map(|interface| XdpEngine::choose(settings, interface));
    let engines = engines.collect::<Result<Vec<_>, _>>()?;
    let mut arenas = Vec::with_capacity(settings.workers.max(1));
    let mut places: Places = engines.iter().map(|_| Vec::new()).collect();
    for worker in 0..settings.workers.max(1) {
        let plans = || engines.iter().map(XdpEngine::plan);
        let bytes = plans().map(|plan| plan.rings(worker) * plan.place_bytes()).sum();
        let arena = Arena::reserve(bytes).map_err(|source| no_addresses(bytes, source))?;
        let mut at = 0;
        for (plan, places) in plans().zip(&mut places) {
            let bytes = plan.place_bytes();
            let first = at;
            at += plan.rings(worker) * bytes;
            let mine = (0..plan.rings(worker)).map(|ring| arena.place(first + ring * bytes, bytes));
            places.push(mine.collect::<Result<Vec<_>, _>>().map_err(|source| no_addresses(bytes, source))?);
        }
        arenas.push(arena);
    }
    let mut rings: Vec<Vec<Box<dyn Ring>>> = arenas.iter().map(|_| Vec::new()).collect();
    let (mut watched, mut kernels, mut attachments) = (Vec::new(), Vec::new(), Vec::new());
    for (number, ((engine, interface), places)) in engines.iter().zip(interfaces).zip(places).enumerate() {
        let capture = engine.open(settings.kernel.clone().unwrap_or_else(no_tables), number as u16, places)?;
        for (all, mine) in rings.iter_mut().zip(capture.rings) {
            all.extend(mine.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>));
        }
        watched.push((interface.clone(), capture.engine));
        kernels.push(Arc::clone(capture.kernel.kernel()));
        attachments.push(capture.attachment);
    }
    let count = arenas.len();
    let worker = |(index, (arena, rings))| {
        let mut worker = Worker::new(arena, rings, (index, count), settings.merge_window);
        if settings.kernel.is_some() {
            worker.set_shunt(Box::new(Shunts::new(kernels.iter().map(|kernel| kernel.shunt(index)))));
        }
        worker
    };
    let workers = arenas.into_iter().zip(rings).enumerate().map(worker).collect();
    let monitor = Monitor::new(watched).with_programs(kernels, attachments);
    Ok(Live { workers, monitor })
}

/// Programs that cut nothing off.
fn no_tables() -> KernelSettings {
    KernelSettings { flows_v4: 0, flows_v6: 0, ..KernelSettings::default() }
}

fn interfaces(settings: &LiveSettings) -> Result<Vec<Interface>, Error> {
    let names = &settings.interfaces;
    let refuse = |what: String| Err(Error::Setting(what));
    if names.is_empty() {
        return refuse("no interface is named; give at least one".into());
    }
    if names.len() > INTERFACES_MAX {
        return refuse(format!("{} interfaces: at most {INTERFACES_MAX} are possible", names.len()));
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|other| other == *name))
    {
        return refuse(format!("{} is named twice", twice.1));
    }
    names.iter().map(|name| Interface::find(name)).collect()
}

/// By interface, worker, ring.
type Places = Vec<Vec<Vec<Place>>>;

/// An arena for each worker, cut into places: by interface, worker, then `rings`.
fn places(workers: usize, interfaces: usize, rings: usize, bytes: usize) -> Result<(Vec<Arc<Arena>>, Places), Error> {
    let failed = |source| no_addresses(interfaces * rings * bytes, source);
    let arenas = (0..workers).map(|_| Arena::reserve(interfaces * rings * bytes));
    let arenas = arenas.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut places = Vec::with_capacity(interfaces);
    for interface in 0..interfaces {
        let of_worker = |arena: &Arc<Arena>| {
            (0..rings).map(|ring| arena.place((interface * rings + ring) * bytes, bytes)).collect::<Result<Vec<_>, _>>()
        };
        places.push(arenas.iter().map(of_worker).collect::<Result<Vec<_>, _>>().map_err(failed)?);
    }
    Ok((arenas, places))
}

fn no_addresses(bytes: usize, source: std::io::Error) -> Error {
    let what = format!("reserving {} MiB of addresses for the rings", bytes >> 20);
    Error::Kernel { what, source, hint: "; ask for smaller rings".into() }
}

/// Packet sockets on every interface; `why` not something else.
fn packet(settings: &LiveSettings, interfaces: Vec<Interface>, why: &str) -> Result<Live, Error> {
    let plan = Plan::new(settings)?;
    let (arenas, places) = places(plan.workers(), interfaces.len(), plan.rings(), plan.place_bytes())?;
    let mut rings: Vec<Vec<Box<dyn Ring>>> = arenas.iter().map(|_| Vec::new()).collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let engine = format!("packet socket, TPACKET_V3{why}");
    let mut watched = Vec::with_capacity(interfaces.len());
    for (number, (interface, places)) in interfaces.into_iter().zip(places).enumerate() {
        let filters = filters(settings, &interface)?;
        let (by_worker, _) = plan.open(&interface, number as u16, &filters, places)?.split();
        for (all, mine) in rings.iter_mut().zip(by_worker) {
            all.extend(mine.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>));
        }
        watched.push((interface, engine.clone()));
    }
    let count = arenas.len();
    let workers = arenas.into_iter().zip(rings).enumerate();
    let worker = |(index, (arena, rings))| Worker::new(arena, rings, (index, count), settings.merge_window);
    Ok(Live { workers: workers.map(worker).collect(), monitor: Monitor::new(watched) })
}

/// The user's expression for an interface's packet sockets.
fn filters(settings: &LiveSettings, interface: &Interface) -> Result<Filters, Error> {
    let Some(expression) = &settings.filter else { return Ok(Filters::default()) };
    let program = Filter::new(expression)?.classic(interface.link()?)?;
    let filter = Some(SocketFilter::Classic(program));
    Ok(Filters { first: filter.clone(), second: filter })
}
