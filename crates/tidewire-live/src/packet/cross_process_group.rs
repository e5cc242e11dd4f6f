//! Groups whose members belong to several processes.

use std::{
    io,
    os::{
        fd::OwnedFd,
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tidewire_steer::{
    Compiled,
    bpf::{Code, Copy},
};

use super::{
    socket_setup::{Join, Number, Steering},
    steering::{Tally, check_modes, kind, load_code, load_kept},
};
use crate::{ClassicInstruction, Error, Fanout, KernelError, Membership, Operation, SettingError, Sharing};

/// A value that all processes of this machine share until reboot, unknown to others.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How long to wait for processes that join at the same time, and the polling interval.
const TURN_MAX: Duration = Duration::from_secs(3);
const TURN_LOOK: Duration = Duration::from_millis(2);

/// How one copy of the frames is shared, and the member's filter for frames of others.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub join: Join,
    kept: Option<Code>,
}

/// A member's filter behind its own.
#[derive(Debug, Default)]
pub(super) struct Last {
    pub program: Option<Arc<OwnedFd>>,
    /// Its counters.
    pub tally: Option<Tally>,
}

impl Part {
    /// Loads the filter: one for each interface, which counts for itself.
    pub fn last(&self) -> Result<Last, Error> {
        let Some(code) = &self.kept else { return Ok(Last::default()) };
        let (program, tally) = load_kept(code)?;
        Ok(Last { program: Some(program), tally })
    }
}

/// The parts of a group: one, or two where a program names two workers.
pub(super) fn parts(
    fanout: &Fanout,
    sharing: Sharing,
    steering: Option<&Compiled>,
    program: &[ClassicInstruction],
) -> Result<Vec<Part>, Error> {
    let group = number(fanout)?;
    let join = |copy, steering| Join {
        group: Number::Shared(if copy == Copy::Second { u8::MAX - group } else { group }),
        kind: kind(fanout, false),
        steering,
        may_drop: false,
    };
    let Some(compiled) = steering else {
        let steering = (!program.is_empty()).then(|| Steering::Classic(program.to_vec()));
        return Ok(vec![Part { join: join(Copy::First, steering), kept: None }]);
    };
    let compiled = compiled.with_seed(seed(group)?)?;
    let copies: &[Copy] = if compiled.may_double() { &[Copy::First, Copy::Second] } else { &[Copy::First] };
    let part = |copy: &Copy| {
        let program = Arc::new(load_code(&compiled.group(sharing.members, *copy)?)?);
        let kept = compiled.kept(sharing.members, *copy)?;
        Ok(Part { join: join(*copy, Some(Steering::Program { program, may_drop: false })), kept })
    };
    copies.iter().map(part).collect()
}

/// The part of a ring that joins a group later.
pub(super) fn membership_part(membership: &Membership) -> Result<Part, Error> {
    check_modes(membership)?;
    let Membership { fanout, program, steering, sharing } = membership;
    let parts = match (sharing, steering) {
        (Some(sharing), steering) => parts(fanout, *sharing, steering.as_ref(), program)?,
        (None, None) => {
            let steering = (!program.is_empty()).then(|| Steering::Classic(program.clone()));
            let group = fanout.group.map_or(Number::Free, Number::This);
            vec![Part { join: Join { group, kind: kind(fanout, false), steering, may_drop: false }, kept: None }]
        }
        (None, Some(_)) => {
            return Err(SettingError::JoinWithSteering.into());
        }
    };
    match <[Part; 1]>::try_from(parts) {
        Ok([part]) => Ok(part),
        Err(_) => Err(SettingError::JoinWithTwoRings.into()),
    }
}

/// The number that several processes have given.
fn number(fanout: &Fanout) -> Result<u8, Error> {
    match fanout.group.map(u8::try_from) {
        Some(Ok(group)) => Ok(group),
        _ => Err(SettingError::GroupNumber { group: fanout.group }.into()),
    }
}

/// The key of the group's hash.
fn seed(group: u8) -> Result<u64, Error> {
    let text = std::fs::read_to_string(BOOT_ID).map_err(|source| {
        let what = format!("reading {BOOT_ID}, by which the members of a group know where each flow goes");
        KernelError::new(Operation::ReadBootId, what, source)
    })?;
    Ok(mixed(text.trim().bytes().chain([group])))
}

/// Bytes to a number; each bit of them changes half of it (the finalizer of SplitMix64).
fn mixed(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0, |sum: u64, byte| {
        let mut sum = (sum ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        sum = (sum ^ sum >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        sum = (sum ^ sum >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        sum ^ sum >> 31
    })
}

/// A lock across processes for joining two groups, so that members have the same positions in both and a program that names
/// two workers names the same processes. It ends with the process, however that ends.
#[derive(Debug)]
pub(super) struct Turn(#[expect(dead_code, reason = "held")] Option<UnixListener>);

impl Turn {
    /// Waits for the lock; continues without it after a few seconds.
    pub fn take(index: u32, number: Number) -> Self {
        let Number::Shared(number) = number else { return Self(None) };
        let name = format!("tidewire-group-{index}-{number}");
        let bind = || -> io::Result<UnixListener> { UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?) };
        let begun = Instant::now();
        loop {
            match bind() {
                Ok(listener) => return Self(Some(listener)),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && begun.elapsed() < TURN_MAX => {
                    thread::sleep(TURN_LOOK);
                }
                Err(_) => return Self(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_same_for_a_group_and_another_for_others() {
        let seeds: std::collections::BTreeSet<_> = (0..=255).map(|group| seed(group).unwrap()).collect();
        assert_eq!((seeds.len(), seed(7).unwrap()), (256, seed(7).unwrap()));
        assert_ne!(mixed([1, 2].into_iter()), mixed([2, 1].into_iter()));
    }
}
