//! The fast path for nearly every frame: Ethernet with up to two VLAN tags, IPv4 without options or IPv6 without
//! extension headers, TCP or UDP, nothing contradictory. Other frames take the general walk, which has the same result
//! here.

use tidewire_types::Vlans;

use crate::decoded::{Brief, Decoded, Kind};
use crate::walk::{FRAME_BYTES_MAX, be16};
use crate::{Doubts, Settings, ethernet, ip_protocol};

/// Ethernet, IPv4 and TCP without options, in bytes: shorter frames take the general walk.
const IPV4_TCP_BYTES: usize = 54;

/// The differences between common frames; kept in registers until the result is written once, in place.
pub(crate) struct Common {
    ip_version: u8,
    proto: u8,
    ttl: u8,
    ip_at: u32,
    ip_header_bytes: u32,
    ip_bytes: u32,
    transport_header_bytes: u32,
    payload_bytes: u32,
    frame_bytes: u32,
    vlans: Vlans,
}

/// Decodes a common frame; `None`: it takes the general walk.
#[inline(always)]
pub(crate) fn ethernet(frame: &[u8], wire_bytes: u32, settings: &Settings) -> Option<Common> {
    let header: &[u8; IPV4_TCP_BYTES] = frame.first_chunk()?;
    if frame.len() > FRAME_BYTES_MAX || wire_bytes as usize > FRAME_BYTES_MAX {
        return None;
    }
    network(frame, wire_bytes, settings, be16(header, 12), 14, Vlans::NONE)
}

/// The same behind one VLAN tag or two. Separate, so that offset and tags are constants for untagged frames.
#[inline(always)]
pub(crate) fn tagged(frame: &[u8], wire_bytes: u32, settings: &Settings) -> Option<Common> {
    let header: &[u8; IPV4_TCP_BYTES] = frame.first_chunk()?;
    if frame.len() > FRAME_BYTES_MAX || wire_bytes as usize > FRAME_BYTES_MAX {
        return None;
    }
    let mut ether_type = be16(header, 12);
    let mut ids = Vlans::NONE.raw();
    let mut at = 14;
    for id in &mut ids {
        if ether_type != ethernet::VLAN && ether_type != ethernet::SERVICE_VLAN {
            break;
        }
        let tag: &[u8; 4] = frame.get(at..)?.first_chunk()?;
        *id = be16(tag, 0) & 0x0fff;
        if *id == 0 {
            // A priority tag, which names no VLAN: rare.
            return None;
        }
        ether_type = be16(tag, 2);
        at += 4;
    }
    network(frame, wire_bytes, settings, ether_type, at, Vlans::from_raw(ids))
}

/// The IP packet at `at`.
#[inline(always)]
fn network(
    frame: &[u8],
    wire_bytes: u32,
    settings: &Settings,
    ether_type: u16,
    at: usize,
    vlans: Vlans,
) -> Option<Common> {
    let frame_bytes = frame.len() as u32;
    if ethernet::is_to_group(frame) && !is_group_datagram(frame, ether_type, at) {
        return None;
    }
    let ip_room = wire_bytes.max(frame_bytes) - at as u32;
    let header: &[u8; 40] = frame.get(at..)?.first_chunk()?;
    let (ip, transport): (Ip, &[u8; 20]) = if ether_type == ethernet::IPV4 {
        if header[0] != 0x45 || be16(header, 6) & 0x3fff != 0 {
            return None;
        }
        let bytes = u32::from(be16(header, 2));
        (Ip { version: 4, proto: header[9], ttl: header[8], bytes, header_bytes: 20 }, header.last_chunk()?)
    } else if ether_type == ethernet::IPV6 {
        if header[0] >> 4 != 6 {
            return None;
        }
        let bytes = 40 + u32::from(be16(header, 4));
        let transport = frame.get(at + 40..)?.first_chunk()?;
        (Ip { version: 6, proto: header[6], ttl: header[7], bytes, header_bytes: 40 }, transport)
    } else {
        return None;
    };
    if ip.bytes > ip_room {
        return None;
    }
    upper(frame_bytes, transport, ip, settings).map(|common| Common { ip_at: at as u32, vlans, ..common })
}

/// Whether a frame to a group address carries a datagram for a group: others are doubtful.
#[inline(never)]
fn is_group_datagram(frame: &[u8], ether_type: u16, at: usize) -> bool {
    let [protocol, destination] = if ether_type == ethernet::IPV4 { [9, 16] } else { [6, 24] };
    let byte = |index: usize| frame.get(at + index).copied().unwrap_or(0);
    let least = if ether_type == ethernet::IPV4 { 224 } else { 0xff };
    byte(protocol) == ip_protocol::UDP && byte(destination) >= least
}

/// Fields that both IP headers have.
struct Ip {
    version: u8,
    proto: u8,
    ttl: u8,
    /// The packet's length as sent, header included.
    bytes: u32,
    header_bytes: u32,
}

#[inline(always)]
fn upper(frame_bytes: u32, transport: &[u8; 20], ip: Ip, settings: &Settings) -> Option<Common> {
    let room = ip.bytes.wrapping_sub(ip.header_bytes);
    let (header_bytes, segment_bytes) = if ip.proto == ip_protocol::TCP {
        (u32::from(transport[12] >> 4) * 4, room)
    } else if ip.proto == ip_protocol::UDP && !settings.udp_tunnel(be16(transport, 0), be16(transport, 2)) {
        (8, u32::from(be16(transport, 4)))
    } else {
        return None;
    };
    let least = if ip.proto == ip_protocol::TCP { 20 } else { 8 };
    if ip.bytes < ip.header_bytes || segment_bytes > room || header_bytes < least || header_bytes > segment_bytes {
        return None;
    }
    Some(Common {
        ip_version: ip.version,
        proto: ip.proto,
        ttl: ip.ttl,
        ip_at: 0,
        ip_header_bytes: ip.header_bytes,
        ip_bytes: ip.bytes,
        transport_header_bytes: header_bytes,
        payload_bytes: segment_bytes - header_bytes,
        frame_bytes,
        vlans: Vlans::NONE,
    })
}

impl Common {
    /// Writes the result field by field: what is the same for most frames (the fragment) is not rewritten, and nothing
    /// is built elsewhere by narrow stores and copied by wide loads.
    #[inline(always)]
    pub(crate) fn write(self, out: &mut Decoded) -> Brief {
        let transport_at = self.ip_at + self.ip_header_bytes;
        let payload_at = transport_at + self.transport_header_bytes;
        let kind = if self.proto == ip_protocol::TCP { Kind::Tcp } else { Kind::Udp };
        out.kind = kind;
        out.ip_version = self.ip_version;
        out.proto = self.proto;
        out.ttl = self.ttl;
        out.ip_at = self.ip_at;
        out.ip_bytes = self.ip_bytes;
        out.transport_at = transport_at;
        out.payload_at = payload_at;
        out.payload_bytes = self.payload_bytes;
        out.payload_captured_bytes = self.frame_bytes.saturating_sub(payload_at).min(self.payload_bytes);
        out.vlans = self.vlans;
        out.tunnel = Decoded::EMPTY.tunnel;
        out.outer_ip_at = self.ip_at;
        out.malformed = None;
        out.doubts = Doubts::NONE;
        out.is_routed = false;
        let Self { ip_version, proto, ip_at, .. } = self;
        Brief { kind, ip_version, proto, ip_at, transport_at, is_routed: false }
    }
}
