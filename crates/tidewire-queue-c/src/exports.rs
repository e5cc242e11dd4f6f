//! The exported functions. `include/tidewire/queue.h` says what each does.
//!
//! JUSTIFICATION: a C ABI takes pointers. Each is checked for null and passed on as a reference; handles were made here.

use std::{
    ffi::{c_char, c_int, c_uint},
    os::fd::BorrowedFd,
    ptr,
};

use crate::{
    error::{Failure, code, guard, guard_or, last, text},
    handle::{AttachTarget, Queue, endpoint},
    names::List,
    types::{CEvent, CKey, CProgress},
};

/// `TIDEWIRE_QUEUE_VERSION`
pub const VERSION: c_int = 1;

/// Passes a new queue on to the caller, or null with an error.
///
/// # Safety
/// `out` is null, or a pointer can be written there.
unsafe fn hand_out(out: *mut *mut Queue, make: impl FnOnce() -> Result<Queue, Failure>) -> c_int {
    if out.is_null() {
        return guard(|| Err(Failure::argument("queue_out is null")));
    }
    let mut made = ptr::null_mut();
    let status = guard(|| {
        made = Box::into_raw(Box::new(make()?));
        Ok(0)
    });
    // SAFETY: not null, and as the caller promises.
    unsafe { *out = made };
    status
}

/// Runs a call that finds an event, and passes this on.
///
/// # Safety
/// `queue` is null or one of [`hand_out`] that no other call uses; `event` is null, or a pointer can be written there.
unsafe fn find(
    queue: *mut Queue,
    event: *mut *const CEvent,
    call: impl FnOnce(&mut Queue) -> Result<c_int, Failure>,
) -> c_int {
    if event.is_null() {
        return guard(|| Err(Failure::argument("event is null")));
    }
    // SAFETY: as the caller promises.
    let queue = unsafe { queue.as_mut() };
    let mut found = ptr::null();
    let status = guard(|| {
        let queue = queue.ok_or_else(|| Failure::argument("queue is null"))?;
        let status = queue.unless_broken(call)?;
        if status != 0 {
            found = ptr::from_ref(queue.event());
        }
        Ok(status)
    });
    // SAFETY: not null, and as the caller promises.
    unsafe { *event = found };
    status
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_attach(
    socket: *const c_char,
    queue: *const c_char,
    name: *const c_char,
    group: *const c_char,
    queue_out: *mut *mut Queue,
) -> c_int {
    let make = || {
        // SAFETY: as the caller promises.
        let texts = unsafe {
            [text(socket, "socket")?, text(queue, "queue's name")?, text(name, "name")?, text(group, "group")?]
        };
        let [socket, queue, name, group] = texts;
        Queue::attach(AttachTarget::new(socket, queue, name, group))
    };
    // SAFETY: as the caller promises.
    unsafe { hand_out(queue_out, make) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_open_file(descriptor: c_int, first: u64, queue_out: *mut *mut Queue) -> c_int {
    let make = || {
        if descriptor < 0 {
            return Err(Failure::argument(format!("{descriptor} is no descriptor")));
        }
        // SAFETY: not negative; one that is not open is an error of the calls that use it.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Queue::open(descriptor, (first != u64::MAX).then_some(first))
    };
    // SAFETY: as the caller promises.
    unsafe { hand_out(queue_out, make) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_next(queue: *mut Queue, event: *mut *const CEvent) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { find(queue, event, Queue::next) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_next_timeout(
    queue: *mut Queue,
    milliseconds: c_int,
    event: *mut *const CEvent,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { find(queue, event, |queue| queue.next_timeout(milliseconds)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_next_in_place(queue: *mut Queue, event: *mut *const CEvent) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { find(queue, event, Queue::next_in_place) }
}

/// Runs a call that returns a number.
///
/// # Safety
/// `queue` is null or one of [`hand_out`] that no other call uses.
unsafe fn number(queue: *mut Queue, call: impl FnOnce(&mut Queue) -> Result<c_int, Failure>) -> c_int {
    // SAFETY: as the caller promises.
    let queue = unsafe { queue.as_mut() };
    guard(|| queue.ok_or_else(|| Failure::argument("queue is null"))?.unless_broken(call))
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_is_intact(queue: *mut Queue) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { number(queue, |queue| Ok(c_int::from(queue.is_intact()))) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_track_losses(queue: *mut Queue, streams_max: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        number(queue, |queue| {
            queue.track_losses(streams_max);
            Ok(0)
        })
    }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_descriptor(queue: *mut Queue) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { number(queue, Queue::descriptor) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_reattach(queue: *mut Queue, milliseconds: c_int) -> c_int {
    // SAFETY: as the caller promises.
    let queue = unsafe { queue.as_mut() };
    guard(|| queue.ok_or_else(|| Failure::argument("queue is null"))?.reattach(milliseconds))
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_progress(queue: *mut Queue) -> *const CProgress {
    // SAFETY: as the caller promises.
    let queue = unsafe { queue.as_mut() };
    guard_or(ptr::null(), || Some(ptr::from_ref(queue?.progress())))
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_detach(queue: *mut Queue) {
    if !queue.is_null() {
        // SAFETY: of `hand_out`, and the caller's last call with it.
        let queue = unsafe { Box::from_raw(queue) };
        guard_or((), || {
            drop(queue);
            Some(())
        });
    }
}

/// As the header says.
#[unsafe(no_mangle)]
pub extern "C" fn tidewire_queue_error() -> *const c_char {
    last()
}

/// As the header says.
#[unsafe(no_mangle)]
pub extern "C" fn tidewire_queue_version() -> c_int {
    VERSION
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_queue_endpoint(
    key: *const CKey,
    server: c_int,
    text: *mut c_char,
    bytes: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    let key = unsafe { key.as_ref() };
    guard(|| {
        let key = key.ok_or_else(|| Failure::argument("key is null"))?;
        if text.is_null() && bytes != 0 {
            return Err(Failure::argument("text is null"));
        }
        let shown = endpoint(key, server != 0);
        if let Some(room) = bytes.checked_sub(1) {
            let count = shown.len().min(room);
            // SAFETY: not null; as many bytes as the caller has room for, less one.
            unsafe { ptr::copy_nonoverlapping(shown.as_ptr(), text.cast(), count) };
            // SAFETY: the byte that was left.
            unsafe { *text.add(count) = 0 };
        }
        c_int::try_from(shown.len()).map_err(|_| Failure { code: code::INTERNAL, text: "a long address".into() })
    })
}

macro_rules! names {
    ($($name:ident = $list:ident),* $(,)?) => {
        $(
            /// As the header says.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(number: c_uint) -> *const c_char {
                List::$list.name(number)
            }
        )*
    };
}

names! {
    tidewire_queue_kind_name = Kinds,
    tidewire_queue_gap_cause_name = GapCauses,
    tidewire_queue_end_reason_name = EndReasons,
    tidewire_queue_state_name = States,
    tidewire_queue_tunnel_name = Tunnels,
    tidewire_queue_anomaly_name = Anomalies,
    tidewire_queue_ended_name = Ended,
}
