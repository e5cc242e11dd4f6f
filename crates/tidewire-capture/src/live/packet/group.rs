//! The sockets of an interface: opened together, because a member's place in its group is what steers to it.

use std::{
    io,
    os::fd::AsFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{plan::SocketFilter, shape::Shape};
use crate::{
    ClassicInstruction, Error,
    sys::{
        bpf::Program,
        netlink::DeviceSocket,
        packet::{Attach, RingSocket},
    },
};

/// What chooses a group's member for a frame.
#[derive(Clone, Debug)]
pub(super) enum Steering {
    Program { program: Arc<Program>, may_drop: bool },
    Classic(Vec<ClassicInstruction>),
}

/// How sockets join a group.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// Its number; none: one that is free.
    pub group: Option<u16>,
    /// Mode and flags.
    pub kind: u16,
    pub steering: Option<Steering>,
    /// Whether the last member is one that counts what is dropped.
    pub may_drop: bool,
}

impl Join {
    /// A group of this kind that nobody else knows.
    pub fn alone(kind: u16) -> Self {
        Self { group: None, kind, steering: None, may_drop: false }
    }
}

/// The sockets that get one copy of the frames.
#[derive(Clone, Debug)]
pub(super) struct Sockets {
    pub join: Option<Join>,
    pub filter: Option<SocketFilter>,
}

/// How an interface's sockets are opened.
#[derive(Debug)]
pub(super) struct Recipe {
    pub name: String,
    pub workers: usize,
    pub shape: Shape,
    pub promiscuous: bool,
    pub incoming: bool,
    /// Kind of interface: frames of another kind would be taken for what they are not.
    pub hardware: u16,
    pub copies: Vec<Sockets>,
}

/// Where a member's socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Ready to be taken.
    Fresh,
    /// In use.
    Taken,
    /// Given up: its interface is gone.
    Released,
}

#[derive(Debug, Default)]
struct State {
    /// Sockets with rings, by copy and worker.
    sockets: Vec<Arc<RingSocket>>,
    slots: Vec<Slot>,
    /// The socket of each copy that takes what is dropped.
    out: Vec<Option<Arc<RingSocket>>>,
    /// Opened beforehand, for when the interface is gone and comes back: by then the process may have given up the
    /// capability that opening takes. They receive nothing.
    spare: Option<Opened>,
    /// Likewise; what rings have in the meantime.
    idle: Option<Arc<RingSocket>>,
    number: Option<u16>,
    steered_out: u64,
}

/// Sockets in the order of their opening. When an interface is switched off and on the kernel lets them join again in this
/// order, which therefore has to be that of the workers.
#[derive(Debug, Default)]
struct Opened {
    sockets: Vec<Arc<RingSocket>>,
    out: Vec<Option<Arc<RingSocket>>>,
}

/// All sockets of an interface.
#[derive(Debug)]
pub(super) struct Members {
    recipe: Recipe,
    device: DeviceSocket,
    state: Mutex<State>,
}

