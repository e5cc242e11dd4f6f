//! From a stream's bytes and gaps to the fields of its protocol.

use tidewire_core::{Chunk, Direction, Gap, GapCause, Stream, TcpState, Timestamp};
use tidewire_protocols::{App, Budget, Conversation, Piece, Ports, Report};

/// State of a stream ([`Handler::Data`](crate::Handler::Data)) that has a conversation in it.
pub trait HasConversation {
    /// The conversation.
    fn conversation(&mut self) -> &mut Conversation;
}

impl HasConversation for Conversation {
    fn conversation(&mut self) -> &mut Conversation {
        self
    }
}

/// A conversation beside other state.
impl<T> HasConversation for (Conversation, T) {
    fn conversation(&mut self) -> &mut Conversation {
        &mut self.0
    }
}

/// Reads the protocol fields of a worker's streams: what a [`Handler`](crate::Handler) passes its calls to, in their order. Its memory
/// is bounded for all streams together.
///
/// The cheapest order within [`Handler::data`](crate::Handler::data): [`passes_over`](Self::passes_over) first, which most bytes end
/// with, then [`data`](Self::data).
#[derive(Debug, Default)]
pub struct ProtocolReader {
    budget: Budget,
}

impl ProtocolReader {
    /// A reader whose streams hold at most so many bytes together. The default is 64 MiB.
    #[must_use]
    pub fn new(memory_bytes: u64) -> Self {
        Self { budget: Budget::new(memory_bytes) }
    }

    /// The part of a run's memory that protocol fields get, bytes: three eighths. The first requests of a connection and their
    /// answers are about as large as the state of its reassembly.
    #[must_use]
    pub fn part_of(memory_bytes: u64) -> u64 {
        memory_bytes / 8 * 3
    }

    /// Whether bytes carry no protocol field: most are within a body, or of a protocol whose fields are known. `false`: pass them to
    /// [`data`](Self::data).
    #[inline]
    pub fn passes_over<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>) -> bool {
        let conversation = stream.data().conversation();
        conversation.is_over()
            || conversation.take_body(
                chunk.direction,
                chunk.fresh().len(),
                Timestamp::from_nanos(chunk.timestamp.as_nanos()),
                &mut self.budget,
            )
    }

    /// Takes the bytes of a stream, in order. What they complete goes to `report`.
    pub fn data<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>, report: &mut Report<'_>) {
        let key = stream.key();
        let piece = Piece {
            direction: chunk.direction,
            bytes: chunk.fresh(),
            is_datagram: chunk.is_datagram,
            timestamp: chunk.timestamp,
        };
        let ports = Ports { client: key.client.port, server: key.server.port };
        if stream.state() == TcpState::Midstream {
            stream.data().conversation().joined();
        }
        stream.data().conversation().data(&piece, ports, &mut self.budget, report);
    }

    /// Takes a gap in the bytes of a stream.
    pub fn gap<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, gap: &Gap, report: &mut Report<'_>) {
        let seen_bytes = match gap.cause {
            // A removed urgent byte separates nothing: the receiver continues to read.
            GapCause::Urgent => return,
            // Bytes that passed beyond a cutoff were counted, with those that are missing there.
            GapCause::Cutoff => gap.bytes.min(stream.stats(gap.direction).cutoff_bytes),
            _ => 0,
        };
        self.skipped(stream, gap, seen_bytes, report);
    }

    /// Takes a gap of which `seen_bytes` passed and were only counted, beyond a cutoff of this capture or of the one before it. The others
    /// are missing.
    pub fn skipped<D: HasConversation>(
        &mut self,
        stream: &mut Stream<'_, D>,
        gap: &Gap,
        seen_bytes: u64,
        report: &mut Report<'_>,
    ) {
        stream.data().conversation().skipped(gap.direction, gap.bytes, seen_bytes, &mut self.budget, report);
    }

    /// The stream ended: reports what is not complete, and returns what the stream was.
    pub fn close<D: HasConversation>(
        &mut self,
        stream: &mut Stream<'_, D>,
        report: &mut Report<'_>,
    ) -> Option<Box<App>> {
        for direction in Direction::BOTH {
            if stream.has_ended(direction) {
                stream.data().conversation().ended(direction, &mut self.budget);
            }
        }
        stream.data().conversation().close(&mut self.budget, report)
    }

    /// How many streams lost their fields because the memory was used up.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.budget.refused()
    }
}
