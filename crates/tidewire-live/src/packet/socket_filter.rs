//! The filter of one socket: the direction, the user's filter, and programs behind it.

use std::{
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    sync::Arc,
};

use tidewire_wire::LinkType;

use super::{filters::SocketFilter, vlan_filter::restored};
use crate::{
    ClassicInstruction, Error, KernelError, Operation, SettingError, TrafficDirection,
    filter::load_program,
    sys::{
        bpf::{Map, PROGRAM_ARRAY, Program, runs_ended},
        packet::{Attach, RingSocket},
    },
};
use tidewire_filter::{FilterEnding, FilterHook};

/// Snap lengths from here on cut nothing: no frame is longer.
const SNAP_WHOLE: u32 = 262_144;
/// Instructions of a classic program, at most (`BPF_MAXINSNS`).
const INSTRUCTIONS_MAX: usize = 4096;

const RETURN_CONSTANT: u16 = 0x06;
const LOAD_IMMEDIATE: u16 = 0x00;
const LOAD_WORD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
/// `SKF_AD_OFF + SKF_AD_PKTTYPE`
const PACKET_TYPE: u32 = 0xffff_f004;
/// `PACKET_OUTGOING`
const OUTGOING: u32 = 4;

/// The filter of one socket.
#[derive(Clone, Debug)]
pub(super) struct FrameFilter {
    /// The interface's name.
    pub name: String,
    pub link: LinkType,
    pub is_loopback: bool,
    pub snap_bytes: u32,
    pub direction: TrafficDirection,
    /// The kernel leaves out outgoing frames before the filter runs.
    pub ignores_outgoing: bool,
    /// The user's, over frames as they are on the wire.
    pub filter: Option<Vec<ClassicInstruction>>,
    /// A loaded program that runs last.
    pub last: Option<Arc<OwnedFd>>,
    /// Whether the user's filter is part of that program, or of what stands before the socket: it cannot be replaced then.
    pub is_fixed: bool,
}

/// The map of an attached filter: the kernel empties an array of programs when its last descriptor is closed.
#[derive(Debug, Default)]
pub(super) struct AttachedMaps(Option<Arc<Map>>);

impl AttachedMaps {
    /// Replaces the map once in-flight runs of the old filter have finished.
    pub fn replace(&mut self, other: Self) {
        if self.0.is_some() {
            runs_ended();
        }
        *self = other;
    }
}

/// A filter that is ready to be attached to sockets.
#[derive(Debug)]
pub(super) enum Ready {
    Nothing,
    Everything,
    Classic(Vec<ClassicInstruction>),
    /// The user's filter, translated.
    Loaded(Program),
    /// Only the program that runs last.
    Last(Arc<OwnedFd>),
    /// The user's filter, and the map of its tail call.
    Chain(Program, Arc<Map>),
}

impl Ready {
    /// Attaches it to a socket, in place of what was attached before. `frame_filter`: what it was made of.
    pub fn attach(&self, socket: &RingSocket, frame_filter: &FrameFilter) -> Result<AttachedMaps, Error> {
        let (attach, kept) = match self {
            Self::Nothing => (Attach::Nothing, None),
            Self::Everything => (Attach::Everything, None),
            Self::Classic(program) => (Attach::Classic(program), None),
            Self::Loaded(program) => (Attach::Program(program.as_fd()), None),
            Self::Chain(program, programs) => (Attach::Program(program.as_fd()), Some(Arc::clone(programs))),
            Self::Last(last) => match socket.filter(Attach::Program(last.as_fd())) {
                // Larger than a socket's filter may be; this limit does not apply to a tail call.
                Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                    return frame_filter.before(&[step(RETURN_CONSTANT, u32::MAX)], last)?.attach(socket, frame_filter);
                }
                result => {
                    return result.map(|()| AttachedMaps::default()).map_err(|source| frame_filter.failed(source));
                }
            },
        };
        socket.filter(attach).map(|()| AttachedMaps(kept)).map_err(|source| frame_filter.failed(source))
    }
}

fn step(code: u16, k: u32) -> ClassicInstruction {
    ClassicInstruction { code, jump_true: 0, jump_false: 0, k }
}

impl FrameFilter {
    /// Puts the filter where it belongs.
    pub fn set_filter(&mut self, filter: Option<&SocketFilter>) {
        match filter {
            None => self.filter = None,
            Some(SocketFilter::Classic(program)) => self.filter = Some(program.clone()),
            Some(SocketFilter::Program(program)) => (self.last, self.is_fixed) = (Some(Arc::clone(program)), true),
        }
    }

