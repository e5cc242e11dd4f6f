//! A handle before its activation.
//!
//! JUSTIFICATION: the system's handle beside it is a pointer of the C ABI.
//!
//! Options are also set on a handle of the system's library, which checks them, and which is activated if Tidewire is not
//! needed.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr,
    time::Duration,
};

use crate::{
    resolve::FanoutRequest,
    system,
    types::{Pcap, status},
};
use tidewire_pcap_config::{self as config, Plan};

/// Options that the program set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes to capture of a packet; 0 or less: all.
    pub snap: c_int,
    /// Capture packets for other hosts as well.
    pub promiscuous: bool,
    /// Milliseconds; see pcap(3PCAP), "read timeout".
    pub timeout_ms: c_int,
    /// Deliver packets as they arrive.
    pub immediate: bool,
    /// Bytes of the ring; 0: the default.
    pub buffer_bytes: c_int,
    /// Monitor mode of a wireless interface.
    pub monitor: bool,
    /// `PCAP_TSTAMP_…`; -1: not set.
    pub stamp: c_int,
    /// Timestamps in nanoseconds.
    pub nanoseconds: bool,
    /// Ethernet type of `pcap_set_protocol_linux`; 0: all.
    pub protocol: c_int,
    /// Reads return at once.
    pub nonblocking: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            snap: 0,
            promiscuous: false,
            timeout_ms: 0,
            immediate: false,
            buffer_bytes: 0,
            monitor: false,
            stamp: -1,
            nanoseconds: false,
            protocol: 0,
            nonblocking: false,
        }
    }
}

impl Options {
    /// How long a read waits for packets; `None`: forever.
    pub fn timeout(&self) -> Option<Duration> {
        u64::try_from(self.timeout_ms).ok().filter(|timeout| *timeout > 0).map(Duration::from_millis)
    }
}

/// A handle that is not activated.
pub struct Inactive {
    /// The handle of the system's library, for the first device.
    pub system: *mut Pcap,
    /// The configuration of the device.
    pub plan: Result<Plan, config::Error>,
    /// Options that the program set.
    pub options: std::cell::RefCell<Options>,
    /// The group that the program requested by `pcap_fanout`.
    pub fanout: std::cell::RefCell<Option<FanoutRequest>>,
}

impl Inactive {
    /// Creates the handle with one of the system's library for `device`.
    ///
    /// # Safety
    /// The error buffer has its length, or is null.
    pub unsafe fn new(device: &CStr, plan: Result<Plan, config::Error>, error: *mut c_char) -> Option<Self> {
        let create = system::system().pcap_create?;
        // SAFETY: as its manual page says: a name that ends with a zero, and the caller's buffer.
        let system = system::calling(|_| unsafe { create(device.as_ptr(), error) });
        let options = std::cell::RefCell::default();
        (!system.is_null()).then_some(Self { system, plan, options, fanout: std::cell::RefCell::new(None) })
    }

    /// Sets an option on the system's handle and, if that succeeds, on ours.
    pub fn set(
        &self,
        function: Option<unsafe extern "C" fn(*mut Pcap, c_int) -> c_int>,
        value: c_int,
        note: impl FnOnce(&mut Options),
    ) -> c_int {
        let Some(function) = function else { return status::ERROR };
        // SAFETY: the handle is the system's, and lives as long as we do.
        let result = system::calling(|_| unsafe { function(self.system, value) });
        if result == 0 {
            note(&mut self.options.borrow_mut());
        }
        result
    }

    /// Returns the system's handle to the caller, who owns it then.
    pub fn into_system(mut self) -> *mut Pcap {
        std::mem::replace(&mut self.system, ptr::null_mut())
    }
}

impl Drop for Inactive {
    fn drop(&mut self) {
        if let (false, Some(close)) = (self.system.is_null(), system::system().pcap_close) {
            // SAFETY: it is ours, and has no other owner.
            system::calling(|_| unsafe { close(self.system) });
        }
    }
}
