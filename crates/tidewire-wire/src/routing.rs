//! Routing headers and home addresses: the hosts at the ends of an IPv6 packet, where its fixed header names others.

use crate::Brief;
use crate::ip_protocol::{AH, DESTINATION_OPTIONS, FRAGMENT, ROUTING};
use crate::layout::ipv6;

/// Of a routing header, in bytes: next header, length, type, segments left; then four that depend on the type.
const FIXED_BYTES: usize = 8;
/// Source route (RFC 2460, 4.4), which RFC 5095 deprecates: no host follows it.
const SOURCE_ROUTE: u8 = 0;
/// Mobility (RFC 6275, 6.4): one address.
const MOBILITY: u8 = 2;
/// Segment routing (RFC 8754, 2): the list is in reverse order.
const SEGMENTS: u8 = 4;

/// Source and destination as the final host sees them (RFC 8200, 8.1; RFC 6275, 6.3). `None`: a routing header of
/// unknown type has segments left, or headers are not captured.
pub(crate) fn ends<'a>(frame: &'a [u8], brief: Brief, addresses: &'a [u8; 32]) -> Option<(&'a [u8; 16], &'a [u8; 16])> {
    let ip_at = brief.ip_at as usize;
    let (mut source, mut destination) = (addresses.first_chunk()?, addresses.last_chunk()?);
    let mut next_header = *frame.get(ip_at + ipv6::NEXT_HEADER)?;
    let mut at = ip_at + ipv6::HEADER_BYTES;
    for _ in 0..ipv6::EXTENSIONS_MAX {
        if at >= brief.transport_at as usize {
            break;
        }
        let fixed: &[u8; 4] = frame.get(at..)?.first_chunk()?;
        let bytes = match next_header {
            FRAGMENT => 8,
            AH => (usize::from(fixed[1]) + 2) * 4,
            _ => (usize::from(fixed[1]) + 1) * 8,
        };
        let header = frame.get(at..at + bytes)?;
        match next_header {
            ROUTING => destination = destination_of(header, destination)?,
            DESTINATION_OPTIONS => source = home_address(header).unwrap_or(source),
            _ => {}
        }
        next_header = fixed[0];
        at += bytes;
    }
    Some((source, destination))
}

/// The final destination of an IPv6 packet if a routing header names another than the fixed header: the host of the
/// flow. `None`: the fixed header's is final, or the final one is not known.
#[must_use]
pub fn final_destination(frame: &[u8], brief: Brief) -> Option<&[u8; 16]> {
    if !brief.is_routed {
        return None;
    }
    let addresses: &[u8; 32] = frame.get(brief.ip_at as usize + ipv6::ADDRESSES..)?.first_chunk()?;
    let (_, destination) = ends(frame, brief, addresses)?;
    Some(destination).filter(|destination| addresses.last_chunk() != Some(*destination))
}

/// The final destination of a routing header: `current` if no segments are left, or more than the header holds, which
/// the host at the current destination discards.
fn destination_of<'a>(header: &'a [u8], current: &'a [u8; 16]) -> Option<&'a [u8; 16]> {
    let &[_, _, kind, segments_left, ..] = header else { return None };
    if segments_left == 0 || has_too_many_left(header) {
        return Some(current);
    }
    match kind {
        SOURCE_ROUTE | MOBILITY => header.last_chunk(),
        SEGMENTS => header.get(FIXED_BYTES..)?.first_chunk(),
        _ => None,
    }
}

/// Whether a routing header of known type has more segments left than it has addresses (RFC 2460, 4.4; RFC 8754,
/// 4.3.1.1). A reduced list lacks its first segment, which is the packet's destination.
pub(crate) fn has_too_many_left(header: &[u8]) -> bool {
    let addresses = header.len().saturating_sub(FIXED_BYTES) / 16;
    let &[_, _, kind, segments_left, last_entry, ..] = header else { return true };
    match kind {
        SOURCE_ROUTE => usize::from(segments_left) > addresses,
        MOBILITY => addresses != 1 || segments_left > 1,
        SEGMENTS => usize::from(last_entry) >= addresses || usize::from(segments_left) > usize::from(last_entry) + 1,
        _ => false,
    }
}

/// Whether a Linux host on the way discards a segment routing header that is valid: it finds the next segment in the
/// list, so none may be reduced (`ipv6_srh_rcv`).
pub(crate) fn is_reduced(header: &[u8]) -> bool {
    let &[_, _, SEGMENTS, segments_left, ..] = header else { return false };
    usize::from(segments_left) >= header.len().saturating_sub(FIXED_BYTES) / 16 && segments_left != 0
}

