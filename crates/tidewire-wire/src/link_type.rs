//! Link types, as capture files number them.

/// A link type as pcap files number it (the LINKTYPE_ registry of tcpdump.org), in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// Declares the link types that are walked, with a list of them all.
macro_rules! link_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        impl LinkType {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// Every link type that [`crate::decode`] knows; frames of others are [`Kind::UnsupportedLink`](crate::Kind::UnsupportedLink).
            pub const SUPPORTED: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

link_types! {
    /// BSD loopback: a 4-byte address family in the capturing host's byte order.
    NULL = 0,
    /// Ethernet.
    ETHERNET = 1,
    /// Token ring (IEEE 802.5).
    IEEE802_5 = 6,
    /// SLIP, with the 16 bytes that BSD puts before a packet. Compressed headers are not decompressed.
    SLIP = 8,
    /// PPP, with or without its address and control bytes.
    PPP = 9,
    /// FDDI (RFC 1390).
    FDDI = 10,
    /// Raw IP, version from the first nibble (the number most systems use internally).
    RAW_BSD = 12,
    /// Raw IP, version from the first nibble: OpenBSD's number.
    RAW_OPENBSD = 14,
    /// PPP in HDLC-like framing, or Cisco HDLC.
    PPP_HDLC = 50,
    /// PPPoE from its own header on.
    PPP_ETHER = 51,
    /// LLC over ATM (RFC 2684).
    ATM_RFC1483 = 100,
    /// Raw IP, version from the first nibble.
    RAW = 101,
    /// Cisco HDLC.
    C_HDLC = 104,
    /// 802.11 without a pseudo-header.
    IEEE802_11 = 105,
    /// Classical IP over ATM as Linux captures it (RFC 2225): LLC, or bare IPv4.
    ATM_CLIP = 106,
    /// Frame relay.
    FRELAY = 107,
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    LOOP = 108,
    /// Linux "cooked" capture, version 1.
    LINUX_SLL = 113,
    /// 802.11 after a prism header.
    IEEE802_11_PRISM = 119,
    /// SunATM: 4 bytes of direction and channel, then LLC.
    SUNATM = 123,
    /// 802.11 after a radiotap header.
    IEEE802_11_RADIOTAP = 127,
    /// ARCNET as Linux captures it (RFC 1051, RFC 1201); fragments of RFC 1201 are not reassembled.
    ARCNET_LINUX = 129,
    /// 802.11 after an AVS header.
    IEEE802_11_AVS = 163,
    /// PPP from Linux's pppd: the address byte gives the direction.
    PPP_PPPD = 166,
    /// Ethernet after a Juniper header.
    JUNIPER_ETHER = 178,
    /// Per-packet information, then a frame of the link type it names.
    PPI = 192,
    /// 802.15.4 with its check sequence.
    IEEE802_15_4_WITHFCS = 195,
    /// PPP after a byte of direction.
    PPP_WITH_DIR = 204,
    /// Cisco HDLC after a byte of direction.
    C_HDLC_WITH_DIR = 205,
    /// Frame relay after a byte of direction.
    FRELAY_WITH_DIR = 206,
    /// 802.15.4 after the header of its physical layer.
    IEEE802_15_4_NONASK_PHY = 215,
    /// Solaris' ipnet: a pseudo-header, then IP.
    IPNET = 226,
    /// Raw IPv4.
    IPV4 = 228,
    /// Raw IPv6.
    IPV6 = 229,
    /// 802.15.4 without its check sequence.
    IEEE802_15_4_NOFCS = 230,
    /// Linux netfilter log.
    NFLOG = 239,
    /// IP over InfiniBand: global routing header, then an EtherType.
    IPOIB = 242,
    /// macOS' pktap: a pseudo-header, then a frame of the link type it names.
    PKTAP = 258,
    /// Linux "cooked" capture, version 2.
    LINUX_SLL2 = 276,
    /// Ethernet with the tag of a Broadcom switch before the type.
    DSA_TAG_BRCM = 281,
    /// Ethernet behind the tag of a Broadcom switch.
    DSA_TAG_BRCM_PREPEND = 282,
    /// 802.15.4 after a TAP header.
    IEEE802_15_4_TAP = 283,
    /// Ethernet with the tag of a Marvell switch before the type.
    DSA_TAG_DSA = 284,
    /// The same with an EtherType before the tag.
    DSA_TAG_EDSA = 285,
}
