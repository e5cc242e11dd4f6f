//! An allocator that counts: tests compare the count with the memory that the engine charges.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicU64, Ordering},
};

static LIVE: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, and a count of the bytes that are allocated.
pub struct Counting;

/// Bytes that are allocated in this process now, by [`Counting`].
#[must_use]
pub fn allocated_bytes() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

// JUSTIFICATION: allocations can be counted only in the allocator.
// SAFETY: every call is forwarded unchanged to the system's allocator, which keeps the contract of the trait; counting does not
// allocate and cannot unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises about `pointer` and `layout` are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size as u64, Ordering::Relaxed);
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises about `pointer`, `layout` and `size` are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
