use super::{Bytes, Stop, feed::Feed};
use crate::limits::XZ_MEMORY_KIB_MAX;
use lzma_rust2::{Action, Status, XzStream};

/// Compressed bytes that the decoder gets at once. A call that meets damage throws away what it produced: fewer bytes lose
/// less, at no cost that can be measured; and what follows the end of a stream, whose last 20 bytes are no data, is never in a
/// call with data. Calls are the same however the bytes arrive, so that the same bytes always give the same packets.
const INPUT_BYTES: usize = 16;

/// Bytes of output of one call at most.
const OUTPUT_BYTES: usize = 64 << 10;

/// An xz stream of any number of streams (the .xz file format 1.2.1).
pub(super) struct Xz {
    feed: Feed,
    decoder: XzStream,
    input: Vec<u8>,
    /// How much of `input` the decoder took.
    taken: usize,
    output: Vec<u8>,
    /// The part of `output` that was not delivered.
    from: usize,
    to: usize,
    ended: bool,
}

impl Xz {
    pub fn new(stream: Box<dyn Bytes>) -> Self {
        Self {
            feed: Feed::new(stream, ("xz", "xz -dc")),
            decoder: XzStream::new_mem_limit(true, XZ_MEMORY_KIB_MAX),
            input: Vec::with_capacity(INPUT_BYTES),
            taken: 0,
            output: vec![0; OUTPUT_BYTES],
            from: 0,
            to: 0,
            ended: false,
        }
    }

    /// Fills `input` again.
    fn refill(&mut self) -> Result<(), Stop> {
        self.input.clear();
        self.taken = 0;
        while self.input.len() < INPUT_BYTES {
            let there = self.feed.bytes()?;
            let bytes = there.len().min(INPUT_BYTES - self.input.len());
            if bytes == 0 {
                break;
            }
            self.input.extend_from_slice(there.get(..bytes).unwrap_or_default());
            self.feed.take(bytes);
        }
        Ok(())
    }

    /// Decodes until there is output, or the end.
    fn decode(&mut self) -> Result<(), Stop> {
        (self.from, self.to) = (0, 0);
        while self.to == 0 && !self.ended {
            if self.taken == self.input.len() {
                self.refill()?;
            }
            let input = self.input.get(self.taken..).unwrap_or_default();
            let action = if input.is_empty() { Action::Finish } else { Action::Run };
            let result = self.decoder.process(input, &mut self.output, action).map_err(|error| {
                self.ended = true;
                stop(&error, action)
            })?;
            self.taken += result.bytes_consumed;
            self.to = result.bytes_produced;
            self.feed.produce(self.to);
            if result.status == Status::StreamEnd {
                self.ended = true;
            } else if result.bytes_consumed == 0 && result.bytes_produced == 0 {
                self.ended = true;
                return Err(Stop::Damaged(if action == Action::Finish { CUT } else { DAMAGED }.to_owned()));
            }
        }
        Ok(())
    }
}

const CUT: &str = "the xz data is cut";
const DAMAGED: &str = "the xz data is damaged";

fn stop(error: &std::io::Error, action: Action) -> Stop {
    Stop::Damaged(match error.kind() {
        std::io::ErrorKind::OutOfMemory => format!(
            "the xz data needs more than {} MiB of memory (a dictionary beyond xz -9); unpack it first, as in: xz -dc FILE | tidewire ... -",
            XZ_MEMORY_KIB_MAX >> 10
        ),
        std::io::ErrorKind::UnexpectedEof => CUT.to_owned(),
        _ if action == Action::Finish => CUT.to_owned(),
        _ => format!("{DAMAGED}: {error}"),
    })
}

impl Bytes for Xz {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        if self.from == self.to {
            self.decode()?;
        }
        let there = self.output.get(self.from..self.to).unwrap_or_default();
        let bytes = there.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..bytes), there.get(..bytes)) {
            to.copy_from_slice(from);
        }
        self.from += bytes;
        Ok(bytes)
    }
}
