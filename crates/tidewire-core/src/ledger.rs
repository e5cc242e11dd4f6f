use crate::{
    AnomalyKind,
    wire::{Malformation, OtherLink},
};

macro_rules! fates {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal),+ $(,)?) => {
        /// The fate of a packet. Every packet has exactly one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Fate { $($(#[doc = $doc])+ $variant),+ }

        impl Fate {
            /// Every fate.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

fates! {
    /// Belongs to a stream and is fully accounted for there.
    Tracked => "tracked",
    /// Belongs to a stream; all of its payload lies beyond the cutoff. Counted, not delivered.
    BeyondCutoff => "beyond_cutoff",
    /// Belongs to a stream that the application discarded. Counted, not delivered.
    Discarded => "discarded",
    /// Shed by the watermark rule. Counted by priority, payload not delivered.
    Shed => "shed",
    /// Belongs to a stream, but a receiving host would have ignored it: see the anomalies.
    Ignored => "ignored",
    /// Counted in its stream, but its payload was dropped: a TCP, UDP, SCTP, ICMP or IP header checksum is wrong, and checksums are verified.
    BadChecksum => "bad_checksum",
    /// Rejected by the user's filter.
    Filtered => "filtered",
    /// Belongs to a stream, but its transport header is truncated by the snap length. Counted in the stream; a
    /// datagram's payload is a gap, the position of a segment's payload is unknown.
    HeaderCut => "header_cut",
    /// A frame of several packets (an 802.11 A-MSDU), at least one of which belongs to a stream.
    Aggregate => "aggregate",
    /// A fragment whose datagram was rebuilt.
    FragmentRebuilt => "fragment_rebuilt",
    /// A fragment that was not acceptable, or whose datagram was rejected.
    FragmentRejected => "fragment_rejected",
    /// A fragment of a datagram that was never completed (timeout, memory, end of input).
    FragmentUnfinished => "fragment_unfinished",
    /// ARP or RARP.
    Arp => "arp",
    /// Another link-layer protocol.
    OtherLink => "other_link",
    /// A frame of an unknown link type.
    UnsupportedLink => "unsupported_link",
    /// Contradicts its protocol, or is truncated before the headers that identify a flow.
    Malformed => "malformed",
    /// Belongs to a connection whose end was already reported
    /// ([`Config::report_closed`](crate::Config::report_closed)). No stream counts it.
    AfterClose => "after_close",
    /// The flow table was full of flows that must not be evicted.
    NoRoom => "no_room",
    /// A copy of a packet that was seen at another interface, or at a mirror a moment before ([`Config::duplicates`](crate::Config::duplicates)).
    Duplicate => "duplicate",
}

impl Fate {
    /// Whether packets of this fate are counted in a stream, by themselves or as a part of a packet that is.
    #[must_use]
    pub const fn is_in_stream(self) -> bool {
        match self {
            Self::Tracked
            | Self::BeyondCutoff
            | Self::Discarded
            | Self::Shed
            | Self::Ignored
            | Self::BadChecksum
            | Self::HeaderCut
            | Self::Aggregate
            | Self::FragmentRebuilt => true,
            Self::Filtered
            | Self::FragmentRejected
            | Self::FragmentUnfinished
            | Self::Arp
            | Self::OtherLink
            | Self::UnsupportedLink
            | Self::Malformed
            | Self::AfterClose
            | Self::NoRoom
            | Self::Duplicate => false,
        }
    }
}

/// Accounts for every packet: [`received`](Self::received) equals the sum of all [`fates`](Self::fates).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// Packets received from the source.
    pub received: u64,
    /// Captured bytes received.
    pub received_bytes: u64,
    pub(crate) fates: [u64; Fate::ALL.len()],
    pub(crate) malformations: [u64; 64],
    pub(crate) other_links: [u64; OtherLink::ALL.len()],
    pub(crate) anomalies: [u64; AnomalyKind::ALL.len()],
    pub(crate) shed_by_priority: [u64; 8],
    /// Copies by interface; shorter where the last ones have none.
    pub(crate) duplicates: Vec<u64>,
    /// Streams opened.
    pub streams_opened: u64,
    /// Streams closed.
    pub streams_closed: u64,
    /// Greatest number of open streams at a time, summed over workers.
    pub streams_open_max: u64,
    /// Flows evicted from a full table.
    pub evicted: u64,
    /// Half-open connections evicted from their full table.
    pub evicted_half_open: u64,
    /// Payload bytes delivered to the handler.
    pub delivered_bytes: u64,
    /// Bytes reported as gaps.
    pub gap_bytes: u64,
    /// Retransmitted bytes that were not compared with their first version, because too many segments were delivered
    /// since, or because comparisons of their direction had read the input at too many places. A different version in them was not noticed.
    pub uncompared_bytes: u64,
    /// Greatest number of bytes buffered at a time, out of order, in chunks and in fragments.
    pub buffered_bytes_max: u64,
    /// Packets that did not reach the engine and are counted in their streams' figures: see [`Shunt`](crate::Shunt).
    pub shunted_packets: u64,
    /// Bytes of `shunted_packets` on the wire.
    pub shunted_bytes: u64,
    /// Packets of flows whose timestamps are far from those around them: they do not count in the times of their flows.
    pub time_outliers: u64,
    /// Packets whose frames were cut before the capture, which wrote the cut length as theirs: see
    /// [`Slicing`](crate::wire::Slicing).
    pub sliced_packets: u64,
    /// Datagrams rebuilt from fragments.
    pub datagrams_rebuilt: u64,
    /// Datagrams rejected.
    pub datagrams_rejected: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            received: 0,
            received_bytes: 0,
            fates: [0; Fate::ALL.len()],
            malformations: [0; 64],
            other_links: [0; OtherLink::ALL.len()],
            anomalies: [0; AnomalyKind::ALL.len()],
            shed_by_priority: [0; 8],
            duplicates: Vec::new(),
            streams_opened: 0,
            streams_closed: 0,
            streams_open_max: 0,
            evicted: 0,
            evicted_half_open: 0,
            delivered_bytes: 0,
            gap_bytes: 0,
            uncompared_bytes: 0,
            buffered_bytes_max: 0,
            shunted_packets: 0,
            shunted_bytes: 0,
            time_outliers: 0,
            sliced_packets: 0,
            datagrams_rebuilt: 0,
            datagrams_rejected: 0,
        }
    }
}

