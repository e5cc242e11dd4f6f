//! Floods: packets that consume memory and CPU time. A packet depends on its number alone, so that the generator has no
//! tables whose memory would be measured.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{
    craft::{ACK, FIN, Ip, PSH, Peer, Piece, SYN, frame, packet, tcp_frame, udp_datagram},
    random::{Random, mix},
};

/// A kind of flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// No attack, the reference: connections with 1,400 bytes a packet, in order.
    Benign,
    /// Connections joined midway: one forged packet with one byte each.
    Midstream,
    /// The same with 1,400 bytes.
    MidstreamFull,
    /// Handshakes of a quarter of all packets, then a hole with one byte behind it in each.
    HandshakeHoles,
    /// Only SYN and SYN-ACK.
    SynAck,
    /// SYNs, each of another connection: half-open connections.
    Syn,
    /// 3,000 connections with 500 one-byte holes each, in turn.
    Holes500,
    /// The same with 1,000.
    Holes1000,
    /// The same with 3,000.
    Holes3000,
    /// A hole with eight segments of 1,400 bytes behind it, in every connection.
    FullHoles,
    /// Eight segments of 1,400 bytes, each behind a hole of one byte, in every connection.
    ByteHoles,
    /// 36 segments of 1,400 bytes in order, then a hole with 46 behind it, about a window, in every connection.
    WindowHoles,
    /// Segments of one byte; of every 512 first those at odd offsets, then those at even ones.
    TinySegments,
    /// Behind a hole, segments with different bytes that all overlap each other.
    Overlaps,
    /// First fragments of 1,400 bytes whose datagrams are never completed.
    Unfinished,
    /// Fragments of 16 bytes, each of which overlaps the previous one by 8.
    OverlappingFragments,
    /// New flows of one datagram eight IP headers deep.
    Tunnels,
    /// New UDP flows of one datagram.
    Udp,
}

impl Flood {
    /// Every kind, the reference first.
    pub const ALL: &'static [Self] = &[
        Self::Benign,
        Self::Midstream,
        Self::MidstreamFull,
        Self::HandshakeHoles,
        Self::SynAck,
        Self::Syn,
        Self::Holes500,
        Self::Holes1000,
        Self::Holes3000,
        Self::FullHoles,
        Self::ByteHoles,
        Self::WindowHoles,
        Self::TinySegments,
        Self::Overlaps,
        Self::Unfinished,
        Self::OverlappingFragments,
        Self::Tunnels,
        Self::Udp,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Benign => "benign",
            Self::Midstream => "midstream",
            Self::MidstreamFull => "midstream-full",
            Self::HandshakeHoles => "handshake-holes",
            Self::SynAck => "syn-ack",
            Self::Syn => "syn",
            Self::Holes500 => "holes-500",
            Self::Holes1000 => "holes-1000",
            Self::Holes3000 => "holes-3000",
            Self::FullHoles => "full-holes",
            Self::ByteHoles => "byte-holes",
            Self::WindowHoles => "window-holes",
            Self::TinySegments => "tiny-segments",
            Self::Overlaps => "overlaps",
            Self::Unfinished => "unfinished-fragments",
            Self::OverlappingFragments => "overlapping-fragments",
            Self::Tunnels => "tunnels",
            Self::Udp => "udp",
        }
    }

    /// Whether its bytes must be copied and compared, which costs more than delivering them.
    #[must_use]
    pub fn is_copied(self) -> bool {
        matches!(
            self,
            Self::FullHoles
                | Self::ByteHoles
                | Self::WindowHoles
                | Self::Overlaps
                | Self::OverlappingFragments
                | Self::Unfinished
                | Self::MidstreamFull
        )
    }
}

/// Source and destination addresses of an attacker's packets.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Source addresses.
    pub sources: u64,
    /// Destination addresses.
    pub destinations: u64,
    /// IPv6 instead of IPv4.
    pub is_v6: bool,
}

/// Connections open at once, unless the flood specifies their number.
const OPEN: u64 = 1024;

