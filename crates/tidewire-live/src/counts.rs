/// Counters of an interface since its creation (`struct rtnl_link_stats64`, include/uapi/linux/if_link.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceCounts {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames that arrived damaged.
    pub rx_errors: u64,
    /// Frames that could not be sent.
    pub tx_errors: u64,
    /// Frames that arrived and were dropped by the driver or the kernel before any reader. Some drivers count here what an XDP
    /// program drops.
    pub rx_dropped: u64,
    /// Frames that were to be sent and were dropped, as where a queue has no room.
    pub tx_dropped: u64,
    /// Frames for which the card had no room.
    pub rx_missed: u64,
}

impl InterfaceCounts {
    /// The difference to `before`; 0 for counters that were reset.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            rx_packets: self.rx_packets.saturating_sub(before.rx_packets),
            tx_packets: self.tx_packets.saturating_sub(before.tx_packets),
            rx_bytes: self.rx_bytes.saturating_sub(before.rx_bytes),
            tx_bytes: self.tx_bytes.saturating_sub(before.tx_bytes),
            rx_errors: self.rx_errors.saturating_sub(before.rx_errors),
            tx_errors: self.tx_errors.saturating_sub(before.tx_errors),
            rx_dropped: self.rx_dropped.saturating_sub(before.rx_dropped),
            tx_dropped: self.tx_dropped.saturating_sub(before.tx_dropped),
            rx_missed: self.rx_missed.saturating_sub(before.rx_missed),
        }
    }
}
