//! Creates and activates handles: pcap_create(3PCAP), pcap_open_live(3PCAP), pcap_activate(3PCAP), pcap_set_…(3PCAP).
//!
//! JUSTIFICATION: exported functions of the C ABI take pointers.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    ptr,
};

use libc::FILE;

use super::caller::with_caller;
use crate::{
    error,
    handle::{Handle, State},
    inactive::{Inactive, Options},
    live::Live,
    offline::Offline,
    report::Report,
    resolve,
    system::{self, is_inside, system},
    types::{ERROR_BYTES, Pcap, status},
};
use tidewire_pcap_config::Source;

/// Writes a message to the caller's error buffer.
///
/// # Safety
/// The buffer has its length, or is null.
unsafe fn write_error(buffer: *mut c_char, message: &str) {
    // SAFETY: as the caller promises.
    unsafe { error::write(buffer, ERROR_BYTES, message) };
}

with_caller! {
    /// `pcap_create`
    pcap_create(device: *const c_char, error: *mut c_char) = create_for, "rdx", "x2"
}

unsafe extern "C" fn create_for(device: *const c_char, error: *mut c_char, caller: *const c_void) -> *mut Pcap {
    let Some(create) = system().pcap_create else {
        // SAFETY: the caller's buffer.
        unsafe { write_error(error, error::NO_SYSTEM) };
        return ptr::null_mut();
    };
    if device.is_null() || is_inside() || system::holds(caller) {
        // SAFETY: as its manual page says.
        return system::calling(|_| unsafe { create(device, error) });
    }
    // SAFETY: a device's name ends with a zero.
    let name = unsafe { CStr::from_ptr(device) };
    let plan = resolve::plan(name);
    // The system's library may not know our extended device names.
    let theirs = plan.as_ref().ok().and_then(|plan| CString::new(plan.system_name.as_str()).ok());
    let first = theirs.unwrap_or_else(|| name.to_owned());
    // SAFETY: the caller's buffer.
    let Some(inactive) = (unsafe { Inactive::new(&first, plan, error) }) else { return ptr::null_mut() };
    Handle::give(State::Inactive(Box::new(inactive))).unwrap_or_else(|source| {
        // SAFETY: the caller's buffer.
        unsafe { write_error(error, &format!("making a handle: {source}")) };
        ptr::null_mut()
    })
}

