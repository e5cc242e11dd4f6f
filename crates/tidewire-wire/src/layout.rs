//! Offsets of fields in IP headers, for the walk and for checksums.

/// IPv4 (RFC 791).
pub(crate) mod ipv4 {
    /// The header without options, in bytes.
    pub(crate) const HEADER_BYTES: usize = 20;
    /// Offset of the header checksum.
    pub(crate) const CHECKSUM: usize = 10;
    /// Offset of the source address; the destination follows.
    pub(crate) const ADDRESSES: usize = 12;
}

/// IPv6 (RFC 8200) with its extension headers.
pub(crate) mod ipv6 {
    /// The fixed header, in bytes.
    pub(crate) const HEADER_BYTES: usize = 40;
    /// Offset of the next-header byte.
    pub(crate) const NEXT_HEADER: usize = 6;
    /// Offset of the source address; the destination follows.
    pub(crate) const ADDRESSES: usize = 8;
    /// Hop-by-hop options (RFC 8200, 4.3).
    pub(crate) const HOP_BY_HOP: u8 = 0;
    /// Routing header (RFC 8200, 4.4).
    pub(crate) const ROUTING: u8 = 43;
    /// Fragment header (RFC 8200, 4.5), 8 bytes.
    pub(crate) const FRAGMENT: u8 = 44;
    /// Destination options (RFC 8200, 4.6).
    pub(crate) const DESTINATION: u8 = 60;
    /// Extension headers walked in one packet, at most: more than fit into 1,500 bytes (182). Linux has no limit, and
    /// calling a packet malformed that a host accepts would be an evasion; a packet full of them costs about as much as
    /// summing its bytes.
    pub(crate) const EXTENSIONS_MAX: u32 = 192;
}
