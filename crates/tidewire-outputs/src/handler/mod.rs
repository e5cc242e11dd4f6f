//! The handler of a run whose records go to outputs.

mod interim;
mod text;

use std::sync::Arc;

use tidewire::{Chunk, EndReason, Gap, Handler, PacketChecksum, Stream, StreamPacket, Timestamp, TunnelKind};
use tidewire_exports::{
    Exchange, FlowRecord, Origin, records,
    select::Seen,
    table::{self, Row, Table},
    zeek::History,
};
use tidewire_protocols::{Conversation, QuicHistory, Report, Service, Transaction};
use tidewire_types::{ip_protocol::UDP, saturating_nanos};

use self::interim::Interim;
pub use self::text::TextRecord;
use crate::{
    conversations::{ConversationTracker, HasConversation, Selected},
    cut_offs::CutOffs,
    exports::Exports,
    memory::{KeptState, MemoryParts},
    record::Record,
    totals::Totals,
};

/// The records that a run writes: those of the subcommand with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportKind {
    /// Streams by their figures, and their transactions.
    Flows,
    /// Streams with what reassembly says of them, and their transactions.
    Streams,
    /// Transactions only.
    Transactions,
}

impl ExportKind {
    /// The records as rows; the first table is what the run is about.
    #[must_use]
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Flows | Self::Streams => &[table::FLOWS, table::TRANSACTIONS],
            Self::Transactions => &[table::TRANSACTIONS],
        }
    }

    /// The first line of comma-separated values.
    #[must_use]
    pub fn csv_header(self) -> String {
        match self {
            Self::Flows => records::flow_csv().header(true),
            Self::Streams => records::stream_csv().header(true),
            Self::Transactions => records::transaction_csv().header(true),
        }
    }

    fn is_of_streams(self) -> bool {
        self != Self::Transactions
    }
}

/// Records that the workers of a run write, and their outputs.
#[derive(Clone)]
pub struct Exporting {
    /// The records.
    pub kind: ExportKind,
    /// Only these protocols; empty: all.
    pub services: Arc<[Service]>,
    /// The selection.
    pub select: Selected,
    /// Parts of an archive's streams that were cut off.
    pub cuts: Option<Arc<CutOffs>>,
    /// The outputs.
    pub exports: Arc<Exports>,
}

impl Exporting {
    /// All records of a kind.
    #[must_use]
    pub fn new(kind: ExportKind, exports: Arc<Exports>) -> Self {
        Self { kind, services: [].into(), select: None, cuts: None, exports }
    }

    /// Whether figures suffice, and neither reassembly nor protocol fields are needed. A selection may be by either.
    #[must_use]
    pub fn wants_figures_only(&self) -> bool {
        self.kind.is_of_streams() && self.select.is_none() && self.exports.wants_figures_only()
    }

    /// Whether each packet is followed.
    #[must_use]
    pub fn wants_history(&self) -> bool {
        self.kind.is_of_streams() && self.exports.wants_history()
    }

    /// State that the run keeps of the traffic.
    #[must_use]
    pub fn kept(&self) -> KeptState {
        // Bytes that the allocator adds to each.
        const OVERHEAD_BYTES: usize = 16;
        let bytes = |is_kept: bool, bytes: usize| if is_kept { bytes + OVERHEAD_BYTES } else { 0 };
        let (has_history, has_interim) = (self.wants_history(), self.exports.active_timeout().is_some());
        let stream_bytes = bytes(has_history, size_of::<History>()) + bytes(has_interim, size_of::<Interim>());
        let fields = !self.wants_figures_only();
        KeptState { fields, quic: has_history, stream_bytes, ..KeptState::FIELDS }
    }
}

/// The handler of a worker. With `HISTORY` it sees each packet.
pub struct ExportHandler<const HISTORY: bool> {
    /// Totals of the streams.
    pub totals: Totals,
    /// Transactions that were written.
    pub transactions: u64,
    tracker: ConversationTracker,
    /// Streams without fields that were counted.
    without_fields: u64,
    exporting: Exporting,
    /// Whether neither bytes nor gaps are looked at.
    is_of_figures: bool,
    scratch: Vec<u8>,
    /// Bytes of histories of QUIC, and their limit: beyond it those of streams that continue are written as they are, and end.
    quic_bytes: usize,
    quic_bytes_max: usize,
}

/// State of a stream.
#[derive(Default)]
pub struct State {
    conversation: Conversation,
    history: Option<Box<History>>,
    quic: Option<Box<QuicHistory>>,
    /// It was written before the stream ended.
    is_quic_over: bool,
    transactions: u32,
    seen: Seen,
    /// Figures of its records before its end.
    interim: Option<Box<Interim>>,
}

impl HasConversation for State {
    fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }
}

