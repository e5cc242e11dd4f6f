//! MPLS label stacks (RFC 3032), directly in IP (RFC 4023) and in UDP (RFC 7510).

use crate::decoded::{Kind, TunnelKind};
use crate::ethernet;
use crate::fits::{self, Length};
use crate::malformation::Malformation::{self, LinkCut, MplsDepth};
use crate::walk::{Carried, Next, Walk, be16};

/// Labels walked in one stack. Routers push at most about a dozen; each costs four bytes of the frame.
pub(crate) const LABELS_MAX: usize = 32;

/// Set on the last entry of a stack.
const BOTTOM: u8 = 0x01;

/// A label stack. Its payload is not announced: IP by its first nibble, as load-balancing routers guess (RFC 4928); a
/// pseudowire's Ethernet, with or without control word, if its type is one that is walked.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    for label in 0..LABELS_MAX {
        let entry = walk.header::<4>(at + label * 4, MplsDepth, LinkCut)?;
        if entry[2] & BOTTOM != 0 {
            return Ok(payload(walk, at + label * 4 + 4));
        }
    }
    Err(MplsDepth)
}

/// The stack at `at` of a tunnel, if an IP packet follows it, or a pseudowire's Ethernet frame with one.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let mut inner_at = at;
    for _ in 0..LABELS_MAX {
        let entry = walk.bytes::<4>(inner_at)?;
        inner_at += 4;
        if entry[2] & BOTTOM != 0 {
            let fits = fits::ip(walk, inner_at, Length::Exact)
                || fits::ethernet(walk, inner_at)
                || fits::ethernet(walk, inner_at + 4);
            return fits.then_some(Carried::new(TunnelKind::Mpls, 0, Next::Mpls { at }, walk.end));
        }
    }
    None
}

fn payload(walk: &Walk<'_>, at: usize) -> Next {
    match walk.bytes::<1>(at).map(|[first]| first >> 4) {
        Some(4) if !is_ethernet_rather(walk, at) => Next::Ipv4 { at },
        Some(6) if !is_ethernet_rather(walk, at) => Next::Ipv6 { at },
        // A control word begins with a zero nibble (RFC 4385, 3) and takes 4 bytes.
        Some(0) if ethernet::is_likely(walk, at + 4) => Next::Ethernet { at: at + 4 },
        Some(_) if ethernet::is_likely(walk, at) => Next::Ethernet { at },
        _ => Next::Done(Kind::OtherLink),
    }
}

/// Whether this is a pseudowire's Ethernet header whose address begins like an IP version: its type is known, and the
/// lengths that IP would have here are inconsistent.
fn is_ethernet_rather(walk: &Walk<'_>, at: usize) -> bool {
    let ip_fits = walk.bytes::<6>(at).is_some_and(|header| {
        let (header_bytes, ip_bytes) = match header[0] >> 4 {
            4 => (usize::from(header[0] & 0x0f) * 4, usize::from(be16(header, 2))),
            _ => (40, 40 + usize::from(be16(header, 4))),
        };
        (20..=ip_bytes).contains(&header_bytes) && at + ip_bytes <= walk.end
    });
    !ip_fits && ethernet::is_likely(walk, at)
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, snapped, tcp, udp};
    use crate::{Kind, LinkType, Malformation, TunnelKind};

    fn kind(payload: &[u8]) -> Kind {
        decoded(LinkType::ETHERNET, &ethernet(0x8847, &join(&[&[0, 1, 0, 64, 0, 2, 1, 64], payload]))).kind
    }

    #[test]
    fn the_first_nibble_says_what_it_carries() {
        assert_eq!(kind(&ipv4(6, &tcp(b"x"))), Kind::Tcp);
        assert_eq!(kind(&ipv6(6, &tcp(b"x"))), Kind::Tcp);
        assert_eq!(kind(&[0x10, 0, 0, 0x21, 0, 0]), Kind::OtherLink, "an associated channel");
        assert_eq!(kind(&[]), Kind::OtherLink);
    }

    #[test]
    fn a_pseudowire_is_known_by_its_type() {
        let mut inner = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        assert_eq!(kind(&join(&[&[0; 4], &inner])), Kind::Tcp);
        for first in [0, 0x20, 0x40, 0x60] {
            (inner[0], inner[4]) = (first, 0x77);
            assert_eq!(kind(&inner), Kind::Tcp, "an address that begins with {first:#x}, no control word");
        }
    }

    #[test]
    fn in_ip_and_udp_what_follows_the_stack_must_fit() {
        let segment = ipv4(6, &tcp(b"x"));
        let inner = ethernet(0x0800, &segment);
        let found = |payload: &[u8]| {
            let stack = join(&[&[0, 1, 0, 64, 0, 2, 1, 64], payload]);
            let [in_ip, in_udp] = [(137, stack.clone()), (17, udp(6635, &stack))].map(|(proto, payload)| {
                let found = decoded(LinkType::RAW, &ipv4(proto, &payload));
                (found.kind == Kind::Tcp, found.tunnel.kind)
            });
            assert_eq!(in_ip, in_udp);
            in_udp
        };
        for payload in [segment.clone(), ipv6(6, &tcp(b"x")), inner.clone(), join(&[&[0; 4], &inner])] {
            assert_eq!(found(&payload), (true, TunnelKind::Mpls));
        }
        assert_eq!(found(&join(&[&segment, &[0]])), (false, TunnelKind::None), "not to the end");
        assert_eq!(found(&[0x45; 60]), (false, TunnelKind::None));
        let endless = [0, 1, 0, 64].repeat(40);
        assert_eq!(decoded(LinkType::RAW, &ipv4(17, &udp(6635, &endless))).kind, Kind::Udp);
    }

    #[test]
    fn a_stack_must_end() {
        let frame = ethernet(0x8847, &[0, 1, 0, 64]);
        assert_eq!(decoded(LinkType::ETHERNET, &frame).malformed, Some(Malformation::MplsDepth));
        assert_eq!(snapped(LinkType::ETHERNET, &frame, 16).malformed, Some(Malformation::LinkCut));
    }
}
