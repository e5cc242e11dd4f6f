//! Rewrites the addresses of a packet and updates its checksums (RFC 1624).

/// Offsets of a packet's addresses and of the checksums that cover them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// Offset of the source address; the destination address follows.
    addresses: u16,
    /// Whether they are IPv6 addresses.
    ipv6: bool,
    /// IPv4's header checksum; 0: none.
    header_checksum: u16,
    /// TCP's, UDP's or ICMPv6's checksum; 0: none.
    checksum: u16,
    /// A checksum of 0 means that there is none.
    optional: bool,
}

/// The 32 bits of an IPv6 address that change: those in front of the interface identifier.
const V6_WORD_AT: usize = 4;

impl Places {
    /// Finds them in an Ethernet frame, in the outermost packet of a tunnel; `None`: it has no IP addresses.
    pub fn find(frame: &[u8]) -> Option<Self> {
        let mut at = 12;
        let mut kind = u16_at(frame, at)?;
        while matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
            at += 4;
            kind = u16_at(frame, at)?;
        }
        match kind {
            0x0800 => Self::v4(frame, at + 2),
            0x86dd => Self::v6(frame, at + 2),
            _ => None,
        }
    }

    fn v4(frame: &[u8], at: usize) -> Option<Self> {
        let first = *frame.get(at)?;
        let header_bytes = usize::from(first & 15) * 4;
        if first >> 4 != 4 || header_bytes < 20 || frame.len() < at + header_bytes {
            return None;
        }
        let is_first = u16_at(frame, at + 6)? & 0x1fff == 0;
        let (checksum, optional) =
            if is_first { checksum_of(frame, *frame.get(at + 9)?, at + header_bytes) } else { (0, false) };
        let (addresses, header_checksum) = (at as u16 + 12, at as u16 + 10);
        Some(Self { addresses, ipv6: false, header_checksum, checksum, optional })
    }

    fn v6(frame: &[u8], at: usize) -> Option<Self> {
        const HEADER_BYTES: usize = 40;
        if frame.get(at)? >> 4 != 6 || frame.len() < at + HEADER_BYTES {
            return None;
        }
        let (mut next, mut inner) = (*frame.get(at + 6)?, at + HEADER_BYTES);
        let mut is_first = true;
        // Options, routing, fragment, destination options; real traffic has few.
        for _ in 0..8 {
            let bytes = match next {
                0 | 43 | 60 => frame.get(inner + 1).map(|length| (usize::from(*length) + 1) * 8),
                44 => {
                    is_first &= u16_at(frame, inner + 2).is_some_and(|field| field & 0xfff8 == 0);
                    Some(8)
                }
                _ => break,
            };
            let (Some(after), Some(bytes)) = (frame.get(inner), bytes) else {
                is_first = false;
                break;
            };
            (next, inner) = (*after, inner + bytes);
        }
        let (checksum, optional) = if is_first { checksum_of(frame, next, inner) } else { (0, false) };
        Some(Self { addresses: at as u16 + 8, ipv6: true, header_checksum: 0, checksum, optional })
    }

    /// XORs both addresses with `mask`: the whole IPv4 address, or the second
    /// 32 bits of an IPv6 address, which belong to the network prefix.
    pub fn turn(&self, frame: &mut [u8], mask: u32) {
        let (each, word_at) = if self.ipv6 { (16, V6_WORD_AT) } else { (4, 0) };
        let mut change = 0_u32;
        for address in 0..2 {
            let at = usize::from(self.addresses) + each * address + word_at;
            let Some(word) = frame.get_mut(at..at + 4) else { return };
            let before = u32::from_be_bytes(word.first_chunk().copied().unwrap_or_default());
            let after = before ^ mask;
            word.copy_from_slice(&after.to_be_bytes());
            for shift in [16, 0] {
                change += u32::from(!((before >> shift) as u16)) + u32::from((after >> shift) as u16);
            }
        }
        adjust(frame, self.header_checksum, change, false);
        adjust(frame, self.checksum, change, self.optional);
    }
}

