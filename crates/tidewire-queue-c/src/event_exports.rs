//! The exported functions of events. `include/tidewire/event.h` says what each does.
//!
//! JUSTIFICATION: a C ABI takes pointers. Each is checked for null and passed on as a reference; handles were made here.

use std::{
    ffi::{c_char, c_double, c_int, c_uint, c_void},
    ptr, slice,
};

use tidewire_events::Value;

use crate::{
    error::{Failure, guard, guard_or, last, text},
    events::Sender,
};

/// `TIDEWIRE_EVENT_VERSION`
const VERSION: c_int = 1;

/// Runs a call with a handle.
///
/// # Safety
/// `events` is null or one of [`tidewire_event_open`] that no other call uses.
unsafe fn with(events: *mut Sender, call: impl FnOnce(&mut Sender) -> Result<c_int, Failure>) -> c_int {
    // SAFETY: as the caller promises.
    let events = unsafe { events.as_mut() };
    guard(|| call(events.ok_or_else(|| Failure::argument("events is null"))?))
}

/// A text that must be there.
///
/// # Safety
/// As [`text`].
unsafe fn given<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    let text = unsafe { text(pointer, what) }?;
    text.ok_or_else(|| Failure::argument(format!("the {what} is null")))
}

/// Bytes of a caller.
///
/// # Safety
/// `data` is null, or so many bytes are there.
unsafe fn given_bytes<'a>(data: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    match (data.is_null(), bytes) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::argument("data is null")),
        // No object is larger; the limit of an excerpt is checked later.
        _ if bytes > isize::MAX as usize => Err(Failure::argument("more bytes than memory can hold")),
        // SAFETY: not null, and as the caller promises.
        _ => Ok(unsafe { slice::from_raw_parts(data.cast(), bytes) }),
    }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_open(
    socket: *const c_char,
    name: *const c_char,
    events_out: *mut *mut Sender,
) -> c_int {
    if events_out.is_null() {
        return guard(|| Err(Failure::argument("events_out is null")));
    }
    let mut made = ptr::null_mut();
    let status = guard(|| {
        // SAFETY: as the caller promises.
        let (socket, name) = unsafe { (text(socket, "socket")?, text(name, "name")?) };
        made = Box::into_raw(Box::new(Sender::open(socket, name)?));
        Ok(0)
    });
    // SAFETY: not null, and as the caller promises.
    unsafe { *events_out = made };
    status
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event(
    events: *mut Sender,
    kind: *const c_char,
    severity: c_int,
    text_: *const c_char,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.simple(given(kind, "kind")?, severity, text(text_, "text")?)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_json(events: *mut Sender, json: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.json(given(json, "JSON")?)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_begin(events: *mut Sender, kind: *const c_char, severity: c_int) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.begin(given(kind, "kind")?, severity)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_time(events: *mut Sender, time_ns: u64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.time(time_ns)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_key(
    events: *mut Sender,
    protocol: c_uint,
    client: *const c_char,
    client_port: c_uint,
    server: *const c_char,
    server_port: c_uint,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        with(events, |events| {
            let ends = [(given(client, "client")?, client_port), (given(server, "server")?, server_port)];
            events.key(protocol, ends)
        })
    }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_stream(events: *mut Sender, stream: u64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.stream(stream)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_place(events: *mut Sender, direction: c_int, offset: u64) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.place(direction, offset)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_excerpt(events: *mut Sender, data: *const c_void, bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.excerpt(given_bytes(data, bytes)?)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_text(events: *mut Sender, name: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.field(given(name, "name")?, Value::Text(given(value, "value")?.to_owned()))) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_bytes(
    events: *mut Sender,
    name: *const c_char,
    data: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        with(events, |events| events.field(given(name, "name")?, Value::Bytes(given_bytes(data, bytes)?.to_vec())))
    }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_address(
    events: *mut Sender,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.address_field(given(name, "name")?, given(value, "value")?)) }
}

macro_rules! numbers {
    ($($name:ident: $given:ty => $value:expr),* $(,)?) => {
        $(
            /// # Safety
            /// As the header says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(events: *mut Sender, name: *const c_char, value: $given) -> c_int {
                // SAFETY: as the caller promises.
                unsafe { with(events, |events| events.field(given(name, "name")?, $value(value))) }
            }
        )*
    };
}

numbers! {
    tidewire_event_unsigned: u64 => Value::U64,
    tidewire_event_signed: i64 => Value::I64,
    tidewire_event_double: c_double => Value::F64,
    tidewire_event_bool: c_int => |value: c_int| Value::Bool(value != 0),
    tidewire_event_when: u64 => Value::Time,
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_emit(events: *mut Sender) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, Sender::emit) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_try_emit(events: *mut Sender) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, Sender::try_emit) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_flush(events: *mut Sender, milliseconds: c_int) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { with(events, |events| events.flush(milliseconds)) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidewire_event_close(events: *mut Sender) {
    if !events.is_null() {
        // SAFETY: of `tidewire_event_open`, and the caller's last call with it.
        let events = unsafe { Box::from_raw(events) };
        guard_or((), || {
            drop(events);
            Some(())
        });
    }
}

/// As the header says.
#[unsafe(no_mangle)]
pub extern "C" fn tidewire_event_error() -> *const c_char {
    last()
}

/// As the header says.
#[unsafe(no_mangle)]
pub extern "C" fn tidewire_event_version() -> c_int {
    VERSION
}
