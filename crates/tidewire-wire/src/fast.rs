//! The straight line that nearly every frame takes: Ethernet, IPv4 without options or IPv6 without extension headers,
//! TCP or UDP, nothing contradictory. Everything else is left to the general walk, which gives the same answer here.

use crate::decoded::{Decoded, Kind};
use crate::walk::{FRAME_BYTES_MAX, be16};
use crate::{Settings, ethernet, transport};

/// Ethernet, IPv4 and TCP without options, in bytes: less than this goes the general way.
const IPV4_TCP_BYTES: usize = 54;
/// Ethernet, IPv6 and TCP without options, in bytes.
const IPV6_TCP_BYTES: usize = 74;

/// Writes the result where the frame is of the common kind; elsewhere `None`, and `out` is unspecified.
#[inline(always)]
pub(crate) fn ethernet(frame: &[u8], wire_bytes: u32, settings: &Settings, out: &mut Decoded) -> Option<()> {
    let header: &[u8; IPV4_TCP_BYTES] = frame.first_chunk()?;
    if frame.len() > FRAME_BYTES_MAX || wire_bytes as usize > FRAME_BYTES_MAX {
        return None;
    }
    let end = wire_bytes.max(frame.len() as u32);
    let ether_type = be16(header, 12);
    if ether_type == ethernet::IPV4 {
        let ip_bytes = u32::from(be16(header, 16));
        if header[14] != 0x45 || be16(header, 20) & 0x3fff != 0 || 14 + ip_bytes > end {
            return None;
        }
        let transport: &[u8; 20] = header.last_chunk()?;
        upper(
            frame,
            transport,
            Ip { version: 4, proto: header[23], ttl: header[22], bytes: ip_bytes, header_bytes: 20 },
            settings,
            out,
        )
    } else if ether_type == ethernet::IPV6 {
        let header: &[u8; IPV6_TCP_BYTES] = frame.first_chunk()?;
        let payload_bytes = u32::from(be16(header, 18));
        if header[14] >> 4 != 6 || 54 + payload_bytes > end {
            return None;
        }
        let transport: &[u8; 20] = header.last_chunk()?;
        upper(
            frame,
            transport,
            Ip { version: 6, proto: header[20], ttl: header[21], bytes: 40 + payload_bytes, header_bytes: 40 },
            settings,
            out,
        )
    } else {
        None
    }
}

/// What the two IP headers have in common.
struct Ip {
    version: u8,
    proto: u8,
    ttl: u8,
    /// The packet's length as sent, header included.
    bytes: u32,
    header_bytes: u32,
}

#[inline(always)]
fn upper(frame: &[u8], transport: &[u8; 20], ip: Ip, settings: &Settings, out: &mut Decoded) -> Option<()> {
    let (kind, header_bytes, segment_bytes) = match ip.proto {
        transport::TCP => (Kind::Tcp, u32::from(transport[12] >> 4) * 4, ip.bytes.wrapping_sub(ip.header_bytes)),
        transport::UDP if !settings.udp_tunnel(be16(transport, 0), be16(transport, 2)) => {
            let bytes = u32::from(be16(transport, 4));
            if ip.header_bytes + bytes > ip.bytes || bytes < 8 {
                return None;
            }
            (Kind::Udp, 8, bytes)
        }
        _ => return None,
    };
    if ip.bytes < ip.header_bytes + header_bytes || (kind == Kind::Tcp && header_bytes < 20) {
        return None;
    }
    let transport_at = 14 + ip.header_bytes;
    let payload_at = transport_at + header_bytes;
    let payload_bytes = segment_bytes - header_bytes;
    let captured = (frame.len() as u32).saturating_sub(payload_at);
    // Field by field, so that what stays as it is in most frames (the fragment) is not written again and again.
    out.kind = kind;
    out.ip_version = ip.version;
    out.proto = ip.proto;
    out.ttl = ip.ttl;
    out.ip_at = 14;
    out.ip_bytes = ip.bytes;
    out.transport_at = transport_at;
    out.payload_at = payload_at;
    out.payload_bytes = payload_bytes;
    out.payload_captured_bytes = captured.min(payload_bytes);
    out.vlan = Decoded::EMPTY.vlan;
    out.tunnel = Decoded::EMPTY.tunnel;
    out.outer_ip_at = 14;
    out.malformed = None;
    Some(())
}