/// Generates a flood's frames.
pub struct Maker {
    flood: Flood,
    crowd: Crowd,
    packets: u64,
    random: Random,
    noise: Vec<u8>,
    at: u64,
}

impl Maker {
    /// A flood of `packets` packets. Some floods have phases, which depend on that number.
    #[must_use]
    pub fn new(flood: Flood, crowd: Crowd, packets: u64) -> Self {
        let mut random = Random::new(7);
        let mut noise = vec![0; 8192];
        random.fill(&mut noise);
        Self { flood, crowd, packets, random, noise, at: 0 }
    }

    /// Both ends of the `n`th connection, as they are after the handshake.
    fn ends(&self, n: u64) -> [Peer; 2] {
        let (source, destination) = (mix(n) % self.crowd.sources, mix(n ^ 0x55) % self.crowd.destinations);
        let turn = n / self.crowd.sources;
        let ports = (1024 + (turn % 64_000) as u16, 80 + (turn / 64_000 % 60_000) as u16);
        let (from, to): (IpAddr, IpAddr) = if self.crowd.is_v6 {
            let address = |high: u128, host: u64| {
                Ipv6Addr::from_bits(high << 96 | u128::from(host >> 8) << 64 | u128::from(host & 0xff))
            };
            (address(0x2001_0db8, source).into(), address(0x2001_0db9, destination).into())
        } else {
            let address = |base: u32, host: u64| Ipv4Addr::from_bits(base + host as u32);
            (address(0x6440_0000, source).into(), address(0xc0a8_0000, destination).into())
        };
        let seqs = mix(n ^ 0xaaaa);
        let peer = |address, port, seq| Peer { at: SocketAddr::new(address, port), seq };
        // (With few addresses the port distinguishes connections.)
        let port = ports.0.wrapping_add((mix(n) >> 48) as u16 & if self.crowd.sources > 64_000 { 0xfff } else { 0 });
        [peer(from, port, seqs as u32), peer(to, ports.1, (seqs >> 32) as u32)]
    }

    fn handshake(&self, n: u64, step: u64) -> Vec<u8> {
        let [mut client, mut server] = self.ends(n);
        match step {
            0 => {
                client.seq = client.seq.wrapping_sub(1);
                tcp_frame(&mut client, &server, SYN, b"")
            }
            1 => {
                server.seq = server.seq.wrapping_sub(1);
                tcp_frame(&mut server, &client, SYN | ACK, b"")
            }
            _ => tcp_frame(&mut client, &server, ACK, b""),
        }
    }

    /// A segment of the `n`th connection's client, `ahead` bytes behind its beginning.
    fn ahead(&mut self, n: u64, ahead: u64, bytes: usize) -> Vec<u8> {
        let [mut client, server] = self.ends(n);
        client.seq = client.seq.wrapping_add(ahead as u32);
        let from = self.random.below(4096) as usize;
        tcp_frame(&mut client, &server, ACK, &self.noise[from..from + bytes])
    }

    /// Connections in turn: handshakes of `open` of them, then `steps` segments of each, then the next `open`.
    fn rounds(&self, open: u64, steps: u64) -> (u64, Step) {
        let (epoch, at) = (self.at / (open * (3 + steps)), self.at % (open * (3 + steps)));
        let n = epoch * open + at % open;
        let step = at / open;
        (n, if step < 3 { Step::Handshake(step) } else { Step::Data(step - 3) })
    }

    fn round(&mut self, open: u64, steps: u64, segment: impl FnOnce(&mut Self, u64, u64) -> Vec<u8>) -> Vec<u8> {
        match self.rounds(open, steps) {
            (n, Step::Handshake(step)) => self.handshake(n, step),
            (n, Step::Data(step)) => segment(self, n, step),
        }
    }

