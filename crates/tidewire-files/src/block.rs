use std::{fmt, time::Duration};

use crate::{
    Error,
    encode::Interface,
    limits::{BLOCK_BYTES_MAX, PAGE_BYTES},
    pcapng::CaptureLoss,
    supplement::Supplement,
};
use tidewire_wire::{Batch, Frame, PacketClock, PacketLoss};

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
    losses: Vec<PacketLoss>,
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
        Batch::new(self.bytes(), &self.frames)
    }

    /// Packets that the capture lost before its frames, by its own account, in their order.
    #[must_use]
    pub fn losses(&self) -> &[PacketLoss] {
        &self.losses
    }

    /// Notes packets that were lost before one of its frames, or before one that was left out of it.
    pub fn push_loss(&mut self, loss: PacketLoss) {
        self.losses.push(loss);
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
        self.losses.clear();
    }

    /// Appends a frame with its `bytes`, as a [`Source`] of another crate does. `at` and `captured_bytes` are set here, and
    /// `wire_bytes` is raised to `captured_bytes` if it is less; number, times and the rest stay as given.
    ///
    /// # Errors
    /// [`BlockFull`] if the block would be larger than 256 MiB, frames included; it is then unchanged. Deliver the block,
    /// and begin the next one with this frame.
    pub fn push(&mut self, frame: Frame, bytes: &[u8]) -> Result<(), BlockFull> {
        let at = self.bytes().len();
        let used = at.saturating_add((self.frames.len() + 1) * size_of::<Frame>());
        if bytes.len() > BLOCK_BYTES_MAX.saturating_sub(used) {
            return Err(BlockFull { bytes: bytes.len() });
        }
        self.append(bytes);
        let captured_bytes = bytes.len() as u32;
        let wire_bytes = frame.wire_bytes.max(captured_bytes);
        self.frames.push(frame.with_place(at as u32, captured_bytes).with_wire_bytes(wire_bytes));
        Ok(())
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
        let Self { memory, start, end, frames, .. } = self;
        let memory = memory.get(*start..*end).unwrap_or_default();
        frames.retain(|frame| wanted(frame, Batch::new(memory, &[]).bytes(frame)));
    }

    /// Corrects the clocks of the frames, before they are handed out (see [`PacketClock::settle`]). `number`: of the
    /// first, as the clock counts them.
    pub fn settle(&mut self, clock: &mut PacketClock, number: u64) {
        clock.settle(&mut self.frames, number);
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

/// A [`Block`] has no room for a frame: see [`Block::push`] and [`FrameCounter::push`](crate::FrameCounter::push).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockFull {
    /// Bytes of the frame.
    pub bytes: usize,
}

impl fmt::Display for BlockFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the block has no room for a frame of {} bytes", self.bytes)
    }
}

impl std::error::Error for BlockFull {}

