//! A handle of ours: what a program knows as `pcap_t`.
//!
//! JUSTIFICATION: handles are pointers of the C ABI, and functions are called on them from callbacks and other threads.
//!
//! A pointer that a program gives back is ours, or the system library's: files, devices we leave to it, and whatever it made
//! itself. Ours are told apart by two words at their beginning that no handle of the system's has there (it has a function's
//! address). A handle of ours waits to be activated, then is a live capture of Tidewire's, or passes every call on to a handle
//! of the system's because nothing was asked of it.

mod waiting;

use std::{
    cell::UnsafeCell,
    ffi::{c_char, c_int},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    abi::types::{ERROR_BYTES, Pcap},
    error,
    live::Live,
    offline::Offline,
    wake::Event,
};
pub use waiting::{Options, Waiting};

/// No address of a function: not canonical.
const MAGIC: u64 = 0x9bd1_7469_6465_f00d;
/// The second word is the handle's address, turned by this.
const TURN: u64 = 0x5bd1_e995_1234_5677;

/// A program's `pcap_t`.
#[repr(C)]
pub struct Handle {
    magic: u64,
    place: u64,
    /// What a read under way has to end for: see [`Stop`].
    stop: AtomicU32,
    /// Readable after [`Handle::break_loop`]: ends a wait.
    pub woken: Event,
    error: UnsafeCell<[c_char; ERROR_BYTES]>,
    state: UnsafeCell<State>,
}

/// What a handle is.
pub enum State {
    /// Made, not activated.
    Waiting(Box<Waiting>),
    /// The system's.
    System(*mut Pcap),
    /// Ours.
    Live(Box<Live>),
    /// A file, which the system's library reads and we put in order.
    File(Box<Offline>),
}

/// Why a read ends; bits.
pub struct Stop;

impl Stop {
    /// `pcap_breakloop` was called.
    pub const BREAK: u32 = 1;
    /// `pcap_close` was called, inside a callback.
    pub const CLOSE: u32 = 2;
    /// A read is under way.
    pub const READING: u32 = 4;
}

impl Handle {
    /// A handle, for a program to keep until it calls `pcap_close`.
    pub fn give(state: State) -> std::io::Result<*mut Pcap> {
        let handle = Box::new(Self {
            magic: MAGIC,
            place: 0,
            stop: AtomicU32::new(0),
            woken: Event::new()?,
            error: UnsafeCell::new([0; ERROR_BYTES]),
            state: UnsafeCell::new(state),
        });
        let pointer = Box::into_raw(handle);
        // SAFETY: it was allocated above, and nobody else knows it.
        unsafe { (*pointer).place = pointer as u64 ^ TURN };
        Ok(pointer.cast())
    }

    /// The handle behind a pointer, if it is one of ours.
    ///
    /// # Safety
    /// The pointer is a handle, ours or the system's, that was not closed; or null.
    #[inline]
    pub unsafe fn of<'a>(pcap: *mut Pcap) -> Option<&'a Self> {
        if pcap.is_null() {
            return None;
        }
        let words = pcap.cast::<u64>();
        // SAFETY: both kinds are longer than two words, and aligned for them.
        unsafe {
            if words.read() != MAGIC || words.add(1).read() != pcap as u64 ^ TURN {
                return None;
            }
        }
        // SAFETY: the words say that it is one of ours. It is only ever shared: what changes is in cells.
        Some(unsafe { &*pcap.cast::<Self>() })
    }

    /// Frees a handle.
    ///
    /// # Safety
    /// It is one of ours, and nobody uses it any more.
    pub unsafe fn take(pcap: *mut Pcap) {
        // SAFETY: it was made by `give`. The words go, so that a pointer that is used once more is not taken for a handle.
        let mut handle = unsafe { Box::from_raw(pcap.cast::<Self>()) };
        (handle.magic, handle.place) = (0, 0);
    }

    /// What it is.
    pub fn state(&self) -> &State {
        // SAFETY: it changes in `pcap_activate` only, during which a program must not use the handle otherwise.
        unsafe { &*self.state.get() }
    }

    /// Changes what it is; returns what it was.
    ///
    /// # Safety
    /// Nothing that was borrowed from the state is used afterwards.
    pub unsafe fn become_(&self, state: State) -> State {
        // SAFETY: as the caller promises.
        unsafe { self.state.get().replace(state) }
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
        crate::abi::types::status::ERROR
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
