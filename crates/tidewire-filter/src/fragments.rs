//! Later fragments of a datagram, which have no ports: they are accepted with its first one.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    time::Duration,
};

use tidewire_wire::{Kind, LinkType, Settings, addresses, decode};

/// Datagrams of which the first fragment was accepted, at most; then the oldest is forgotten.
const DATAGRAMS_MAX: usize = 4096;
/// How long fragments of a datagram may take: as long as hosts wait for them (RFC 8200, section 4.5: a minute).
const LIFETIME: Duration = Duration::from_secs(60);
/// Ethernet's types in front of IPv4 and IPv6, and IPv6's next headers behind which a fragment header may be.
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const BEFORE_FRAGMENTS: [u8; 5] = [0, 43, 44, 60, 135];

/// Fields that the fragments of a datagram share (RFC 791, section 3.2; RFC 8200, section 4.5). The protocol of IPv6 is in the
/// first alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Datagram {
    ends: (IpAddr, IpAddr),
    id: u32,
    proto: u8,
}

/// The datagrams of which the first fragment was accepted.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    /// When the first fragment came.
    accepted: HashMap<Datagram, u64>,
    order: VecDeque<Datagram>,
}

impl Fragments {
    /// Whether a frame is accepted: `is_accepted` by itself, or as a later fragment of a datagram whose first one was. Frames have to
    /// come in the order of the capture; a fragment in front of the first one is not known yet.
    pub fn accepts(
        &mut self,
        link: LinkType,
        bytes: &[u8],
        wire_bytes: u32,
        timestamp_ns: u64,
        is_accepted: bool,
    ) -> bool {
        if !is_accepted && self.accepted.is_empty() || !may_be_fragment(link, bytes) {
            return is_accepted;
        }
        let decoded = decode(link, bytes, wire_bytes, &Settings::default().with_tunnel_depth(0));
        if decoded.kind != Kind::Fragment {
            return is_accepted;
        }
        let proto = if decoded.ip_version == 4 { decoded.fragment.proto } else { 0 };
        let datagram = Datagram { ends: addresses(bytes, &decoded), id: decoded.fragment.id, proto };
        let is_first = decoded.fragment.offset_bytes == 0;
        if is_accepted {
            if is_first && self.accepted.insert(datagram, timestamp_ns).is_none() {
                self.order.push_back(datagram);
                if self.order.len() > DATAGRAMS_MAX
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.accepted.remove(&oldest);
                }
            }
            return true;
        }
        let begun_ns = self.accepted.get(&datagram);
        !is_first && begun_ns.is_some_and(|begun_ns| timestamp_ns.abs_diff(*begun_ns) <= LIFETIME.as_nanos() as u64)
    }
}

/// Whether an Ethernet frame with IP and without tags can be ruled out, which most are; others are looked at.
fn may_be_fragment(link: LinkType, bytes: &[u8]) -> bool {
    if link != LinkType::ETHERNET {
        return true;
    }
    match bytes.get(12..).and_then(<[u8]>::first_chunk::<9>) {
        // More fragments, or an offset.
        Some([a, b, ..]) if [*a, *b] == IPV4 => {
            bytes.get(20..22).is_some_and(|field| field[0] & 0x3f != 0 || field[1] != 0)
        }
        Some([a, b, .., next]) if [*a, *b] == IPV6 => BEFORE_FRAGMENTS.contains(next),
        Some(_) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame with a fragment of UDP.
    fn fragment(id: u16, offset: u16, more: bool) -> Vec<u8> {
        let place = (offset / 8) | if more { 0x2000 } else { 0 };
        let mut frame = [&[0; 12][..], &IPV4, &[0x45, 0, 0, 36]].concat();
        frame.extend([id.to_be_bytes(), place.to_be_bytes()].concat());
        frame.extend([64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend([0; 16]);
        frame
    }

    fn accepts(fragments: &mut Fragments, frame: &[u8], time_ns: u64, by_itself: bool) -> bool {
        fragments.accepts(LinkType::ETHERNET, frame, frame.len() as u32, time_ns, by_itself)
    }

    #[test]
    fn later_fragments_go_with_the_first() {
        let mut fragments = Fragments::default();
        assert!(!accepts(&mut fragments, &fragment(1, 16, true), 0, false), "its first was not accepted");
        assert!(accepts(&mut fragments, &fragment(1, 0, true), 0, true));
        assert!(accepts(&mut fragments, &fragment(1, 16, true), 1, false));
        assert!(accepts(&mut fragments, &fragment(1, 32, false), 1, false));
        assert!(!accepts(&mut fragments, &fragment(2, 16, false), 1, false), "another datagram");
        assert!(!accepts(&mut fragments, &fragment(1, 16, true), 61_000_000_000, false), "too late");
        assert!(!accepts(&mut fragments, &fragment(1, 0, true), 1, false), "a first one has ports of its own");
    }

    #[test]
    fn the_datagrams_are_bounded() {
        let mut fragments = Fragments::default();
        for id in 0..u16::MAX {
            accepts(&mut fragments, &fragment(id, 0, true), 0, true);
        }
        assert_eq!((fragments.accepted.len(), fragments.order.len()), (DATAGRAMS_MAX, DATAGRAMS_MAX));
        assert!(accepts(&mut fragments, &fragment(u16::MAX - 1, 16, false), 0, false));
        assert!(!accepts(&mut fragments, &fragment(0, 16, false), 0, false), "the oldest are forgotten");
    }
}
