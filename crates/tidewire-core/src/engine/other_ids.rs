//! Packets whose VLAN or tunnel ids no flow with their addresses and ports has.
//!
//! Most ids of tunnels, and on mirror ports those of VLANs, belong to a direction: with them in the key every such
//! conversation is two half streams; without them two networks with the same addresses are one. So a packet joins a
//! flow of other ids only where that flow has no packet of its direction. The hash has no ids: one worker has all flows
//! of the same addresses. `docs/output.md` has the ids one by one.

use super::Engine;
use crate::{
    AnomalyKind, Direction, Handler,
    flow::{Flow, Half, bits, half},
    packet::Keyed,
    tcp::{Segment, tcp_flag},
    wire::TunnelKind,
};

/// How far the numbers of a segment that continues a flow may lie from those that come next there: one in 32,768
/// segments of other connections is so near.
const CONTINUES_MAX: u32 = 1 << 16;

impl<H: Handler> Engine<H> {
    /// The flow of other tunnel ids that a segment continues.
    ///
    /// Only of GTP-U: at a handover, and when a bearer is modified, the receiver chooses another TEID (3GPP TS 29.281
    /// section 5.1), and the connection inside goes on. Elsewhere an id names a network, and a packet with another one
    /// never reaches the host.
    #[cold]
    pub(super) fn moved_flow(&mut self, keyed: &Keyed<'_>, segment: &Segment) -> Option<u32> {
        if keyed.packet.decoded.tunnel.kind != TunnelKind::GtpU || segment.has(tcp_flag::SYN) {
            return None;
        }
        self.table.find_other(keyed.hash, keyed.key, |flow| continues(flow, flow.direction(keyed.from_a), segment))
    }

    /// A flow begins with a packet of other VLAN or tunnel ids than a flow that is open has in this direction, and not
    /// with a handshake: another network with the same addresses, another way, or a forged tag. Both are marked.
    #[cold]
    pub(super) fn note_other_ids(&mut self, slot: u32, other: u32) {
        let flow = self.table.flows.get(other);
        if !flow.has(bits::LIVE) || flow.is_over() || other == slot || self.shared.is_expired(flow) {
            return;
        }
        for slot in [other, slot] {
            let (mut connection, _) = self.connection(slot);
            connection.note_anomaly_once(AnomalyKind::EncapsulationChange);
            connection.settle_slow_state();
        }
    }
}

/// Whether a segment's numbers follow on those of a flow's direction: what comes next there, or what is sent again to a
/// receiver whose own numbers fit.
fn continues(flow: &Flow, direction: Direction, segment: &Segment) -> bool {
    let (me, peer) = (&flow.halves[direction as usize], &flow.halves[direction.opposite() as usize]);
    let distance = |half: &Half, number: u32| number.wrapping_sub(half.next_seq()) as i32;
    let is_near = |half: &Half, number: u32| {
        half.has(half::KNOWN) && half.packets() > 0 && distance(half, number).unsigned_abs() <= CONTINUES_MAX
    };
    let is_answer = segment.has(tcp_flag::ACK) && is_near(peer, segment.ack);
    // (Where bytes are held, what comes next is not known yet.)
    let is_next = !me.has(half::HELD) && distance(me, segment.seq) >= 0;
    is_near(me, segment.seq) && (is_answer || is_next)
}
