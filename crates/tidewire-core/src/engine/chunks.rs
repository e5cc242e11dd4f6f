//! Chunks: bytes gathered up to a size, with overlap, a flush timeout and chunks that are kept.
//!
//! Bytes in order are cut at the cutoff, to the byte, and delivered: borrowed as they are, or gathered into chunks with
//! overlap, a flush timeout, and chunks that the application keeps. Statistics continue beyond a cutoff. A gap ends the
//! chunk before it. Offsets have 64 bits and only grow; the sequence number is the lower half of an internal offset.

use super::context::FlowContext;
use crate::{
    Chunk, Deliver, Direction, Stream,
    flow::{Flow, PendingChunk},
};

/// Greatest size of a chunk that is kept repeatedly; beyond it the chunk is discarded.
const KEPT_BYTES_MAX: usize = 16 << 20;

impl<H: Deliver> FlowContext<H> {
    /// Appends bytes to the direction's chunk, and delivers every chunk that becomes full.
    pub(crate) fn append_to_chunk(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        let (mut start, mut bytes) = (start, bytes);
        while !bytes.is_empty() {
            let mut pending_chunk = flow.slow_state().pending_chunk[direction as usize].take().unwrap_or_default();
            if pending_chunk.bytes.is_empty() {
                pending_chunk.start = start;
            }
            if pending_chunk.bytes.len() == pending_chunk.repeated {
                pending_chunk.since_ns = self.now.clock_ns;
                self.schedule_flush(flow);
            }
            // A kept chunk is followed by a whole new one; overlap is part of the chunk's size.
            let kept = if pending_chunk.is_kept { pending_chunk.repeated } else { 0 };
            let full = kept + self.config.chunk_bytes as usize;
            let room = full.saturating_sub(pending_chunk.bytes.len()).max(1).min(bytes.len());
            pending_chunk.bytes.extend_from_slice(&bytes[..room]);
            start += room as u64;
            bytes = &bytes[room..];
            let is_full = pending_chunk.bytes.len() >= full;
            self.charge(flow, direction, &mut pending_chunk);
            flow.slow_state().pending_chunk[direction as usize] = Some(pending_chunk);
            if is_full {
                self.emit(flow, data, direction, timestamp_ns);
            }
        }
    }

    fn schedule_flush(&mut self, flow: &Flow) {
        if self.config.flush_timeout_ns != 0 {
            self.flushes.push_back((
                self.now.clock_ns.saturating_add(self.config.flush_timeout_ns),
                self.now.slot,
                flow.id,
            ));
        }
    }

    fn charge(&mut self, flow: &mut Flow, direction: Direction, pending_chunk: &mut PendingChunk) {
        let capacity = (pending_chunk.bytes.capacity() + size_of::<PendingChunk>()) as u64;
        if capacity != pending_chunk.charged {
            self.accounting.recharge(&self.now, flow, direction, pending_chunk.charged, capacity);
            pending_chunk.charged = capacity;
            self.accounting.list_holder(&self.now, flow);
            self.accounting.settle_slow_state(&self.now, flow);
        }
    }

    /// Delivers the pending chunk, if anything in it is new.
    pub(crate) fn flush(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction) {
        if H::SUBSCRIBERS && !self.subscribers.is_selected {
            return self.each(flow, data, |context, flow, data| context.flush(flow, data, direction));
        }
        let pending_chunk =
            flow.slow_state.as_ref().and_then(|slow_state| slow_state.pending_chunk[direction as usize].as_ref());
        if pending_chunk.is_some_and(|pending_chunk| pending_chunk.bytes.len() > pending_chunk.repeated) {
            let timestamp_ns = flow.last_ns[direction as usize];
            self.emit(flow, data, direction, timestamp_ns);
        }
    }

    /// Whether a packet of the flow may first have to deliver a pending chunk whose flush timeout is over.
    #[inline(always)]
    pub(crate) fn is_flush_due(&self, flow: &Flow) -> bool {
        let timeout_ns = self.config.flush_timeout_ns;
        timeout_ns != 0
            && flow.slow_state.as_ref().is_some_and(|slow_state| {
                let is_due = |chunk: &PendingChunk| self.now.clock_ns >= chunk.since_ns.saturating_add(timeout_ns);
                H::SUBSCRIBERS || slow_state.pending_chunk.iter().flatten().any(|chunk| is_due(chunk))
            })
    }

    /// Delivers the pending chunks of a flow whose flush timeout is over.
    pub(crate) fn flush_due(&mut self, flow: &mut Flow, data: &mut H::Data) {
        if H::SUBSCRIBERS && !self.subscribers.is_selected {
            return self.flush_due_each(flow, data);
        }
        for direction in Direction::BOTH {
            let pending_chunk =
                flow.slow_state.as_ref().and_then(|slow_state| slow_state.pending_chunk[direction as usize].as_ref());
            if pending_chunk.is_some_and(|pending_chunk| {
                self.now.clock_ns >= pending_chunk.since_ns.saturating_add(self.config.flush_timeout_ns)
            }) {
                self.flush(flow, data, direction);
            }
        }
    }

    fn emit(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, timestamp_ns: u64) {
        let at = direction as usize;
        let Some(mut pending_chunk) = flow.slow_state().pending_chunk[at].take() else { return };
        let chunks = &mut flow.halves[at].chunks;
        *chunks = chunks.saturating_add(1);
        flow.slow_state().keep = false;
        let chunk = Chunk {
            direction,
            offset: pending_chunk.start,
            bytes: &pending_chunk.bytes,
            repeated_bytes: pending_chunk.repeated,
            timestamp_ns,
            is_datagram: false,
        };
        self.handler.data(&mut Stream { flow, data, config: &self.config }, chunk);
        let length = pending_chunk.bytes.len();
        let kept = flow.slow_state().keep && length + self.config.chunk_bytes as usize <= KEPT_BYTES_MAX;
        let repeated = if kept { length } else { length.min(self.config.overlap_bytes as usize) };
        pending_chunk.bytes.drain(..length - repeated);
        pending_chunk.start += (length - repeated) as u64;
        pending_chunk.repeated = repeated;
        pending_chunk.is_kept = kept;
        self.charge(flow, direction, &mut pending_chunk);
        flow.slow_state().pending_chunk[at] = Some(pending_chunk);
    }

    /// Discards the pending chunk and releases its charge.
    pub(crate) fn drop_chunk(&mut self, flow: &mut Flow, direction: Direction) {
        if H::SUBSCRIBERS && !self.subscribers.is_selected {
            return self.drop_each(flow, direction);
        }
        let Some(pending_chunk) =
            flow.slow_state.as_mut().and_then(|slow_state| slow_state.pending_chunk[direction as usize].take())
        else {
            return;
        };
        self.accounting.recharge(&self.now, flow, direction, pending_chunk.charged, 0);
    }
}
