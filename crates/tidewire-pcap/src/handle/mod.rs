//! A handle of ours: what a program knows as `pcap_t`.
//!
//! JUSTIFICATION: handles are pointers of the C ABI, and functions are called on them from callbacks and other threads.
//!
//! A pointer that a program gives back is ours, or the system library's: files, devices we leave to it, and whatever it made
//! itself. Ours are told apart by two words at their beginning that no handle of the system's has there (it has a function's
//! address). A handle of ours waits to be activated, then is a live capture of Tidewire's, or passes every call on to a handle
//! of the system's because nothing was asked of it.

mod control;
mod inactive;

use std::{cell::UnsafeCell, ffi::c_int, ops::Deref};

use crate::{abi::types::Pcap, live::Live, offline::Offline};
pub use control::{Control, Ended};
pub use inactive::{Inactive, Options};

/// No address of a function: not canonical.
const MAGIC: u64 = 0x9bd1_7469_6465_f00d;
/// The second word is the handle's address, turned by this.
const TURN: u64 = 0x5bd1_e995_1234_5677;

/// A program's `pcap_t`.
#[repr(C)]
pub struct Handle {
    magic: u64,
    place: u64,
    control: Control,
    state: UnsafeCell<State>,
}

/// What a handle is.
pub enum State {
    /// Made, not activated.
    Inactive(Box<Inactive>),
    /// The system's.
    System(*mut Pcap),
    /// Ours.
    Live(Box<Live>),
    /// A file, which the system's library reads and we put in order.
    File(Box<Offline>),
}

impl Handle {
    /// A handle, for a program to keep until it calls `pcap_close`.
    pub fn give(state: State) -> std::io::Result<*mut Pcap> {
        let handle = Box::new(Self { magic: MAGIC, place: 0, control: Control::new()?, state: UnsafeCell::new(state) });
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

    /// Passes on what a read came to; closes the handle where a callback asked for that.
    ///
    /// # Safety
    /// `pcap` is one of ours, and `ended` is what its read came to.
    pub unsafe fn after_read(pcap: *mut Pcap, ended: Ended) -> c_int {
        if ended.is_closed {
            // SAFETY: the program closed it inside its callback, and does not use it any more.
            unsafe { Self::take(pcap) };
        }
        ended.result
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
}

impl Deref for Handle {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}