/// Offset of the transport checksum that covers the addresses, if it was captured.
fn checksum_of(frame: &[u8], proto: u8, at: usize) -> (u16, bool) {
    let (offset, optional) = match proto {
        6 => (16, false),
        17 => (6, true),
        58 => (2, false),
        // DCCP and UDP-Lite.
        33 | 136 => (6, false),
        _ => return (0, false),
    };
    let place = at + offset;
    if u16_at(frame, place).is_some() { (place as u16, optional) } else { (0, false) }
}

fn adjust(frame: &mut [u8], at: u16, change: u32, optional: bool) {
    if at == 0 {
        return;
    }
    let at = usize::from(at);
    let (Some(before), Some(place)) = (u16_at(frame, at), frame.get_mut(at..at + 2)) else { return };
    if optional && before == 0 {
        return;
    }
    let mut sum = u32::from(!before) + change;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let after = !(sum as u16);
    let after = if optional && after == 0 { 0xffff } else { after };
    place.copy_from_slice(&after.to_be_bytes());
}

fn u16_at(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}

/// The mask of the `turn`th loop: zero in the first, then the higher ones of the lower 24 bits first, so that
/// adjacent addresses of the capture do not become each other.
pub(super) fn mask(turn: u64) -> u32 {
    (turn as u32 & 0x00ff_ffff).reverse_bits() >> 8
}

/// Which end sends a frame: all packets of one direction of a conversation have the same end, those of the other direction the
/// other.
pub(super) fn end(frame: &[u8], places: Option<Places>) -> usize {
    let Some(places) = places else { return 0 };
    let (at, each) = (usize::from(places.addresses), if places.ipv6 { 16 } else { 4 });
    let source = frame.get(at..at + each);
    let destination = frame.get(at + each..at + 2 * each);
    usize::from(source > destination)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::craft::{Ip, Tcp, frame, tcp_segment, udp_datagram};

    fn ip(source: &str, destination: &str) -> Ip {
        Ip::new(source.parse().unwrap(), destination.parse().unwrap())
    }

    #[test]
    fn checksums_stay_right() {
        for (a, b, c, d) in [
            ("10.1.2.3", "192.168.9.8", "10.129.2.3", "192.40.9.8"),
            ("2001:db8::1", "fe80::2", "2001:db8:80:0::1", "fe80:0:80::2"),
        ] {
            let (before, after) = (ip(a, b), ip(c, d));
            for length in 0..40 {
                let payload: Vec<u8> = (0..length).collect();
                let tcp = Tcp { seq: 7, flags: 0x18, ..Tcp::default() };
                let made = |ip: &Ip| {
                    [
                        frame(ip, 6, &tcp_segment(ip, &tcp, &payload), None),
                        frame(ip, 17, &udp_datagram(ip, (1, 2), &payload), None),
                        frame(ip, 132, &payload, None),
                    ]
                };
                for (mut frame, wanted) in made(&before).into_iter().zip(made(&after)) {
                    let places = Places::find(&frame).unwrap();
                    places.turn(&mut frame, mask(1));
                    assert_eq!(frame, wanted);
                }
            }
        }
    }

    #[test]
    fn a_datagram_without_checksum_keeps_none() {
        let ip = ip("10.1.2.3", "192.168.9.8");
        let mut frame = frame(&ip, 17, &[0, 1, 0, 2, 0, 8, 0, 0], None);
        Places::find(&frame).unwrap().turn(&mut frame, mask(5));
        assert_eq!(frame[40..42], [0, 0]);
    }

    #[test]
    fn what_is_cut_or_no_ip_is_left_alone() {
        let ip = ip("2001:db8::1", "fe80::2");
        let whole = frame(&ip, 6, &tcp_segment(&ip, &Tcp::default(), b"payload"), None);
        for length in 0..whole.len() {
            let mut cut = whole[..length].to_vec();
            if let Some(places) = Places::find(&cut) {
                places.turn(&mut cut, mask(3));
            }
        }
        assert_eq!(Places::find(&[[2; 12].as_slice(), &[8, 6], &[0; 40]].concat()), None);
    }

    #[test]
    fn masks_differ() {
        let masks: std::collections::HashSet<u32> = (0..10_000).map(mask).collect();
        assert_eq!((masks.len(), mask(0), mask(1)), (10_000, 0, 0x0080_0000));
    }
}
