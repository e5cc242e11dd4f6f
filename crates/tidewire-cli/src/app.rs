//! Protocol fields of streams: how handlers gather them, and how they are printed.

use std::{borrow::Cow, sync::Arc};

use bytes::{Bytes, BytesMut};
use tidewire::{Chunk, Direction, EndReason, Gap, GapCause, Mode, Stream, TcpState};
use tidewire_exports::{
    FlowRecord, Origin, push_app,
    select::{Seen, Select},
    table::Row,
};
use tidewire_protocols::{App, Budget, CUTOFF_BYTES, Conversation, Piece, Ports, Report, Transaction};

use crate::{
    cut_off_join::CutOffs,
    error,
    memory::Parts,
    options::Common,
    units::{Size, counted},
};

/// State of a stream that may be selected by fields of its transactions.
#[derive(Default)]
pub struct Watched {
    conversation: Conversation,
    /// What was noted of its transactions while it is not known whether it is selected.
    seen: Seen,
}

impl HasConversation for Watched {
    fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }
}

impl AsMut<Self> for Watched {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// State of a stream that has a conversation in it.
pub trait HasConversation {
    /// The conversation.
    fn conversation(&mut self) -> &mut Conversation;
}

impl HasConversation for Conversation {
    fn conversation(&mut self) -> &mut Conversation {
        self
    }
}

/// What a stream must fulfil to be reported.
pub type Selected = Option<Arc<Select>>;

/// What a run of `flows` wants of the streams' bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Who speaks which protocol: the beginning of each direction says it.
    Beginnings,
    /// Transactions to write: all of them, of files. Of interfaces the beginnings, as the kernel then discards the rest.
    Transactions,
    /// Fields to select by: as transactions, and also if no record is printed.
    Fields,
}

/// The options of `flows`, and its mode: what it wants is delivered, unless a cutoff is given. Mode `fast` would cost 2 % less, but a
/// segment that is late by 16 packets would count as missing, and as sent again.
pub fn of_flows(common: &Common, wants: Wants) -> (Cow<'_, Common>, Mode) {
    if common.delivers_nothing().is_some() || common.limit == Some(0) && wants != Wants::Fields {
        return (Cow::Borrowed(common), Mode::Track);
    }
    let is_whole = wants != Wants::Beginnings;
    if is_whole && !common.live.is_on() {
        return (Cow::Borrowed(common), Mode::Strict);
    }
    let mut common = common.clone();
    common.cutoff.get_or_insert(Size(CUTOFF_BYTES));
    if wants != Wants::Fields {
        // Different versions of the same bytes are not reported.
        common.history = Size(0);
    }
    (Cow::Owned(common), Mode::Strict)
}

/// What a worker needs to follow conversations.
pub struct Follower {
    budget: Budget,
    /// What streams are selected by.
    select: Selected,
    /// What was cut off of an archive's streams.
    cuts: Option<Arc<CutOffs>>,
}

impl Follower {
    /// One whose streams' fields have so much of the memory.
    pub fn new(parts: &Parts) -> Self {
        Self { budget: Budget::new(parts.worker_fields()), select: None, cuts: None }
    }

    /// The same, which notes what `select` wants to know.
    pub fn with(self, select: &Selected, cuts: &Option<Arc<CutOffs>>) -> Self {
        Self { select: select.clone(), cuts: cuts.clone(), ..self }
    }

    /// Passes something to a stream's conversation, which keeps its first transaction.
    pub fn watch<D: HasConversation + AsMut<Watched>, T>(
        &mut self,
        stream: &mut Stream<'_, D>,
        pass: impl FnOnce(&mut Self, &mut Stream<'_, D>, &mut Report<'_>) -> T,
    ) -> T {
        let Some(select) = self.select.as_ref().filter(|select| select.wants_fields()).cloned() else {
            return pass(self, stream, &mut Report::First);
        };
        let mut seen = stream.data().as_mut().seen;
        let mut show = |transaction: &Transaction| select.see(transaction, &mut seen);
        let passed = pass(self, stream, &mut Report::Shown(&mut show));
        stream.data().as_mut().seen = seen;
        passed
    }

