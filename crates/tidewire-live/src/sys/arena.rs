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
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tidewire_wire::Parts;

/// Largest arena, bytes: a frame's offset is a `u32`.
pub const ARENA_BYTES_MAX: usize = 1 << 32;

/// A reserved range of addresses. Regions of it become memory by [`ArenaRegion::map`] and [`ArenaRegion::allocate`]; the rest cannot be
/// touched and costs nothing.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    bytes: usize,
    /// Bytes that were given out as places, from the beginning.
    taken: AtomicUsize,
    /// A bit for each [`LINE_BYTES`], a word for each [`WORD_BYTES`]: whether it is mapped, handed over by the kernel and not given
    /// back. A place has whole words, which only its owner changes.
    readable: Box<[AtomicU64]>,
}

/// Granules of what can be read.
const LINE_BYTES: usize = 64;
/// Bytes that a word of bits stands for: no more than a page has.
const WORD_BYTES: usize = 64 * LINE_BYTES;

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
        let base = reserved(bytes)?;
        let readable = (0..bytes.div_ceil(WORD_BYTES)).map(|_| AtomicU64::new(0)).collect();
        Ok(Arc::new(Self { base, bytes, taken: AtomicUsize::new(0), readable }))
    }

    /// The next `bytes`, in whole pages, that no other place has. They are not used again when the place is dropped.
    ///
    /// # Errors
    /// There are not so many left, or they are not whole pages.
    pub fn take(self: &Arc<Self>, bytes: usize) -> io::Result<ArenaRegion> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "a place must be whole pages inside the arena");
        if !bytes.is_multiple_of(page_bytes()) || bytes == 0 {
            return Err(wrong());
        }
        let next = |taken: usize| taken.checked_add(bytes).filter(|end| *end <= self.bytes);
        let at = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_err(|_| wrong())?;
        Ok(ArenaRegion { arena: Arc::clone(self), at, bytes })
    }

    /// The whole range, for who keeps an arena to find bytes of frames that are noted, and reads no others.
    #[must_use]
    pub fn addresses(&self) -> Range<*const u8> {
        let base = self.base.as_ptr().cast_const();
        base..base.wrapping_add(self.bytes)
    }

    /// Whether every line of this range is readable.
    #[inline]
    fn is_readable(&self, at: usize, bytes: usize) -> bool {
        let Some(end) = at.checked_add(bytes).filter(|end| *end <= self.bytes) else { return false };
        masks(at, end)
            .all(|(word, mask)| self.readable.get(word).is_some_and(|bits| bits.load(Ordering::Relaxed) & mask == mask))
    }
}

/// The words that stand for a range, and its bits in each.
#[inline]
fn masks(at: usize, end: usize) -> impl Iterator<Item = (usize, u64)> {
    let (first, last) = (at / LINE_BYTES, end.div_ceil(LINE_BYTES));
    (first / 64..last.div_ceil(64)).map(move |word| {
        let from = first.saturating_sub(word * 64);
        let to = (last - word * 64).min(64);
        let below = |bits: usize| if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        (word, below(to) & !below(from))
    })
}

/// The part of an arena that its owner reads. Made once, by who has all of the arena's rings, so that none gives memory back while a slice
/// of it is borrowed from here.
#[derive(Debug)]
pub(crate) struct View(Arc<Arena>);

impl View {
    pub(crate) fn new(arena: &Arc<Arena>) -> Self {
        Self(Arc::clone(arena))
    }
}

impl Parts for View {
    #[inline]
    fn part(&self, at: usize, bytes: usize) -> Option<&[u8]> {
        if !self.0.is_readable(at, bytes) {
            return None;
        }
        // SAFETY: the range is inside the arena, mapped, and handed over to a ring that has not given it back, as its bits say;
        // that ring belongs to the worker that this value is a part of, and returns nothing while the worker is borrowed.
        Some(unsafe { slice::from_raw_parts(self.0.base.as_ptr().add(at), bytes) })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own, and nothing borrows it any more.
        unsafe { give_up(self.base, self.bytes) };
    }
}

/// A ring's part of an [`Arena`].
#[derive(Debug)]
pub struct ArenaRegion {
    arena: Arc<Arena>,
    at: usize,
    bytes: usize,
}

impl ArenaRegion {
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
        self.hide(0, self.bytes);
        // SAFETY: replaces pages of a place that only its one owner uses.
        unsafe { mapped(self.address(), self.bytes, None) }
    }

    fn mmap(&self, flags: i32, descriptor: i32, offset: i64) -> io::Result<()> {
        self.hide(0, self.bytes);
        // SAFETY: replaces pages of a place that only its one owner uses.
        unsafe { mapped(self.address(), self.bytes, Some((flags, descriptor, offset))) }
    }

    /// Makes two places of it, the first of `bytes`; both in whole pages.
    ///
    /// # Errors
    /// Either would have no page, or not whole ones.
    pub fn split(self, bytes: usize) -> io::Result<(Self, Self)> {
        if bytes == 0 || bytes >= self.bytes || !bytes.is_multiple_of(page_bytes()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a place must be whole pages inside the arena"));
        }
        let second = Self { arena: Arc::clone(&self.arena), at: self.at + bytes, bytes: self.bytes - bytes };
        Ok((Self { bytes, ..self }, second))
    }

    /// The kernel handed these bytes over: they can be read as frames until they are [hidden](Self::hide). Rounded to whole lines
    /// of 64 bytes, outwards.
    pub(crate) fn show(&self, at: usize, bytes: usize) {
        self.mark(at, bytes, |bits, mask| bits | mask);
    }

    /// They go back to the kernel, or are not mapped any more.
    pub(crate) fn hide(&self, at: usize, bytes: usize) {
        self.mark(at, bytes, |bits, mask| bits & !mask);
    }

    fn mark(&self, at: usize, bytes: usize, change: impl Fn(u64, u64) -> u64) {
        let end = at.saturating_add(bytes).min(self.bytes);
        for (word, mask) in masks(self.at + at.min(end), self.at + end) {
            if let Some(bits) = self.arena.readable.get(word) {
                // Of one place, whose owner is the only one who changes them.
                bits.store(change(bits.load(Ordering::Relaxed), mask), Ordering::Relaxed);
            }
        }
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

/// New addresses, of nothing.
#[cfg(not(miri))]
fn reserved(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    checked(unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) })
}