    /// Replaces the socket's filter by this one.
    pub fn attach(&self, socket: &RingSocket) -> Result<AttachedMaps, Error> {
        self.ready()?.attach(socket, self)
    }

    /// Prepares the filter; loading programs takes milliseconds.
    pub fn ready(&self) -> Result<Ready, Error> {
        if self.is_loopback && self.direction == TrafficDirection::Out {
            return Ok(Ready::Nothing);
        }
        let Some(last) = &self.last else {
            let program = self.classic()?;
            return match program.len() {
                0 => Ok(Ready::Everything),
                1..=INSTRUCTIONS_MAX => Ok(Ready::Classic(program)),
                // In eBPF, which has no limit that programs of this kind reach.
                _ => {
                    let ending = FilterEnding::Return { matched: self.snap_bytes, refused: 0 };
                    load_program(&self.unmoved(), FilterHook::Socket, ending).map(Ready::Loaded)
                }
            };
        };
        let before = self.unmoved();
        if before.is_empty() { Ok(Ready::Last(Arc::clone(last))) } else { self.before(&before, last) }
    }

    /// A filter followed by a tail call of another one.
    fn before(&self, filter: &[ClassicInstruction], last: &OwnedFd) -> Result<Ready, Error> {
        let programs = Map::new(PROGRAM_ARRAY, 4, 4, 2).map_err(|source| self.failed(source))?;
        programs.set(0, last.as_raw_fd()).map_err(|source| self.failed(source))?;
        // The second slot stays empty: rejected frames are dropped.
        let ending = FilterEnding::Jump { programs: programs.number(), matched: 0, refused: 1, otherwise: 0 };
        Ok(Ready::Chain(load_program(filter, FilterHook::Socket, ending)?, Arc::new(programs)))
    }

    /// The direction and the filter as a classic program for frames without their outermost tag, which returns how much of a
    /// frame is to be copied; empty where neither is configured.
    fn classic(&self) -> Result<Vec<ClassicInstruction>, Error> {
        let mut program = self.sides();
        match &self.filter {
            None if self.snap_bytes >= SNAP_WHOLE && program.is_empty() => return Ok(program),
            None => program.push(step(RETURN_CONSTANT, self.snap_bytes)),
            Some(filter) if self.link == LinkType::ETHERNET => program.extend(
                restored(filter)
                    .ok_or_else(|| Error::from(SettingError::FilterTooLong { interface: self.name.clone() }))?,
            ),
            Some(filter) => program.extend_from_slice(filter),
        }
        let snap = self.snap_bytes;
        let cut = |instruction: ClassicInstruction| match instruction {
            ClassicInstruction { code: RETURN_CONSTANT, k: 1.., .. } => ClassicInstruction { k: snap, ..instruction },
            other => other,
        };
        Ok(program.into_iter().map(cut).collect())
    }

    /// Both for frames as they are on the wire, which translated programs see; empty where neither is configured.
    fn unmoved(&self) -> Vec<ClassicInstruction> {
        let mut program = self.sides();
        match &self.filter {
            Some(filter) => program.extend_from_slice(filter),
            None if program.is_empty() => {}
            None => program.push(step(RETURN_CONSTANT, u32::MAX)),
        }
        program
    }

    /// Rejects frames of the wrong direction; the registers are as at the start for the rest.
    fn sides(&self) -> Vec<ClassicInstruction> {
        let skips_outgoing = self.direction == TrafficDirection::In || self.is_loopback;
        let (jump_true, jump_false) = match self.direction {
            TrafficDirection::Out => (1, 0),
            _ if skips_outgoing && !self.ignores_outgoing => (0, 1),
            _ => return Vec::new(),
        };
        vec![
            step(LOAD_WORD, PACKET_TYPE),
            ClassicInstruction { code: JUMP_EQUAL, jump_true, jump_false, k: OUTGOING },
            step(RETURN_CONSTANT, 0),
            step(LOAD_IMMEDIATE, 0),
        ]
    }

    fn failed(&self, source: std::io::Error) -> Error {
        let what = format!("{}: attaching the filter", self.name);
        KernelError::new(Operation::AttachFilter, what, source).into()
    }
}

#[cfg(test)]
mod tests;
