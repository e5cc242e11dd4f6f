//! The engine's values as the records of a queue have them. The numbers of causes, reasons, states, kinds and anomalies are the
//! same on both sides, which a test compares.

use tidewire::{AnomalyKind, Direction, EndReason, FlowKey, Stream};
use tidewire_queue::records::{Close, Key, Open};

/// A key.
pub(super) fn key(key: &FlowKey, is_client_known: bool) -> Key {
    Key {
        client: key.client,
        server: key.server,
        protocol: key.proto,
        vlan: key.vlans.raw(),
        tunnel_kind: key.tunnel.kind as u8,
        tunnel_id: key.tunnel.id,
        icmp: key.icmp,
        is_client_known,
    }
}

/// A stream's OPEN.
pub(super) fn open<D>(stream: &Stream<'_, D>, ordinal: u64, next_offset: [u64; 2]) -> Open {
    let key = key(&stream.key(), stream.client_known());
    Open { key, start_ns: stream.start().as_nanos(), ordinal, next_offset, priority: stream.priority() }
}

/// A stream's CLOSE.
pub(super) fn close<D>(stream: &Stream<'_, D>, reason: EndReason, ordinal: u64, end_offset: [u64; 2]) -> Close {
    Close {
        ordinal,
        anomalies: anomalies(stream.anomalies().iter().map(|anomaly| anomaly.kind)),
        state: stream.state() as u8,
        reason: reason as u8,
        end_offset,
        figures: Direction::BOTH.map(|direction| stream.stats(direction)),
    }
}

/// A set of anomalies: a bit for each kind.
pub(super) fn anomalies(kinds: impl Iterator<Item = AnomalyKind>) -> u64 {
    kinds.fold(0, |set, kind| set | 1_u64.checked_shl(kind as u32).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use tidewire::{GapCause, TcpState, TunnelKind};
    use tidewire_queue::records;

    use super::*;

    /// Readers know the numbers by these names, and do not link the engine.
    #[test]
    fn numbers_have_the_same_names_on_both_sides() {
        let kinds = AnomalyKind::ALL;
        assert!(kinds.len() < 64, "they are bits of one word");
        assert_eq!(records::ANOMALIES, kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>());
        assert!(kinds.iter().enumerate().all(|(at, kind)| *kind as usize == at));
        assert_eq!(records::TUNNELS, TunnelKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
        let causes = GapCause::ALL;
        assert_eq!(causes.len(), records::GAP_CAUSES.len());
        assert!(causes.iter().all(|cause| records::gap_cause_name(*cause as u8) == Some(cause.name())));
        assert_eq!(records::GAP_SHED, GapCause::Shed as u8);
        let reasons = EndReason::ALL;
        assert_eq!(reasons.len(), records::END_REASONS.len());
        assert!(reasons.iter().all(|reason| records::end_reason_name(*reason as u8) == Some(reason.name())));
        let states = TcpState::ALL;
        assert_eq!(states.len(), records::TCP_STATES.len());
        assert!(states.iter().all(|state| records::tcp_state_name(*state as u8) == Some(state.name())));
    }
}
