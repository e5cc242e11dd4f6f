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
    /// Bytes of the shortest header of options that has room for a home address (RFC 6275, 6.3).
    pub(crate) const HOME_ADDRESS_HEADER_BYTES: usize = 24;
    /// Extension headers walked in one packet, at most: more than fit into 1,500 bytes (182). Linux has no limit, and
    /// calling a packet malformed that a host accepts would be an evasion; a packet full of them costs about as much as
    /// summing its bytes.
    pub(crate) const EXTENSIONS_MAX: u32 = 192;
}
