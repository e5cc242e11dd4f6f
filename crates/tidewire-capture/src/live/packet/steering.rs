//! Who chooses a group's member: the kernel's own modes, and programs.

use std::{
    fs::File,
    io::{self, Read as _},
    sync::Arc,
};

use tidewire_steer::{
    Compiled, DATAGRAMS_MAX, Fragments, Program, STATE_BYTES, Settings,
    bpf::{Code, Copy, MapUse},
};

use super::recipe::Steering;
use crate::{
    Error,
    live::{Fanout, FanoutMode},
    sys::bpf::{ARRAY, LRU_HASH, Map, Program as Loaded, SOCKET_FILTER},
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
pub(super) fn flow_steering() -> Result<Compiled, Error> {
    let mut seed = [0; 8];
    let random = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut seed));
    random.map_err(|source| Error::Kernel { what: "reading random numbers".into(), source, hint: String::new() })?;
    let settings =
        Settings { fragments: Fragments::FollowFirst, seed: u64::from_ne_bytes(seed), ..Settings::default() };
    // What passes without having been steered goes by its flow, or to the first worker.
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

pub(super) fn load_code(code: &Code) -> Result<Loaded, Error> {
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::PermissionDenied if source.raw_os_error().is_some() => Error::Privilege {
            what: "steering frames to workers by a program in the kernel".into(),
            capability: "cap_net_raw,cap_bpf",
        },
        _ => Error::Kernel { what: "loading the steering program".into(), source, hint: String::new() },
    };
    let mut maps = Vec::new();
    for usage in code.maps() {
        let map = match usage {
            MapUse::State => Map::new(ARRAY, 4, STATE_BYTES as u32, 1),
            MapUse::Datagrams => Map::new(LRU_HASH, 8, 8, DATAGRAMS_MAX as u32),
            MapUse::Sockets | MapUse::Programs => Err(io::ErrorKind::Unsupported.into()),
        };
        maps.push((usage, map.map_err(refused)?));
    }
    let number = |usage| maps.iter().find(|map| map.0 == usage).map_or(-1, |map| map.1.number());
    Loaded::load(SOCKET_FILTER, &code.bytes(number)).map_err(refused)
}
