//! Types by which threads of the publisher's process share state. The models of `sanitize/` put loom's here.

pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};
