//! Messages to a collector.

mod pace;
mod stream;
mod under_way;

use std::{
    fs::File,
    io::{self, Write as _},
    net::{SocketAddr, ToSocketAddrs as _, UdpSocket},
    os::fd::OwnedFd,
    thread,
    time::{Duration, Instant},
};

use pace::Pace;
use rustix::io::Errno;
use stream::Stream;
use tidewire::Stop;
use tidewire_exports::ipfix::Encoded;
use tidewire_types::counted;

use crate::{
    error::{Notify, OutputError},
    settings::Settings,
    target::OutputDestination,
};

/// How long a refusal is waited for, and in which steps.
const ANSWER_ATTEMPTS: u32 = 10;
const ANSWER_PAUSE: Duration = Duration::from_millis(5);

/// A collector.
pub enum Collector {
    Datagrams(Datagrams),
    Stream(Box<Stream>),
}

/// A socket of UDP. It is written to as a file: a capture that gave up its privileges sends nothing else.
pub struct Datagrams {
    socket: File,
    shown: String,
    sending: Sending,
    /// Messages that the host of the collector refused: no process listens there.
    refused: u64,
    /// Messages that the system did not take, and why it did not take the last of them.
    unsent: u64,
    error: Option<io::Error>,
    /// Records of flows in these messages, and of those that were refused.
    unsent_records: u64,
    /// Those of the last message that was sent: which is the one that a refusal is about.
    last_records: u64,
    /// Those of the messages before, which were not refused.
    taken_records: u64,
    pace: Pace,
}

/// How datagrams are sent.
#[derive(Clone)]
pub struct Sending {
    /// Whether records arrive live: then a collector is waited for only after the capture has ended.
    pub is_live: bool,
    /// Datagrams a second; 0: as they come.
    pub rate: u32,
    /// Says that a capture has ended.
    pub stop: Stop,
    /// Where notices go.
    pub notify: Notify,
}

impl Sending {
    /// The sending of a run.
    pub fn of(settings: &Settings) -> Self {
        let is_live = settings.source.is_live;
        Self { is_live, rate: settings.udp_rate, stop: settings.stop.clone(), notify: settings.notify.clone() }
    }

    /// Whether messages are sent no faster than the rate. A capture that runs must not wait: its records come no faster than its streams
    /// end; when it was stopped, all that were open do at once. Who interrupts the reading of files does not wait for the rest.
    fn waits(&self) -> bool {
        self.is_live == self.stop.is_stopped()
    }
}

impl Collector {
    /// Connects to `place`; `None`: it is not a network address. `templates`: a message that begins a connection that is made again.
    pub fn connect(
        place: &OutputDestination,
        templates: impl FnOnce() -> Vec<u8>,
        sending: &Sending,
    ) -> Result<Option<Self>, OutputError> {
        let (scheme, address) = match place {
            OutputDestination::Udp(address) => ("udp", address),
            OutputDestination::Tcp(address) => ("tcp", address),
            _ => return Ok(None),
        };
        let shown = format!("{scheme}://{address}");
        let cannot = |error: io::Error| OutputError::Write(format!("{shown}: cannot be reached: {error}"));
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(cannot)?.collect();
        let collector = match scheme {
            "tcp" => Stream::connect(shown.clone(), addresses, templates(), sending.is_live, sending.notify.clone())
                .map(|stream| Self::Stream(Box::new(stream))),
            _ => datagrams(&addresses).map(|socket| {
                let (sending, pace) = (sending.clone(), Pace::new(sending.rate));
                let shown = shown.clone();
                Self::Datagrams(Datagrams::new(socket, shown, sending, pace))
            }),
        };
        collector.map(Some).map_err(cannot)
    }

    pub fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// The ports that are connected to again.
    pub fn ports(&self) -> Vec<u16> {
        match self {
            Self::Datagrams(_) => Vec::new(),
            Self::Stream(stream) => stream.ports(),
        }
    }

    pub fn has_failed(&self) -> bool {
        match self {
            // A link that is down may come up again.
            Self::Datagrams(_) => false,
            Self::Stream(stream) => stream.has_failed(),
        }
    }

    /// Why nothing can be sent at this moment; it is tried again.
    pub fn away(&self) -> Option<String> {
        match self {
            Self::Datagrams(_) => None,
            Self::Stream(stream) => stream.away(),
        }
    }

    /// Records that are known not to be sent.
    pub fn unsent_records(&self) -> u64 {
        match self {
            Self::Datagrams(datagrams) => datagrams.unsent_records,
            Self::Stream(stream) => stream.unsent_records(),
        }
    }

