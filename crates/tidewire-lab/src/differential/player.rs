//! Plays many scripts at once to the running kernel: what the host's applications received, and all packets in order.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use super::{
    frames::{Connection, KEY, hear},
    script::{Listener, Script, Step},
};
use crate::{
    craft::{ACK, RST, SYN},
    oracle::network::{Network, configure, host},
    sys::{connect, listen},
};

/// The first listener's port; the others follow.
const PORT: u16 = 7100;
/// Clients before an address is reused. Each client has its own address, because the kernel keeps fragments, cached metrics and
/// rates by address.
const CLIENTS: u64 = 1 << 22;
/// The first client's address, and the prefix length that all clients share.
const FIRST: [(IpAddr, u8); 2] =
    [(IpAddr::V4(Ipv4Addr::new(10, 128, 0, 0)), 9), (IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 0)), 32)];
/// Client ports.
const PORTS: u64 = 50_000;
const FIRST_PORT: u64 = 10_000;
/// How long to wait for a SYN-ACK.
const ANSWER_MS: u64 = 300;
/// Connections are accepted after this many steps, so that the backlog does not fill.
const STEPS: usize = 64;
/// Wait after the last step: the host delays an acknowledgment by up to 200 ms.
const LAST_MS: u64 = 260;
/// Bytes of the small receive buffer: the kernel doubles them.
const SMALL_BYTES: i32 = 2304;

/// The result of a script.
#[derive(Clone, Debug)]
pub struct Played {
    /// The client's address and port.
    pub client: (IpAddr, u16),
    /// Bytes that the application received on each connection, in the order of acceptance.
    pub received: Vec<Vec<u8>>,
    /// Whether the host completed the handshake of the connection that it opened; `None`: it opened none, or is closed.
    pub is_open: Option<bool>,
}

/// A packet of a batch.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Index of its script.
    pub script: u32,
    /// Nanoseconds since the player began.
    pub at_ns: u64,
    /// The frame.
    pub frame: Vec<u8>,
}

/// Plays scripts.
pub struct Player<'a> {
    network: &'a Network,
    listeners: Vec<TcpListener>,
    number: u64,
    began: Instant,
}

struct Running<'s> {
    script: &'s Script,
    next: usize,
    due: Instant,
    /// Deadline for the reply.
    answer_until: Option<Instant>,
    connection: Connection,
    streams: Vec<Option<TcpStream>>,
    played: Played,
}

fn client(number: u64, is_ipv6: bool) -> (IpAddr, u16) {
    let (low, port) = ((number % CLIENTS) as u32, (FIRST_PORT + number % PORTS) as u16);
    let address = match FIRST[usize::from(is_ipv6)].0 {
        IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() + 1 + u128::from(low)).into(),
        IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() + 1 + low).into(),
    };
    (address, port)
}

/// Prepares the network's host for many connections.
///
/// # Errors
/// The error of the kernel.
fn prepare(network: &Network) -> io::Result<()> {
    network.on_host(|| {
        let settings = [
            ("net/ipv4/tcp_synack_retries", "1"),
            ("net/ipv4/tcp_max_syn_backlog", "1000000"),
            ("net/core/somaxconn", "1000000"),
            ("net/ipv4/tcp_syncookies", "0"),
            // Enables the server side without cookies.
            ("net/ipv4/tcp_fastopen", "514"),
            ("net/ipv4/tcp_max_tw_buckets", "1000000"),
        ];
        let commands = ["route add 10.128.0.0/9 via 10.77.0.66 dev tw1", "-6 route add fd78::/32 via fd77::66 dev tw1"];
        configure(&settings, &commands)
    })
}

impl<'a> Player<'a> {
    /// Opens the listening sockets.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn new(network: &'a Network) -> io::Result<Self> {
        prepare(network)?;
        let mut listeners = Vec::new();
        for is_ipv6 in [false, true] {
            for (at, kind) in (0..).zip(Listener::LISTENING) {
                let listener = network.on_host(move || {
                    let listener = TcpListener::bind((host(is_ipv6), PORT + at))?;
                    let settings = listen::Settings {
                        urgent_inline: kind != Listener::UrgentOut,
                        receive_bytes: if kind == Listener::Small { SMALL_BYTES } else { 0 },
                        fast_open: kind == Listener::FastOpen,
                        signed: (kind == Listener::Signed).then(|| listen::Signed {
                            from: FIRST[usize::from(is_ipv6)].0,
                            bits: FIRST[usize::from(is_ipv6)].1,
                            key: KEY,
                        }),
                    };
                    let socket = listen::apply(OwnedFd::from(listener), &settings)?;
                    Ok(TcpListener::from(socket))
                })?;
                listener.set_nonblocking(true)?;
                listeners.push(listener);
            }
        }
        Ok(Self { network, listeners, number: 0, began: Instant::now() })
    }

    /// Plays scripts concurrently. The packets are in the order of a capture on the client's side.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn play(&mut self, scripts: &[Script]) -> io::Result<(Vec<Played>, Vec<Packet>)> {
        let mut batch = Batch { player: self, running: Vec::new(), index: HashMap::new(), packets: Vec::new() };
        batch.begin(scripts)?;
        batch.run()?;
        batch.end()
    }
}