impl Ledger {
    /// Packets with a fate.
    #[must_use]
    pub fn fate(&self, fate: Fate) -> u64 {
        self.fates[fate as usize]
    }

    /// Packets by fate.
    pub fn fates(&self) -> impl Iterator<Item = (Fate, u64)> {
        Fate::ALL.iter().map(|&fate| (fate, self.fate(fate)))
    }

    /// Malformed packets with a reason.
    #[must_use]
    pub fn malformation(&self, reason: Malformation) -> u64 {
        self.malformations[reason as usize & 63]
    }

    /// Malformed packets by reason.
    pub fn malformations(&self) -> impl Iterator<Item = (Malformation, u64)> {
        Malformation::ALL.iter().map(|&reason| (reason, self.malformation(reason)))
    }

    /// Packets of a link-layer protocol other than IP.
    #[must_use]
    pub fn other_link(&self, protocol: OtherLink) -> u64 {
        self.other_links[protocol as usize]
    }

    /// Packets by link-layer protocol, of those protocols other than IP that have a name.
    pub fn other_links(&self) -> impl Iterator<Item = (OtherLink, u64)> {
        OtherLink::ALL.iter().map(|&protocol| (protocol, self.other_link(protocol)))
    }

    /// Anomalies of a kind.
    #[must_use]
    pub fn anomaly(&self, kind: AnomalyKind) -> u64 {
        self.anomalies[kind as usize]
    }

    /// Anomalies by kind.
    pub fn anomalies(&self) -> impl Iterator<Item = (AnomalyKind, u64)> {
        AnomalyKind::ALL.iter().map(|&kind| (kind, self.anomaly(kind)))
    }

    /// Shed packets of a priority, 0 the lowest.
    #[must_use]
    pub fn shed(&self, priority: u8) -> u64 {
        self.shed_by_priority.get(usize::from(priority)).copied().unwrap_or(0)
    }

    /// Shed packets by priority, all priorities, the lowest first.
    pub fn shed_by_priority(&self) -> impl Iterator<Item = (u8, u64)> {
        (0..).zip(self.shed_by_priority)
    }

    /// Packets with the fate [`Fate::Duplicate`] by number of the interface ([`Frame::interface`](crate::Frame::interface)) at which
    /// the copy was seen; interfaces without one are left out.
    pub fn duplicates(&self) -> impl Iterator<Item = (u16, u64)> {
        (0..).zip(self.duplicates.iter().copied()).filter(|(_, packets)| *packets > 0)
    }

    /// Counts a copy at an interface.
    pub(crate) fn duplicate(&mut self, interface: u16) {
        let at = usize::from(interface);
        if self.duplicates.len() <= at {
            self.duplicates.resize(at + 1, 0);
        }
        self.duplicates[at] += 1;
    }

    /// Notes a packet's fate.
    #[inline]
    pub fn settle(&mut self, fate: Fate) {
        self.fates[fate as usize] += 1;
    }

    /// Notes `count` packets' fate.
    #[inline]
    pub fn settle_many(&mut self, fate: Fate, count: u64) {
        self.fates[fate as usize] += count;
    }

    /// Notes a malformed packet and its reason.
    pub fn malformed(&mut self, why: Malformation) {
        self.settle(Fate::Malformed);
        self.malformations[why as usize & 63] += 1;
    }

    /// Whether every received packet has exactly one fate.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.received == self.fates.iter().sum::<u64>()
    }

    /// Adds another worker's figures.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        let pairs = self.fates.iter_mut().zip(&other.fates);
        let pairs = pairs.chain(self.malformations.iter_mut().zip(&other.malformations));
        let pairs = pairs.chain(self.other_links.iter_mut().zip(&other.other_links));
        let pairs = pairs.chain(self.anomalies.iter_mut().zip(&other.anomalies));
        for (mine, theirs) in pairs.chain(self.shed_by_priority.iter_mut().zip(&other.shed_by_priority)) {
            *mine += theirs;
        }
        if self.duplicates.len() < other.duplicates.len() {
            self.duplicates.resize(other.duplicates.len(), 0);
        }
        self.duplicates.iter_mut().zip(&other.duplicates).for_each(|(mine, theirs)| *mine += theirs);
        self.streams_opened += other.streams_opened;
        self.streams_closed += other.streams_closed;
        self.streams_open_max += other.streams_open_max;
        self.evicted += other.evicted;
        self.evicted_half_open += other.evicted_half_open;
        self.delivered_bytes += other.delivered_bytes;
        self.gap_bytes += other.gap_bytes;
        self.uncompared_bytes += other.uncompared_bytes;
        self.buffered_bytes_max += other.buffered_bytes_max;
        self.shunted_packets += other.shunted_packets;
        self.shunted_bytes += other.shunted_bytes;
        self.time_outliers += other.time_outliers;
        self.sliced_packets += other.sliced_packets;
        self.datagrams_rebuilt += other.datagrams_rebuilt;
        self.datagrams_rejected += other.datagrams_rejected;
    }
}
