//! The `pcap_t` that programs get.
//!
//! JUSTIFICATION: handles are pointers of the C ABI, and functions are called on them from callbacks and other threads.
//!
//! A pointer from a program is one of our handles, or the system library's: files, devices that are left to it, and handles
//! that it created itself. Two words at the beginning identify ours: a system's handle has the address of a function there. Our
//! handle is inactive first. Activated, it is a live capture of Tidewire, or forwards every call to a handle of the system's
//! library if Tidewire is not needed.

use std::{cell::UnsafeCell, ffi::c_int, ops::Deref};

use crate::{
    control::{Control, ReadResult},
    inactive::Inactive,
    live::Live,
    offline::Offline,
    types::Pcap,
};

/// No address of a function: not canonical.
const MAGIC: u64 = 0x9bd1_7469_6465_f00d;
/// The second word is the address of the handle, XORed with this.
const TURN: u64 = 0x5bd1_e995_1234_5677;

/// A program's `pcap_t`.
#[repr(C)]
pub struct Handle {
    magic: u64,
    place: u64,
    control: Control,
    state: UnsafeCell<State>,
}

/// The state of a handle.
pub enum State {
    /// Created, not activated.
    Inactive(Box<Inactive>),
    /// Forwards to a handle of the system's library.
    System(*mut Pcap),
    /// A live capture of Tidewire.
    Live(Box<Live>),
    /// A file that the system's library reads and Tidewire reorders.
    File(Box<Offline>),
}

impl Handle {
    /// Creates a handle that the program owns until it calls `pcap_close`.
    pub fn give(state: State) -> std::io::Result<*mut Pcap> {
        let handle = Box::new(Self { magic: MAGIC, place: 0, control: Control::new()?, state: UnsafeCell::new(state) });
        let pointer = Box::into_raw(handle);
        // SAFETY: it was allocated above, and not shared yet.
        unsafe { (*pointer).place = pointer as u64 ^ TURN };
        Ok(pointer.cast())
    }

    /// The handle behind a pointer; `None` for handles of the system's library.
    ///
    /// # Safety
    /// The pointer is an open handle, ours or the system's; or null.
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
    /// It is ours, and not used afterwards.
    pub unsafe fn take(pcap: *mut Pcap) {
        // SAFETY: it was made by `give`. The words go, so that a pointer that is used once more is not taken for a handle.
        let mut handle = unsafe { Box::from_raw(pcap.cast::<Self>()) };
        (handle.magic, handle.place) = (0, 0);
    }

    /// Returns the result of a read, and closes the handle if a callback requested that.
    ///
    /// # Safety
    /// `pcap` is ours, and `ended` is the result of its read.
    pub unsafe fn after_read(pcap: *mut Pcap, ended: ReadResult) -> c_int {
        if ended.is_closed {
            // SAFETY: the program closed it inside its callback, and does not use it any more.
            unsafe { Self::take(pcap) };
        }
        ended.result
    }

    /// The state.
    pub fn state(&self) -> &State {
        // SAFETY: it changes in `pcap_activate` only, during which a program must not use the handle otherwise.
        unsafe { &*self.state.get() }
    }

    /// Replaces the state and returns the old one.
    ///
    /// # Safety
    /// No borrow of the old state is used afterwards.
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
