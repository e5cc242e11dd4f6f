//! A connection: TLS over TCP, where each wait has an end, and the messages of the protocol.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use rustls::Connection;

use super::{config::ALPN, words};
use crate::protocol::{Assembler, Frame, Garbled, Message};

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// How long the last words may take, and how much of what is still coming is read for them: a socket that is closed with unread
/// bytes takes back what it sent.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// See [`LAST_WORDS`].
const LAST_BYTES: usize = 1 << 20;

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The other side closed it.
    #[error("the connection was closed")]
    Closed,
    /// Nothing came, or went, for too long.
    #[error("{0} within the time limit")]
    Late(&'static str),
    /// The network's.
    #[error("the connection broke: {0}")]
    Network(io::Error),
    /// TLS refuses, on either side.
    #[error("{}", words::of(.0))]
    Tls(rustls::Error),
    /// The other side sent what the protocol does not have.
    #[error("it sent what the protocol does not have: {0}")]
    Garbled(#[from] Garbled),
}

/// A TCP connection whose reads and writes end at a time.
struct Timed<'a> {
    tcp: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        // Zero would be no limit at all.
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.max(Duration::from_millis(1))) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.tcp.set_read_timeout(Some(self.left()?))?;
        self.tcp.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tcp.set_write_timeout(Some(self.left()?))?;
        self.tcp.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn failed(error: io::Error) -> LinkError {
    match error.kind() {
        ErrorKind::UnexpectedEof => LinkError::Closed,
        _ => LinkError::Network(error),
    }
}

/// A connection.
pub struct Link {
    tls: Connection,
    tcp: TcpStream,
    frames: Assembler,
    room: Vec<u8>,
    sent: u64,
    arrived: u64,
}

impl Link {
    /// Makes both sides prove who they are.
    ///
    /// # Errors
    /// One of them cannot, or it takes longer than until this time.
    pub fn greet(tls: Connection, tcp: TcpStream, until: Instant) -> Result<Self, LinkError> {
        // Acknowledgments are small, and waited for.
        tcp.set_nodelay(true).map_err(LinkError::Network)?;
        let mut link = Self { tls, tcp, frames: Assembler::default(), room: vec![0; READ_BYTES], sent: 0, arrived: 0 };
        while link.tls.is_handshaking() {
            link.write_out(until)?;
            if link.tls.is_handshaking() {
                link.read_in(until, "the other side did not prove who it is")?;
            }
        }
        link.write_out(until)?;
        // A side that names no protocol is let through by TLS.
        if link.tls.alpn_protocol() != Some(ALPN) {
            return Err(LinkError::Tls(rustls::Error::NoApplicationProtocol));
        }
        Ok(link)
    }

    /// The connection as TLS sees it.
    pub fn tls(&self) -> &Connection {
        &self.tls
    }

    /// Bytes sent, with all that TLS adds.
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Bytes that have arrived, with all that TLS adds.
    pub fn arrived_bytes(&self) -> u64 {
        self.arrived
    }

    fn write_out(&mut self, until: Instant) -> Result<(), LinkError> {
        let mut timed = Timed { tcp: &self.tcp, until };
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut timed) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(bytes) => self.sent += bytes as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => return Err(LinkError::Late("the other side reads nothing")),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    /// Reads what arrives. `what`: what is missing if nothing does.
    fn read_in(&mut self, until: Instant, what: &'static str) -> Result<(), LinkError> {
        let mut timed = Timed { tcp: &self.tcp, until };
        match self.tls.read_tls(&mut timed) {
            Ok(0) => return Err(LinkError::Closed),
            Ok(bytes) => self.arrived += bytes as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_late(&error) => return Err(LinkError::Late(what)),
            Err(error) => return Err(failed(error)),
        }
        if let Err(error) = self.tls.process_new_packets() {
            // TLS notifies the other side of the reason.
            let _ = self.write_out(Instant::now() + LAST_WORDS);
            return Err(LinkError::Tls(error));
        }
        Ok(())
    }

    /// Sends messages, encoded one behind the other.
    ///
    /// # Errors
    /// The connection is lost, or not all was taken until this time.
    pub fn send(&mut self, mut bytes: &[u8], until: Instant) -> Result<(), LinkError> {
        while !bytes.is_empty() {
            let taken = self.tls.writer().write(bytes).map_err(failed)?;
            bytes = bytes.get(taken..).unwrap_or_default();
            self.write_out(until)?;
        }
        Ok(())
    }

    /// Sends one message.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn say(&mut self, message: &Message<'_>, until: Instant) -> Result<(), LinkError> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.send(&bytes, until)
    }

    /// The next frame; `None` if it is not here until this time. `most`: bytes of its body.
    ///
    /// # Errors
    /// The connection is lost, or what arrives is no frame.
    pub fn receive(&mut self, most: usize, until: Instant) -> Result<Option<Frame>, LinkError> {
        self.receive_small(most, usize::MAX, until)
    }

    /// As [`receive`](Self::receive); also returns `None` once a frame with a body of more than `pause` bytes begins to arrive
    /// ([`arriving`](Self::arriving)), before most of it is here.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    pub fn receive_small(&mut self, most: usize, pause: usize, until: Instant) -> Result<Option<Frame>, LinkError> {
        loop {
            if let Some(frame) = self.frames.next(most)? {
                return Ok(Some(frame));
            }
            if self.arriving(most)?.is_some_and(|bytes| bytes > pause) {
                return Ok(None);
            }
            match self.tls.reader().read(&mut self.room) {
                // An end that the other side announced.
                Ok(0) => return Err(LinkError::Closed),
                Ok(bytes) => self.frames.push(self.room.get(..bytes).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Answers of TLS itself.
                    self.write_out(until)?;
                    match self.read_in(until, "nothing came") {
                        Err(LinkError::Late(_)) => return Ok(None),
                        read => read?,
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// How much of the next frame is expected, while only a part of it is here.
    ///
    /// # Errors
    /// More than `most`.
    pub fn arriving(&self, most: usize) -> Result<Option<usize>, LinkError> {
        if self.frames.is_within() { Ok(self.frames.arriving(most)?) } else { Ok(None) }
    }

    /// Ends it such that what was sent last arrives.
    pub fn end(mut self) {
        let until = Instant::now() + LAST_WORDS;
        self.tls.send_close_notify();
        if self.write_out(until).is_ok() {
            linger(&self.tcp, until);
        }
    }
}

/// Reads and drops what still comes, until the other side has read the last words and closes.
pub fn linger(tcp: &TcpStream, until: Instant) {
    if tcp.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut timed = Timed { tcp, until };
    let (mut room, mut read) = ([0; 4096], 0);
    while read < LAST_BYTES {
        match timed.read(&mut room) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => read += bytes,
        }
    }
}
