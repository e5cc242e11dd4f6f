//! 802.11 data frames (IEEE 802.11-2020, 9.2 and 9.3.2). Other frames, and encrypted or fragmented ones, are counted as
//! other link traffic.

use crate::decoded::{Decoded, Kind};
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::other_link::OtherLink;
use crate::walk::{Next, Walk, be16};

/// Frame control, duration, three addresses and sequence control, in bytes.
const HEADER_BYTES: usize = 24;
/// Fourth address, in bytes: present between two access points.
const ADDRESS4_BYTES: usize = 6;
/// High-throughput control, in bytes: present in QoS frames with the order bit.
const HT_CONTROL_BYTES: usize = 4;

/// Of the first byte: protocol version and type.
const TYPE_MASK: u8 = 0x0f;
/// Version 0, data.
const TYPE_DATA: u8 = 0x08;
/// Subtype bit: no data in this frame.
const NULL: u8 = 0x40;
/// Subtype bit: a QoS control field is present.
const QOS: u8 = 0x80;

/// Of the second byte: to and from the distribution system.
const BOTH_DISTRIBUTION: u8 = 0x03;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;

/// QoS control: the payload is a list of subframes.
const AGGREGATE: u8 = 0x80;
/// An A-MSDU subframe's destination, source and length, in bytes.
pub(crate) const SUBFRAME_BYTES: usize = 14;

/// Subframes of an aggregate that are walked. The largest aggregate (11,454 bytes) holds 260 packets; the rest of a
/// larger frame is ignored.
pub const SUBFRAMES_MAX: usize = 512;

/// An 802.11 header at `at`; `padded`: the driver padded it to a multiple of 4 bytes (according to radiotap).
///
/// An aggregate (A-MSDU) of several subframes is [`Kind::Aggregate`]. In a tunnel only the first subframe is walked:
/// access points forward such frames one subframe at a time.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize, padded: bool) -> Result<Next, Malformation> {
    let &control = walk.header::<2>(at, LinkShort, LinkCut)?;
    data(walk, at, control, padded)
}

/// An 802.11 header in a tunnel; `swapped`: some senders swap the bytes of the control field.
pub(crate) fn inside(walk: &mut Walk<'_>, at: usize, swapped: bool) -> Result<Next, Malformation> {
    let &[first, second] = walk.header::<2>(at, LinkShort, LinkCut)?;
    data(walk, at, if swapped { [second, first] } else { [first, second] }, false)
}

/// A frame with this control field.
fn data(walk: &mut Walk<'_>, at: usize, [kind, flags]: [u8; 2], padded: bool) -> Result<Next, Malformation> {
    if kind & TYPE_MASK != TYPE_DATA || kind & NULL != 0 {
        return Ok(walk.other(OtherLink::Ieee80211Control));
    }
    if flags & PROTECTED != 0 {
        return Ok(walk.other(OtherLink::Ieee80211Encrypted));
    }
    if flags & MORE_FRAGMENTS != 0 {
        return Ok(walk.other(OtherLink::Ieee80211Fragment));
    }
    let header = walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    if header[22] & 0x0f != 0 {
        return Ok(walk.other(OtherLink::Ieee80211Fragment));
    }
    let mut bytes = HEADER_BYTES;
    if flags & BOTH_DISTRIBUTION == BOTH_DISTRIBUTION {
        bytes += ADDRESS4_BYTES;
    }
    let mut aggregate = false;
    if kind & QOS != 0 {
        let qos = walk.header::<2>(at + bytes, LinkShort, LinkCut)?;
        aggregate = qos[0] & AGGREGATE != 0;
        bytes += 2;
        if flags & ORDER != 0 {
            bytes += HT_CONTROL_BYTES;
        }
    }
    if padded {
        bytes = bytes.next_multiple_of(4);
    }
    let at = at + bytes;
    if !aggregate {
        return Ok(Next::Llc { at });
    }
    let subframe = walk.header::<SUBFRAME_BYTES>(at, LinkShort, LinkCut)?;
    let bytes = SUBFRAME_BYTES + usize::from(be16(subframe, 12));
    if at + bytes.next_multiple_of(4) + SUBFRAME_BYTES <= walk.end && !walk.is_in_tunnel() {
        walk.transport(0, at, at);
        return Ok(Next::Done(Kind::Aggregate));
    }
    walk.end = walk.end.min(at + bytes);
    Ok(Next::Llc { at: at + SUBFRAME_BYTES })
}

/// One of the packets of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subframe {
    /// Offset of its header in the frame.
    pub at: u32,
    /// Where it ends as stated, without padding; not beyond the aggregate, but possibly beyond the captured bytes.
    pub end: u32,
}

