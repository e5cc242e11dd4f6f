//! How the sockets of an interface are opened and join their groups.

use std::{io, os::fd::AsFd as _, sync::Arc};

use super::ring_geometry::RingGeometry;
use crate::{
    ClassicInstruction, Error, KernelError, Operation,
    sys::{
        bpf::Program,
        packet::{Attach, RingSocket},
    },
};

/// The program that chooses a group's member for a frame.
#[derive(Clone, Debug)]
pub(super) enum Steering {
    Program { program: Arc<Program>, may_drop: bool },
    Classic(Vec<ClassicInstruction>),
}

/// A group's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A free number.
    Free,
    /// This one.
    This(u16),
    /// A number that several processes use on every interface.
    Shared(u8),
}

impl Number {
    /// As the kernel has it on an interface.
    pub fn on(self, index: u32) -> Option<u16> {
        match self {
            Self::Free => None,
            Self::This(number) => Some(number),
            Self::Shared(number) => Some(u16::from_be_bytes([index as u8, number])),
        }
    }
}

/// How sockets join a group.
#[derive(Clone, Debug)]
pub(super) struct Join {
    pub group: Number,
    /// Mode and flags.
    pub kind: u16,
    pub steering: Option<Steering>,
    /// Whether the last member is one that counts what is dropped.
    pub may_drop: bool,
}

impl Join {
    /// Whether other processes have members in the group.
    pub fn is_shared(&self) -> bool {
        matches!(self.group, Number::Shared(_))
    }

    /// A private group of this kind.
    pub fn alone(kind: u16) -> Self {
        Self { group: Number::Free, kind, steering: None, may_drop: false }
    }
}

/// Options for opening an interface's sockets.
#[derive(Debug)]
pub(super) struct SocketSetup {
    pub name: String,
    pub workers: usize,
    pub geometry: RingGeometry,
    pub promiscuous: bool,
    pub incoming: bool,
    /// Kind of hardware (`ARPHRD_…`): frames of another kind would be misread.
    pub hardware: u16,
    /// Age at which a block is handed over, milliseconds.
    pub retire_ms: u32,
    /// Source of the time stamps, if it is not the machine's clock.
    pub stamp: Option<u32>,
}

/// Sockets in the order of their opening. When an interface is switched off and on the kernel lets them join again in this
/// order, which therefore has to be that of the workers.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub sockets: Vec<Arc<RingSocket>>,
    pub out: Vec<Option<Arc<RingSocket>>>,
}

impl SocketSetup {
    pub fn failed(&self, doing: &str, source: io::Error) -> Error {
        self.refused(Operation::Other, doing, source)
    }

    fn refused(&self, operation: Operation, doing: &str, source: io::Error) -> Error {
        KernelError::new(operation, format!("{}: {doing}", self.name), source).into()
    }

