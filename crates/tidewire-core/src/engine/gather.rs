//! Chunks: bytes gathered up to a size, with overlap, a flush timeout and chunks that are kept (S7).

use super::core::Core;
use crate::{
    Chunk, Deliver, Direction, Stream,
    flow::{Flow, Gathering},
};

/// A chunk that is kept again and again grows up to this size, then it is let go.
const KEPT_BYTES_MAX: usize = 16 << 20;

impl<H: Deliver> Core<H> {
    /// Adds bytes to the direction's chunk and hands over every chunk that becomes full.
    pub(crate) fn gather(
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
            let mut gathering = flow.extra().gathering[direction as usize].take().unwrap_or_default();
            if gathering.bytes.is_empty() {
                gathering.start = start;
            }
            if gathering.bytes.len() == gathering.repeated {
                gathering.since_ns = self.now.clock_ns;
                self.flush_later(flow);
            }
            // A kept chunk is followed by a whole new one; overlap is part of the chunk's own size.
            let kept = if gathering.is_kept { gathering.repeated } else { 0 };
            let full = kept + self.config.chunk_bytes as usize;
            let room = full.saturating_sub(gathering.bytes.len()).max(1).min(bytes.len());
            gathering.bytes.extend_from_slice(&bytes[..room]);
            start += room as u64;
            bytes = &bytes[room..];
            let is_full = gathering.bytes.len() >= full;
            self.charge(flow, direction, &mut gathering);
            flow.extra().gathering[direction as usize] = Some(gathering);
            if is_full {
                self.emit(flow, data, direction, timestamp_ns);
            }
        }
    }

    fn flush_later(&mut self, flow: &Flow) {
        if self.config.flush_timeout_ns != 0 {
            self.flushes.push_back((
                self.now.clock_ns.saturating_add(self.config.flush_timeout_ns),
                self.now.slot,
                flow.id,
            ));
        }
    }

    fn charge(&mut self, flow: &mut Flow, direction: Direction, gathering: &mut Gathering) {
        let capacity = (gathering.bytes.capacity() + size_of::<Gathering>()) as u64;
        if capacity != gathering.charged {
            self.holdings.recharge(&self.now, flow, direction, gathering.charged, capacity);
            gathering.charged = capacity;
            self.holdings.list_holder(&self.now, flow);
            self.holdings.settle_extra(&self.now, flow);
        }
    }

    /// Hands over what was gathered, if anything of it is new.
    pub(crate) fn flush(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction) {
        if H::OUTLETS && !self.outlets.turned {
            return self.each(flow, data, |core, flow, data| core.flush(flow, data, direction));
        }
        let gathering = flow.extra.as_ref().and_then(|extra| extra.gathering[direction as usize].as_ref());
        if gathering.is_some_and(|gathering| gathering.bytes.len() > gathering.repeated) {
            let timestamp_ns = flow.last_ns[direction as usize];
            self.emit(flow, data, direction, timestamp_ns);
        }
    }

    /// Flushes the chunks of a flow that were begun too long ago.
    pub(crate) fn flush_due(&mut self, flow: &mut Flow, data: &mut H::Data) {
        if H::OUTLETS && !self.outlets.turned {
            return self.flush_due_each(flow, data);
        }
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let gathering = flow.extra.as_ref().and_then(|extra| extra.gathering[direction as usize].as_ref());
            if gathering.is_some_and(|gathering| {
                self.now.clock_ns >= gathering.since_ns.saturating_add(self.config.flush_timeout_ns)
            }) {
                self.flush(flow, data, direction);
            }
        }
    }

    fn emit(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, timestamp_ns: u64) {
        let at = direction as usize;
        let Some(mut gathering) = flow.extra().gathering[at].take() else { return };
        let chunks = &mut flow.halves[at].chunks;
        *chunks = chunks.saturating_add(1);
        flow.extra().keep = false;
        let chunk = Chunk {
            direction,
            offset: gathering.start,
            bytes: &gathering.bytes,
            repeated_bytes: gathering.repeated,
            timestamp_ns,
            is_datagram: false,
        };
        self.handler.data(&mut Stream { flow, data, config: &self.config }, chunk);
        let length = gathering.bytes.len();
        let kept = flow.extra().keep && length + self.config.chunk_bytes as usize <= KEPT_BYTES_MAX;
        let repeated = if kept { length } else { length.min(self.config.overlap_bytes as usize) };
        gathering.bytes.drain(..length - repeated);
        gathering.start += (length - repeated) as u64;
        gathering.repeated = repeated;
        gathering.is_kept = kept;
        self.charge(flow, direction, &mut gathering);
        flow.extra().gathering[at] = Some(gathering);
    }

    /// Forgets what was gathered (after it was flushed) and gives its memory back.
    pub(crate) fn drop_gathered(&mut self, flow: &mut Flow, direction: Direction) {
        if H::OUTLETS && !self.outlets.turned {
            return self.drop_each(flow, direction);
        }
        let Some(gathering) = flow.extra.as_mut().and_then(|extra| extra.gathering[direction as usize].take()) else {
            return;
        };
        self.holdings.recharge(&self.now, flow, direction, gathering.charged, 0);
    }
}
