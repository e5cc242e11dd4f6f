//! SCTP (RFC 9260): its common header.

use crate::decoded::{Decoded, Kind};
use crate::ip_protocol::SCTP;
use crate::malformation::Malformation::{self, SctpCut, SctpShort};
use crate::walk::{Next, Walk, be16, be32};

/// The common header, in bytes.
const HEADER_BYTES: usize = 12;
const SOURCE: usize = 0;
const DESTINATION: usize = 2;
const TAG: usize = 4;
const CHECKSUM: usize = 8;

/// Walks an SCTP common header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    match walk.header::<HEADER_BYTES>(at, SctpShort, SctpCut) {
        Err(SctpCut) => return walk.header_cut(SCTP, at, HEADER_BYTES, SctpCut),
        header => header?,
    };
    walk.transport(SCTP, at, at + HEADER_BYTES);
    Ok(Next::Done(Kind::Sctp))
}

/// The common header of an SCTP packet inside a frame (RFC 9260, 3.1). Exists only for [`Kind::Sctp`], so all of it is captured.
#[derive(Clone, Copy, Debug)]
pub struct SctpHeader<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> SctpHeader<'a> {
    /// The SCTP header of `decoded` in `frame`; `None` unless its kind is [`Kind::Sctp`].
    #[inline]
    #[must_use]
    pub fn new(frame: &'a [u8], decoded: &Decoded) -> Option<Self> {
        if decoded.kind != Kind::Sctp {
            return None;
        }
        frame.get(decoded.transport_at as usize..)?.first_chunk().map(Self)
    }

    /// Source port.
    #[inline]
    #[must_use]
    pub fn source_port(&self) -> u16 {
        be16(self.0, SOURCE)
    }

    /// Destination port.
    #[inline]
    #[must_use]
    pub fn destination_port(&self) -> u16 {
        be16(self.0, DESTINATION)
    }

    /// Verification tag of the receiver; 0 in a packet with INIT (RFC 9260, 8.5).
    #[inline]
    #[must_use]
    pub fn verification_tag(&self) -> u32 {
        be32(self.0, TAG)
    }

    /// CRC-32C as sent; [`transport_checksum`](crate::transport_checksum) verifies it.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u32 {
        be32(self.0, CHECKSUM)
    }
}
