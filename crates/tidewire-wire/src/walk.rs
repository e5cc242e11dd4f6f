//! The state of a walk over a frame, and the operations that all headers share.
//!
//! `Walk` is a cursor with the steps that every header needs. Each protocol has a file that uses `Walk` and returns
//! what comes next; `dispatch.rs` alone knows all of them. `fast.rs` decodes the common headers without that loop, and
//! gives the same result.

use crate::checksum::{self, Checksum};
use crate::decoded::{Decoded, Kind, Tunnel, TunnelKind};
use crate::malformation::Malformation;
use crate::other_link::OtherLink;
use crate::{Doubts, LinkType, Settings};

/// Bytes of a frame that are read, at most: far above any snap length, and small enough that offsets never overflow.
pub(crate) const FRAME_BYTES_MAX: usize = 1 << 30;

/// The next header, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// None: the walk is complete.
    Done(Kind),
    /// An Ethernet header.
    Ethernet { at: usize },
    /// The header that an EtherType names.
    EtherType { ether_type: u16, at: usize },
    /// An LLC header.
    Llc { at: usize },
    /// A PPP frame.
    Ppp { at: usize },
    /// A PPPoE session header.
    Pppoe { at: usize },
    /// An MPLS label stack.
    Mpls { at: usize },
    /// A network service header.
    Nsh { at: usize },
    /// An 802.11 header; `swapped`: the two bytes of its control field are swapped.
    Ieee80211 { at: usize, swapped: bool },
    /// The first header of a frame of this link type.
    Link { link: LinkType, at: usize },
    /// IPv4 or IPv6, by the first nibble.
    Ip { at: usize },
    /// An IPv4 header.
    Ipv4 { at: usize },
    /// An IPv6 header.
    Ipv6 { at: usize },
    /// The header that an IP protocol number names, in the IP packet that `out` already describes.
    Upper { proto: u8, at: usize },
}

/// The state of a walk.
pub(crate) struct Walk<'a> {
    /// The captured bytes.
    pub(crate) frame: &'a [u8],
    /// End of the layers walked so far, as stated by them (at first: the frame's length on the wire). Never before the
    /// current header; may lie beyond the captured bytes.
    pub(crate) end: usize,
    /// The caller's settings.
    pub(crate) settings: &'a Settings,
    /// The result so far.
    pub(crate) out: &'a mut Decoded,
    /// The flow that carries the current tunnel: the result if the inside is invalid.
    outer: Option<Decoded>,
    /// The end is where the frame was cut: the next header that states a length says where it ended.
    pub(crate) is_cut: bool,
    /// The frame may have been cut before tunnels were added: their content has no end of its own, either.
    is_sliced: bool,
    /// By how much the end was moved.
    pub(crate) moved_bytes: usize,
    /// Encapsulations that may still be entered.
    tunnels_left: u8,
    /// Inside a tunnel over UDP: the datagram that the inside must fill.
    datagram: Option<Datagram>,
    /// Called with the flow that carries each tunnel.
    carriers: Option<&'a mut dyn FnMut(&Decoded)>,
}

/// A UDP datagram that is read as a tunnel. An application on that port receives all of it, so the packet inside must
/// fill it: otherwise the bytes behind that packet would belong to no flow.
#[derive(Clone, Copy, Debug)]
struct Datagram {
    /// Stated end of the datagram, or of the packet inside if padding of a short Ethernet frame follows it.
    end: usize,
    /// The Ethernet header at the beginning of the tunnel's content, if there is one.
    ethernet_at: Option<usize>,
}

/// The shortest Ethernet frame with its check sequence, in bytes (IEEE 802.3, 4.2.3.3): hosts and bridges pad up to here.
const ETHERNET_BYTES_MIN: usize = 64;

impl<'a> Walk<'a> {
    /// Starts at the beginning of a frame that ends at `end`, as stated.
    pub(crate) fn new(frame: &'a [u8], end: usize, settings: &'a Settings, out: &'a mut Decoded) -> Self {
        let tunnels_left = settings.tunnel_depth;
        Self {
            frame,
            end,
            settings,
            out,
            outer: None,
            is_cut: false,
            is_sliced: false,
            moved_bytes: 0,
            tunnels_left,
            datagram: None,
            carriers: None,
        }
    }

    /// Calls a function with the flow that carries each tunnel, from the outside in.
    pub(crate) fn report_carriers(&mut self, each: &'a mut dyn FnMut(&Decoded)) {
        self.carriers = Some(each);
    }

