use std::sync::Arc;

use tidewire_wire::LinkType;

use super::{
    Filters, PacketRing, checksum,
    cross_process_group::{Part, parts},
    group::{Beginning, Members},
    hw_timestamps,
    ring::Marks,
    ring_geometry::{RingGeometry, retire_ms, slots},
    slot::Slot,
    socket_filter::FrameFilter,
    socket_setup::{Join, Number, SocketSetup, Steering},
    steering::{HASH_GROUP, OWN_GROUP, check_modes, flow_steering, kind, programs},
};
use crate::{
    ClassicInstruction, Error, Fanout, Interface, InterfaceCounts, LiveSettings, Membership, SettingError,
    TrafficDirection, memory,
    sys::{arena::ArenaRegion, packet::Blocks},
};

/// Rings that wait for an interface, by worker, and the slot through which they get one.
type WaitingRings = (Vec<Vec<PacketRing>>, Arc<Slot>);

/// Limit of members of a group (`PACKET_FANOUT_MAX`); one may be the socket that counts dropped frames.
const WORKERS_MAX: usize = 255;

/// The coarsest tick of a kernel, in which ages are counted, milliseconds.
const TICK_MS: u32 = 10;

/// Longest delay of a frame in a ring of slots, nanoseconds.
const AT_ONCE_NS: u64 = 1_000_000;

/// The rings and programs that follow from the settings, for packet sockets.
#[derive(Debug)]
pub struct Plan {
    workers: usize,
    geometry: RingGeometry,
    snap_bytes: u32,
    promiscuous: bool,
    direction: TrafficDirection,
    retire_ms: u32,
    stamp: Option<u32>,
    /// The user's filter is one of several programs before the sockets.
    is_fixed: bool,
    fanout: Option<Fanout>,
    classic: Vec<ClassicInstruction>,
    /// A program for each copy; none where the kernel's own modes choose.
    steering: Vec<Steering>,
    /// How each copy is shared with other processes, where the group is.
    shared: Vec<Part>,
    /// Whether the program is the default one, which the kernel's hash can replace.
    own: bool,
    remark: Option<String>,
}

/// The rings of an interface.
#[derive(Debug)]
pub struct Group {
    /// By worker, then as many as [`Plan::rings`] says.
    pub rings: Vec<Vec<PacketRing>>,
    /// The group's number, where there is one.
    pub number: Option<u16>,
    /// The interface's counters before frames were accepted.
    pub before: InterfaceCounts,
    members: Arc<Members>,
}

impl Group {
    /// Splits the group into its rings and the counter of frames that steering dropped.
    #[must_use]
    pub fn split(self) -> (Vec<Vec<PacketRing>>, SteeredOut) {
        (self.rings, SteeredOut(self.members))
    }
}

/// Counts the frames that a steering program dropped on an interface.
#[derive(Debug)]
pub struct SteeredOut(Arc<Members>);

impl SteeredOut {
    /// Frames since the rings were opened, of those that passed the filter and direction of the worker that they came to. In a
    /// cross-process group each such frame is counted by one member, which may be any.
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn frames(&self) -> Result<u64, Error> {
        self.0.steered_out()
    }
}

