//! Messages to a collector over TCP. A connection that is lost is made again, by a thread of its own, so that a capture never waits.

use std::{
    fs::File,
    io::{self, Write as _},
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{RecvFlags, Shutdown, recv, shutdown},
};
use tidewire_exports::ipfix::{self, Encoded};
use tidewire_types::{Lasting, counted};

use super::under_way::UnderWay;
use crate::error::Notify;

#[cfg(test)]
mod tests;

/// How long a collector has to answer, and to accept a message.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Messages that wait: 4 MiB of the largest.
const WAITING_MAX: usize = 256;

/// Pauses between attempts to connect again: doubled each time.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(5);

/// How long a run over files, or one that ends, waits for a collector that is away.
const AWAY_MAX: Duration = Duration::from_secs(30);

/// How long a connection has to last until its collector counts as being there: one that accepts and closes at once is as good as away.
const LASTING: Duration = Duration::from_secs(5);

/// How long a refusal of what a collector did not read is waited for, once it has closed the connection, and in which steps: longer than
/// most ways there and back.
const REFUSAL: Duration = Duration::from_millis(100);
const REFUSAL_STEP: Duration = Duration::from_millis(5);

/// How long the collector has to close the connection at the end, which says that it read everything.
const CLOSING: Duration = Duration::from_secs(1);

/// A connection.
pub struct Stream {
    shown: String,
    /// Whether records come whether or not they can be sent.
    is_live: bool,
    line: Line,
    shared: Arc<Shared>,
    /// Records of flows in the messages so far, and of those the ones that found no room while the collector was away.
    records: u64,
    unsent_records: u64,
    /// Most records that counted as sent at one time.
    sent_records_max: AtomicU64,
}

/// The thread begins with the first message: a capture has given up its privileges by then.
enum Line {
    New(Box<Peer>),
    Running(SyncSender<Encoded>, JoinHandle<()>),
    Over,
}

/// The collector.
struct Peer {
    shown: String,
    notify: Notify,
    addresses: Vec<SocketAddr>,
    socket: Option<File>,
    connected_at: Instant,
    /// Messages that were written to the connection and may not have been read.
    under_way: UnderWay,
    /// Since when it is away, if it is: since a connection was lost, and none has lasted since.
    away: Option<Away>,
    /// A message of templates, which begins a connection.
    templates: Vec<u8>,
    is_live: bool,
    /// How long it may be away.
    away_max: Duration,
}

/// Why a connection is lost.
enum Loss {
    /// The collector closed it.
    Closed,
    Failed(io::Error),
}

impl From<Loss> for io::Error {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Closed => Self::new(io::ErrorKind::ConnectionReset, "the collector closed it"),
            Loss::Failed(error) => error,
        }
    }
}

/// A collector that is away.
#[derive(Clone, Copy)]
struct Away {
    since: Instant,
    /// Before the next attempt; none before the first.
    pause: Duration,
}

/// State that the thread reports.
#[derive(Default)]
struct Shared {
    has_failed: AtomicBool,
    /// The input has ended: no wait is long from now on.
    is_ending: AtomicBool,
    /// Records of flows in messages that were written to lost connections, and in those that no collector accepted at the end.
    lost_records: AtomicU64,
    refused_records: AtomicU64,
    failure: Mutex<Option<io::Error>>,
    /// Why the collector is away, if it is.
    away: Mutex<Option<String>>,
}

impl Stream {
    /// Connects to the first of these addresses that answers.
    pub fn connect(
        shown: String,
        addresses: Vec<SocketAddr>,
        templates: Vec<u8>,
        is_live: bool,
        notify: Notify,
    ) -> io::Result<Self> {
        let socket = Some(connected(&addresses)?);
        let peer = Peer {
            shown: shown.clone(),
            notify,
            addresses,
            socket,
            connected_at: Instant::now(),
            under_way: UnderWay::default(),
            away: None,
            templates,
            is_live,
            away_max: AWAY_MAX,
        };
        let line = Line::New(Box::new(peer));
        let (records, unsent_records, sent_records_max) = (0, 0, AtomicU64::new(0));
        Ok(Self { shown, is_live, line, shared: Arc::default(), records, unsent_records, sent_records_max })
    }

    /// The ports that are connected to again.
    pub fn ports(&self) -> Vec<u16> {
        match &self.line {
            Line::New(peer) => peer.addresses.iter().map(SocketAddr::port).collect(),
            _ => Vec::new(),
        }
    }

    pub fn has_failed(&self) -> bool {
        self.shared.has_failed.load(Ordering::Relaxed)
    }

    /// Records of flows that were not sent, because too many waited while the collector was away, or that were lost with connections.
    pub fn unsent_records(&self) -> u64 {
        let shared = [&self.shared.lost_records, &self.shared.refused_records];
        self.unsent_records + shared.map(|records| records.load(Ordering::Relaxed)).iter().sum::<u64>()
    }

    /// Records of flows that were sent, and not lost with a connection. While it runs never fewer than before, although a connection that is
    /// lost takes back what the collector had not read; those count as unsent at once.
    pub fn sent_records(&self) -> u64 {
        let sent = self.records.saturating_sub(self.unsent_records());
        match self.line {
            Line::Over => sent,
            _ => sent.max(self.sent_records_max.fetch_max(sent, Ordering::Relaxed)),
        }
    }

