//! eBPF by `bpf(2)`: maps, programs that were generated here, attachments that vanish with the process, runs over packets
//! of one's own.
//!
//! JUSTIFICATION: `bpf(2)` has no wrapper in the standard library, and its arguments are addresses.
#![allow(unsafe_code)]

mod link;
mod map;
mod program;
#[cfg(test)]
mod tests;

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd, RawFd},
};

pub use link::{Link, XdpMode};
pub use map::{Map, possible_cpus};
pub use program::{Live, Load, Outcome, Program, load_despite_signals};

/// Commands of `bpf(2)` (include/uapi/linux/bpf.h).
mod command {
    pub(super) const MAP_CREATE: libc::c_long = 0;
    pub(super) const MAP_LOOKUP: libc::c_long = 1;
    pub(super) const MAP_UPDATE: libc::c_long = 2;
    pub(super) const MAP_DELETE: libc::c_long = 3;
    pub(super) const MAP_NEXT_KEY: libc::c_long = 4;
    pub(super) const PROGRAM_LOAD: libc::c_long = 5;
    pub(super) const PROGRAM_TEST_RUN: libc::c_long = 10;
    pub(super) const OBJECT_INFO: libc::c_long = 15;
    pub(super) const LINK_CREATE: libc::c_long = 28;
    pub(super) const LINK_DETACH: libc::c_long = 34;
}

/// `BPF_PROG_TYPE_SOCKET_FILTER`
pub const SOCKET_FILTER: u32 = 1;
/// `BPF_PROG_TYPE_SCHED_CLS`
pub const SCHED_CLS: u32 = 3;
/// `BPF_PROG_TYPE_XDP`
pub const XDP: u32 = 6;
/// `BPF_MAP_TYPE_HASH`
pub const HASH: u32 = 1;
/// `BPF_MAP_TYPE_ARRAY`
pub const ARRAY: u32 = 2;
/// `BPF_MAP_TYPE_PROG_ARRAY`
pub const PROGRAM_ARRAY: u32 = 3;
/// `BPF_MAP_TYPE_PERCPU_HASH`
pub const PERCPU_HASH: u32 = 5;
/// `BPF_MAP_TYPE_PERCPU_ARRAY`
pub const PERCPU_ARRAY: u32 = 6;
/// `BPF_MAP_TYPE_LRU_HASH`
pub const LRU_HASH: u32 = 9;
/// `BPF_MAP_TYPE_DEVMAP`
pub const DEVICE_MAP: u32 = 14;
/// `BPF_MAP_TYPE_XSKMAP`
pub const XSK_MAP: u32 = 17;

/// The union that `bpf(2)` takes, as 64-bit words; what is not set is 0.
type Attributes = [u64; 18];

/// Two 32-bit fields that share a word.
fn pair(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// The first of them.
fn first(word: u64) -> u32 {
    let [a, b, c, d, ..] = word.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

/// The second of them.
fn second(word: u64) -> u32 {
    let [.., e, f, g, h] = word.to_ne_bytes();
    u32::from_ne_bytes([e, f, g, h])
}

fn address<T>(of: &[T]) -> u64 {
    of.as_ptr() as u64
}

/// Where the kernel writes.
fn address_mut<T>(of: &mut [T]) -> u64 {
    of.as_mut_ptr() as u64
}

fn bpf(command: libc::c_long, attributes: &mut Attributes) -> io::Result<RawFd> {
    let bytes = size_of::<Attributes>();
    // SAFETY: the attributes live throughout the call; every address in them is of a slice that the caller borrows for as
    // long, mutably where the kernel writes, with its length beside it or known to the kernel by the map's sizes.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), bytes) };
    RawFd::try_from(result).ok().filter(|descriptor| *descriptor >= 0).ok_or_else(io::Error::last_os_error)
}

fn owned(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Returns when every run of an XDP program that began before has ended, and what it redirected has arrived: a map's change
/// has then taken effect.
pub fn runs_ended() {
    /// `MEMBARRIER_CMD_GLOBAL`: the kernel waits until every processor has left what it was in the middle of.
    const GLOBAL: libc::c_int = 1;
    // SAFETY: takes no pointer.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
    if result != 0 {
        // Not where processors are left alone by the timer (nohz_full): a run takes microseconds.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
