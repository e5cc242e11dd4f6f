//! All functions on handles except those that create one: the manual pages of section 3PCAP.
//!
//! JUSTIFICATION: exported functions of the C ABI take pointers.

use std::{
    ffi::{c_char, c_int, c_void},
    ptr, slice,
};

use libc::{FILE, timeval};

use crate::types::{BpfProgram, Dumper, PacketHandler, PacketHeader, Pcap, Statistics, status};
use crate::{
    fanout,
    handle::{Handle, State},
    live::Amount,
    system::{self, system},
};

/// Exports functions on handles: forwards handles of the system's library, and implements our own as given here.
macro_rules! on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $returned:ty, $absent:expr, |$pcap:ident, $handle:ident, $live:ident| $ours:expr $(, |$file:ident| $files:expr)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`")]
            ///
            /// # Safety
            /// As its manual page says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($pcap: *mut Pcap, $($argument: $type),*) -> $returned {
                #[cold]
                #[inline(never)]
                unsafe extern "C" fn first(theirs: *mut Pcap, $($argument: $type),*) -> $returned {
                    match system().$name {
                        // SAFETY: the handle is the system's; the rest is the caller's.
                        Some(function) => unsafe { function(theirs, $($argument),*) },
                        None => $absent,
                    }
                }
                #[inline(always)]
                unsafe fn theirs(theirs: *mut Pcap, $($argument: $type),*) -> $returned {
                    // SAFETY: as in `first`.
                    unsafe {
                        match system::ready().and_then(|system| system.$name) {
                            Some(function) => function(theirs, $($argument),*),
                            None => first(theirs, $($argument),*),
                        }
                    }
                }
                // A separate function, so that calls for the system's handles cost a few comparisons and a jump.
                #[inline(never)]
                #[allow(unreachable_code, reason = "what is ours of a file does not go on to the system's")]
                unsafe fn ours($pcap: *mut Pcap, $handle: &Handle, $($argument: $type),*) -> $returned {
                    let _ = $pcap;
                    let system = match $handle.state() {
                        State::Live($live) => return $ours,
                        State::File(file) => {
                            $handle.forget_error();
                            $(let $file = file; return $files;)?
                            file.system()
                        }
                        State::System(system) => { $handle.forget_error(); *system }
                        State::Inactive(inactive) => { $handle.forget_error(); inactive.system }
                    };
                    // SAFETY: the handle is the system's; the rest is the caller's.
                    unsafe { theirs(system, $($argument),*) }
                }
                // SAFETY: the caller's handle, and the rest of what it gave.
                unsafe {
                    match Handle::of($pcap) {
                        None => theirs($pcap, $($argument),*),
                        Some(handle) => ours($pcap, handle, $($argument),*),
                    }
                }
            }
        )*
    };
}

/// The instructions of a program.
///
/// # Safety
/// The pointer is to a program, or null.
unsafe fn instructions<'a>(program: *const BpfProgram) -> Option<&'a [crate::types::BpfInstruction]> {
    // SAFETY: as the caller promises.
    let program = unsafe { program.as_ref() }?;
    if program.instructions.is_null() {
        return None;
    }
    // SAFETY: a program has as many instructions as it says.
    Some(unsafe { slice::from_raw_parts(program.instructions, program.length as usize) })
}

on! {
    pcap_dispatch(count: c_int, callback: Option<PacketHandler>, user: *mut u8) -> c_int, status::ERROR,
        // SAFETY: the callback is the caller's and may be called with its pointer (pcap_loop(3PCAP)).
        |pcap, handle, live| unsafe { Handle::after_read(pcap, live.read(handle, Amount::dispatch(count), callback, user)) },
        // SAFETY: the callback is the caller's and may be called with its pointer (pcap_loop(3PCAP)).
        |file| unsafe { Handle::after_read(pcap, file.read(handle, (count, false), callback, user)) };
    pcap_loop(count: c_int, callback: Option<PacketHandler>, user: *mut u8) -> c_int, status::ERROR,
        // SAFETY: the callback is the caller's and may be called with its pointer (pcap_loop(3PCAP)).
        |pcap, handle, live| unsafe { Handle::after_read(pcap, live.read(handle, Amount::all(count), callback, user)) },
        // SAFETY: the callback is the caller's and may be called with its pointer (pcap_loop(3PCAP)).
        |file| unsafe { Handle::after_read(pcap, file.read(handle, (count, true), callback, user)) };
    pcap_next(header: *mut PacketHeader) -> *const u8, ptr::null(),
        // SAFETY: the caller has room for a header there (pcap_next(3PCAP)).
        |pcap, handle, live| unsafe { live.next(handle, header) },
        // SAFETY: as above.
        |file| unsafe { file.next(handle, header) };
    pcap_next_ex(header: *mut *mut PacketHeader, bytes: *mut *const u8) -> c_int, status::ERROR,
        // SAFETY: the caller has room for both pointers there (pcap_next_ex(3PCAP)).
        |pcap, handle, live| unsafe { live.next_ex(handle, header, bytes) },
        // SAFETY: the caller has room for both pointers there (pcap_next_ex(3PCAP)).
        |file| unsafe { file.next_ex(handle, header, bytes) };
    pcap_stats(statistics: *mut Statistics) -> c_int, status::ERROR,
        |pcap, handle, live| match live.statistics() {
            Ok(found) => {
                if !statistics.is_null() {
                    // SAFETY: it is not null, and the caller has room for statistics there (pcap_stats(3PCAP)).
                    unsafe { statistics.write(found) }
                }
                0
            }
            Err(message) => handle.failed(&message),
        };
    pcap_setfilter(program: *mut BpfProgram) -> c_int, status::ERROR,
        // SAFETY: it is a program that the caller made by pcap_compile, or null (pcap_setfilter(3PCAP)).
        |pcap, handle, live| live.set_filter(handle, unsafe { instructions(program) }),
        // SAFETY: it is a program that the caller made by pcap_compile, or null (pcap_setfilter(3PCAP)).
        |file| file.set_filter(handle, unsafe { instructions(program) });
    pcap_setdirection(direction: c_int) -> c_int, status::ERROR,
        |pcap, handle, live| live.set_direction(handle, direction);
    pcap_inject(bytes: *const c_void, length: usize) -> c_int, status::ERROR,
        // SAFETY: the caller says how many bytes are there (pcap_inject(3PCAP)).
        |pcap, handle, live| unsafe { live.inject(handle, bytes, length) };
    pcap_sendpacket(bytes: *const u8, length: c_int) -> c_int, status::ERROR,
        |pcap, handle, live| match usize::try_from(length) {
            Ok(length) => {
                // SAFETY: the caller says how many bytes are there (pcap_inject(3PCAP)).
                let sent = unsafe { live.inject(handle, bytes.cast(), length) };
                if sent < 0 { status::ERROR } else { 0 }
            }
            Err(_) => handle.failed("send: a packet has no negative length"),
        };
    pcap_compile(program: *mut BpfProgram, expression: *const c_char, optimize: c_int, mask: u32) -> c_int, status::ERROR,
        // SAFETY: the caller has room for a program, and an expression that ends with a zero (pcap_compile(3PCAP)).
        |pcap, handle, live| unsafe { live.compile(handle, program, expression, optimize, mask) };
    pcap_datalink() -> c_int, status::ERROR, |pcap, _handle, live| live.datalink();
    pcap_datalink_ext() -> c_int, status::ERROR, |pcap, _handle, live| live.call_dead_handle(system().pcap_datalink_ext, status::ERROR);
    pcap_list_datalinks(list: *mut *mut c_int) -> c_int, status::ERROR,
        // SAFETY: the caller has room for a pointer there (pcap_list_datalinks(3PCAP)).
        |pcap, handle, live| unsafe { live.list_datalinks(handle, list) };
    pcap_set_datalink(link: c_int) -> c_int, status::ERROR, |pcap, handle, live| live.set_datalink(handle, link);
    pcap_snapshot() -> c_int, status::ERROR, |pcap, _handle, live| live.snapshot();
    pcap_bufsize() -> c_int, status::ERROR, |pcap, _handle, live| live.snapshot();
    pcap_is_swapped() -> c_int, status::ERROR, |pcap, _handle, _live| 0;
    pcap_major_version() -> c_int, status::ERROR, |pcap, _handle, _live| 0;
    pcap_minor_version() -> c_int, status::ERROR, |pcap, _handle, _live| 0;
    pcap_file() -> *mut FILE, ptr::null_mut(), |pcap, _handle, _live| ptr::null_mut(),
        |file| {
            file.read_singly();
            // SAFETY: the system's function, and a handle of its own.
            system().pcap_file.map_or(ptr::null_mut(), |function| unsafe { function(file.system()) })
        };
    pcap_fileno() -> c_int, -1, |pcap, _handle, live| live.descriptor();
    pcap_get_selectable_fd() -> c_int, -1, |pcap, _handle, live| live.selectable();
    pcap_get_required_select_timeout() -> *const timeval, ptr::null(), |pcap, _handle, live| live.select_timeout();
    pcap_get_tstamp_precision() -> c_int, 0, |pcap, _handle, live| live.precision();
    pcap_can_set_rfmon() -> c_int, status::ERROR, |pcap, handle, _live| {
        handle.fail("can't perform operation on activated capture");
        status::ACTIVATED
    };
    pcap_list_tstamp_types(list: *mut *mut c_int) -> c_int, status::ERROR,
        // SAFETY: the caller has room for a pointer there (pcap_list_tstamp_types(3PCAP)).
        |pcap, handle, live| unsafe { live.list_stamps(handle, list) };
    pcap_dump_open(path: *const c_char) -> *mut Dumper, ptr::null_mut(),
        // SAFETY: a handle of the system's, and a path of the caller's that ends with a zero.
        |pcap, handle, live| live.dump(handle, |dead_handle| unsafe { Some((system().pcap_dump_open?)(dead_handle, path)) });
    pcap_dump_open_append(path: *const c_char) -> *mut Dumper, ptr::null_mut(),
        // SAFETY: a handle of the system's, and a path of the caller's that ends with a zero.
        |pcap, handle, live| live.dump(handle, |dead_handle| unsafe { Some((system().pcap_dump_open_append?)(dead_handle, path)) });
    pcap_dump_fopen(file: *mut FILE) -> *mut Dumper, ptr::null_mut(),
        // SAFETY: a handle of the system's, and an open file of the caller's.
        |pcap, handle, live| live.dump(handle, |dead_handle| unsafe { Some((system().pcap_dump_fopen?)(dead_handle, file)) });
    pcap_getnonblock(error: *mut c_char) -> c_int, status::ERROR, |pcap, _handle, live| c_int::from(live.is_nonblocking());
}

/// `pcap_setnonblock`
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_setnonblock(pcap: *mut Pcap, nonblocking: c_int, error: *mut c_char) -> c_int {
    // SAFETY: the caller's handle.
    let theirs = match unsafe { Handle::of(pcap) } {
        None => pcap,
        Some(handle) => match handle.state() {
            State::Live(live) => {
                live.set_nonblocking(nonblocking != 0);
                return 0;
            }
            State::System(theirs) => *theirs,
            State::File(file) => file.system(),
            State::Inactive(inactive) => {
                inactive.options.borrow_mut().nonblocking = nonblocking != 0;
                inactive.system
            }
        },
    };
    let Some(function) = system().pcap_setnonblock else { return status::ERROR };
    // SAFETY: the handle is the system's; the rest is the caller's.
    unsafe { function(theirs, nonblocking, error) }
}

/// `pcap_breakloop`. May be called in signal handlers and by other threads.
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_breakloop(pcap: *mut Pcap) {
    // SAFETY: the caller's handle.
    let theirs = match unsafe { Handle::of(pcap) } {
        None => pcap,
        Some(handle) => match handle.state() {
            State::Live(_) | State::File(_) => return handle.break_loop(),
            State::System(theirs) => *theirs,
            State::Inactive(inactive) => inactive.system,
        },
    };
    if let Some(function) = system().pcap_breakloop {
        // SAFETY: the handle is the system's.
        unsafe { function(theirs) };
    }
}

/// `pcap_geterr`
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_geterr(pcap: *mut Pcap) -> *mut c_char {
    // SAFETY: the caller's handle.
    let theirs = match unsafe { Handle::of(pcap) } {
        None => pcap,
        Some(handle) => match handle.state() {
            State::Live(_) => return handle.error(),
            // The message is ours if our error was the last.
            _ if handle.has_error() => return handle.error(),
            State::System(theirs) => *theirs,
            State::File(file) => file.system(),
            State::Inactive(inactive) => inactive.system,
        },
    };
    match system().pcap_geterr {
        // SAFETY: the handle is the system's.
        Some(function) => unsafe { function(theirs) },
        None => ptr::null_mut(),
    }
}

/// `pcap_perror`: prints what `pcap_geterr` returns, because the program asks for it.
///
/// # Safety
/// As its manual page says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_perror(pcap: *mut Pcap, prefix: *const c_char) {
    // SAFETY: the caller's handle.
    if unsafe { Handle::of(pcap) }.is_none() {
        if let Some(function) = system().pcap_perror {
            // SAFETY: the handle is the system's; the rest is the caller's.
            unsafe { function(pcap, prefix) };
        }
        return;
    }
    let text = |text: *const c_char| {
        // SAFETY: the caller's text ends with a zero, and so does ours.
        if text.is_null() { &[] } else { unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes() }
    };
    // SAFETY: the caller's handle.
    let line = [text(prefix), b": ", text(unsafe { pcap_geterr(pcap) }), b"\n"].concat();
    // SAFETY: the pointer and the length are those of a slice.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

/// `pcap_fanout`: joins a group, whose members share the packets of the handle's devices. 0, or -1 with `pcap_geterr`.
///
/// # Safety
/// The handle is one that was not closed; the text ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcap_fanout(pcap: *mut Pcap, group: c_int, fanout: *const c_char) -> c_int {
    if pcap.is_null() || fanout.is_null() {
        return status::ERROR;
    }
    // SAFETY: the caller's text and handle.
    unsafe { fanout::call(pcap, group, std::ffi::CStr::from_ptr(fanout)) }
}
