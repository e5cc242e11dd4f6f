//! The parts of `tidewire-live` that share memory with the kernel, over loom's atomics: the same source, in every order in
//! which two or three threads can take their steps, and with every value that the memory model lets them see.
#![allow(dead_code, reason = "each part is whole, and the models use some of it")]

/// AF_XDP's rings.
pub mod xsk {
    mod atomic {
        pub(super) use loom::sync::atomic::{AtomicU32, Ordering};
    }
    #[path = "../../../crates/tidewire-live/src/sys/xsk/cursor.rs"]
    pub(crate) mod cursor;

    #[cfg(test)]
    mod rings;
}

/// The flow tables, by which directions are cut off.
pub mod kernel {
    pub(crate) mod atomic {
        pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

        pub(crate) fn pause(_: u32) {
            loom::thread::yield_now();
        }
    }
    #[path = "../../../crates/tidewire-live/src/kernel/entry.rs"]
    pub(crate) mod entry;
    #[path = "../../../crates/tidewire-live/src/kernel/layout.rs"]
    pub(crate) mod layout;

    #[cfg(test)]
    mod tests;
}
