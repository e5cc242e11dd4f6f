//! TCP: overlapping segments, and the bytes that `recv` returned.

use std::{
    collections::HashMap,
    io::{self, Read},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    time::Duration,
};

use super::{
    arrange::{Interval, byte, holes},
    network::{Network, host, sender},
};
use tidewire_live::sys::net::reset_on_close;

use crate::craft::{ACK, ETHERNET_BYTES, FIN, Ip, PSH, SYN, Tcp, frame, tcp_segment};

/// The host listens here.
const PORT: u16 = 7777;
/// Connections open at once; fewer than the backlog (128).
const BATCH: usize = 100;
/// How long to wait for replies before a case counts as failed.
const WAIT_MS: i32 = 2000;

/// A segment of a case: offset in the stream and bytes.
pub type Segment = (u32, Vec<u8>);

/// The packets of one connection after its handshake; a FIN follows the farthest byte.
#[derive(Clone, Debug)]
pub struct Case {
    /// Initial sequence number of the sender.
    pub isn: u32,
    /// Segments in the order of arrival. They cover all bytes up to the farthest.
    pub segments: Vec<Segment>,
}

impl Case {
    /// The chunks in their order, then segments that fill the holes.
    ///
    /// `unit`: bytes of one unit of the grid. `lead`: the position in the order at which the first units arrive, and how
    /// many; without it the chunks begin with the stream's first byte.
    #[must_use]
    pub fn new(chunks: &[Interval], unit: u32, isn: u32, lead: Option<(usize, u32)>) -> Self {
        let shift = u32::from(lead.is_some());
        let mut order: Vec<Interval> = chunks.to_vec();
        order.iter_mut().for_each(|one| (one.start, one.end) = (one.start + shift, one.end + shift));
        if let Some((at, units)) = lead {
            order.insert(at.min(order.len()), Interval { start: 0, end: units });
        }
        let end = order.iter().map(|one| one.end).max().unwrap_or(0);
        order.extend(holes(&order, end));
        let bytes =
            |chunk: usize, one: &Interval| (one.start * unit..one.end * unit).map(|at| byte(chunk, at)).collect();
        let segments = order.iter().enumerate().map(|(chunk, one)| (one.start * unit, bytes(chunk, one))).collect();
        Self { isn, segments }
    }

    /// The stream's length.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.segments.iter().map(|(offset, bytes)| offset + bytes.len() as u32).max().unwrap_or(0)
    }
}

/// A case's connection.
#[derive(Clone, Debug)]
pub struct Played {
    /// The sender's port.
    pub port: u16,
    /// Bytes that the application received up to the end of the stream; `None`: no connection.
    pub received: Option<Vec<u8>>,
}

/// Packets of both sides, in the order of a capture.
pub type Trace = Vec<Vec<u8>>;

/// Sends cases and reads what the application receives.
pub struct Player<'a> {
    network: &'a Network,
    listener: TcpListener,
    is_ipv6: bool,
    next_port: u16,
    /// All packets of both sides, in order.
    pub trace: Trace,
}

/// One connection, seen from the sender.
struct Connection {
    port: u16,
    isn: u32,
    /// The host's next sequence number, once it has answered.
    ack: Option<u32>,
}