    /// The stream ended: what it was; `None`: it is not selected.
    pub fn end<D: HasConversation + AsMut<Watched>>(
        &mut self,
        stream: &mut Stream<'_, D>,
        reason: EndReason,
    ) -> Option<Option<Box<App>>> {
        let app = self.watch(stream, |follower, stream, report| follower.close(stream, report));
        let Some(select) = &self.select else { return Some(app) };
        let seen = stream.data().as_mut().seen;
        let mut record = FlowRecord::of(stream, reason, app.as_deref(), Origin::default());
        let corrected = self.cuts.as_ref().and_then(|cuts| cuts.correct(&mut record));
        if let Some(corrected) = &corrected {
            (record.anomalies, record.gaps) = (&corrected.anomalies, &corrected.gaps);
        }
        select.matches(&Row::Flow(&record), seen).then_some(app)
    }

    /// Whether bytes of a stream say nothing: most are within a body, or of a protocol that has said everything.
    #[inline]
    pub fn passes_over<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>) -> bool {
        let conversation = stream.data().conversation();
        conversation.is_over()
            || conversation.take_body(chunk.direction, chunk.fresh().len(), chunk.timestamp_ns, &mut self.budget)
    }

    /// Bytes of a stream that were not passed over.
    pub fn data<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>, report: &mut Report<'_>) {
        let fresh = chunk.fresh();
        let key = stream.key();
        let piece = Piece {
            direction: chunk.direction,
            bytes: fresh,
            is_datagram: chunk.is_datagram,
            timestamp_ns: chunk.timestamp_ns,
        };
        let ports = Ports { client: key.client.port, server: key.server.port };
        if stream.state() == TcpState::Midstream {
            stream.data().conversation().joined();
        }
        stream.data().conversation().data(&piece, ports, &mut self.budget, report);
    }

    /// Bytes that are missing.
    pub fn gap<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, gap: &Gap, report: &mut Report<'_>) {
        let seen = match gap.cause {
            // A removed urgent byte separates nothing: the receiver continues to read.
            GapCause::Urgent => return,
            // What passed beyond a cutoff was counted, with what is missing there.
            GapCause::Cutoff => gap.bytes.min(stream.stats(gap.direction).cutoff_bytes),
            _ => {
                let times = [stream.start_ns(), stream.end_ns()];
                let corrected = self.cuts.as_ref().map(|cuts| cuts.corrected_gap(&stream.key(), times, *gap));
                let is_recorders = corrected.is_some_and(|gap| gap.cause == GapCause::Cutoff);
                if is_recorders { gap.bytes } else { 0 }
            }
        };
        stream.data().conversation().skipped(gap.direction, gap.bytes, seen, &mut self.budget, report);
    }

    /// The stream ended: what it was.
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

    /// How many streams lost their fields for lack of memory.
    pub fn refused(&self) -> u64 {
        self.budget.refused()
    }
}

/// Says how many streams have no protocol fields because of the memory limit.
pub fn say_refused(refused: u64) {
    if refused > 0 {
        let streams = counted(refused, "stream has", "streams have");
        error::notify(format_args!("memory limit of protocol fields: {streams} none (raise --memory)"));
    }
}

/// Texts of `app`, which take less memory than the fields that they are made of, and are made of them while they are at hand. They lie
/// one behind the other: allocated one by one, each between what lives for a packet, they would cost as much again as making them.
#[derive(Default)]
pub struct AppTexts {
    block: BytesMut,
    scratch: Vec<u8>,
}

/// Bytes of a block of texts.
const BLOCK_BYTES: usize = 64 << 10;

impl AppTexts {
    /// The value of `app`. `is_kept`: as long as all others; else it lies alone, so that none of many keeps a block.
    pub fn json(&mut self, app: &App, is_kept: bool) -> Bytes {
        self.scratch.clear();
        push_app(&mut self.scratch, app);
        if !is_kept {
            return Bytes::copy_from_slice(&self.scratch);
        }
        if self.block.capacity() < self.scratch.len() {
            self.block = BytesMut::with_capacity(BLOCK_BYTES.max(self.scratch.len()));
        }
        self.block.extend_from_slice(&self.scratch);
        self.block.split().freeze()
    }
}