struct Batch<'p, 'a, 's> {
    player: &'p mut Player<'a>,
    running: Vec<Running<'s>>,
    index: HashMap<(IpAddr, u16), usize>,
    packets: Vec<Packet>,
}

impl<'s> Batch<'_, '_, 's> {
    fn begin(&mut self, scripts: &'s [Script]) -> io::Result<()> {
        let now = Instant::now();
        for script in scripts {
            let client = client(self.player.number, script.is_ipv6);
            self.player.number += 1;
            let kind = Listener::LISTENING.iter().position(|one| *one == script.listener).unwrap_or(0) as u16;
            let host = (host(script.is_ipv6), PORT + kind);
            self.index.insert(client, self.running.len());
            let connection = Connection { client, host, isn: script.isn, host_next: None, host_stamp: 0, id: 0 };
            self.running.push(Running {
                script,
                next: 0,
                due: now,
                answer_until: None,
                connection,
                streams: Vec::new(),
                played: Played { client, received: Vec::new(), is_open: None },
            });
        }
        self.connect()
    }

    /// Sends the SYNs of scripts whose host connects.
    fn connect(&mut self) -> io::Result<()> {
        let connects = |one: &Running<'_>| one.script.listener == Listener::Connect;
        let kinds: Vec<bool> = self.running.iter().filter(|one| connects(one)).map(|one| one.script.is_ipv6).collect();
        let mut sockets = self
            .player
            .network
            .on_host(move || kinds.into_iter().map(connect::socket).collect::<io::Result<Vec<_>>>())?
            .into_iter();
        for at in 0..self.running.len() {
            let one = &mut self.running[at];
            let Some(socket) = connects(one).then(|| sockets.next()).flatten() else { continue };
            connect::connect(&socket, one.connection.client.into())?;
            one.connection.host.1 = socket.local_addr()?.port();
            one.streams.push(Some(socket));
            one.played.received.push(Vec::new());
            self.drain()?;
        }
        Ok(())
    }

    /// Executes one step of each script in turn, until all have ended.
    fn run(&mut self) -> io::Result<()> {
        let mut steps = 0;
        loop {
            let (now, mut earliest, mut moved) = (Instant::now(), None::<Instant>, false);
            for at in 0..self.running.len() {
                let one = &self.running[at];
                if one.next >= one.script.steps.len() {
                    continue;
                }
                if one.due > now {
                    earliest = Some(earliest.map_or(one.due, |first| first.min(one.due)));
                    continue;
                }
                moved = true;
                self.step(at)?;
                steps += 1;
                if steps % STEPS == 0 {
                    self.accept()?;
                }
            }
            self.accept()?;
            if !moved {
                let Some(until) = earliest else { return Ok(()) };
                self.pause(until)?;
            }
        }
    }

