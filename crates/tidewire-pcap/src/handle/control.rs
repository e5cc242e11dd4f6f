//! What reads of a handle are ended by, and what went wrong on it: all that a capture needs of its handle.
//!
//! JUSTIFICATION: programs get the address of the error's buffer.

use std::{
    cell::UnsafeCell,
    ffi::{c_char, c_int},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    abi::types::{ERROR_BYTES, status},
    error,
    event::Event,
};

/// Why a read ends; bits.
struct Stop;

impl Stop {
    /// `pcap_breakloop` was called.
    const BREAK: u32 = 1;
    /// `pcap_close` was called, inside a callback.
    const CLOSE: u32 = 2;
    /// A read is under way.
    const READING: u32 = 4;
}

/// See the module.
pub struct Control {
    /// What a read under way has to end for: see [`Stop`].
    stop: AtomicU32,
    /// Readable after [`Control::break_loop`]: ends a wait.
    pub woken: Event,
    error: UnsafeCell<[c_char; ERROR_BYTES]>,
}

/// What a read came to.
#[must_use]
pub struct Ended {
    /// What the call returns.
    pub result: c_int,
    /// A callback closed the handle.
    pub is_closed: bool,
}

impl Ended {
    /// The handle stays open.
    pub fn open(result: c_int) -> Self {
        Self { result, is_closed: false }
    }
}

impl Control {
    /// Nothing is read, and nothing went wrong.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { stop: AtomicU32::new(0), woken: Event::new()?, error: UnsafeCell::new([0; ERROR_BYTES]) })
    }

    /// The buffer that `pcap_geterr` returns.
    pub fn error(&self) -> *mut c_char {
        self.error.get().cast()
    }

    /// Notes what went wrong.
    pub fn fail(&self, message: &str) {
        // SAFETY: the buffer has this length. A program that has two threads fail at once gets one of both messages, or a
        // mixture, as with the system's.
        unsafe { error::write(self.error(), ERROR_BYTES, message) };
    }

    /// Whether something that went wrong was noted, and is still the last.
    pub fn has_error(&self) -> bool {
        // SAFETY: the buffer's first byte is always there.
        unsafe { *self.error() != 0 }
    }

    /// Nothing went wrong since.
    #[inline]
    pub fn forget_error(&self) {
        // SAFETY: as above.
        unsafe { *self.error() = 0 };
    }

    /// Notes what went wrong; what a call returns then.
    pub fn failed(&self, message: &str) -> c_int {
        self.fail(message);
        status::ERROR
    }

    /// Ends the read that is under way, or the next one. May be called from signal handlers and other threads.
    pub fn break_loop(&self) {
        self.stop.fetch_or(Stop::BREAK, Ordering::SeqCst);
        self.woken.set();
    }

    /// Whether a read has to end.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) & (Stop::BREAK | Stop::CLOSE) != 0
    }

    /// Whether `pcap_breakloop` was called; forgotten then.
    pub fn take_break(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) & Stop::BREAK == 0 {
            return false;
        }
        self.woken.clear();
        self.stop.fetch_and(!Stop::BREAK, Ordering::SeqCst) & Stop::BREAK != 0
    }

    /// A read begins; false where one is under way, as in a callback.
    pub fn begin_read(&self) -> bool {
        self.stop.fetch_or(Stop::READING, Ordering::Relaxed) & Stop::READING == 0
    }

    /// It ends; whether the handle was closed in the meantime.
    pub fn end_read(&self) -> bool {
        self.stop.fetch_and(!Stop::READING, Ordering::Relaxed) & Stop::CLOSE != 0
    }

    /// Whether the handle is to be closed when the read under way has ended; else it can be closed now.
    pub fn close_later(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) & Stop::READING == 0 {
            return false;
        }
        self.stop.fetch_or(Stop::CLOSE, Ordering::Relaxed);
        true
    }
}
