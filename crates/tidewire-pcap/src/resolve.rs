//! What is asked of the device that a program opens: the configuration, of this process and this machine.
//!
//! JUSTIFICATION: the environment is read as a program with other rights than its caller's must read it, and the machine's
//! interfaces are asked for by `if_nametoindex(3)`.

use std::{
    ffi::{CStr, CString, OsStr, OsString, c_char},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    ptr,
};

use tidewire_locality::Settings as Locality;

use tidewire_pcap_config::{self as config, Environment, Error, Fanout, Plan, SYSTEM_FILE};

unsafe extern "C" {
    /// As `getenv`, but nothing in a program that runs with other rights than its caller's.
    safe fn secure_getenv(name: &c_char) -> *const c_char;
}

/// What a program asked for by `pcap_fanout`.
#[derive(Clone, Debug)]
pub struct FanoutRequest {
    /// The group's number.
    pub group: u8,
    /// How its members share.
    pub fanout: Fanout,
}

/// A variable of the environment; none in a program with other rights than its caller's.
pub fn variable(name: &str) -> Option<OsString> {
    let name = CString::new(name).ok()?;
    let bytes: &[c_char] = &name.as_bytes_with_nul().iter().map(|byte| *byte as c_char).collect::<Vec<_>>();
    let value = secure_getenv(bytes.first()?);
    // SAFETY: a variable's value ends with a zero. Whoever changes the environment while another thread reads it is at fault
    // already (setenv(3)).
    (!value.is_null()).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(value) }.to_bytes()).to_owned())
}

/// What is asked of the device of this name.
///
/// # Errors
/// What is wrong in the configuration, where.
pub fn plan(name: &CStr) -> Result<Plan, Error> {
    // What is not UTF-8 is no name that we make anything of.
    let name = name.to_string_lossy();
    config::plan(&name, &Environment::new(&variable, Path::new(SYSTEM_FILE)), &exists)
}

/// What is asked of files: putting packets in order, or nothing.
///
/// # Errors
/// What is wrong in the configuration, where.
pub fn locality() -> Result<Option<Locality>, Error> {
    config::locality(&Environment::new(&variable, Path::new(SYSTEM_FILE)))
}

/// Whether there is a network interface, or a label of one's address, of exactly this name.
fn exists(name: &str) -> bool {
    let Ok(wanted) = CString::new(name) else { return false };
    // SAFETY: the name ends with a zero.
    if unsafe { libc::if_nametoindex(wanted.as_ptr()) } != 0 {
        return true;
    }
    // Labels have a colon; nobody else needs to be looked for.
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