/// Takes such addresses back.
///
/// # Safety
/// They are of [`reserved`], and nothing uses them any more.
#[cfg(not(miri))]
unsafe fn give_up(base: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
}

/// Puts memory (flags, descriptor, offset) in the place of what is mapped there, or nothing.
///
/// # Safety
/// The range is of [`reserved`], and nothing in it is borrowed.
#[cfg(not(miri))]
unsafe fn mapped(address: *mut u8, bytes: usize, memory: Option<(i32, i32, i64)>) -> io::Result<()> {
    let nothing = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0);
    let protection = if memory.is_some() { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    let (flags, descriptor, offset) = memory.unwrap_or(nothing);
    // SAFETY: as the caller promises.
    let at =
        unsafe { libc::mmap(address.cast::<c_void>(), bytes, protection, flags | libc::MAP_FIXED, descriptor, offset) };
    checked(at).map(drop)
}

#[cfg(not(miri))]
fn checked(address: *mut c_void) -> io::Result<NonNull<u8>> {
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Miri has neither addresses without memory nor mappings at a place: there is memory from the beginning.
#[cfg(miri)]
fn layout(bytes: usize) -> io::Result<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(bytes, page_bytes()).map_err(io::Error::other)
}

#[cfg(miri)]
fn reserved(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: the length is not 0.
    let base = unsafe { std::alloc::alloc_zeroed(layout(bytes)?) };
    NonNull::new(base).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(miri)]
unsafe fn give_up(base: NonNull<u8>, bytes: usize) {
    // SAFETY: it was allocated so.
    layout(bytes).map_or((), |layout| unsafe { std::alloc::dealloc(base.as_ptr(), layout) });
}

#[cfg(miri)]
unsafe fn mapped(address: *mut u8, bytes: usize, memory: Option<(i32, i32, i64)>) -> io::Result<()> {
    if memory.is_some_and(|(_, descriptor, _)| descriptor >= 0) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: as the caller promises.
    unsafe { address.write_bytes(0, bytes) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_never_overlap() {
        let page = page_bytes();
        let arena = Arena::reserve(page * 10).unwrap();
        let mut ends = 0;
        for pages in [1, 3, 2] {
            let place = arena.take(page * pages).unwrap();
            assert_eq!((place.at(), place.len()), (ends, page * pages));
            ends += page * pages;
        }
        let (first, second) = arena.take(page * 4).unwrap().split(page).unwrap();
        assert_eq!((first.at(), first.len(), second.at(), second.len()), (ends, page, ends + page, page * 3));
        assert!(arena.take(page).is_err(), "all of it was given out");
        assert!(first.split(page).is_err());
        for bytes in [0, 1, page - 1, usize::MAX, usize::MAX - page + 1] {
            assert!(Arena::reserve(page * 2).unwrap().take(bytes).is_err(), "{bytes}");
        }
    }

    /// Against one bool for each line.
    #[test]
    fn what_is_shown_can_be_read_and_nothing_else() {
        let page = page_bytes();
        let arena = Arena::reserve(page * 4).unwrap();
        drop(arena.take(page).unwrap());
        let place = arena.take(page * 2).unwrap();
        place.allocate().unwrap();
        let view = View::new(&arena);
        let mut model = vec![false; page * 4 / LINE_BYTES];
        let steps = [
            (0, 64, true),
            (64, 1, true),
            (4000, 200, true),
            (100, 20, false),
            (4096, 4096, true),
            (4200, 64, false),
            (0, usize::MAX, true),
            (63, 2, false),
        ];
        for (at, bytes, is_shown) in steps {
            if is_shown {
                place.show(at, bytes);
            } else {
                place.hide(at, bytes);
            }
            let end = at.saturating_add(bytes).min(place.len());
            model[(page + at) / LINE_BYTES..(page + end).div_ceil(LINE_BYTES)].fill(is_shown);
            for line in (0..model.len()).step_by(if cfg!(miri) { 31 } else { 1 }) {
                for lines in [1, 63, 64, 65] {
                    let all = model.get(line..line + lines).is_some_and(|lines| lines.iter().all(|line| *line));
                    assert_eq!(
                        view.part(line * LINE_BYTES, lines * LINE_BYTES).is_some(),
                        all,
                        "{at} {bytes} {line} {lines}"
                    );
                }
                assert_eq!(view.part(line * LINE_BYTES + 63, 1).is_some(), model[line]);
            }
        }
        place.unmap().unwrap();
        assert!(view.part(page, 1).is_none(), "nothing is mapped there any more");
    }
}
