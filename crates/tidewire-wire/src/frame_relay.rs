//! Frame relay (RFC 2427), and Cisco's encapsulation.

use crate::decoded::Kind;
use crate::ethernet::ETHER_TYPE_MIN;
use crate::llc;
use crate::malformation::Malformation::{self, LinkCut, LinkDepth, LinkShort};
use crate::walk::{Next, Walk, be16};

/// The Q.922 address takes 2 to 4 bytes; the last has its lowest bit set.
const ADDRESS_BYTES_MAX: usize = 4;
/// Q.922 unnumbered information: an NLPID follows.
const UNNUMBERED_INFORMATION: u8 = 0x03;

/// A frame relay frame.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    for bytes in 2..=ADDRESS_BYTES_MAX {
        let [last] = *walk.header::<1>(at + bytes - 1, LinkShort, LinkCut)?;
        if last & 1 == 1 {
            return payload(walk, at + bytes);
        }
    }
    Err(LinkDepth)
}

fn payload(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<2>(at, LinkShort, LinkCut)?;
    if header[0] == UNNUMBERED_INFORMATION {
        return llc::nlpid(walk, at + 1);
    }
    match be16(header, 0) {
        // Cisco's encapsulation has an EtherType directly after the address.
        ether_type if ether_type >= ETHER_TYPE_MIN => Ok(Next::EtherType { ether_type, at: at + 2 }),
        _ => Ok(Next::Done(Kind::OtherLink)),
    }
}
