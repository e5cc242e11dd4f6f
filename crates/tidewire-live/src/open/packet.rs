//! Packet sockets, with programs before them where something is cut off.

use std::{os::fd::OwnedFd, sync::Arc};

use tidewire_wire::LinkType;

use super::opening::{Opening, kernel_settings, put_filter};
use crate::{
    Error, Interface, Live, LiveSettings, Role, SettingError,
    any_limits::{ANY_RING_BYTES_MIN, APPEARING_MAX},
    filter_spec::FilterSpec,
    kernel::{Kernel, KernelSettings, KernelSocketFilter, KernelXdp},
    packet::{Filters, Plan, SocketFilter},
    session::{Attached, CaptureMethod, Connected},
    sys::bpf::{Link, XdpMode},
};
use tidewire_filter::FilterHook;

pub(super) fn open(
    settings: &LiveSettings,
    interfaces: Vec<Interface>,
    why: &str,
    follows: bool,
) -> Result<Live, Error> {
    let plans = plans(settings, interfaces.len())?;
    if plans.iter().any(|plan| plan.rings() > 1) && settings.kernel.needs_flows() {
        return Err(SettingError::CutoffsWithDuplicates.into());
    }
    let waiting = if follows { waiting_plan(settings)? } else { None };
    let waiting_bytes = waiting.as_ref().map_or(0, |plan| APPEARING_MAX * plan.rings() * plan.place_bytes());
    let bytes = waiting_bytes + plans.iter().map(|plan| plan.rings() * plan.place_bytes()).sum::<usize>();
    let mut opening = Opening::new(&vec![bytes; settings.workers.max(1)])?;
    for (number, (interface, plan)) in interfaces.into_iter().zip(plans).enumerate() {
        let places = (0..plan.workers()).map(|worker| opening.places(worker, plan.rings(), plan.place_bytes()));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let before = Before::load(settings, &interface)?;
        let group = plan.open(&interface, number as u16, &before.filters, places)?;
        let interface = Interface { counts: group.before, ..interface };
        let (rings, steered_out) = group.split();
        let attached = before.attach(&interface)?.map(|link| Attached::Link { _link: link });
        let cuts = match (&before.kernel, settings.kernel.needs_flows()) {
            (Some(_), true) => ", cut off in the kernel",
            (None, true) => ", cut off in the engine: frames without Ethernet",
            (_, false) if settings.kernel.is_left_to_engine() => ", cut off in the engine: copies are left out",
            (_, false) => "",
        };
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        let remark = plan.remark().map(|remark| format!("; {remark}")).unwrap_or_default();
        let version = if settings.immediate { 2 } else { 3 };
        let description = format!("packet socket, TPACKET_V{version}{cuts}{why}{remark}");
        let (method, steered_out) = (CaptureMethod::Packet, Some(steered_out));
        opening.add(rings, Connected { interface, method, description, kernel: before.kernel, attached, steered_out });
    }
    if let Some(plan) = waiting {
        open_waiting(settings, &plan, &mut opening, why)?;
    }
    Ok(opening.live(settings))
}

/// The plan of interfaces that appear; `None` where groups are those of the user, whose numbers are for known interfaces.
fn waiting_plan(settings: &LiveSettings) -> Result<Option<Plan>, Error> {
    if settings.fanout.is_some() || settings.sharing.is_some() || !settings.memberships.is_empty() {
        return Ok(None);
    }
    let ring_bytes = ANY_RING_BYTES_MIN.min(settings.ring_bytes);
    // Each gets its memory when it appears.
    Plan::new(&LiveSettings { interfaces: vec!["any".into()], ring_bytes, ..settings.clone() }).map(Some)
}

/// Opens sockets for interfaces that appear. Programs in the kernel belong to an interface: those that appear have none.
fn open_waiting(settings: &LiveSettings, plan: &Plan, opening: &mut Opening, why: &str) -> Result<(), Error> {
    let user = FilterSpec::of(settings)?;
    let mut filters = Vec::new();
    for link in [LinkType::ETHERNET, LinkType::RAW] {
        // An expression may have no meaning for frames of one kind: those interfaces are left out.
        if let Ok(program) = user.classic(link) {
            let filter = program.map(SocketFilter::Classic);
            filters.push((link, Filters { first: filter.clone(), second: filter }));
        }
    }
    for _ in 0..APPEARING_MAX {
        let places = (0..plan.workers()).map(|worker| opening.places(worker, plan.rings(), plan.place_bytes()));
        let Some((rings, slot)) = plan.open_waiting(&filters, places.collect::<Result<Vec<_>, _>>()?)? else { break };
        opening.add_waiting(rings, slot);
    }
    let version = if settings.immediate { 2 } else { 3 };
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    opening.describe_waiting(format!("packet socket, TPACKET_V{version}{why}"));
    Ok(())
}

