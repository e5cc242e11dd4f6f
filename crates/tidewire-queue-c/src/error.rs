//! Errors as numbers, and the text of each thread's last one.
//!
//! JUSTIFICATION: texts of a caller are pointers.

use std::{
    any::Any,
    cell::RefCell,
    ffi::{CStr, CString, c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
};

use tidewire_event_socket::EventsError;
use tidewire_queue::{Error, Refusal};

/// Numbers of errors, as in the header.
pub mod code {
    use std::ffi::c_int;

    pub const ARGUMENT: c_int = -1;
    pub const SYSTEM: c_int = -2;
    pub const SERVER: c_int = -3;
    pub const NO_QUEUE: c_int = -4;
    pub const FULL: c_int = -5;
    pub const USER: c_int = -6;
    pub const REFUSED: c_int = -7;
    pub const NOT_A_QUEUE: c_int = -8;
    pub const CORRUPT: c_int = -9;
    pub const INTERNAL: c_int = -10;
    pub const TIMEOUT: c_int = -11;
}

/// An error: its number and its text.
#[derive(Debug)]
pub struct Failure {
    pub code: c_int,
    pub text: String,
}

impl Failure {
    pub fn argument(text: impl Into<String>) -> Self {
        Self { code: code::ARGUMENT, text: text.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Memory { .. } => code::SYSTEM,
            Error::Server { .. } => code::SERVER,
            Error::Refused(Refusal::NoQueue { .. }) => code::NO_QUEUE,
            Error::Refused(Refusal::Full { .. }) => code::FULL,
            Error::Refused(Refusal::User { .. }) => code::USER,
            Error::Refused(_) => code::REFUSED,
            Error::NotAQueue(_) => code::NOT_A_QUEUE,
            Error::Corrupt(_) => code::CORRUPT,
            _ => code::INTERNAL,
        };
        Self { code, text: error.to_string() }
    }
}

impl From<EventsError> for Failure {
    fn from(error: EventsError) -> Self {
        let code = match &error {
            EventsError::Connect { .. } => code::SERVER,
            EventsError::Refused(_) => code::REFUSED,
            EventsError::Timeout { .. } => code::TIMEOUT,
            EventsError::Thread(_) => code::SYSTEM,
            // An event beyond a limit, an invalid name.
            _ => code::ARGUMENT,
        };
        Self { code, text: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The text of this thread's last error, until its next one.
pub fn last() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"the thread ends".as_ptr())
}

fn set(text: &str) {
    let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    let _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
}

/// Runs the body of an exported function: an error becomes its number, and so does a panic, which must not leave Rust.
pub fn guard(body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(found)) => return found,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure { code: code::INTERNAL, text: format!("a defect of the library: {}", message(&*panic)) },
    };
    set(&failure.text);
    failure.code
}

/// As [`guard`], for what cannot fail otherwise.
pub fn guard_or<T>(otherwise: T, body: impl FnOnce() -> Option<T>) -> T {
    catch_unwind(AssertUnwindSafe(body)).ok().flatten().unwrap_or(otherwise)
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

/// A text that a caller passed; `None`: a null pointer.
///
/// # Safety
/// It is null, or points to a text that ends with a zero byte.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| Failure::argument(format!("the {what} is not UTF-8")))
}
