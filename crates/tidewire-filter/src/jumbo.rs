//! Packets of more than 64 KiB (BIG TCP): a hop-by-hop header with their length stands between IPv6 and TCP (RFC 2675), behind which
//! libpcap's `tcp port` does not look.

use tidewire_wire::LinkType;

/// Offsets in IPv6's header: its length field and its next header; its length.
const LENGTH_AT: usize = 4;
const NEXT_HEADER_AT: usize = 6;
const HEADER_BYTES: usize = 40;
/// A hop-by-hop header that holds nothing but the length: next header, 0, option 0xc2 of 4 bytes.
const JUMBO_BYTES: usize = 8;
const JUMBO_OPTION: [u8; 3] = [0, 0xc2, 4];
/// Fields that an expression may look at behind the headers.
const KEPT_BYTES: usize = 512;
/// Ethernet's types of tags, and of IPv6.
const TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// The beginning of the same packet without that header; `None`: it has none.
pub fn without(link: LinkType, bytes: &[u8]) -> Option<Vec<u8>> {
    let at = ip_at(link, bytes)?;
    let ip = bytes.get(at..)?;
    let is_jumbo = ip.first()? >> 4 == 6 && ip.get(LENGTH_AT..=NEXT_HEADER_AT)? == [0; 3];
    let header = ip.get(HEADER_BYTES..)?.first_chunk::<JUMBO_BYTES>()?;
    if !is_jumbo || header[1..4] != JUMBO_OPTION {
        return None;
    }
    let end = bytes.len().min(at + HEADER_BYTES + JUMBO_BYTES + KEPT_BYTES);
    let mut plain = bytes.get(..end)?.to_vec();
    *plain.get_mut(at + NEXT_HEADER_AT)? = header[0];
    plain.drain(at + HEADER_BYTES..at + HEADER_BYTES + JUMBO_BYTES);
    Some(plain)
}

/// Where the IP header of a frame is, of the link types that such packets are captured with.
fn ip_at(link: LinkType, bytes: &[u8]) -> Option<usize> {
    match link {
        LinkType::ETHERNET => {
            let mut at = 12;
            while TAGS.iter().any(|tag| bytes.get(at..at + 2) == Some(tag)) && at < 20 {
                at += 4;
            }
            (bytes.get(at..at + 2)? == IPV6).then_some(at + 2)
        }
        LinkType::RAW | LinkType(229) => Some(0),
        LinkType(113) => Some(16),
        LinkType(276) => Some(20),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    /// IPv6 with a jumbo payload of TCP to port 80, behind these bytes.
    fn packet(before: &[u8], option: [u8; 2]) -> Vec<u8> {
        let mut bytes = before.to_vec();
        bytes.extend([0x60, 0, 0, 0, 0, 0, 0, 64]);
        bytes.extend([[0x20, 1].as_slice(), &[0; 13], &[1], &[0x20, 1], &[0; 13], &[2]].concat());
        bytes.extend([6, 0, option[0], option[1], 0, 1, 0x86, 0xa0]);
        bytes.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        bytes.extend([b'x'; 1000]);
        bytes
    }

    #[test]
    fn an_expression_sees_behind_the_length_of_big_packets() {
        let tcp = || Filter::new("ip6 and tcp dst port 80").unwrap();
        let ethernet = [&[0; 12][..], &IPV6].concat();
        for (link, before) in [(LinkType::ETHERNET, &ethernet[..]), (LinkType::RAW, &[])] {
            let big = packet(before, [0xc2, 4]);
            assert!(tcp().matches(link, &big, 100_048).unwrap(), "{link:?}");
            assert!(!Filter::new("tcp port 81").unwrap().matches(link, &big, 100_048).unwrap());
            let other = packet(before, [0x05, 2]);
            assert!(!tcp().matches(link, &other, 100_048).unwrap(), "another option");
            for end in 0..big.len() {
                let _ = tcp().matches(link, &big[..end], 100_048);
            }
        }
        let tagged = [&[0; 12][..], &[0x81, 0, 0, 7], &IPV6].concat();
        let mut behind = Filter::new("vlan and tcp port 80").unwrap();
        assert!(behind.matches(LinkType::ETHERNET, &packet(&tagged, [0xc2, 4]), 100_048).unwrap());
    }
}
