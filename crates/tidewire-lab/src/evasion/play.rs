//! Plays scripts to the running kernel.

use std::{
    io::{self, Read},
    net::{TcpListener, TcpStream},
    os::fd::OwnedFd,
    time::Duration,
};

use super::script::{Cut, Script, Segment, Step, segment, syn};
use tidewire_live::sys::net::{grow_buffer, reset_on_close};

use crate::{
    craft::{ACK, ETHERNET_BYTES, Ip, Piece, SYN, Tcp, fold, frame, pseudo_sum, sum, tcp_segment},
    oracle::network::{Network, host, sender},
};

const FIRST_ISN: u32 = 1_000_000;
/// How long to wait for replies of the host.
const ANSWER_MS: i32 = 1000;
/// Wait after each packet, for acknowledgments.
const PAUSE_MS: i32 = 3;
const TCP_AT: usize = ETHERNET_BYTES + 20;

/// The result of a script.
#[derive(Clone, Debug)]
pub struct Answer {
    /// All packets, in the order of a capture on the adversary's side.
    pub packets: Vec<Vec<u8>>,
    /// Bytes that the application received.
    pub received: Vec<u8>,
}

struct Player<'a> {
    network: &'a Network,
    listener: TcpListener,
    stream: Option<TcpStream>,
    ports: (u16, u16),
    isn: u32,
    /// The host's next sequence number.
    host_next: u32,
    ip_id: u32,
    answer: Answer,
}

