//! IPv4 and IPv6: overlapping fragments, and what a UDP socket and a raw socket received.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    os::fd::OwnedFd,
};

use super::{
    arrange::{Interval, all, byte, holes},
    network::{Network, host},
};
use tidewire_live::sys::net::{accept_no_checksum, grow_buffer, raw_socket};
use tidewire_types::ip_protocol::UDP;

use crate::craft::{Ip, Piece, frame};

/// Bytes of a unit of the grid: fragments begin at multiples of eight.
const UNIT: u32 = 8;
/// The host's UDP port.
const PORT: u16 = 7778;
/// A protocol for experiments (RFC 3692), which a raw socket receives.
pub const EXPERIMENT: u8 = 253;
/// Receive buffer, bytes.
const BUFFER_BYTES: i32 = 64 << 20;

/// When the first units, which hold the UDP header, are sent; without them a chunk may begin the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// They are not sent separately.
    None,
    /// Before all chunks.
    First,
    /// After them.
    Last,
}

/// Which fragments are marked as the last of their datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The chunks that reach farthest.
    Chunks,
    /// A separate one, before all chunks.
    First,
    /// A separate one, after them.
    Last,
}

/// A fragment: offset, bytes, whether more fragments follow.
pub type Fragment = (u32, Vec<u8>, bool);

/// Fragments with one identification.
#[derive(Clone, Debug)]
pub struct Case {
    /// IPv6 instead of IPv4.
    pub is_ipv6: bool,
    /// UDP or the experimental protocol.
    pub proto: u8,
    /// The sender's address, which is different for each case.
    pub source: IpAddr,
    /// In the order of arrival.
    pub fragments: Vec<Fragment>,
}

impl Case {
    /// The chunks between lead and tail, then fragments that fill the holes; `again`: then a clean datagram with the same
    /// identification.
    fn order(chunks: &[Interval], lead: Lead, tail: Tail, again: bool) -> Vec<(Interval, bool)> {
        let shift = u32::from(lead != Lead::None);
        let moved = chunks.iter().map(|one| Interval { start: one.start + shift, end: one.end + shift });
        let mut order: Vec<Interval> = moved.collect();
        let mut end = order.iter().map(|one| one.end).max().unwrap_or(0);
        let own = Interval { start: end, end: end + 1 };
        let first = Interval { start: 0, end: 1 };
        match tail {
            Tail::Chunks => {}
            Tail::First => order.insert(0, own),
            Tail::Last => order.push(own),
        }
        match lead {
            Lead::None => {}
            Lead::First => order.insert(0, first),
            Lead::Last => order.push(first),
        }
        end += u32::from(tail != Tail::Chunks);
        order.extend(holes(&order, end));
        let mut order: Vec<(Interval, bool)> = order.into_iter().map(|one| (one, one.end < end)).collect();
        if again {
            order.push((first, end > 1));
            if end > 1 {
                order.push((Interval { start: 1, end }, false));
            }
        }
        order
    }

    fn with_bytes(order: &[(Interval, bool)], is_ipv6: bool, proto: u8, number: u32) -> Self {
        let end = order.iter().map(|(one, _)| one.end).max().unwrap_or(0) * UNIT;
        let source = if is_ipv6 {
            Ipv6Addr::new(0xfd77, 0, 0, 1, 0, 0, (number >> 16) as u16, number as u16).into()
        } else {
            Ipv4Addr::from_bits(0x0a80_0000 + number).into()
        };
        let bytes = |chunk: usize, one: &Interval| {
            let mut bytes: Vec<u8> = (one.start * UNIT..one.end * UNIT).map(|at| byte(chunk, at)).collect();
            if proto == UDP && one.start == 0 {
                // No checksum: the bytes of the reassembled datagram are not known.
                bytes[..2].copy_from_slice(&PORT.to_be_bytes());
                bytes[2..4].copy_from_slice(&PORT.to_be_bytes());
                bytes[4..6].copy_from_slice(&(end as u16).to_be_bytes());
                bytes[6..8].fill(0);
            }
            bytes
        };
        let fragment = |(chunk, (one, more)): (usize, &(Interval, bool))| (one.start * UNIT, bytes(chunk, one), *more);
        Self { is_ipv6, proto, source, fragments: order.iter().enumerate().map(fragment).collect() }
    }

    /// The frames, as they are sent.
    #[must_use]
    pub fn frames(&self) -> Vec<Vec<u8>> {
        let mut ip = Ip::new(self.source, host(self.is_ipv6));
        ip.id = 0x4242;
        let piece = |offset, more| Some(Piece { offset, more });
        let frames = self.fragments.iter();
        frames.map(|(offset, bytes, more)| frame(&ip, self.proto, bytes, piece(*offset, *more))).collect()
    }

    /// The part of an IP payload that an application receives: for UDP the stated length, without the header.
    #[must_use]
    pub fn application_gets(&self, payload: &[u8]) -> Option<Vec<u8>> {
        if self.proto != UDP {
            return Some(payload.to_vec());
        }
        let length = usize::from(u16::from_be_bytes([*payload.get(4)?, *payload.get(5)?]));
        payload.get(8..length).map(<[u8]>::to_vec)
    }
}

/// Every arrangement of up to three chunks with every lead and tail.
#[must_use]
pub fn cases(is_ipv6: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for chunks in (1..=3).flat_map(all) {
        for lead in [Lead::None, Lead::First, Lead::Last] {
            for tail in [Tail::Chunks, Tail::First, Tail::Last] {
                for again in [false, true] {
                    let order = Case::order(&chunks, lead, tail, again);
                    for proto in [UDP, EXPERIMENT] {
                        if proto == EXPERIMENT || lead != Lead::None {
                            cases.push(Case::with_bytes(&order, is_ipv6, proto, cases.len() as u32));
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Plays cases and returns what the application received for each.
///
/// # Errors
/// The error of the kernel.
pub fn play(network: &Network, cases: &[Case]) -> io::Result<Vec<Vec<Vec<u8>>>> {
    let is_ipv6 = cases.first().is_some_and(|case| case.is_ipv6);
    let open = move |raw: bool| {
        let socket: OwnedFd = if raw {
            raw_socket(is_ipv6, EXPERIMENT)?
        } else {
            let socket = UdpSocket::bind((host(is_ipv6), PORT))?.into();
            if is_ipv6 { accept_no_checksum(socket)? } else { socket }
        };
        let socket = UdpSocket::from(grow_buffer(socket, BUFFER_BYTES)?);
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    let sockets = [network.on_host(move || open(false))?, network.on_host(move || open(true))?];
    for case in cases {
        for frame in case.frames() {
            network.wire.send(&frame)?;
        }
        while network.wire.receive(0)?.is_some() {}
    }
    // The last packets may not have arrived yet.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let mut received: HashMap<IpAddr, Vec<Vec<u8>>> = HashMap::new();
    let mut buffer = vec![0; 1 << 16];
    for (socket, is_raw) in sockets.iter().zip([false, true]) {
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((count, from)) => {
                    // Raw sockets of IPv4 receive the header as well.
                    let skip = if is_raw && !is_ipv6 { 20 } else { 0 };
                    received.entry(from.ip()).or_default().push(buffer[skip..count].to_vec());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(cases.iter().map(|case| received.remove(&case.source).unwrap_or_default()).collect())
}
