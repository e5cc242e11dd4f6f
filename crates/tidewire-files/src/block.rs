use std::time::Duration;

use crate::{Error, limits::PAGE_BYTES};
use tidewire_wire::{Batch, Frame};

/// A piece of memory and the frames that lie in it: what a [`Source`] fills, and fills again.
///
/// Reuse blocks (one for one worker, a pool for several): filling one that was used before allocates nothing.
#[derive(Debug, Default)]
pub struct Block {
    /// The memory; only `start..end` holds bytes of the input. Its length is what was allocated, so that it is
    /// cleared once and not for each piece.
    memory: Vec<u8>,
    start: usize,
    end: usize,
    pub(crate) frames: Vec<Frame>,
}

impl Block {
    /// An empty block; its memory is allocated when it is filled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The frames and their memory.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        Batch { memory: self.bytes().into(), frames: &self.frames }
    }

    /// The bytes that this block holds on to, frames included.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.memory.capacity() + self.frames.capacity() * size_of::<Frame>()
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
        self.frames.clear();
    }

    /// The bytes of the input that are in the memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.end).unwrap_or_default()
    }

    /// Both at once: the bytes, and the frames to be noted.
    pub(crate) fn split(&mut self) -> (&[u8], &mut Vec<Frame>) {
        (self.memory.get(self.start..self.end).unwrap_or_default(), &mut self.frames)
    }

    /// Keeps the frames for which `wanted` says so; it is given their bytes too.
    pub fn retain(&mut self, mut wanted: impl FnMut(&Frame, &[u8]) -> bool) {
        let Self { memory, start, end, frames } = self;
        let memory = memory.get(*start..*end).unwrap_or_default();
        frames.retain(|frame| wanted(frame, Batch { memory: memory.into(), frames: &[] }.bytes(frame)));
    }

    /// Begins with `bytes`, so placed that what is read after them begins at a page of memory: the kernel copies
    /// whole pages to whole pages 5 % faster than to anywhere else.
    pub(crate) fn begin(&mut self, bytes: &[u8], piece_bytes: usize) {
        self.clear();
        self.reserve(bytes.len() + PAGE_BYTES + piece_bytes);
        let into_page = (self.memory.as_ptr() as usize + bytes.len()) % PAGE_BYTES;
        self.start = (PAGE_BYTES - into_page) % PAGE_BYTES;
        self.end = self.start;
        self.append(bytes);
    }

    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Room for `bytes` after what is there.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.reserve(bytes);
        self.memory.get_mut(self.end..self.end + bytes).unwrap_or_default()
    }

    /// Takes the first `bytes` of [`Self::room`] as filled.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.memory.len());
    }

    /// Drops the first `bytes`.
    pub(crate) fn discard_front(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Sees to it that `bytes` fit after what is there: makes use of what was dropped in front, else grows by half
    /// at least, so that reading a long record piece by piece copies it a bounded number of times.
    fn reserve(&mut self, bytes: usize) {
        if self.end + bytes <= self.memory.len() {
            return;
        }
        self.memory.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end + bytes > self.memory.len() {
            let grown = self.memory.len() + self.memory.len() / 2;
            self.memory.resize((self.end + bytes).max(grown), 0);
        }
    }
}

/// Where frames come from, a block at a time.
pub trait Source: Send {
    /// Replaces what is in `block` by the next frames, in order; false at the end. Where much was read and held no frame (a
    /// filter wants none of it), or no more came of one that has begun, it returns true with an empty block, so that the
    /// caller can end the reading. `block` may be another one each time: several workers share full blocks while the next
    /// is being filled.
    ///
    /// # Errors
    /// Each problem is returned once, after every frame before it was delivered; `block` is then empty. A call after
    /// an error goes on with what is left: the other files of a [`Merge`](crate::Merge), otherwise the end.
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error>;

    /// Waits until [`fill`](Self::fill) has something to read, at most so long; false: nothing came. A source that cannot
    /// say returns true, and `fill` waits.
    fn wait(&mut self, most: Duration) -> bool {
        let _ = most;
        true
    }

    /// Bytes read so far from the files as they lie on disk (compressed bytes of a compressed one).
    fn bytes_read(&self) -> u64;

    /// The sizes of all files; none where one is a pipe.
    fn bytes_total(&self) -> Option<u64>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        (**self).fill(block)
    }

    fn wait(&mut self, most: Duration) -> bool {
        (**self).wait(most)
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        (**self).bytes_total()
    }
}