    /// Records that were sent, and neither refused nor lost: while it runs never fewer than before.
    pub fn sent_records(&self) -> u64 {
        match self {
            Self::Datagrams(datagrams) => datagrams.taken_records,
            Self::Stream(stream) => stream.sent_records(),
        }
    }

    /// Sends a message.
    pub fn send(&mut self, message: Encoded) {
        match self {
            Self::Datagrams(datagrams) => datagrams.send(&message),
            Self::Stream(stream) => stream.send(message),
        }
    }

    /// Says what was not sent.
    ///
    /// # Errors
    /// The connection was lost, or no collector listens.
    pub fn finish(&mut self) -> Result<(), OutputError> {
        let finished = match self {
            Self::Datagrams(datagrams) => datagrams.finish(),
            Self::Stream(stream) => stream.finish(),
        };
        finished.map_err(OutputError::Write)
    }
}

impl Datagrams {
    fn new(socket: File, shown: String, sending: Sending, pace: Pace) -> Self {
        let (unsent_records, last_records, taken_records) = (0, 0, 0);
        let (refused, unsent, error) = (0, 0, None);
        Self { socket, shown, sending, refused, unsent, error, unsent_records, last_records, taken_records, pace }
    }

    fn send(&mut self, message: &Encoded) {
        if self.sending.waits() {
            let wait = self.pace.wait(Instant::now());
            if !wait.is_zero() {
                thread::sleep(wait);
            }
        }
        let records = u64::from(message.flow_records);
        match self.socket.write(&message.bytes) {
            // The host's answer to an earlier datagram; this one was not sent.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.refused += 1;
                self.unsent_records += records + std::mem::take(&mut self.last_records);
            }
            Err(error) => {
                self.unsent += 1;
                self.unsent_records += records;
                if self.error.is_none() {
                    (self.sending.notify)(format_args!(
                        "{}: a message cannot be sent: {error}; later ones are tried",
                        self.shown
                    ));
                }
                self.error = Some(error);
            }
            Ok(_) => self.taken_records += std::mem::replace(&mut self.last_records, records),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        // The answer to the last datagram comes a moment later, as the socket's next error.
        for _ in 0..ANSWER_ATTEMPTS {
            if self.last_records == 0 {
                break;
            }
            match rustix::net::sockopt::socket_error(&self.socket) {
                Ok(Err(Errno::CONNREFUSED)) => {
                    self.refused += 1;
                    self.unsent_records += std::mem::take(&mut self.last_records);
                }
                _ => thread::sleep(ANSWER_PAUSE),
            }
        }
        self.taken_records += std::mem::take(&mut self.last_records);
        if let Some(error) = self.error.take() {
            let messages = counted(self.unsent, "message was", "messages were");
            return Err(format!("{}: {messages} not sent: {error}", self.shown));
        }
        match self.refused {
            0 => Ok(()),
            count => Err(format!(
                "{}: no collector listens there: {} refused; the one before each refused one was lost too",
                self.shown,
                counted(count, "message was", "messages were")
            )),
        }
    }
}

fn datagrams(addresses: &[SocketAddr]) -> io::Result<File> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        match UdpSocket::bind(any).and_then(|socket| socket.connect(address).map(|()| OwnedFd::from(socket))) {
            Ok(socket) => return Ok(File::from(socket)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_wait_until_they_are_interrupted_and_captures_from_then_on() {
        for is_live in [false, true] {
            let sending = Sending { is_live, rate: 1, stop: Stop::new(), notify: std::sync::Arc::new(|_| {}) };
            assert_eq!(sending.waits(), !is_live);
            sending.stop.stop();
            assert_eq!(sending.waits(), is_live);
        }
    }

    /// A refused message, and the one that was not sent because of the refusal, are counted as not sent.
    #[test]
    fn refused_records_are_counted() {
        // Bound and closed again: no process listens there.
        let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
        let place = OutputDestination::Udp(closed.to_string());
        let sending = Sending { is_live: false, rate: 0, stop: Stop::new(), notify: std::sync::Arc::new(|_| {}) };
        let mut collector = Collector::connect(&place, Vec::new, &sending).unwrap().unwrap();
        let message = Encoded { bytes: vec![0; 100], flow_records: 3 };
        // Each second one is refused on account of the one before.
        for count in 1..=4 {
            collector.send(message.clone());
            assert_eq!((collector.unsent_records(), collector.sent_records()), (count / 2 * 6, 0));
        }
        // The answer to the last one comes behind it.
        collector.send(message);
        assert!(collector.finish().is_err());
        assert_eq!((collector.unsent_records(), collector.sent_records()), (15, 0));
    }
}
