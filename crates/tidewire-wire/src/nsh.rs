//! Network service header (RFC 8300): a service chain's path before a packet or frame.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk};

/// Base and service path header, in bytes.
const HEADER_BYTES: usize = 8;
/// Base header: version, in the upper two bits; the only one is 0.
const VERSION_SHIFT: u8 = 6;
/// Base header: the packet is for operation and maintenance, not for a host (2.2).
const OAM: u8 = 0x20;
/// Length in units of 4 bytes, base header included.
const LENGTH_MASK: u8 = 0x3f;

/// Next protocols (2.2).
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const ETHERNET: u8 = 3;
const NSH: u8 = 4;
const MPLS: u8 = 5;

/// A header, and what its next protocol names.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    let bytes = usize::from(header[1] & LENGTH_MASK) * 4;
    if header[0] >> VERSION_SHIFT != 0 || header[0] & OAM != 0 || bytes < HEADER_BYTES {
        return Ok(Next::Done(Kind::OtherLink));
    }
    let at = at + bytes;
    Ok(match header[3] {
        IPV4 => Next::Ipv4 { at },
        IPV6 => Next::Ipv6 { at },
        ETHERNET => Next::Ethernet { at },
        NSH => Next::Nsh { at },
        MPLS => Next::Mpls { at },
        _ => Next::Done(Kind::OtherLink),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp};
    use crate::{Kind, LinkType};

    /// A frame with a header of `words` words and this next protocol.
    fn kind(first: u8, words: u8, next: u8, payload: &[u8]) -> Kind {
        let context = vec![9; usize::from(words.saturating_sub(2)) * 4];
        let header = join(&[&[first, 0x40 | words, 2, next, 0, 0, 7, 255], &context]);
        decoded(LinkType::ETHERNET, &ethernet(0x894f, &join(&[&header, payload]))).kind
    }

    #[test]
    fn the_next_protocol_is_walked() {
        let segment = ipv4(6, &tcp(b"x"));
        assert_eq!(kind(0x0f, 6, 1, &segment), Kind::Tcp);
        assert_eq!(kind(0x0f, 2, 2, &ipv6(6, &tcp(b"x"))), Kind::Tcp);
        assert_eq!(kind(0x0f, 2, 3, &ethernet(0x0800, &segment)), Kind::Tcp);
        assert_eq!(
            kind(0x0f, 2, 4, &join(&[&[0x0f, 2, 2, 1, 0, 0, 7, 254], &segment])),
            Kind::Tcp,
            "a chain in a chain"
        );
        assert_eq!(kind(0x0f, 2, 5, &join(&[&[0, 1, 1, 64], &segment])), Kind::Tcp);
    }

    #[test]
    fn what_is_no_packet_is_counted() {
        let segment = ipv4(6, &tcp(b"x"));
        assert_eq!(kind(0x4f, 2, 1, &segment), Kind::OtherLink, "version 1");
        assert_eq!(kind(0x2f, 2, 1, &segment), Kind::OtherLink, "maintenance");
        assert_eq!(kind(0x0f, 1, 1, &segment), Kind::OtherLink, "shorter than its fixed part");
        assert_eq!(kind(0x0f, 2, 0, &segment), Kind::OtherLink);
    }
}
