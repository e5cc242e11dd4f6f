//! UDP datagrams in fragments: how many, in which order, and which one is invalid.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    path::Path,
};

use tidewire_lab::{
    craft::{Ip, Piece, frame, udp_datagram},
    pcapfile::Writer,
    random::Random,
};

/// Bytes of a datagram, its UDP header included.
pub(crate) const DATAGRAM_BYTES: usize = 8192;

/// The order in which fragments of a datagram arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The first one first.
    Ascending,
    /// The last one first.
    Descending,
}

/// Fault of the invalid fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It reaches beyond 65,535 bytes.
    OutOfBounds,
    /// It begins eight bytes too early, and so overlaps its predecessor with other bytes.
    Overlap,
    /// It is absent.
    Missing,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OutOfBounds, Self::Overlap, Self::Missing];

    /// In tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out of bounds",
            Self::Overlap => "overlap",
            Self::Missing => "missing",
        }
    }
}

impl Fault {
    /// Name of the fragment, in a title.
    pub fn participle(self) -> &'static str {
        match self {
            Self::Overlap => "overlapping",
            other => other.name(),
        }
    }
}

/// Datagrams in fragments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragments {
    /// Fragments of each datagram.
    pub count: usize,
    /// Their order.
    pub order: Order,
    /// Which one, in the order of arrival from 1, has what fault.
    pub fault: Option<(usize, Fault)>,
}

impl Fragments {
    /// Writes datagrams until the frames have so many bytes. Returns the number of datagrams.
    pub fn write(&self, path: &Path, bytes: u64) -> io::Result<u64> {
        let mut writer = Writer::create(path)?;
        let mut noise = vec![0; DATAGRAM_BYTES];
        Random::new(1).fill(&mut noise);
        let mut ip = Ip::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)));
        let (mut time_us, mut datagrams) = (1_700_000_000_000_000, 0);
        while writer.written().1 < bytes {
            ip.id = ip.id.wrapping_add(1);
            for frame in self.datagram(&ip, &noise) {
                time_us += 1;
                writer.write(time_us, &frame)?;
            }
            datagrams += 1;
        }
        writer.finish()?;
        Ok(datagrams)
    }

    /// The frames of one datagram, in the order of arrival.
    fn datagram(&self, ip: &Ip, noise: &[u8]) -> Vec<Vec<u8>> {
        let datagram = udp_datagram(ip, (5000, 5001), &noise[8..]);
        let each = datagram.len().div_ceil(self.count).next_multiple_of(8);
        let pieces: Vec<&[u8]> = datagram.chunks(each).collect();
        let mut numbers: Vec<usize> = (0..pieces.len()).collect();
        if self.order == Order::Descending {
            numbers.reverse();
        }
        let mut frames = Vec::with_capacity(pieces.len());
        for (arrival, number) in numbers.into_iter().enumerate() {
            let mut offset = (number * each) as u32;
            let mut payload = pieces[number].to_vec();
            match self.fault.filter(|(place, _)| *place == arrival + 1).map(|(_, fault)| fault) {
                Some(Fault::Missing) => continue,
                Some(Fault::OutOfBounds) => offset = 65_528,
                Some(Fault::Overlap) => {
                    // The first fragment has no predecessor: it overlaps its successor.
                    if offset == 0 {
                        payload.extend([0x55; 8]);
                    } else {
                        offset -= 8;
                        payload.iter_mut().take(8).for_each(|byte| *byte ^= 0x55);
                    }
                }
                None => {}
            }
            frames.push(frame(ip, 17, &payload, Some(Piece { offset, more: number + 1 < pieces.len() })));
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use tidewire::DefragPolicy;

    use super::*;
    use crate::feed::feed;

    #[test]
    fn valid_datagrams_are_delivered_and_invalid_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fragments.pcap");
        for order in [Order::Ascending, Order::Descending] {
            for count in [2, 6, 256] {
                let datagrams = Fragments { count, order, fault: None }.write(&path, 200_000).unwrap();
                let fed = feed(&path, DefragPolicy::Linux).unwrap();
                assert_eq!(fed.delivered_bytes, datagrams * (DATAGRAM_BYTES as u64 - 8), "{count} {order:?}");
            }
            for fault in Fault::ALL {
                for place in [1, 8, 16] {
                    Fragments { count: 16, order, fault: Some((place, fault)) }.write(&path, 200_000).unwrap();
                    let fed = feed(&path, DefragPolicy::Rfc5722).unwrap();
                    assert_eq!(fed.delivered_bytes, 0, "{fault:?} at {place}, {order:?}");
                }
            }
        }
    }
}
