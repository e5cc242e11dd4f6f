//! Sends [`forms`](super::forms) to a host, and reads what its applications receive.

use std::{
    collections::HashMap,
    io::{self, Read},
    net::{TcpListener, TcpStream, UdpSocket},
    time::Duration,
};

use super::{
    forms::Form,
    network::{Network, host, sender},
};
use crate::craft::{ACK, ETHERNET_BYTES, FIN, Ip, PSH, RST, SYN, Tcp, frame, tcp_segment, udp_datagram};

/// The host's port, of UDP and of TCP.
const PORT: u16 = 7779;
/// Bytes of each payload: enough for several fragments.
const BYTES: usize = 40;
/// How long to wait for replies of the host.
const WAIT_MS: i32 = 2000;
/// Initial sequence number of the sender.
const ISN: u32 = 0x1000_0000;

/// The task of a packet in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A datagram, after one in the usual form.
    Datagram,
    /// TCP payload, before other bytes at the same offset.
    Payload,
    /// A FIN with payload, before more payload.
    Fin,
    /// A reset, before payload.
    Reset,
}

impl Task {
    /// Every task.
    pub const ALL: [Self; 4] = [Self::Datagram, Self::Payload, Self::Fin, Self::Reset];
}

/// The result of a task: the sender's port, and what the application received (UDP: each datagram; TCP: all bytes).
#[derive(Debug)]
pub struct Played {
    /// The sender's port.
    pub port: u16,
    /// Bytes that the application received.
    pub received: Vec<Vec<u8>>,
}

/// Sends forms and keeps the packets of both sides.
pub struct Player<'a> {
    network: &'a Network,
    is_ipv6: bool,
    listener: TcpListener,
    datagrams: UdpSocket,
    port: u16,
    identification: u32,
    ack: u32,
    /// All packets of both sides, in order.
    pub trace: Vec<Vec<u8>>,
}

impl<'a> Player<'a> {
    /// Opens the host's sockets.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn new(network: &'a Network, is_ipv6: bool) -> io::Result<Self> {
        let listener = network.on_host(move || TcpListener::bind((host(is_ipv6), PORT)))?;
        let datagrams = network.on_host(move || UdpSocket::bind((host(is_ipv6), PORT)))?;
        datagrams.set_nonblocking(true)?;
        listener.set_nonblocking(true)?;
        Ok(Self { network, is_ipv6, listener, datagrams, port: 20_000, identification: 1, ack: 0, trace: Vec::new() })
    }

    /// Plays a task in a form.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn play(&mut self, form: &Form, task: Task) -> io::Result<Played> {
        self.port += 1;
        let received = if task == Task::Datagram { self.datagram(form)? } else { vec![self.connection(form, task)?] };
        Ok(Played { port: self.port, received })
    }

    fn ip(&mut self) -> Ip {
        self.identification += 4;
        Ip { id: self.identification, ..Ip::new(sender(self.is_ipv6), host(self.is_ipv6)) }
    }

    fn send(&mut self, frames: Vec<Vec<u8>>) -> io::Result<()> {
        for frame in frames {
            self.network.wire.send(&frame)?;
            self.trace.push(frame);
            self.drain(0)?;
        }
        Ok(())
    }

    /// Records what the host has sent; `wait_ms`: how long to wait for the first packet.
    fn drain(&mut self, wait_ms: i32) -> io::Result<()> {
        let mut wait_ms = wait_ms;
        while let Some(frame) = self.network.wire.receive(wait_ms)? {
            self.trace.push(frame);
            wait_ms = 0;
        }
        Ok(())
    }

    fn datagram(&mut self, form: &Form) -> io::Result<Vec<Vec<u8>>> {
        for (byte, is_special) in [(b'u', false), (b's', true)] {
            let ip = self.ip();
            let bytes = udp_datagram(&ip, (self.port, PORT), &[byte; BYTES]);
            let frames = if is_special { (form.wrap)(&ip, 17, &bytes) } else { vec![frame(&ip, 17, &bytes, None)] };
            self.send(frames)?;
        }
        // A veth delivers at once; what has not arrived yet does not arrive.
        std::thread::sleep(Duration::from_millis(2));
        let (mut received, mut buffer) = (HashMap::<u16, Vec<Vec<u8>>>::new(), [0; 2048]);
        loop {
            match self.datagrams.recv_from(&mut buffer) {
                Ok((count, from)) => received.entry(from.port()).or_default().push(buffer[..count].to_vec()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(received.remove(&self.port).unwrap_or_default())
    }

    fn segment(&mut self, form: Option<&Form>, flags: u8, offset: usize, payload: &[u8]) -> io::Result<()> {
        let ip = self.ip();
        let tcp = Tcp {
            source_port: self.port,
            destination_port: PORT,
            seq: if flags & SYN != 0 { ISN } else { ISN + 1 + offset as u32 },
            ack: if flags & ACK != 0 { self.ack } else { 0 },
            flags,
            window: 0xfaf0,
            ..Tcp::default()
        };
        let segment = tcp_segment(&ip, &tcp, payload);
        let usual = |_: &Ip| vec![frame(&ip, 6, &segment, None)];
        let frames = form.map_or_else(|| usual(&ip), |form| (form.wrap)(&ip, 6, &segment));
        self.send(frames)
    }

    fn connection(&mut self, form: &Form, task: Task) -> io::Result<Vec<u8>> {
        let at = self.trace.len();
        self.segment(None, SYN, 0, &[])?;
        let transport = ETHERNET_BYTES + if self.is_ipv6 { 40 } else { 20 };
        let is_answer =
            |frame: &Vec<u8>| frame.get(transport + 13).is_some_and(|flags| flags & (SYN | ACK) == SYN | ACK);
        if !self.trace[at..].iter().any(is_answer) {
            self.drain(WAIT_MS)?;
        }
        let answer = self.trace[at..].iter().find(|frame| is_answer(frame)).ok_or(io::ErrorKind::TimedOut)?;
        let number = answer[transport + 4..transport + 8].first_chunk().copied().unwrap_or_default();
        self.ack = u32::from_be_bytes(number).wrapping_add(1);
        self.segment(None, ACK, 0, &[])?;
        self.segment(None, ACK | PSH, 0, &[b'1'; BYTES])?;
        match task {
            Task::Fin => self.segment(Some(form), ACK | PSH | FIN, BYTES, &[b'f'; BYTES])?,
            Task::Reset => self.segment(Some(form), RST | ACK, BYTES, &[b'r'; BYTES])?,
            Task::Payload | Task::Datagram => self.segment(Some(form), ACK | PSH, BYTES, &[b's'; BYTES])?,
        }
        for (place, byte) in [b'2', b'3'].into_iter().enumerate() {
            self.segment(None, ACK | PSH, (place + 1) * BYTES, &[byte; BYTES])?;
        }
        self.segment(None, ACK | FIN, 3 * BYTES, &[])?;
        let received = self.read()?;
        self.drain(0)?;
        Ok(received)
    }

    /// Reads all available bytes of the accepted connection.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut stream: Option<TcpStream> = None;
        for _ in 0..WAIT_MS {
            match self.listener.accept() {
                Ok((accepted, _)) => {
                    stream = Some(accepted);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error),
            }
        }
        let mut stream = stream.ok_or(io::ErrorKind::TimedOut)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(bytes),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A reset: earlier bytes have been read.
                Err(_) => return Ok(bytes),
            }
        }
    }
}
