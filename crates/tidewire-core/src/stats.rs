use tidewire_types::{Endpoint, Vlans};

/// Identifies a flow, client first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FlowKey {
    /// The endpoint that opened the flow, or is inferred to have opened it.
    pub client: Endpoint,
    /// The other endpoint.
    pub server: Endpoint,
    /// IP protocol number.
    pub proto: u8,
    /// VLAN ids of the first packet, outermost first.
    pub vlans: Vlans,
    /// The innermost tunnel of the first packet.
    pub tunnel: tidewire_wire::Tunnel,
    /// Type and code of the first ICMP or ICMPv6 packet; 0 for other protocols.
    pub icmp: [u8; 2],
}

impl FlowKey {
    /// The key of a flow without VLANs or tunnel; ICMP type and code are 0.
    #[must_use]
    pub const fn new(client: Endpoint, server: Endpoint, proto: u8) -> Self {
        let tunnel = tidewire_wire::Tunnel { kind: tidewire_wire::TunnelKind::None, id: 0 };
        Self { client, server, proto, vlans: Vlans::NONE, tunnel, icmp: [0; 2] }
    }
}

/// The state that a TCP connection reached. Flows of other protocols are `Stateless`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum TcpState {
    /// Not TCP.
    Stateless,
    /// Only a SYN was seen.
    SynSent,
    /// SYN and SYN-ACK were seen.
    SynReceived,
    /// The three-way handshake was seen, or data flows.
    Established,
    /// Joined after its beginning: no SYN was seen.
    Midstream,
    /// One side sent its FIN.
    HalfClosed,
    /// Both sides sent their FIN.
    Closed,
    /// An acceptable RST was seen.
    Reset,
}

impl TcpState {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        Self::Stateless,
        Self::SynSent,
        Self::SynReceived,
        Self::Established,
        Self::Midstream,
        Self::HalfClosed,
        Self::Closed,
        Self::Reset,
    ];

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::SynSent => "syn_sent",
            Self::SynReceived => "syn_received",
            Self::Established => "established",
            Self::Midstream => "midstream",
            Self::HalfClosed => "half_closed",
            Self::Closed => "closed",
            Self::Reset => "reset",
        }
    }
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum EndReason {
    /// Both sides sent a FIN, and both FINs were accepted.
    Fin,
    /// An acceptable RST.
    Rst,
    /// Silent for longer than its timeout.
    Timeout,
    /// A new connection took its addresses and ports.
    Reused,
    /// Evicted from a full table.
    Evicted,
    /// The input ended.
    EndOfInput,
}

impl EndReason {
    /// Every reason.
    pub const ALL: &'static [Self] =
        &[Self::Fin, Self::Rst, Self::Timeout, Self::Reused, Self::Evicted, Self::EndOfInput];

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::Timeout => "timeout",
            Self::Reused => "reused",
            Self::Evicted => "evicted",
            Self::EndOfInput => "end_of_input",
        }
    }
}

/// Bytes that arrived in two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Conflict {
    /// Offset in the direction's stream.
    pub offset: u64,
    /// Number of differing bytes in this run.
    pub bytes: u64,
}

/// An anomaly of a stream, at a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Anomaly {
    /// The kind.
    pub kind: AnomalyKind,
    /// The packet's number in the input, from 1.
    pub packet: u64,
}

impl Anomaly {
    /// An anomaly at a packet.
    #[must_use]
    pub const fn new(kind: AnomalyKind, packet: u64) -> Self {
        Self { kind, packet }
    }
}

macro_rules! anomalies {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal),+ $(,)?) => {
        /// Kinds of anomalies. [`name`](Self::name) is the name in JSON and of the counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum AnomalyKind { $($(#[doc = $doc])+ $variant),+ }

        impl AnomalyKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

anomalies! {
    /// Two versions of the same bytes arrived.
    OverlapConflict => "overlap_conflict",
    /// Payload beyond the receiver's window.
    OutOfWindow => "out_of_window",
    /// A timestamp older than PAWS allows (RFC 7323 section 5), or, in the handshake, an echo of a timestamp that the
    /// other side did not send.
    OldTimestamp => "old_timestamp",
    /// A reset inside the window but not at the next byte (RFC 5961 section 3). Hosts ignore it.
    BlindReset => "blind_reset",
    /// A reset outside the window, or, in the handshake, a reset that acknowledges nothing.
    InvalidReset => "invalid_reset",
    /// A SYN inside an open connection (RFC 5961 section 4).
    BlindSyn => "blind_syn",
    /// An acknowledgment of data that was never sent, or one too old (RFC 5961 section 5).
    InvalidAck => "invalid_ack",
    /// Payload without the ACK flag in an open connection. Hosts drop it.
    NoAck => "no_ack",
    /// A retransmitted SYN or SYN-ACK with a different sequence number.
    ChangedIsn => "changed_isn",
    /// Payload beyond the FIN, or a FIN inside payload.
    DataBeyondFin => "data_beyond_fin",
    /// Packets after an accepted reset.
    AfterReset => "after_reset",
    /// A TCP MD5 or TCP-AO signature (RFC 2385, RFC 5925) in a connection whose SYNs had none, or none where they had
    /// one: hosts drop the segment. At the end of the stream: a signed segment that the receiver did not accept.
    UnexpectedSignature => "unexpected_signature",
    /// A reset with payload, which is not part of the stream (RFC 9293 section 3.5.3: diagnostic text).
    ResetData => "reset_data",
    /// A SYN with payload.
    SynData => "syn_data",
    /// Both sides sent a SYN.
    SimultaneousOpen => "simultaneous_open",
    /// Bytes were acknowledged that were never captured, or (by a segment with payload) one byte more than those.
    AckedUnseen => "acked_unseen",
    /// Delivered bytes that the receiver never acknowledged, although it sent last, or had closed its side, or silently
    /// drops segments with wrong signatures. Noted at the end of the stream. The bytes were in flight, or the receiver
    /// dropped them.
    Unacknowledged => "unacknowledged",
    /// Wrong checksum.
    BadChecksum => "bad_checksum",
    /// A combination of flags that no host sends (SYN and FIN, SYN and RST, none).
    InvalidFlags => "invalid_flags",
    /// Urgent data.
    Urgent => "urgent",
    /// The time to live is below the configured minimum.
    LowTtl => "low_ttl",
    /// A packet whose VLAN or tunnel ids are not those of its direction's first packet.
    EncapsulationChange => "encapsulation_change",
    /// IPv4 options or IPv6 extension headers for which hosts drop the packet, or which they accept only if configured
    /// to.
    DoubtfulHeader => "doubtful_header",
    /// A frame to a different link address or in a different encapsulation than its direction's first packet, or one in
    /// which no host accepts IP.
    LinkMismatch => "link_mismatch",
    /// A wrong checksum in the headers that carry a tunnel.
    OuterChecksum => "outer_checksum",
    /// A keep-alive probe (RFC 9293 section 3.8.4).
    KeepAlive => "keep_alive",
    /// A probe of a closed window (RFC 9293 section 3.8.6.1).
    ZeroWindowProbe => "zero_window_probe",
    /// Buffered bytes were discarded because a bound was reached.
    BufferLimit => "buffer_limit",
    /// More holes than allowed.
    HoleLimit => "hole_limit",
    /// A stream's list of anomalies, gaps or conflicts is full. Counters continue.
    ListFull => "list_full",
}
