//! ICMP (RFC 792) and ICMPv6 (RFC 4443): the header view; types that ask, and those that answer them.

use crate::decoded::{Decoded, Kind};
use crate::ip_protocol::{ICMP, ICMP6};
use crate::walk::be16;

/// Type, code and checksum, in bytes: what both versions have in common, and must be captured.
const FIXED_BYTES: usize = 4;
const CHECKSUM: usize = 2;

/// An ICMP (RFC 792) or ICMPv6 (RFC 4443, 2.1) message inside a frame. Exists only for [`Kind::Icmp`] and [`Kind::Icmp6`], so that type,
/// code and checksum are captured.
#[derive(Clone, Copy, Debug)]
pub struct IcmpHeader<'a> {
    fixed: &'a [u8; FIXED_BYTES],
    body: &'a [u8],
    is_v6: bool,
}

impl<'a> IcmpHeader<'a> {
    /// The message of `decoded` in `frame`; `None` for other kinds.
    #[inline]
    #[must_use]
    pub fn new(frame: &'a [u8], decoded: &Decoded) -> Option<Self> {
        if !matches!(decoded.kind, Kind::Icmp | Kind::Icmp6) {
            return None;
        }
        let end = (decoded.payload_at as usize).saturating_add(decoded.payload_bytes as usize).min(frame.len());
        let (fixed, body) = frame.get(decoded.transport_at as usize..end)?.split_first_chunk()?;
        Some(Self { fixed, body, is_v6: decoded.kind == Kind::Icmp6 })
    }

    /// Whether it is ICMPv6, whose types are others.
    #[inline]
    #[must_use]
    pub fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// Type (the IANA registry of the version).
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.fixed[0]
    }

    /// Code.
    #[inline]
    #[must_use]
    pub fn code(&self) -> u8 {
        self.fixed[1]
    }

    /// Checksum as sent; [`transport_checksum`](crate::transport_checksum) verifies it.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.fixed, CHECKSUM)
    }

    /// Identifier and sequence number of an echo request or reply (RFC 792; RFC 4443, 4.1), if captured.
    #[must_use]
    pub fn echo(&self) -> Option<(u16, u16)> {
        let is_echo = if self.is_v6 { matches!(self.kind(), 128 | 129) } else { matches!(self.kind(), 0 | 8) };
        let words: &[u8; 4] = self.body.first_chunk().filter(|_| is_echo)?;
        Some((be16(words, 0), be16(words, 2)))
    }

    /// The captured bytes behind type, code and checksum: fields that depend on the type, and the data. An error quotes the packet that
    /// caused it from the fifth byte on.
    #[inline]
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}

/// Echo, router solicitation and advertisement, timestamp, information, address mask (RFC 792, RFC 1256, RFC 950): what asks first.
///
/// These and those of ICMPv6 are the pairs of Zeek's `ICMP4_counterpart` and `ICMP6_counterpart`, which the specification of Community ID
/// names as its own.
const PAIRS: [(u8, u8); 5] = [(8, 0), (10, 9), (13, 14), (15, 16), (17, 18)];

/// Echo, listener query and report, router and neighbour solicitation and advertisement, node information, home agent's address (RFC 4443,
/// RFC 2710, RFC 4861, RFC 4620, RFC 6275).
const PAIRS_6: [(u8, u8); 6] = [(128, 129), (130, 131), (133, 134), (135, 136), (139, 140), (144, 145)];

/// The pairs of an IP protocol.
const fn pairs(proto: u8) -> &'static [(u8, u8)] {
    match proto {
        ICMP => &PAIRS,
        ICMP6 => &PAIRS_6,
        _ => &[],
    }
}

/// The type that answers one of ICMP (`proto` 1) or ICMPv6 (58), or that it answers; `None` if it belongs to no pair.
#[must_use]
pub fn icmp_counterpart(proto: u8, kind: u8) -> Option<u8> {
    pairs(proto).iter().find_map(|&(request, answer)| match kind {
        _ if kind == request => Some(answer),
        _ if kind == answer => Some(request),
        _ => None,
    })
}

/// The type that both of a pair share: the one that asks. Types that belong to no pair are their own.
#[inline]
#[must_use]
pub fn icmp_request(proto: u8, kind: u8) -> u8 {
    pairs(proto).iter().find(|(_, answer)| *answer == kind).map_or(kind, |(request, _)| *request)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs of Zeek's table.
    #[test]
    fn pairs_are_mapped_both_ways() {
        for (proto, pairs) in [
            (ICMP, &[(8, 0), (10, 9), (13, 14), (15, 16), (17, 18)][..]),
            (ICMP6, &[(128, 129), (133, 134), (135, 136), (130, 131), (139, 140), (144, 145)]),
        ] {
            for &(request, answer) in pairs {
                assert_eq!(icmp_counterpart(proto, request), Some(answer));
                assert_eq!(icmp_counterpart(proto, answer), Some(request));
                assert_eq!([icmp_request(proto, request), icmp_request(proto, answer)], [request; 2]);
            }
            let paired = (0..=255).filter(|&kind| icmp_counterpart(proto, kind).is_some()).count();
            assert_eq!(paired, 2 * pairs.len());
        }
        assert_eq!((icmp_counterpart(1, 3), icmp_request(58, 1), icmp_counterpart(17, 8)), (None, 1, None));
    }
}
