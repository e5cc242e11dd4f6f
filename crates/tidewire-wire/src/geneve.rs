//! GENEVE (RFC 8926, 3.4).

use crate::decoded::{Tunnel, TunnelKind};
use crate::walk::{Carried, Next, Walk, be16, be32};

/// The header without options, in bytes.
const HEADER_BYTES: usize = 8;

/// What a GENEVE header of version 0 carries: an Ethernet frame nearly always.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    if header[0] >> 6 != 0 {
        return None;
    }
    let options_bytes = usize::from(header[0] & 0x3f) * 4;
    Some(Carried {
        tunnel: Tunnel { kind: TunnelKind::Geneve, id: be32(header, 4) >> 8 },
        next: Next::EtherType { ether_type: be16(header, 2), at: at + HEADER_BYTES + options_bytes },
        end: walk.end,
    })
}