    /// Treats the frame as one that was cut without a note of its length: the first packet in it that reaches beyond the
    /// end says where that was.
    pub(crate) fn slice(&mut self) {
        (self.is_cut, self.is_sliced) = (true, true);
    }

    /// Bounds what follows by the end that a header states. `false`: it lies beyond the current end, which is not where
    /// the frame was cut.
    pub(crate) fn bound(&mut self, stated_end: usize) -> bool {
        if stated_end > self.end {
            if !self.is_cut || stated_end > FRAME_BYTES_MAX {
                return false;
            }
            self.is_sliced = false;
            self.moved_bytes = stated_end - self.end;
        }
        self.is_cut = false;
        self.end = stated_end;
        true
    }

    /// A walk from the same place that changes nothing here and enters no tunnel.
    pub(crate) fn alone<'b>(&'b self, out: &'b mut Decoded) -> Walk<'b> {
        Walk { tunnels_left: 0, ..Walk::new(self.frame, self.end, self.settings, out) }
    }

    /// The flow that carries the current tunnel.
    pub(crate) fn outer(&self) -> Option<Decoded> {
        self.outer
    }

    /// IP of the version that its first nibble states.
    pub(crate) fn ip(&mut self, at: usize) -> Result<Next, Malformation> {
        let [first] = self.header::<1>(at, Malformation::LinkShort, Malformation::LinkCut)?;
        match first >> 4 {
            4 => Ok(Next::Ipv4 { at }),
            6 => Ok(Next::Ipv6 { at }),
            _ => Err(Malformation::IpVersion),
        }
    }

    /// The `N` bytes at `at`. Fails with `short` if the stated lengths leave no room for them, with `cut` if they were
    /// not captured.
    pub(crate) fn header<const N: usize>(
        &self,
        at: usize,
        short: Malformation,
        cut: Malformation,
    ) -> Result<&'a [u8; N], Malformation> {
        if at + N > self.end {
            return Err(if self.is_cut { cut } else { short });
        }
        self.frame.get(at..).and_then(<[u8]>::first_chunk).ok_or(cut)
    }

    /// The `N` bytes at `at`, of a header that may not exist (a tunnel's); `None`: it does not.
    pub(crate) fn bytes<const N: usize>(&self, at: usize) -> Option<&'a [u8; N]> {
        if at + N > self.end {
            return None;
        }
        self.frame.get(at..).and_then(<[u8]>::first_chunk)
    }

    /// Ends the walk at a link-layer protocol that has a name.
    pub(crate) fn other(&mut self, protocol: OtherLink) -> Next {
        self.out.other_link = Some(protocol);
        Next::Done(Kind::OtherLink)
    }

    /// Records the IP header of the flow, and its packet's length (up to the layer's end).
    pub(crate) fn ip_header(&mut self, version: u8, at: usize, ttl: u8) {
        if self.out.ip_version == 0 {
            self.out.outer_ip_at = at as u32;
        }
        self.out.ip_version = version;
        self.out.ttl = ttl;
        self.out.ip_at = at as u32;
        self.out.ip_bytes = (self.end - at) as u32;
        self.out.is_routed = false;
    }

    /// Records the transport header and its payload, which reaches to the end of the layer.
    pub(crate) fn transport(&mut self, proto: u8, transport_at: usize, payload_at: usize) {
        let payload_bytes = self.end.saturating_sub(payload_at);
        let captured = self.frame.len().saturating_sub(payload_at).min(payload_bytes);
        self.out.proto = proto;
        self.out.transport_at = transport_at as u32;
        self.out.payload_at = payload_at as u32;
        self.out.payload_bytes = payload_bytes as u32;
        self.out.payload_captured_bytes = captured as u32;
    }

    /// Handles a transport header truncated by the snap length, `cut`: the flow keeps its addresses, and its ports if
    /// those 4 bytes were captured. `header_bytes` are counted for the header. In a tunnel at least the ports must be
    /// captured, or the packet belongs to the flow that carries it.
    pub(crate) fn header_cut(
        &mut self,
        proto: u8,
        at: usize,
        header_bytes: usize,
        cut: Malformation,
    ) -> Result<Next, Malformation> {
        if at > self.frame.len() || self.outer.is_some() && self.bytes::<4>(at).is_none() {
            return Err(cut);
        }
        self.transport(proto, at, at + header_bytes);
        Ok(Next::Done(Kind::HeaderCut))
    }

    /// Whether the walk is inside a tunnel.
    pub(crate) fn is_in_tunnel(&self) -> bool {
        self.outer.is_some()
    }

    /// Whether one more encapsulation may be entered.
    pub(crate) fn may_enter_tunnel(&self) -> bool {
        self.tunnels_left > 0
    }

    /// Enters the content of a tunnel, or stops if there is none. What `out` describes now, as a flow of this `kind`,
    /// is the result in the second case, and in the first if the inside is not an IP packet, or a malformed one.
    pub(crate) fn through(&mut self, kind: Kind, carried: Option<Carried>) -> Next {
        let Some(carried) = carried.filter(|carried| carried.end <= self.end) else { return Next::Done(kind) };
        let outer = self.outer.insert(Decoded { kind, ..*self.out });
        if let Some(each) = &mut self.carriers {
            each(outer);
        }
        if self.settings.verify_outer && has_wrong_checksum(self.frame, outer) {
            self.out.doubts |= Doubts::OUTER_CHECKSUM;
        }
        self.tunnels_left = self.tunnels_left.saturating_sub(1);
        self.out.tunnel = carried.tunnel;
        self.out.doubts = self.out.doubts.of_outside();
        self.end = carried.end;
        self.is_cut = carried.is_cut || self.is_sliced;
        if self.is_cut {
            // Bytes behind it in the frame are not the content's, and the content need not fill its datagram.
            self.frame = self.frame.get(..carried.end).unwrap_or(self.frame);
            self.datagram = None;
        }
        if let Some(datagram) = &mut self.datagram {
            datagram.ethernet_at = None;
        }
        carried.next
    }

    /// The same for a UDP datagram that ends at the current end: its inside must fill it.
    pub(crate) fn through_datagram(&mut self, kind: Kind, carried: Option<Carried>) -> Next {
        // A Teredo packet may be followed by trailers, which were checked.
        let teredo = carried.as_ref().filter(|carried| carried.tunnel.kind == TunnelKind::Teredo);
        let end = teredo.map_or(self.end, |teredo| teredo.end);
        self.datagram = Some(Datagram { end, ethernet_at: None });
        self.through(kind, carried)
    }

    /// Records an Ethernet header: the first one inside a tunnel's datagram is the one whose frame may be padded.
    pub(crate) fn ethernet_header(&mut self, at: usize) {
        if let Some(datagram) = &mut self.datagram {
            datagram.ethernet_at.get_or_insert(at);
        }
    }

    /// Whether a packet with this stated end leaves nothing of the tunnel's datagram behind it but the padding of a
    /// minimal Ethernet frame. If not, the datagram belongs to its own flow.
    pub(crate) fn fills_datagram(&mut self, packet_end: usize) -> bool {
        let Some(datagram) = &mut self.datagram else { return true };
        let is_short = datagram.ethernet_at.is_some_and(|at| datagram.end - at <= ETHERNET_BYTES_MIN);
        if packet_end != datagram.end && !is_short {
            return false;
        }
        *datagram = Datagram { end: packet_end, ethernet_at: None };
        true
    }
}