impl Plan {
    /// Checks the settings, and loads the steering programs.
    ///
    /// # Errors
    /// Contradictory settings, rings that do not fit into memory, a steering program that cannot run in a group, a missing
    /// capability.
    pub fn new(settings: &LiveSettings) -> Result<Self, Error> {
        let workers = settings.workers.max(1);
        if workers > WORKERS_MAX {
            return Err(SettingError::Workers { given: workers, limit: WORKERS_MAX }.into());
        }
        let geometry = if settings.immediate {
            slots(settings)?
        } else {
            RingGeometry::of(settings.ring_bytes, settings.snap_bytes)?
        };
        let mut plan = Self {
            workers,
            geometry,
            snap_bytes: settings.snap_bytes.max(1),
            promiscuous: settings.promiscuous,
            direction: settings.direction,
            retire_ms: retire_ms(settings)?,
            stamp: hw_timestamps::source(settings)?,
            is_fixed: settings.kernel.needs_flows(),
            fanout: settings.fanout,
            classic: settings.fanout_program.clone(),
            steering: Vec::new(),
            shared: Vec::new(),
            own: settings.steering.is_none() && settings.fanout.is_none() && workers > 1,
            remark: None,
        };
        check_modes(&Membership {
            fanout: settings.fanout.unwrap_or(OWN_GROUP),
            program: settings.fanout_program.clone(),
            steering: settings.steering.clone(),
            sharing: settings.sharing,
        })?;
        if let Some(sharing) = settings.sharing {
            let without = || Error::from(SettingError::GroupIncomplete);
            let fanout = settings.fanout.as_ref().ok_or_else(without)?;
            plan.shared = parts(fanout, sharing, settings.steering.as_ref(), &settings.fanout_program)?;
        } else if let Some(compiled) = &settings.steering {
            plan.fanout = Some(settings.fanout.unwrap_or(OWN_GROUP));
            plan.steering = programs(compiled, workers as u32)?;
        } else if plan.own {
            plan.steer_by_flow()?;
        }
        plan.check_memory(settings.interfaces.len().max(1))?;
        Ok(plan)
    }

