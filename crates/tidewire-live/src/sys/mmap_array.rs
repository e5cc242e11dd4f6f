//! eBPF arrays mapped into this process (`BPF_F_MMAPABLE`): read and written without system calls.
//!
//! JUSTIFICATION: `mmap(2)` has no wrapper in the standard library.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::{self, NonNull},
    slice,
    sync::atomic::{AtomicU64, Ordering},
};

use super::arena::page_bytes;

/// An array of eBPF, mapped.
#[derive(Debug)]
pub struct MmapArray {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; the kernel's side of it is its own business.
unsafe impl Send for MmapArray {}
// SAFETY: as above; it is only reached by atomic operations.
unsafe impl Sync for MmapArray {}

impl MmapArray {
    /// Maps the first `bytes` of an array.
    ///
    /// # Errors
    /// What the kernel says: the array must have been made with `BPF_F_MMAPABLE` and be as long.
    pub fn new(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(page_bytes());
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, bytes })
    }

    /// All of it, as words that programs read and write whole; rounded up to pages.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: so many words are mapped, aligned, for as long as `self` lives, and are only reached by atomic operations.
        unsafe { slice::from_raw_parts(self.base.as_ptr().cast(), self.bytes / 8) }
    }

    /// The 8 bytes at `at`, as programs read and write them; 0 where there are none.
    #[must_use]
    pub fn load(&self, at: usize) -> u64 {
        self.word(at).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Sets the 8 bytes at `at`; nothing where there are none.
    pub fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.word(at) {
            word.store(value, Ordering::Release);
        }
    }

    fn word(&self, at: usize) -> Option<&AtomicU64> {
        let fits = at.is_multiple_of(8) && at.checked_add(8).is_some_and(|end| end <= self.bytes);
        // SAFETY: the word is inside the mapping, which lives as long as `self`, and the address is aligned because the
        // mapping is. Any other writer writes whole words there.
        fits.then(|| unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at).cast()) })
    }

    /// The bytes. Only for what no program writes.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping lives as long as `self`, which is borrowed; that programs only read is the caller's promise,
        // whose breach would give other bytes and no more: they are plain, and nothing is decided by them twice.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.bytes) }
    }
}

impl Drop for MmapArray {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, is unmapped once, and no borrow of it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