impl Members {
    /// Opens them, takes nothing yet.
    pub fn open(recipe: Recipe, index: u32) -> Result<Self, Error> {
        let device = DeviceSocket::open();
        let device = device.map_err(|source| recipe.failed("asking for the interface", source))?;
        let opened = recipe.sockets()?;
        let number = recipe.prepare(&opened, index)?;
        let (spare, idle) =
            if recipe.is_group() { (Some(recipe.sockets()?), Some(recipe.socket()?)) } else { (None, None) };
        let slots = vec![Slot::Fresh; opened.sockets.len()];
        let state = State { sockets: opened.sockets, slots, out: opened.out, spare, idle, number, steered_out: 0 };
        Ok(Self { recipe, device, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets frames in.
    pub fn begin(&self) -> Result<(), Error> {
        let state = self.state();
        self.recipe.begin(&state.sockets, &state.out)
    }

    /// Whether there is a group, which a socket cannot leave.
    pub fn is_group(&self) -> bool {
        self.recipe.is_group()
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
        let name = &self.recipe.name;
        let Some(index) = self.device.index(name) else { return Ok(None) };
        match self.device.hardware(name) {
            Some(hardware) if hardware == self.recipe.hardware => Ok(Some(index)),
            None => Ok(None),
            Some(_) => Err(Error::Interface {
                interface: name.clone(),
                what: "is another kind of interface than it was; capture goes on when it is one of that kind".into(),
            }),
        }
    }

    /// Binds a socket that is in no group to the interface that has the name now; false where none has.
    pub fn rebind(&self, socket: &RingSocket) -> Result<bool, Error> {
        let Some(index) = self.index()? else { return Ok(false) };
        let result = socket.bind(index).and_then(|()| self.recipe.promiscuous(socket, index));
        result.map(|()| true).map_err(|source| self.recipe.failed("binding to the interface again", source))
    }

    /// Frames that steering dropped.
    pub fn steered_out(&self) -> Result<u64, Error> {
        let mut state = self.state();
        let Some(Some(out)) = state.out.first() else { return Ok(state.steered_out) };
        let counted = out.statistics();
        let (frames, _) = counted.map_err(|source| self.recipe.failed("reading the socket's counts", source))?;
        state.steered_out += u64::from(frames);
        Ok(state.steered_out)
    }

    /// A ring gives its socket up, and gets one that receives nothing.
    pub fn release(&self, member: usize) -> Result<Arc<RingSocket>, Error> {
        let mut state = self.state();
        let state = &mut *state;
        let place = state.slots.get_mut(member).zip(state.sockets.get_mut(member));
        let (Some(idle), Some((slot, socket))) = (&state.idle, place) else {
            return Err(Error::Setting(format!("{}: no such ring", self.recipe.name)));
        };
        *slot = Slot::Released;
        *socket = Arc::clone(idle);
        Ok(Arc::clone(idle))
    }

    /// The member's socket, if it can be had: all members of the interface that is gone were given up, and there is one of
    /// its name again.
    pub fn again(&self, member: usize) -> Result<Option<Arc<RingSocket>>, Error> {
        let mut state = self.state();
        if state.slots.iter().all(|slot| *slot == Slot::Released) {
            let Some(index) = self.index()? else { return Ok(None) };
            self.reopen(&mut state, index)?;
        }
        let state = &mut *state;
        match (state.slots.get_mut(member), state.sockets.get(member)) {
            (Some(slot), Some(socket)) if *slot == Slot::Fresh => {
                *slot = Slot::Taken;
                Ok(Some(Arc::clone(socket)))
            }
            _ => Ok(None),
        }
    }
}

impl Members {
    /// Opens everything again on another interface.
    fn reopen(&self, state: &mut State, index: u32) -> Result<(), Error> {
        if let Some(Some(out)) = state.out.first() {
            let (frames, _) = out.statistics().unwrap_or_default();
            state.steered_out += u64::from(frames);
        }
        // The group ends with its last socket; only then its number is free.
        state.out.clear();
        let spare = match state.spare.take() {
            Some(spare) => spare,
            None => self.recipe.sockets()?,
        };
        state.number = self.recipe.prepare(&spare, index)?;
        self.recipe.begin(&spare.sockets, &spare.out)?;
        (state.sockets, state.out) = (spare.sockets, spare.out);
        state.slots.fill(Slot::Fresh);
        state.spare = self.recipe.sockets().ok();
        Ok(())
    }
}

impl Recipe {
    fn is_group(&self) -> bool {
        self.copies.iter().any(|copy| copy.join.is_some())
    }

    fn failed(&self, doing: &str, source: io::Error) -> Error {
        self.failed_hint(doing, source, String::new())
    }

    fn failed_hint(&self, doing: &str, source: io::Error, hint: String) -> Error {
        Error::Kernel { what: format!("{}: {doing}", self.name), source, hint }
    }

    fn socket(&self) -> Result<Arc<RingSocket>, Error> {
        RingSocket::open().map(Arc::new).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::Privilege { what: format!("capturing on {}", self.name), capability: "cap_net_raw" }
            }
            _ => self.failed("opening a packet socket", source),
        })
    }

    /// All sockets, in the order of workers; bound to nothing.
    fn sockets(&self) -> Result<Opened, Error> {
        let mut opened = Opened::default();
        for copy in &self.copies {
            for _ in 0..self.workers {
                opened.sockets.push(self.socket()?);
            }
            let may_drop = copy.join.as_ref().is_some_and(|join| join.may_drop);
            opened.out.push(if may_drop { Some(self.socket()?) } else { None });
        }
        Ok(opened)
    }

