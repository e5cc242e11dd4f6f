use crate::{
    Chunk, Datagram, EndReason, Frame, Gap, Join, OutsidePacket, Stream, StreamPacket, Subscription, Unfinished,
};

/// An application: receives the events of streams. Every method has an empty default.
///
/// Within a direction, `data` and `gap` together cover the stream in order, without holes. All calls come from the
/// thread of the engine; what a call borrows is valid until it returns.
pub trait Handler {
    /// The application's state for each stream.
    type Data: Default;

    /// Whether [`packet`](Self::packet) is called.
    const PACKETS: bool = false;
    /// Whether [`datagram`](Self::datagram) is called.
    const DATAGRAMS: bool = false;
    /// Whether [`unfinished`](Self::unfinished) is called.
    const UNFINISHED: bool = false;
    /// Whether [`outside`](Self::outside) is called.
    const OUTSIDE: bool = false;

    /// Whether [`fragment`](Self::fragment) is called.
    const FRAGMENTS: bool = false;

    /// Whether [`visit`](Self::visit) is called.
    const VISITS: bool = false;

    /// A stream was opened.
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        let _ = stream;
    }

    /// Bytes of a stream, in order.
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        let _ = (stream, chunk);
    }

    /// Bytes that are missing and will not be delivered.
    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        let _ = (stream, gap);
    }

    /// A packet of the stream, before its effects: each packet that the statistics count, once, in capture order.
    ///
    /// One exception: a SYN with a new sequence number in an open connection, or one behind both FINs whose number a
    /// host may refuse (anomaly `blind_syn` if it opens nothing), is reported when it is clear which connection it
    /// belongs to. The stream that it opens gets it first; the stream that it attacked gets it later than the packets
    /// behind it.
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        let _ = (stream, packet);
    }

    /// A stream that goes on, about every 4 seconds of packet time: its figures are those so far. `clock_ns`: the packets' clock.
    /// Not called for a handler within several applications.
    fn visit(&mut self, stream: &mut Stream<'_, Self::Data>, clock_ns: u64) {
        let _ = (stream, clock_ns);
    }

    /// The stream ended; its figures are final. A connection of which only a SYN was seen is opened and closed here.
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        let _ = (stream, reason);
    }

    /// A datagram was rebuilt from fragments, or rejected.
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        let _ = datagram;
    }

    /// A frame with a fragment arrived: before its effects, in every worker that sees it. [`StreamPacket::fragments`] and
    /// [`Datagram::numbers`] have its number once its datagram is rebuilt or rejected. Not called for a handler within
    /// several applications.
    fn fragment(&mut self, frame: &Frame, bytes: &[u8]) {
        let _ = (frame, bytes);
    }

    /// A conversation that one side began [`Config::unfinished_ns`](crate::Config::unfinished_ns) ago and that the other side
    /// has not answered, or whose handshake it has not completed: long before its timeout. At most once for each stream
    /// ([`Stream::was_unfinished`]); a stream that ends earlier is only closed. A connection of which only a SYN was seen is not
    /// opened yet.
    fn unfinished(&mut self, unfinished: &Unfinished) {
        let _ = unfinished;
    }

    /// A packet that belongs to no stream: ARP and other protocols of the link, unsupported links, malformed packets. Fragments
    /// are not among them. With several workers one of them is called.
    fn outside(&mut self, packet: OutsidePacket<'_>) {
        let _ = packet;
    }
}

/// The receiver of an engine's events: a [`Handler`] (every handler implements this trait), or several applications
/// (`Applications` of the crate `tidewire`).
///
/// Implement [`Handler`] instead: this trait is not for implementation outside of this workspace, and what it needs for that
/// is exempt from semantic versioning.
pub trait Deliver: sealed::Sealed {
    /// See [`Handler::Data`].
    type Data: Default;

