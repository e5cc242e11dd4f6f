//! Reconstruction of the IP packet before its fragmentation.

use super::{bounds::IP_LENGTH_MAX, pending::Datagram};

/// Length of IPv6's fixed header, which its payload length does not count.
const IPV6_HEADER_BYTES: usize = 40;

/// Writes a complete datagram's packet to `packet`. Returns false if a header cannot state its length.
pub(super) fn rebuild(datagram: &Datagram, packet: &mut Vec<u8>) -> bool {
    let length = datagram.assembly.length() as usize;
    packet.clear();
    packet.extend_from_slice(&datagram.header);
    let is_whole = if datagram.key.is_ipv6() {
        ipv6(packet, length, datagram.next_header_at as usize, datagram.proto)
    } else {
        ipv4(packet, length)
    };
    if is_whole.is_some() {
        datagram.assembly.copy_to(packet);
    }
    is_whole.is_some()
}

fn stated(length: usize) -> Option<[u8; 2]> {
    (length <= IP_LENGTH_MAX as usize).then_some((length as u16).to_be_bytes())
}

/// RFC 791: total length, no more fragments, offset 0, checksum.
fn ipv4(header: &mut [u8], payload_bytes: usize) -> Option<()> {
    let total = stated(header.len() + payload_bytes)?;
    header.get_mut(2..4)?.copy_from_slice(&total);
    header.get_mut(6..8)?.fill(0);
    header.get_mut(10..12)?.fill(0);
    let mut sum =
        header.chunks_exact(2).fold(0_u32, |sum, pair| sum + u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header.get_mut(10..12)?.copy_from_slice(&(!(sum as u16)).to_be_bytes());
    Some(())
}

/// RFC 8200 section 4.5: payload length, and the header before the fragment header names the protocol behind it.
fn ipv6(headers: &mut [u8], payload_bytes: usize, next_header_at: usize, proto: u8) -> Option<()> {
    let length = stated(headers.len().checked_sub(IPV6_HEADER_BYTES)? + payload_bytes)?;
    headers.get_mut(4..6)?.copy_from_slice(&length);
    *headers.get_mut(next_header_at)? = proto;
    Some(())
}
