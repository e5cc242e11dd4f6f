//! Who chooses a group's member: the kernel's own modes, and programs.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, atomic::Ordering},
};

use tidewire_steer::{
    Compiled, DATAGRAMS_MAX, Fragments, Program, STATE_BYTES, Settings,
    bpf::{Code, Copy, DROPPED_BYTES, MapUse, dropped},
};
use tidewire_types::random::random_bytes;

use super::socket_setup::Steering;
use crate::{
    Error, Fanout, FanoutMode, Membership, SettingError,
    sys::{
        bpf::{ARRAY, LRU_HASH, Map, Program as Loaded, SOCKET_FILTER},
        mmap_array::MmapArray,
    },
};

/// The group of our own steering.
pub(super) const OWN_GROUP: Fanout = Fanout { group: None, mode: FanoutMode::Ebpf, defrag: false, rollover: false };

/// The group where it cannot run.
pub(super) const HASH_GROUP: Fanout = Fanout { mode: FanoutMode::Hash, defrag: true, ..OWN_GROUP };

/// A group's mode and flags, as the kernel takes them.
pub(super) fn kind(fanout: &Fanout, incoming: bool) -> u16 {
    let flags = [
        (fanout.defrag, libc::PACKET_FANOUT_FLAG_DEFRAG),
        (fanout.rollover, libc::PACKET_FANOUT_FLAG_ROLLOVER),
        (incoming, libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING),
        (fanout.group.is_none(), libc::PACKET_FANOUT_FLAG_UNIQUEID),
    ];
    flags.into_iter().filter(|flag| flag.0).fold(fanout.mode.number(), |all, flag| all | flag.1 as u16)
}

/// Both directions and all fragments of a flow to one worker, everything else to the first.
pub(crate) fn flow_steering() -> Result<Compiled, Error> {
    let seed = random_bytes().map_err(|source| Error::kernel("reading random numbers", source))?;
    let mut settings = Settings::default();
    (settings.fragments, settings.seed) = (Fragments::FollowFirst, u64::from_ne_bytes(seed));
    // Frames that pass without having been steered go by their flow, or to the first worker.
    Ok(Compiled::new(&Program::parse("unit")?, &settings)?)
}

/// The programs of a group, or of two.
pub(super) fn programs(compiled: &Compiled, workers: u32) -> Result<Vec<Steering>, Error> {
    let copies: &[Copy] = if compiled.may_double() { &[Copy::First, Copy::Second] } else { &[Copy::First] };
    copies.iter().map(|copy| load(compiled, workers, *copy)).collect()
}

fn load(compiled: &Compiled, workers: u32, copy: Copy) -> Result<Steering, Error> {
    let program = load_code(&compiled.fanout(workers, copy)?)?;
    let may_drop = compiled.may_drop() || copy == Copy::Second;
    Ok(Steering::Program { program: Arc::new(program), may_drop })
}

/// Frames that a program dropped, counted by the kernel; read without a system call, which a program that shut itself in may not be
/// allowed to make.
#[derive(Debug)]
pub(super) struct Tally(MmapArray);

impl Tally {
    /// Frames so far.
    pub fn frames(&self) -> u64 {
        dropped(self.0.words().iter().map(|word| word.load(Ordering::Acquire)))
    }
}

/// The filter of a shared group's members, and what it counts, where it counts.
pub(super) fn load_kept(code: &Code) -> Result<(Arc<OwnedFd>, Option<Tally>), Error> {
    let (map, tally) = if code.maps().contains(&MapUse::Dropped) {
        let map = Map::new_mappable(DROPPED_BYTES as u32, 1).map_err(refused)?;
        let memory = MmapArray::new(map.as_fd(), DROPPED_BYTES).map_err(refused)?;
        (Some(map), Some(Tally(memory)))
    } else {
        (None, None)
    };
    let program = load_with(code, map)?.as_fd().try_clone_to_owned().map_err(refused)?;
    Ok((Arc::new(program), tally))
}

pub(super) fn load_code(code: &Code) -> Result<Loaded, Error> {
    load_with(code, None)
}

fn refused(source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::PermissionDenied if source.raw_os_error().is_some() => {
            Error::privilege("steering frames to workers by a program in the kernel", "cap_net_raw,cap_bpf")
        }
        _ => Error::kernel("loading the steering program", source),
    }
}

fn load_with(code: &Code, dropped: Option<Map>) -> Result<Loaded, Error> {
    let mut maps: Vec<_> = dropped.map(|map| (MapUse::Dropped, map)).into_iter().collect();
    for usage in code.maps().into_iter().filter(|usage| *usage != MapUse::Dropped) {
        let map = match usage {
            MapUse::State => Map::new(ARRAY, 4, STATE_BYTES as u32, 1),
            MapUse::Datagrams => Map::new(LRU_HASH, 8, 8, DATAGRAMS_MAX as u32),
            MapUse::Sockets | MapUse::Programs | MapUse::Dropped => Err(io::ErrorKind::Unsupported.into()),
        };
        maps.push((usage, map.map_err(refused)?));
    }
    let number = |usage| maps.iter().find(|map| map.0 == usage).map_or(-1, |map| map.1.number());
    Loaded::load(SOCKET_FILTER, &code.bytes(number)).map_err(refused)
}

/// Checks that mode, program and steering fit together.
pub(super) fn check_modes(membership: &Membership) -> Result<(), Error> {
    let Membership { fanout, program, steering, sharing } = membership;
    if steering.is_some() && fanout.mode != FanoutMode::Ebpf {
        return Err(SettingError::SteeringMode.into());
    }
    if fanout.rollover && sharing.is_none() && steering.as_ref().is_some_and(Compiled::may_drop) {
        return Err(SettingError::RolloverWithDrops.into());
    }
    if !program.is_empty() && fanout.mode != FanoutMode::Cbpf {
        return Err(SettingError::ClassicMode.into());
    }
    Ok(())
}
