//! UDP (RFC 768), and the tunnels over it.

use crate::decoded::{Decoded, Kind};
use crate::ip_protocol::UDP;
use crate::malformation::Malformation::{self, UdpCut, UdpLengthLong, UdpLengthShort, UdpShort};
use crate::walk::{Carried, Next, Walk, be16};
use crate::{ayiya, capwap, geneve, gre, gtpu, l2tp, lisp, mpls, teredo, tzsp, vxlan, vxlan_gpe};

/// The header, in bytes.
pub(crate) const HEADER_BYTES: usize = 8;
const SOURCE: usize = 0;
const DESTINATION: usize = 2;
const LENGTH: usize = 4;
const CHECKSUM: usize = 6;

/// Walks a UDP header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = match walk.header::<HEADER_BYTES>(at, UdpShort, UdpCut) {
        Err(UdpCut) => return walk.header_cut(UDP, at, HEADER_BYTES, UdpCut),
        header => header?,
    };
    let bytes = match usize::from(be16(header, LENGTH)) {
        // RFC 2675, 4: a jumbogram's length field is 0; Linux takes 0 as "the rest" over IPv6, whatever the size.
        0 if walk.out.ip_version == 6 => walk.end - at,
        // Segmentation offload of more than 64 KiB, of a tunnel's datagram (Linux: `udp_set_len_short`). A receiver
        // drops an IPv4 datagram that states 0, but no such datagram is ever on a wire.
        0 if walk.end - at > usize::from(u16::MAX) => walk.end - at,
        stated => stated,
    };
    if bytes < HEADER_BYTES {
        return Err(UdpLengthShort);
    }
    if at + bytes > walk.end {
        return Err(UdpLengthLong);
    }
    if !walk.fills_datagram(at + bytes) {
        return Ok(Next::Done(Kind::OtherLink));
    }
    walk.end = at + bytes;
    walk.transport(UDP, at, at + HEADER_BYTES);
    Ok(walk
        .through_datagram(Kind::Udp, carried(walk, be16(header, SOURCE), be16(header, DESTINATION), at + HEADER_BYTES)))
}

/// The tunnel of these ports with the payload at `at`. The ports alone decide nothing: anyone may use them.
fn carried(walk: &Walk<'_>, source: u16, destination: u16, at: usize) -> Option<Carried> {
    let settings = walk.settings;
    if !walk.may_enter_tunnel() || !settings.udp_tunnel(source, destination) {
        return None;
    }
    let is_either = |port| source == port || destination == port;
    match destination {
        port if settings.vxlan_ports.contains(&port) => vxlan::carried(walk, at),
        port if port == settings.vxlan_gpe_port => vxlan_gpe::carried(walk, at),
        port if port == settings.geneve_port => geneve::carried(walk, at),
        port if port == settings.gre_port => gre::in_udp(walk, at),
        port if port == settings.mpls_port => mpls::carried(walk, at),
        port if port == settings.lisp_port => lisp::carried(walk, at),
        port if port == settings.tzsp_port => tzsp::carried(walk, at),
        _ if is_either(settings.gtpu_port) => gtpu::carried(walk, at),
        _ if is_either(settings.l2tp_port) => l2tp::in_udp(walk, at),
        _ if is_either(settings.capwap_port) => capwap::carried(walk, at),
        _ if is_either(settings.ayiya_port) => ayiya::carried(walk, at),
        _ => teredo::carried(walk, at),
    }
}

/// A UDP header inside a frame (RFC 768). Exists only for [`Kind::Udp`], so all of it is captured.
#[derive(Clone, Copy, Debug)]
pub struct UdpHeader<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> UdpHeader<'a> {
    /// The UDP header of `decoded` in `frame`; `None` unless its kind is [`Kind::Udp`].
    #[inline]
    #[must_use]
    pub fn new(frame: &'a [u8], decoded: &Decoded) -> Option<Self> {
        if decoded.kind != Kind::Udp {
            return None;
        }
        frame.get(decoded.transport_at as usize..)?.first_chunk().map(Self)
    }

    /// Source port; 0 if the sender expects no answer.
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

    /// Length as stated, in bytes, header included; 0 in a jumbogram (RFC 2675, 4).
    #[inline]
    #[must_use]
    pub fn length(&self) -> u16 {
        be16(self.0, LENGTH)
    }

    /// Checksum as sent; 0 over IPv4: none. [`transport_checksum`](crate::transport_checksum) verifies it.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.0, CHECKSUM)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, snapped, udp};
    use crate::{Kind, LinkType, Malformation};

    #[test]
    fn the_length_field_decides_what_is_payload() {
        let found = decoded(LinkType::RAW, &ipv4(17, &join(&[&udp(53, b"abc"), b"trailer"])));
        assert_eq!((found.payload_bytes, found.ip_bytes), (3, 38));
    }

    #[test]
    fn lengths_that_contradict() {
        let with = |length: u8| [0, 1, 0, 2, 0, length, 0, 0, 9, 9];
        let reason = |packet: &[u8]| decoded(LinkType::RAW, packet).malformed;
        assert_eq!(reason(&ipv4(17, &with(11))), Some(Malformation::UdpLengthLong));
        assert_eq!(reason(&ipv4(17, &with(7))), Some(Malformation::UdpLengthShort));
        assert_eq!(reason(&ipv4(17, &with(0))), Some(Malformation::UdpLengthShort));
        assert_eq!(reason(&ipv4(17, &with(9)[..7])), Some(Malformation::UdpShort));
        assert_eq!(decoded(LinkType::RAW, &ipv6(17, &with(0))).payload_bytes, 2, "a jumbogram's length");
        let mut large = ipv4(17, &with(0));
        (large[2], large[3]) = (0, 0);
        large.resize(20 + 0xffff, 0);
        assert_eq!(reason(&large), Some(Malformation::UdpLengthShort));
        large.push(0);
        assert_eq!(decoded(LinkType::RAW, &large).payload_bytes, 0x1_0000 - 8, "more than any wire carries");
        let packet = ipv4(17, &with(10));
        let cut = snapped(LinkType::RAW, &packet, 27);
        assert_eq!((cut.kind, cut.payload_bytes, cut.payload_captured_bytes), (Kind::HeaderCut, 2, 0));
        let cut = snapped(LinkType::RAW, &packet, 29);
        assert_eq!((cut.kind, cut.payload_bytes, cut.payload_captured_bytes), (Kind::Udp, 2, 1));
    }
}
