//! The sockets of an interface, opened together: a member's position in its group is what steering programs address.
//!
//! **No frame before its filter** (`packet/group.rs`). Sockets are opened without a protocol, get their ring and a
//! filter that accepts nothing, are bound and join their group; only when every member is there are the real filters
//! attached.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    cross_process_group::{Last, Turn},
    filters::SocketFilter,
    slot::Slot,
    socket_filter::{AttachedMaps, FrameFilter},
    socket_setup::{Join, Number, Opened, SocketSetup},
    steering::Tally,
};
use crate::{
    Error, InterfaceProblem, SettingError, TrafficDirection,
    sys::{netlink::DeviceSocket, packet::RingSocket},
};

/// State of a member's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    /// Ready for a ring.
    Fresh,
    /// In use.
    Taken,
    /// Released: its interface is gone.
    Released,
}

#[derive(Debug)]
struct State {
    /// Sockets with rings, by copy and worker.
    sockets: Vec<Arc<RingSocket>>,
    slots: Vec<Seat>,
    /// The filter of each.
    frame_filters: Vec<(FrameFilter, AttachedMaps)>,
    /// How the sockets of each copy join a group.
    copies: Vec<Option<Join>>,
    /// The socket of each copy that counts dropped frames, and its filter.
    out: Vec<Option<Arc<RingSocket>>>,
    out_kept: Vec<AttachedMaps>,
    /// Opened in advance, in case the interface is removed and returns: by then the process may have given up the capability
    /// to open sockets. They receive nothing.
    spare: Option<Opened>,
    /// Also opened in advance: the socket of rings without an interface.
    idle: Option<Arc<RingSocket>>,
    number: Option<u16>,
    /// Frames that steering dropped on earlier interfaces.
    steered_out: u64,
    /// Counters of the filters of a cross-process group.
    tallies: Vec<Tally>,
}

/// All sockets of an interface.
#[derive(Debug)]
pub(super) struct Members {
    setup: SocketSetup,
    device: DeviceSocket,
    state: Mutex<State>,
    /// Where they wait for an interface: the slot, and how they begin for each link type.
    slot: Option<(Arc<Slot>, Vec<Beginning>)>,
}

/// How sockets begin on an interface with frames of a link type.
#[derive(Clone, Debug)]
pub(super) struct Beginning {
    pub link: tidewire_wire::LinkType,
    /// How the sockets of each copy join a group.
    pub copies: Vec<Option<Join>>,
    /// The filter of each copy.
    pub frame_filters: Vec<FrameFilter>,
}

impl Members {
    /// Opens the sockets, which accept nothing yet. `frame_filters`: of each copy; `copies`: how they join; `tallies`:
    /// counters of the programs behind the filters.
    pub fn open(
        setup: SocketSetup,
        copies: Vec<Option<Join>>,
        frame_filters: Vec<FrameFilter>,
        tallies: Vec<Tally>,
        index: u32,
    ) -> Result<Self, Error> {
        let device = DeviceSocket::open();
        let device = device.map_err(|source| setup.failed("asking for the interface", source))?;
        let of_workers = |frame_filter: FrameFilter| {
            (0..setup.workers).map(move |_| (frame_filter.clone(), AttachedMaps::default()))
        };
        let mut frame_filters: Vec<_> = frame_filters.into_iter().flat_map(of_workers).collect();
        let (opened, number) = open_all(&setup, &copies, &mut frame_filters, None, index)?;
        let is_group = copies.iter().any(Option::is_some);
        let (spare, idle) =
            if is_group { (Some(setup.sockets(&copies)?), Some(setup.socket()?)) } else { (None, None) };
        let state = State {
            slots: vec![Seat::Fresh; opened.sockets.len()],
            sockets: opened.sockets,
            frame_filters,
            copies,
            out: opened.out,
            out_kept: Vec::new(),
            spare,
            idle,
            number,
            steered_out: 0,
            tallies,
        };
        Ok(Self { setup, device, state: Mutex::new(state), slot: None })
    }

