use crate::{Error, limits::PIECE_BYTES};
use tidewire_core::{Batch, Frame};

/// A piece of memory and the frames that lie in it: what a [`Source`] fills, and fills again.
///
/// Reuse blocks (one for one worker, a pool for several): filling one that was used before allocates nothing.
#[derive(Debug, Default)]
pub struct Block {
    /// The memory; only `..filled` holds bytes of the input. Its length is what was allocated, so that it is
    /// cleared once and not for each piece.
    memory: Vec<u8>,
    filled: usize,
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
        Batch { memory: self.memory.get(..self.filled).unwrap_or_default(), frames: &self.frames }
    }

    /// The bytes that this block holds on to, frames included.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.memory.capacity() + self.frames.capacity() * size_of::<Frame>()
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.frames.clear();
    }

    /// The bytes of the input that are in the memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.get(..self.filled).unwrap_or_default()
    }

    /// Both at once: the bytes, and the frames to be noted.
    pub(crate) fn split(&mut self) -> (&[u8], &mut Vec<Frame>) {
        (self.memory.get(..self.filled).unwrap_or_default(), &mut self.frames)
    }

    /// Keeps the frames for which `wanted` says so; it is given their bytes too.
    pub(crate) fn retain(&mut self, mut wanted: impl FnMut(&Frame, &[u8]) -> bool) {
        let Self { memory, filled, frames } = self;
        let memory = memory.get(..*filled).unwrap_or_default();
        frames.retain(|frame| wanted(frame, Batch { memory, frames: &[] }.bytes(frame)));
    }

    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        self.reserve(bytes.len());
        if let Some(room) = self.memory.get_mut(self.filled..end) {
            room.copy_from_slice(bytes);
            self.filled = end;
        }
    }

    /// Room for at least `bytes` after what is there. Grows by what is asked or by half, so that reading a long
    /// record piece by piece copies it a bounded number of times.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.reserve(bytes);
        self.memory.get_mut(self.filled..).and_then(|room| room.get_mut(..bytes)).unwrap_or_default()
    }

    /// Takes the first `bytes` of [`Self::room`] as filled.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.memory.len());
    }

    /// Drops the first `bytes` and moves the rest to the front.
    pub(crate) fn discard_front(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled);
        self.memory.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }

    fn reserve(&mut self, bytes: usize) {
        let needed = self.filled + bytes;
        if needed > self.memory.len() {
            let grown = self.memory.len() + self.memory.len() / 2;
            // A usual first fill is a piece and the rest of a record: allocate for it at once.
            let usual = if bytes == PIECE_BYTES { PIECE_BYTES + (64 << 10) } else { 0 };
            self.memory.resize(needed.max(grown).max(usual), 0);
        }
    }
}

/// Where frames come from, a block at a time.
pub trait Source: Send {
    /// Replaces what is in `block` by the next frames, in order; at least one where it returns true, and false at the
    /// end. `block` may be another one each time: several workers share full blocks while the next is being filled.
    ///
    /// # Errors
    /// Each problem is returned once, after every frame before it was delivered; `block` is then empty. A call after
    /// an error goes on with what is left: the other files of a [`Merge`](crate::Merge), otherwise the end.
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error>;

    /// Bytes read so far from the files as they lie on disk (compressed bytes of a compressed one).
    fn bytes_read(&self) -> u64;

    /// The sizes of all files; none where one is a pipe.
    fn bytes_total(&self) -> Option<u64>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        (**self).fill(block)
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        (**self).bytes_total()
    }
}
