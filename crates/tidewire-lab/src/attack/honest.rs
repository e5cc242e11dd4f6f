//! Honest connections among the attacker's packets: with handshake and close, some of their segments late.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use crate::{
    craft::{ACK, FIN, PSH, Peer, SYN, tcp_frame},
    random::{Random, mix},
};

/// Data segments of a server.
const SEGMENTS: u32 = 40;
/// Bytes of each.
const SEGMENT_BYTES: u32 = 1400;
/// Bytes of the client's request.
const REQUEST_BYTES: u32 = 300;
/// Of 100 segments, how many arrive late.
const LATE_PERCENT: u64 = 3;
/// The server's port, which identifies honest connections.
pub const PORT: u16 = 443;

/// Bytes that each side of a connection delivers: client, server.
pub const BYTES: [u64; 2] = [REQUEST_BYTES as u64, (SEGMENTS * SEGMENT_BYTES) as u64];

/// How many honest connections there are, and how late their late segments are.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Connections at a time.
    pub at_once: usize,
    /// A late segment arrives 1 to this many segments late.
    pub late_max: u64,
}

impl Load {
    /// That of `make attack`.
    pub const USUAL: Self = Self { at_once: 1000, late_max: 8 };
}

/// A packet that is not sent yet, relative to the initial sequence numbers of both sides.
#[derive(Clone, Copy)]
struct Planned {
    from_server: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    bytes: u32,
}

struct Connection {
    n: u64,
    planned: VecDeque<Planned>,
}

/// Honest connections, under a fixed load.
pub struct Honest {
    open: Vec<Connection>,
    load: Load,
    random: Random,
    noise: Vec<u8>,
    /// Connections opened so far.
    pub begun: u64,
}

impl Honest {
    /// None yet.
    #[must_use]
    pub fn new(load: Load) -> Self {
        let mut random = Random::new(11);
        let mut noise = vec![0; 2048];
        random.fill(&mut noise);
        Self { open: Vec::new(), load, random, noise, begun: 0 }
    }

    fn plan(&mut self) -> VecDeque<Planned> {
        let packet = |from_server, flags, seq, ack, bytes| Planned { from_server, flags, seq, ack, bytes };
        let mut planned = VecDeque::from([
            packet(false, SYN, 0, 0, 0),
            packet(true, SYN | ACK, 0, 1, 0),
            packet(false, ACK, 1, 1, 0),
            packet(false, ACK | PSH, 1, 1, REQUEST_BYTES),
        ]);
        let request_end = 1 + REQUEST_BYTES;
        // The position of each segment: its own, or a few later.
        let mut order: Vec<(u32, u32)> = (0..SEGMENTS)
            .map(|number| {
                let is_late = self.random.below(100) < LATE_PERCENT;
                (
                    number * 2 + if is_late { 1 + 2 * (1 + self.random.below(self.load.late_max) as u32) } else { 0 },
                    number,
                )
            })
            .collect();
        order.sort_unstable();
        let mut seen = [false; SEGMENTS as usize];
        for (count, (_, number)) in order.into_iter().enumerate() {
            planned.push_back(packet(true, ACK, 1 + number * SEGMENT_BYTES, request_end, SEGMENT_BYTES));
            seen[number as usize] = true;
            if count % 2 == 1 {
                let whole = seen.iter().take_while(|seen| **seen).count() as u32;
                planned.push_back(packet(false, ACK, request_end, 1 + whole * SEGMENT_BYTES, 0));
            }
        }
        let end = 1 + SEGMENTS * SEGMENT_BYTES;
        planned.push_back(packet(true, FIN | ACK, end, request_end, 0));
        planned.push_back(packet(false, FIN | ACK, request_end, end + 1, 0));
        planned.push_back(packet(true, ACK, end + 1, request_end + 1, 0));
        planned
    }

    /// The next frame. With `ends` no connection is opened any more; `None` when all have ended.
    pub fn next_frame(&mut self, ends: bool) -> Option<Vec<u8>> {
        while !ends && self.open.len() < self.load.at_once {
            let planned = self.plan();
            self.open.push(Connection { n: self.begun, planned });
            self.begun += 1;
        }
        if self.open.is_empty() {
            return None;
        }
        let at = self.random.below(self.open.len() as u64) as usize;
        let connection = &mut self.open[at];
        let n = connection.n;
        let planned = connection.planned.pop_front()?;
        if connection.planned.is_empty() {
            self.open.swap_remove(at);
        }
        Some(self.frame(n, planned))
    }

    fn frame(&self, n: u64, planned: Planned) -> Vec<u8> {
        let host = (n / 30_000) as u32 * 256 + (mix(n) % 200) as u32;
        let (client, server): (IpAddr, IpAddr) = if n.is_multiple_of(2) {
            let address = |base: u32| Ipv4Addr::from_bits(base + host);
            (address(0x0a01_0000).into(), Ipv4Addr::from_bits(0x0a80_0000 + (mix(n) >> 32) as u32 % 50).into())
        } else {
            let address = |base: u128, host: u32| Ipv6Addr::from_bits(base << 112 | u128::from(host));
            (address(0xfd01, host).into(), address(0xfd02, (mix(n) >> 32) as u32 % 50).into())
        };
        let peer = |address, port, seq| Peer { at: SocketAddr::new(address, port), seq };
        let (client_isn, server_isn) = (mix(n ^ 1) as u32, mix(n ^ 2) as u32);
        let (isn, other) = if planned.from_server { (server_isn, client_isn) } else { (client_isn, server_isn) };
        let client = peer(client, 20_000 + (n % 30_000) as u16, 0);
        let server = peer(server, PORT, 0);
        let (mut from, mut to) = if planned.from_server { (server, client) } else { (client, server) };
        from.seq = isn.wrapping_add(planned.seq);
        to.seq = other.wrapping_add(planned.ack);
        tcp_frame(&mut from, &to, planned.flags, &self.noise[..planned.bytes as usize])
    }
}
