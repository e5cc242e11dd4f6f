//! A flow with what the engine has for processing one of its packets.
//!
//! TCP (`tcp/`) works on this value: the state of the flow, the settings, the clock, the counters and the memory account. It
//! has no handler: streams' bytes and gaps go to [`Events`](crate::tcp::Events).

use crate::{
    Anomaly, AnomalyKind, Config, Conflict, Direction, EndReason, Fate, History, Ledger, Mode, TcpPolicy, TcpState,
    accounting::Accounting,
    capture_losses::CaptureLosses,
    delivery_log::DeliveryLog,
    flow::{Flow, Key, bits},
    mptcp::multipath::Multipath,
    packet::Now,
};

/// State that the flows of an engine share.
pub(crate) struct Shared {
    pub config: Config,
    pub ledger: Ledger,
    /// The memory account of flows.
    pub accounting: Accounting,
    pub history: Option<Box<dyn History>>,
    /// Delivered segments, for comparison with retransmissions.
    pub delivery_log: DeliveryLog,
    /// Scratch for the comparison of retransmitted bytes.
    pub scratch: Vec<u8>,
    pub now: Now,
    /// When the capture lost packets by its own account.
    pub losses: CaptureLosses,
    /// Packets that were counted as tracked and whose fate is not decided: see `crate::flow::doubted`.
    pub undecided: u64,
    /// Connections of Multipath TCP.
    pub multipath: Multipath,
}

/// A flow, and the state that it shares with others.
pub(crate) struct Connection<'a> {
    pub flow: &'a mut Flow,
    pub shared: &'a mut Shared,
}

impl Flow {
    /// The reason for the end of a connection that is over; `None`: it is not over.
    #[inline]
    pub(crate) fn reason_over(&self) -> Option<EndReason> {
        match self.state {
            TcpState::Closed => Some(EndReason::Fin),
            TcpState::Reset => Some(EndReason::Rst),
            _ => None,
        }
    }
}

impl Connection<'_> {
    /// Notes an anomaly at the current packet.
    #[cold]
    pub(crate) fn note_anomaly(&mut self, kind: AnomalyKind) {
        self.shared.ledger.anomalies[kind as usize] += 1;
        let (limit, packet) = (self.shared.config.list_max as usize, self.shared.now.number);
        let slow_state = self.flow.slow_state();
        let listed = slow_state.anomalies.len();
        if listed + 1 < limit {
            slow_state.list_anomaly(Anomaly { kind, packet });
        } else if listed < limit {
            slow_state.list_anomaly(Anomaly { kind: AnomalyKind::ListFull, packet });
            self.shared.ledger.anomalies[AnomalyKind::ListFull as usize] += u64::from(kind != AnomalyKind::ListFull);
        }
    }

    /// Notes an anomaly once for each stream.
    #[cold]
    pub(crate) fn note_anomaly_once(&mut self, kind: AnomalyKind) {
        if !self.flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.has_anomaly(kind)) {
            self.note_anomaly(kind);
        }
    }

    /// Notes an anomaly of the stream's first packet, when the packet was not yet part of a stream.
    #[cold]
    pub(crate) fn note_anomaly_at_start(&mut self, kind: AnomalyKind) {
        let number = std::mem::replace(&mut self.shared.now.number, self.flow.id);
        self.note_anomaly_once(kind);
        self.shared.now.number = number;
    }

    /// Compares a packet's VLAN and tunnel ids with those of its direction.
    #[inline(always)]
    pub(crate) fn note_ids(&mut self, packet: &Key) {
        if !self.flow.key.has_ids_of(packet) && self.flow.key.note_ids_of(packet) {
            self.note_anomaly_once(AnomalyKind::EncapsulationChange);
        }
    }

    /// The overlap policy of a direction, by its receiver.
    pub(crate) fn tcp_policy(&self, direction: Direction) -> TcpPolicy {
        let config = &self.shared.config;
        if config.targets.is_empty() {
            return config.tcp_policy;
        }
        let receiver_is_a = self.flow.has(bits::CLIENT_IS_A) == (direction == Direction::ServerToClient);
        let receiver = self.flow.key.endpoint(receiver_is_a).address;
        config.targets.find(receiver).map_or(config.tcp_policy, |found| found.0)
    }

    /// The cutoff of a direction, in bytes.
    #[inline]
    pub(crate) fn cutoff(&self, direction: Direction) -> u64 {
        match self.shared.config.mode {
            Mode::Track => 0,
            _ => self.flow.cutoff(direction, &self.shared.config.cutoff),
        }
    }

    /// The fate of a packet of a cut direction whose payload began at stream offset `start`.
    #[cold]
    pub(crate) fn fate_of_cut(&self, direction: Direction, start: u64) -> Fate {
        if self.flow.has(bits::DISCARDED) {
            Fate::Discarded
        } else if self.shared.config.mode != Mode::Track && start >= self.cutoff(direction) {
            Fate::BeyondCutoff
        } else {
            Fate::Tracked
        }
    }

    /// Charges the flow's slow state and its lists with their current size.
    #[inline]
    pub(crate) fn settle_slow_state(&mut self) {
        self.shared.accounting.settle_slow_state(&self.shared.now, self.flow);
    }

    /// Reports bytes that arrived in two versions; `offset` counts from the beginning of the stream.
    pub(crate) fn conflict(&mut self, direction: Direction, offset: u64, bytes: u64) {
        self.note_anomaly(AnomalyKind::OverlapConflict);
        let limit = self.shared.config.list_max as usize;
        let slow_state = self.flow.slow_state();
        let list = &mut slow_state.conflicts[direction as usize];
        if list.len() < limit {
            list.push(Conflict { offset, bytes }, &mut slow_state.bytes);
        } else {
            self.note_anomaly_once(AnomalyKind::ListFull);
        }
    }
}
