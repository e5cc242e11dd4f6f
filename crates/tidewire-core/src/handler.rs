use crate::{
    Chunk, Datagram, EndReason, Frame, Gap, Membership, OutsidePacket, Stream, StreamPacket, Timestamp, Unfinished,
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

    /// Whether the handler stands for several applications (`Applications` of the crate `tidewire`): see
    /// [`membership`](Self::membership).
    #[doc(hidden)]
    const APPLICATIONS: bool = false;

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

    /// Called about every 4 seconds of packet time for each open stream, with its counters so far. `clock`: that of the packets.
    /// Not called for a handler within several applications.
    fn visit(&mut self, stream: &mut Stream<'_, Self::Data>, clock: Timestamp) {
        let _ = (stream, clock);
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

    /// A conversation that one side began [`Config::unfinished_after`](crate::Config::unfinished_after) ago and that the other side
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

    /// With [`APPLICATIONS`](Self::APPLICATIONS): which application gets which stream. Exempt from semantic versioning.
    #[doc(hidden)]
    fn membership(&mut self) -> Option<&mut dyn Membership> {
        None
    }
}
