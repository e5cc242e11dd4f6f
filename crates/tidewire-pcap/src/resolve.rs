//! Resolves the configuration of a device that a program opens, in this process and on this host.
//!
//! JUSTIFICATION: the environment must be read as in a program with more rights than its caller, and interfaces are looked up
//! by `if_nametoindex(3)`.

use std::{
    ffi::{CStr, CString, OsStr, OsString, c_char},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    ptr,
};

use tidewire_locality::Settings as Locality;

use tidewire_pcap_config::{self as config, Environment, Error, Fanout, Plan, SYSTEM_FILE};

unsafe extern "C" {
    /// `getenv`, but null in a program with more rights than its caller.
    safe fn secure_getenv(name: &c_char) -> *const c_char;
}

/// A group that a program requested by `pcap_fanout`.
#[derive(Clone, Debug)]
pub struct FanoutRequest {
    /// The group's number.
    pub group: u8,
    /// How its members share packets.
    pub fanout: Fanout,
}

/// A variable of the environment; `None` in a program with more rights than its caller.
pub fn variable(name: &str) -> Option<OsString> {
    let name = CString::new(name).ok()?;
    let bytes: &[c_char] = &name.as_bytes_with_nul().iter().map(|byte| *byte as c_char).collect::<Vec<_>>();
    let value = secure_getenv(bytes.first()?);
    // SAFETY: a variable's value ends with a zero. A thread that changes the environment while another one reads it is at fault
    // already (setenv(3)).
    (!value.is_null()).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(value) }.to_bytes()).to_owned())
}

/// The configuration of the device of this name.
///
/// # Errors
/// An error in the configuration, with its position.
pub fn plan(name: &CStr) -> Result<Plan, Error> {
    // A name that is not UTF-8 is not one of ours.
    let name = name.to_string_lossy();
    config::plan(&name, &Environment::new(&variable, Path::new(SYSTEM_FILE)), &exists)
}

/// The configuration of files: reordering, or nothing.
///
/// # Errors
/// An error in the configuration, with its position.
pub fn locality() -> Result<Option<Locality>, Error> {
    config::locality(&Environment::new(&variable, Path::new(SYSTEM_FILE)))
}

/// Whether an interface, or the label of an address, has exactly this name.
fn exists(name: &str) -> bool {
    let Ok(wanted) = CString::new(name) else { return false };
    // SAFETY: the name ends with a zero.
    if unsafe { libc::if_nametoindex(wanted.as_ptr()) } != 0 {
        return true;
    }
    // Only labels have a colon.
    name.contains(':') && is_label(&wanted)
}

fn is_label(wanted: &CStr) -> bool {
    let mut first: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: the pointer is to a variable.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return false;
    }
    let (mut entry, mut found) = (first, false);
    // SAFETY: the list is valid until it is freed, and its names end with zeroes.
    while let Some(address) = unsafe { entry.as_ref() } {
        // SAFETY: as above.
        found |= !address.ifa_name.is_null() && unsafe { CStr::from_ptr(address.ifa_name) } == wanted;
        entry = address.ifa_next;
    }
    // SAFETY: the list is what the call gave.
    unsafe { libc::freeifaddrs(first) };
    found
}
