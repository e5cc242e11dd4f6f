//! Finished streams with their bytes.

use std::collections::VecDeque;

use tidewire_core::{
    Anomaly, Chunk, Conflict, Direction, DirectionCutoff, DirectionStats, EndReason, FlowKey, Gap, Handler, Stream,
    TcpState,
};

use crate::{
    Capture, Error, Outcome, Timestamp,
    setup::{Input, Setup},
};

/// Bytes kept of each direction of a stream, unless [`Capture::cutoff`] says otherwise.
pub const STREAM_BYTES_KEPT: u64 = 1 << 20;

/// A stream that has ended, and its bytes: see [`Capture::for_each_stream`].
#[derive(Clone, Debug)]
pub struct FinishedStream {
    id: u64,
    key: FlowKey,
    span: (Timestamp, Timestamp),
    state: TcpState,
    reason: EndReason,
    stats: [DirectionStats; 2],
    bytes: [Vec<u8>; 2],
    dropped_bytes: [u64; 2],
    gaps: Vec<Gap>,
    anomalies: Vec<Anomaly>,
    /// Those of both directions, the client's first.
    conflicts: Vec<Conflict>,
    client_conflicts: usize,
}

impl FinishedStream {
    /// Number of the packet that opened it, from 1.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The flow's key: client, server and protocol.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        self.key
    }

    /// Time of its first packet.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        self.span.0
    }

    /// Time of its last packet.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.span.1
    }

    /// The state of its TCP connection at the end.
    #[must_use]
    pub fn state(&self) -> TcpState {
        self.state
    }

    /// Why it ended.
    #[must_use]
    pub fn reason(&self) -> EndReason {
        self.reason
    }

    /// The statistics of a direction: exact, whatever was kept.
    #[must_use]
    pub fn stats(&self, direction: Direction) -> &DirectionStats {
        &self.stats[direction as usize]
    }

    /// The bytes of a direction, in order. Missing bytes are skipped, and listed in [`gaps`](Self::gaps). If
    /// [`dropped_bytes`](Self::dropped_bytes) is not 0, the memory was used up and the direction continues beyond these bytes.
    #[must_use]
    pub fn bytes(&self, direction: Direction) -> &[u8] {
        &self.bytes[direction as usize]
    }

    /// Moves the bytes of a direction out.
    #[must_use]
    pub fn take_bytes(&mut self, direction: Direction) -> Vec<u8> {
        std::mem::take(&mut self.bytes[direction as usize])
    }

    /// Bytes at the end of a direction that were delivered but not kept, because all streams together held too many.
    #[must_use]
    pub fn dropped_bytes(&self, direction: Direction) -> u64 {
        self.dropped_bytes[direction as usize]
    }

    /// Gaps with their cause, at most [`Config::list_max`](crate::Config::list_max);
    /// [`GapCause::Cutoff`](crate::GapCause::Cutoff) covers bytes beyond the cutoff.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Anomalies in packet order, at most [`Config::list_max`](crate::Config::list_max).
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// Overlaps whose bytes differ, at most [`Config::list_max`](crate::Config::list_max).
    #[must_use]
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Those of a direction.
    #[must_use]
    pub fn conflicts_of(&self, direction: Direction) -> &[Conflict] {
        let (client, server) = self.conflicts.split_at(self.client_conflicts.min(self.conflicts.len()));
        [client, server][direction as usize]
    }
}

/// State of an unfinished stream.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: [Vec<u8>; 2],
    dropped_bytes: [u64; 2],
}

/// The handler that keeps streams' bytes until they end. `F` gets finished streams, and returns those that it does not accept.
pub(crate) struct Gathering<F> {
    take: F,
    left: VecDeque<FinishedStream>,
    kept_bytes: u64,
    kept_bytes_max: u64,
}

impl<F> Gathering<F> {
    pub(crate) fn new(kept_bytes_max: u64, take: F) -> Self {
        Self { take, left: VecDeque::new(), kept_bytes: 0, kept_bytes_max }
    }

    /// The next stream that `F` did not accept.
    pub(crate) fn next(&mut self) -> Option<FinishedStream> {
        let stream = self.left.pop_front()?;
        self.kept_bytes = self.kept_bytes.saturating_sub(held(&stream.bytes));
        Some(stream)
    }
}

