//! GENEVE (RFC 8926, 3.4).

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be16, be32};

/// The header without options, in bytes.
const HEADER_BYTES: usize = 8;

/// The content of a GENEVE header of version 0: an Ethernet frame nearly always.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    if header[0] >> 6 != 0 {
        return None;
    }
    let options_bytes = usize::from(header[0] & 0x3f) * 4;
    Some(Carried::new(
        TunnelKind::Geneve,
        be32(header, 4) >> 8,
        Next::EtherType { ether_type: be16(header, 2), at: at + HEADER_BYTES + options_bytes },
        walk.end,
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn options_are_stepped_over_and_versions_checked() {
        let inner = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        let found = |first: u8, options: &[u8]| {
            let header = join(&[&[first, 0, 0x65, 0x58, 1, 2, 3, 0], options]);
            let found = decoded(LinkType::RAW, &ipv6(17, &udp(6081, &join(&[&header, &inner]))));
            (found.kind, found.tunnel.kind, found.tunnel.id)
        };
        assert_eq!(found(0, &[]), (Kind::Tcp, TunnelKind::Geneve, 0x01_0203));
        assert_eq!(found(2, &[9; 8]), (Kind::Tcp, TunnelKind::Geneve, 0x01_0203));
        assert_eq!(found(63, &[]), (Kind::Udp, TunnelKind::None, 0), "options beyond the datagram");
        assert_eq!(found(0x40, &[]), (Kind::Udp, TunnelKind::None, 0), "version 1");
    }
}
