//! Checksums: the Internet checksum (RFC 1071) of IPv4, TCP, UDP, UDP-Lite, ICMP and ICMPv6, and SCTP's CRC-32C.

mod crc32c;
mod internet;
mod lanes;
mod pseudo;

pub use crc32c::crc32c;
pub use internet::internet;

use crate::decoded::{Decoded, Kind};
use crate::layout::ipv4;
use internet::{fold, is_good, native, sum};

/// The result of a checksum's verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Checksum {
    /// Correct.
    Good,
    /// Wrong: the receiver would have dropped the packet.
    Bad,
    /// Left by the sender for its network card to complete: the sum of the pseudo-header alone (with or without the
    /// length, as segmentation offload leaves it), or zero if there is no pseudo-header (IPv4 header, SCTP).
    ///
    /// Seen in captures on the sending host. A packet from the wire can imitate it, so a receiver treats it as wrong.
    Offloaded,
    /// Absent: UDP over IPv4 without a checksum (RFC 768), or a protocol without a known checksum.
    Absent,
    /// It cannot be computed: a truncated, fragmented or malformed packet, or one with a routing header of unknown
    /// type.
    Unverifiable,
}

/// Offsets of the checksum in the transports' headers.
const TCP: usize = 16;
const UDP: usize = 6;
const UDP_LITE_COVERAGE: usize = 4;
const SCTP: usize = 8;

/// Verifies the checksum of the transport header of `decoded` in `frame`, over its payload.
///
/// IPv6: the pseudo-header contains the final destination if a routing header names it (RFC 8200, 8.1), and the home
/// address if a destination option names it (RFC 6275, 6.3).
#[must_use]
pub fn transport_checksum(frame: &[u8], decoded: &Decoded) -> Checksum {
    match decoded.kind {
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp | Kind::Icmp | Kind::Icmp6 => {}
        Kind::Fragment | Kind::Malformed | Kind::HeaderCut => return Checksum::Unverifiable,
        _ => return Checksum::Absent,
    }
    let header_bytes = decoded.payload_at.saturating_sub(decoded.transport_at);
    let segment_bytes = header_bytes.saturating_add(decoded.payload_bytes);
    let rest = frame.get(decoded.transport_at as usize..).unwrap_or(&[]);
    if decoded.kind == Kind::UdpLite {
        return udp_lite(frame, decoded, rest, segment_bytes);
    }
    let Some(segment) = rest.get(..segment_bytes as usize) else { return Checksum::Unverifiable };
    match decoded.kind {
        Kind::Tcp => with_pseudo_header(frame, decoded, segment, segment_bytes, TCP),
        Kind::Udp => match segment.get(UDP..UDP + 2) {
            Some(&[0, 0]) if decoded.ip_version == 4 => Checksum::Absent,
            // RFC 8200, 8.1: receivers discard UDP over IPv6 without a checksum.
            Some(&[0, 0]) => Checksum::Bad,
            _ => with_pseudo_header(frame, decoded, segment, segment_bytes, UDP),
        },
        Kind::Icmp6 => with_pseudo_header(frame, decoded, segment, segment_bytes, 2),
        Kind::Sctp => sctp(segment),
        _ if is_good(sum(segment)) => Checksum::Good,
        _ => Checksum::Bad,
    }
}

/// Verifies the header checksum of the flow's IPv4 packet; [`Checksum::Absent`] for other packets.
#[must_use]
pub fn ipv4_header_checksum(frame: &[u8], decoded: &Decoded) -> Checksum {
    if decoded.ip_version != 4 {
        return Checksum::Absent;
    }
    let rest = frame.get(decoded.ip_at as usize..).unwrap_or(&[]);
    let header_bytes = rest.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    match rest.get(..header_bytes) {
        Some(header) if header_bytes >= ipv4::HEADER_BYTES => {
            if is_good(sum(header)) {
                Checksum::Good
            } else if header.get(ipv4::CHECKSUM..ipv4::CHECKSUM + 2) == Some(&[0, 0]) {
                Checksum::Offloaded
            } else {
                Checksum::Bad
            }
        }
        _ => Checksum::Unverifiable,
    }
}

/// A checksum at `checksum_at` that covers `covered` and a pseudo-header that states `segment_bytes`.
#[inline]
fn with_pseudo_header(
    frame: &[u8],
    decoded: &Decoded,
    covered: &[u8],
    segment_bytes: u32,
    checksum_at: usize,
) -> Checksum {
    let Some(addresses) = pseudo::addresses_sum(frame, decoded) else { return Checksum::Unverifiable };
    let without_length = addresses + u64::from(native(u16::from(decoded.proto)));
    let length = u64::from(native((segment_bytes >> 16) as u16)) + u64::from(native(segment_bytes as u16));
    let pseudo = without_length + length;
    if is_good(pseudo + sum(covered)) {
        return Checksum::Good;
    }
    let Some(&[high, low]) = covered.get(checksum_at..checksum_at + 2) else { return Checksum::Bad };
    let field = u16::from_ne_bytes([high, low]);
    if field == fold(pseudo) || field == fold(without_length) { Checksum::Offloaded } else { Checksum::Bad }
}

/// UDP-Lite: the coverage field is the number of bytes covered, 0 meaning all (RFC 3828, 3.1).
fn udp_lite(frame: &[u8], decoded: &Decoded, rest: &[u8], segment_bytes: u32) -> Checksum {
    let Some(&[high, low]) = rest.get(UDP_LITE_COVERAGE..UDP_LITE_COVERAGE + 2) else { return Checksum::Unverifiable };
    let covered_bytes = match u32::from(u16::from_be_bytes([high, low])) {
        0 => segment_bytes,
        coverage => coverage,
    };
    match rest.get(..covered_bytes as usize) {
        Some(covered) => with_pseudo_header(frame, decoded, covered, segment_bytes, UDP),
        None => Checksum::Unverifiable,
    }
}

/// SCTP: CRC-32C over the packet with a zero in the checksum's place (RFC 9260, 6.8).
fn sctp(packet: &[u8]) -> Checksum {
    let (Some((before, _)), Some((stated, after))) =
        (packet.split_at_checked(SCTP), packet.get(SCTP..).and_then(<[u8]>::split_first_chunk::<4>))
    else {
        return Checksum::Unverifiable;
    };
    if stated == &[0; 4] {
        return Checksum::Offloaded;
    }
    if crc32c(&[before, &[0; 4], after]) == u32::from_le_bytes(*stated) { Checksum::Good } else { Checksum::Bad }
}

#[cfg(test)]
mod tests;
