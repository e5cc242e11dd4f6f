//! Linux netfilter log messages (LINKTYPE_NFLOG): attributes, one of which is an IP packet.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::walk::{Next, Walk};

/// Address family, version and resource id, in bytes.
const HEADER_BYTES: usize = 4;
/// `NFULA_PAYLOAD`: the packet from its IP header on.
const PAYLOAD: u16 = 9;
/// Attributes walked in one message; the kernel knows fewer than 32.
const ATTRIBUTES_MAX: usize = 64;

/// A message: attributes of length and type (host byte order; files hold what little-endian hosts wrote) and padding to 4.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    let mut at = at + HEADER_BYTES;
    for _ in 0..ATTRIBUTES_MAX {
        if at + 4 > walk.end {
            break;
        }
        let [l0, l1, t0, t1] = *walk.header::<4>(at, LinkShort, LinkCut)?;
        let bytes = usize::from(u16::from_le_bytes([l0, l1]));
        if bytes < 4 || at + bytes > walk.end {
            return Err(LinkHeaderLength);
        }
        if u16::from_le_bytes([t0, t1]) == PAYLOAD {
            walk.end = at + bytes;
            return Ok(Next::Ip { at: at + 4 });
        }
        at += bytes.next_multiple_of(4);
    }
    Ok(Next::Done(Kind::OtherLink))
}
