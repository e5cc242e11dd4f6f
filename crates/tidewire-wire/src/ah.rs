//! Authentication header (RFC 4302): skipped, because what it protects is not encrypted.

use crate::Doubts;
use crate::ip_protocol::AH;
use crate::malformation::Malformation::{self, AhCut, AhLength, AhShort};
use crate::walk::Walk;

/// Next header, length, reserved, SPI and sequence number, in bytes; the integrity check value follows.
const FIXED_BYTES: usize = 12;

/// Offset of the protected header. `None`: the integrity check value is truncated, and the flow is the AH's.
///
/// The header's first byte names the next one.
pub(crate) fn after(walk: &mut Walk<'_>, at: usize) -> Result<Option<usize>, Malformation> {
    let header = walk.header::<FIXED_BYTES>(at, AhShort, AhCut)?;
    // A host without a key in common with the sender drops it (RFC 4301, 5.2).
    walk.out.doubts |= Doubts::UNCONFIGURED;
    // RFC 4302, 2.2: "the length of this Authentication Header in 4-octet units, minus 2".
    let bytes = (usize::from(header[1]) + 2) * 4;
    if bytes < FIXED_BYTES || at + bytes > walk.end {
        return Err(AhLength);
    }
    if at + bytes > walk.frame.len() {
        walk.transport(AH, at, at + bytes);
        return Ok(None);
    }
    Ok(Some(at + bytes))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, snapped, tcp};
    use crate::{Kind, LinkType, Malformation};

    fn header(length: u8) -> [u8; 12] {
        [6, length, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    }

    #[test]
    fn what_it_protects_is_the_flow() {
        for packet in [ipv4(51, &join(&[&header(1), &tcp(b"x")])), ipv6(51, &join(&[&header(1), &tcp(b"x")]))] {
            let found = decoded(LinkType::RAW, &packet);
            assert_eq!((found.kind, found.proto, found.payload_bytes), (Kind::Tcp, 6, 1));
        }
    }

    #[test]
    fn without_its_check_value_it_is_a_flow_of_its_own() {
        let packet = ipv4(51, &join(&[&header(4), &[9; 12], &tcp(b"x")]));
        let found = snapped(LinkType::RAW, &packet, 40);
        assert_eq!((found.kind, found.proto, found.transport_at), (Kind::Ah, 51, 20));
        assert_eq!(snapped(LinkType::RAW, &packet, 30).malformed, Some(Malformation::AhCut));
    }

    #[test]
    fn lengths_that_contradict() {
        assert_eq!(decoded(LinkType::RAW, &ipv4(51, &header(0))).malformed, Some(Malformation::AhLength));
        assert_eq!(decoded(LinkType::RAW, &ipv4(51, &header(2))).malformed, Some(Malformation::AhLength));
        assert_eq!(decoded(LinkType::RAW, &ipv4(51, &[6, 1])).malformed, Some(Malformation::AhShort));
    }
}
