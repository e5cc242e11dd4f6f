//! The addresses of the pseudo-header (RFC 9293, 3.1; RFC 8200, 8.1).

use super::internet::sum;
use crate::decoded::Decoded;
use crate::layout::{ipv4, ipv6};
use crate::protocol::AH;

/// The sum of source and destination address; `None` if they are not known.
#[inline]
pub(super) fn addresses_sum(frame: &[u8], decoded: &Decoded) -> Option<u64> {
    let ip_at = decoded.ip_at as usize;
    if decoded.ip_version == 4 {
        let addresses: &[u8; 8] = frame.get(ip_at + ipv4::ADDRESSES..)?.first_chunk()?;
        return Some(sum(addresses));
    }
    let addresses: &[u8; 32] = frame.get(ip_at + ipv6::ADDRESSES..)?.first_chunk()?;
    if decoded.transport_at == decoded.ip_at + ipv6::HEADER_BYTES as u32 {
        return Some(sum(addresses));
    }
    behind_extensions(frame, decoded, addresses)
}

/// The addresses as the final host sees them: routing headers and home address options name others.
fn behind_extensions(frame: &[u8], decoded: &Decoded, addresses: &[u8; 32]) -> Option<u64> {
    let ip_at = decoded.ip_at as usize;
    let (mut source, mut destination) = addresses.split_at(16);
    let mut next_header = *frame.get(ip_at + ipv6::NEXT_HEADER)?;
    let mut at = ip_at + ipv6::HEADER_BYTES;
    for _ in 0..ipv6::EXTENSIONS_MAX {
        if at >= decoded.transport_at as usize {
            break;
        }
        let fixed: &[u8; 4] = frame.get(at..)?.first_chunk()?;
        let bytes = match next_header {
            ipv6::FRAGMENT => 8,
            AH => (usize::from(fixed[1]) + 2) * 4,
            _ => (usize::from(fixed[1]) + 1) * 8,
        };
        let header = frame.get(at..at + bytes)?;
        match next_header {
            ipv6::ROUTING => destination = final_destination(header, destination)?,
            ipv6::DESTINATION => source = home_address(header).unwrap_or(source),
            _ => {}
        }
        next_header = fixed[0];
        at += bytes;
    }
    Some(sum(source) + sum(destination))
}

/// The final destination of a routing header: `current` if no segments are left.
fn final_destination<'a>(header: &'a [u8], current: &'a [u8]) -> Option<&'a [u8]> {
    let &[_, _, kind, segments_left, ..] = header else { return None };
    match (segments_left, kind) {
        (0, _) => Some(current),
        // Source route (RFC 2460, 4.4) and mobility (RFC 6275, 6.4): the last address in the list.
        (_, 0 | 2) if header.len() >= 24 => header.last_chunk::<16>().map(|address| &address[..]),
        // Segment routing (RFC 8754, 2): the list is in reverse order.
        (_, 4) => header.get(8..24),
        _ => None,
    }
}

/// The home address option (RFC 6275, 6.3) among destination options.
fn home_address(header: &[u8]) -> Option<&[u8]> {
    const HOME_ADDRESS: u8 = 0xc9;
    let mut rest = header.get(2..)?;
    while let Some((&kind, after)) = rest.split_first() {
        if kind == 0 {
            rest = after;
            continue;
        }
        let (&length, data) = after.split_first()?;
        let (data, next) = data.split_at_checked(length.into())?;
        if kind == HOME_ADDRESS && data.len() == 16 {
            return Some(data);
        }
        rest = next;
    }
    None
}
