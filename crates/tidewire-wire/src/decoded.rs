use tidewire_types::Vlans;

use crate::{Doubts, Malformation, OtherLink};

/// Content of a frame, at the layer that makes flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// TCP: at least the 20 bytes of the fixed header were captured.
    Tcp,
    /// UDP: the 8-byte header was captured.
    Udp,
    /// UDP-Lite (RFC 3828).
    UdpLite,
    /// SCTP: the 12-byte common header was captured.
    Sctp,
    /// ICMP for IPv4: at least 4 bytes captured.
    Icmp,
    /// ICMPv6: at least 4 bytes captured.
    Icmp6,
    /// One of the above with its header truncated by the snap length: addresses and protocol are known, ports if the
    /// first 4 bytes were captured, an ICMP type if the first byte was. The stated payload counts, although none was
    /// captured.
    HeaderCut,
    /// ESP (RFC 4303): a flow without ports.
    Esp,
    /// AH (RFC 4302) whose content could not be walked: a flow without ports.
    Ah,
    /// Any other IP protocol: a flow without ports.
    OtherIp,
    /// An IPv4 or IPv6 fragment (more to come, or a non-zero offset); see [`Decoded::fragment`].
    Fragment,
    /// ARP or RARP.
    Arp,
    /// A link-layer protocol other than IP and ARP (LLC, LLDP, 802.11 management, ...): counted, not a flow.
    OtherLink,
    /// The file's link type is not known: counted, not a flow.
    UnsupportedLink,
    /// The frame contradicts its protocol, or was truncated before the headers that a flow needs; see
    /// [`Decoded::malformed`].
    Malformed,
    /// Several packets (an 802.11 A-MSDU), listed by [`crate::subframes`]. The payload is all of them.
    Aggregate,
}

/// Encapsulations. The tunnel of a flow is the innermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum TunnelKind {
    /// Not in a tunnel.
    None,
    /// GRE (RFC 2784), in UDP too (RFC 8086); key in `id` when present (RFC 2890).
    Gre,
    /// IPv4 or IPv6 in IPv4 (protocols 4 and 41), or either in IPv6.
    IpInIp,
    /// VXLAN, VNI in `id`.
    Vxlan,
    /// GENEVE, VNI in `id`.
    Geneve,
    /// GTP-U, TEID in `id`.
    GtpU,
    /// ERSPAN, session id in `id`.
    Erspan,
    /// Teredo (RFC 4380).
    Teredo,
    /// VXLAN with a stated next protocol (VXLAN-GPE), VNI in `id`.
    VxlanGpe,
    /// L2TP: version 2's tunnel id << 16 | session id, or version 3's session id.
    L2tp,
    /// CAPWAP data, radio id in `id`.
    Capwap,
    /// AYIYA.
    Ayiya,
    /// LISP, instance id in `id` when present.
    Lisp,
    /// MPLS directly in IP (RFC 4023) or in UDP (RFC 7510).
    Mpls,
    /// Ethernet in IP: with a header (RFC 3378), or without (IP protocol 143, RFC 8986).
    EtherIp,
    /// TZSP: a mirrored frame in UDP.
    Tzsp,
}

impl TunnelKind {
    /// Every kind; the position equals `kind as usize`.
    pub const ALL: &'static [Self] = &[
        Self::None,
        Self::Gre,
        Self::IpInIp,
        Self::Vxlan,
        Self::Geneve,
        Self::GtpU,
        Self::Erspan,
        Self::Teredo,
        Self::VxlanGpe,
        Self::L2tp,
        Self::Capwap,
        Self::Ayiya,
        Self::Lisp,
        Self::Mpls,
        Self::EtherIp,
        Self::Tzsp,
    ];
    /// The name in JSON; `none` outside of tunnels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gre => "gre",
            Self::IpInIp => "ip_in_ip",
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::GtpU => "gtp_u",
            Self::Erspan => "erspan",
            Self::Teredo => "teredo",
            Self::VxlanGpe => "vxlan_gpe",
            Self::L2tp => "l2tp",
            Self::Capwap => "capwap",
            Self::Ayiya => "ayiya",
            Self::Lisp => "lisp",
            Self::Mpls => "mpls",
            Self::EtherIp => "ether_ip",
            Self::Tzsp => "tzsp",
        }
    }
}

