//! Conversations of streams: protocol fields are gathered, and streams selected by them.

use std::sync::Arc;

pub use tidewire::protocols::HasConversation;
use tidewire::{Chunk, EndReason, Gap, GapCause, Stream, protocols::ProtocolReader};
use tidewire_exports::{
    FlowRecord, Origin,
    select::{Seen, Select},
    table::Row,
};
use tidewire_protocols::{App, Conversation, Report, Transaction};

use crate::{cut_offs::CutOffs, memory::MemoryParts};

/// State of a stream that may be selected by fields of its transactions.
#[derive(Default)]
pub struct TrackedStream {
    conversation: Conversation,
    /// Notes of its transactions while it is not known whether it is selected.
    seen: Seen,
}

impl HasConversation for TrackedStream {
    fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }
}

impl AsMut<Self> for TrackedStream {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// The test that a stream must fulfil to be reported.
pub type Selected = Option<Arc<Select>>;

/// State of a worker that follows conversations.
pub struct ConversationTracker {
    reader: ProtocolReader,
    /// The test that selects streams.
    select: Selected,
    /// Parts of an archive's streams that were cut off.
    cuts: Option<Arc<CutOffs>>,
}

impl ConversationTracker {
    /// A tracker with this share of the memory.
    pub fn new(parts: &MemoryParts) -> Self {
        Self { reader: ProtocolReader::new(parts.worker_fields()), select: None, cuts: None }
    }

    /// Adds a selection, and parts that were cut off.
    pub fn with(self, select: &Selected, cuts: &Option<Arc<CutOffs>>) -> Self {
        Self { select: select.clone(), cuts: cuts.clone(), ..self }
    }

    /// Passes something to a stream's conversation, which keeps its first transaction.
    pub fn track<D: HasConversation + AsMut<TrackedStream>, T>(
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
    pub fn end<D: HasConversation + AsMut<TrackedStream>>(
        &mut self,
        stream: &mut Stream<'_, D>,
        reason: EndReason,
    ) -> Option<Option<Box<App>>> {
        let app = self.track(stream, |tracker, stream, report| tracker.close(stream, report));
        let Some(select) = &self.select else { return Some(app) };
        let seen = stream.data().as_mut().seen;
        let mut record = FlowRecord::of(stream, reason, app.as_deref(), Origin::default());
        let corrected = self.cuts.as_ref().and_then(|cuts| cuts.correct(&mut record));
        if let Some(corrected) = &corrected {
            (record.anomalies, record.gaps) = (&corrected.anomalies, &corrected.gaps);
        }
        select.matches(&Row::Flow(&record), seen).then_some(app)
    }

    /// Whether bytes carry no protocol field.
    #[inline]
    pub fn passes_over<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>) -> bool {
        self.reader.passes_over(stream, chunk)
    }

    /// Bytes of a stream that were not passed over.
    pub fn data<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>, report: &mut Report<'_>) {
        self.reader.data(stream, chunk, report);
    }

    /// Bytes that are missing, or that a recorder cut off.
    pub fn gap<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, gap: &Gap, report: &mut Report<'_>) {
        let corrects = !matches!(gap.cause, GapCause::Urgent | GapCause::Cutoff);
        let cuts = self.cuts.as_ref().filter(|_| corrects);
        let times = [stream.start().as_nanos(), stream.end().as_nanos()];
        let corrected = cuts.map(|cuts| cuts.corrected_gap(&stream.key(), times, *gap));
        match corrected {
            Some(corrected) if corrected.cause == GapCause::Cutoff => {
                self.reader.skipped(stream, gap, gap.bytes, report);
            }
            _ => self.reader.gap(stream, gap, report),
        }
    }

    /// The stream ended: what it was.
    pub fn close<D: HasConversation>(
        &mut self,
        stream: &mut Stream<'_, D>,
        report: &mut Report<'_>,
    ) -> Option<Box<App>> {
        self.reader.close(stream, report)
    }

    /// How many streams lost their fields for lack of memory.
    pub fn refused(&self) -> u64 {
        self.reader.refused()
    }
}
