//! One worker's engine.

use crate::{
    Anomaly, Batch, Config, Conflict, Direction, DirectionStats, Endpoint, FlowKey, Frame, Gap, Handler, Ledger, Share,
    TcpState,
};

/// A stream, as its handler sees it during a call.
pub struct Stream<'a, D> {
    data: &'a mut D,
}

impl<D> Stream<'_, D> {
    /// Ordinal of the stream's first packet in the input, from 1: the same for any number of workers.
    #[must_use]
    pub fn id(&self) -> u64 {
        0
    }

    /// Addresses, ports, protocol, VLAN and tunnel.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        FlowKey {
            client: Endpoint::UNSPECIFIED,
            server: Endpoint::UNSPECIFIED,
            proto: 0,
            vlan: [0xffff; 2],
            tunnel: crate::wire::Tunnel { kind: crate::wire::TunnelKind::None, id: 0 },
            icmp: [0; 2],
        }
    }

    /// Whether the client is known (its SYN or the server's SYN-ACK was seen) rather than inferred.
    #[must_use]
    pub fn client_known(&self) -> bool {
        false
    }

    /// How far the connection got.
    #[must_use]
    pub fn state(&self) -> TcpState {
        TcpState::Stateless
    }

    /// Timestamp of the first packet, nanoseconds.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        0
    }

    /// Timestamp of the last packet, nanoseconds.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        0
    }

    /// One direction's figures.
    #[must_use]
    pub fn stats(&self, direction: Direction) -> DirectionStats {
        let _ = direction;
        DirectionStats::default()
    }

    /// The gaps reported so far, both directions, in the order they were found; at most `Config::list_max`.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &[]
    }

    /// Bytes of one direction that arrived in two versions, by offset; at most `Config::list_max`.
    #[must_use]
    pub fn conflicts(&self, direction: Direction) -> &[Conflict] {
        let _ = direction;
        &[]
    }

    /// What was odd, in the order of packets; at most `Config::list_max`.
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        &[]
    }

    /// The application's own state for this stream.
    pub fn data(&mut self) -> &mut D {
        self.data
    }

    /// The stream's priority, 0 the lowest.
    #[must_use]
    pub fn priority(&self) -> u8 {
        0
    }

    /// Sets the priority, 0 the lowest.
    pub fn set_priority(&mut self, priority: u8) {
        let _ = priority;
    }

    /// Delivers at most `bytes` of a direction; statistics go on. Less than what was delivered already: nothing more comes.
    pub fn set_cutoff(&mut self, direction: Direction, bytes: u64) {
        let _ = (direction, bytes);
    }

    /// Delivers nothing more of this stream; statistics go on.
    pub fn discard(&mut self) {}

    /// Within `data`: the chunk is delivered once more with what comes next (S7). Only where chunks are gathered.
    pub fn keep_chunk(&mut self) {}
}

/// What an expression says of a new stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Priority, 0 the lowest; `None`: the default (0).
    pub priority: Option<u8>,
    /// Cutoff by direction, `None`: the general one.
    pub cutoff: Option<[u64; 2]>,
}

/// Classifies streams by their first packet.
pub trait Classify: Send {
    /// The class of the stream that `bytes` (a whole frame, or a rebuilt IP packet with link type RAW) opens.
    fn classify(&mut self, frame: &Frame, bytes: &[u8]) -> Class;
}

/// One worker: decodes, defragments, tracks, reassembles, and calls its handler.
pub struct Engine<H: Handler> {
    handler: H,
    ledger: Ledger,
}

impl<H: Handler> Engine<H> {
    /// An engine for its share of the flows.
    #[must_use]
    pub fn new(config: Config, share: Share, handler: H) -> Self {
        let _ = (config, share);
        Self { handler, ledger: Ledger::default() }
    }

    /// Sets what classifies new streams.
    pub fn set_classifier(&mut self, classifier: Box<dyn Classify>) {
        let _ = classifier;
    }

    /// Takes in a batch. Every worker is given every batch; it counts and keeps its own share.
    pub fn process(&mut self, batch: &Batch<'_>) {
        let _ = batch;
    }

    /// Ends every stream that is still open, in the order of ids, and settles every packet that was still held.
    pub fn finish(&mut self) {}

    /// Where the packets went.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The handler.
    pub fn handler(&mut self) -> &mut H {
        &mut self.handler
    }

    /// The handler and the final ledger.
    #[must_use]
    pub fn into_parts(self) -> (H, Ledger) {
        (self.handler, self.ledger)
    }
}
