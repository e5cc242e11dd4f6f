//! Whether bytes that no header announces are an IP packet, an Ethernet frame or a PPP frame. For payloads whose kind
//! the tunnel header does not state: anyone may send anything to a tunnel's port.

use crate::checksum::internet;
use crate::ethernet::{self, IPV4, IPV6, SERVICE_VLAN, VLAN};
use crate::walk::{Walk, be16};
use crate::{ipv4, ipv6};

/// VLAN tags that are skipped.
const TAGS_MAX: usize = 2;
/// PPP's protocol numbers of IPv4 and IPv6, with the address and control bytes that may stand before them.
const PPP_IPV4: [u8; 2] = [0x00, 0x21];
const PPP_IPV6: [u8; 2] = [0x00, 0x57];
const ALL_STATIONS: [u8; 2] = [0xff, 0x03];

/// How much of the rest an IP packet must fill.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// All of it.
    Exact,
    /// All or a part: padding may follow.
    AtMost,
}

/// Whether an IP packet of either version at `at` has lengths that fit the layer, and IPv4 a correct header checksum.
pub(crate) fn ip(walk: &Walk<'_>, at: usize, length: Length) -> bool {
    match walk.bytes::<1>(at).map(|[first]| first >> 4) {
        Some(4) => ipv4(walk, at, length),
        Some(6) => ipv6(walk, at, length),
        _ => false,
    }
}

fn ipv4(walk: &Walk<'_>, at: usize, length: Length) -> bool {
    let Some(header) = walk.bytes::<{ ipv4::HEADER_BYTES }>(at) else { return false };
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let whole = walk.frame.get(at..at + header_bytes);
    let total_bytes = match usize::from(be16(header, 2)) {
        // Segmentation offload of more than 64 KiB (see `ipv4::walk`).
        0 if walk.end - at > usize::from(u16::MAX) => walk.end - at,
        stated => stated,
    };
    header_bytes >= ipv4::HEADER_BYTES
        && total_bytes >= header_bytes
        && is_length(walk.end - at, total_bytes, length)
        && whole.is_some_and(|header| internet(header) == 0)
}

fn ipv6(walk: &Walk<'_>, at: usize, length: Length) -> bool {
    let Some(header) = walk.bytes::<{ ipv6::HEADER_BYTES }>(at) else { return false };
    let total_bytes = match usize::from(be16(header, 4)) {
        0 if walk.end - at > ipv6::HEADER_BYTES + usize::from(u16::MAX) => walk.end - at,
        stated => ipv6::HEADER_BYTES + stated,
    };
    is_length(walk.end - at, total_bytes, length)
}

fn is_version(walk: &Walk<'_>, at: usize, version: u8) -> bool {
    walk.bytes::<1>(at).is_some_and(|[first]| first >> 4 == version)
}

fn is_length(room: usize, bytes: usize, length: Length) -> bool {
    if length == Length::Exact { bytes == room } else { bytes <= room }
}

/// Whether an Ethernet header at `at`, tagged or not, is followed by an IP packet that fits.
pub(crate) fn ethernet(walk: &Walk<'_>, at: usize) -> bool {
    let Some(header) = walk.bytes::<{ ethernet::HEADER_BYTES }>(at) else { return false };
    let mut ether_type = be16(header, ethernet::HEADER_BYTES - 2);
    let mut at = at + ethernet::HEADER_BYTES;
    for _ in 0..TAGS_MAX {
        if !matches!(ether_type, VLAN | SERVICE_VLAN) {
            break;
        }
        let Some(tag) = walk.bytes::<4>(at) else { return false };
        ether_type = be16(tag, 2);
        at += 4;
    }
    match ether_type {
        IPV4 => is_version(walk, at, 4) && ipv4(walk, at, Length::AtMost),
        IPV6 => is_version(walk, at, 6) && ipv6(walk, at, Length::AtMost),
        _ => false,
    }
}

/// Whether a PPP frame at `at`, with address and control bytes or without, carries an IP packet that fits.
pub(crate) fn ppp(walk: &Walk<'_>, at: usize) -> bool {
    let at = if walk.bytes::<2>(at) == Some(&ALL_STATIONS) { at + 2 } else { at };
    matches!(walk.bytes::<2>(at), Some(&PPP_IPV4 | &PPP_IPV6)) && ip(walk, at + 2, Length::AtMost)
}
