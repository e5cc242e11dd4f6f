use crate::{Chunk, Datagram, EndReason, Frame, Gap, Join, Stream, StreamPacket, Subscription};

/// What an application does with streams. Every method has an empty default.
///
/// Within a direction, `data` and `gap` together cover the stream in order, without holes. All calls come from the
/// engine's own thread; what a call borrows is valid until it returns.
pub trait Handler {
    /// The application's own state for each stream.
    type Data: Default;

    /// Whether `packet` is to be called.
    const PACKETS: bool = false;
    /// Whether `datagram` is to be called.
    const DATAGRAMS: bool = false;

    /// A stream was opened.
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        let _ = stream;
    }

    /// Bytes, in order.
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        let _ = (stream, chunk);
    }

    /// Bytes that will not come.
    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        let _ = (stream, gap);
    }

    /// A packet of the stream, before what it changes: each that its statistics count, once, in the order of capture.
    ///
    /// One exception: a SYN with a new number in an open connection, or behind both FINs with a number that a host may
    /// refuse (anomaly `blind_syn` where it begins nothing), comes when it is clear whose it is. The stream that it opens sees it first; the stream that it attacked sees it later than the packets behind it.
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        let _ = (stream, packet);
    }

    /// The stream ended; its figures are final. A flow that only ever was a SYN is opened and closed at once, here.
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        let _ = (stream, reason);
    }

    /// A datagram was rebuilt from fragments, or rejected.
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        let _ = datagram;
    }
}

/// What an engine tells of streams: a [`Handler`], which this is implemented for, or several applications (`Applications` of the
/// crate `tidewire`). Nobody else implements it.
pub trait Deliver: sealed::Sealed {
    /// See [`Handler::Data`].
    type Data: Default;

    /// See [`Handler::PACKETS`].
    const PACKETS: bool;
    /// See [`Handler::DATAGRAMS`].
    const DATAGRAMS: bool;
    /// Whether the handler stands for several applications, each told of its streams in its own way: see
    /// [`subscribers`](Self::subscribers).
    const SUBSCRIBERS: bool = false;

    /// See [`Handler::open`].
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>);

    /// See [`Handler::data`].
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>);

    /// See [`Handler::gap`].
    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap);

    /// See [`Handler::packet`].
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>);

    /// See [`Handler::close`].
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason);

    /// See [`Handler::datagram`].
    fn datagram(&mut self, datagram: &Datagram<'_>);

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): how each of the applications wants its streams delivered. Asked once, by the
    /// engine that is made with the handler; what it says stands for the same fields of the engine's settings.
    fn subscribers(&self) -> Vec<Subscription> {
        Vec::new()
    }

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): what there is to say of the stream that `bytes` opens (a whole frame, or a
    /// rebuilt IP packet with link type RAW), given back to [`join`](Self::join) when the stream is told of.
    fn marks(&mut self, frame: &Frame, bytes: &[u8]) -> u64 {
        let _ = (frame, bytes);
        0
    }

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): adds to `joins` whichever applications a stream with these marks belongs to.
    fn join(&mut self, marks: u64, joins: &mut Vec<Join>) {
        let _ = (marks, joins);
    }

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): the calls that follow are for `joined`, an index into `subscribers`, which was the
    /// stream's join number `place`.
    fn select(&mut self, joined: usize, place: usize) {
        let _ = (joined, place);
    }
}

/// What keeps [`Deliver`] to this workspace.
#[doc(hidden)]
pub mod sealed {
    /// See above.
    pub trait Sealed {}

    impl<H: super::Handler> Sealed for H {}
}

impl<H: Handler> Deliver for H {
    type Data = H::Data;
    const PACKETS: bool = H::PACKETS;
    const DATAGRAMS: bool = H::DATAGRAMS;

    #[inline(always)]
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        Handler::open(self, stream);
    }

    #[inline(always)]
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        Handler::data(self, stream, chunk);
    }

    #[inline(always)]
    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        Handler::gap(self, stream, gap);
    }

    #[inline(always)]
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        Handler::packet(self, stream, packet);
    }

    #[inline(always)]
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        Handler::close(self, stream, reason);
    }

    #[inline(always)]
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        Handler::datagram(self, datagram);
    }
}
