//! Authentication header (RFC 4302): walked through to what it protects, which is in clear.

use crate::malformation::Malformation::{self, AhCut, AhLength, AhShort};
use crate::transport::AH;
use crate::walk::Walk;

/// Next header, length, reserved, SPI and sequence number, in bytes; the integrity check value follows.
const FIXED_BYTES: usize = 12;

/// Where the protected header is. `None`: the integrity check value was snapped off, and the flow is the AH's.
///
/// The header's first byte names what follows.
pub(crate) fn after(walk: &mut Walk<'_>, at: usize) -> Result<Option<usize>, Malformation> {
    let header = walk.header::<FIXED_BYTES>(at, AhShort, AhCut)?;
    // RFC 4302, 2.2: "the length of this Authentication Header in 4-octet units, minus 2".
    let bytes = (usize::from(header[1]) + 2) * 4;
    if bytes < FIXED_BYTES || at + bytes > walk.end {
        return Err(AhLength);
    }
    if at + bytes > walk.frame.len() {
        walk.transport(AH, at, at + bytes);
        return Ok(None);
    }
    Ok(Some(at + bytes))
}