    pub fn socket(&self) -> Result<Arc<RingSocket>, Error> {
        RingSocket::open().map(Arc::new).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => Error::privilege(format!("capturing on {}", self.name), "cap_net_raw"),
            _ => self.failed("opening a packet socket", source),
        })
    }

    /// All sockets, in the order of workers; bound to nothing.
    pub fn sockets(&self, copies: &[Option<Join>]) -> Result<Opened, Error> {
        let mut opened = Opened::default();
        for copy in copies {
            for _ in 0..self.workers {
                opened.sockets.push(self.socket()?);
            }
            let may_drop = copy.as_ref().is_some_and(|join| join.may_drop);
            opened.out.push(if may_drop { Some(self.socket()?) } else { None });
        }
        Ok(opened)
    }

    /// Gives the sockets their rings, binds them and lets them join their groups, with a filter that accepts nothing. A group
    /// with members already sends frames to a new one at once, and frames that it rejects are lost: `joined` is called for
    /// each new member immediately. Returns the number of the first group.
    pub fn prepare(
        &self,
        opened: &Opened,
        copies: &[Option<Join>],
        index: u32,
        mut joined: impl FnMut(usize, &RingSocket) -> Result<(), Error>,
    ) -> Result<Option<u16>, Error> {
        for socket in &opened.sockets {
            let RingGeometry { blocks, block_bytes, slot_bytes } = self.geometry;
            let made = match slot_bytes {
                None => socket.ring(blocks, block_bytes, self.retire_ms),
                Some(slot_bytes) => socket.ring_of_slots(blocks, block_bytes, slot_bytes),
            };
            made.map_err(|source| self.failed_ring(source))?;
            let stamped = self.stamp.map_or(Ok(()), |source| socket.stamp(source));
            stamped.map_err(|source| self.failed("choosing the clock of time stamps", source))?;
            self.attach(socket, index)?;
        }
        for socket in opened.out.iter().flatten() {
            socket.keep_nothing().map_err(|source| self.failed("making a socket small", source))?;
            self.attach(socket, index)?;
        }
        let mut first = None;
        let workers = self.workers.max(1);
        let sockets = opened.sockets.chunks(workers).zip(&opened.out);
        for (copy, (join, (sockets, out))) in copies.iter().zip(sockets).enumerate() {
            let Some(join) = join else { continue };
            let mut number = join.group.on(index);
            for (worker, socket) in sockets.iter().chain(out).enumerate() {
                self.join(socket, join, index, &mut number)?;
                // Before the program is set, which waits for all processors.
                if join.is_shared() && worker < workers {
                    joined(copy * workers + worker, socket)?;
                }
                self.steer(socket, join)?;
            }
            first = first.or(number);
        }
        Ok(first)
    }

    /// A ring exists before its socket is bound, and nothing passes its filter.
    fn attach(&self, socket: &RingSocket, index: u32) -> Result<(), Error> {
        socket.filter(Attach::Nothing).map_err(|source| self.failed("attaching a filter", source))?;
        if self.incoming {
            let done = socket.ignore_outgoing(true);
            done.map_err(|source| {
                self.refused(Operation::IgnoreOutgoing, "leaving out what the machine sends", source)
            })?;
        }
        self.promiscuous(socket, index).map_err(|source| self.failed("setting promiscuous mode", source))?;
        socket.bind(index).map_err(|source| self.failed("binding to the interface", source))
    }

    pub fn promiscuous(&self, socket: &RingSocket, index: u32) -> io::Result<()> {
        if self.promiscuous { socket.promiscuous(index) } else { Ok(()) }
    }

    /// Lets a bound socket join a group. The first socket of a group without a number finds one, for the others.
    pub fn join(&self, socket: &RingSocket, join: &Join, index: u32, number: &mut Option<u16>) -> Result<(), Error> {
        let kind = match number {
            Some(_) => join.kind & !(libc::PACKET_FANOUT_FLAG_UNIQUEID as u16),
            None => join.kind,
        };
        socket.join(number.unwrap_or(0), kind).map_err(|source| {
            let operation = Operation::JoinGroup { group: *number, kind, index, incoming: self.incoming };
            let doing =
                number.map_or_else(|| "making a fan-out group".into(), |n| format!("joining fan-out group {n}"));
            self.refused(operation, &doing, source)
        })?;
        if number.is_none() {
            let found = socket.group();
            *number = Some(found.map_err(|source| self.failed("asking for the group's number", source))?);
        }
        Ok(())
    }

    /// Gives the group that a socket joined its program.
    pub fn steer(&self, socket: &RingSocket, join: &Join) -> Result<(), Error> {
        let done = match &join.steering {
            Some(Steering::Program { program, .. }) => socket.steer(program.as_fd()),
            Some(Steering::Classic(program)) => socket.steer_classic(program),
            None => Ok(()),
        };
        done.map_err(|source| self.refused(Operation::SteerGroup, "giving the group its program", source))
    }

    fn failed_ring(&self, source: io::Error) -> Error {
        self.refused(Operation::MakeRing, &format!("a ring of {} MiB", self.geometry.bytes() >> 20), source)
    }
}
