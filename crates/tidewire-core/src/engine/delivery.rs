//! The receivers of the events of streams: a handler, or several applications.

use std::collections::VecDeque;

use crate::{Direction, Handler, Mode, Shunt, Stream, connection::Connection, flow::half, subscriber::Subscribers};

/// The receivers of all streams of an engine.
pub(crate) struct Outputs<H> {
    pub handler: H,
    /// The applications behind the handler, if there are several.
    pub subscribers: Subscribers,
    /// Pending chunks with the clock at which they are flushed, earliest first: (clock, slot, flow id).
    pub flushes: VecDeque<(u64, u32, u64)>,
    /// Keeps packets of cut directions from the engine.
    pub shunt: Option<Box<dyn Shunt>>,
    /// The memory level last published to the shunt.
    pub level_permille: u32,
}

/// The receivers of one stream, with the handler's state for it.
pub(crate) struct Delivery<'a, H: Handler> {
    pub outputs: &'a mut Outputs<H>,
    pub data: &'a mut H::Data,
}

impl Connection<'_> {
    /// The stream as a handler sees it.
    #[inline(always)]
    pub(super) fn stream<'a, D>(&'a mut self, data: &'a mut D) -> Stream<'a, D> {
        Stream { flow: self.flow, data, config: &self.shared.config }
    }

    /// Whether no cutoff can apply to a direction.
    #[inline(always)]
    pub(super) fn is_uncut(&self, direction: Direction) -> bool {
        self.shared.config.cutoff.0[direction as usize] == u64::MAX && self.shared.config.mode != Mode::Track
    }

    /// The part of bytes from stream offset `start` on that lies before the cutoff.
    #[cold]
    pub(super) fn cut<'b>(&mut self, direction: Direction, start: u64, bytes: &'b [u8]) -> &'b [u8] {
        let limit = self.cutoff(direction);
        let room = limit.saturating_sub(start);
        if (bytes.len() as u64) < room {
            return bytes;
        }
        if start + bytes.len() as u64 >= limit && limit != u64::MAX {
            self.flow.halves[direction as usize].flags |= half::CUT;
        }
        &bytes[..room.min(bytes.len() as u64) as usize]
    }
}