    /// Uses the default steering program if it can be loaded, else the kernel's hash.
    fn steer_by_flow(&mut self) -> Result<(), Error> {
        match programs(&flow_steering()?, self.workers as u32) {
            Ok(programs) => {
                self.fanout = Some(OWN_GROUP);
                self.steering = programs;
            }
            Err(error @ (Error::Privilege { .. } | Error::Kernel(_))) => {
                self.fanout = Some(HASH_GROUP);
                self.remark = Some(format!(
                    "workers share flows by the kernel's hash, which leaves fragments of IPv6 and what is in tunnels apart, \
                     because: {}",
                    error.with_hint()
                ));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// A requirement that could not be met, and the substitute; `None` if all were met.
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Refuses more memory than is available: the kernel would evict other programs.
    fn check_memory(&self, interfaces: usize) -> Result<(), Error> {
        let rings = (self.rings() * self.workers * interfaces) as u64;
        let wanted = rings.saturating_mul(self.place_bytes() as u64);
        let Some(available) = memory::available_bytes() else { return Ok(()) };
        // The rest is for the readers of the rings.
        let room = available / 4 * 3;
        if wanted <= room {
            return Ok(());
        }
        Err(SettingError::RingMemory {
            bytes: wanted,
            rings,
            ring_bytes: self.place_bytes() as u64,
            available_bytes: available,
            fits_bytes: room / rings,
        }
        .into())
    }

    /// Rings that each worker has on an interface: one, or two where frames may be steered to two workers.
    #[must_use]
    pub fn rings(&self) -> usize {
        self.steering.len().max(self.shared.len()).max(1)
    }

    /// Length of each ring's place, bytes: at most what the settings say.
    #[must_use]
    pub fn place_bytes(&self) -> usize {
        self.geometry.bytes()
    }

    /// Number of workers, each with its own rings.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Opens the rings of an interface, `number`th of the capture ([`Frame::interface`](tidewire_wire::Frame::interface)),
    /// into `places`: by worker, then ring, each of [`Self::place_bytes`].
    ///
    /// A group with a number has it on the first interface, and the next ones on the others: of `number` times
    /// [`Self::rings`] more.
    ///
    /// # Errors
    /// A missing capability, no such interface, a kind of interface that cannot be captured, a group with other settings,
    /// no memory for the rings, a filter that the kernel refuses.
    pub fn open(
        &self,
        interface: &Interface,
        number: u16,
        filters: &Filters,
        places: Vec<Vec<ArenaRegion>>,
    ) -> Result<Group, Error> {
        let link = interface.link()?;
        let is_steered = |part: &Part| matches!(part.join.steering, Some(Steering::Program { .. }));
        let by_program = !self.steering.is_empty() || self.shared.iter().any(is_steered);
        if by_program && !self.own && link != LinkType::ETHERNET {
            return Err(SettingError::SteeringNeedsEthernet { interface: interface.name.clone() }.into());
        }
        let members = Arc::new(self.members(interface, link, number, filters)?);
        let marks = self.marks(&interface.name, link, number);
        let failed = |source| Error::kernel(format!("{}: mapping the ring", interface.name), source);
        let mut rings = Vec::with_capacity(self.workers);
        for (worker, places) in places.into_iter().enumerate() {
            let mut mine = Vec::with_capacity(self.rings());
            for (copy, place) in places.into_iter().enumerate() {
                let member = copy * self.workers + worker;
                let Some(socket) = members.again(member)? else { continue };
                let blocks = self.blocks(place).map_err(failed)?;
                let members = Arc::clone(&members);
                mine.push(PacketRing::new(socket, blocks, marks.clone(), members, member).map_err(failed)?);
            }
            rings.push(mine);
        }
        if rings.len() != self.workers || rings.iter().any(|mine| mine.len() != self.rings()) {
            return Err(SettingError::PlaceCount { interface: interface.name.clone() }.into());
        }
        // Frames that arrived while opening passed no filter. Members of a cross-process group accept frames since they
        // joined.
        let before = if self.shared.is_empty() { interface.counts_now() } else { interface.counts };
        members.begin()?;
        Ok(Group { rings, number: members.number(), before, members })
    }

    /// Opens rings that wait for an interface that appears, into `places`. `filters`: for each link type of which frames are
    /// captured, which is not Ethernet alone; none where no frame can be.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_waiting(
        &self,
        filters: &[(LinkType, Filters)],
        places: Vec<Vec<ArenaRegion>>,
    ) -> Result<Option<WaitingRings>, Error> {
        let incoming = self.direction == TrafficDirection::In;
        let beginning = |(link, filters): &(LinkType, Filters)| {
            // As for interfaces that exist.
            let is_refused = !self.steering.is_empty() && !self.own && *link != LinkType::ETHERNET;
            (!is_refused).then(|| self.beginning("", *link, false, 0, filters, incoming)).transpose()
        };
        let beginnings = filters.iter().map(beginning).filter_map(Result::transpose);
        let beginnings = beginnings.collect::<Result<Vec<_>, _>>()?;
        if beginnings.is_empty() {
            return Ok(None);
        }
        let slot = Slot::new(beginnings.iter().map(|beginning| beginning.link).collect());
        let setup = self.setup("any", 0, incoming);
        let members = Arc::new(Members::waiting(setup, Arc::clone(&slot), beginnings)?);
        let marks = self.marks("any", LinkType::ETHERNET, u16::MAX);
        let failed = |source| Error::kernel("placing a ring of another interface", source);
        let mut rings = Vec::with_capacity(self.workers);
        for (worker, places) in places.into_iter().enumerate() {
            let mut mine = Vec::with_capacity(self.rings());
            for (copy, place) in places.into_iter().enumerate() {
                let Some(socket) = members.idle() else { continue };
                let blocks = self.blocks(place).map_err(failed)?;
                let member = copy * self.workers + worker;
                let (members, slot) = (Arc::clone(&members), Arc::clone(&slot));
                mine.push(PacketRing::waiting(socket, blocks, marks.clone(), members, member, slot));
            }
            rings.push(mine);
        }
        Ok(Some((rings, slot)))
    }

    fn blocks(&self, place: ArenaRegion) -> std::io::Result<Blocks> {
        let RingGeometry { blocks, block_bytes, slot_bytes } = self.geometry;
        match slot_bytes {
            None => Blocks::new(place, blocks, block_bytes),
            Some(slot_bytes) => Blocks::of_slots(place, blocks, block_bytes, slot_bytes),
        }
    }

    fn marks(&self, name: &str, link: LinkType, number: u16) -> Marks {
        Marks {
            name: name.to_owned(),
            link,
            number,
            snap_bytes: self.snap_bytes,
            delay_ns: match self.geometry.slot_bytes {
                None => u64::from(self.retire_ms.next_multiple_of(TICK_MS)) * 1_000_000,
                Some(_) => AT_ONCE_NS,
            },
            checksums_are_checked: checksum::is_checked(),
        }
    }

    fn setup(&self, name: &str, hardware: u16, incoming: bool) -> SocketSetup {
        SocketSetup {
            name: name.to_owned(),
            workers: self.workers,
            geometry: self.geometry,
            promiscuous: self.promiscuous,
            hardware,
            incoming,
            retire_ms: self.retire_ms,
            stamp: self.stamp,
        }
    }

    /// How sockets begin in a group of this process.
    fn beginning(
        &self,
        name: &str,
        link: LinkType,
        is_loopback: bool,
        number: u16,
        filters: &Filters,
        incoming: bool,
    ) -> Result<Beginning, Error> {
        // Programs read Ethernet only; the kernel's hash is symmetric, too.
        let by_hash = self.own && link != LinkType::ETHERNET;
        let (mut copies, mut frame_filters) = (Vec::with_capacity(self.rings()), Vec::with_capacity(self.rings()));
        for copy in 0..self.rings() {
            copies.push(match &self.fanout {
                Some(_) if by_hash => Some(Join::alone(kind(&HASH_GROUP, incoming))),
                Some(fanout) => Some(self.join(fanout, number, copy, incoming)?),
                None => None,
            });
            let mut frame_filter = FrameFilter {
                name: name.to_owned(),
                link,
                is_loopback,
                snap_bytes: self.snap_bytes,
                direction: self.direction,
                ignores_outgoing: incoming,
                filter: None,
                last: None,
                is_fixed: self.is_fixed,
            };
            frame_filter.set_filter(if copy == 0 { filters.first.as_ref() } else { filters.second.as_ref() });
            frame_filters.push(frame_filter);
        }
        Ok(Beginning { link, copies, frame_filters })
    }

    fn members(&self, interface: &Interface, link: LinkType, number: u16, filters: &Filters) -> Result<Members, Error> {
        // Every frame of the loopback interface is seen as it leaves and as it arrives.
        let by_us = self.direction == TrafficDirection::In || interface.is_loopback();
        // A cross-process group has the direction of its first member.
        let incoming = by_us && self.shared.is_empty();
        let Beginning { mut copies, mut frame_filters, .. } =
            self.beginning(&interface.name, link, interface.is_loopback(), number, filters, incoming)?;
        let mut tallies = Vec::new();
        let ways = copies.iter_mut().zip(&mut frame_filters);
        for ((way, frame_filter), part) in ways.zip(&self.shared) {
            let last = part.last()?;
            tallies.extend(last.tally);
            frame_filter.last = frame_filter.last.take().or(last.program);
            if self.fanout.is_some() {
                *way = Some(part.join.clone());
            }
        }
        let setup = self.setup(&interface.name, interface.hardware, incoming);
        Members::open(setup, copies, frame_filters, tallies, interface.index)
    }

    fn join(&self, fanout: &Fanout, interface: u16, copy: usize, incoming: bool) -> Result<Join, Error> {
        let after = usize::from(interface) * self.rings() + copy;
        let group = match fanout.group {
            None => Number::Free,
            Some(first) => match u16::try_from(usize::from(first) + after) {
                Ok(group) => Number::This(group),
                Err(_) => {
                    return Err(SettingError::GroupNumbers { first }.into());
                }
            },
        };
        let steering = self.steering.get(copy).cloned();
        let classic = (!self.classic.is_empty()).then(|| Steering::Classic(self.classic.clone()));
        Ok(Join {
            group,
            kind: kind(fanout, incoming),
            may_drop: matches!(&steering, Some(Steering::Program { may_drop: true, .. })),
            steering: steering.or(classic),
        })
    }
}
