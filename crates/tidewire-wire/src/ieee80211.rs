//! 802.11 data frames (IEEE 802.11-2020, 9.2 and 9.3.2). Others, and encrypted or fragmented ones, are counted as other link traffic.

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
const SUBFRAME_BYTES: usize = 14;

/// An 802.11 header at `at`; `padded`: the driver padded it to a multiple of 4 bytes (radiotap says so).
///
/// Of an aggregate (A-MSDU) only the first subframe is walked: a frame has one fate, and drivers hand such
/// frames on one subframe at a time nearly always.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize, padded: bool) -> Result<Next, Malformation> {
    let &control = walk.header::<2>(at, LinkShort, LinkCut)?;
    data(walk, at, control, padded)
}

/// An 802.11 header in a tunnel; `swapped`: some senders' control fields have their bytes in the other order.
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
    walk.end = walk.end.min(at + SUBFRAME_BYTES + usize::from(be16(subframe, 12)));
    Ok(Next::Llc { at: at + SUBFRAME_BYTES })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, join, snap, tcp};
    use crate::{Kind, LinkType};

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
    fn everything_else_is_counted() {
        assert_eq!(kind([0x80, 0], &[]), Kind::OtherLink, "beacon");
        assert_eq!(kind([0x48, 1], &[]), Kind::OtherLink, "no data");
        assert_eq!(kind([0x08, 0x41], &[]), Kind::OtherLink, "encrypted");
        assert_eq!(kind([0x08, 0x05], &[]), Kind::OtherLink, "fragmented");
        assert_eq!(decoded(LinkType::IEEE802_11, &[0xd4, 0, 0, 0]).kind, Kind::OtherLink, "acknowledgment");
    }
}
