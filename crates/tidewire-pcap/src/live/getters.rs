//! Getters of a live handle.
//!
//! JUSTIFICATION: see [`super`].

use std::{
    ffi::{c_char, c_int, c_uint},
    os::fd::AsRawFd,
    ptr,
};

use libc::timeval;
use tidewire_wire::LinkType;

use super::{Live, batch::SILENT_WAIT};
use crate::{
    control::Control,
    event::Gathered,
    system::{self, system},
    types::{BpfProgram, Dumper, Pcap, Statistics, status},
};

/// `DLT_EN10MB`
const ETHERNET: c_int = 1;
/// `DLT_DOCSIS`, which a program may declare for an Ethernet link (pcap_set_datalink(3PCAP)).
const DOCSIS: c_int = 143;
/// `DLT_RAW`
const RAW: c_int = 12;

/// Converts a link type to `DLT_…`.
pub(super) fn datalink(link: LinkType) -> c_int {
    match link {
        LinkType::ETHERNET => ETHERNET,
        LinkType::RAW => RAW,
        other => c_int::from(other.0),
    }
}

impl Live {
    /// `pcap_stats`: what passed the filter, what of it found no room, and what the cards had no room for since the handle was
    /// activated. Packets that a steering program dropped are not counted, as those that the filter rejected.
    ///
    /// # Errors
    /// The kernel reports an error; or this is a child of the process whose thread collects.
    pub fn statistics(&self) -> Result<Statistics, String> {
        let counts = self.rings()?.counts(true).map_err(|error| error.with_hint().to_string())?;
        // The counters of the ABI have 32 bits and wrap.
        let wrapped = |count: u64| count as c_uint;
        Ok(Statistics {
            received: wrapped(counts.received),
            dropped: wrapped(counts.dropped),
            dropped_by_interface: wrapped(counts.dropped_by_interface),
        })
    }

    /// Calls a function of the system's library for a handle of this link type.
    pub fn call_dead_handle(&self, function: Option<unsafe extern "C" fn(*mut Pcap) -> c_int>, absent: c_int) -> c_int {
        // SAFETY: the handle is the system's.
        function.map_or(absent, |function| unsafe { function(self.dead_handle()) })
    }

    /// `pcap_datalink`
    pub fn datalink(&self) -> c_int {
        self.call_dead_handle(system().pcap_datalink, status::ERROR)
    }

    /// `pcap_list_datalinks`
    ///
    /// # Safety
    /// The list is where to put one.
    pub unsafe fn list_datalinks(&self, handle: &Control, list: *mut *mut c_int) -> c_int {
        let all: &[c_int] = match self.datalink() {
            ETHERNET | DOCSIS => &[ETHERNET, DOCSIS],
            other => &[other],
        };
        // SAFETY: the caller's.
        unsafe { give(handle, all, list) }
    }

    /// `pcap_list_tstamp_types`: that of the handle, which cannot be changed any more.
    ///
    /// # Safety
    /// The list is where to put one.
    pub unsafe fn list_stamps(&self, handle: &Control, list: *mut *mut c_int) -> c_int {
        /// `PCAP_TSTAMP_HOST`
        const HOST: c_int = 0;
        // SAFETY: the caller's.
        unsafe { give(handle, &[HOST], list) }
    }

    /// `pcap_set_datalink`
    pub fn set_datalink(&self, handle: &Control, link: c_int) -> c_int {
        let is = self.datalink();
        if link == is {
            return 0;
        }
        if ![ETHERNET, DOCSIS].contains(&is) || ![ETHERNET, DOCSIS].contains(&link) {
            return handle.failed(&format!("DLT {link} is not one of the DLTs supported by this device"));
        }
        match self.dead_handle.replace(link, self.snapshot(), self.settings.nanoseconds) {
            Ok(()) => 0,
            Err(message) => handle.failed(&message),
        }
    }

    /// `pcap_snapshot`
    pub fn snapshot(&self) -> c_int {
        c_int::try_from(self.settings.snap).unwrap_or(c_int::MAX)
    }

    /// `pcap_get_tstamp_precision`
    pub fn precision(&self) -> c_int {
        c_int::from(self.settings.nanoseconds)
    }

    /// `pcap_compile`
    ///
    /// # Safety
    /// As its manual page says.
    pub unsafe fn compile(
        &self,
        handle: &Control,
        program: *mut BpfProgram,
        expression: *const c_char,
        optimize: c_int,
        mask: u32,
    ) -> c_int {
        let Some(function) = system().pcap_compile else { return status::ERROR };
        // SAFETY: the handle is the system's; the rest is the caller's.
        let result = system::calling(|_| unsafe { function(self.dead_handle(), program, expression, optimize, mask) });
        if result < 0 {
            handle.fail(&self.dead_handle.error());
        }
        result
    }

    /// Opens a file to write packets to.
    pub fn dump(&self, handle: &Control, open: impl FnOnce(*mut Pcap) -> Option<*mut Dumper>) -> *mut Dumper {
        let dumper = system::calling(|_| open(self.dead_handle())).unwrap_or(ptr::null_mut());
        if dumper.is_null() {
            handle.fail(&self.dead_handle.error());
        }
        dumper
    }

    /// `pcap_fileno`: the socket, where there is one.
    pub fn descriptor(&self) -> c_int {
        match self.descriptors[..] {
            [one] => one,
            _ => self.selectable(),
        }
    }

    /// `pcap_get_selectable_fd`: also readable while packets of a batch are left.
    pub fn selectable(&self) -> c_int {
        if self.selectable.get().is_none() {
            let mut all = match &self.gather_thread {
                None => self.descriptors.clone(),
                // Readable when a batch is ready, which needs the thread.
                Some(gather_thread) => match gather_thread.start() {
                    Ok(()) => vec![gather_thread.descriptor()],
                    Err(_) => return -1,
                },
            };
            all.push(self.left.as_raw_fd());
            let Ok(gathered) = Gathered::new(&all) else { return -1 };
            let _ = self.selectable.set(gathered);
            self.mark();
        }
        self.selectable.get().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// `pcap_get_required_select_timeout`: where the descriptor does not show everything.
    pub fn select_timeout(&self) -> *const timeval {
        static TIMEOUT: timeval = timeval {
            tv_sec: SILENT_WAIT.as_secs() as libc::time_t,
            tv_usec: SILENT_WAIT.subsec_micros() as libc::suseconds_t,
        };
        if self.settings.is_silent { &raw const TIMEOUT } else { ptr::null() }
    }

    /// Whether reads return at once.
    pub fn is_nonblocking(&self) -> bool {
        self.nonblocking.get()
    }

    /// Sets whether reads return at once.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.nonblocking.set(nonblocking);
    }
}

/// Returns a list, which the program frees by a function of the system's library that calls `free`.
///
/// # Safety
/// The list is where to put one.
unsafe fn give(handle: &Control, all: &[c_int], list: *mut *mut c_int) -> c_int {
    // SAFETY: the size is not 0; the result is checked before it is written to, inside of that size.
    unsafe {
        let memory = libc::malloc(size_of_val(all)).cast::<c_int>();
        if memory.is_null() {
            return handle.failed("malloc: no memory");
        }
        ptr::copy_nonoverlapping(all.as_ptr(), memory, all.len());
        *list = memory;
    }
    c_int::try_from(all.len()).unwrap_or(c_int::MAX)
}