/// Whether the end of a tunnel would drop the packet that carries it: its IPv4 header checksum or its UDP checksum is
/// wrong. (A checksum that the sender's card would still have computed is not wrong, nor one that UDP omitted.)
fn has_wrong_checksum(frame: &[u8], outer: &Decoded) -> bool {
    outer.ip_version == 4 && checksum::ipv4_header_checksum(frame, outer) == Checksum::Bad
        || outer.kind == Kind::Udp
            && frame.get(outer.transport_at as usize + 6..outer.transport_at as usize + 8) != Some(&[0, 0])
            && checksum::transport_checksum(frame, outer) == Checksum::Bad
}

/// The content of a tunnel, according to its header.
pub(crate) struct Carried {
    /// The tunnel.
    pub(crate) tunnel: Tunnel,
    /// The first header inside.
    pub(crate) next: Next,
    /// Stated end of the content; it must not exceed that of the carrier.
    pub(crate) end: usize,
    /// The tunnel's header says that the content was cut.
    pub(crate) is_cut: bool,
}

impl Carried {
    /// Content that ends at `end`, and was not cut.
    pub(crate) fn new(kind: TunnelKind, id: u32, next: Next, end: usize) -> Self {
        Self { tunnel: Tunnel { kind, id }, next, end, is_cut: false }
    }
}

/// The 16-bit number at `index` of a header, network byte order.
#[inline]
pub(crate) fn be16<const N: usize>(header: &[u8; N], index: usize) -> u16 {
    u16::from_be_bytes([header[index], header[index + 1]])
}

/// The 32-bit number at `index` of a header, network byte order.
#[inline]
pub(crate) fn be32<const N: usize>(header: &[u8; N], index: usize) -> u32 {
    u32::from_be_bytes([header[index], header[index + 1], header[index + 2], header[index + 3]])
}