/// A tunnel's kind and identifier (0 where the kind has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tunnel {
    /// The encapsulation.
    pub kind: TunnelKind,
    /// VNI, TEID, key, session or instance id.
    pub id: u32,
}

/// A fragment's place in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fragment {
    /// IPv4 identification (16 bits) or IPv6 fragment identification (32 bits).
    pub id: u32,
    /// Offset of this fragment's first byte in the IP payload (IPv6: in the fragmentable part), in bytes.
    pub offset_bytes: u32,
    /// Whether more fragments follow.
    pub more: bool,
    /// The protocol that the datagram carries: IPv4 protocol field, or the fragment header's next header.
    pub proto: u8,
    /// Offset of the fragment's data in the frame.
    pub data_at: u32,
    /// Length of the fragment's data as stated by the IP header, in bytes; may exceed the captured data.
    pub data_bytes: u32,
    /// Length of the unfragmentable part: the headers before the data (IPv6: without the fragment header), in bytes.
    pub unfragmentable_bytes: u32,
    /// IPv6: offset in the frame of the next-header byte that names the fragment header; IPv4: 0.
    pub next_header_at: u32,
}

/// The result of a walk: kinds and offsets into the frame. All offsets are in bytes from the frame's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// The kind.
    pub kind: Kind,
    /// IP version of the header that the flow belongs to: 4, 6, or 0 where there is none.
    pub ip_version: u8,
    /// IP protocol number of the transport (the last header reached).
    pub proto: u8,
    /// Time to live or hop limit of that IP header.
    pub ttl: u8,
    /// Offset of that IP header.
    pub ip_at: u32,
    /// Length of that IP packet as sent, header included: total length, or 40 + payload length. Without padding.
    pub ip_bytes: u32,
    /// Offset of the transport header.
    pub transport_at: u32,
    /// Offset of the transport's payload; may lie beyond the captured bytes if options were truncated.
    pub payload_at: u32,
    /// Length of the transport's payload as stated by the headers, in bytes.
    pub payload_bytes: u32,
    /// Captured bytes of the payload: at most `payload_bytes`, and `payload_at` + this is within the frame.
    pub payload_captured_bytes: u32,
    /// VLAN ids from the outside in, those inside of tunnels included.
    pub vlans: Vlans,
    /// The innermost tunnel.
    pub tunnel: Tunnel,
    /// Offset of the outermost IP header (equals `ip_at` outside of tunnels).
    pub outer_ip_at: u32,
    /// The fragment's place, when `kind` is [`Kind::Fragment`]; meaningless otherwise.
    pub fragment: Fragment,
    /// The reason, if `kind` is [`Kind::Malformed`]. `ip_version`, `ip_at`, `ip_bytes`, `ttl` and `proto` then describe
    /// the last header that was walked, the payload is empty, and `ip_bytes` may reach beyond the frame.
    pub malformed: Option<Malformation>,
    /// The protocol, if `kind` is [`Kind::OtherLink`] and the protocol has a name; meaningless for other kinds.
    pub other_link: Option<OtherLink>,
    /// Why a host may drop the packet although it is valid.
    pub doubts: Doubts,
    /// IPv6: extension headers may name another source or destination than the fixed header (a routing header, a home
    /// address).
    pub is_routed: bool,
}

/// The fields that make a flow's key, by value: narrow fields that were just written are slow to load again in wide
/// pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// See [`Decoded::kind`].
    pub kind: Kind,
    /// See [`Decoded::ip_version`].
    pub ip_version: u8,
    /// See [`Decoded::proto`].
    pub proto: u8,
    /// See [`Decoded::ip_at`].
    pub ip_at: u32,
    /// See [`Decoded::transport_at`].
    pub transport_at: u32,
    /// See [`Decoded::is_routed`].
    pub is_routed: bool,
}

impl Decoded {
    /// The fields that make a flow's key.
    #[must_use]
    #[inline(always)]
    pub fn brief(&self) -> Brief {
        let Self { kind, ip_version, proto, ip_at, transport_at, is_routed, .. } = *self;
        Brief { kind, ip_version, proto, ip_at, transport_at, is_routed }
    }