    /// Waits, and records what the host sends meanwhile.
    fn pause(&mut self, until: Instant) -> io::Result<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.drain();
            }
            if let Some(frame) = self.player.network.wire.receive(left.as_millis().max(1) as i32)? {
                self.note(frame);
            }
        }
    }

    fn step(&mut self, at: usize) -> io::Result<()> {
        let one = &mut self.running[at];
        let (script, now) = (one.script, Instant::now());
        match &script.steps[one.next] {
            Step::Send(segment) => {
                for frame in one.connection.frames(segment) {
                    // The interface refuses frames beyond its size; these are not sent.
                    if self.player.network.wire.send(&frame).is_ok() {
                        let at_ns = self.player.began.elapsed().as_nanos() as u64;
                        self.packets.push(Packet { script: at as u32, at_ns, frame });
                    }
                    self.drain()?;
                }
            }
            Step::Answer => {
                let until = *one.answer_until.get_or_insert(now + Duration::from_millis(ANSWER_MS));
                if one.connection.host_next.is_none() && now < until {
                    one.due = now + Duration::from_millis(1);
                    return self.drain();
                }
                one.answer_until = None;
            }
            Step::Wait(ms) => one.due = now + Duration::from_millis((*ms).into()),
            Step::Read => {
                self.accept()?;
                self.running[at].read();
                self.drain()?;
            }
            Step::Write(bytes) => {
                let bytes = vec![b'h'; usize::from(*bytes)];
                self.accept()?;
                if let Some(Some(stream)) = self.running[at].streams.last_mut() {
                    // A connection that was reset accepts nothing.
                    let _ = stream.write(&bytes);
                }
                self.drain()?;
            }
            Step::Close | Step::Abort => {
                self.accept()?;
                let running = &mut self.running[at];
                running.read();
                running.note_state()?;
                // A handshake may go on after the application closed.
                running.played.is_open = running.played.is_open.filter(|is_open| *is_open);
                let stream = running.streams.last_mut().and_then(Option::take);
                match &script.steps[running.next] {
                    Step::Abort => {
                        if let Some(stream) = stream {
                            drop(tidewire_live::sys::net::reset_on_close(OwnedFd::from(stream))?);
                        }
                    }
                    _ => drop(stream),
                }
                self.drain()?;
            }
            Step::Shutdown => {
                self.accept()?;
                if let Some(Some(stream)) = self.running[at].streams.last_mut() {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                self.drain()?;
            }
        }
        self.running[at].next += 1;
        Ok(())
    }

    fn drain(&mut self) -> io::Result<()> {
        while let Some(frame) = self.player.network.wire.receive(0)? {
            self.note(frame);
        }
        Ok(())
    }

    fn note(&mut self, mut frame: Vec<u8>) {
        let Some(heard) = hear(&mut frame) else { return };
        let Some(&at) = self.index.get(&heard.client) else { return };
        let connection = &mut self.running[at].connection;
        if heard.flags & RST == 0 {
            let is_new = connection.host_next.is_none_or(|next| heard.next.wrapping_sub(next) as i32 > 0);
            if is_new || heard.flags & (SYN | ACK) == SYN | ACK {
                connection.host_next = Some(heard.next);
            }
            connection.host_stamp = heard.stamp.unwrap_or(connection.host_stamp);
        }
        let at_ns = self.player.began.elapsed().as_nanos() as u64;
        frame.shrink_to_fit();
        self.packets.push(Packet { script: at as u32, at_ns, frame });
    }

    fn accept(&mut self) -> io::Result<()> {
        for listener in &self.player.listeners {
            loop {
                match listener.accept() {
                    Ok((stream, SocketAddr::V4(_) | SocketAddr::V6(_))) => {
                        let Ok(from) = stream.peer_addr() else { continue };
                        if let Some(&at) = self.index.get(&(from.ip(), from.port())) {
                            stream.set_nonblocking(true)?;
                            self.running[at].streams.push(Some(stream));
                            self.running[at].played.received.push(Vec::new());
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // A connection that was reset before it was accepted.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Reads everything, and resets open connections, so that none lingers.
    fn end(mut self) -> io::Result<(Vec<Played>, Vec<Packet>)> {
        self.pause(Instant::now() + Duration::from_millis(LAST_MS))?;
        self.accept()?;
        let mut played = Vec::with_capacity(self.running.len());
        for mut one in std::mem::take(&mut self.running) {
            one.read();
            one.note_state()?;
            for stream in one.streams.into_iter().flatten() {
                drop(tidewire_live::sys::net::reset_on_close(OwnedFd::from(stream))?);
            }
            played.push(one.played);
        }
        // Packets caused by the end belong to no script.
        while self.player.network.wire.receive(5)?.is_some() {}
        Ok((played, self.packets))
    }
}

impl Running<'_> {
    /// Notes whether a connection that the host opened is open.
    fn note_state(&mut self) -> io::Result<()> {
        if self.script.listener == Listener::Connect
            && let Some(Some(stream)) = self.streams.last()
        {
            self.played.is_open = connect::is_open(stream)?;
        }
        Ok(())
    }

    /// Reads the available bytes of every connection.
    fn read(&mut self) {
        let mut buffer = [0; 16_384];
        for (stream, received) in self.streams.iter_mut().zip(&mut self.played.received) {
            let Some(open) = stream else { continue };
            loop {
                match open.read(&mut buffer) {
                    Ok(count) if count > 0 => received.extend_from_slice(&buffer[..count]),
                    // End of stream, no data now, or a reset.
                    _ => break,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Fragments of two scripts with the same address would be reassembled together.
    #[test]
    fn every_client_has_an_address_of_its_own() {
        for is_ipv6 in [false, true] {
            let all: HashSet<IpAddr> = (0..100_000).map(|number| client(number, is_ipv6).0).collect();
            assert_eq!(all.len(), 100_000);
        }
    }
}
