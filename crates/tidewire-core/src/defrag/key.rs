use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{path::Path, wire::Decoded};

/// The fields that all fragments of a datagram share: addresses, identification, protocol (IPv4), VLAN and tunnel. VLAN and tunnel
/// separate networks with equal addresses, whatever the keys of flows consist of: fragments of a datagram travel in one
/// direction, so ids that differ by direction do not separate them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(pub(super) [u64; 7]);

impl Key {
    /// `path`: fragments of a datagram travel one path, and a host that drops one of them drops those like it.
    pub(super) fn of(bytes: &[u8], decoded: &Decoded, path: Path) -> Option<Self> {
        let header = bytes.get(decoded.ip_at as usize..)?;
        let word = |at: usize| Some(u64::from_be_bytes(*header.get(at..at + 8)?.first_chunk()?));
        let mut words = [0; 7];
        let mut kind = u64::from(decoded.ip_version) << 40;
        if decoded.ip_version == 6 {
            words[..4].copy_from_slice(&[word(8)?, word(16)?, word(24)?, word(32)?]);
        } else {
            let addresses = word(12)?;
            (words[0], words[2]) = (addresses >> 32, addresses & 0xffff_ffff);
            // IPv6 does not distinguish datagrams by protocol (RFC 8200 section 4.5).
            kind |= u64::from(decoded.fragment.proto) << 32;
        }
        words[4] = kind | u64::from(decoded.fragment.id);
        let [outer, inner] = decoded.vlans.raw();
        words[5] = u64::from(path.0) << 32 | u64::from(outer) << 16 | u64::from(inner);
        words[6] = (decoded.tunnel.kind as u64) << 32 | u64::from(decoded.tunnel.id);
        Some(Self(words))
    }

    pub(super) fn is_ipv6(&self) -> bool {
        self.0[4] >> 40 == 6
    }

    pub(super) fn address(&self, at: usize) -> IpAddr {
        let (high, low) = (self.0[at], self.0[at + 1]);
        if self.is_ipv6() {
            Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).into()
        } else {
            Ipv4Addr::from_bits(high as u32).into()
        }
    }
}