impl<'a> Player<'a> {
    /// Opens the listening socket.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn new(network: &'a Network, is_ipv6: bool) -> io::Result<Self> {
        let listener = network.on_host(move || TcpListener::bind((host(is_ipv6), PORT)))?;
        listener.set_nonblocking(true)?;
        Ok(Self { network, listener, is_ipv6, next_port: 10_000, trace: Vec::new() })
    }

    /// Plays cases, each on its own connection.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn play(&mut self, cases: &[Case]) -> io::Result<Vec<Played>> {
        let mut played = Vec::with_capacity(cases.len());
        for batch in cases.chunks(BATCH) {
            played.extend(self.play_batch(batch)?);
        }
        Ok(played)
    }

    fn play_batch(&mut self, cases: &[Case]) -> io::Result<Vec<Played>> {
        let mut connections = Vec::with_capacity(cases.len());
        for case in cases {
            self.next_port = if self.next_port == 65_000 { 10_000 } else { self.next_port + 1 };
            let connection = Connection { port: self.next_port, isn: case.isn, ack: None };
            self.send(&connection, SYN, case.isn, &[])?;
            connections.push(connection);
        }
        self.await_answers(&mut connections)?;
        for (case, connection) in cases.iter().zip(&connections) {
            if connection.ack.is_some() {
                self.play_one(case, connection)?;
            }
        }
        let mut streams = self.accept(&connections)?;
        let mut played = Vec::with_capacity(cases.len());
        for connection in &connections {
            let received = streams.remove(&connection.port).and_then(|stream| read(stream).ok());
            played.push(Played { port: connection.port, received });
        }
        self.drain()?;
        Ok(played)
    }

    fn play_one(&mut self, case: &Case, connection: &Connection) -> io::Result<()> {
        let first = case.isn.wrapping_add(1);
        self.send(connection, ACK, first, &[])?;
        for (offset, bytes) in &case.segments {
            self.send(connection, ACK | PSH, first.wrapping_add(*offset), bytes)?;
        }
        self.send(connection, FIN | ACK, first.wrapping_add(case.length()), &[])
    }

    fn send(&mut self, connection: &Connection, flags: u8, seq: u32, payload: &[u8]) -> io::Result<()> {
        let ip = Ip::new(sender(self.is_ipv6), host(self.is_ipv6));
        let tcp = Tcp {
            source_port: connection.port,
            destination_port: PORT,
            seq,
            ack: connection.ack.unwrap_or(0),
            flags,
            window: 0xfaf0,
            ..Tcp::default()
        };
        let frame = frame(&ip, 6, &tcp_segment(&ip, &tcp, payload), None);
        self.network.wire.send(&frame)?;
        self.trace.push(frame);
        self.drain()
    }

    /// Records what the host has sent so far.
    fn drain(&mut self) -> io::Result<()> {
        while let Some(frame) = self.network.wire.receive(0)? {
            self.trace.push(frame);
        }
        Ok(())
    }

    /// Waits for the SYN-ACKs of all connections.
    fn await_answers(&mut self, connections: &mut [Connection]) -> io::Result<()> {
        let transport = ETHERNET_BYTES + if self.is_ipv6 { 40 } else { 20 };
        let mut looked_at = self.trace.len().saturating_sub(connections.len() * 2);
        loop {
            for frame in &self.trace[looked_at..] {
                let Some(header) = frame.get(transport..transport + 20) else { continue };
                let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
                let (port, is_answer) = (word(0) as u16, header[13] & (SYN | ACK) == SYN | ACK);
                let found = connections.iter_mut().find(|one| one.port == port && one.isn.wrapping_add(1) == word(8));
                if let (Some(connection), true) = (found, is_answer) {
                    connection.ack = Some(word(4).wrapping_add(1));
                }
            }
            looked_at = self.trace.len();
            if connections.iter().all(|connection| connection.ack.is_some()) {
                return Ok(());
            }
            match self.network.wire.receive(WAIT_MS)? {
                Some(frame) => self.trace.push(frame),
                None => return Ok(()),
            }
        }
    }

    /// The accepted streams, by the sender's port. Nothing is read before: while an application reads, the kernel may
    /// coalesce segments before it checks their positions.
    fn accept(&self, connections: &[Connection]) -> io::Result<HashMap<u16, TcpStream>> {
        let mut streams = HashMap::new();
        let open = connections.iter().filter(|connection| connection.ack.is_some()).count();
        for _ in 0..WAIT_MS {
            loop {
                match self.listener.accept() {
                    Ok((stream, SocketAddr::V4(_) | SocketAddr::V6(_))) => {
                        streams.insert(stream.peer_addr()?.port(), stream);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            if streams.len() >= open {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(streams)
    }
}

/// Reads up to the end of a stream, or all available bytes if it does not end.
fn read(stream: TcpStream) -> io::Result<Vec<u8>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_millis(300)))?;
    let mut stream = TcpStream::from(reset_on_close(OwnedFd::from(stream))?);
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(bytes);
            }
            Err(error) => return Err(error),
        }
    }
}