/// Plans by interface. Programs are loaded once if all interfaces share a group in the same way.
fn plans(settings: &LiveSettings, interfaces: usize) -> Result<Vec<Arc<Plan>>, Error> {
    if settings.memberships.is_empty() {
        let plan = Arc::new(Plan::new(settings)?);
        return Ok((0..interfaces).map(|_| Arc::clone(&plan)).collect());
    }
    (0..interfaces).map(|number| Plan::new(&settings.on(number)).map(Arc::new)).collect()
}

fn put(wanted: &FilterSpec, hook: FilterHook, kernel: &Kernel) -> Result<(), Error> {
    if wanted.is_some() { put_filter(wanted, hook, kernel) } else { Ok(()) }
}

/// Programs and filters before an interface's sockets.
struct Before {
    filters: Filters,
    kernel: Option<Arc<Kernel>>,
    xdp: Option<KernelXdp>,
}

impl Before {
    fn load(settings: &LiveSettings, interface: &Interface) -> Result<Self, Error> {
        let mut before = Self { filters: Filters::default(), kernel: None, xdp: None };
        let link = interface.link()?;
        let user = FilterSpec::of(settings)?;
        if let Some(program) = user.classic(link)? {
            let filter = Some(SocketFilter::Classic(program));
            before.filters = Filters { first: filter.clone(), second: filter };
        }
        if !settings.kernel.needs_flows() {
            if settings.kernel.counts && user.is_some() && link == LinkType::ETHERNET && settings.role == Role::Host {
                // Where no program can be loaded, the classic filter does the same, and counts nothing.
                let _ = before.count(settings, &user);
            }
            return Ok(before);
        }
        if link != LinkType::ETHERNET {
            // The programs read Ethernet frames: the engine cuts off.
            return Ok(before);
        }
        let wanted = KernelSettings { has_filter: user.is_some(), is_shared: true, ..kernel_settings(settings) };
        match settings.role {
            Role::Tap => {
                let xdp = KernelXdp::load(&wanted)?;
                put(&user, FilterHook::Xdp, xdp.kernel())?;
                before.filters = Filters::default();
                before.kernel = Some(Arc::clone(xdp.kernel()));
                before.xdp = Some(xdp);
            }
            Role::Host => before.load_filter(&wanted, &user)?,
        }
        Ok(before)
    }

    /// Has what the user's filter leaves out counted.
    fn count(&mut self, settings: &LiveSettings, user: &FilterSpec) -> Result<(), Error> {
        let wanted = KernelSettings { has_filter: true, is_shared: true, ..kernel_settings(settings) };
        self.load_filter(&wanted, user)
    }

    /// Loads the programs of a socket's filter.
    fn load_filter(&mut self, wanted: &KernelSettings, user: &FilterSpec) -> Result<(), Error> {
        let filter = KernelSocketFilter::load(wanted)?;
        put(user, FilterHook::Socket, filter.kernel())?;
        let program = filter.program()?.try_clone_to_owned();
        let program = program.map_err(|source| Error::kernel("using a loaded program", source))?;
        self.kernel = Some(Arc::clone(filter.kernel()));
        let program: Arc<OwnedFd> = Arc::new(program);
        self.filters.first = Some(SocketFilter::Program(program));
        Ok(())
    }

    /// Attaches in the driver if possible, else by the generic hook.
    fn attach(&self, interface: &Interface) -> Result<Option<Link>, Error> {
        let Some(xdp) = &self.xdp else { return Ok(None) };
        match xdp.attach(interface.index, XdpMode::Native) {
            Ok(link) => Ok(Some(link)),
            Err(_) => xdp.attach(interface.index, XdpMode::Generic).map(Some),
        }
    }
}