    /// See [`Handler::PACKETS`].
    const PACKETS: bool;
    /// See [`Handler::DATAGRAMS`].
    const DATAGRAMS: bool;
    /// See [`Handler::UNFINISHED`].
    const UNFINISHED: bool;
    /// See [`Handler::OUTSIDE`].
    const OUTSIDE: bool;
    /// See [`Handler::FRAGMENTS`].
    const FRAGMENTS: bool = false;
    /// See [`Handler::VISITS`].
    const VISITS: bool = false;
    /// Whether the handler stands for several applications, each with a [`Subscription`]: see
    /// [`subscribers`](Self::subscribers).
    #[doc(hidden)]
    const SUBSCRIBERS: bool = false;

    /// See [`Handler::open`].
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>);

    /// See [`Handler::data`].
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>);

    /// See [`Handler::gap`].
    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap);

    /// See [`Handler::packet`].
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>);

    /// See [`Handler::visit`].
    fn visit(&mut self, stream: &mut Stream<'_, Self::Data>, clock_ns: u64) {
        let _ = (stream, clock_ns);
    }

    /// See [`Handler::close`].
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason);

    /// See [`Handler::datagram`].
    fn datagram(&mut self, datagram: &Datagram<'_>);

    /// See [`Handler::fragment`].
    fn fragment(&mut self, frame: &Frame, bytes: &[u8]) {
        let _ = (frame, bytes);
    }

    /// See [`Handler::unfinished`].
    fn unfinished(&mut self, unfinished: &Unfinished);

    /// See [`Handler::outside`]. `frame` is the packet's.
    fn outside(&mut self, frame: &Frame, packet: OutsidePacket<'_>);

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): how each application wants its streams delivered. Called once, by
    /// [`Engine::new`](crate::Engine::new); replaces the same fields of the engine's settings.
    #[doc(hidden)]
    fn subscribers(&self) -> Vec<Subscription> {
        Vec::new()
    }

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): marks of the stream that `bytes` opens (a whole frame, or a rebuilt IP
    /// packet with link type RAW). They are passed to [`join`](Self::join) when the stream is opened.
    #[doc(hidden)]
    fn marks(&mut self, frame: &Frame, bytes: &[u8]) -> u64 {
        let _ = (frame, bytes);
        0
    }

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): adds the applications that a stream with these marks belongs to.
    #[doc(hidden)]
    fn join(&mut self, marks: u64, joins: &mut Vec<Join>) {
        let _ = (marks, joins);
    }

    /// With [`SUBSCRIBERS`](Self::SUBSCRIBERS): selects the application that the following calls are for. `joined` is
    /// an index into `subscribers`, `place` the position of its [`Join`] of the stream.
    #[doc(hidden)]
    fn select(&mut self, joined: usize, place: usize) {
        let _ = (joined, place);
    }
}

/// Marks implementations of [`Deliver`]. For this workspace only; exempt from semantic versioning.
#[doc(hidden)]
pub mod sealed {
    /// Implemented for every [`Handler`](super::Handler).
    pub trait Sealed {}

    impl<H: super::Handler> Sealed for H {}
}

impl<H: Handler> Deliver for H {
    type Data = H::Data;
    const PACKETS: bool = H::PACKETS;
    const DATAGRAMS: bool = H::DATAGRAMS;
    const UNFINISHED: bool = H::UNFINISHED;
    const OUTSIDE: bool = H::OUTSIDE;
    const FRAGMENTS: bool = H::FRAGMENTS;
    const VISITS: bool = H::VISITS;

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
    fn visit(&mut self, stream: &mut Stream<'_, Self::Data>, clock_ns: u64) {
        Handler::visit(self, stream, clock_ns);
    }

    #[inline(always)]
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        Handler::close(self, stream, reason);
    }

    #[inline(always)]
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        Handler::datagram(self, datagram);
    }

    #[inline(always)]
    fn fragment(&mut self, frame: &Frame, bytes: &[u8]) {
        Handler::fragment(self, frame, bytes);
    }

    #[inline(always)]
    fn unfinished(&mut self, unfinished: &Unfinished) {
        Handler::unfinished(self, unfinished);
    }

    #[inline(always)]
    fn outside(&mut self, _: &Frame, packet: OutsidePacket<'_>) {
        Handler::outside(self, packet);
    }
}