/// `pcap_open_live`
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_open_live(
    device: *const c_char,
    snap: c_int,
    promiscuous: c_int,
    timeout_ms: c_int,
    error: *mut c_char,
) -> *mut Pcap {
    let Some(open) = system().pcap_open_live else {
        // SAFETY: the caller's buffer.
        unsafe { write_error(error, error::NO_SYSTEM) };
        return ptr::null_mut();
    };
    let is_plain = device.is_null() || is_inside() || {
        // SAFETY: a device's name ends with a zero.
        let name = unsafe { CStr::from_ptr(device) };
        resolve::plan(name).is_ok_and(|plan| plan.is_plain() && plan.system_name.as_bytes() == name.to_bytes())
    };
    if is_plain {
        // SAFETY: as its manual page says.
        return system::calling(|_| unsafe { open(device, snap, promiscuous, timeout_ms, error) });
    }
    // SAFETY: as its manual page says; so below.
    let pcap = unsafe { pcap_create(device, error) };
    if pcap.is_null() {
        return pcap;
    }
    // SAFETY: the handle was made above; the messages are in it, the name and the buffer are the caller's.
    unsafe {
        pcap_set_snaplen(pcap, snap);
        pcap_set_promisc(pcap, promiscuous);
        pcap_set_timeout(pcap, timeout_ms);
        let result = pcap_activate(pcap);
        if result >= 0 {
            return pcap;
        }
        let name = CStr::from_ptr(device).to_string_lossy();
        let text = |text: *const c_char| {
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        let (why, status) = (text(super::handle::pcap_geterr(pcap)), text(super::forward::pcap_statustostr(result)));
        // The wording of the system's library.
        let message = match result {
            status::ERROR => format!("{name}: {why}"),
            status::NO_SUCH_DEVICE | status::PERMISSION | status::PROMISCUOUS_PERMISSION => {
                format!("{name}: {status} ({why})")
            }
            _ => format!("{name}: {status}"),
        };
        write_error(error, &message);
        pcap_close(pcap);
    }
    ptr::null_mut()
}

/// `pcap_activate`
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_activate(pcap: *mut Pcap) -> c_int {
    let Some(activate) = system().pcap_activate else { return status::ERROR };
    // SAFETY: the caller's handle.
    let Some(handle) = (unsafe { Handle::of(pcap) }) else {
        // SAFETY: as its manual page says.
        return system::calling(|_| unsafe { activate(pcap) });
    };
    let inactive = match handle.state() {
        State::Inactive(inactive) => inactive,
        // SAFETY: the handle is the system's.
        State::System(theirs) => return system::calling(|_| unsafe { activate(*theirs) }),
        State::Live(_) | State::File(_) => {
            handle.fail("can't perform operation on activated capture");
            return status::ACTIVATED;
        }
    };
    handle.forget_error();
    let plan = match &inactive.plan {
        Ok(plan) => plan,
        Err(error) => {
            handle.fail(&error.to_string());
            // An invalid device name names no device.
            let is_name = matches!(*error.source, Source::Device(_));
            return if is_name { status::NO_SUCH_DEVICE } else { status::ERROR };
        }
    };
    let request = inactive.fanout.borrow().clone();
    if let (Some(error), None) = (&plan.groupless, &request) {
        return handle.failed(&error.to_string());
    }
    if plan.is_plain() && request.is_none() {
        // SAFETY: the handle is the system's.
        let result = system::calling(|_| unsafe { activate(inactive.system) });
        if result >= 0 {
            // SAFETY: nothing borrowed is used any more but the box, which is taken apart.
            if let State::Inactive(inactive) = unsafe { handle.become_(State::System(ptr::null_mut())) } {
                // SAFETY: as above.
                unsafe { handle.become_(State::System(inactive.into_system())) };
            }
        }
        return result;
    }
    let options: Options = inactive.options.borrow().clone();
    match Live::open(plan, &options, request.as_ref()) {
        Ok(live) => {
            // SAFETY: nothing borrowed is used any more.
            drop(unsafe { handle.become_(State::Live(Box::new(live))) });
            0
        }
        Err(refusal) => {
            Report::fail(plan.instance.as_ref(), &refusal.message);
            handle.fail(&refusal.message);
            refusal.status
        }
    }
}

/// `pcap_close`
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_close(pcap: *mut Pcap) {
    let close = |theirs: *mut Pcap| {
        if let Some(close) = system().pcap_close {
            // SAFETY: the handle is the system's.
            system::calling(|_| unsafe { close(theirs) });
        }
    };
    // SAFETY: the caller's handle.
    let Some(handle) = (unsafe { Handle::of(pcap) }) else { return close(pcap) };
    if handle.close_later() {
        return;
    }
    if let State::System(theirs) = handle.state() {
        close(*theirs);
    }
    // SAFETY: the caller does not use it any more, and no read is under way.
    unsafe { Handle::take(pcap) };
}

/// Exports setters of inactive handles.
macro_rules! set {
    ($($name:ident($value:ident: $options:ident) $note:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`")]
            ///
            /// # Safety
            /// As its manual page says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(pcap: *mut Pcap, $value: c_int) -> c_int {
                let function = system().$name;
                let theirs = |theirs: *mut Pcap| match function {
                    // SAFETY: the handle is the system's.
                    Some(function) => system::calling(|_| unsafe { function(theirs, $value) }),
                    None => status::ERROR,
                };
                // SAFETY: the caller's handle.
                let Some(handle) = (unsafe { Handle::of(pcap) }) else { return theirs(pcap) };
                match handle.state() {
                    State::System(system) => theirs(*system),
                    State::Inactive(inactive) => {
                        handle.forget_error();
                        inactive.set(function, $value, |$options: &mut Options| $note)
                    }
                    State::Live(_) | State::File(_) => {
                        handle.fail("can't perform operation on activated capture");
                        status::ACTIVATED
                    }
                }
            }
        )*
    };
}

set! {
    pcap_set_snaplen(value: options) options.snap = value;
    pcap_set_promisc(value: options) options.promiscuous = value != 0;
    pcap_set_rfmon(value: options) options.monitor = value != 0;
    pcap_set_timeout(value: options) options.timeout_ms = value;
    pcap_set_immediate_mode(value: options) options.immediate = value != 0;
    // The system's library ignores values that are not positive.
    pcap_set_buffer_size(value: options) if value > 0 { options.buffer_bytes = value };
    pcap_set_tstamp_type(value: options) options.stamp = value;
    pcap_set_tstamp_precision(value: options) options.nanoseconds = value == 1;
    pcap_set_protocol_linux(value: options) options.protocol = value;
}

/// Exports functions that open files.
macro_rules! file {
    ($($name:ident($($argument:ident: $type:ty),*) = $inner:ident, $x86_64:literal, $aarch64:literal;)*) => {
        $(
            with_caller! {
                #[doc = concat!("`", stringify!($name), "`")]
                $name($($argument: $type,)* error: *mut c_char) = $inner, $x86_64, $aarch64
            }

            unsafe extern "C" fn $inner($($argument: $type,)* error: *mut c_char, caller: *const c_void) -> *mut Pcap {
                let Some(open) = system().$name else {
                    // SAFETY: the caller's buffer.
                    unsafe { write_error(error, error::NO_SYSTEM) };
                    return ptr::null_mut();
                };
                // SAFETY: as its manual page says.
                let pcap = system::calling(|_| unsafe { open($($argument,)* error) });
                // SAFETY: the handle is new, the buffer the caller's.
                if is_inside() || system::holds(caller) || system::came_later() { pcap } else { unsafe { read_ahead(pcap, error) } }
            }
        )*
    };
}

/// Wraps the handle of a file in one of ours if its packets are to be reordered.
///
/// # Safety
/// The handle is null, or the system's, of a file, and the caller is its only owner; the buffer has its length, or is null.
unsafe fn read_ahead(pcap: *mut Pcap, error: *mut c_char) -> *mut Pcap {
    if pcap.is_null() {
        return pcap;
    }
    let opened = match resolve::locality() {
        Ok(None) => return pcap,
        // SAFETY: as the caller promises.
        Ok(Some(settings)) => unsafe { Offline::new(pcap, &settings) },
        Err(error) => Err((pcap, Some(error.to_string()))),
    };
    let message = match opened {
        Err((pcap, None)) => return pcap,
        Err((pcap, Some(message))) => {
            if let Some(close) = system().pcap_close {
                // SAFETY: the caller is its only owner.
                system::calling(|_| unsafe { close(pcap) });
            }
            message
        }
        Ok(file) => match Handle::give(State::File(Box::new(file))) {
            Ok(ours) => return ours,
            Err(source) => format!("making a handle: {source}"),
        },
    };
    // SAFETY: as the caller promises.
    unsafe { write_error(error, &message) };
    ptr::null_mut()
}

file! {
    pcap_fopen_offline(file: *mut FILE) = fopen_for, "rdx", "x2";
    pcap_fopen_offline_with_tstamp_precision(file: *mut FILE, precision: c_uint) = fopen_precisely_for, "rcx", "x3";
    pcap_open_offline(path: *const c_char) = open_for, "rdx", "x2";
    pcap_open_offline_with_tstamp_precision(path: *const c_char, precision: c_uint) = open_precisely_for, "rcx", "x3";
}
