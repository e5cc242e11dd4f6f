use std::{
    io,
    mem::size_of,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::NonNull,
};

use super::{
    atomic::{AtomicU32, Ordering},
    cursor::{Consumer, Producer},
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
    /// Whether the frame continues in the next descriptor (`XDP_PKT_CONTD`).
    pub fn goes_on(&self) -> bool {
        self.options & libc::XDP_PKT_CONTD != 0
    }
}

/// A mapped ring of `T`s.
#[derive(Debug)]
struct MmapRing<T> {
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
unsafe impl<T> Send for MmapRing<T> {}

impl<T: Copy> MmapRing<T> {
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

    /// The item of an entry.
    fn item(&self, entry: u32) -> NonNull<T> {
        let entry = (entry & (self.entries - 1)) as usize;
        // SAFETY: the entry is below the number of entries, which the mapping has room for.
        unsafe { self.base.add(self.items + entry * size_of::<T>()).cast() }
    }
}

impl<T> Drop for MmapRing<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing borrows it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// The ring by which buffers are given to the kernel. It has room for all buffers that there are.
#[derive(Debug)]
pub(crate) struct FillRing {
    ring: MmapRing<u64>,
    cursor: Producer,
}

impl FillRing {
    pub(super) fn map(socket: BorrowedFd<'_>, offsets: &libc::xdp_ring_offset, entries: u32) -> io::Result<Self> {
        let ring = MmapRing::map(socket, offsets, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, entries)?;
        let cursor = Producer::new(entries, ring.producer());
        Ok(Self { ring, cursor })
    }

    /// Gives these buffers, by any byte in them. Returns how many there was room for.
    pub fn push(&mut self, buffers: &[u64]) -> usize {
        let Self { ring, cursor } = self;
        cursor.push(ring.producer(), ring.consumer(), buffers.len(), |entry, item| {
            if let Some(buffer) = buffers.get(item) {
                // SAFETY: the item is inside the mapping, and the kernel reads none behind the producer's number.
                unsafe { ring.item(entry).write(*buffer) };
            }
        })
    }

    /// Whether the driver waits to be woken up before it looks at this ring.
    pub fn wants_wakeup(&self) -> bool {
        self.ring.wants_wakeup()
    }
}

/// The ring in which the kernel announces frames. Entries stay until they are released.
#[derive(Debug)]
pub(crate) struct RxRing {
    ring: MmapRing<Descriptor>,
    cursor: Consumer,
}

impl RxRing {
    pub(super) fn map(socket: BorrowedFd<'_>, offsets: &libc::xdp_ring_offset, entries: u32) -> io::Result<Self> {
        let ring: MmapRing<Descriptor> = MmapRing::map(socket, offsets, libc::XDP_PGOFF_RX_RING, entries)?;
        let cursor = Consumer::new(entries, ring.consumer());
        Ok(Self { ring, cursor })
    }

    /// How many there are to be read.
    pub fn available(&mut self) -> u32 {
        self.cursor.available(self.ring.producer())
    }

    /// The `index`-th to be read, of those that [`available`](Self::available) counted.
    pub fn peek(&self, index: u32) -> Option<Descriptor> {
        self.cursor.peek(index).map(|entry| self.read(entry))
    }

    /// The next `count` have been read.
    pub fn advance(&mut self, count: u32) {
        self.cursor.advance(count);
    }

    /// The `index`-th of those that were read and not released.
    pub fn held(&self, index: u32) -> Option<Descriptor> {
        self.cursor.held(index).map(|entry| self.read(entry))
    }

    /// How many were read and not released.
    pub fn held_count(&self) -> u32 {
        self.cursor.held_count()
    }

    /// The kernel may write over the oldest `count` that were read.
    pub fn release(&mut self, count: u32) {
        self.cursor.release(self.ring.consumer(), count);
    }

    /// How many entries the kernel cannot use, as far as we looked: not yet read, or not released.
    pub fn used(&self) -> u32 {
        self.cursor.used()
    }

    /// How many entries there are.
    pub fn entries(&self) -> u32 {
        self.ring.entries
    }

    fn read(&self, entry: u32) -> Descriptor {
        // SAFETY: the item is inside the mapping; between the released and the known the kernel does not write.
        unsafe { self.ring.item(entry).read() }
    }
}
