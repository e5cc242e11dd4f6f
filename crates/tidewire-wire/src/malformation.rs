/// Declares the enum, its complete list and its counter names in one place.
macro_rules! malformations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a frame could not be walked to its end. Each variant is also a counter's name.
        ///
        /// Three kinds of names, for every layer: `Cut`: the header was sent but not captured (truncated by the snap
        /// length); `Short`: the enclosing layer's stated length leaves no room for the header; any other word names
        /// the contradictory field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Malformation {
            $($(#[$doc])* $variant,)*
        }

        impl Malformation {
            /// Every variant, in the order of layers; the position equals `variant as usize`. At most 64.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The counter's name, in snake case; part of the output contract.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

impl Malformation {
    /// Whether the packet contradicts itself: not if the capture or the walk ended before the headers did, or if there is
    /// no frame at all.
    pub(crate) fn is_contradiction(self) -> bool {
        let is_limit = matches!(self, Self::LinkShort | Self::LinkDepth | Self::MplsDepth | Self::Ipv6ExtensionDepth);
        !is_limit && !self.name().ends_with("_cut")
    }
}

malformations! {
    /// Snapped inside the link-layer header, or inside what stands between it and the network layer.
    LinkCut = "link_cut",
    /// The frame on the wire is shorter than its link-layer header (Ethernet: IEEE 802.3 clause 3.1.1, 14 bytes).
    LinkShort = "link_short",
    /// A capture pseudo-header (radiotap, prism, AVS, PPI) states an impossible length.
    LinkHeaderLength = "link_header_length",
    /// More stacked VLAN tags, or more link-layer encapsulations, than are walked.
    LinkDepth = "link_depth",
    /// More MPLS labels than are walked, or a stack that does not end inside the frame (RFC 3032, 2.1).
    MplsDepth = "mpls_depth",
    /// PPPoE version or type is not 1 (RFC 2516, 4).
    PppoeVersion = "pppoe_version",
    /// PPPoE states more payload than the frame holds (RFC 2516, 4).
    PppoeLength = "pppoe_length",
    /// Raw IP whose first nibble is neither 4 nor 6.
    IpVersion = "ip_version",

    /// Snapped inside the IPv4 header or its options.
    Ipv4Cut = "ipv4_cut",
    /// Fewer than 20 bytes are left for the IPv4 header (RFC 791, 3.1).
    Ipv4Short = "ipv4_short",
    /// The link layer says IPv4, the version field does not (RFC 1122, 3.2.1.1: silently discarded).
    Ipv4Version = "ipv4_version",
    /// Header length below 5 words (RFC 791, 3.1: the minimum value for a correct header is 5).
    Ipv4HeaderLength = "ipv4_header_length",
    /// Total length does not even cover the header (RFC 791, 3.1).
    Ipv4TotalShort = "ipv4_total_short",
    /// Total length is more than the enclosing layer carried; receivers drop it (RFC 791, 3.1; Linux: `InTruncatedPkts`).
    Ipv4TotalLong = "ipv4_total_long",
    /// An option's length is below 2 or points beyond the header (RFC 1122, 3.2.1.8; Linux drops such packets).
    Ipv4Options = "ipv4_options",

    /// Snapped inside the IPv6 header.
    Ipv6Cut = "ipv6_cut",
    /// Fewer than 40 bytes are left for the IPv6 header (RFC 8200, 3).
    Ipv6Short = "ipv6_short",
    /// The link layer says IPv6, the version field does not (RFC 8200, 3).
    Ipv6Version = "ipv6_version",
    /// Payload length is more than the enclosing layer carried (RFC 8200, 3).
    Ipv6PayloadLong = "ipv6_payload_long",
    /// A jumbo payload option together with a payload length, or with 65,535 bytes or less (RFC 2675, 3).
    Ipv6Jumbo = "ipv6_jumbo",
    /// Snapped inside an extension header.
    Ipv6ExtensionCut = "ipv6_extension_cut",
    /// Fewer bytes are left than the smallest extension header takes (RFC 8200, 4).
    Ipv6ExtensionShort = "ipv6_extension_short",
    /// An extension header's length points beyond the packet (RFC 8200, 4).
    Ipv6ExtensionLong = "ipv6_extension_long",
    /// More extension headers than are walked.
    Ipv6ExtensionDepth = "ipv6_extension_depth",
    /// Hop-by-hop options elsewhere than directly after the IPv6 header (RFC 8200, 4.1: discarded).
    Ipv6HopByHopPlace = "ipv6_hop_by_hop_place",

    /// Snapped inside the authentication header's fixed 12 bytes.
    AhCut = "ah_cut",
    /// Fewer than 12 bytes are left for the authentication header (RFC 4302, 2).
    AhShort = "ah_short",
    /// The authentication header's length is below its fixed part or points beyond the packet (RFC 4302, 2.2).
    AhLength = "ah_length",

    /// Snapped before the ports of a TCP header, in a tunnel. (Elsewhere [`crate::Kind::HeaderCut`].)
    TcpCut = "tcp_cut",
    /// Fewer than 20 bytes are left for the TCP header (RFC 9293, 3.1).
    TcpShort = "tcp_short",
    /// Data offset below 5 words (RFC 9293, 3.1).
    TcpOffsetShort = "tcp_offset_short",
    /// Data offset points beyond the segment (RFC 9293, 3.1).
    TcpOffsetLong = "tcp_offset_long",

    /// Snapped before the ports of a UDP header, in a tunnel. (Elsewhere [`crate::Kind::HeaderCut`].)
    UdpCut = "udp_cut",
    /// Fewer than 8 bytes are left for the UDP header (RFC 768).
    UdpShort = "udp_short",
    /// The UDP length field is below 8 (RFC 768: the minimum value of the length is eight).
    UdpLengthShort = "udp_length_short",
    /// The UDP length field is more than IP carried (RFC 1122, 4.1.3: receivers drop it).
    UdpLengthLong = "udp_length_long",

    /// Snapped before the ports of a UDP-Lite header, in a tunnel. (Elsewhere [`crate::Kind::HeaderCut`].)
    UdpLiteCut = "udplite_cut",
    /// Fewer than 8 bytes are left for the UDP-Lite header (RFC 3828, 3.1).
    UdpLiteShort = "udplite_short",
    /// Checksum coverage of 1 to 7, or beyond the packet (RFC 3828, 3.1: must be discarded).
    UdpLiteCoverage = "udplite_coverage",

    /// Snapped before the ports of an SCTP header, in a tunnel. (Elsewhere [`crate::Kind::HeaderCut`].)
    SctpCut = "sctp_cut",
    /// Fewer than 12 bytes are left for the SCTP common header (RFC 9260, 3.1).
    SctpShort = "sctp_short",

    /// Snapped inside the first 4 bytes of an ICMP or ICMPv6 message, in a tunnel. (Elsewhere [`crate::Kind::HeaderCut`].)
    IcmpCut = "icmp_cut",
    /// Fewer than 8 bytes are left for an ICMP message (RFC 792; RFC 4443, 2.1).
    IcmpShort = "icmp_short",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_listed_at_its_own_place() {
        for (index, &malformation) in Malformation::ALL.iter().enumerate() {
            assert_eq!(malformation as usize, index);
        }
    }

    #[test]
    fn there_are_at_most_64_with_distinct_names() {
        assert!(Malformation::ALL.len() <= 64);
        let names: std::collections::HashSet<_> = Malformation::ALL.iter().map(|m| m.name()).collect();
        assert_eq!(names.len(), Malformation::ALL.len());
    }
}