impl<const HISTORY: bool> ExportHandler<HISTORY> {
    /// A worker's, whose streams have these parts of the memory.
    #[must_use]
    pub fn new(exporting: &Exporting, parts: &MemoryParts) -> Self {
        Self {
            totals: Totals::default(),
            transactions: 0,
            tracker: ConversationTracker::new(parts).with(&None, &exporting.cuts),
            without_fields: 0,
            is_of_figures: exporting.wants_figures_only(),
            exporting: exporting.clone(),
            scratch: Vec::new(),
            quic_bytes: 0,
            quic_bytes_max: parts.worker_quic(),
        }
    }

    /// Follows the packets of a stream of QUIC.
    fn follow_quic(&mut self, stream: &mut Stream<'_, State>, packet: &StreamPacket<'_>) {
        let at = packet.payload_at as usize;
        let captured = packet.bytes.get(at..).unwrap_or_default();
        let datagram = captured.get(..packet.payload_captured_bytes as usize).unwrap_or(captured);
        let port = stream.key().server.port;
        let state = stream.data();
        if state.is_quic_over || state.quic.is_none() && !QuicHistory::begins(datagram, port) {
            return;
        }
        let before = state.quic.as_ref().map_or(0, |quic| quic.memory_bytes());
        let quic = state.quic.get_or_insert_default();
        quic.datagram(packet.direction as usize, datagram, packet.timestamp.as_nanos());
        // The history of a connection takes 2 KiB until both hellos were seen, and 500 bytes then: behind four fifths no more are read.
        if self.quic_bytes > self.quic_bytes_max / 5 * 4 {
            quic.release();
        }
        self.quic_bytes = (self.quic_bytes + quic.memory_bytes()).saturating_sub(before);
        if self.quic_bytes > self.quic_bytes_max {
            state.is_quic_over = true;
            self.exporting.exports.cut_history();
            self.close_quic(stream);
        }
    }

    /// Writes what the packets of a stream of QUIC were.
    fn close_quic(&mut self, stream: &mut Stream<'_, State>) {
        let Some(quic) = stream.data().quic.take() else { return };
        self.quic_bytes = self.quic_bytes.saturating_sub(quic.memory_bytes());
        let is_wanted = self.exporting.services.is_empty() || self.exporting.services.contains(&Service::Quic);
        if self.exporting.select.is_some() || !is_wanted {
            return;
        }
        let (id, start_ns, key, end_ns) =
            (stream.id(), stream.start().as_nanos(), stream.key(), stream.end().as_nanos());
        for entry in quic.finish() {
            let record = Record::Quic { stream: (id, start_ns, &key), entry: &entry };
            self.exporting.exports.write(&record, end_ns, &mut self.scratch);
        }
    }

    /// Writes what a stream did since the record before.
    fn interim(&mut self, stream: &mut Stream<'_, State>, clock_ns: u64) {
        let before = stream.data().interim.take();
        let before = before.map_or_else(Default::default, |interim| interim.stats(stream));
        let now = Interim::of(stream, clock_ns);
        let mut record = FlowRecord::of(stream, EndReason::Timeout, None, self.exporting.exports.origin());
        record.is_interim = true;
        record.gaps = &[];
        record.conflicts = [&[], &[]];
        record.anomalies = &[];
        let record = record.since(&before);
        if record.stats.iter().any(|stats| stats.packets > 0) {
            self.exporting.exports.write(&Record::Interim(&record), record.last.as_nanos(), &mut self.scratch);
        }
        stream.data().interim = Some(Box::new(now));
    }

    /// Passes something to the conversation of a stream, and writes what it reports.
    fn follow<T>(
        &mut self,
        stream: &mut Stream<'_, State>,
        pass: impl FnOnce(&mut ConversationTracker, &mut Stream<'_, State>, &mut Report<'_>) -> T,
    ) -> T {
        let (id, key, stream_start_ns) = (stream.id(), stream.key(), stream.opened().as_nanos());
        let state = stream.data();
        let (mut number, mut seen) = (state.transactions, state.seen);
        let (select, is_of_streams) = (self.exporting.select.as_deref(), self.exporting.kind.is_of_streams());
        let (exports, services, scratch) = (&self.exporting.exports, &self.exporting.services, &mut self.scratch);
        let written = &mut self.transactions;
        // Whether it was written.
        let mut show = |transaction: &Transaction| {
            let index = number;
            number = number.saturating_add(1);
            if let Some(select) = select.filter(|_| is_of_streams) {
                select.see(transaction, &mut seen);
                return false;
            }
            if !services.is_empty() && !services.contains(&transaction.service) {
                return false;
            }
            let origin = exports.origin();
            let exchange = Exchange::new((id, key, Timestamp::from_nanos(stream_start_ns)), index, transaction, origin);
            if select.is_some_and(|select| !select.matches(&Row::Transaction(&exchange), Seen::default())) {
                return false;
            }
            let record = Record::Transaction { exchange: &exchange, has_packets: HISTORY };
            exports.write(&record, transaction.end.as_nanos(), scratch);
            *written += 1;
            true
        };
        let passed = match is_of_streams {
            // The first transaction names the stream.
            true => {
                let mut show = |transaction: &Transaction| {
                    show(transaction);
                };
                pass(&mut self.tracker, stream, &mut Report::Shown(&mut show))
            }
            false => {
                let mut text = Vec::new();
                let mut each = |transaction: Transaction| {
                    if show(&transaction) && exports.wants_text() {
                        let (end_ns, origin, transaction) =
                            (transaction.end.as_nanos(), Origin::default(), &transaction);
                        let exchange =
                            Exchange::new((id, key, Timestamp::from_nanos(stream_start_ns)), 0, transaction, origin);
                        let (json, csv) = (records::transaction_json(), records::transaction_csv());
                        exports.write(&Record::Text(&TextRecord::new(json, csv, &exchange)), end_ns, &mut text);
                    }
                };
                pass(&mut self.tracker, stream, &mut Report::Each(&mut each))
            }
        };
        let state = stream.data();
        (state.transactions, state.seen) = (number, seen);
        passed
    }
}

