//! The general walk: one header after the other, each in its own file, until the frame's flow is known or it has none.

use crate::decoded::{Decoded, Kind};
use crate::ieee80211::{SUBFRAME_BYTES, Subframe};
use crate::malformation::Malformation;
use crate::walk::{FRAME_BYTES_MAX, Next, Walk};
use crate::{Doubts, LinkType, Settings, ethernet, ieee80211, ipv4, ipv6, link, llc, mpls, nsh, ppp, transport};

/// Headers walked in one frame, at most. Tunnels need at most five each (IP, UDP, VXLAN, Ethernet, VLAN), so this is
/// well above what [`Settings::tunnel_depth`] needs; it bounds the work for a frame of nested headers.
pub(crate) const HEADERS_MAX: u32 = 128;

/// Decodes any frame, header by header.
#[inline(never)]
pub(crate) fn decode(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings, out: &mut Decoded) {
    let frame = frame.get(..FRAME_BYTES_MAX).unwrap_or(frame);
    let end = (wire_bytes as usize).clamp(frame.len(), FRAME_BYTES_MAX);
    decode_up_to(end, frame, settings, out, |walk| link::first(walk, link));
    judge_group(link, frame, out);
}

/// Walks a frame as `decode` does, and calls `each` with the flow that carries each tunnel, from the outside in.
#[must_use]
pub fn decode_carriers(
    link: LinkType,
    frame: &[u8],
    wire_bytes: u32,
    settings: &Settings,
    each: &mut dyn FnMut(&Decoded),
) -> Decoded {
    let mut decoded = Decoded::EMPTY;
    let frame = frame.get(..FRAME_BYTES_MAX).unwrap_or(frame);
    let end = (wire_bytes as usize).clamp(frame.len(), FRAME_BYTES_MAX);
    decode_up_to(end, frame, settings, &mut decoded, |walk| {
        walk.report_carriers(each);
        link::first(walk, link)
    });
    judge_group(link, frame, &mut decoded);
    decoded
}

/// Decodes a frame that was cut without a note of its length, and returns how many bytes are missing at its end, as the
/// first packet in it says that reaches beyond it.
pub(crate) fn decode_cut(link: LinkType, frame: &[u8], settings: &Settings, out: &mut Decoded) -> u32 {
    let frame = frame.get(..FRAME_BYTES_MAX).unwrap_or(frame);
    let missing_bytes = decode_up_to(frame.len(), frame, settings, out, |walk| {
        walk.slice();
        link::first(walk, link)
    });
    judge_group(link, frame, out);
    // Both ends are at most `FRAME_BYTES_MAX`.
    missing_bytes as u32
}

/// Notes whether hosts drop the packet for its frame's group address.
fn judge_group(link: LinkType, frame: &[u8], out: &mut Decoded) {
    if link == LinkType::ETHERNET && ethernet::is_for_host_in_group(frame, out) {
        out.doubts |= Doubts::LINK;
    }
}

/// Walks a subframe, up to the transport header; offsets are from the frame's first byte.
#[must_use]
pub fn decode_subframe(frame: &[u8], subframe: &Subframe, settings: &Settings) -> Decoded {
    let mut decoded = Decoded::EMPTY;
    let frame = frame.get(..FRAME_BYTES_MAX).unwrap_or(frame);
    let frame = frame.get(..subframe.end as usize).unwrap_or(frame);
    let at = subframe.at as usize + SUBFRAME_BYTES;
    decode_up_to((subframe.end as usize).max(at), frame, settings, &mut decoded, |_| Ok(Next::Llc { at }));
    decoded
}

/// Decodes the part of a frame that begins with `first` and ends at `end`, as stated. Returns by how much a packet moved
/// that end.
fn decode_up_to<'a>(
    end: usize,
    frame: &'a [u8],
    settings: &'a Settings,
    out: &'a mut Decoded,
    first: impl FnOnce(&mut Walk<'a>) -> Result<Next, Malformation>,
) -> usize {
    *out = Decoded::EMPTY;
    let mut walk = Walk::new(frame, end, settings, out);
    let kind = match first(&mut walk).and_then(|next| run(&mut walk, next)) {
        Ok(kind) => kind,
        Err(malformation) => {
            walk.out.malformed = Some(malformation);
            Kind::Malformed
        }
    };
    walk.out.kind = kind;
    if let Some(outer) = walk.outer()
        && is_of_carrier(walk.out, outer.kind)
    {
        *walk.out = outer;
    }
    walk.moved_bytes
}

/// Whether a packet with this inside belongs to the flow that carries it. A contradiction inside a tunnel that IP itself
/// names does not: nothing but the tunnel's end reads such a packet. A datagram may belong to any application.
fn is_of_carrier(inside: &Decoded, carrier: Kind) -> bool {
    match (inside.kind, inside.malformed) {
        (Kind::Arp | Kind::OtherLink, _) => true,
        (Kind::Malformed, Some(why)) => carrier == Kind::Udp || !why.is_contradiction(),
        _ => false,
    }
}

fn run(walk: &mut Walk<'_>, first: Next) -> Result<Kind, Malformation> {
    let mut next = first;
    for _ in 0..HEADERS_MAX {
        next = match next {
            Next::Done(kind) => return Ok(kind),
            Next::Ethernet { at } => ethernet::walk(walk, at)?,
            Next::EtherType { ether_type, at } => ethernet::ether_type(walk, ether_type, at)?,
            Next::Llc { at } => llc::walk(walk, at)?,
            Next::Ppp { at } => ppp::walk(walk, at)?,
            Next::Pppoe { at } => ppp::pppoe(walk, at)?,
            Next::Mpls { at } => mpls::walk(walk, at)?,
            Next::Nsh { at } => nsh::walk(walk, at)?,
            Next::Ieee80211 { at, swapped } => ieee80211::inside(walk, at, swapped)?,
            Next::Link { link, at } => link::at(walk, link, at)?,
            Next::Ip { at } => walk.ip(at)?,
            Next::Ipv4 { at } => ipv4::walk(walk, at)?,
            Next::Ipv6 { at } => ipv6::walk(walk, at)?,
            Next::Upper { proto, at } => transport::walk(walk, proto, at)?,
        };
    }
    Err(Malformation::LinkDepth)
}