/// Where frames come from, a block at a time.
///
/// A source of your own appends its frames with a [`FrameCounter`](crate::FrameCounter), or with [`Block::push`] if they have numbers and
/// clocks already:
///
/// ```
/// use std::collections::VecDeque;
/// use tidewire_files::{Block, Error, FrameCounter, Source};
/// use tidewire_wire::{Frame, LinkType, Timestamp};
///
/// /// Packets that the program already has.
/// struct Packets {
///     waiting: VecDeque<(Timestamp, Vec<u8>)>,
///     counter: FrameCounter,
/// }
///
/// impl Source for Packets {
///     fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
///         block.clear();
///         while let Some((timestamp, bytes)) = self.waiting.front() {
///             if self.counter.push(block, Frame::new(LinkType::ETHERNET, *timestamp), bytes).is_err() {
///                 break; // Full: the rest follows in the next block.
///             }
///             self.waiting.pop_front();
///         }
///         Ok(!block.batch().frames.is_empty())
///     }
/// }
///
/// let waiting = [vec![0; 60], vec![1; 1500]].map(|bytes| (Timestamp::UNIX_EPOCH, bytes)).into();
/// let mut source = Packets { waiting, counter: FrameCounter::new() };
/// let mut block = Block::new();
/// assert!(source.fill(&mut block)?);
/// let batch = block.batch();
/// assert_eq!(batch.frames[1].number, 2);
/// assert_eq!(batch.bytes(&batch.frames[1]), [1; 1500]);
/// assert!(!source.fill(&mut block)?);
/// # Ok::<(), Error>(())
/// ```
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

    /// Interfaces that were described in what the last [`fill`](Self::fill) read, by their number in frames: before the first of
    /// their frames, or with it.
    fn described(&mut self) -> Vec<(u16, Interface)> {
        Vec::new()
    }

    /// Gathers comments of packets from now on.
    fn keep_comments(&mut self) {}

    /// Comments of the packets that the last [`fill`](Self::fill) read, by frame number: encoded as options of pcapng, little-endian,
    /// without the end of options.
    fn comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }

    /// Texts of sections, secrets and names of pcapng in what the last [`fill`](Self::fill) read: they belong before its packets.
    fn supplements(&mut self) -> Vec<Supplement> {
        Vec::new()
    }

    /// Packets that captures lost before they were written, as the files read so far say themselves: by interface, those that lost any.
    fn losses(&self) -> Vec<CaptureLoss> {
        Vec::new()
    }

    /// Bytes read so far from the files as they lie on disk (compressed bytes of a compressed one); 0 without files.
    fn bytes_read(&self) -> u64 {
        0
    }

    /// The sizes of all files; none where one is a pipe, and without files.
    fn bytes_total(&self) -> Option<u64> {
        None
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        (**self).fill(block)
    }

    fn wait(&mut self, most: Duration) -> bool {
        (**self).wait(most)
    }

    fn described(&mut self) -> Vec<(u16, Interface)> {
        (**self).described()
    }

    fn keep_comments(&mut self) {
        (**self).keep_comments();
    }

    fn comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        (**self).comments()
    }

    fn supplements(&mut self) -> Vec<Supplement> {
        (**self).supplements()
    }

    fn losses(&self) -> Vec<CaptureLoss> {
        (**self).losses()
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        (**self).bytes_total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewire_wire::{LinkType, Timestamp};

    #[test]
    fn a_full_block_refuses_a_frame_and_stays_as_it_is() {
        let frame = Frame::new(LinkType::ETHERNET, Timestamp::UNIX_EPOCH).with_place(7, 7).with_wire_bytes(1);
        let mut block = Block::new();
        for bytes in [b"first", b"other"] {
            block.push(frame, bytes).unwrap();
        }
        let large = vec![0; BLOCK_BYTES_MAX - 10 - 3 * size_of::<Frame>() + 1];
        assert_eq!(block.push(frame, &large), Err(BlockFull { bytes: large.len() }));
        let batch = block.batch();
        let read: Vec<_> = batch.frames.iter().map(|frame| (frame.wire_bytes, batch.bytes(frame))).collect();
        assert_eq!(read, [(5, &b"first"[..]), (5, b"other")]);
        // A counter counts what was accepted.
        let mut counter = crate::FrameCounter::new();
        assert!(counter.push(&mut block, frame, &large).is_err());
        assert!(counter.push(&mut block, frame, b"third").is_ok());
        assert_eq!(block.batch().frames.last().map(|frame| frame.number), Some(1));
        // Blocks of many frames have the size of those of readers; one frame may be larger.
        let mut block = Block::new();
        assert!(counter.push(&mut block, frame, &[0; 1 << 20]).is_ok());
        assert_eq!(counter.push(&mut block, frame, b"x"), Err(BlockFull { bytes: 1 }));
        block.clear();
        let count = (0..).take_while(|_| counter.push(&mut block, frame, &[0; 1000]).is_ok()).count();
        assert!((200..=262).contains(&count), "{count}");
    }
}
