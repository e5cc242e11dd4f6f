//! BSD loopback (LINKTYPE_NULL, LINKTYPE_LOOP): an address family, then the packet.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk};

/// `AF_INET`, everywhere.
const INET: u32 = 2;
/// `AF_INET6` of Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS.
const INET6: [u32; 5] = [10, 23, 24, 28, 30];

/// Both byte orders are accepted for both link types: a file does not state which machine captured it.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let family = match u32::from_be_bytes(*walk.header::<4>(at, LinkShort, LinkCut)?) {
        big_endian if big_endian <= 0xffff => big_endian,
        other => other.swap_bytes(),
    };
    Ok(match family {
        INET => Next::Ipv4 { at: at + 4 },
        _ if INET6.contains(&family) => Next::Ipv6 { at: at + 4 },
        _ => Next::Done(Kind::OtherLink),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, tcp};
    use crate::{Kind, LinkType};

    #[test]
    fn both_byte_orders_and_every_system_s_ipv6() {
        for link in [LinkType::NULL, LinkType::LOOP] {
            for family in [2_u32, 10, 23, 24, 28, 30] {
                let packet = if family == 2 { ipv4(6, &tcp(b"x")) } else { ipv6(6, &tcp(b"x")) };
                for bytes in [family.to_be_bytes(), family.to_le_bytes()] {
                    assert_eq!(decoded(link, &join(&[&bytes, &packet])).kind, Kind::Tcp, "{family}");
                }
            }
            assert_eq!(decoded(link, &[0, 0, 0, 7, 0x45]).kind, Kind::OtherLink);
        }
    }
}
