//! Chunks: bytes gathered up to a size, with overlap, a flush timeout and chunks that are kept.
//!
//! Bytes in order are cut at the cutoff, to the byte, and delivered: borrowed as they are, or gathered into chunks with
//! overlap, a flush timeout, and chunks that the application keeps. Statistics continue beyond a cutoff. A gap ends the
//! chunk before it. Offsets have 64 bits and only grow; the sequence number is the lower half of an internal offset.

use super::delivery::Delivery;
use crate::{Chunk, Direction, Handler, Timestamp, connection::Connection, flow::PendingChunk};

/// Greatest size of a chunk that is kept repeatedly; beyond it the chunk is discarded.
const KEPT_BYTES_MAX: usize = 16 << 20;

impl Connection<'_> {
    /// Charges the memory of a direction's pending chunk.
    fn charge(&mut self, direction: Direction, pending_chunk: &mut PendingChunk) {
        let capacity = (pending_chunk.bytes.capacity() + size_of::<PendingChunk>()) as u64;
        if capacity != pending_chunk.charged {
            self.shared.accounting.recharge(&self.shared.now, self.flow, direction, pending_chunk.charged, capacity);
            pending_chunk.charged = capacity;
            self.shared.accounting.list_holder(&self.shared.now, self.flow);
            self.settle_slow_state();
        }
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Appends bytes to the direction's chunk, and delivers every chunk that becomes full.
    pub(crate) fn append_to_chunk(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        let (mut start, mut bytes) = (start, bytes);
        while !bytes.is_empty() {
            let mut pending_chunk =
                connection.flow.slow_state().pending_chunk[direction as usize].take().unwrap_or_default();
            if pending_chunk.bytes.is_empty() {
                pending_chunk.start = start;
            }
            if pending_chunk.bytes.len() == pending_chunk.repeated {
                pending_chunk.since_ns = connection.shared.now.clock_ns;
                self.schedule_flush(connection);
            }
            // A kept chunk is followed by a whole new one; overlap is part of the chunk's size.
            let kept = if pending_chunk.is_kept { pending_chunk.repeated } else { 0 };
            let full = kept + connection.shared.config.chunk_bytes as usize;
            let room = full.saturating_sub(pending_chunk.bytes.len()).max(1).min(bytes.len());
            pending_chunk.bytes.extend_from_slice(&bytes[..room]);
            start += room as u64;
            bytes = &bytes[room..];
            let is_full = pending_chunk.bytes.len() >= full;
            connection.charge(direction, &mut pending_chunk);
            connection.flow.slow_state().pending_chunk[direction as usize] = Some(pending_chunk);
            if is_full {
                self.emit(connection, direction, timestamp_ns);
            }
        }
    }

    fn schedule_flush(&mut self, connection: &Connection<'_>) {
        if connection.shared.config.flush_timeout_ns != 0 {
            self.outputs.flushes.push_back((
                connection.shared.now.clock_ns.saturating_add(connection.shared.config.flush_timeout_ns),
                connection.shared.now.slot,
                connection.flow.id,
            ));
        }
    }

    /// Delivers the pending chunk, if anything in it is new.
    pub(crate) fn flush(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        if H::APPLICATIONS && !self.outputs.subscribers.is_selected {
            return self.each(connection, |delivery, connection| delivery.flush(connection, direction));
        }
        let pending_chunk = connection
            .flow
            .slow_state
            .as_ref()
            .and_then(|slow_state| slow_state.pending_chunk[direction as usize].as_ref());
        if pending_chunk.is_some_and(|pending_chunk| pending_chunk.bytes.len() > pending_chunk.repeated) {
            let timestamp_ns = connection.flow.last_ns[direction as usize];
            self.emit(connection, direction, timestamp_ns);
        }
    }

    /// Whether a packet of the flow may first have to deliver a pending chunk whose flush timeout is over.
    #[inline(always)]
    pub(crate) fn is_flush_due(&self, connection: &Connection<'_>) -> bool {
        let timeout_ns = connection.shared.config.flush_timeout_ns;
        timeout_ns != 0
            && connection.flow.slow_state.as_ref().is_some_and(|slow_state| {
                let is_due =
                    |chunk: &PendingChunk| connection.shared.now.clock_ns >= chunk.since_ns.saturating_add(timeout_ns);
                H::APPLICATIONS || slow_state.pending_chunk.iter().flatten().any(|chunk| is_due(chunk))
            })
    }

    /// Delivers the pending chunks of a flow whose flush timeout is over.
    pub(crate) fn flush_due(&mut self, connection: &mut Connection<'_>) {
        if H::APPLICATIONS && !self.outputs.subscribers.is_selected {
            return self.flush_due_each(connection);
        }
        for direction in Direction::BOTH {
            let pending_chunk = connection
                .flow
                .slow_state
                .as_ref()
                .and_then(|slow_state| slow_state.pending_chunk[direction as usize].as_ref());
            if pending_chunk.is_some_and(|pending_chunk| {
                connection.shared.now.clock_ns
                    >= pending_chunk.since_ns.saturating_add(connection.shared.config.flush_timeout_ns)
            }) {
                self.flush(connection, direction);
            }
        }
    }

    fn emit(&mut self, connection: &mut Connection<'_>, direction: Direction, timestamp_ns: u64) {
        let at = direction as usize;
        let Some(mut pending_chunk) = connection.flow.slow_state().pending_chunk[at].take() else { return };
        let chunks = &mut connection.flow.halves[at].chunks;
        *chunks = chunks.saturating_add(1);
        connection.flow.slow_state().keep = false;
        let chunk = Chunk {
            direction,
            offset: pending_chunk.start,
            bytes: &pending_chunk.bytes,
            repeated_bytes: pending_chunk.repeated,
            timestamp: Timestamp::from_nanos(timestamp_ns),
            is_datagram: false,
        };
        self.outputs.handler.data(&mut connection.stream(self.data), chunk);
        let length = pending_chunk.bytes.len();
        let kept = connection.flow.slow_state().keep
            && length + connection.shared.config.chunk_bytes as usize <= KEPT_BYTES_MAX;
        let repeated = if kept { length } else { length.min(connection.shared.config.overlap_bytes as usize) };
        pending_chunk.bytes.drain(..length - repeated);
        pending_chunk.start += (length - repeated) as u64;
        pending_chunk.repeated = repeated;
        pending_chunk.is_kept = kept;
        connection.charge(direction, &mut pending_chunk);
        connection.flow.slow_state().pending_chunk[at] = Some(pending_chunk);
    }

    /// Discards the pending chunk and releases its charge.
    pub(crate) fn drop_chunk(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        if H::APPLICATIONS && !self.outputs.subscribers.is_selected {
            return self.drop_each(connection, direction);
        }
        let Some(pending_chunk) = connection
            .flow
            .slow_state
            .as_mut()
            .and_then(|slow_state| slow_state.pending_chunk[direction as usize].take())
        else {
            return;
        };
        connection.shared.accounting.recharge(
            &connection.shared.now,
            connection.flow,
            direction,
            pending_chunk.charged,
            0,
        );
    }

    /// Flushes chunks whose flush timeout is over, for each application.
    fn flush_due_each(&mut self, connection: &mut Connection<'_>) {
        self.each(connection, |delivery, connection| {
            if connection.shared.config.flush_timeout_ns != 0 {
                delivery.flush_due(connection);
            }
        });
    }

    /// Discards the pending chunks of all applications.
    fn drop_each(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        let Some(slow_state) = &mut connection.flow.slow_state else { return };
        let gathered =
            slow_state.subscriber_states.iter_mut().filter_map(|state| state.pending_chunk[direction as usize].take());
        let charged = gathered.map(|pending_chunk| pending_chunk.charged).sum();
        connection.shared.accounting.recharge(&connection.shared.now, connection.flow, direction, charged, 0);
    }
}