/// Plays one script; `number` selects its ports.
///
/// # Errors
/// The error of the kernel.
pub fn play(network: &Network, script: &Script, number: u16) -> io::Result<Answer> {
    let ports = (20_000 + number, 8_000 + number);
    let buffer = script.receive_buffer;
    let listener = network.on_host(move || {
        let listener = TcpListener::bind((host(false), ports.1))?;
        if buffer > 0 { grow_buffer(OwnedFd::from(listener), buffer).map(TcpListener::from) } else { Ok(listener) }
    })?;
    listener.set_nonblocking(true)?;
    let answer = Answer { packets: Vec::new(), received: Vec::new() };
    let mut player = Player { network, listener, stream: None, ports, isn: FIRST_ISN, host_next: 0, ip_id: 1, answer };
    for step in &script.steps {
        player.step(step)?;
    }
    player.drain(50)?;
    player.read(Duration::from_millis(100))?;
    if let Some(stream) = player.stream.take() {
        // Reset, so that no state is left for the next script.
        drop(reset_on_close(OwnedFd::from(stream))?);
    }
    while network.wire.receive(20)?.is_some() {}
    Ok(player.answer)
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Open => {
                self.send(&syn())?;
                self.await_answer()?;
                self.send(&segment(0, ACK, b""))
            }
            Step::Send(segment) => self.send(segment),
            Step::Fragments(segment, cuts) => self.send_fragments(segment, cuts),
            Step::Answer => self.await_answer(),
            Step::Read => self.read(Duration::from_millis(5)),
            Step::NewIsn(isn) => {
                self.isn = *isn;
                Ok(())
            }
        }
    }

    fn headers(&mut self, segment: &Segment) -> (Ip, Vec<u8>) {
        let mut ip = Ip::new(sender(false), host(false));
        self.ip_id += 1;
        (ip.id, ip.ttl, ip.options) = (self.ip_id, segment.ttl, segment.ip_options.clone());
        ip.bad_checksum = segment.bad_ip_checksum;
        let tcp = Tcp {
            source_port: self.ports.0,
            destination_port: self.ports.1,
            seq: self.isn.wrapping_add(1).wrapping_add(segment.at as u32),
            ack: if segment.flags & ACK == 0 { 0 } else { self.host_next.wrapping_add(segment.ack as u32) },
            flags: segment.flags,
            window: segment.window,
            urgent: segment.urgent,
            options: segment.options.clone(),
            bad_checksum: segment.bad_checksum,
        };
        let bytes = tcp_segment(&ip, &tcp, &segment.payload);
        (ip, bytes)
    }

    fn send(&mut self, segment: &Segment) -> io::Result<()> {
        let (ip, bytes) = self.headers(segment);
        let mut frame = frame(&ip, 6, &bytes, None);
        if let Some(edit) = segment.edit {
            edit(&mut frame);
            if frame.len() > TCP_AT + 20 && frame[ETHERNET_BYTES] == 0x45 && !segment.bad_checksum {
                fix_tcp_checksum(&mut frame);
            }
        }
        self.put(frame, segment.is_lost)
    }

    fn send_fragments(&mut self, segment: &Segment, cuts: &[Cut]) -> io::Result<()> {
        let (ip, bytes) = self.headers(segment);
        for cut in cuts {
            let mut part = bytes[cut.from..cut.to].to_vec();
            if let Some(fill) = cut.fill {
                part.fill(fill);
            }
            let piece = Piece { offset: cut.from as u32, more: cut.to < bytes.len() };
            self.put(frame(&ip, 6, &part, Some(piece)), segment.is_lost)?;
        }
        Ok(())
    }

    fn put(&mut self, frame: Vec<u8>, is_lost: bool) -> io::Result<()> {
        if !is_lost {
            self.network.wire.send(&frame)?;
        }
        self.answer.packets.push(frame);
        self.drain(PAUSE_MS)
    }

    /// Records what the host sends until it is silent for a while.
    fn drain(&mut self, wait_ms: i32) -> io::Result<()> {
        while let Some(mut frame) = self.network.wire.receive(wait_ms)? {
            if !self.is_ours(&frame) {
                continue;
            }
            // The host offloads checksums to the interface, which does not compute them here.
            fix_tcp_checksum(&mut frame);
            let word = |at: usize| u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
            if frame[TCP_AT + 13] & (SYN | ACK) == SYN | ACK && word(TCP_AT + 8) == self.isn.wrapping_add(1) {
                self.host_next = word(TCP_AT + 4).wrapping_add(1);
            }
            self.answer.packets.push(frame);
        }
        Ok(())
    }

    fn is_ours(&self, frame: &[u8]) -> bool {
        frame.len() >= TCP_AT + 20
            && frame[12..14] == [8, 0]
            && frame[23] == 6
            && frame[TCP_AT..TCP_AT + 2] == self.ports.1.to_be_bytes()
            && frame[TCP_AT + 2..TCP_AT + 4] == self.ports.0.to_be_bytes()
    }

    fn await_answer(&mut self) -> io::Result<()> {
        let mut waited = 0;
        while self.host_next == 0 && waited < ANSWER_MS {
            self.drain(PAUSE_MS)?;
            waited += PAUSE_MS;
        }
        if self.host_next == 0 { Err(io::Error::other("the host did not answer")) } else { Ok(()) }
    }

    /// The application reads what arrives within this time.
    fn read(&mut self, wait: Duration) -> io::Result<()> {
        if self.stream.is_none() {
            match self.listener.accept() {
                Ok((stream, _)) => self.stream = Some(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let Some(stream) = &mut self.stream else { return Ok(()) };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(wait))?;
        let mut buffer = [0; 65_536];
        loop {
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => self.answer.received.extend_from_slice(&buffer[..count]),
                // End of stream, no data now, or a reset: nothing more arrives.
                _ => break,
            }
        }
        self.drain(PAUSE_MS)
    }
}

/// Writes the correct TCP checksum into an IPv4 frame without IP options.
fn fix_tcp_checksum(frame: &mut [u8]) {
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let end = (ETHERNET_BYTES + total).min(frame.len());
    let address = |at: usize| std::net::Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
    let ip = Ip::new(address(26).into(), address(30).into());
    let segment = &mut frame[TCP_AT..end];
    segment[16..18].fill(0);
    let checksum = fold(sum(segment, pseudo_sum(&ip, 6, segment.len())));
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
}
