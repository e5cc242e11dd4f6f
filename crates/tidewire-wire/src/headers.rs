//! Views of all headers of a decoded packet.

use crate::decoded::Decoded;
use crate::ethernet::EthernetHeader;
use crate::icmp::IcmpHeader;
use crate::ipv4::Ipv4Header;
use crate::ipv6::Ipv6Header;
use crate::sctp::SctpHeader;
use crate::tcp::TcpHeader;
use crate::udp::UdpHeader;
use crate::{LinkType, Vlans};

/// The headers of a packet, as views of its captured bytes: nothing is copied, and no getter panics, whatever the bytes are.
///
/// Network and transport headers are those of the flow: in a tunnel the innermost that could be walked
/// ([`Decoded`]). A getter returns `None` for a header that is absent, or whose fixed part was not
/// captured.
///
/// ```
/// use tidewire_wire::{Headers, LinkType, Settings, decode};
///
/// let frame = [
///     2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, // Ethernet
///     0x45, 0, 0, 33, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
///     0x9c, 0x40, 0, 53, 0, 13, 0, 0, // UDP
///     b'h', b'e', b'l', b'l', b'o',
/// ];
/// let decoded = decode(LinkType::ETHERNET, &frame, frame.len() as u32, &Settings::default());
/// let headers = Headers::new(LinkType::ETHERNET, &frame, &decoded);
/// assert_eq!(headers.ipv4().map(|ip| ip.ttl()), Some(64));
/// assert_eq!(headers.udp().map(|udp| udp.destination_port()), Some(53));
/// assert!(headers.tcp().is_none());
/// assert_eq!(headers.payload(), b"hello");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    link: LinkType,
    bytes: &'a [u8],
    decoded: &'a Decoded,
}

impl<'a> Headers<'a> {
    /// The headers of `bytes`, a frame of this link type that was decoded.
    #[must_use]
    #[inline]
    pub const fn new(link: LinkType, bytes: &'a [u8], decoded: &'a Decoded) -> Self {
        Self { link, bytes, decoded }
    }

    /// The link type of the frame.
    #[must_use]
    #[inline]
    pub const fn link(&self) -> LinkType {
        self.link
    }

    /// The captured bytes.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The result of the walk.
    #[must_use]
    #[inline]
    pub const fn decoded(&self) -> &'a Decoded {
        self.decoded
    }

    /// The Ethernet header that the frame begins with.
    #[must_use]
    pub fn ethernet(&self) -> Option<EthernetHeader<'a>> {
        EthernetHeader::new(self.link, self.bytes)
    }

    /// The ids of the first two VLAN tags, of any link type; priorities are in [`EthernetHeader::tags`].
    #[must_use]
    pub const fn vlans(&self) -> Vlans {
        self.decoded.vlans
    }

    /// The IPv4 header of the flow.
    #[must_use]
    pub fn ipv4(&self) -> Option<Ipv4Header<'a>> {
        Ipv4Header::at(self.bytes, self.decoded.ip_at as usize).filter(|_| self.decoded.ip_version == 4)
    }

    /// The IPv6 header of the flow.
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Header<'a>> {
        Ipv6Header::at(self.bytes, self.decoded.ip_at as usize).filter(|_| self.decoded.ip_version == 6)
    }

    /// The outermost IPv4 header: outside of tunnels that of the flow.
    #[must_use]
    pub fn outer_ipv4(&self) -> Option<Ipv4Header<'a>> {
        Ipv4Header::at(self.bytes, self.decoded.outer_ip_at as usize).filter(|_| self.decoded.ip_version != 0)
    }

    /// The outermost IPv6 header: outside of tunnels that of the flow.
    #[must_use]
    pub fn outer_ipv6(&self) -> Option<Ipv6Header<'a>> {
        Ipv6Header::at(self.bytes, self.decoded.outer_ip_at as usize).filter(|_| self.decoded.ip_version != 0)
    }

    /// The TCP header.
    #[must_use]
    pub fn tcp(&self) -> Option<TcpHeader<'a>> {
        TcpHeader::new(self.bytes, self.decoded)
    }

    /// The UDP header; UDP-Lite has none of this form.
    #[must_use]
    pub fn udp(&self) -> Option<UdpHeader<'a>> {
        UdpHeader::new(self.bytes, self.decoded)
    }

    /// The common header of an SCTP packet.
    #[must_use]
    pub fn sctp(&self) -> Option<SctpHeader<'a>> {
        SctpHeader::new(self.bytes, self.decoded)
    }

    /// The ICMP or ICMPv6 message.
    #[must_use]
    pub fn icmp(&self) -> Option<IcmpHeader<'a>> {
        IcmpHeader::new(self.bytes, self.decoded)
    }

    /// The captured payload of the transport, without padding; of a fragment its part of the datagram. Empty where there is no
    /// transport.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let at = self.decoded.payload_at as usize;
        let end = at.saturating_add(self.decoded.payload_captured_bytes as usize);
        self.bytes.get(at..end).unwrap_or_default()
    }
}

/// The views of [`Headers`] as methods of a type that has `headers()`, with references that live as long as `$life`.
#[doc(hidden)]
#[macro_export]
macro_rules! header_views {
    ($life:lifetime) => {
        $crate::header_views! { $life,
            /// The Ethernet header that the frame begins with (IEEE 802.3, 3.1.1).
            ethernet: EthernetHeader;
            /// The IPv4 header (RFC 791, 3.1) of the flow: in a tunnel the innermost.
            ipv4: Ipv4Header;
            /// The IPv6 header (RFC 8200, 3) of the flow: in a tunnel the innermost.
            ipv6: Ipv6Header;
            /// The TCP header (RFC 9293, 3.1).
            tcp: TcpHeader;
            /// The UDP header (RFC 768).
            udp: UdpHeader;
            /// The common header of an SCTP packet (RFC 9260, 3.1).
            sctp: SctpHeader;
            /// The ICMP (RFC 792) or ICMPv6 (RFC 4443) message.
            icmp: IcmpHeader;
        }

        /// The ids of the first two VLAN tags; priorities are in [`ethernet`](Self::ethernet).
        #[must_use]
        pub fn vlans(&self) -> $crate::Vlans {
            self.headers().vlans()
        }

        /// The captured payload of the transport, without padding; of a fragment its part of the datagram.
        #[must_use]
        pub fn payload(&self) -> &$life [u8] {
            self.headers().payload()
        }
    };
    ($life:lifetime, $($(#[$doc:meta])+ $name:ident: $view:ident;)+) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $name(&self) -> Option<$crate::$view<$life>> {
                self.headers().$name()
            }
        )+
    };
}
