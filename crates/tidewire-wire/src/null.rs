//! BSD loopback (LINKTYPE_NULL, LINKTYPE_LOOP): an address family, then the packet.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk};

/// `AF_INET`, everywhere.
const INET: u32 = 2;
/// `AF_INET6` of Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS.
const INET6: [u32; 5] = [10, 23, 24, 28, 30];

/// Both byte orders are taken for both link types: a file does not say which machine captured it.
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
