//! A file mapped as words, with its last part mapped a second time right behind the first.
//!
//! JUSTIFICATION: `mmap(2)` has no safe interface: two mappings are put side by side into one reserved range.

use std::{
    io,
    os::fd::AsFd,
    ptr::{self, NonNull},
    slice,
    sync::atomic::{AtomicU32, AtomicU64},
};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Access that a mapping allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading only; a write is a fault.
    Read,
    /// Reading and writing.
    Write,
}

/// A file in memory: `bytes` of it, and from `again_at` on once more behind them.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is reached through atomic words only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// The greatest page of any machine. All parts of a queue are multiples of it, so that the size here does not matter: asking for it
/// reads the vDSO, which crashes under valgrind, as programs in C are run.
const PAGE_BYTES_MAX: usize = 1 << 16;

impl Mapping {
    /// Maps the first `bytes` of a file, and those from `again_at` to `bytes` once more. Both are multiples of [`PAGE_BYTES_MAX`].
    /// Pages that the file has are mapped when this returns, so that no later access is a page fault.
    ///
    /// # Errors
    /// What the kernel says; `InvalidInput` for sizes that are no multiples of a page.
    pub(crate) fn new(file: impl AsFd, bytes: usize, again_at: usize, access: Access) -> io::Result<Self> {
        let page = PAGE_BYTES_MAX;
        if bytes == 0 || !bytes.is_multiple_of(page) || !again_at.is_multiple_of(page) || again_at > bytes {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "sizes of a queue are no multiples of the page size",
            ));
        }
        let again_bytes = bytes - again_at;
        let whole = bytes.checked_add(again_bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        let flags = MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE;
        // SAFETY: a new range that nothing else uses; nothing can be accessed in it yet.
        let base = unsafe {
            mmap_anonymous(ptr::null_mut(), whole, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE)?
        };
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Self { base, bytes: whole };
        // SAFETY: replaces the first `bytes` of the range that was reserved above and belongs to `mapping`.
        unsafe { mmap(base.as_ptr().cast(), bytes, protection, flags, &file, 0)? };
        if again_bytes != 0 {
            // SAFETY: `bytes` is inside of the range.
            let behind = unsafe { base.as_ptr().add(bytes) };
            // SAFETY: replaces the rest of the range.
            unsafe { mmap(behind.cast(), again_bytes, protection, flags, &file, again_at as u64)? };
        }
        // Core files hold no traffic, and are not as long as queues. SAFETY: changes nothing of what the range holds.
        unsafe { madvise(base.as_ptr().cast(), whole, Advice::LinuxDontDump)? };
        Ok(mapping)
    }

    /// Everything that is mapped. With [`Access::Read`] the caller may not store into a word.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped, aligned to pages, for as long as `self` lives; other processes and mappings reach the same memory by
        // atomic words only, or cannot be distinguished from such.
        unsafe { slice::from_raw_parts(self.base.as_ptr().cast(), self.bytes / 8) }
    }

    /// The lower half of a word (on little-endian machines its first four bytes), as futexes need it.
    pub(crate) fn futex(&self, word: usize) -> &AtomicU32 {
        let word = &self.words()[word];
        // SAFETY: inside of the word, aligned; both are atomic. Mixed sizes on one address are used as the kernel does with futexes.
        unsafe { &*ptr::from_ref(word).cast::<AtomicU32>() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range of `new`, which no reference outlives.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
