//! VXLAN (RFC 7348, 5).

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be32};

/// Flags, reserved, network identifier, reserved; in bytes.
const HEADER_BYTES: usize = 8;
/// The network identifier is valid: "MUST be set to 1".
const VALID: u8 = 0x08;

/// The Ethernet frame behind a VXLAN header. Reserved bits are "ignored on receipt", and group policy uses some.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    if header[0] & VALID == 0 {
        return None;
    }
    Some(Carried::new(TunnelKind::Vxlan, be32(header, 4) >> 8, Next::Ethernet { at: at + HEADER_BYTES }, walk.end))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn the_valid_flag_and_an_ip_packet_make_a_tunnel() {
        let inner = ethernet(0x86dd, &ipv6(6, &tcp(b"x")));
        let found = |port, flags| {
            let header = [flags, 0, 0, 0, 1, 2, 3, 0];
            let found = decoded(LinkType::RAW, &ipv4(17, &udp(port, &join(&[&header, &inner]))));
            (found.kind, found.tunnel.kind, found.tunnel.id)
        };
        assert_eq!(found(4789, 0x08), (Kind::Tcp, TunnelKind::Vxlan, 0x01_0203));
        assert_eq!(found(8472, 0x88), (Kind::Tcp, TunnelKind::Vxlan, 0x01_0203));
        assert_eq!(found(4789, 0x00), (Kind::Udp, TunnelKind::None, 0));
        assert_eq!(found(4788, 0x08), (Kind::Udp, TunnelKind::None, 0));
    }
}
