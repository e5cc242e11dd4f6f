//! From settings to rings.

use std::sync::Arc;

use super::{
    Interface, Live, LiveEngine, LiveSettings, Monitor, Ring, Worker,
    packet::{Filters, Plan, SocketFilter},
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
    match settings.engine {
        LiveEngine::Auto | LiveEngine::Packet => packet(settings, interfaces),
        LiveEngine::Xdp | LiveEngine::XdpGeneric => Err(Error::Setting("AF_XDP is not connected yet".into())),
    }
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
    let failed = |source| Error::Kernel {
        what: format!("reserving {} MiB of addresses for the rings", (interfaces * rings * bytes) >> 20),
        source,
        hint: "; ask for smaller rings".into(),
    };
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

/// Packet sockets on every interface.
fn packet(settings: &LiveSettings, interfaces: Vec<Interface>) -> Result<Live, Error> {
    let plan = Plan::new(settings)?;
    let (arenas, places) = places(plan.workers(), interfaces.len(), plan.rings(), plan.place_bytes())?;
    let mut rings: Vec<Vec<Box<dyn Ring>>> = arenas.iter().map(|_| Vec::new()).collect();
    let mut watched = Vec::with_capacity(interfaces.len());
    for (number, (interface, places)) in interfaces.into_iter().zip(places).enumerate() {
        let filters = filters(settings, &interface)?;
        let (by_worker, _) = plan.open(&interface, number as u16, &filters, places)?.split();
        for (all, mine) in rings.iter_mut().zip(by_worker) {
            all.extend(mine.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>));
        }
        watched.push((interface, "packet socket, TPACKET_V3".to_owned()));
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
