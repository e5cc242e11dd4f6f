//! MPLS label stacks (RFC 3032).

use crate::decoded::Kind;
use crate::ethernet;
use crate::malformation::Malformation::{self, LinkCut, MplsDepth};
use crate::walk::{Next, Walk, be16};

/// Labels walked in one stack. Routers push at most about a dozen; each costs four bytes of the frame.
pub(crate) const LABELS_MAX: usize = 32;

/// Set on the last entry of a stack.
const BOTTOM: u8 = 0x01;

/// A label stack. What it carries is not stated: IP by its first nibble, as routers that balance load guess it
/// (RFC 4928); a pseudowire's Ethernet, with its control word or without, when its type is one that is walked.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    for label in 0..LABELS_MAX {
        let entry = walk.header::<4>(at + label * 4, MplsDepth, LinkCut)?;
        if entry[2] & BOTTOM != 0 {
            return Ok(payload(walk, at + label * 4 + 4));
        }
    }
    Err(MplsDepth)
}

fn payload(walk: &Walk<'_>, at: usize) -> Next {
    match walk.bytes::<1>(at).map(|[first]| first >> 4) {
        Some(4) if !is_ethernet_rather(walk, at, 2, 0) => Next::Ipv4 { at },
        Some(6) if !is_ethernet_rather(walk, at, 4, 40) => Next::Ipv6 { at },
        // A control word begins with a zero nibble (RFC 4385, 3) and takes 4 bytes.
        Some(0) if ethernet::is_likely(walk, at + 4) => Next::Ethernet { at: at + 4 },
        Some(_) if ethernet::is_likely(walk, at) => Next::Ethernet { at },
        _ => Next::Done(Kind::OtherLink),
    }
}

/// Whether this is a pseudowire's Ethernet header whose address begins like an IP version: its type is known, and the
/// length that IP would have here (field at `length_at`, plus `fixed_bytes`) does not fit.
fn is_ethernet_rather(walk: &Walk<'_>, at: usize, length_at: usize, fixed_bytes: usize) -> bool {
    let ip_fits = walk
        .bytes::<2>(at + length_at)
        .is_some_and(|length| at + fixed_bytes + usize::from(be16(length, 0)) <= walk.end);
    !ip_fits && ethernet::is_likely(walk, at)
}