    /// Why the collector is away; it is connected to again.
    pub fn away(&self) -> Option<String> {
        self.shared.away.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a message, or notes that it is not sent.
    pub fn send(&mut self, message: Encoded) {
        self.begin();
        let records = u64::from(message.flow_records);
        let is_sent = match &self.line {
            Line::Running(queue, _) if self.is_live => {
                !matches!(queue.try_send(message), Err(TrySendError::Full(_) | TrySendError::Disconnected(_)))
            }
            Line::Running(queue, _) => queue.send(message).is_ok(),
            Line::New(_) | Line::Over => false,
        };
        self.records += records;
        if !is_sent {
            self.unsent_records += records;
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
        let said = |count: u64, what: &str| {
            (count > 0).then(|| format!("{} {what}", counted(count, "record was", "records were")))
        };
        let lost = self.shared.lost_records.load(Ordering::Relaxed);
        let unsent = said(self.unsent_records() - lost, "not sent while no collector listened there");
        let lost = said(lost, "lost with connections, or fewer");
        let failure = failure.map(|failure| format!("records cannot be sent: {failure}"));
        let said: Vec<String> = [failure, unsent, lost].into_iter().flatten().collect();
        if said.is_empty() { Ok(()) } else { Err(format!("{}: {}", self.shown, said.join("; "))) }
    }
}

impl Shared {
    fn set_away(&self, why: Option<String>) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    fn fail(&self, error: io::Error) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }
}

impl Peer {
    fn serve(mut self, messages: &Receiver<Encoded>, shared: &Shared) {
        for message in messages {
            while let Err(loss) = self.attempt(&message) {
                let lost = self.lose(&loss, shared);
                let (error, lost) = (io::Error::from(loss), counted(lost, "record", "records"));
                shared.set_away(Some(error.to_string()));
                (self.notify)(format_args!(
                    "{}: the connection was lost ({error}) with up to {lost}; connecting again",
                    self.shown
                ));
                if let Err(error) = self.reconnect(error, &message.bytes, shared) {
                    shared.fail(error);
                    for message in std::iter::once(message).chain(messages) {
                        shared.refused_records.fetch_add(message.flow_records.into(), Ordering::Relaxed);
                    }
                    return;
                }
                shared.set_away(None);
            }
        }
        self.close(shared);
    }

    fn attempt(&mut self, message: &Encoded) -> Result<(), Loss> {
        let Some(socket) = &mut self.socket else { return Err(Loss::Failed(io::ErrorKind::NotConnected.into())) };
        // A collector says nothing: if there is something to read, it is the end. What is written after it would be lost unnoticed.
        match recv(&*socket, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(Loss::Closed),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(Loss::Failed(error.into())),
            _ => {}
        }
        // It is sent again if it fails, whether or not a part of it was read.
        socket.write_all(&message.bytes).map_err(Loss::Failed)?;
        self.under_way.add(message.bytes.len(), message.flow_records);
        Ok(())
    }

    /// Gives up a connection; how many records it had, at most, that the collector has not read.
    ///
    /// One that closes with bytes it has not read resets the connection (RFC 2525 section 2.17), and so does one that bytes reach after it
    /// closed: of a connection that is closed in order everything was read.
    fn lose(&mut self, loss: &Loss, shared: &Shared) -> u64 {
        let (socket, records) = (self.socket.take(), self.under_way.empty());
        let is_in_order = || matches!(loss, Loss::Closed) && socket.is_some_and(|socket| !is_reset(&socket));
        let lost = if records == 0 || is_in_order() { 0 } else { records };
        shared.lost_records.fetch_add(lost, Ordering::Relaxed);
        lost
    }

    /// Ends the connection, and waits for the collector to end it too. One that does not in time says nothing of what it read.
    fn close(mut self, shared: &Shared) {
        let Some(socket) = &self.socket else { return };
        if shutdown(socket, Shutdown::Write).is_ok() && !is_ended(socket) {
            return;
        }
        let loss = match recv(socket, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok(_) => Loss::Closed,
            Err(error) => Loss::Failed(error.into()),
        };
        self.lose(&loss, shared);
    }

    /// Connects again, and sends the templates: they belong to a connection (RFC 7011 section 8).
    fn reconnect(&mut self, mut error: io::Error, message: &[u8], shared: &Shared) -> io::Result<()> {
        if self.connected_at.elapsed() >= LASTING {
            self.away = None;
        }
        loop {
            let away = self.away.get_or_insert_with(|| Away { since: Instant::now(), pause: Duration::ZERO });
            if !away.pause.is_zero() {
                let waits = self.is_live && !shared.is_ending.load(Ordering::Relaxed);
                if !waits && away.since.elapsed() >= self.away_max {
                    return Err(error);
                }
                thread::sleep(away.pause);
            }
            away.pause = (away.pause * 2).clamp(PAUSE_FIRST, PAUSE_MOST);
            let since = away.since;
            match self.begin(message) {
                Ok(()) => {
                    let after = Lasting(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
                    (self.notify)(format_args!("{}: connected again after {after}", self.shown));
                    return Ok(());
                }
                Err(failed) => error = failed,
            }
        }
    }

    fn begin(&mut self, message: &[u8]) -> io::Result<()> {
        let mut socket = connected(&self.addresses)?;
        socket.write_all(&ipfix::templates_before(&self.templates, message))?;
        (self.socket, self.connected_at) = (Some(socket), Instant::now());
        Ok(())
    }
}

/// Whether a connection that the collector closed is reset now, as something came that it had not read.
fn is_reset(socket: &File) -> bool {
    let end = Instant::now() + REFUSAL;
    while matches!(rustix::net::sockopt::socket_error(socket), Ok(Ok(()))) {
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(REFUSAL_STEP);
    }
    true
}

/// Waits for the collector to end the connection; whether it did.
fn is_ended(socket: &File) -> bool {
    let Ok(patience) = Timespec::try_from(CLOSING) else { return false };
    // Errors are always waited for.
    poll(&mut [PollFd::new(socket, PollFlags::RDHUP)], Some(&patience)).is_ok_and(|events| events > 0)
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