    /// Opens sockets that wait for an interface. `beginnings`: for each link type; not empty.
    pub fn waiting(setup: SocketSetup, slot: Arc<Slot>, beginnings: Vec<Beginning>) -> Result<Self, Error> {
        let device = DeviceSocket::open();
        let device = device.map_err(|source| setup.failed("asking for the interface", source))?;
        let copies = beginnings.first().map(|first| first.copies.clone()).unwrap_or_default();
        let idle = setup.socket()?;
        let sockets = vec![Arc::clone(&idle); copies.len() * setup.workers];
        let state = State {
            slots: vec![Seat::Released; sockets.len()],
            sockets,
            frame_filters: Vec::new(),
            out: vec![None; copies.len()],
            spare: Some(setup.sockets(&copies)?),
            copies,
            out_kept: Vec::new(),
            idle: Some(idle),
            number: None,
            steered_out: 0,
            tallies: Vec::new(),
        };
        Ok(Self { setup, device, state: Mutex::new(state), slot: Some((slot, beginnings)) })
    }

    /// The socket of rings without an interface.
    pub fn idle(&self) -> Option<Arc<RingSocket>> {
        self.state().idle.clone()
    }

    /// Begins as the link type of the interface that appeared requires.
    fn begin_for(&self, state: &mut State) {
        let Some((slot, beginnings)) = &self.slot else { return };
        let Some(occupant) = slot.occupant() else { return };
        let Some(beginning) = beginnings.iter().find(|beginning| beginning.link == occupant.link) else { return };
        state.copies.clone_from(&beginning.copies);
        let of_workers = |frame_filter: &FrameFilter| {
            let mut frame_filter = frame_filter.clone();
            frame_filter.name.clone_from(&occupant.name);
            frame_filter.is_loopback = occupant.is_loopback;
            (0..self.setup.workers).map(move |_| (frame_filter.clone(), AttachedMaps::default())).collect::<Vec<_>>()
        };
        state.frame_filters = beginning.frame_filters.iter().flat_map(of_workers).collect();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts frames from now on.
    pub fn begin(&self) -> Result<(), Error> {
        self.let_in(&mut self.state())
    }

    /// Replaces the filters that accept nothing by the real ones.
    fn let_in(&self, state: &mut State) -> Result<(), Error> {
        let workers = self.setup.workers.max(1);
        // The counting socket goes first: it takes no frames from the others.
        let copies = state.out.iter().zip(state.frame_filters.chunks(workers));
        let counts = |(out, frame_filters): (&Option<Arc<RingSocket>>, &[(FrameFilter, AttachedMaps)])| match (
            out,
            frame_filters.first(),
        ) {
            (Some(out), Some((frame_filter, _))) => frame_filter.attach(out),
            _ => Ok(AttachedMaps::default()),
        };
        state.out_kept = copies.map(counts).collect::<Result<_, _>>()?;
        for (at, (socket, (frame_filter, kept))) in state.sockets.iter().zip(&mut state.frame_filters).enumerate() {
            // Members of cross-process groups accept frames since they joined.
            let is_in = state.copies.get(at / workers).and_then(Option::as_ref).is_some_and(Join::is_shared);
            if !is_in {
                *kept = frame_filter.attach(socket)?;
            }
        }
        Ok(())
    }

    /// Changes a member's filter; unchanged on failure.
    pub fn change(
        &self,
        member: usize,
        change: impl FnOnce(&mut FrameFilter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut state = self.state();
        let state = &mut *state;
        let missing = || Error::from(SettingError::NoSuchRing { interface: self.setup.name.clone() });
        let place = state.frame_filters.get_mut(member).zip(state.sockets.get(member)).zip(state.slots.get(member));
        let (((frame_filter, kept), socket), slot) = place.ok_or_else(missing)?;
        let mut changed = frame_filter.clone();
        change(&mut changed)?;
        if *slot != Seat::Released {
            // A group's flag overrides this one.
            if state.copies.iter().all(Option::is_none) {
                changed.ignores_outgoing = changed.direction == TrafficDirection::In || changed.is_loopback;
                let done = socket.ignore_outgoing(changed.ignores_outgoing);
                done.map_err(|source| self.setup.failed("choosing the direction", source))?;
            }
            let attached = changed.attach(socket)?;
            kept.replace(attached);
        }
        let workers = self.setup.workers.max(1);
        if let (Some(Some(out)), 0) = (state.out.get(member / workers), member % workers) {
            let attached = changed.attach(out)?;
            if let Some(kept) = state.out_kept.get_mut(member / workers) {
                *kept = attached;
            }
        }
        *frame_filter = changed;
        Ok(())
    }

    /// Replaces a member's filter.
    pub fn set_filter(&self, member: usize, filter: Option<&[crate::ClassicInstruction]>) -> Result<(), Error> {
        self.change(member, |frame_filter| {
            if frame_filter.is_fixed {
                return Err(SettingError::FilterInPrograms { interface: frame_filter.name.clone() }.into());
            }
            frame_filter.set_filter(filter.map(|filter| SocketFilter::Classic(filter.to_vec())).as_ref());
            Ok(())
        })
    }

    /// Replaces a member's direction.
    pub fn set_direction(&self, member: usize, direction: TrafficDirection) -> Result<(), Error> {
        let is_group = self.is_group();
        self.change(member, |frame_filter| {
            if is_group
                && frame_filter.ignores_outgoing
                && direction != TrafficDirection::In
                && !(frame_filter.is_loopback && direction == TrafficDirection::Both)
            {
                return Err(SettingError::GroupIncomingOnly { interface: frame_filter.name.clone() }.into());
            }
            frame_filter.direction = direction;
            Ok(())
        })
    }

    /// Lets a member join a group, with a second filter for frames that the group cannot leave out.
    pub fn join(&self, member: usize, join: &Join, last: Last) -> Result<u16, Error> {
        let mut state = self.state();
        let state = &mut *state;
        let missing = || Error::from(SettingError::RingWithoutSocket { interface: self.setup.name.clone() });
        let place = state.frame_filters.get_mut(member).zip(state.sockets.get(member)).zip(state.slots.get(member));
        let (((frame_filter, kept), socket), slot) = place.ok_or_else(missing)?;
        let index = socket.bound().map_err(|source| self.setup.failed("asking for the interface", source))?;
        let Some(index) = index.filter(|_| *slot != Seat::Released) else { return Err(missing()) };
        // Sockets for an interface that returns; failures here come before frames are shared.
        let copies = vec![Some(join.clone())];
        let (spare, idle) = (self.setup.sockets(&copies)?, self.setup.socket()?);
        let joined = FrameFilter { ignores_outgoing: false, last: last.program, ..frame_filter.clone() };
        let ready = joined.ready()?;
        let mut number = join.group.on(index);
        // Even if joining fails: it counts what it rejects meanwhile.
        state.tallies.extend(last.tally);
        let before = std::mem::replace(kept, ready.attach(socket, &joined)?);
        if let Err(error) = self.setup.join(socket, join, index, &mut number) {
            *kept = frame_filter.attach(socket).unwrap_or(before);
            return Err(error);
        }
        self.setup.steer(socket, join)?;
        (*frame_filter, state.copies) = (joined, copies);
        (state.spare, state.idle) = (Some(spare), Some(idle));
        state.number = state.number.or(number);
        number.ok_or_else(missing)
    }

    /// Whether there is a group, which a socket cannot leave.
    pub fn is_group(&self) -> bool {
        self.state().copies.iter().any(Option::is_some)
    }

    /// The first copy's group.
    pub fn number(&self) -> Option<u16> {
        self.state().number
    }

    /// Whether the interface of this number is switched on; `None` where it is gone.
    pub fn is_up(&self, index: u32) -> Option<bool> {
        self.device.is_up(index)
    }

    /// The interface that has the name now, if it is one of the same kind.
    fn index(&self) -> Result<Option<u32>, Error> {
        let occupant = self.slot.as_ref().and_then(|(slot, _)| slot.occupant());
        let (name, hardware) = match &occupant {
            Some(occupant) => (&occupant.name, occupant.hardware),
            None => (&self.setup.name, self.setup.hardware),
        };
        let Some(index) = self.device.index(name) else { return Ok(None) };
        match self.device.hardware(name) {
            Some(found) if found == hardware => Ok(Some(index)),
            None => Ok(None),
            Some(_) => Err(Error::Interface { interface: name.clone(), problem: InterfaceProblem::OtherHardware }),
        }
    }

    /// Binds a socket that is in no group to the interface that has the name now; false where none has.
    pub fn rebind(&self, socket: &RingSocket) -> Result<bool, Error> {
        let Some(index) = self.index()? else { return Ok(false) };
        let result = socket.bind(index).and_then(|()| self.setup.promiscuous(socket, index));
        result.map(|()| true).map_err(|source| self.setup.failed("binding to the interface again", source))
    }

    /// Frames that steering dropped.
    pub fn steered_out(&self) -> Result<u64, Error> {
        let mut state = self.state();
        if let Some(Some(out)) = state.out.first() {
            let counted = out.statistics();
            let (frames, _) = counted.map_err(|source| self.setup.failed("reading the socket's counts", source))?;
            state.steered_out += u64::from(frames);
        }
        Ok(state.tallies.iter().map(Tally::frames).sum::<u64>() + state.steered_out)
    }

    /// Releases a ring's socket, and returns one that receives nothing.
    pub fn release(&self, member: usize) -> Result<Arc<RingSocket>, Error> {
        let mut state = self.state();
        let state = &mut *state;
        let place = state.slots.get_mut(member).zip(state.sockets.get_mut(member));
        let (Some(idle), Some((slot, socket))) = (&state.idle, place) else {
            return Err(Error::from(SettingError::NoSuchRing { interface: self.setup.name.clone() }));
        };
        *slot = Seat::Released;
        *socket = Arc::clone(idle);
        Ok(Arc::clone(idle))
    }

    /// The member's socket on a new interface of the name, once all members of the old one were released; `None` before.
    pub fn again(&self, member: usize) -> Result<Option<Arc<RingSocket>>, Error> {
        let mut state = self.state();
        if state.slots.iter().all(|slot| *slot == Seat::Released) {
            let Some(index) = self.index()? else { return Ok(None) };
            self.reopen(&mut state, index)?;
        }
        let state = &mut *state;
        match (state.slots.get_mut(member), state.sockets.get(member)) {
            (Some(slot), Some(socket)) if *slot == Seat::Fresh => {
                *slot = Seat::Taken;
                Ok(Some(Arc::clone(socket)))
            }
            _ => Ok(None),
        }
    }

    /// Reopens all sockets on another interface.
    fn reopen(&self, state: &mut State, index: u32) -> Result<(), Error> {
        if let Some(Some(out)) = state.out.first() {
            let (frames, _) = out.statistics().unwrap_or_default();
            state.steered_out += u64::from(frames);
        }
        self.begin_for(state);
        // The group ends with its last socket; its number is free only then.
        state.out.clear();
        let (opened, number) =
            open_all(&self.setup, &state.copies, &mut state.frame_filters, state.spare.take(), index)?;
        state.number = number;
        (state.sockets, state.out) = (opened.sockets, opened.out);
        self.let_in(state)?;
        state.slots.fill(Seat::Fresh);
        state.spare = self.setup.sockets(&state.copies).ok();
        Ok(())
    }
}

/// Sockets with rings, in their groups, and the number of the first; `spare` are those that were opened before.
fn open_all(
    setup: &SocketSetup,
    copies: &[Option<Join>],
    frame_filters: &mut [(FrameFilter, AttachedMaps)],
    spare: Option<Opened>,
    index: u32,
) -> Result<(Opened, Option<u16>), Error> {
    let shared = copies.iter().flatten().map(|join| join.group).find(|group| matches!(group, Number::Shared(_)));
    let ready = frame_filters.iter().map(|(frame_filter, _)| shared.map(|_| frame_filter.ready()).transpose());
    let ready = ready.collect::<Result<Vec<_>, _>>()?;
    // A member with two positions must have the same ones in both groups.
    let turn = shared.filter(|_| copies.len() > 1).map(|group| Turn::take(index, group));
    let opened = match spare {
        Some(spare) if turn.is_none() => spare,
        _ => setup.sockets(copies)?,
    };
    let number = setup.prepare(&opened, copies, index, |member, socket| {
        if let Some((Some(ready), (frame_filter, kept))) = ready.get(member).zip(frame_filters.get_mut(member)) {
            *kept = ready.attach(socket, frame_filter)?;
        }
        Ok(())
    })?;
    Ok((opened, number))
}
