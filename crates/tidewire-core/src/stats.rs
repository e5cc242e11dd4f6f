use std::net::{IpAddr, Ipv4Addr};

/// One of a stream's two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From the client (who sent the SYN, or is taken to have) to the server.
    ClientToServer = 0,
    /// From the server to the client.
    ServerToClient = 1,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::ClientToServer => Self::ServerToClient,
            Self::ServerToClient => Self::ClientToServer,
        }
    }

    /// `c2s` or `s2c`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientToServer => "c2s",
            Self::ServerToClient => "s2c",
        }
    }
}

/// An address and a port (0 for protocols without ports).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The IP address.
    pub address: IpAddr,
    /// The port, or 0.
    pub port: u16,
}

impl Endpoint {
    /// 0.0.0.0:0.
    pub const UNSPECIFIED: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port: 0 };
}

/// What a flow is known by, client first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FlowKey {
    /// Who opened it, or is taken to have.
    pub client: Endpoint,
    /// The other side.
    pub server: Endpoint,
    /// IP protocol number.
    pub proto: u8,
    /// VLAN ids of the first packet from the outside in, without priority tags (id 0); 0xffff: none.
    pub vlan: [u16; 2],
    /// The innermost tunnel of the first packet.
    pub tunnel: tidewire_wire::Tunnel,
    /// ICMP and ICMPv6: type and code of the first packet; 0 elsewhere.
    pub icmp: [u8; 2],
}

impl FlowKey {
    /// The key of a flow without VLANs or tunnel; ICMP type and code are 0.
    #[must_use]
    pub const fn new(client: Endpoint, server: Endpoint, proto: u8) -> Self {
        let tunnel = tidewire_wire::Tunnel { kind: tidewire_wire::TunnelKind::None, id: 0 };
        Self { client, server, proto, vlan: [0xffff; 2], tunnel, icmp: [0; 2] }
    }
}

/// How far a TCP connection got. Flows of other protocols are `Stateless`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum TcpState {
    /// Not TCP.
    Stateless,
    /// A SYN was seen, nothing more.
    SynSent,
    /// SYN and SYN-ACK were seen.
    SynReceived,
    /// Three-way handshake seen, or data flows.
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
    /// Both FINs.
    Fin,
    /// An acceptable RST.
    Rst,
    /// Idle for longer than its timeout.
    Timeout,
    /// A new connection took its addresses and ports.
    Reused,
    /// Pushed out of a full table.
    Evicted,
    /// The input ended.
    EndOfInput,
}

impl EndReason {
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

/// One direction's figures. Bytes of payload are transport payload; packets are transport packets (a rebuilt datagram is one).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectionStats {
    /// Transport packets seen.
    pub packets: u64,
    /// Frames seen: as `packets`, but each fragment of a datagram counts.
    pub frames: u64,
    /// Bytes on the wire of these frames, link layer included, padding included as captured lengths state.
    pub frame_bytes: u64,
    /// Bytes from the network layer up, as sent: padding excluded.
    pub ip_bytes: u64,
    /// Transport payload as sent, retransmissions included.
    pub payload_wire_bytes: u64,
    /// Delivered to the handler, or (track mode, beyond a cutoff) what would have been.
    pub reassembled_bytes: u64,
    /// Handed to the handler.
    pub delivered_bytes: u64,
    /// Payload that had been sent before.
    pub retransmitted_bytes: u64,
    /// Packets with payload that began beyond the next expected byte.
    pub out_of_order_packets: u64,
    /// Bytes missing: the sum of the gaps.
    pub missing_bytes: u64,
    /// Payload that no gap stands for and that was neither delivered nor had been sent before: the receiver did not take it,
    /// as far as can be told, and the anomalies say why (data after a reset or a FIN, outside of the window, never
    /// acknowledged though that had to decide). Final when the stream ends.
    ///
    /// `payload_wire_bytes` = `reassembled_bytes` + `retransmitted_bytes` + `ignored_bytes` + the gaps whose bytes were in
    /// packets (snapped, shed, urgent, wrong checksum).
    pub ignored_bytes: u64,
    /// Payload not delivered because it lies beyond the cutoff or was discarded by the application.
    pub cutoff_bytes: u64,
    /// Packets whose payload was shed by the watermark rule, and their payload.
    pub shed_packets: u64,
    /// Payload bytes shed.
    pub shed_bytes: u64,
    /// Chunks handed over.
    pub chunks: u64,
    /// First and last timestamp, nanoseconds; 0 where no packet was seen.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
    /// Every TCP flag seen, or-ed (the low byte of the flags field).
    pub tcp_flags: u8,
}

