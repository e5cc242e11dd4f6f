//! Traffic that costs a reassembler as much as possible.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
};

use super::concurrent::{START_US, ends};
use crate::{
    craft::{ACK, FIN, Ip, PSH, Peer, Piece, SYN, frame, tcp_frame, udp_datagram},
    pcapfile::Writer,
    random::Random,
};

/// A kind of worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worst {
    /// The reference: connections of 60 to 1,460 bytes a packet, in order, 256 open at a time.
    Benign,
    /// Only SYNs, each from another address.
    SynFlood,
    /// Every connection has a hole that is never filled, and 16 segments behind it.
    HolePerFlow,
    /// Segments of one byte; of every 512 bytes first those at odd offsets, then those at even ones.
    TinySegments,
    /// UDP datagrams of 64 KiB in fragments of eight bytes, the last one first.
    ReverseFragments,
    /// Behind a hole, segments with different bytes that all overlap each other; the hole is filled at the end.
    OverlapEverything,
}

impl Worst {
    /// Every kind, the reference first.
    pub const ALL: &'static [Self] = &[
        Self::Benign,
        Self::SynFlood,
        Self::HolePerFlow,
        Self::TinySegments,
        Self::ReverseFragments,
        Self::OverlapEverything,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Benign => "benign",
            Self::SynFlood => "syn-flood",
            Self::HolePerFlow => "hole-per-flow",
            Self::TinySegments => "tiny-segments",
            Self::ReverseFragments => "reverse-fragments",
            Self::OverlapEverything => "overlap-everything",
        }
    }
}

/// Writes `packets` packets of a kind (a few more to end a connection). Returns packets and bytes.
///
/// # Errors
/// The error of the file system.
pub fn worst(output: &Path, kind: Worst, packets: u64, seed: u64) -> io::Result<(u64, u64)> {
    let mut out = Output::new(Writer::create(output)?, packets, seed);
    match kind {
        Worst::Benign => out.benign()?,
        Worst::SynFlood => out.syn_flood()?,
        Worst::HolePerFlow => out.hole_per_flow()?,
        Worst::TinySegments => out.tiny_segments()?,
        Worst::ReverseFragments => out.reverse_fragments()?,
        Worst::OverlapEverything => out.overlap_everything()?,
    }
    out.writer.finish()
}

struct Output {
    writer: Writer,
    packets: u64,
    time_us: u64,
    random: Random,
    noise: Vec<u8>,
    connections: u64,
}

impl Output {
    fn new(writer: Writer, packets: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut noise = vec![0; 65_536];
        random.fill(&mut noise);
        Self { writer, packets, time_us: START_US, random, noise, connections: 0 }
    }

    fn wanted(&self) -> bool {
        self.writer.written().0 < self.packets
    }

    fn put(&mut self, frame: &[u8]) -> io::Result<()> {
        self.time_us += 1 + (self.random.next_u64() & 1);
        self.writer.write(self.time_us, frame)
    }

    /// A segment of random bytes.
    fn send(&mut self, from: &mut Peer, to: &Peer, flags: u8, bytes: usize) -> io::Result<()> {
        let at = self.random.below(32_768) as usize;
        let frame = tcp_frame(from, to, flags, &self.noise[at..at + bytes]);
        self.put(&frame)
    }

    /// A segment of random bytes `ahead` of the sender's next byte, which does not advance.
    fn send_ahead(&mut self, from: &Peer, to: &Peer, ahead: u32, bytes: usize) -> io::Result<()> {
        let mut there = Peer { at: from.at, seq: from.seq.wrapping_add(ahead) };
        self.send(&mut there, to, ACK, bytes)
    }

    /// A new connection, its handshake done.
    fn open(&mut self) -> io::Result<[Peer; 2]> {
        let [mut client, mut server] = ends(self.connections);
        self.connections += 1;
        self.send(&mut client, &server, SYN, 0)?;
        self.send(&mut server, &client, SYN | ACK, 0)?;
        self.send(&mut client, &server, ACK, 0)?;
        Ok([client, server])
    }

