//! The parts of `tidewire-live` that share memory with the kernel, and those of `tidewire-queue` that share it with other
//! processes, over loom's atomics: the same source, in every order in which two or three threads can take their steps, and with
//! every value that the memory model lets them see.
#![allow(dead_code, unused_imports, reason = "each part is whole, and the models use some of it")]

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

/// Queues in shared memory: the ring, and which member owns which stream.
pub mod queue {
    /// A reader's page, of which the models need the type only.
    pub(crate) mod page {
        #[derive(Debug)]
        pub(crate) struct Page;
    }
    pub(crate) mod sync {
        pub(crate) use loom::sync::{
            Mutex, MutexGuard,
            atomic::{AtomicU64, Ordering},
        };
    }
    #[path = "../../../crates/tidewire-queue/src/layout.rs"]
    pub(crate) mod layout;
    #[path = "../../../crates/tidewire-queue/src/members.rs"]
    pub(crate) mod members;
    #[path = "../../../crates/tidewire-queue/src/owners.rs"]
    pub(crate) mod owners;
    #[path = "../../../crates/tidewire-queue/src/records/mod.rs"]
    pub(crate) mod records;

    pub(crate) mod ring;

    #[cfg(test)]
    mod tests;
}