    /// The next frame.
    pub fn next_frame(&mut self) -> Vec<u8> {
        let at = self.at;
        let made = match self.flood {
            Flood::Benign => self.round(OPEN, 41, |maker, n, step| maker.in_order(n, step)),
            Flood::Midstream => self.ahead(at, 0, 1),
            Flood::MidstreamFull => self.ahead(at, 0, 1400),
            Flood::HandshakeHoles => {
                let connections = self.packets / 4;
                match at / 3 {
                    n if n < connections => self.handshake(n, at % 3),
                    _ => self.ahead(at - 3 * connections, 1000, 1),
                }
            }
            Flood::SynAck => self.handshake(at / 2, at % 2),
            Flood::Syn => self.handshake(at, 0),
            Flood::Holes500 => self.round(3000, 500, |maker, n, step| maker.ahead(n, 1 + 2 * step, 1)),
            Flood::Holes1000 => self.round(3000, 1000, |maker, n, step| maker.ahead(n, 1 + 2 * step, 1)),
            Flood::Holes3000 => self.round(3000, 3000, |maker, n, step| maker.ahead(n, 1 + 2 * step, 1)),
            Flood::FullHoles => self.round(OPEN, 8, |maker, n, step| maker.ahead(n, 1400 * (1 + step), 1400)),
            Flood::ByteHoles => self.round(OPEN, 8, |maker, n, step| maker.ahead(n, 1 + 1401 * step, 1400)),
            Flood::WindowHoles => {
                self.round(OPEN, 82, |maker, n, step| maker.ahead(n, 1400 * (step + u64::from(step >= 36)), 1400))
            }
            Flood::TinySegments => self.round(64, 4096, |maker, n, step| {
                let (span, at) = (step / 512 * 512, step % 512);
                maker.ahead(n, span + if at < 256 { 2 * at + 1 } else { 2 * (at - 256) }, 1)
            }),
            Flood::Overlaps => self.round(64, 200, |maker, n, _| {
                let (ahead, bytes) = (1 + maker.random.below(16_384), 1 + maker.random.below(400) as usize);
                maker.ahead(n, ahead, bytes)
            }),
            Flood::Unfinished | Flood::OverlappingFragments => self.fragment(),
            Flood::Tunnels => self.tunnel(),
            Flood::Udp => {
                let (ip, ports) = self.datagram_of(at);
                frame(&ip, 17, &udp_datagram(&ip, ports, b"x"), None)
            }
        };
        self.at += 1;
        made
    }

    fn in_order(&self, n: u64, step: u64) -> Vec<u8> {
        let [mut client, mut server] = self.ends(n);
        // Of three packets two are data.
        server.seq = server.seq.wrapping_add((step - step / 3) as u32 * 1400);
        match step {
            40 => tcp_frame(&mut server, &client, FIN | ACK, b""),
            _ if step % 3 == 2 => tcp_frame(&mut client, &server, ACK | PSH, b""),
            _ => tcp_frame(&mut server, &client, ACK, &self.noise[step as usize..step as usize + 1400]),
        }
    }

    fn datagram_of(&self, n: u64) -> (Ip, (u16, u16)) {
        let [from, to] = self.ends(n);
        (Ip::new(from.at.ip(), to.at.ip()), (from.at.port(), to.at.port()))
    }

    fn fragment(&self) -> Vec<u8> {
        let (each, bytes) = if self.flood == Flood::Unfinished { (1, 1400) } else { (64, 16) };
        let (mut ip, _) = self.datagram_of(self.at / each);
        ip.id = mix(self.at / each) as u32;
        let offset = (self.at % each) as u32 * 8;
        frame(&ip, 17, &self.noise[..bytes], Some(Piece { offset, more: true }))
    }

    fn tunnel(&self) -> Vec<u8> {
        let (ip, ports) = self.datagram_of(self.at);
        let proto = if self.crowd.is_v6 { 41 } else { 4 };
        let mut inner = Vec::new();
        packet(&ip, 17, &udp_datagram(&ip, ports, b"x"), None, &mut inner);
        for _ in 0..6 {
            let mut outer = Vec::new();
            packet(&ip, proto, &inner, None, &mut outer);
            inner = outer;
        }
        frame(&ip, proto, &inner, None)
    }
}

enum Step {
    Handshake(u64),
    Data(u64),
}
