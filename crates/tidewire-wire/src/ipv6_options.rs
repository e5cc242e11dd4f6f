//! IPv6 options (RFC 8200, 4.2) and routing headers (4.4), by the rules of hosts.

use crate::{Doubts, routing};

const PAD1: u8 = 0;
const PADN: u8 = 1;
/// RFC 2711: its value has two bytes.
const ROUTER_ALERT: u8 = 5;
/// RFC 5570: accepted if its domain is configured (Linux: `ipv6_hop_calipso`).
const CALIPSO: u8 = 7;
/// In-situ OAM (RFC 9486), aligned to four bytes.
const IOAM: u8 = 0x31;
/// RFC 2675: aligned to 4n + 2.
const JUMBO: u8 = 0xc2;
/// RFC 6275: accepted by hosts that know the mobile node.
const HOME_ADDRESS: u8 = 0xc9;
/// Action of a host for an unknown option; 0: skip it.
const ACTION: u8 = 0xc0;

/// Greatest padding between two options, in bytes: more is never needed (Linux: `ip6_parse_tlv`).
const PADDING_MAX: usize = 7;
/// Options in one header, without padding (Linux: `max_dst_opts_number` and `max_hbh_opts_number`).
const OPTIONS_MAX: usize = 8;

/// The header that the options are in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionsHeader {
    HopByHop,
    Destination,
}

/// Whether a header of options is the shortest one, and one option pads it: no host drops a packet for it. A packet may have 190 of these.
#[inline(always)]
pub(crate) fn is_padding(header: &[u8]) -> bool {
    const OPTION: u64 = 0x0104_0000_0000;
    header.len() == 8 && header.first_chunk().is_some_and(|bytes| u64::from_be_bytes(*bytes) << 16 == OPTION << 16)
}

/// Whether a host drops a packet for a header of options, all of which was captured. The rules are those of Linux's
/// `ip6_parse_tlv`. A packet may have hundreds of options, so that each takes few steps.
#[inline(always)]
pub(crate) fn judge(header: &[u8], place: OptionsHeader) -> Doubts {
    let mut doubts = Doubts::NONE;
    let (mut at, mut padding, mut options) = (2, 0, 0);
    // Kinds of options that only their action matters of.
    let mut kinds = 0;
    let is_whole = loop {
        let Some(&kind) = header.get(at) else { break true };
        if kind == PAD1 {
            padding += 1;
            at += 1;
            if padding > PADDING_MAX {
                break false;
            }
            continue;
        }
        let Some(&length) = header.get(at + 1) else { break false };
        let next = at + 2 + usize::from(length);
        let Some(value) = header.get(at + 2..next) else { break false };
        if kind == PADN {
            padding += 2 + value.len();
            if padding > PADDING_MAX || value.iter().any(|byte| *byte != 0) {
                break false;
            }
        } else {
            padding = 0;
            options += 1;
            if place == OptionsHeader::HopByHop || kind == HOME_ADDRESS {
                doubts |= judge_one(kind, value, at, place);
            } else {
                kinds |= kind;
            }
            if options > OPTIONS_MAX {
                break false;
            }
        }
        at = next;
    };
    if is_whole && kinds & ACTION == 0 { doubts } else { doubts | Doubts::HEADER }
}

/// An option other than padding, `at` bytes into its header.
#[inline(never)]
fn judge_one(kind: u8, value: &[u8], at: usize, place: OptionsHeader) -> Doubts {
    let is_bad = match (place, kind) {
        (OptionsHeader::HopByHop, ROUTER_ALERT) => value.len() != 2,
        (OptionsHeader::HopByHop, IOAM) => !at.is_multiple_of(4),
        (OptionsHeader::HopByHop, JUMBO) => value.len() != 4 || at % 4 != 2,
        (OptionsHeader::HopByHop, CALIPSO) => {
            return if value.len() < 8 { Doubts::HEADER } else { Doubts::UNCONFIGURED };
        }
        (OptionsHeader::Destination, HOME_ADDRESS) => {
            return if value.len() == 16 { Doubts::UNCONFIGURED } else { Doubts::HEADER };
        }
        _ => kind & ACTION != 0,
    };
    if is_bad { Doubts::HEADER } else { Doubts::NONE }
}

