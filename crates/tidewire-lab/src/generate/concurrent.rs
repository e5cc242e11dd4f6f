//! Many TCP connections open at once, their packets strictly interleaved: the worst case for caches.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
};

use crate::{
    craft::{ACK, FIN, PSH, Peer, SYN, tcp_frame},
    pcapfile::Writer,
    random::{Random, mix},
};

/// Timestamp of the first packet of generated captures: microseconds since the epoch (2023-11-14).
pub(super) const START_US: u64 = 1_700_000_000_000_000;
const MSS: u64 = 1460;

/// The two ends of the `n`th connection before it begins. Consecutive connections have addresses far apart, and no two
/// connections below 2^30 have the same (multiples of the golden ratio spread evenly).
#[must_use]
pub(super) fn ends(n: u64) -> [Peer; 2] {
    let noise = mix(n);
    let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 26;
    let client = Ipv4Addr::from_bits(0x0a00_0000 | (n >> 14) as u32 & 0x00ff_ffff);
    let server = Ipv4Addr::from_bits(0xc0a8_0000 | (noise & 0xffff) as u32);
    let port = 1024 + (n & 0x3fff) as u16;
    [
        Peer { at: SocketAddr::new(IpAddr::V4(client), port), seq: (noise >> 16) as u32 },
        Peer { at: SocketAddr::new(IpAddr::V4(server), 80), seq: (noise >> 32) as u32 },
    ]
}

/// Writes `flows` connections: handshakes, a request of 200 to 400 bytes each, `rounds` of data from the server
/// (`length` bytes a packet; 0: 60 to 1,460) acknowledged every other time, and FINs. Each round goes through all
/// connections before the next begins. Returns packets and bytes.
///
/// # Errors
/// The error of the file system.
pub fn concurrent(output: &Path, flows: u64, rounds: u64, length: u16, seed: u64) -> io::Result<(u64, u64)> {
    let mut writer = Writer::create(output)?;
    let mut random = Random::new(seed);
    let mut noise = vec![0; 65_536];
    random.fill(&mut noise);
    let mut all: Vec<[Peer; 2]> = (0..flows).map(ends).collect();
    let mut time_us = START_US;
    let mut round = |from: usize, flags: u8, least: u64, most: u64| -> io::Result<()> {
        for [client, server] in &mut all {
            let (sender, receiver) = if from == 0 { (client, &*server) } else { (server, &*client) };
            let bytes = (least + random.below(most - least + 1)) as usize;
            let at = random.below(32_768) as usize;
            writer.write(time_us, &tcp_frame(sender, receiver, flags, &noise[at..at + bytes]))?;
            time_us += 1 + (random.next_u64() & 1);
        }
        Ok(())
    };
    let (least, most) = if length == 0 { (60, MSS) } else { (u64::from(length), u64::from(length)) };
    round(0, SYN, 0, 0)?;
    round(1, SYN | ACK, 0, 0)?;
    round(0, ACK, 0, 0)?;
    round(0, ACK | PSH, 200, 400)?;
    for number in 0..rounds {
        round(1, ACK, least, most)?;
        if number % 2 == 1 {
            round(0, ACK, 0, 0)?;
        }
    }
    round(1, FIN | ACK, 0, 0)?;
    round(0, FIN | ACK, 0, 0)?;
    round(1, ACK, 0, 0)?;
    writer.finish()
}
