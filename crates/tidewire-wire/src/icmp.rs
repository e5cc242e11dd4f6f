//! Types of ICMP that ask, and those that answer them.

use crate::ip_protocol::{ICMP, ICMP6};

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
