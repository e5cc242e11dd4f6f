//! ERSPAN: mirrored Ethernet frames in GRE (draft-foschiano-erspan-03).

use crate::decoded::{Tunnel, TunnelKind};
use crate::walk::{Carried, Next, Walk, be16};

/// Type II's header, in bytes.
const TYPE2_BYTES: usize = 8;
/// Type III's header, in bytes, without the platform-specific subheader.
const TYPE3_BYTES: usize = 12;
/// The platform-specific subheader, in bytes.
const PLATFORM_BYTES: usize = 8;
/// Of type III's last byte: a platform-specific subheader follows.
const HAS_PLATFORM: u8 = 0x01;

/// Type I: without a header and a session.
pub(crate) fn type1(walk: &Walk<'_>, at: usize) -> Carried {
    carried(walk, 0, Next::Ethernet { at })
}

/// Type II: version 1 in the first nibble.
pub(crate) fn type2(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<TYPE2_BYTES>(at)?;
    if header[0] >> 4 != 1 {
        return None;
    }
    Some(carried(walk, be16(header, 2) & 0x03ff, Next::Ethernet { at: at + TYPE2_BYTES }))
}

/// Type III: version 2 in the first nibble; the frame type distinguishes mirrored frames and IP packets.
pub(crate) fn type3(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<TYPE3_BYTES>(at)?;
    if header[0] >> 4 != 2 {
        return None;
    }
    let after = at + TYPE3_BYTES + if header[11] & HAS_PLATFORM != 0 { PLATFORM_BYTES } else { 0 };
    let next = match header[10] >> 2 & 0x1f {
        0 => Next::Ethernet { at: after },
        2 => Next::Ip { at: after },
        _ => return None,
    };
    Some(carried(walk, be16(header, 2) & 0x03ff, next))
}

fn carried(walk: &Walk<'_>, session: u16, next: Next) -> Carried {
    Carried { tunnel: Tunnel { kind: TunnelKind::Erspan, id: session.into() }, next, end: walk.end }
}
