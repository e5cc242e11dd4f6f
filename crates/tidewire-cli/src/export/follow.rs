//! The handler of a run whose records go to files or collectors.

use std::sync::Arc;

use tidewire::{Chunk, EndReason, FlowKey, Gap, Handler, PacketChecksum, Stream, StreamPacket, TunnelKind};
use tidewire_exports::{Exchange, FlowRecord, select::Seen, table::Row, zeek::History};
use tidewire_outputs::{Exports, Record as Output};
use tidewire_protocols::{Conversation, QuicHistory, Report, Service, Transaction};

use super::{interim::Interim, text::Rows};
use crate::{
    app::{Follower, HasConversation, Selected},
    cut_off_join::CutOffs,
    memory::Parts,
    record::Record,
    selection::Totals,
};

/// UDP's IP protocol number.
const UDP: u8 = 17;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Streams, and their transactions.
    Streams,
    /// Transactions only.
    Transactions,
}

/// How records are made rows of.
#[derive(Clone, Copy)]
pub enum Texts {
    Records(Rows<Record>),
    /// Streams' ids and keys with transactions.
    Transactions(Rows<(u64, FlowKey, Transaction)>),
}

/// A worker. With `HISTORY` it sees each packet.
pub struct Exporting<const HISTORY: bool> {
    pub totals: Totals,
    /// Transactions that were written.
    pub transactions: u64,
    pub follower: Follower,
    kind: Kind,
    rows: Texts,
    select: Selected,
    cuts: Option<Arc<CutOffs>>,
    services: Arc<[Service]>,
    exports: Arc<Exports>,
    scratch: Vec<u8>,
    /// What histories of QUIC hold, and may hold: beyond that those of streams that go on are written as they are, and end.
    quic_bytes: usize,
    quic_bytes_max: usize,
    /// Histories of QUIC that were written before their streams ended.
    pub cut_histories: u64,
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
    /// What records said of it before its end.
    interim: Option<Box<Interim>>,
}

/// Bytes of a stream's state that lie outside of [`State`] as long as it is open. `has_history`: whether its packets are followed;
/// `has_interim`: whether records come before its end.
pub fn stream_bytes(has_history: bool, has_interim: bool) -> usize {
    // What the allocator adds to each.
    const OVERHEAD_BYTES: usize = 16;
    let bytes = |is_kept: bool, bytes: usize| if is_kept { bytes + OVERHEAD_BYTES } else { 0 };
    bytes(has_history, size_of::<History>()) + bytes(has_interim, size_of::<Interim>())
}

impl HasConversation for State {
    fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }
}

impl<const HISTORY: bool> Exporting<HISTORY> {
    pub fn new(
        (kind, rows): (Kind, Texts),
        (select, cuts): (Selected, Option<Arc<CutOffs>>),
        services: &Arc<[Service]>,
        exports: &Arc<Exports>,
        parts: &Parts,
    ) -> Self {
        Self {
            totals: Totals::default(),
            transactions: 0,
            follower: Follower::new(parts).with(&None, &cuts),
            kind,
            rows,
            select,
            cuts,
            services: Arc::clone(services),
            exports: Arc::clone(exports),
            scratch: Vec::new(),
            quic_bytes: 0,
            quic_bytes_max: parts.worker_quic(),
            cut_histories: 0,
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
        quic.datagram(packet.direction as usize, datagram, packet.timestamp_ns);
        // The history of a connection takes 2 KiB until both hellos were seen, and 500 bytes then: behind four fifths no more are read.
        if self.quic_bytes > self.quic_bytes_max / 5 * 4 {
            quic.release();
        }
        self.quic_bytes = (self.quic_bytes + quic.memory_bytes()).saturating_sub(before);
        if self.quic_bytes > self.quic_bytes_max {
            state.is_quic_over = true;
            self.cut_histories += 1;
            self.close_quic(stream);
        }
    }

    /// Writes what the packets of a stream of QUIC were.
    fn close_quic(&mut self, stream: &mut Stream<'_, State>) {
        let Some(quic) = stream.data().quic.take() else { return };
        self.quic_bytes = self.quic_bytes.saturating_sub(quic.memory_bytes());
        let is_wanted = self.services.is_empty() || self.services.contains(&Service::Quic);
        if self.select.is_some() || !is_wanted {
            return;
        }
        let (id, start_ns, key, end_ns) = (stream.id(), stream.start_ns(), stream.key(), stream.end_ns());
        for entry in quic.finish() {
            let record = Output::Quic { stream: (id, start_ns, &key), entry: &entry };
            self.exports.write(&record, end_ns, &mut self.scratch);
        }
    }

    /// Writes what a stream did since the record before.
    fn interim(&mut self, stream: &mut Stream<'_, State>, clock_ns: u64) {
        let before = stream.data().interim.take();
        let before = before.map_or_else(Default::default, |interim| interim.stats(stream));
        let now = Interim::of(stream, clock_ns);
        let record = FlowRecord::of(stream, EndReason::Timeout, None, self.exports.origin());
        let record =
            FlowRecord { is_interim: true, gaps: &[], conflicts: [&[], &[]], anomalies: &[], ..record }.since(&before);
        if record.stats.iter().any(|stats| stats.packets > 0) {
            self.exports.write(&Output::Interim(&record), record.end_ns, &mut self.scratch);
        }
        stream.data().interim = Some(Box::new(now));
    }

    /// Passes something to the conversation of a stream, and writes what it reports.
    fn follow<T>(
        &mut self,
        stream: &mut Stream<'_, State>,
        pass: impl FnOnce(&mut Follower, &mut Stream<'_, State>, &mut Report<'_>) -> T,
    ) -> T {
        let (id, key, stream_start_ns) = (stream.id(), stream.key(), stream.opened_ns());
        let state = stream.data();
        let (mut number, mut seen) = (state.transactions, state.seen);
        let (select, is_of_streams) = (self.select.as_deref(), self.kind == Kind::Streams);
        let (exports, services, scratch) = (&self.exports, &self.services, &mut self.scratch);
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
            let exchange = Exchange { stream: id, key, stream_start_ns, number: index, transaction, origin };
            if select.is_some_and(|select| !select.matches(&Row::Transaction(&exchange), Seen::default())) {
                return false;
            }
            let record = Output::Transaction { exchange: &exchange, has_packets: HISTORY };
            exports.write(&record, transaction.end_ns, scratch);
            *written += 1;
            true
        };
        let passed = match self.rows {
            // The first transaction names the stream.
            Texts::Records(_) => {
                let mut show = |transaction: &Transaction| {
                    show(transaction);
                };
                pass(&mut self.follower, stream, &mut Report::Shown(&mut show))
            }
            Texts::Transactions(rows) => {
                let mut text = Vec::new();
                let mut each = |transaction: Transaction| {
                    if show(&transaction) && exports.wants_text() {
                        let end_ns = transaction.end_ns;
                        let row = (rows.row)((id, key, transaction));
                        exports.write(&Output::Text(&*row), end_ns, &mut text);
                    }
                };
                pass(&mut self.follower, stream, &mut Report::Each(&mut each))
            }
        };
        let state = stream.data();
        (state.transactions, state.seen) = (number, seen);
        passed
    }
}

