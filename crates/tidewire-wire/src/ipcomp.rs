//! IP payload compression (RFC 3173) of payloads that are not really compressed. Compressed ones stay a flow of IPComp
//! packets: nothing is decompressed.

use crate::decoded::Decoded;
use crate::fits::{self, Length};
use crate::ip_protocol::{ICMP, ICMP6, IN_IPV4, IN_IPV6, TCP, UDP};
use crate::walk::{Carried, Next, Walk};
use crate::{Checksum, transport_checksum};

/// Next header, flags, compression parameter index; in bytes (section 3.3).
const HEADER_BYTES: usize = 4;
/// DEFLATE: the last block, stored; its length and the inverted length follow (RFC 1951, 3.2.4).
const STORED_LAST: u8 = 0x01;
const STORED_MASK: u8 = 0x07;
/// A stored block's header, in bytes.
const STORED_BYTES: usize = 5;

/// The payload, if it is one stored block of DEFLATE (RFC 2394), or a packet that its checksum proves to be
/// uncompressed.
///
/// `upper`: decodes bytes as a transport of the current IP packet, if they are valid.
pub(crate) fn carried(
    walk: &Walk<'_>,
    at: usize,
    upper: fn(&Walk<'_>, u8, usize) -> Option<Decoded>,
) -> Option<Carried> {
    let &[proto, flags, ..] = walk.bytes::<HEADER_BYTES>(at)?;
    if flags != 0 {
        return None;
    }
    let at = at + HEADER_BYTES;
    let at = match stored(walk, at) {
        Some(at) => at,
        None if is_plain(walk, proto, at, upper) => at,
        None => return None,
    };
    // Not a tunnel: the flow is that of the packet inside.
    let tunnel = walk.out.tunnel;
    Some(Carried::new(tunnel.kind, tunnel.id, Next::Upper { proto, at }, walk.end))
}

/// Where the bytes of a stored block begin, if the block takes the whole rest.
fn stored(walk: &Walk<'_>, at: usize) -> Option<usize> {
    let &[kind, l0, l1, n0, n1] = walk.bytes::<STORED_BYTES>(at)?;
    let bytes = u16::from_le_bytes([l0, l1]);
    let is_whole = at + STORED_BYTES + usize::from(bytes) == walk.end;
    (kind & STORED_MASK == STORED_LAST && bytes == !u16::from_le_bytes([n0, n1]) && is_whole)
        .then_some(at + STORED_BYTES)
}

/// Whether the payload is uncompressed, by its lengths and checksum: what the next header names.
fn is_plain(walk: &Walk<'_>, proto: u8, at: usize, upper: fn(&Walk<'_>, u8, usize) -> Option<Decoded>) -> bool {
    match proto {
        IN_IPV4 | IN_IPV6 => fits::ip(walk, at, Length::Exact),
        TCP | UDP | ICMP | ICMP6 => {
            let sum = |decoded: Decoded| transport_checksum(walk.frame, &decoded);
            upper(walk, proto, at).map(sum) == Some(Checksum::Good)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, tcp};
    use crate::{Decoded, Kind, LinkType, TunnelKind};

    fn found(next: u8, payload: &[u8]) -> Decoded {
        decoded(LinkType::RAW, &ipv4(108, &join(&[&[next, 0, 0, 2], payload])))
    }

    /// The segment with a correct checksum, between the addresses of `testing::ipv4`.
    fn summed(payload: &[u8]) -> Vec<u8> {
        let mut segment = tcp(payload);
        let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 0, segment.len() as u8];
        let all = join(&[&pseudo, &segment, &[0][..segment.len() % 2]]);
        let sum: u32 = all.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
        [segment[16], segment[17]] = checksum.to_be_bytes();
        segment
    }

    #[test]
    fn a_stored_block_is_in_clear() {
        let segment = tcp(b"hello");
        let block = |kind: u8, bytes: u8| join(&[&[kind, bytes, 0, !bytes, 0xff], &segment]);
        let whole = found(6, &block(1, 25));
        assert_eq!((whole.kind, whole.proto, whole.payload_bytes), (Kind::Tcp, 6, 5));
        assert_eq!((whole.tunnel.kind, whole.transport_at), (TunnelKind::None, 29));
        assert_eq!(found(6, &block(0, 25)).kind, Kind::OtherIp, "more blocks follow");
        assert_eq!(found(6, &block(3, 25)).kind, Kind::OtherIp, "compressed");
        assert_eq!(found(6, &block(1, 24)).kind, Kind::OtherIp, "another length");
    }

    #[test]
    fn a_plain_payload_needs_its_checksum() {
        let good = summed(b"hello!");
        assert_eq!(found(6, &good).kind, Kind::Tcp);
        let mut bad = good.clone();
        bad[21] ^= 1;
        let bad = found(6, &bad);
        assert_eq!((bad.kind, bad.proto, bad.payload_bytes), (Kind::OtherIp, 108, 30));
        let inner = found(41, &ipv6(6, &tcp(b"x")));
        assert_eq!((inner.kind, inner.tunnel.kind), (Kind::Tcp, TunnelKind::IpInIp));
        assert_eq!(found(41, &join(&[&ipv6(6, &tcp(b"x")), &[0]])).kind, Kind::OtherIp);
        assert_eq!(found(50, &[9; 40]).kind, Kind::OtherIp);
    }
}
