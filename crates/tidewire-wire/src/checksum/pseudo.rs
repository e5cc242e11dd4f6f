//! The addresses of the pseudo-header (RFC 9293, 3.1; RFC 8200, 8.1).

use super::internet::sum;
use crate::decoded::Decoded;
use crate::layout::{ipv4, ipv6};
use crate::routing;

/// The sum of source and destination address; `None` if they are not known.
#[inline]
pub(super) fn addresses_sum(frame: &[u8], decoded: &Decoded) -> Option<u64> {
    let ip_at = decoded.ip_at as usize;
    if decoded.ip_version == 4 {
        let addresses: &[u8; 8] = frame.get(ip_at + ipv4::ADDRESSES..)?.first_chunk()?;
        return Some(sum(addresses));
    }
    let addresses: &[u8; 32] = frame.get(ip_at + ipv6::ADDRESSES..)?.first_chunk()?;
    if !decoded.is_routed {
        return Some(sum(addresses));
    }
    let (source, destination) = routing::ends(frame, decoded.brief(), addresses)?;
    Some(sum(source) + sum(destination))
}
