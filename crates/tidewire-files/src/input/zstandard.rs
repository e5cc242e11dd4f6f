use super::{Bytes, Stop, feed::Feed};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes that determine the length of a frame's header.
const FRAME_HEADER_PREFIX_BYTES: usize = 5;

/// libzstd asks for a block together with the header of the next one.
const BLOCK_HEADER_BYTES: usize = 3;

/// A Zstandard stream of any number of frames (RFC 8878).
///
/// libzstd takes windows of at most 128 MiB (`zstd --long=27`) unless configured otherwise, which bounds its memory. Each
/// call is given one block of input at most: a call that meets damage throws away what it produced, so that larger
/// ones would lose the blocks before.
pub(super) struct Zstandard {
    feed: Feed,
    decoder: Decoder<'static>,
    /// Bytes that the next call wants: the rest of a header or block. 0: a frame ended.
    wanted: usize,
    /// The last call filled all the room it was given and may have more.
    more_within: bool,
}

impl Zstandard {
    pub fn new(stream: Box<dyn Bytes>) -> Result<Self, Stop> {
        let decoder = Decoder::new().map_err(Stop::Failed)?;
        Ok(Self { feed: Feed::new(stream, ("zstd", "zstd -dc")), decoder, wanted: 0, more_within: false })
    }
}

impl Bytes for Zstandard {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            let wanted = match self.wanted {
                0 => FRAME_HEADER_PREFIX_BYTES,
                1..=BLOCK_HEADER_BYTES => self.wanted,
                // A header that is damaged must not take the block before it away.
                block_and_header => block_and_header - BLOCK_HEADER_BYTES,
            };
            let mut input = &[][..];
            if !self.more_within {
                let there = self.feed.bytes()?;
                if there.is_empty() {
                    let cut = || Stop::Damaged("the zstd data is cut".to_owned());
                    return if self.wanted == 0 { Ok(0) } else { Err(cut()) };
                }
                input = there.get(..wanted.min(there.len())).unwrap_or_default();
            }
            let mut input = InBuffer::around(input);
            let mut output = OutBuffer::around(&mut *room);
            let result = self.decoder.run(&mut input, &mut output);
            let (consumed, produced) = (input.pos(), output.pos());
            self.wanted = result.map_err(|error| Stop::Damaged(format!("the zstd data is damaged: {error}")))?;
            self.more_within = produced == room.len() && self.wanted != 0;
            self.feed.take(consumed);
            self.feed.produce(produced);
            if self.wanted == 0 {
                self.feed.end_part();
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }
}
