//! Linux netfilter log messages (LINKTYPE_NFLOG): attributes, one of which is a packet.

use crate::decoded::Kind;
use crate::ethernet::ETHER_TYPE_MIN;
use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::walk::{Next, Walk, be16};

/// Address family, version and resource id, in bytes.
const HEADER_BYTES: usize = 4;
/// `NFULA_PACKET_HDR`: the EtherType of the packet (big-endian), the hook, a byte of padding.
const PACKET_HEADER: u16 = 1;
/// `NFULA_PAYLOAD`: the packet from its network header on. The kernel writes it last (`__build_packet_message`).
const PAYLOAD: u16 = 9;
/// The two upper bits of a type are flags (`NLA_TYPE_MASK`).
const TYPE_MASK: u16 = 0x3fff;
/// Attributes walked in one message; the kernel knows fewer than 32.
const ATTRIBUTES_MAX: usize = 64;

/// A message: attributes of length and type (host byte order; files hold what little-endian hosts wrote) and padding to 4.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    let mut at = at + HEADER_BYTES;
    let mut ether_type = None;
    for _ in 0..ATTRIBUTES_MAX {
        if at + 4 > walk.end {
            break;
        }
        let [l0, l1, t0, t1] = *walk.header::<4>(at, LinkShort, LinkCut)?;
        let bytes = usize::from(u16::from_le_bytes([l0, l1]));
        if bytes < 4 || at + bytes > walk.end {
            return Err(LinkHeaderLength);
        }
        match u16::from_le_bytes([t0, t1]) & TYPE_MASK {
            PACKET_HEADER if bytes >= 6 => {
                let attribute = walk.header::<6>(at, LinkShort, LinkCut)?;
                // 0: the message states no EtherType.
                ether_type = Some(be16(attribute, 4)).filter(|ether_type| *ether_type >= ETHER_TYPE_MIN);
            }
            PAYLOAD => {
                walk.end = at + bytes;
                let at = at + 4;
                return Ok(ether_type.map_or(Next::Ip { at }, |ether_type| Next::EtherType { ether_type, at }));
            }
            _ => {}
        }
        at += bytes.next_multiple_of(4);
    }
    Ok(Next::Done(Kind::OtherLink))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, tcp};
    use crate::{Kind, LinkType, Malformation};

    /// A message with this protocol (0: without it) and packet.
    fn message(family: u8, protocol: u16, packet: &[u8]) -> Vec<u8> {
        let [high, low] = protocol.to_be_bytes();
        let header = [8, 0, 1, 0, high, low, 1, 0];
        let length = (packet.len() as u16 + 4).to_le_bytes();
        let header: &[u8] = if protocol == 0 { &[] } else { &header };
        join(&[&[family, 0, 0, 1], header, &[6, 0, 10, 0, b'x', 0, 0, 0], &length, &[9, 0], packet])
    }

    #[test]
    fn the_message_names_its_protocol() {
        let segment = ipv4(6, &tcp(b"x"));
        let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
        let found = |protocol, packet: &[u8]| decoded(LinkType::NFLOG, &message(7, protocol, packet));
        assert_eq!(found(0x0806, &arp).kind, Kind::Arp);
        assert_eq!(found(0x0800, &segment).kind, Kind::Tcp);
        assert_eq!(found(0x86dd, &ipv6(6, &tcp(b"x"))).kind, Kind::Tcp);
        assert_eq!(found(0x88cc, &[0; 20]).kind, Kind::OtherLink, "LLDP");
        assert_eq!(found(0x86dd, &segment).malformed, Some(Malformation::Ipv6Version));
        assert_eq!(found(0, &segment).kind, Kind::Tcp, "by its first nibble");
    }
}
