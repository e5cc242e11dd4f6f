use std::{
    io,
    mem::size_of,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

/// One buffer with a frame, or a part of it, in it (`struct xdp_desc`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Descriptor {
    /// Offset of its first byte in the memory.
    pub at: u64,
    /// Bytes.
    pub bytes: u32,
    options: u32,
}

impl Descriptor {
    /// Whether the frame goes on in the next one (`XDP_PKT_CONTD`).
    pub fn goes_on(&self) -> bool {
        self.options & libc::XDP_PKT_CONTD != 0
    }
}

/// A mapped ring of `T`s.
#[derive(Debug)]
struct Mapped<T> {
    base: NonNull<u8>,
    bytes: usize,
    producer: usize,
    consumer: usize,
    flags: usize,
    items: usize,
    entries: u32,
    kind: std::marker::PhantomData<T>,
}

// SAFETY: the mapping belongs to this value; what the kernel shares of it is atomic or handed over by atomics.
unsafe impl<T> Send for Mapped<T> {}

impl<T: Copy> Mapped<T> {
    fn map(
        socket: BorrowedFd<'_>,
        offsets: &libc::xdp_ring_offset,
        page_offset: libc::off_t,
        entries: u32,
    ) -> io::Result<Self> {
        let items = offsets.desc as usize;
        let bytes = items + entries as usize * size_of::<T>();
        let inside = |offset: u64| offset as usize + size_of::<u32>() <= bytes && offset.is_multiple_of(4);
        let aligned = entries.is_power_of_two() && items.is_multiple_of(align_of::<T>());
        if !aligned || ![offsets.producer, offsets.consumer, offsets.flags].into_iter().all(inside) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, socket.as_raw_fd(), page_offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let [producer, consumer, flags] = [offsets.producer, offsets.consumer, offsets.flags].map(|at| at as usize);
        Ok(Self { base, bytes, producer, consumer, flags, items, entries, kind: std::marker::PhantomData })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the offset was checked to be inside the mapping and aligned; the kernel accesses it as an atomic, too.
        unsafe { self.base.add(offset).cast::<AtomicU32>().as_ref() }
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.consumer)
    }

    fn wants_wakeup(&self) -> bool {
        self.word(self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// The item of a number that counts round.
    fn item(&self, number: u32) -> NonNull<T> {
        let index = (number & (self.entries - 1)) as usize;
        // SAFETY: the index is below the number of entries, which the mapping has room for.
        unsafe { self.base.add(self.items + index * size_of::<T>()).cast() }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing borrows it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// The ring by which buffers are given to the kernel. It has room for all buffers that there are.
#[derive(Debug)]
pub(crate) struct FillRing {
    ring: Mapped<u64>,
    /// What is in the ring up to here; the kernel sees it after the producer index is written.
    next: u32,
}

impl FillRing {
    pub(super) fn map(socket: BorrowedFd<'_>, offsets: &libc::xdp_ring_offset, entries: u32) -> io::Result<Self> {
        let ring = Mapped::map(socket, offsets, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, entries)?;
        let next = ring.producer().load(Ordering::Relaxed);
        Ok(Self { ring, next })
    }

    /// Gives these buffers, by any byte in them. Returns how many there was room for.
    pub fn push(&mut self, buffers: &[u64]) -> usize {
        // Acquire: the kernel has read what it consumed, before it is written over.
        let consumed = self.ring.consumer().load(Ordering::Acquire);
        let room = self.ring.entries - self.next.wrapping_sub(consumed).min(self.ring.entries);
        let count = buffers.len().min(room as usize);
        for buffer in buffers.iter().take(count) {
            // SAFETY: the item is inside the mapping, and the kernel reads none behind the producer's number.
            unsafe { self.ring.item(self.next).write(*buffer) };
            self.next = self.next.wrapping_add(1);
        }
        // Release: the items are written before the kernel sees the number.
        self.ring.producer().store(self.next, Ordering::Release);
        count
    }

    /// Whether the driver waits to be woken up before it looks at this ring.
    pub fn wants_wakeup(&self) -> bool {
        self.ring.wants_wakeup()
    }
}

/// The ring in which the kernel tells of frames. What was read stays in it until it is released.
#[derive(Debug)]
pub(crate) struct RxRing {
    ring: Mapped<Descriptor>,
    /// The oldest that was read and not released.
    released: u32,
    /// The next to be read.
    next: u32,
    /// The first that the kernel had not yet written when we looked.
    known: u32,
}

impl RxRing {
    pub(super) fn map(socket: BorrowedFd<'_>, offsets: &libc::xdp_ring_offset, entries: u32) -> io::Result<Self> {
        let ring: Mapped<Descriptor> = Mapped::map(socket, offsets, libc::XDP_PGOFF_RX_RING, entries)?;
        let at = ring.consumer().load(Ordering::Relaxed);
        Ok(Self { ring, released: at, next: at, known: at })
    }

    /// How many there are to be read.
    pub fn available(&mut self) -> u32 {
        // Acquire: the items were written before the number.
        self.known = self.ring.producer().load(Ordering::Acquire);
        self.known.wrapping_sub(self.next)
    }

    /// The `index`-th to be read, of those that [`available`](Self::available) counted.
    pub fn peek(&self, index: u32) -> Option<Descriptor> {
        (index < self.known.wrapping_sub(self.next)).then(|| self.read(self.next.wrapping_add(index)))
    }

    /// The next `count` have been read.
    pub fn advance(&mut self, count: u32) {
        self.next = self.next.wrapping_add(count.min(self.known.wrapping_sub(self.next)));
    }

    /// The `index`-th of those that were read and not released.
    pub fn held(&self, index: u32) -> Option<Descriptor> {
        (index < self.held_count()).then(|| self.read(self.released.wrapping_add(index)))
    }

    /// How many were read and not released.
    pub fn held_count(&self) -> u32 {
        self.next.wrapping_sub(self.released)
    }

    /// The kernel may write over the oldest `count` that were read.
    pub fn release(&mut self, count: u32) {
        self.released = self.released.wrapping_add(count.min(self.held_count()));
        // Release: they have been read before the kernel sees the number.
        self.ring.consumer().store(self.released, Ordering::Release);
    }

    /// How many entries the kernel cannot use, as far as we looked: not yet read, or not released.
    pub fn used(&self) -> u32 {
        self.known.wrapping_sub(self.released)
    }

    /// How many entries there are.
    pub fn entries(&self) -> u32 {
        self.ring.entries
    }

    fn read(&self, number: u32) -> Descriptor {
        // SAFETY: the item is inside the mapping; between the released and the known the kernel does not write.
        unsafe { self.ring.item(number).read() }
    }
}
