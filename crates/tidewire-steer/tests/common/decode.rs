//! The walk against the decoder, which was written apart from it.

use tidewire_steer::{Compiled, Found, Packet, Program, Settings};
use tidewire_wire::{Decoded, Kind, LinkType, TunnelKind, decode, ports};

/// A program whose walk is whole.
pub fn whole_walk(settings: &Settings) -> Compiled {
    Compiled::new(&Program::parse("steer_flow").unwrap(), settings).unwrap()
}

/// Whether walk and decoder should agree: not where the decoder judges lengths and options (it calls that malformed), nor
/// where one of them goes further by design.
fn comparable(link: LinkType, frame: &[u8], settings: &Settings, decoded: &Decoded) -> bool {
    let judged = |decoded: &Decoded| matches!(decoded.kind, Kind::Malformed | Kind::Ah | Kind::HeaderCut);
    // Where the inside of a tunnel is malformed, the decoder goes back to the outside, at whatever depth that shows.
    let all_depths_sound = (0..=9).all(|depth| {
        let at = settings.wire.clone().with_tunnel_depth(depth);
        !judged(&decode(link, frame, frame.len() as u32, &at))
    });
    let few_tags = frame.windows(2).filter(|pair| TAGS.contains(&[pair[0], pair[1]])).count() <= 2;
    let no_tags_beyond = !frame.windows(2).any(|pair| TAGS_BEYOND.contains(&[pair[0], pair[1]]));
    let knows_tunnels = knows_tunnels(link, frame, settings, decoded);
    all_depths_sound && few_tags && no_tags_beyond && knows_tunnels && decoded.transport_at < 1900
}

/// Types of VLAN tags.
const TAGS: [[u8; 2]; 5] = [[0x81, 0], [0x88, 0xa8], [0x91, 0], [0x92, 0], [0x93, 0]];

/// Types that only the decoder looks behind: Cisco metadata, NSH, MACsec, redundancy and switch tags.
const TAGS_BEYOND: [[u8; 2]; 6] = [[0x89, 0x09], [0x89, 0x4f], [0x88, 0xe5], [0x89, 0x2f], [0xf1, 0xc1], [0x88, 0x74]];

/// Whether every tunnel that the frame was found in is one that the walk knows, too: with the others' ports unset the
/// decoder finds the same.
fn knows_tunnels(link: LinkType, frame: &[u8], settings: &Settings, decoded: &Decoded) -> bool {
    let tidewire_wire::Settings { tunnel_depth, vxlan_ports, geneve_port, gtpu_port, .. } = settings.wire;
    let mut known = settings.wire.clone().without_udp_tunnels();
    (known.vxlan_ports, known.geneve_port, known.gtpu_port) = (vxlan_ports, geneve_port, gtpu_port);
    let beyond_in_ip = (0..tunnel_depth).any(|depth| {
        let at = settings.wire.clone().with_tunnel_depth(depth);
        let outer = decode(link, frame, frame.len() as u32, &at);
        outer.transport_at < decoded.transport_at && matches!(outer.proto, 97 | 108 | 115 | 137)
    });
    decode(link, frame, frame.len() as u32, &known) == *decoded && !beyond_in_ip
}

/// IPv6 extension headers: the walk stopped at its bound.
const EXTENSIONS: [u8; 8] = [0, 43, 44, 51, 60, 135, 139, 140];

/// The difference between the two about a frame, if they should agree and do not. `Ok(false)`: they need not agree.
pub fn difference(link: LinkType, frame: &[u8], settings: &Settings, compiled: &Compiled) -> Result<bool, String> {
    let decoded = decode(link, frame, frame.len() as u32, &settings.wire);
    if !comparable(link, frame, settings, &decoded) {
        return Ok(false);
    }
    let found = compiled.found(&Packet::new(link, frame));
    if found.ip_version == 6 && EXTENSIONS.contains(&found.proto) {
        return Ok(false);
    }
    // The decoder does not enter a tunnel whose inside does not hold together.
    let inside = frame.get(found.ip_at as usize..).unwrap_or(&[]);
    let alone = settings.wire.clone().with_tunnel_depth(0);
    let innermost = decode(LinkType::RAW, inside, inside.len() as u32, &alone);
    // Nor one in UDP whose inside leaves bytes behind it.
    let end = (innermost.payload_at + innermost.payload_bytes).min(innermost.ip_bytes) as usize;
    if found.ip_at > decoded.ip_at && (innermost.kind == Kind::Malformed || end < inside.len()) {
        return Ok(false);
    }
    let is_ip = decoded.ip_version != 0 && !matches!(decoded.kind, Kind::Arp | Kind::OtherLink | Kind::UnsupportedLink);
    let is_tag = |at: &usize| {
        let named = frame.get(*at..*at + 2).and_then(|pair| pair.first_chunk::<2>());
        named.is_some_and(|pair| TAGS.contains(pair))
    };
    let tags = (12..).step_by(4).take_while(is_tag).count() as u32;
    let is_plain = decoded.tunnel.kind == TunnelKind::None && (!is_ip || decoded.ip_at == 14 + 4 * tags);
    let has_ports = matches!(decoded.kind, Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp);
    let expected = Found {
        ip_version: if is_ip { decoded.ip_version } else { 0 },
        ip_at: if is_ip { decoded.ip_at } else { found.ip_at },
        proto: if is_ip { decoded.proto } else { found.proto },
        transport_at: if is_ip { decoded.transport_at } else { found.transport_at },
        is_fragment: decoded.kind == Kind::Fragment,
        // The decoder notes tags inside of what carries Ethernet, too.
        vlan: if is_plain { [decoded.vlans.outer(), decoded.vlans.inner()] } else { found.vlan },
        // A first fragment has ports; the decoder leaves them to the datagram.
        ports: if decoded.kind == Kind::Fragment { found.ports } else { has_ports.then(|| ports(frame, &decoded)) },
    };
    if found == expected { Ok(true) } else { Err(format!("{found:?}, and the decoder {decoded:?}: {frame:x?}")) }
}
