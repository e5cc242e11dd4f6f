//! The events that TCP makes of segments, in the order of the stream.

use super::Segment;
use crate::{Direction, Gap, StreamPacket, connection::Connection};

/// Receives the events of a connection while a segment of it is processed.
///
/// A receiver may change the connection's cutoffs and its list of gaps, and charge memory for it; it changes no state of
/// TCP. Offsets are the stream's.
pub(crate) trait Events {
    /// Whether [`accept`](Self::accept) is called.
    const PACKETS: bool;

    /// A packet that needs no decision is accepted, before its effects.
    fn accept(&mut self, connection: &mut Connection<'_>, packet: StreamPacket<'_>);

    /// Bytes continue the direction at an offset.
    fn deliver(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        offset: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    );

    /// Bytes are missing, and no longer expected.
    fn gap(&mut self, connection: &mut Connection<'_>, gap: Gap);

    /// Bytes that were not stored are passed, because they lay beyond the cutoff when they arrived: `[offset, end)`.
    fn pass(&mut self, connection: &mut Connection<'_>, direction: Direction, offset: u64, end: u64);

    /// The fast path passed a direction's cutoff: no more payload of it is needed.
    fn cut(&mut self, connection: &mut Connection<'_>);

    /// A segment that ends the direction is processed next.
    fn ending(&mut self, connection: &mut Connection<'_>, direction: Direction, segment: &Segment);

    /// The direction's FIN was reached: no bytes follow.
    fn end(&mut self, connection: &mut Connection<'_>, direction: Direction);

    /// The stream closes, and all of the direction was delivered or reported as missing.
    fn close(&mut self, connection: &mut Connection<'_>, direction: Direction);
}