/// Memory of both directions' bytes.
fn held(bytes: &[Vec<u8>; 2]) -> u64 {
    bytes.iter().map(|bytes| bytes.capacity() as u64).sum()
}

impl<F: FnMut(FinishedStream) -> Option<FinishedStream>> Handler for Gathering<F> {
    type Data = Kept;

    fn data(&mut self, stream: &mut Stream<'_, Kept>, chunk: Chunk<'_>) {
        let at = chunk.direction as usize;
        let kept = stream.data();
        let fresh = chunk.fresh();
        // The beginning of a direction is kept: room that returns later is for other streams.
        if kept.dropped_bytes[at] > 0 {
            kept.dropped_bytes[at] += fresh.len() as u64;
            return;
        }
        let bytes = &mut kept.bytes[at];
        // Allocated bytes count as kept.
        let room = self.kept_bytes_max.saturating_sub(self.kept_bytes) as usize + bytes.capacity() - bytes.len();
        let count = fresh.len().min(room);
        let before = bytes.capacity();
        if before - bytes.len() < count {
            bytes.reserve_exact(count.max((before / 2).min(room)));
        }
        bytes.extend_from_slice(&fresh[..count]);
        self.kept_bytes += (bytes.capacity() - before) as u64;
        kept.dropped_bytes[at] += (fresh.len() - count) as u64;
    }

    fn close(&mut self, stream: &mut Stream<'_, Kept>, reason: EndReason) {
        let Kept { bytes, dropped_bytes } = std::mem::take(stream.data());
        let directions = Direction::BOTH;
        let held = held(&bytes);
        let finished = FinishedStream {
            id: stream.id(),
            key: stream.key(),
            span: (stream.start(), stream.end()),
            state: stream.state(),
            reason,
            stats: directions.map(|direction| stream.stats(direction)),
            bytes,
            dropped_bytes,
            gaps: stream.gaps().to_vec(),
            anomalies: stream.anomalies().to_vec(),
            client_conflicts: stream.conflicts(Direction::ClientToServer).len(),
            conflicts: directions.iter().flat_map(|direction| stream.conflicts(*direction)).copied().collect(),
        };
        match (self.take)(finished) {
            Some(finished) => self.left.push_back(finished),
            None => self.kept_bytes = self.kept_bytes.saturating_sub(held),
        }
    }
}

impl Setup {
    /// Bounds what is kept of each direction, and returns how much all streams together may keep.
    pub(crate) fn gather(&mut self) -> Result<u64, Error> {
        self.one_worker()?;
        if !self.has_cutoff() {
            self.config.set_cutoff(DirectionCutoff::both(STREAM_BYTES_KEPT));
        }
        self.settle(1, size_of::<Kept>())?;
        Ok(self.memory_bytes)
    }
}

impl<I: Input> Capture<I> {
    /// Calls a closure with each finished stream and the bytes of both directions: for small programs. One worker runs, on
    /// this thread.
    ///
    /// At most [`STREAM_BYTES_KEPT`] bytes of each direction are kept; [`cutoff`](Self::cutoff) or a class of the stream sets
    /// another limit, and `cutoff(None)` none. The bytes that all streams keep together are bounded by
    /// [`memory`](Self::memory), in addition to what that setting covers otherwise; what does not fit is dropped from the end of a
    /// direction and counted ([`FinishedStream::dropped_bytes`]). Use a [`Handler`] for larger streams and for streams that
    /// do not end.
    ///
    /// ```
    /// use tidewire::{Capture, Direction};
    ///
    /// # fn main() -> Result<(), tidewire::Error> {
    /// # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
    /// Capture::reader(capture).for_each_stream(|stream| {
    ///     let key = stream.key();
    ///     let bytes = stream.bytes(Direction::ServerToClient).len();
    ///     println!("{} to {}: {bytes} bytes, {} gaps", key.client, key.server, stream.gaps().len());
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with).
    pub fn for_each_stream(mut self, mut call: impl FnMut(FinishedStream)) -> Result<Outcome<()>, Error> {
        let kept_bytes_max = self.setup.gather()?;
        let take = |stream| {
            call(stream);
            None
        };
        Ok(self.run_settled(Gathering::new(kept_bytes_max, take))?.with_handlers(vec![()]))
    }
}