impl<const HISTORY: bool> Handler for ExportHandler<HISTORY> {
    type Data = State;
    const PACKETS: bool = HISTORY;
    const VISITS: bool = true;

    fn visit(&mut self, stream: &mut Stream<'_, State>, clock: Timestamp) {
        let clock_ns = clock.as_nanos();
        // Which streams are selected is known at their ends.
        if let Some(active) = self.exporting.exports.active_timeout()
            && self.exporting.kind.is_of_streams()
            && self.exporting.select.is_none()
        {
            let begun_ns = stream.start().as_nanos();
            let reported_ns = stream.data().interim.as_ref().map_or(begun_ns, |interim| interim.reported_ns());
            if clock_ns.saturating_sub(reported_ns) >= saturating_nanos(active) {
                self.interim(stream, clock_ns);
            }
        }
    }

    fn packet(&mut self, stream: &mut Stream<'_, State>, packet: StreamPacket<'_>) {
        if stream.data().history.is_none() {
            let history = History::of(stream.key().proto);
            stream.data().history = Some(Box::new(history));
        }
        let is_in_tunnel = stream.key().tunnel.kind != TunnelKind::None;
        if let Some(history) = &mut stream.data().history {
            history.packet(&packet);
            if is_in_tunnel {
                let (exports, scratch, ns) = (&self.exporting.exports, &mut self.scratch, packet.timestamp.as_nanos());
                history.tunnels(&packet, |tunnel| exports.tunnel(tunnel, ns, scratch));
            }
        }
        if stream.key().proto == UDP && packet.checksum != PacketChecksum::LeftOut {
            self.follow_quic(stream, &packet);
        }
    }

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, State>, chunk: Chunk<'_>) {
        if self.is_of_figures || self.tracker.passes_over(stream, &chunk) {
            return;
        }
        self.follow(stream, |tracker, stream, report| tracker.data(stream, &chunk, report));
        if self.exporting.kind == ExportKind::Transactions && stream.data().conversation.is_over() {
            stream.discard();
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, State>, gap: Gap) {
        let (key, times) = (stream.key(), [stream.start().as_nanos(), stream.end().as_nanos()]);
        if let Some(history) = &mut stream.data().history {
            history.gap(&self.exporting.cuts.as_ref().map_or(gap, |cuts| cuts.corrected_gap(&key, times, gap)));
        }
        if !self.is_of_figures {
            self.follow(stream, |tracker, stream, report| tracker.gap(stream, &gap, report));
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, State>, reason: EndReason) {
        let app = self.follow(stream, |tracker, stream, report| tracker.close(stream, report));
        let without_fields = self.tracker.refused();
        if without_fields > self.without_fields {
            self.exporting.exports.lose_fields(without_fields - self.without_fields);
            self.without_fields = without_fields;
        }
        self.close_quic(stream);
        let state = stream.data();
        let (history, interim) = (state.history.take(), state.interim.take());
        if self.exporting.kind == ExportKind::Transactions {
            self.totals.add(stream);
            return;
        }
        let seen = stream.data().seen;
        let mut record = FlowRecord::of(stream, reason, app.as_deref(), self.exporting.exports.origin());
        let corrected = self.exporting.cuts.as_ref().and_then(|cuts| cuts.correct(&mut record));
        if let Some(corrected) = &corrected {
            (record.anomalies, record.gaps) = (&corrected.anomalies, &corrected.gaps);
        }
        if self.exporting.select.as_ref().is_some_and(|select| !select.matches(&Row::Flow(&record), seen)) {
            return;
        }
        self.totals.add(stream);
        let rest = interim.map(|interim| record.since(&interim.stats(stream)));
        self.exporting.exports.flow(&record, rest.as_ref(), history.as_deref(), &mut self.scratch);
        if self.exporting.exports.wants_text() {
            let (json, csv) = match self.exporting.kind {
                ExportKind::Streams => (records::stream_json(), records::stream_csv()),
                _ => (records::flow_json(), records::flow_csv()),
            };
            let text = Record::Text(&TextRecord::new(json, csv, &record));
            self.exporting.exports.write(&text, record.last.as_nanos(), &mut self.scratch);
        }
    }
}