    fn benign(&mut self) -> io::Result<()> {
        const OPEN: usize = 256;
        const SEGMENTS: u32 = 40;
        while self.wanted() {
            let mut open = Vec::with_capacity(OPEN);
            for _ in 0..OPEN {
                let [mut client, server] = self.open()?;
                self.send(&mut client, &server, ACK | PSH, 300)?;
                open.push([client, server]);
            }
            for number in 0..SEGMENTS {
                for [client, server] in &mut open {
                    let bytes = 60 + self.random.below(1401) as usize;
                    self.send(server, client, ACK, bytes)?;
                    if number % 2 == 1 {
                        self.send(client, server, ACK, 0)?;
                    }
                }
            }
            for [client, server] in &mut open {
                self.send(server, client, FIN | ACK, 0)?;
                self.send(client, server, FIN | ACK, 0)?;
                self.send(server, client, ACK, 0)?;
            }
        }
        Ok(())
    }

    fn syn_flood(&mut self) -> io::Result<()> {
        let target = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)), 80);
        while self.wanted() {
            let address = Ipv4Addr::from_bits(self.random.next_u64() as u32);
            let port = 1024 + self.random.below(60_000) as u16;
            let mut from = Peer { at: SocketAddr::new(IpAddr::V4(address), port), seq: self.random.next_u64() as u32 };
            self.send(&mut from, &Peer { at: target, seq: 0 }, SYN, 0)?;
        }
        Ok(())
    }

    fn hole_per_flow(&mut self) -> io::Result<()> {
        const OPEN: usize = 4096;
        const SEGMENTS: u32 = 16;
        const BYTES: u32 = 600;
        while self.wanted() {
            let mut open = Vec::with_capacity(OPEN);
            for _ in 0..OPEN {
                open.push(self.open()?);
            }
            for number in 1..=SEGMENTS {
                for [client, server] in &open {
                    self.send_ahead(server, client, number * BYTES, BYTES as usize)?;
                }
            }
        }
        Ok(())
    }

    fn tiny_segments(&mut self) -> io::Result<()> {
        const OPEN: usize = 64;
        const SPAN: u32 = 512;
        while self.wanted() {
            let mut open = Vec::with_capacity(OPEN);
            for _ in 0..OPEN {
                open.push(self.open()?);
            }
            for _ in 0..8 {
                for at in (1..SPAN).step_by(2).chain((0..SPAN).step_by(2)) {
                    for [client, server] in &open {
                        self.send_ahead(client, server, at, 1)?;
                    }
                }
                for [client, _] in &mut open {
                    client.seq = client.seq.wrapping_add(SPAN);
                }
            }
        }
        Ok(())
    }

    fn reverse_fragments(&mut self) -> io::Result<()> {
        const PAYLOAD: usize = 65_480;
        let mut ip = Ip::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)));
        while self.wanted() {
            ip.id = ip.id.wrapping_add(1);
            let datagram = udp_datagram(&ip, (5000, 5001), &self.noise[..PAYLOAD]);
            let count = datagram.len().div_ceil(8);
            for (number, bytes) in datagram.chunks(8).enumerate().rev() {
                let piece = Piece { offset: number as u32 * 8, more: number + 1 < count };
                let frame = frame(&ip, 17, bytes, Some(piece));
                self.put(&frame)?;
            }
        }
        Ok(())
    }

    fn overlap_everything(&mut self) -> io::Result<()> {
        const OPEN: usize = 64;
        const SEGMENTS: u32 = 200;
        const SPAN: u64 = 16_384;
        while self.wanted() {
            let mut open = Vec::with_capacity(OPEN);
            for _ in 0..OPEN {
                open.push(self.open()?);
            }
            for _ in 0..SEGMENTS {
                for [client, server] in &open {
                    let ahead = 1 + self.random.below(SPAN) as u32;
                    let bytes = 1 + self.random.below(400) as usize;
                    self.send_ahead(client, server, ahead, bytes)?;
                }
            }
            for [client, server] in &mut open {
                for _ in 0..12 {
                    self.send(client, server, ACK, 1400)?;
                }
                self.send(client, server, FIN | ACK, 0)?;
                self.send(server, client, FIN | ACK, 0)?;
                self.send(client, server, ACK, 0)?;
            }
        }
        Ok(())
    }
}
