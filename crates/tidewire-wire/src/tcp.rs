//! TCP (RFC 9293, 3.1): the checks of the walk, and the header view.

use crate::decoded::{Decoded, Kind};
use crate::ip_protocol::TCP;
use crate::malformation::Malformation::{self, TcpCut, TcpOffsetLong, TcpOffsetShort, TcpShort};
use crate::walk::{Next, Walk, be16, be32};

/// The header without options, in bytes.
pub(crate) const HEADER_BYTES: usize = 20;
const SOURCE_PORT: usize = 0;
const DESTINATION_PORT: usize = 2;
const SEQUENCE: usize = 4;
const ACKNOWLEDGMENT: usize = 8;
/// Offset of the byte with the data offset in its upper and reserved bits in its lower half.
pub(crate) const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;

/// Walks a TCP header, whose fixed part must be captured.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = match walk.header::<HEADER_BYTES>(at, TcpShort, TcpCut) {
        Err(TcpCut) => return cut(walk, at),
        header => header?,
    };
    let header_bytes = usize::from(header[DATA_OFFSET] >> 4) * 4;
    if header_bytes < HEADER_BYTES {
        return Err(TcpOffsetShort);
    }
    if at + header_bytes > walk.end {
        return Err(TcpOffsetLong);
    }
    walk.transport(TCP, at, at + header_bytes);
    Ok(Next::Done(Kind::Tcp))
}

/// Handles a truncated header: if its length is not known, neither is the payload's, which then counts as none.
fn cut(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header_bytes = match walk.bytes::<{ DATA_OFFSET + 1 }>(at) {
        Some(header) => usize::from(header[DATA_OFFSET] >> 4) * 4,
        None => walk.end - at,
    };
    if header_bytes < HEADER_BYTES {
        return Err(TcpOffsetShort);
    }
    if at + header_bytes > walk.end {
        return Err(TcpOffsetLong);
    }
    walk.header_cut(TCP, at, header_bytes, TcpCut)
}

/// A TCP header inside a frame. Exists only for [`Kind::Tcp`], so its fixed part is captured.
#[derive(Clone, Copy, Debug)]
pub struct TcpHeader<'a> {
    fixed: &'a [u8; HEADER_BYTES],
    options: &'a [u8],
}

impl<'a> TcpHeader<'a> {
    /// The TCP header of `decoded` in `frame`; `None` unless its kind is [`Kind::Tcp`].
    #[inline]
    #[must_use]
    pub fn new(frame: &'a [u8], decoded: &Decoded) -> Option<Self> {
        if decoded.kind != Kind::Tcp {
            return None;
        }
        let captured = (decoded.payload_at as usize).min(frame.len());
        let header = frame.get(decoded.transport_at as usize..captured)?;
        let (fixed, options) = header.split_first_chunk()?;
        Some(Self { fixed, options })
    }

    /// Source port.
    #[inline]
    #[must_use]
    pub fn source_port(&self) -> u16 {
        be16(self.fixed, SOURCE_PORT)
    }

    /// Destination port.
    #[inline]
    #[must_use]
    pub fn destination_port(&self) -> u16 {
        be16(self.fixed, DESTINATION_PORT)
    }

    /// Sequence number of the first byte (or of the SYN).
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u32 {
        be32(self.fixed, SEQUENCE)
    }

    /// Acknowledgment number; significant with [`tcp_flag::ACK`](crate::tcp_flag::ACK).
    #[inline]
    #[must_use]
    pub fn acknowledgment(&self) -> u32 {
        be32(self.fixed, ACKNOWLEDGMENT)
    }

    /// The eight flags from CWR to FIN, see [`tcp_flag`](crate::tcp_flag).
    #[inline]
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.fixed[FLAGS]
    }

    /// The four bits between data offset and flags; the lowest is accurate ECN's AE (RFC 9768), the others reserved.
    #[inline]
    #[must_use]
    pub fn reserved_bits(&self) -> u8 {
        self.fixed[DATA_OFFSET] & 0x0f
    }

    /// Window as sent, not scaled.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u16 {
        be16(self.fixed, WINDOW)
    }

    /// Length of the header with its options, in bytes, as stated: 20 to 60.
    #[inline]
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        usize::from(self.fixed[DATA_OFFSET] >> 4) * 4
    }

    /// Checksum as sent; [`transport_checksum`](crate::transport_checksum) verifies it.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.fixed, CHECKSUM)
    }

    /// Urgent pointer; significant with [`tcp_flag::URG`](crate::tcp_flag::URG).
    #[inline]
    #[must_use]
    pub fn urgent_pointer(&self) -> u16 {
        be16(self.fixed, URGENT)
    }

    /// The captured bytes of the options.
    #[inline]
    #[must_use]
    pub fn option_bytes(&self) -> &'a [u8] {
        self.options
    }

    /// The options in order, up to the end-of-options mark, the end, or the first with an invalid length.
    #[inline]
    #[must_use]
    pub fn options(&self) -> TcpOptions<'a> {
        TcpOptions { rest: self.options }
    }

    /// The timestamps option (RFC 7323, 3.2): value and echo reply.
    ///
    /// The layout of RFC 7323's appendix A, in which the option comes first and aligned, is recognised by one comparison.
    #[inline]
    #[must_use]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        if let Some(&[1, 1, 8, 10, v0, v1, v2, v3, e0, e1, e2, e3]) = self.options.first_chunk() {
            return Some((u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3])));
        }
        if self.options.len() < 10 {
            return None;
        }
        self.timestamps_elsewhere()
    }

    #[inline(never)]
    fn timestamps_elsewhere(&self) -> Option<(u32, u32)> {
        self.options().find_map(|option| match option {
            TcpOption::Timestamps { value, echo } => Some((value, echo)),
            _ => None,
        })
    }

    /// Maximum segment size (RFC 9293, 3.7.1), in bytes.
    #[must_use]
    pub fn maximum_segment_size(&self) -> Option<u16> {
        self.options().find_map(|option| match option {
            TcpOption::MaximumSegmentSize(bytes) => Some(bytes),
            _ => None,
        })
    }

    /// Window scale shift (RFC 7323, 2), at most 14: larger values count as 14 (2.3).
    #[must_use]
    pub fn window_scale(&self) -> Option<u8> {
        self.options().find_map(|option| match option {
            TcpOption::WindowScale(shift) => Some(shift.min(14)),
            _ => None,
        })
    }

    /// Whether selective acknowledgment is permitted (RFC 2018, 2).
    #[must_use]
    pub fn sack_permitted(&self) -> bool {
        self.options().any(|option| option == TcpOption::SackPermitted)
    }
}

