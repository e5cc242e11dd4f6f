use tidewire_wire::{Frame, PacketClock};

use crate::{Block, block::BlockFull, limits::PIECE_BYTES};

/// Numbers the frames of a [`Source`](crate::Source) of your own, and keeps their clock.
///
/// ```
/// use tidewire_files::{Block, FrameCounter};
/// use tidewire_wire::{Frame, LinkType, Timestamp};
///
/// let (mut block, mut counter) = (Block::new(), FrameCounter::new());
/// for (nanoseconds, bytes) in [(7, [0; 60]), (5, [1; 60])] {
///     let frame = Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(nanoseconds));
///     counter.push(&mut block, frame, &bytes).expect("room");
/// }
/// let late = block.batch().frames[1];
/// assert_eq!((late.number, late.timestamp.as_nanos(), late.clock.as_nanos()), (2, 5, 7));
/// ```
#[derive(Clone, Debug, Default)]
pub struct FrameCounter {
    number: u64,
    clock: PacketClock,
}

impl FrameCounter {
    /// No frame was counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a frame with its `bytes` to a block: as [`Block::push`], with the next number, and the clock that follows from the times so
    /// far ([`PacketClock`]).
    ///
    /// # Errors
    /// [`BlockFull`]: the block has 256 KiB, frames included, which stay in a processor's cache (a frame by itself may be larger). Block and
    /// counter are then unchanged. Return the block, and begin the next one with this frame.
    pub fn push(&mut self, block: &mut Block, frame: Frame, bytes: &[u8]) -> Result<(), BlockFull> {
        let used = block.bytes().len() + block.frames.len() * size_of::<Frame>();
        if !block.frames.is_empty() && used + size_of::<Frame>() + bytes.len() > PIECE_BYTES {
            return Err(BlockFull { bytes: bytes.len() });
        }
        let number = self.number.saturating_add(1);
        block.push(frame.with_number(number), bytes)?;
        let clock = self.clock.advance(frame.timestamp, number);
        if let Some(last) = block.frames.last_mut() {
            last.clock = clock;
        }
        self.number = number;
        Ok(())
    }
}