    /// The initial value: a frame of an unsupported link type.
    pub const EMPTY: Self = Self {
        kind: Kind::UnsupportedLink,
        ip_version: 0,
        proto: 0,
        ttl: 0,
        ip_at: 0,
        ip_bytes: 0,
        transport_at: 0,
        payload_at: 0,
        payload_bytes: 0,
        payload_captured_bytes: 0,
        vlans: Vlans::NONE,
        tunnel: Tunnel { kind: TunnelKind::None, id: 0 },
        outer_ip_at: 0,
        fragment: Fragment {
            id: 0,
            offset_bytes: 0,
            more: false,
            proto: 0,
            data_at: 0,
            data_bytes: 0,
            unfragmentable_bytes: 0,
            next_header_at: 0,
        },
        malformed: None,
        other_link: None,
        doubts: Doubts::NONE,
        is_routed: false,
    };

    /// The documented invariant that this result violates for `frame`, if any: for tests and fuzzing.
    #[must_use]
    pub fn broken_promise(&self, frame: &[u8]) -> Option<&'static str> {
        let promises = [
            (self.malformed.is_some() == (self.kind == Kind::Malformed), "a reason exactly when malformed"),
            (self.vlans.iter().all(|id| id <= 0x0fff), "VLAN ids have 12 bits"),
            (self.payload_captured_bytes <= self.payload_bytes, "captured is part of stated"),
        ];
        let broken = promises.into_iter().find(|(kept, _)| !kept).map(|(_, promise)| promise);
        let is_flow = self.kind as u8 <= Kind::Fragment as u8;
        broken.or_else(|| if is_flow { self.broken_flow_promise(frame) } else { None })
    }

    /// Checks the invariants of every result with an IP header.
    fn broken_flow_promise(&self, frame: &[u8]) -> Option<&'static str> {
        let frame_bytes = frame.len() as u64;
        let [ip_at, transport_at, payload_at] = [self.ip_at, self.transport_at, self.payload_at].map(u64::from);
        let ip_header_bytes = if self.ip_version == 4 { 20 } else { 40 };
        let transport_header_bytes = match self.kind {
            Kind::Tcp => 20,
            Kind::Udp | Kind::UdpLite => 8,
            Kind::Sctp => 12,
            Kind::Icmp | Kind::Icmp6 => 4,
            _ => 0,
        };
        let captured = u64::from(self.payload_captured_bytes);
        let ip_end = ip_at + u64::from(self.ip_bytes);
        let fragment = self.fragment;
        let promises = [
            (matches!(self.ip_version, 4 | 6), "an IP version"),
            (self.outer_ip_at <= self.ip_at, "the outer IP header is not behind the inner"),
            (ip_at + ip_header_bytes <= transport_at, "the transport is behind the IP header"),
            (transport_at + transport_header_bytes <= frame_bytes, "the transport header is captured"),
            (transport_at + transport_header_bytes <= payload_at || self.kind != Kind::Tcp, "the payload is behind it"),
            (transport_at <= payload_at, "the payload is not before the transport"),
            (payload_at + u64::from(self.payload_bytes) <= ip_end, "the payload is inside the IP packet"),
            (captured == 0 || payload_at + captured <= frame_bytes, "the captured payload is inside the frame"),
            (
                // Behind a mirrored frame that was cut there may be bytes of the frame that carries it.
                self.tunnel.kind != TunnelKind::None
                    || captured == frame_bytes.saturating_sub(payload_at).min(self.payload_bytes.into()),
                "all that is captured of the payload counts",
            ),
            (
                self.kind != Kind::Fragment
                    || (u64::from(fragment.data_at) == payload_at
                        && fragment.data_bytes == self.payload_bytes
                        && (fragment.more || fragment.offset_bytes > 0)
                        && (self.ip_version == 4 || frame.get(fragment.next_header_at as usize) == Some(&44))),
                "a fragment's data is its payload",
            ),
        ];
        promises.into_iter().find(|(kept, _)| !kept).map(|(_, promise)| promise)
    }
}
