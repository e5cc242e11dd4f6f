//! Messages to a collector over TCP. A connection that is lost is made again, by a thread of its own, so that a capture never waits.

use std::{
    fs::File,
    io::{self, Write as _},
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::net::{RecvFlags, recv};

use crate::error::notify;

/// How long a collector has to answer, and to accept a message.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Messages that wait: 4 MiB of the largest.
const WAITING_MAX: usize = 256;

/// Pauses between attempts to connect again: doubled each time.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(5);

/// How long a run over files, or one that ends, waits for a collector that is away.
const AWAY_MAX: Duration = Duration::from_secs(30);

/// Where the time and the number of the first record stand in a message (RFC 7011 section 3.1).
const TIME: std::ops::Range<usize> = 4..8;
const SEQUENCE: std::ops::Range<usize> = 8..12;

/// A connection.
pub struct Stream {
    shown: String,
    /// Whether records come whether or not they can be sent.
    is_live: bool,
    line: Line,
    shared: Arc<Shared>,
    /// The number of the first record of a message that was not sent, until the next message says how many it had.
    unsent_from: Option<u32>,
    unsent_records: u64,
}

/// The thread begins with the first message: a capture has given up its privileges by then.
enum Line {
    New(Box<Peer>),
    Running(SyncSender<Vec<u8>>, JoinHandle<()>),
    Over,
}

/// The collector.
struct Peer {
    shown: String,
    addresses: Vec<SocketAddr>,
    socket: Option<File>,
    /// A message of templates, which begins a connection.
    templates: Vec<u8>,
    is_live: bool,
    /// How long it may be away.
    away_max: Duration,
}

/// What the thread reports.
#[derive(Default)]
struct Shared {
    has_failed: AtomicBool,
    /// The input has ended: nobody waits for long any more.
    is_ending: AtomicBool,
    failure: Mutex<Option<io::Error>>,
}

impl Stream {
    /// Connects to the first of these addresses that answers.
    pub fn connect(shown: String, addresses: Vec<SocketAddr>, templates: Vec<u8>, is_live: bool) -> io::Result<Self> {
        let socket = Some(connected(&addresses)?);
        let peer = Peer { shown: shown.clone(), addresses, socket, templates, is_live, away_max: AWAY_MAX };
        let line = Line::New(Box::new(peer));
        Ok(Self { shown, is_live, line, shared: Arc::default(), unsent_from: None, unsent_records: 0 })
    }

    /// The ports that are connected to again.
    #[cfg(feature = "live")]
    pub fn ports(&self) -> Vec<u16> {
        match &self.line {
            Line::New(peer) => peer.addresses.iter().map(SocketAddr::port).collect(),
            _ => Vec::new(),
        }
    }

    pub fn has_failed(&self) -> bool {
        self.shared.has_failed.load(Ordering::Relaxed)
    }

    /// Records that were not sent, because too many waited while the collector was away.
    pub fn unsent_records(&self) -> u64 {
        self.unsent_records
    }

    /// Sends a message, or notes that it is not sent.
    pub fn send(&mut self, message: &[u8]) {
        let number = number_of(message);
        if let Some(from) = self.unsent_from.take() {
            self.unsent_records += u64::from(number.wrapping_sub(from));
        }
        self.begin();
        let Line::Running(queue, _) = &self.line else { return };
        let sent = match self.is_live {
            true => queue.try_send(message.to_owned()),
            false => queue.send(message.to_owned()).map_err(|error| TrySendError::Disconnected(error.0)),
        };
        if sent.is_err() {
            self.unsent_from = Some(number);
        }
    }

    fn begin(&mut self) {
        if !matches!(self.line, Line::New(_)) {
            return;
        }
        let Line::New(peer) = std::mem::replace(&mut self.line, Line::Over) else { return };
        let (queue, messages) = sync_channel(WAITING_MAX);
        let shared = Arc::clone(&self.shared);
        match thread::Builder::new().name("collector".into()).spawn(move || peer.serve(&messages, &shared)) {
            Ok(thread) => self.line = Line::Running(queue, thread),
            Err(error) => self.shared.fail(error),
        }
    }

    /// Waits until everything is sent.
    ///
    /// # Errors
    /// What was not sent.
    pub fn finish(&mut self) -> Result<(), String> {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if let Line::Running(queue, thread) = std::mem::replace(&mut self.line, Line::Over) {
            drop(queue);
            let _ = thread.join();
        }
        let failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (failure, self.unsent_records) {
            (Some(failure), _) => Err(format!("{}: records cannot be sent: {failure}", self.shown)),
            (None, 0) => Ok(()),
            (None, count) => Err(format!("{}: {count} records were not sent while nobody listened there", self.shown)),
        }
    }
}

impl Shared {
    fn fail(&self, error: io::Error) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }
}