/// Whether a host drops a packet for a routing header, all of which was captured, by its type and the segments that are
/// left (Linux: `ipv6_rthdr_rcv`). `is_to_group`: the packet has a multicast destination.
pub(crate) fn judge_routing(header: &[u8], is_to_group: bool) -> Doubts {
    let &[_, _, kind, segments_left, ..] = header else { return Doubts::HEADER };
    match kind {
        _ if is_to_group => Doubts::HEADER,
        2..=4 if routing::has_too_many_left(header) || routing::is_reduced(header) => Doubts::HEADER,
        // Mobility (RFC 6275), RPL (RFC 6554), segments (RFC 8754): accepted only if the interface or the host takes
        // part.
        2..=4 => Doubts::UNCONFIGURED,
        // RFC 8200, 4.4: a used-up header is skipped; RFC 5095 deprecates type 0.
        _ if segments_left != 0 => Doubts::HEADER,
        _ => Doubts::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::{OptionsHeader, is_padding, judge, judge_routing};
    use crate::Doubts;

    fn both(options: &[u8]) -> [Doubts; 2] {
        let header = [&[6, (options.len() / 8) as u8], options].concat();
        [judge(&header, OptionsHeader::HopByHop), judge(&header, OptionsHeader::Destination)]
    }

    #[test]
    fn the_shortest_padding_is_known() {
        assert!(is_padding(&[6, 0, 1, 4, 0, 0, 0, 0]));
        assert!(!is_padding(&[6, 1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0]));
        for at in 2..8 {
            let mut other = [6, 0, 1, 4, 0, 0, 0, 0];
            other[at] ^= 8;
            assert!(!is_padding(&other), "byte {at}");
        }
    }

    #[test]
    fn padding_is_short_and_zero() {
        let pad = |count: usize| [&vec![0; count][..], &[0x1e, 0]].concat();
        assert_eq!(both(&[1, 4, 0, 0, 0, 0]), [Doubts::NONE; 2]);
        assert_eq!(both(&[1, 4, 0, 0, 1, 0]), [Doubts::HEADER; 2], "PadN that is not zero");
        assert_eq!(both(&[1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), [Doubts::HEADER; 2], "PadN of 14 bytes");
        assert_eq!(both(&[1, 5, 0, 0, 0, 0, 0, 0x1e, 5, 0, 0, 0, 0, 0]), [Doubts::NONE; 2], "PadN of 7 bytes");
        assert_eq!(both(&pad(7)), [Doubts::NONE; 2]);
        assert_eq!(both(&pad(8)), [Doubts::HEADER; 2], "eight Pad1");
        assert_eq!(both(&[0, 0, 0, 0, 1, 2, 0, 0]), [Doubts::HEADER; 2], "both kinds count together");
    }

    #[test]
    fn options_are_known_or_say_what_to_do() {
        for (action, expected) in
            [(0x1e, Doubts::NONE), (0x5e, Doubts::HEADER), (0x9e, Doubts::HEADER), (0xde, Doubts::HEADER)]
        {
            assert_eq!(both(&[action, 4, 1, 2, 3, 4]), [expected; 2], "{action:#x}");
        }
        assert_eq!(both(&[0x1e, 0].repeat(8)), [Doubts::NONE; 2]);
        assert_eq!(both(&[0x1e, 0].repeat(9)), [Doubts::HEADER; 2], "nine options");
        assert_eq!(both(&[0x1e, 5, 0, 0, 0, 0]), [Doubts::HEADER; 2], "beyond the header");
        assert_eq!(both(&[0, 0, 0, 0, 0, 0x1e]), [Doubts::HEADER; 2], "without a length");
        assert_eq!(both(&[5, 2, 0, 0, 0, 0]), [Doubts::NONE; 2]);
        assert_eq!(both(&[5, 4, 0, 0, 0, 0]), [Doubts::HEADER, Doubts::NONE], "a router alert of four bytes");
        assert_eq!(both(&[0xc2, 4, 0, 1, 0, 0]), [Doubts::NONE, Doubts::HEADER]);
        let home = [&[0xc9, 16][..], &[0; 16], &[1, 2, 0, 0]].concat();
        assert_eq!(both(&home), [Doubts::HEADER, Doubts::UNCONFIGURED]);
    }

    #[test]
    fn routing_headers_are_used_up() {
        let header = |kind, left| [&[6, 2, kind, left, 0, 0, 0, 0][..], &[0; 16]].concat();
        for kind in [0, 1, 99] {
            assert_eq!(judge_routing(&header(kind, 0), false), Doubts::NONE);
            assert_eq!(judge_routing(&header(kind, 1), false), Doubts::HEADER);
            assert_eq!(judge_routing(&header(kind, 0), true), Doubts::HEADER);
        }
        for kind in 2..=4 {
            assert_eq!(judge_routing(&header(kind, 0), false), Doubts::UNCONFIGURED);
        }
    }
}
