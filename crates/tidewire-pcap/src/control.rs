//! Stop requests and errors of a handle: all that a capture needs to know of its handle.
//!
//! JUSTIFICATION: programs get the address of the error's buffer.
//!
//! What a capture knows of its handle: what ends a read, and where errors go. A read reports whether a callback closed
//! the handle; the owner of both then closes it.

use std::{
    cell::UnsafeCell,
    ffi::{c_char, c_int},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    error,
    event::Event,
    types::{ERROR_BYTES, status},
};

/// Reasons to end a read, as bits.
struct Stop;

impl Stop {
    /// `pcap_breakloop` was called.
    const BREAK: u32 = 1;
    /// `pcap_close` was called, inside a callback.
    const CLOSE: u32 = 2;
    /// A read is in progress.
    const READING: u32 = 4;
}

/// Stop requests and the last error of a handle.
pub struct Control {
    /// Pending stop requests: see [`Stop`].
    stop: AtomicU32,
    /// Readable after [`Control::break_loop`]; ends a wait.
    pub woken: Event,
    error: UnsafeCell<[c_char; ERROR_BYTES]>,
}

/// The result of a read.
#[must_use]
pub struct ReadResult {
    /// The return value of the call.
    pub result: c_int,
    /// A callback closed the handle.
    pub is_closed: bool,
}

impl ReadResult {
    /// The handle stays open.
    pub fn open(result: c_int) -> Self {
        Self { result, is_closed: false }
    }
}

impl Control {
    /// A control without stop requests and errors.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { stop: AtomicU32::new(0), woken: Event::new()?, error: UnsafeCell::new([0; ERROR_BYTES]) })
    }

    /// The buffer that `pcap_geterr` returns.
    pub fn error(&self) -> *mut c_char {
        self.error.get().cast()
    }

    /// Stores an error message.
    pub fn fail(&self, message: &str) {
        // SAFETY: the buffer has this length. A program that has two threads fail at once gets one of both messages, or a
        // mixture, as with the system's.
        unsafe { error::write(self.error(), ERROR_BYTES, message) };
    }

    /// Whether the last call stored an error.
    pub fn has_error(&self) -> bool {
        // SAFETY: the buffer's first byte is always there.
        unsafe { *self.error() != 0 }
    }

    /// Clears the error.
    #[inline]
    pub fn forget_error(&self) {
        // SAFETY: as above.
        unsafe { *self.error() = 0 };
    }

    /// Stores an error message and returns the status of a failed call.
    pub fn failed(&self, message: &str) -> c_int {
        self.fail(message);
        status::ERROR
    }

    /// Ends the current read, or the next one. Safe in signal handlers and other threads.
    pub fn break_loop(&self) {
        self.stop.fetch_or(Stop::BREAK, Ordering::SeqCst);
        self.woken.set();
    }

    /// Whether a read must end.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) & (Stop::BREAK | Stop::CLOSE) != 0
    }

    /// Whether `pcap_breakloop` was called; clears the request.
    pub fn take_break(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) & Stop::BREAK == 0 {
            return false;
        }
        self.woken.clear();
        self.stop.fetch_and(!Stop::BREAK, Ordering::SeqCst) & Stop::BREAK != 0
    }

    /// Begins a read; returns false if one is in progress, as in a callback.
    pub fn begin_read(&self) -> bool {
        self.stop.fetch_or(Stop::READING, Ordering::Relaxed) & Stop::READING == 0
    }

    /// Ends a read; returns whether the handle was closed meanwhile.
    pub fn end_read(&self) -> bool {
        self.stop.fetch_and(!Stop::READING, Ordering::Relaxed) & Stop::CLOSE != 0
    }

    /// Requests to close the handle after the current read; returns false if none is in progress, so that it can be closed now.
    pub fn close_later(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) & Stop::READING == 0 {
            return false;
        }
        self.stop.fetch_or(Stop::CLOSE, Ordering::Relaxed);
        true
    }
}