    /// Gives the sockets their rings, binds them, lets them join their groups; with a filter that takes nothing. Returns the
    /// number of the first group.
    fn prepare(&self, opened: &Opened, index: u32) -> Result<Option<u16>, Error> {
        for socket in &opened.sockets {
            let made = socket.ring(self.shape.blocks, self.shape.block_bytes, super::RETIRE_MS);
            made.map_err(|source| self.failed_ring(source))?;
            self.attach(socket, index)?;
        }
        for socket in opened.out.iter().flatten() {
            socket.keep_nothing().map_err(|source| self.failed("making a socket small", source))?;
            self.attach(socket, index)?;
        }
        let mut first = None;
        let copies = opened.sockets.chunks(self.workers.max(1)).zip(&opened.out);
        for (copy, (sockets, out)) in self.copies.iter().zip(copies) {
            let Some(join) = &copy.join else { continue };
            let mut number = join.group;
            for socket in sockets.iter().chain(out) {
                self.join(socket, join, &mut number)?;
            }
            first = first.or(number);
        }
        Ok(first)
    }

    /// A ring exists before its socket is bound, and nothing passes its filter.
    fn attach(&self, socket: &RingSocket, index: u32) -> Result<(), Error> {
        socket.filter(Attach::Nothing).map_err(|source| self.failed("attaching a filter", source))?;
        if self.incoming {
            let hint = "; the kernel must be 4.20 or later".to_owned();
            let done = socket.ignore_outgoing();
            done.map_err(|source| self.failed_hint("leaving out what the machine sends", source, hint))?;
        }
        self.promiscuous(socket, index).map_err(|source| self.failed("setting promiscuous mode", source))?;
        socket.bind(index).map_err(|source| self.failed("binding to the interface", source))
    }

    fn promiscuous(&self, socket: &RingSocket, index: u32) -> io::Result<()> {
        if self.promiscuous { socket.promiscuous(index) } else { Ok(()) }
    }

    fn join(&self, socket: &RingSocket, join: &Join, number: &mut Option<u16>) -> Result<(), Error> {
        // The first one finds a free number, the others are told.
        let kind = match number {
            Some(_) => join.kind & !(libc::PACKET_FANOUT_FLAG_UNIQUEID as u16),
            None => join.kind,
        };
        socket.join(number.unwrap_or(0), kind).map_err(|source| {
            let hint = match source.raw_os_error() {
                Some(libc::EINVAL) if number.is_some() => {
                    "; the group exists with another mode, other flags, another direction or on another interface, or the \
                     interface is down: use the same settings, or another number"
                }
                Some(libc::ENOSPC) => "; the group is full: use fewer workers, or another number",
                Some(libc::EINVAL) if self.incoming => {
                    "; leaving out what the machine sends takes a later kernel in a group (5.16)"
                }
                _ => "",
            };
            let doing = number.map_or_else(|| "making a fan-out group".into(), |n| format!("joining fan-out group {n}"));
            self.failed_hint(&doing, source, hint.into())
        })?;
        if number.is_none() {
            let found = socket.group();
            *number = Some(found.map_err(|source| self.failed("asking for the group's number", source))?);
        }
        let done = match &join.steering {
            Some(Steering::Program { program, .. }) => socket.steer(program.as_fd()),
            Some(Steering::Classic(program)) => socket.steer_classic(program),
            None => Ok(()),
        };
        done.map_err(|source| self.failed("giving the group its program", source))
    }

    /// Replaces the filters that take nothing by those that are wanted.
    fn begin(&self, sockets: &[Arc<RingSocket>], out: &[Option<Arc<RingSocket>>]) -> Result<(), Error> {
        let copies = sockets.chunks(self.workers.max(1)).zip(out);
        for (copy, (sockets, out)) in self.copies.iter().zip(copies) {
            let attach = match &copy.filter {
                None => Attach::Everything,
                Some(SocketFilter::Classic(program)) => Attach::Classic(program),
                Some(SocketFilter::Program(program)) => Attach::Program(program.as_fd()),
            };
            // Who counts what is dropped goes first: it takes nothing from the others.
            for socket in out.iter().chain(sockets) {
                socket.filter(attach).map_err(|source| self.failed_filter(source))?;
            }
        }
        Ok(())
    }

    fn failed_filter(&self, source: io::Error) -> Error {
        let hint = match source.raw_os_error() {
            Some(libc::ENOMEM) => "; the program is larger than a socket may have: raise net.core.optmem_max",
            Some(libc::EINVAL) => "; the kernel does not take this program",
            _ => "",
        };
        self.failed_hint("attaching the filter", source, hint.into())
    }

    fn failed_ring(&self, source: io::Error) -> Error {
        let hint = match source.raw_os_error() {
            Some(libc::ENOMEM) => {
                "; the kernel has not so much memory in one piece: use smaller rings, or fewer workers"
            }
            _ => "",
        };
        self.failed_hint(&format!("a ring of {} MiB", self.shape.bytes() >> 20), source, hint.into())
    }
}
