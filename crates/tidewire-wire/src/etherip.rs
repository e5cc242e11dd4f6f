//! EtherIP (RFC 3378): Ethernet frames in IP protocol 97.

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk};

/// Version 3 and twelve reserved bits that are zero (section 3).
const HEADER: [u8; 2] = [0x30, 0x00];

/// The frame behind the header.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    if walk.bytes::<2>(at)? != &HEADER {
        return None;
    }
    Some(Carried::new(TunnelKind::EtherIp, 0, Next::Ethernet { at: at + HEADER.len() }, walk.end))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, tcp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn version_and_reserved_bits_decide() {
        let inner = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        let found = |header: [u8; 2]| {
            let found = decoded(LinkType::RAW, &ipv4(97, &join(&[&header, &inner])));
            (found.kind, found.tunnel.kind)
        };
        assert_eq!(found([0x30, 0]), (Kind::Tcp, TunnelKind::EtherIp));
        assert_eq!(found([0x20, 0]), (Kind::OtherIp, TunnelKind::None));
        assert_eq!(found([0x30, 1]), (Kind::OtherIp, TunnelKind::None));
    }
}
