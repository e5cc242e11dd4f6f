//! One range of addresses in which all rings of a worker lie.
//!
//! Frames of several rings can then be handed over as one batch: they are offsets into one piece of memory.
//!
//! JUSTIFICATION: `mmap(2)` has no wrapper in the standard library.

use std::{
    ffi::c_void,
    io,
    ops::Range,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::{self, NonNull},
    slice,
    sync::Arc,
};

/// Largest arena, bytes: a frame's offset is a `u32`.
pub const ARENA_BYTES_MAX: usize = 1 << 32;

/// A reserved range of addresses. Places of it become memory by [`Place::map`] and [`Place::allocate`]; the rest cannot be
/// touched and costs nothing.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the range belongs to this value alone; what is shared is only ever read, or written by the owner of a place.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves `bytes`, rounded up to whole pages.
    ///
    /// # Errors
    /// More than [`ARENA_BYTES_MAX`], or what the kernel says.
    pub fn reserve(bytes: usize) -> io::Result<Arc<Self>> {
        let page = page_bytes();
        let bytes = bytes.max(1).next_multiple_of(page);
        if bytes > ARENA_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the rings of a worker may have 4 GiB together"));
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        let base = checked(base)?;
        Ok(Arc::new(Self { base, bytes }))
    }

    /// The place of `bytes` at offset `at`, both in whole pages.
    ///
    /// # Errors
    /// It is not inside the arena, or not of whole pages.
    pub fn place(self: &Arc<Self>, at: usize, bytes: usize) -> io::Result<Place> {
        let page = page_bytes();
        let fits = at.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        if !fits || !at.is_multiple_of(page) || !bytes.is_multiple_of(page) || bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a place must be whole pages inside the arena"));
        }
        Ok(Place { arena: Arc::clone(self), at, bytes })
    }

    /// The whole range, for who keeps an arena to find bytes of frames that are noted, and reads no others.
    #[must_use]
    pub fn addresses(&self) -> Range<*const u8> {
        let base = self.base.as_ptr().cast_const();
        base..base.wrapping_add(self.bytes)
    }

    /// The whole range, as batches borrow it.
    ///
    /// Only bytes of frames that a ring noted and that were not given back yet may be read: other places may not be mapped,
    /// and the kernel writes there.
    #[must_use]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the range is reserved for as long as `self` lives and not larger than isize::MAX. Nothing but frames is
        // read through it (see above), and those do not change while they are noted.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.bytes) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own, and nothing borrows it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A ring's part of an [`Arena`].
#[derive(Debug)]
pub struct Place {
    arena: Arc<Arena>,
    at: usize,
    bytes: usize,
}

impl Place {
    /// Maps `descriptor` (a packet socket's ring) here, in place of what was mapped before.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn map(&self, descriptor: BorrowedFd<'_>, offset: i64) -> io::Result<()> {
        self.mmap(libc::MAP_SHARED, descriptor.as_raw_fd(), offset)
    }

    /// Puts zeroed memory here, in place of what was mapped before.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn allocate(&self) -> io::Result<()> {
        self.mmap(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    /// Takes away what is mapped here; the place stays reserved.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn unmap(&self) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: replaces pages of a place that only its one owner uses.
        let address = unsafe { libc::mmap(self.address().cast(), self.bytes, libc::PROT_NONE, flags, -1, 0) };
        checked(address).map(drop)
    }

    fn mmap(&self, flags: i32, descriptor: i32, offset: i64) -> io::Result<()> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_FIXED);
        // SAFETY: replaces pages of a place that only its one owner uses.
        let address =
            unsafe { libc::mmap(self.address().cast::<c_void>(), self.bytes, protection, flags, descriptor, offset) };
        checked(address).map(drop)
    }

    /// Makes two places of it, the first of `bytes`; both in whole pages.
    ///
    /// # Errors
    /// Either would have no page, or not whole ones.
    pub fn split(self, bytes: usize) -> io::Result<(Self, Self)> {
        let rest = self.bytes.saturating_sub(bytes);
        let second = self.arena.place(self.at + bytes, rest)?;
        Ok((self.arena.place(self.at, bytes)?, second))
    }

    /// Where it begins.
    #[must_use]
    pub fn address(&self) -> *mut u8 {
        // SAFETY: the place is inside the arena.
        unsafe { self.arena.base.as_ptr().add(self.at) }
    }

    /// Its offset in the arena: what is added to offsets in the ring to make a frame's `at`.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Its length.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never: a place has a page at least.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Bytes of a page of memory.
#[must_use]
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

fn checked(address: *mut c_void) -> io::Result<NonNull<u8>> {
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