/// Bytes that arrived in two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// Offset in the direction's stream.
    pub offset: u64,
    /// How many bytes differ in the run reported.
    pub bytes: u64,
}

/// Something odd about a stream, at a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// The packet's number in the input, from 1.
    pub packet: u64,
}

macro_rules! anomalies {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal),+ $(,)?) => {
        /// What can be odd about a stream. The name in JSON is the counter's name.
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
    /// Two versions of the same bytes.
    OverlapConflict => "overlap_conflict",
    /// Payload beyond the receiver's window.
    OutOfWindow => "out_of_window",
    /// A timestamp older than PAWS allows (RFC 7323 section 5), or (handshake) an echo of none that the other side sent.
    OldTimestamp => "old_timestamp",
    /// A reset inside the window but not at the next byte (RFC 5961 section 3): a host ignores it.
    BlindReset => "blind_reset",
    /// A reset outside of the window, or (handshake) that acknowledges nothing.
    InvalidReset => "invalid_reset",
    /// A SYN inside an open connection (RFC 5961 section 4).
    BlindSyn => "blind_syn",
    /// An acknowledgement of what was never sent, or too old (RFC 5961 section 5).
    InvalidAck => "invalid_ack",
    /// Payload without the ACK flag in an open connection: a host drops it.
    NoAck => "no_ack",
    /// A retransmitted SYN or SYN-ACK with another sequence number.
    ChangedIsn => "changed_isn",
    /// Payload beyond the FIN, or a FIN inside of payload.
    DataBeyondFin => "data_beyond_fin",
    /// Packets after an accepted reset.
    AfterReset => "after_reset",
    /// A TCP MD5 or TCP-AO signature (RFC 2385, RFC 5925) in a connection whose SYNs had none, or none where they had: a host
    /// drops the segment.
    /// Or, at the end, one that the receiver did not take.
    UnexpectedSignature => "unexpected_signature",
    /// A reset that carries payload, which is no part of the stream (RFC 9293 section 3.5.3: diagnostic text).
    ResetData => "reset_data",
    /// A SYN that carries payload.
    SynData => "syn_data",
    /// Both sides sent a SYN.
    SimultaneousOpen => "simultaneous_open",
    /// Bytes were acknowledged that were never captured, or one more than that by a segment with payload.
    AckedUnseen => "acked_unseen",
    /// Bytes were delivered that the receiver never acknowledged, though it was heard last, or had ended its own side, or drops
    /// segments in silence whose signature is wrong: noted at the stream's end. They were on their way, or it dropped them.
    Unacknowledged => "unacknowledged",
    /// The stream was joined after its beginning.
    Midstream => "midstream",
    /// The checksum was wrong.
    BadChecksum => "bad_checksum",
    /// Flags that no host sends together (SYN and FIN, SYN and RST, none).
    InvalidFlags => "invalid_flags",
    /// Urgent data.
    Urgent => "urgent",
    /// The time to live is below the configured minimum.
    LowTtl => "low_ttl",
    /// A packet whose VLAN or tunnel ids are not those of its direction's first packet.
    EncapsulationChange => "encapsulation_change",
    /// IPv4 options or IPv6 extension headers for which a host drops the packet, or which it takes only where it is configured to.
    DoubtfulHeader => "doubtful_header",
    /// A frame to another link address or in another encapsulation than its direction's first packet, or one from which no
    /// host takes IP.
    LinkMismatch => "link_mismatch",
    /// A wrong checksum in the headers that carry a tunnel.
    OuterChecksum => "outer_checksum",
    /// A keep-alive probe (RFC 9293 section 3.8.4).
    KeepAlive => "keep_alive",
    /// A probe of a closed window (RFC 9293 section 3.8.6.1).
    ZeroWindowProbe => "zero_window_probe",
    /// Buffered bytes were given up because a bound was reached.
    BufferLimit => "buffer_limit",
    /// More holes than allowed.
    HoleLimit => "hole_limit",
    /// A stream's list of anomalies, gaps or conflicts is full; the counters go on.
    ListFull => "list_full",
}