/// The home address option (RFC 6275, 6.3) among destination options.
fn home_address(header: &[u8]) -> Option<&[u8; 16]> {
    const HOME_ADDRESS: u8 = 0xc9;
    // A packet may have hundreds of short headers.
    if header.len() < ipv6::HOME_ADDRESS_HEADER_BYTES {
        return None;
    }
    let mut rest = header.get(2..)?;
    while let Some((&kind, after)) = rest.split_first() {
        if kind == 0 {
            rest = after;
            continue;
        }
        let (&length, data) = after.split_first()?;
        let (data, next) = data.split_at_checked(length.into())?;
        if kind == HOME_ADDRESS
            && let Ok(address) = data.try_into()
        {
            return Some(address);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv6, join, tcp};
    use crate::{Checksum, Decoded, Doubts, LinkType, addresses, final_destination, transport_checksum};

    /// An address of 2001:db8::/32 that ends with this byte.
    fn address(last: u8) -> Vec<u8> {
        join(&[&[0x20, 0x01, 0x0d, 0xb8], &[0; 11], &[last]])
    }

    /// A segment with a routing header of this type, segments left, last entry and addresses.
    fn routed(kind: u8, left: u8, last_entry: u8, list: &[u8]) -> (Vec<u8>, Decoded) {
        let list: Vec<u8> = list.iter().flat_map(|last| address(*last)).collect();
        let header = [6, (list.len() / 8) as u8, kind, left, last_entry, 0, 0, 0];
        let packet = ipv6(43, &join(&[&header, &list, &tcp(b"x")]));
        let found = decoded(LinkType::RAW, &packet);
        (packet, found)
    }

    /// The last byte of the packet's destination, and whether a host drops the packet in any case.
    fn host(kind: u8, left: u8, last_entry: u8, list: &[u8]) -> (u8, bool) {
        let (packet, found) = routed(kind, left, last_entry, list);
        let std::net::IpAddr::V6(destination) = addresses(&packet, &found).1 else { return (0, false) };
        let [.., last] = destination.octets();
        let named = final_destination(&packet, found.brief()).map(|bytes| bytes[15]);
        assert_eq!(named, Some(last).filter(|last| *last != 2));
        (last, found.doubts.has(Doubts::HEADER))
    }

    #[test]
    fn the_final_destination_is_the_host() {
        assert_eq!(host(4, 1, 1, &[9, 2]), (9, false), "the list is in reverse order");
        assert_eq!(host(4, 2, 2, &[9, 8, 2]), (9, false));
        assert_eq!(host(4, 0, 1, &[2, 7]), (2, false), "it has arrived");
        assert_eq!(host(2, 1, 0, &[9]), (9, false), "mobility");
        assert_eq!(host(0, 2, 0, &[8, 9]), (9, true), "a source route, which hosts drop");
        assert_eq!(host(3, 1, 0, &[9]), (2, false), "an unknown list");
    }

    #[test]
    fn more_segments_left_than_there_are_lead_nowhere() {
        assert_eq!(host(4, 3, 1, &[9, 8]), (2, true));
        assert_eq!(host(4, 1, 2, &[9, 8]), (2, true), "the last entry is beyond the header");
        assert_eq!(host(4, 2, 1, &[9, 8]), (9, true), "reduced: valid, but not for Linux");
        assert_eq!(host(0, 3, 0, &[8, 9]), (2, true));
        assert_eq!(host(2, 2, 0, &[9]), (2, true));
    }

    #[test]
    fn a_home_address_is_found_behind_options_that_hosts_drop() {
        let dropped = [60, 0, 0x9e, 0, 0x9e, 0, 0x9e, 0];
        let home = |next: u8| join(&[&[next, 2, 1, 2, 0, 0, 0xc9, 16], &address(7)]);
        for headers in
            [join(&[&dropped, &dropped, &home(6)]), join(&[&home(60), &dropped, &[&[6][..], &dropped[1..]].concat()])]
        {
            let packet = ipv6(60, &join(&[&headers, &tcp(b"x")]));
            let found = decoded(LinkType::RAW, &packet);
            let (source, _) = super::ends(&packet, found.brief(), packet[8..].first_chunk().unwrap()).unwrap();
            assert_eq!((source.last(), found.doubts.reasons()), (Some(&7), 3));
        }
    }

    #[test]
    fn the_checksum_is_the_final_destination_s() {
        let (mut packet, found) = routed(4, 1, 1, &[9, 2]);
        let at = found.transport_at as usize;
        let mut sum: u32 = 6 + (packet.len() - at) as u32;
        let words = [&packet[8..24], &address(9)[..], &packet[at..], &[0]].concat();
        for pair in words.chunks_exact(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
        }
        let folded = (sum >> 16) + (sum & 0xffff);
        let checksum = !((folded >> 16) + (folded & 0xffff)) as u16;
        packet[at + 16..at + 18].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(transport_checksum(&packet, &found), Checksum::Good);
    }
}