/// One TCP option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpOption<'a> {
    /// Maximum segment size in bytes (kind 2).
    MaximumSegmentSize(u16),
    /// Window scale shift as sent (kind 3).
    WindowScale(u8),
    /// Selective acknowledgment permitted (kind 4).
    SackPermitted,
    /// Selective acknowledgment (kind 5): left and right edges, 8 bytes a block.
    Sack(&'a [u8]),
    /// Timestamps (kind 8).
    Timestamps {
        /// TSval.
        value: u32,
        /// TSecr.
        echo: u32,
    },
    /// Any other kind, and those above with a wrong length.
    Other {
        /// Option kind (the IANA registry).
        kind: u8,
        /// The bytes behind kind and length.
        data: &'a [u8],
    },
}

/// Iterator over TCP options; skips no-operation options. Every step consumes at least one byte.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        while let Some((&1, rest)) = self.rest.split_first() {
            self.rest = rest;
        }
        let &[kind, length, ..] = self.rest else { return None };
        // An invalid length ends the list, as on a host (Linux: `tcp_parse_options`).
        let data = if kind == 0 { None } else { self.rest.get(2..length.into()) };
        let Some(data) = data else {
            self.rest = &[];
            return None;
        };
        self.rest = self.rest.get(length.into()..).unwrap_or(&[]);
        Some(match (kind, data) {
            (2, &[high, low]) => TcpOption::MaximumSegmentSize(u16::from_be_bytes([high, low])),
            (3, &[shift]) => TcpOption::WindowScale(shift),
            (4, &[]) => TcpOption::SackPermitted,
            (5, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => TcpOption::Sack(blocks),
            (8, &[v0, v1, v2, v3, e0, e1, e2, e3]) => TcpOption::Timestamps {
                value: u32::from_be_bytes([v0, v1, v2, v3]),
                echo: u32::from_be_bytes([e0, e1, e2, e3]),
            },
            _ => TcpOption::Other { kind, data },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(bytes: &[u8]) -> Vec<TcpOption<'_>> {
        TcpOptions { rest: bytes }.collect()
    }

    #[test]
    fn a_linux_syn_states_all_it_offers() {
        let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 3, 3, 7];
        let header = TcpHeader { fixed: &[0; 20], options: &syn };
        assert_eq!(header.maximum_segment_size(), Some(1460));
        assert_eq!(header.window_scale(), Some(7));
        assert!(header.sack_permitted());
        assert_eq!(header.timestamps(), Some((7, 9)));
    }

    #[test]
    fn aligned_timestamps_are_found_without_the_list() {
        let header = TcpHeader { fixed: &[0; 20], options: &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8] };
        assert_eq!(header.timestamps(), Some((0x0102_0304, 0x0506_0708)));
    }

    #[test]
    fn lengths_that_cannot_be_end_the_list() {
        assert_eq!(options(&[2, 0, 5, 0xb4]), []);
        assert_eq!(options(&[2, 1, 5, 0xb4]), []);
        assert_eq!(options(&[3, 3, 1, 2, 40, 5]), [TcpOption::WindowScale(1)]);
        assert_eq!(options(&[1, 1, 1]), []);
        assert_eq!(options(&[0, 4, 2]), []);
        assert_eq!(options(&[2]), []);
        assert_eq!(options(&[2, 3, 5]), [TcpOption::Other { kind: 2, data: &[5] }]);
    }

    #[test]
    fn a_window_scale_beyond_14_counts_as_14() {
        let header = TcpHeader { fixed: &[0; 20], options: &[3, 3, 200] };
        assert_eq!(header.window_scale(), Some(14));
    }
}