impl<const HISTORY: bool> Handler for Exporting<HISTORY> {
    type Data = State;
    const PACKETS: bool = HISTORY;
    const VISITS: bool = true;

    fn visit(&mut self, stream: &mut Stream<'_, State>, clock_ns: u64) {
        // Which streams are selected is known at their ends.
        if let Some(active_ns) = self.exports.active_timeout_ns()
            && self.kind == Kind::Streams
            && self.select.is_none()
        {
            let begun_ns = stream.start_ns();
            let said_ns = stream.data().interim.as_ref().map_or(begun_ns, |interim| interim.said_ns());
            if clock_ns.saturating_sub(said_ns) >= active_ns {
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
                let (exports, scratch, ns) = (&self.exports, &mut self.scratch, packet.timestamp_ns);
                history.tunnels(&packet, |tunnel| exports.tunnel(tunnel, ns, scratch));
            }
        }
        if stream.key().proto == UDP && packet.checksum != PacketChecksum::LeftOut {
            self.follow_quic(stream, &packet);
        }
    }

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, State>, chunk: Chunk<'_>) {
        if self.follower.passes_over(stream, &chunk) {
            return;
        }
        self.follow(stream, |follower, stream, report| follower.data(stream, &chunk, report));
        if self.kind == Kind::Transactions && stream.data().conversation.is_over() {
            stream.discard();
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, State>, gap: Gap) {
        let (key, times) = (stream.key(), [stream.start_ns(), stream.end_ns()]);
        if let Some(history) = &mut stream.data().history {
            history.gap(&self.cuts.as_ref().map_or(gap, |cuts| cuts.corrected_gap(&key, times, gap)));
        }
        self.follow(stream, |follower, stream, report| follower.gap(stream, &gap, report));
    }

    fn close(&mut self, stream: &mut Stream<'_, State>, reason: EndReason) {
        let app = self.follow(stream, |follower, stream, report| follower.close(stream, report));
        self.close_quic(stream);
        let state = stream.data();
        let (history, interim) = (state.history.take(), state.interim.take());
        if self.kind == Kind::Transactions {
            self.totals.add(stream);
            return;
        }
        let seen = stream.data().seen;
        let mut record = FlowRecord::of(stream, reason, app.as_deref(), self.exports.origin());
        let corrected = self.cuts.as_ref().and_then(|cuts| cuts.correct(&mut record));
        if let Some(corrected) = &corrected {
            (record.anomalies, record.gaps) = (&corrected.anomalies, &corrected.gaps);
        }
        if self.select.as_ref().is_some_and(|select| !select.matches(&Row::Flow(&record), seen)) {
            return;
        }
        self.totals.add(stream);
        let rest = interim.map(|interim| record.since(&interim.stats(stream)));
        self.exports.flow(&record, rest.as_ref(), history.as_deref(), &mut self.scratch);
        if let Texts::Records(rows) = self.rows
            && self.exports.wants_text()
        {
            let mut record = Record { app, ..Record::of(stream, reason) };
            if let Some(cuts) = &self.cuts {
                cuts.apply(&mut record, stream.gaps());
            }
            let end_ns = record.end_ns;
            let row = (rows.row)(record);
            self.exports.write(&Output::Text(&*row), end_ns, &mut self.scratch);
        }
    }
}
