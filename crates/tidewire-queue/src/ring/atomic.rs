//! The atomics of the rings, and copies of many. The models of `sanitize/` put loom's here.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(super) use crate::sys::{load_bytes, store_bytes};
