//! Handlers of the same process as one handler of the engine.

use tidewire::{Chunk, Datagram, EndReason, Gap, Handler, OutsidePacket, Stream, StreamPacket, Timestamp, Unfinished};
use tidewire_analyzers::Inline;
use tidewire_outputs::ExportHandler;

use super::{packets::PacketQueue, streams::StreamQueue};

/// Calls one handler, then the other. Both see the same chunks: the engine's cutoff is what both want, or more than the second looks at.
#[derive(Debug)]
pub(super) struct Beside<A, B> {
    first: A,
    second: B,
}

impl<A, B> Beside<A, B> {
    pub(super) fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

/// The first one's part of a stream's state.
fn first<A, B>(state: &mut (A, B)) -> Option<&mut A> {
    Some(&mut state.0)
}

/// The second one's part.
fn second<A, B>(state: &mut (A, B)) -> Option<&mut B> {
    Some(&mut state.1)
}

impl<A: Handler, B: Handler> Handler for Beside<A, B> {
    type Data = (A::Data, B::Data);
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    const DATAGRAMS: bool = A::DATAGRAMS || B::DATAGRAMS;
    const UNFINISHED: bool = A::UNFINISHED || B::UNFINISHED;
    const OUTSIDE: bool = A::OUTSIDE || B::OUTSIDE;
    const VISITS: bool = A::VISITS || B::VISITS;

    #[inline]
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        if let Some(mut stream) = stream.lend(first) {
            self.first.open(&mut stream);
        }
        if let Some(mut stream) = stream.lend(second) {
            self.second.open(&mut stream);
        }
    }

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        if let Some(mut stream) = stream.lend(first) {
            self.first.data(&mut stream, chunk);
        }
        if let Some(mut stream) = stream.lend(second) {
            self.second.data(&mut stream, chunk);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        if let Some(mut stream) = stream.lend(first) {
            self.first.gap(&mut stream, gap);
        }
        if let Some(mut stream) = stream.lend(second) {
            self.second.gap(&mut stream, gap);
        }
    }

    #[inline]
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        if A::PACKETS
            && let Some(mut stream) = stream.lend(first)
        {
            self.first.packet(&mut stream, packet);
        }
        if B::PACKETS
            && let Some(mut stream) = stream.lend(second)
        {
            self.second.packet(&mut stream, packet);
        }
    }

    fn visit(&mut self, stream: &mut Stream<'_, Self::Data>, clock: Timestamp) {
        if A::VISITS
            && let Some(mut stream) = stream.lend(first)
        {
            self.first.visit(&mut stream, clock);
        }
        if B::VISITS
            && let Some(mut stream) = stream.lend(second)
        {
            self.second.visit(&mut stream, clock);
        }
    }

    #[inline]
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        if let Some(mut stream) = stream.lend(first) {
            self.first.close(&mut stream, reason);
        }
        if let Some(mut stream) = stream.lend(second) {
            self.second.close(&mut stream, reason);
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        if A::DATAGRAMS {
            self.first.datagram(datagram);
        }
        if B::DATAGRAMS {
            self.second.datagram(datagram);
        }
    }

    fn unfinished(&mut self, unfinished: &Unfinished) {
        if A::UNFINISHED {
            self.first.unfinished(unfinished);
        }
        if B::UNFINISHED {
            self.second.unfinished(unfinished);
        }
    }

    fn outside(&mut self, packet: OutsidePacket<'_>) {
        if A::OUTSIDE {
            self.first.outside(packet);
        }
        if B::OUTSIDE {
            self.second.outside(packet);
        }
    }
}

/// Finishes a worker's handler when the input has ended.
pub(super) trait Finish {
    /// Reports what is left.
    fn finish(&mut self) {}
}

impl<A: Finish, B: Finish> Finish for Beside<A, B> {
    fn finish(&mut self) {
        self.first.finish();
        self.second.finish();
    }
}

impl Finish for Inline {
    fn finish(&mut self) {
        Inline::finish(self);
    }
}

impl<const HISTORY: bool> Finish for ExportHandler<HISTORY> {}
impl Finish for StreamQueue {}
impl Finish for PacketQueue {}
