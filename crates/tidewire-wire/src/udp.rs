//! UDP (RFC 768), and the tunnels that it carries.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, UdpCut, UdpLengthLong, UdpLengthShort, UdpShort};
use crate::transport::UDP;
use crate::walk::{Next, Walk, be16};

/// The header, in bytes.
pub(crate) const HEADER_BYTES: usize = 8;
const LENGTH: usize = 4;

/// A UDP header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, UdpShort, UdpCut)?;
    let bytes = match usize::from(be16(header, LENGTH)) {
        // RFC 2675, 4: a jumbogram's length field is 0; Linux takes 0 as "the rest" over IPv6, whatever the size.
        0 if walk.out.ip_version == 6 => walk.end - at,
        stated => stated,
    };
    if bytes < HEADER_BYTES {
        return Err(UdpLengthShort);
    }
    if at + bytes > walk.end {
        return Err(UdpLengthLong);
    }
    walk.end = at + bytes;
    walk.transport(UDP, at, at + HEADER_BYTES);
    Ok(Next::Done(Kind::Udp))
}
