//! Locks of what workers share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what workers share. A worker that panicked leaves whole records.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