/// The subframes of a frame of [`Kind::Aggregate`], at most [`SUBFRAMES_MAX`]; none of other frames. A subframe whose header
/// was not captured ends the list.
pub fn subframes<'a>(frame: &'a [u8], decoded: &Decoded) -> impl Iterator<Item = Subframe> + use<'a> {
    let is_aggregate = decoded.kind == Kind::Aggregate;
    let end = if is_aggregate { decoded.payload_at as usize + decoded.payload_bytes as usize } else { 0 };
    let mut at = decoded.payload_at as usize;
    let next = move || {
        if at + SUBFRAME_BYTES > end {
            return None;
        }
        let header: &[u8; SUBFRAME_BYTES] = frame.get(at..)?.first_chunk()?;
        let bytes = SUBFRAME_BYTES + usize::from(be16(header, 12));
        let subframe = Subframe { at: at as u32, end: (at + bytes).min(end) as u32 };
        // IEEE 802.11-2020, 9.3.2.2: all but the last are padded to a multiple of 4 bytes.
        at += bytes.next_multiple_of(4);
        Some(subframe)
    };
    std::iter::from_fn(next).take(SUBFRAMES_MAX)
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, snap, snapped, tcp};
    use crate::{Kind, LinkType, Settings};

    /// A frame with this control field and these bytes between addresses and LLC.
    fn kind(control: [u8; 2], rest: &[u8]) -> Kind {
        let frame = join(&[&control, &[0; 22], rest, &snap(0x0800, &ipv4(6, &tcp(b"x")))]);
        decoded(LinkType::IEEE802_11, &frame).kind
    }

    #[test]
    fn fields_come_and_go_by_the_control_field() {
        assert_eq!(kind([0x08, 1], &[]), Kind::Tcp);
        assert_eq!(kind([0x08, 3], &[0; 6]), Kind::Tcp, "four addresses");
        assert_eq!(kind([0x88, 1], &[0; 2]), Kind::Tcp, "QoS");
        assert_eq!(kind([0x88, 0x81], &[0; 6]), Kind::Tcp, "QoS and high throughput control");
        assert_eq!(kind([0x08, 0x81], &[]), Kind::Tcp, "order without QoS");
        assert_eq!(kind([0x88, 0x83], &[0; 12]), Kind::Tcp, "all of them");
    }

    #[test]
    fn an_aggregate_s_first_subframe_is_walked() {
        let bytes = 8 + 41_u8;
        assert_eq!(kind([0x88, 1], &join(&[&[0x80, 0], &[0; 12], &[0, bytes]])), Kind::Tcp);
    }

    #[test]
    fn an_aggregate_s_subframes_are_listed_and_walked() {
        let packet = |ether_type, packet: &[u8]| {
            let payload = snap(ether_type, packet);
            let mut subframe = join(&[&[2; 12], &(payload.len() as u16).to_be_bytes(), &payload]);
            subframe.resize(subframe.len().next_multiple_of(4), 0);
            subframe
        };
        let (segment, segment6) = (ipv4(6, &tcp(b"x")), ipv6(6, &tcp(b"yz")));
        let subframes = [packet(0x0800, &segment), packet(0x0806, &[0; 28]), packet(0x86dd, &segment6)];
        let frame = join(&[&[0x88, 1], &[0; 22], &[0x80, 0], &subframes.concat()]);
        let found = decoded(LinkType::IEEE802_11, &frame);
        assert_eq!(
            (found.kind, found.payload_at, found.payload_bytes as usize),
            (Kind::Aggregate, 26, frame.len() - 26)
        );
        let list: Vec<_> = crate::subframes(&frame, &found).collect();
        assert_eq!(list.iter().map(|one| one.at).collect::<Vec<_>>(), [26, 26 + 64, 26 + 64 + 52]);
        let walked = list.iter().map(|one| {
            let found = crate::decode_subframe(&frame, one, &Settings::default());
            assert_eq!(found.broken_promise(&frame), None);
            (found.kind, found.payload_bytes)
        });
        assert_eq!(walked.collect::<Vec<_>>(), [(Kind::Tcp, 1), (Kind::Arp, 0), (Kind::Tcp, 2)]);
        // Cut: what was captured of them.
        for captured in 0..frame.len() {
            let found = snapped(LinkType::IEEE802_11, &frame, captured);
            for one in crate::subframes(&frame[..captured], &found) {
                let inner = crate::decode_subframe(&frame[..captured], &one, &Settings::default());
                assert_eq!(inner.broken_promise(&frame[..captured]), None);
            }
        }
        assert_eq!(crate::subframes(&frame, &decoded(LinkType::RAW, &segment)).count(), 0);
        let empty = join(&[&[0x88, 1], &[0; 22], &[0x80, 0], &[0; 20_000]]);
        assert_eq!(crate::subframes(&empty, &decoded(LinkType::IEEE802_11, &empty)).count(), crate::SUBFRAMES_MAX);
    }

    #[test]
    fn everything_else_is_counted() {
        assert_eq!(kind([0x80, 0], &[]), Kind::OtherLink, "beacon");
        assert_eq!(kind([0x48, 1], &[]), Kind::OtherLink, "no data");
        assert_eq!(kind([0x08, 0x41], &[]), Kind::OtherLink, "encrypted");
        assert_eq!(kind([0x08, 0x05], &[]), Kind::OtherLink, "fragmented");
        assert_eq!(decoded(LinkType::IEEE802_11, &[0xd4, 0, 0, 0]).kind, Kind::OtherLink, "acknowledgment");
    }
}
