//! The atomics of the rings. The models of `sanitize/` put loom's here.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
