//! Messages to a collector.

use std::{
    fs::File,
    io::{self, Write as _},
    net::{TcpStream, ToSocketAddrs as _, UdpSocket},
    os::fd::OwnedFd,
    time::Duration,
};

use super::target::Place;
use crate::error::CliError;

/// How long a collector has to answer, and to accept a message.
const PATIENCE: Duration = Duration::from_secs(10);

/// A socket to a collector. It is written to as a file: a capture that gave up its privileges opens no other.
pub struct Collector {
    socket: File,
    shown: String,
    is_datagrams: bool,
    /// Messages that the host of the collector refused: nobody listens there, or did not.
    refused: u64,
    failure: Option<io::Error>,
}

impl Collector {
    /// Connects to `place`; `None`: it is none of the network.
    pub fn connect(place: &Place) -> Result<Option<Self>, CliError> {
        let (scheme, address, is_datagrams) = match place {
            Place::Udp(address) => ("udp", address, true),
            Place::Tcp(address) => ("tcp", address, false),
            _ => return Ok(None),
        };
        let shown = format!("{scheme}://{address}");
        let socket = connected(address, is_datagrams);
        let socket = socket.map_err(|error| CliError::Output(format!("{shown}: cannot be reached: {error}")))?;
        Ok(Some(Self { socket: File::from(socket), shown, is_datagrams, refused: 0, failure: None }))
    }

    pub fn is_datagrams(&self) -> bool {
        self.is_datagrams
    }

    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Sends a message.
    pub fn send(&mut self, message: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let sent =
            if self.is_datagrams { self.socket.write(message).map(drop) } else { self.socket.write_all(message) };
        match sent {
            // What the host answered to an earlier datagram; this one was not sent.
            Err(error) if self.is_datagrams && error.kind() == io::ErrorKind::ConnectionRefused => self.refused += 1,
            sent => self.failure = sent.err(),
        }
    }

    /// Says what was not sent.
    ///
    /// # Errors
    /// The connection was lost, or nobody listens.
    pub fn finish(&mut self) -> Result<(), CliError> {
        if let Some(failure) = self.failure.take() {
            return Err(CliError::Output(format!("{}: records cannot be sent: {failure}", self.shown)));
        }
        match self.refused {
            0 => Ok(()),
            count => Err(CliError::Output(format!(
                "{}: nobody listens there: {count} messages were refused, and with each the one before it",
                self.shown
            ))),
        }
    }
}

fn connected(address: &str, is_datagrams: bool) -> io::Result<OwnedFd> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        let socket: io::Result<OwnedFd> = if is_datagrams {
            let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            UdpSocket::bind(any).and_then(|socket| socket.connect(address).map(|()| socket.into()))
        } else {
            TcpStream::connect_timeout(&address, PATIENCE).and_then(|stream| {
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(stream.into())
            })
        };
        match socket {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}
