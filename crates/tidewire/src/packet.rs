//! Packets one by one, without streams.

#[cfg(feature = "files")]
use std::sync::Arc;

use tidewire_core::{
    Batch, ChecksumStatus, Fate, FlowKey, Frame, Ledger, Timestamp,
    wire::{
        Checksum, Decoded, Headers, Kind, LinkType, Settings as WireSettings, decode, header_views,
        ipv4_header_checksum, transport_checksum,
    },
};
#[cfg(feature = "files")]
use tidewire_files::Block;

use crate::{
    Capture, Error, Outcome,
    frames::FrameHandler,
    setup::{Input, Setup},
};

/// A captured packet: the item of [`Capture::packets`], and what [`Capture::for_each_packet`] passes on.
///
/// Its headers are views of its bytes, which are not copied. A packet of [`Capture::packets`] keeps the memory that it was read into,
/// about 256 KiB that it shares with the packets around it: [`into_owned`](Self::into_owned) is for those that are kept for long.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    bytes: Bytes<'a>,
    frame: Frame,
    decoded: Decoded,
}

/// Where the bytes of a packet are.
#[derive(Clone)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Owned(Box<[u8]>),
    /// At the frame's place.
    #[cfg(feature = "files")]
    Shared(Arc<Block>),
}

impl std::fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bytes")
    }
}

impl<'a> Packet<'a> {
    fn borrowed(frame: &Frame, bytes: &'a [u8], wire: &WireSettings) -> Self {
        let decoded = decode(frame.link, bytes, frame.wire_bytes, wire);
        Self { bytes: Bytes::Borrowed(bytes), frame: *frame, decoded }
    }

    /// The frame at this index of a block, if it exists.
    #[cfg(feature = "files")]
    pub(crate) fn shared(block: &Arc<Block>, index: usize, wire: &WireSettings) -> Option<Packet<'static>> {
        let batch = block.batch();
        let frame = *batch.frames.get(index)?;
        let decoded = decode(frame.link, batch.bytes(&frame), frame.wire_bytes, wire);
        Some(Packet { bytes: Bytes::Shared(Arc::clone(block)), frame, decoded })
    }

    /// The same packet with a copy of its bytes.
    #[must_use]
    pub fn into_owned(self) -> Packet<'static> {
        let bytes = match self.bytes {
            Bytes::Owned(bytes) => bytes,
            _ => self.bytes().into(),
        };
        Packet { bytes: Bytes::Owned(bytes), frame: self.frame, decoded: self.decoded }
    }

    /// Number in the whole input, from 1. Packets that a filter rejects are counted, too.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.frame.number
    }

    /// When it was captured.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.frame.timestamp
    }

    /// Index of its interface, in the order of their first appearance in the whole input.
    #[must_use]
    pub fn interface(&self) -> u16 {
        self.frame.interface
    }

    /// The link type of [`bytes`](Self::bytes).
    #[must_use]
    pub fn link(&self) -> LinkType {
        self.frame.link
    }

    /// Bytes on the wire, at least as many as were captured.
    #[must_use]
    pub fn wire_bytes(&self) -> u32 {
        self.frame.wire_bytes
    }

    /// The captured bytes, link layer included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
            #[cfg(feature = "files")]
            Bytes::Shared(block) => block.batch().bytes(&self.frame),
        }
    }

    /// Status of the transport checksum as its source reports it; files report none.
    #[must_use]
    pub fn checksum_status(&self) -> ChecksumStatus {
        self.frame.checksum
    }

    /// Verifies the transport checksum, in time that grows with the packet. Wrong and [`ChecksumStatus::NotReady`]: the card was to
    /// fill it in.
    #[must_use]
    pub fn verify_checksum(&self) -> Checksum {
        transport_checksum(self.bytes(), &self.decoded)
    }

    /// Verifies the header checksum of an IPv4 packet; [`Checksum::Absent`] for others.
    #[must_use]
    pub fn verify_ipv4_checksum(&self) -> Checksum {
        ipv4_header_checksum(self.bytes(), &self.decoded)
    }

    /// The key of its flow, with its sender as the client: a packet by itself does not show which side opened the flow. `None`: no IP,
    /// malformed, or a fragment ([`FlowKey::of_packet`]).
    #[must_use]
    pub fn flow_key(&self) -> Option<FlowKey> {
        FlowKey::of_packet(self.bytes(), &self.decoded)
    }

    /// All headers at once.
    #[must_use]
    pub fn headers(&self) -> Headers<'_> {
        Headers::new(self.frame.link, self.bytes(), &self.decoded)
    }

    header_views!('_);

    /// Counts it by its fate.
    pub(crate) fn settle(&self, ledger: &mut Ledger) {
        match (self.decoded.kind, self.decoded.malformed) {
            (_, Some(why)) => ledger.malformed(why),
            (Kind::Arp, _) => ledger.settle(Fate::Arp),
            (Kind::OtherLink, _) => ledger.settle(Fate::OtherLink),
            (Kind::UnsupportedLink, _) => ledger.settle(Fate::UnsupportedLink),
            (Kind::HeaderCut, _) => ledger.settle(Fate::HeaderCut),
            (Kind::Aggregate, _) => ledger.settle(Fate::Aggregate),
            _ => ledger.settle(Fate::Tracked),
        }
    }
}

/// Calls a closure with each packet.
struct EachPacket<F> {
    call: F,
    wire: WireSettings,
    fates: Ledger,
}

impl<F: FnMut(Packet<'_>)> FrameHandler for EachPacket<F> {
    fn frames(&mut self, batch: &Batch<'_>) {
        for frame in batch.frames {
            let packet = Packet::borrowed(frame, batch.bytes(frame), &self.wire);
            packet.settle(&mut self.fates);
            (self.call)(packet);
        }
    }
}

impl Setup {
    /// Checks the settings of a run over packets, and returns those of the decoder.
    pub(crate) fn for_packets(&mut self) -> Result<WireSettings, Error> {
        self.one_worker()?;
        self.check()?;
        self.frames = None;
        Ok(self.config.wire().clone())
    }
}

impl<I: Input> Capture<I> {
    /// Calls a closure with each packet, in the order of capture, on this thread. There are no streams: settings of these (cutoffs,
    /// classes, timeouts) have no effect, copies are not left out, and memory does not grow with the traffic. A
    /// [filter](Self#method.filter) applies.
    ///
    /// In the ledger of the outcome, a packet of IP has the fate [`Fate::Tracked`], [`Fate::HeaderCut`] or [`Fate::Malformed`]; those of
    /// other protocols have the fate that streams give them.
    ///
    /// ```
    /// use tidewire::Capture;
    ///
    /// # fn main() -> Result<(), tidewire::Error> {
    /// # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
    /// let mut syns = 0;
    /// let outcome = Capture::reader(capture).for_each_packet(|packet| {
    ///     syns += u32::from(packet.tcp().is_some_and(|tcp| tcp.flags() & tidewire::tcp_flag::SYN != 0));
    /// })?;
    /// assert_eq!((syns, outcome.ledger.received), (2, 8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with).
    pub fn for_each_packet(mut self, call: impl FnMut(Packet<'_>)) -> Result<Outcome<()>, Error> {
        let wire = self.setup.for_packets()?;
        let handler = EachPacket { call, wire, fates: Ledger::default() };
        let mut outcome = self.input.run_frames_single(self.setup, handler)?;
        for handler in &outcome.handlers {
            outcome.ledger.add(&handler.fates);
        }
        Ok(outcome.with_handlers(vec![()]))
    }
}
