//! The call `pcap_fanout`.
//!
//! JUSTIFICATION: handles are pointers of the C ABI, and `setsockopt(2)` has no wrapper in the standard library.

use std::{
    ffi::{CStr, c_int, c_void},
    io, mem,
    os::fd::RawFd,
};

use tidewire_live::{ClassicInstruction, FanoutMode};

use crate::{
    error,
    handle::{Handle, State},
    resolve::{self, FanoutRequest},
    system::system,
    types::{ERROR_BYTES, Pcap, status},
};
use tidewire_pcap_config::Plan;

/// `pcap_fanout`
///
/// # Safety
/// The handle is one that was not closed.
pub unsafe fn call(pcap: *mut Pcap, group: c_int, text: &CStr) -> c_int {
    // SAFETY: as the caller promises.
    let handle = unsafe { Handle::of(pcap) };
    // SAFETY: as the caller promises.
    let done = unsafe { choose(pcap, handle, group, text) };
    match (done, handle) {
        (Ok(()), _) => 0,
        (Err(message), Some(handle)) => handle.failed(&message),
        (Err(message), None) => {
            if let Some(function) = system().pcap_geterr {
                // SAFETY: the handle is the system's, which returns its own buffer, of this length.
                unsafe { error::write(function(pcap), ERROR_BYTES, &message) };
            }
            status::ERROR
        }
    }
}

unsafe fn choose(pcap: *mut Pcap, handle: Option<&Handle>, group: c_int, text: &CStr) -> Result<(), String> {
    let text = text.to_str().map_err(|_| "pcap_fanout: the mode is not UTF-8".to_owned())?;
    let by = |plan: &Plan| match plan.choose(group.into(), text) {
        Ok((group, fanout)) => Ok(FanoutRequest { group, fanout }),
        Err(error) => Err(error.to_string()),
    };
    match handle.map(Handle::state) {
        None => join(theirs(pcap)?, &by(&general()?)?),
        Some(State::System(system)) => join(theirs(*system)?, &by(&general()?)?),
        Some(State::File(file)) => join(theirs(file.system())?, &by(&general()?)?),
        Some(State::Live(live)) => live.join(&by(&general()?)?),
        Some(State::Inactive(inactive)) => {
            let plan = inactive.plan.as_ref().map_err(ToString::to_string)?;
            if !plan.is_network {
                return Err(format!(
                    "pcap_fanout: {} is no network interface, whose packets could be shared",
                    plan.system_name
                ));
            }
            *inactive.fanout.borrow_mut() = Some(by(plan)?);
            Ok(())
        }
    }
}

/// The settings of groups in general, for handles without a plan of their own.
fn general() -> Result<Plan, String> {
    resolve::plan(c"lo").map_err(|error| error.to_string())
}

/// The socket of a handle of the system's library.
fn theirs(pcap: *mut Pcap) -> Result<RawFd, String> {
    let function = system().pcap_fileno.ok_or(error::NO_SYSTEM)?;
    // SAFETY: the handle is the system's.
    let descriptor = unsafe { function(pcap) };
    if descriptor < 0 {
        return Err("pcap_fanout: only live handles can share packets; this one is a file, or not activated".into());
    }
    Ok(descriptor)
}

/// Adds a socket of the system's library to a group. Packets that it received before remain queued.
fn join(socket: RawFd, request: &FanoutRequest) -> Result<(), String> {
    let FanoutRequest { group, fanout } = request;
    if fanout.steering.is_some() {
        return Err("pcap_fanout: a steering program needs Tidewire's own ring: call it before pcap_activate".into());
    }
    let index = interface(socket)?;
    let name = FanoutMode::ALL.iter().find(|entry| entry.1 == fanout.mode).map_or("", |entry| entry.0);
    let flags =
        [(fanout.defrag, libc::PACKET_FANOUT_FLAG_DEFRAG), (fanout.rollover, libc::PACKET_FANOUT_FLAG_ROLLOVER)];
    let kind =
        flags.into_iter().filter(|flag| flag.0).fold(fanout.mode.number().into(), |kind: u32, flag| kind | flag.1);
    let number = (index % 256) << 8 | u32::from(*group);
    set(socket, libc::PACKET_FANOUT, &(number | kind << 16)).map_err(|source| {
        let hint = match source.raw_os_error() {
            Some(libc::EINVAL) => {
                "; the group has another mode or other flags, or the device is down: use the same, or another group"
            }
            Some(libc::EALREADY) => "; the handle is in a group already, which cannot be left",
            Some(libc::ENOSPC) => "; the group is full",
            _ => "",
        };
        format!("pcap_fanout: joining group {group} with mode {name}: {source}{hint}")
    })?;
    if fanout.classic.is_empty() {
        return Ok(());
    }
    let program: Vec<_> = fanout.classic.iter().map(instruction).collect();
    let length = u16::try_from(program.len()).map_err(|_| "pcap_fanout: the classic program is too long".to_owned())?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    set(socket, libc::PACKET_FANOUT_DATA, &program)
        .map_err(|source| format!("pcap_fanout: giving group {group} its classic program: {source}"))
}

fn instruction(instruction: &ClassicInstruction) -> libc::sock_filter {
    let ClassicInstruction { code, jump_true: jt, jump_false: jf, k } = *instruction;
    libc::sock_filter { code, jt, jf, k }
}

fn set<T>(socket: RawFd, name: c_int, value: &T) -> io::Result<()> {
    let length = mem::size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer is to a value of the length given, which lives throughout the call, and so does what it points to.
    let result =
        unsafe { libc::setsockopt(socket, libc::SOL_PACKET, name, (&raw const *value).cast::<c_void>(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The number of the interface that a packet socket is bound to; 0: to all of them.
fn interface(socket: RawFd) -> Result<u32, String> {
    // SAFETY: the structure is plain integers, for which zeroes are valid.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    let mut length = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointers are to locals, the first of the length that the second says.
    let result = unsafe { libc::getsockname(socket, (&raw mut address).cast(), &raw mut length) };
    if result != 0 || i32::from(address.sll_family) != libc::AF_PACKET {
        return Err("pcap_fanout: the handle is not live, or its device has no packets to share".into());
    }
    Ok(u32::try_from(address.sll_ifindex).unwrap_or(0))
}
