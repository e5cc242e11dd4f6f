//! A dead handle of the system's library beside a live one of ours: it compiles filters and opens files for writing.
//!
//! JUSTIFICATION: the handle is a pointer of the C ABI.

use std::{
    cell::Cell,
    ffi::{CStr, c_int},
};

use crate::{
    error,
    system::{self, system},
    types::Pcap,
};

/// A dead handle, replaceable by one of another link type.
pub struct DeadHandle(Cell<*mut Pcap>);

// SAFETY: as [`super::Live`]; a program sets the link type while it knows that no thread reads.
unsafe impl Send for DeadHandle {}

impl DeadHandle {
    /// Opens one with this link type (`DLT_…`), snap length and precision.
    pub fn new(link: c_int, snap: c_int, nanoseconds: bool) -> Result<Self, String> {
        open(link, snap, nanoseconds).map(|handle| Self(Cell::new(handle)))
    }

    /// Changes the link type. Files that the old handle opened are unaffected.
    pub fn replace(&self, link: c_int, snap: c_int, nanoseconds: bool) -> Result<(), String> {
        close(self.0.replace(open(link, snap, nanoseconds)?));
        Ok(())
    }

    /// The handle.
    pub fn handle(&self) -> *mut Pcap {
        self.0.get()
    }

    /// The last error of the handle.
    pub fn error(&self) -> String {
        let Some(function) = system().pcap_geterr else { return error::NO_SYSTEM.into() };
        // SAFETY: the handle is ours, and of the system's library; its message ends with a zero.
        unsafe { CStr::from_ptr(function(self.handle())) }.to_string_lossy().into_owned()
    }
}

impl Drop for DeadHandle {
    fn drop(&mut self) {
        close(self.handle());
    }
}

fn open(link: c_int, snap: c_int, nanoseconds: bool) -> Result<*mut Pcap, String> {
    let Some(function) = system().pcap_open_dead_with_tstamp_precision else { return Err(error::NO_SYSTEM.into()) };
    // SAFETY: no pointers.
    let handle = system::calling(|_| unsafe { function(link, snap, u32::from(nanoseconds)) });
    if handle.is_null() { Err("the system's libpcap has no memory for a handle".into()) } else { Ok(handle) }
}

fn close(handle: *mut Pcap) {
    if let Some(function) = system().pcap_close {
        // SAFETY: the handle was made by `open`, and has no owner any more.
        system::calling(|_| unsafe { function(handle) });
    }
}
