//! Buffers between capture and disk, of which there are so many.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tidewire_archive::{Checksums, Compression, FRAME_BYTES, alignment_gap, compress_frame};

use crate::PRIORITIES_MAX;

/// Bytes of a buffer: one write. Packets that are larger have a buffer of their own.
pub(crate) const BUFFER_BYTES: usize = 1 << 20;
/// With room for its content to begin where it can be written from.
const CAPACITY: usize = BUFFER_BYTES + 4096 + ENDING_BYTES;
/// Room for descriptions and statistics of interfaces behind packets.
const ENDING_BYTES: usize = 16 << 10;

/// Blocks on their way to disk.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// Storage of blocks: they begin at `start`.
    pub bytes: Vec<u8>,
    start: usize,
    /// Packets in it by priority, and their bytes on the wire: what is lost if it cannot be written.
    pub packets: [(u64, u64); PRIORITIES_MAX],
    /// The bytes of its blocks, where its content is a compressed frame of them.
    pub plain_bytes: Option<u32>,
    /// Of its content, once that is whole; none where the segment does not hold it as it is.
    pub checksums: Checksums,
}

impl Buffer {
    /// Memory as that of a buffer, for [`compress`](Self::compress).
    pub fn spare() -> Vec<u8> {
        Vec::with_capacity(CAPACITY)
    }

    /// Begins a buffer whose content is to lie from `offset` on in its file.
    pub fn begin(&mut self, offset: u64) {
        self.start = alignment_gap(self.bytes.as_ptr() as usize, offset);
        self.bytes.clear();
        self.bytes.resize(self.start, 0);
    }

    /// The blocks, or a compressed frame of them.
    pub fn content(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Computes the checksums of the blocks.
    pub fn compute_checksums(&mut self) {
        self.checksums.compute(self.bytes.get(self.start..).unwrap_or_default());
    }

    /// Makes its content a compressed frame of its blocks; `spare` is exchanged for the memory of the blocks. Where the compressor fails, or
    /// there is too little for a frame, it stays as it is.
    pub fn compress(&mut self, compression: Compression, spare: &mut Vec<u8>) {
        let blocks = self.bytes.get(self.start..).unwrap_or_default();
        // Blocks that come before it is full join other buffers in a frame.
        if !(FRAME_BYTES / 2..=FRAME_BYTES).contains(&blocks.len()) {
            return;
        }
        if compress_frame(compression, blocks, spare).is_ok() {
            self.plain_bytes = Some(blocks.len() as u32);
            std::mem::swap(&mut self.bytes, spare);
            self.start = 0;
        }
    }

    /// Whether so many bytes more are no more than one write.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        let taken = self.bytes.len() - self.start;
        taken == 0 || taken + bytes <= BUFFER_BYTES
    }

    /// Counts a packet that was appended.
    #[inline]
    pub fn count(&mut self, priority: u8, wire_bytes: u64) {
        let place = &mut self.packets[usize::from(priority) % PRIORITIES_MAX];
        place.0 += 1;
        place.1 += wire_bytes;
    }
}

/// The buffers of a worker. The one used last is taken first: it is still in the cache.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    released: Condvar,
    most: usize,
}

#[derive(Debug)]
struct State {
    free: Vec<Buffer>,
    taken: usize,
}

impl Pool {
    /// A pool of so many bytes; buffers are made when they are needed.
    pub fn new(bytes: u64) -> Self {
        let most = (bytes / BUFFER_BYTES as u64).max(4) as usize;
        let state = Mutex::new(State { free: Vec::new(), taken: 0 });
        Self { state, released: Condvar::new(), most }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer; `None`: all are on their way.
    pub fn take(&self) -> Option<Buffer> {
        let mut state = self.lock();
        if state.taken >= self.most {
            return None;
        }
        state.taken += 1;
        let free = state.free.pop();
        drop(state);
        Some(free.unwrap_or_else(|| Buffer { bytes: Buffer::spare(), ..Buffer::default() }))
    }

    /// A buffer, once there is one.
    pub fn wait(&self) -> Buffer {
        loop {
            if let Some(buffer) = self.wait_for(Duration::from_secs(1)) {
                return buffer;
            }
        }
    }

    /// A buffer, if there is one before `most` has passed.
    pub fn wait_for(&self, most: Duration) -> Option<Buffer> {
        let state = self.lock();
        let waited = self.released.wait_timeout_while(state, most, |state| state.taken >= self.most);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.take()
    }

    /// Releases a buffer.
    pub fn release(&self, mut buffer: Buffer) {
        buffer.bytes.clear();
        buffer.bytes.shrink_to(CAPACITY);
        buffer.start = 0;
        buffer.packets = Default::default();
        buffer.plain_bytes = None;
        buffer.checksums.clear();
        let mut state = self.lock();
        state.taken = state.taken.saturating_sub(1);
        state.free.push(buffer);
        drop(state);
        self.released.notify_one();
    }

    /// The share of buffers that are on their way, in thousandths.
    pub fn level_permille(&self) -> u32 {
        (self.lock().taken * 1000 / self.most) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_so_many_buffers_and_the_last_is_taken_first() {
        let pool = Pool::new(4 * BUFFER_BYTES as u64);
        let mut taken: Vec<Buffer> = (0..4).map(|_| pool.take().expect("a buffer")).collect();
        assert!(pool.take().is_none());
        assert_eq!(pool.level_permille(), 1000);
        let mut last = taken.pop().expect("a buffer");
        last.bytes.push(1);
        last.count(7, 60);
        let place = last.bytes.as_ptr();
        pool.release(taken.remove(0));
        pool.release(last);
        let again = pool.take().expect("a buffer");
        assert_eq!(again.bytes.as_ptr(), place);
        assert_eq!((again.bytes.len(), again.packets[7]), (0, (0, 0)));
        assert_eq!(pool.wait().bytes.len(), 0);
        assert!(pool.take().is_none());
    }

    #[test]
    fn a_buffer_that_is_full_becomes_a_frame_and_another_one_stays() {
        let pool = Pool::new(4 * BUFFER_BYTES as u64);
        let mut spare = Buffer::spare();
        for (bytes, is_frame) in [(1000, false), (BUFFER_BYTES - 7, true), (BUFFER_BYTES + 1, false)] {
            let mut buffer = pool.take().expect("a buffer");
            buffer.begin(77);
            buffer.bytes.resize(buffer.start + bytes, 5);
            buffer.compress(Compression::Zstd, &mut spare);
            assert_eq!(buffer.plain_bytes, is_frame.then_some(bytes as u32));
            assert!((buffer.content().len() < bytes) == is_frame, "{bytes} bytes");
            assert!(spare.capacity() >= CAPACITY && buffer.bytes.capacity() >= CAPACITY);
            pool.release(buffer);
        }
        assert_eq!(pool.take().expect("a buffer").plain_bytes, None);
    }

    #[test]
    fn a_buffer_that_is_released_ends_waiting() {
        let pool = Pool::new(4 * BUFFER_BYTES as u64);
        let mut taken: Vec<Buffer> = (0..4).map(|_| pool.take().expect("a buffer")).collect();
        assert!(pool.wait_for(Duration::from_millis(1)).is_none());
        std::thread::scope(|scope| {
            let begun = std::time::Instant::now();
            let waiting = scope.spawn(|| pool.wait_for(Duration::from_secs(600)));
            pool.release(taken.pop().expect("a buffer"));
            assert!(waiting.join().expect("no panic").is_some());
            assert!(begun.elapsed() < Duration::from_secs(300), "it did not sleep through");
        });
    }
}
