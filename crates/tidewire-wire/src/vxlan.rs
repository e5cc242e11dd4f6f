//! VXLAN (RFC 7348, 5).

use crate::decoded::{Tunnel, TunnelKind};
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
    Some(Carried {
        tunnel: Tunnel { kind: TunnelKind::Vxlan, id: be32(header, 4) >> 8 },
        next: Next::Ethernet { at: at + HEADER_BYTES },
        end: walk.end,
    })
}