impl Peer {
    fn serve(mut self, messages: &Receiver<Vec<u8>>, shared: &Shared) {
        for message in messages {
            while let Err(error) = self.attempt(&message) {
                self.socket = None;
                notify(format_args!(
                    "{}: the connection was lost ({error}); records that were under way may be; connecting again",
                    self.shown
                ));
                if let Err(error) = self.reconnect(&message, shared) {
                    return shared.fail(error);
                }
            }
        }
    }

    fn attempt(&mut self, message: &[u8]) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        // A collector says nothing: if there is something to read, it is the end. What is written after it would be lost unnoticed.
        if let Ok((0, _)) = recv(&*socket, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        socket.write_all(message)
    }

    /// Connects again, and sends the templates: they belong to a connection (RFC 7011 section 8).
    fn reconnect(&mut self, message: &[u8], shared: &Shared) -> io::Result<()> {
        let (begin, mut pause) = (Instant::now(), PAUSE_FIRST);
        loop {
            let error = match connected(&self.addresses) {
                Ok(mut socket) => {
                    let mut templates = self.templates.clone();
                    precede(&mut templates, message);
                    match socket.write_all(&templates) {
                        Ok(()) => {
                            notify(format_args!("{}: connected again after {:?}", self.shown, begin.elapsed()));
                            self.socket = Some(socket);
                            return Ok(());
                        }
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            let waits = self.is_live && !shared.is_ending.load(Ordering::Relaxed);
            if !waits && begin.elapsed() >= self.away_max {
                return Err(error);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MOST);
        }
    }
}

/// Gives templates the time of the message that follows, and the number that its first record follows.
fn precede(templates: &mut [u8], message: &[u8]) {
    if let (Some(to), Some(from)) = (templates.get_mut(TIME), message.get(TIME)) {
        to.copy_from_slice(from);
    }
    let number = number_of(templates).wrapping_add(number_of(message));
    if let Some(to) = templates.get_mut(SEQUENCE) {
        to.copy_from_slice(&number.to_be_bytes());
    }
}

/// The number of a message's first record.
fn number_of(message: &[u8]) -> u32 {
    message.get(SEQUENCE).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// A socket, which is written to as a file.
fn connected(addresses: &[SocketAddr]) -> io::Result<File> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        let socket = TcpStream::connect_timeout(address, PATIENCE).and_then(|stream| {
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(File::from(OwnedFd::from(stream)))
        });
        match socket {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, net::TcpListener};

    use tidewire_testing::join_in_time;

    use super::*;

    /// A message whose first record has this number.
    fn message(number: u32, bytes: usize) -> Vec<u8> {
        let mut message = vec![7; bytes];
        message[SEQUENCE].copy_from_slice(&number.to_be_bytes());
        message
    }

    fn stream(listener: &TcpListener, is_live: bool) -> Stream {
        let mut stream =
            Stream::connect("tcp".into(), vec![listener.local_addr().unwrap()], message(0, 20), is_live).unwrap();
        if let Line::New(peer) = &mut stream.line {
            peer.away_max = Duration::from_millis(300);
        }
        stream
    }

    #[test]
    fn a_connection_that_is_lost_is_made_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = stream(&listener, false);
        let (mut first, _) = listener.accept().unwrap();
        first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.send(&message(1, 100));
        first.read_exact(&mut [0; 100]).unwrap();
        drop(first);
        let collector = thread::spawn(move || {
            let (mut second, _) = listener.accept().unwrap();
            second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut bytes = Vec::new();
            second.read_to_end(&mut bytes).unwrap();
            bytes
        });
        stream.send(&message(5, 100));
        stream.send(&message(9, 100));
        stream.finish().unwrap();
        // Templates come first, with the number of the message that they stand before.
        let expected = [message(5, 20), message(5, 100), message(9, 100)].concat();
        let bytes = join_in_time("the collector", collector);
        assert_eq!(bytes.len(), expected.len());
        assert_eq!(bytes[SEQUENCE], expected[SEQUENCE]);
        assert_eq!(bytes[20..], expected[20..]);
    }

    #[test]
    fn what_is_not_sent_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = stream(&listener, true);
        let (first, _) = listener.accept().unwrap();
        drop((first, listener));
        // Three records in each: more than may wait.
        let count = WAITING_MAX as u32 + 50;
        (0..count).for_each(|number| stream.send(&message(3 * number, 100)));
        assert!(stream.unsent_records() >= 3 * 40 && stream.unsent_records().is_multiple_of(3));
        assert!(stream.finish().unwrap_err().contains("cannot be sent"));
        assert!(stream.has_failed());
    }
}
