//! A queue and the analyzers of the same process, as one handler of the engine.

use tidewire::{Chunk, Datagram, EndReason, Gap, Handler, OutsidePacket, Stream, StreamPacket, Unfinished};
use tidewire_analyzers::{Inline, InlineState};

/// Calls the analyzers, then the queue. Both see the same chunks: this is for queues that want at least what the analyzers do.
#[derive(Debug)]
pub(super) struct Beside<Q> {
    queue: Q,
    inline: Inline,
}

impl<Q> Beside<Q> {
    pub(super) fn new(queue: Q, inline: Inline) -> Self {
        Self { queue, inline }
    }
}

/// The queue's part of a stream's state.
fn queues<D>(state: &mut (D, InlineState)) -> Option<&mut D> {
    Some(&mut state.0)
}

/// The analyzers' part.
fn inlines<D>(state: &mut (D, InlineState)) -> Option<&mut InlineState> {
    Some(&mut state.1)
}

impl<Q: Handler> Handler for Beside<Q> {
    type Data = (Q::Data, InlineState);
    const PACKETS: bool = Q::PACKETS;
    const DATAGRAMS: bool = true;
    const UNFINISHED: bool = true;
    const OUTSIDE: bool = true;

    #[inline]
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        if let Some(mut stream) = stream.lend(queues) {
            self.queue.open(&mut stream);
        }
    }

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        if let Some(mut stream) = stream.lend(inlines) {
            self.inline.data(&mut stream, chunk);
        }
        if let Some(mut stream) = stream.lend(queues) {
            self.queue.data(&mut stream, chunk);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        if let Some(mut stream) = stream.lend(inlines) {
            self.inline.gap(&mut stream, gap);
        }
        if let Some(mut stream) = stream.lend(queues) {
            self.queue.gap(&mut stream, gap);
        }
    }

    #[inline]
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        if let Some(mut stream) = stream.lend(queues) {
            self.queue.packet(&mut stream, packet);
        }
    }

    #[inline]
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        if let Some(mut stream) = stream.lend(inlines) {
            self.inline.close(&mut stream, reason);
        }
        if let Some(mut stream) = stream.lend(queues) {
            self.queue.close(&mut stream, reason);
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.inline.datagram(datagram);
    }

    fn unfinished(&mut self, unfinished: &Unfinished) {
        self.inline.unfinished(unfinished);
    }

    fn outside(&mut self, packet: OutsidePacket<'_>) {
        self.inline.outside(packet);
        if Q::OUTSIDE {
            self.queue.outside(packet);
        }
    }
}

/// What is to be done with a worker's handler when the input has ended.
pub(super) trait Finish {
    /// Reports what is left.
    fn finish(&mut self) {}
}

impl<Q> Finish for Beside<Q> {
    fn finish(&mut self) {
        self.inline.finish();
    }
}

impl Finish for Inline {
    fn finish(&mut self) {
        Inline::finish(self);
    }
}
