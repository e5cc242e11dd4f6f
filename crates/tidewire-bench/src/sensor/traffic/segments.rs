//! TCP as it should be, with packets of 400 bytes on average, and attacks with packets of 80 bytes.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
};

use tidewire_lab::{
    craft::{ACK, FIN, Ip, PSH, Peer, RST, SYN, Tcp, URG, frame, tcp_frame, tcp_segment},
    pcapfile::Writer,
    random::Random,
};

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segments {
    /// Whole connections, 256 at a time, interleaved; packets of the server have 80 bytes or 1,500, so many of a hundred the latter.
    Normal {
        /// Long packets of the server in a hundred.
        long_percent: u64,
    },
    /// SYNs, each from another address.
    SynFlood,
    /// Combinations of flags that no host sends: none, all, SYN with FIN or RST, FIN alone.
    Flags,
    /// Segments of open connections with sequence numbers far outside of the window.
    OutOfWindow,
    /// Segments of open connections behind a hole that is never filled, which overlap each other with other bytes.
    Overlaps,
    /// RSTs and FINs for connections that do not exist.
    Strays,
}

impl Segments {
    /// Normal traffic of 400 bytes a packet.
    pub const AVERAGE_400: Self = Self::Normal { long_percent: 52 };

    /// The attacks.
    pub const HOSTILE: [Self; 5] = [Self::SynFlood, Self::Flags, Self::OutOfWindow, Self::Overlaps, Self::Strays];

    /// In tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal { .. } => "normal",
            Self::SynFlood => "SYN flood",
            Self::Flags => "impossible flags",
            Self::OutOfWindow => "outside of the window",
            Self::Overlaps => "overlaps behind a hole",
            Self::Strays => "RST and FIN of no connection",
        }
    }
}

/// Payload that makes a frame of 80 bytes.
const PAYLOAD_OF_80: usize = 80 - 54;
/// Options that make a frame of 78 bytes without payload: what a SYN of Linux has, and four more without meaning.
const OPTIONS: [u8; 24] = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7, 1, 1, 1, 1];
const OPEN: usize = 256;

struct Output {
    writer: Writer,
    random: Random,
    noise: Vec<u8>,
    time_us: u64,
    bytes: u64,
}

/// Writes frames until they have so many bytes. Returns packets and bytes.
pub(crate) fn write(kind: Segments, path: &Path, bytes: u64) -> io::Result<(u64, u64)> {
    let mut random = Random::new(7);
    let mut noise = vec![0; 65_536];
    random.fill(&mut noise);
    let writer = Writer::create(path)?;
    let mut output = Output { writer, random, noise, time_us: 1_700_000_000_000_000, bytes };
    match kind {
        Segments::Normal { long_percent } => output.normal(long_percent)?,
        Segments::SynFlood => output.stateless(&[SYN])?,
        Segments::Flags => output.stateless(&[0, FIN | PSH | URG, SYN | FIN, SYN | RST, FIN, 0xff])?,
        Segments::Strays => output.stateless(&[RST, RST | ACK, FIN | ACK])?,
        Segments::OutOfWindow => output.behind(1 << 24, 1 << 30)?,
        Segments::Overlaps => output.behind(1, 8192)?,
    }
    output.writer.finish()
}

impl Output {
    fn wanted(&self) -> bool {
        self.writer.written().1 < self.bytes
    }

    /// A client of a random address, and the server.
    fn ends(&mut self) -> [Peer; 2] {
        let number = self.random.next_u64();
        let client = Ipv4Addr::from_bits(0x0a00_0000 | number as u32 & 0x00ff_ffff);
        let port = 1024 + (number >> 32) as u16 % 60_000;
        let seqs = self.random.next_u64();
        [(client, port, seqs as u32), (Ipv4Addr::new(192, 168, 0, 1), 80, (seqs >> 32) as u32)]
            .map(|(address, port, seq)| Peer { at: SocketAddr::new(IpAddr::V4(address), port), seq })
    }

    fn send(&mut self, from: &mut Peer, to: &Peer, flags: u8, bytes: usize) -> io::Result<()> {
        let at = self.random.below(32_768) as usize;
        let frame = tcp_frame(from, to, flags, &self.noise[at..at + bytes]);
        self.time_us += 1 + (self.random.next_u64() & 1);
        self.writer.write(self.time_us, &frame)
    }

    fn open(&mut self) -> io::Result<Vec<[Peer; 2]>> {
        let mut open = Vec::with_capacity(OPEN);
        for _ in 0..OPEN {
            let [mut client, mut server] = self.ends();
            self.send(&mut client, &server, SYN, 0)?;
            self.send(&mut server, &client, SYN | ACK, 0)?;
            self.send(&mut client, &server, ACK, 0)?;
            open.push([client, server]);
        }
        Ok(open)
    }

    /// A request, then rounds in which the server sends much or little and the client acknowledges.
    fn normal(&mut self, long_percent: u64) -> io::Result<()> {
        const ROUNDS: usize = 24;
        while self.wanted() {
            let mut open = self.open()?;
            for [client, server] in &mut open {
                self.send(client, server, ACK | PSH, 300)?;
            }
            for _ in 0..ROUNDS {
                for [client, server] in &mut open {
                    let bytes = if self.random.below(100) < long_percent { 1446 } else { 26 };
                    self.send(server, client, ACK, bytes)?;
                    self.send(client, server, ACK, 0)?;
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

    /// Packets of 78 bytes without payload with these flags, each from another client.
    fn stateless(&mut self, flags: &[u8]) -> io::Result<()> {
        while self.wanted() {
            for &flags in flags {
                let [client, server] = self.ends();
                let ip = Ip::new(client.at.ip(), server.at.ip());
                let tcp = Tcp {
                    source_port: client.at.port(),
                    destination_port: server.at.port(),
                    seq: client.seq,
                    ack: if flags & ACK == 0 { 0 } else { server.seq },
                    flags,
                    window: 0xfaf0,
                    options: OPTIONS.into(),
                    ..Tcp::default()
                };
                self.time_us += 1 + (self.random.next_u64() & 1);
                self.writer.write(self.time_us, &frame(&ip, 6, &tcp_segment(&ip, &tcp, &[]), None))?;
            }
        }
        Ok(())
    }

    /// Open connections, and 256 packets of 80 bytes in each, at random between these distances from the next byte.
    fn behind(&mut self, least: u32, most: u32) -> io::Result<()> {
        while self.wanted() {
            let open = self.open()?;
            for _ in 0..256 {
                for [client, server] in &open {
                    let ahead = least + self.random.below(u64::from(most - least)) as u32;
                    let mut there = Peer { at: client.at, seq: client.seq.wrapping_add(ahead) };
                    self.send(&mut there, server, ACK, PAYLOAD_OF_80)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tidewire::DefragPolicy;

    use super::*;
    use crate::feed::feed;

    #[test]
    fn packets_are_as_long_as_they_should_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segments.pcap");
        let (packets, bytes) = write(Segments::AVERAGE_400, &path, 4 << 20).unwrap();
        let average = bytes / packets;
        assert!((380..=420).contains(&average), "{average} bytes");
        assert!(feed(&path, DefragPolicy::Linux).unwrap().delivered_bytes > bytes / 2);
        for kind in Segments::HOSTILE {
            let (packets, bytes) = write(kind, &path, 1 << 20).unwrap();
            let average = bytes / packets;
            assert!((75..=80).contains(&average), "{kind:?}: {average} bytes");
            feed(&path, DefragPolicy::Linux).unwrap();
        }
    }
}
