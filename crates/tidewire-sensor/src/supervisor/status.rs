//! The status socket of a sensor: one JSON document to each client, then the end.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read as _, Write as _},
    os::{
        fd::AsFd as _,
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    fs::{Mode, fchmod},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with},
    process::umask,
};
use serde::{Deserialize, Serialize};

use tidewire_delivery::SpoolStatus;
use tidewire_live::sys::process;

use crate::{events::report::EventsStatus, report::CaptureStatus};

/// The socket in a sensor's directory that says what it does.
pub const STATUS_SOCKET: &str = "sensor.sock";
/// Clients at a time; with more, the oldest goes.
const CLIENTS_MAX: usize = 16;
/// Connections that wait to be taken.
const LISTENING: i32 = 128;
/// Time of a client.
const CLIENT_TIME: Duration = Duration::from_secs(5);
/// Longest document that a client reads.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;

/// A sensor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SensorStatus {
    /// The supervisor's process.
    pub process: u32,
    /// Its version.
    pub version: String,
    /// `starting`, `running` or `stopping`.
    pub state: String,
    /// Seconds since it began.
    pub seconds: f64,
    /// Its directory.
    pub directory: PathBuf,
    /// Where it stores events; `None`: nowhere.
    #[serde(default)]
    pub store: Option<PathBuf>,
    /// Where its metrics are.
    pub metrics: Option<String>,
    /// How each input is captured, in words.
    pub inputs: Vec<String>,
    /// Tables of the configuration that changed and apply after a restart of the sensor.
    pub pending: Vec<String>,
    /// The capture, the event processor, the spooler and the analyzers.
    pub parts: Vec<PartStatus>,
    /// Sums over all processes since the sensor began: figures of each begin at 0.
    #[serde(default)]
    pub totals: Totals,
    /// Figures of the capture, and of its queues.
    pub capture: CaptureStatus,
    /// Seconds since the capture reported these figures; `None`: it has not yet.
    #[serde(default)]
    pub figures_age: Option<f64>,
    /// Figures of the event processor; `None`: there are no events.
    #[serde(default)]
    pub events: Option<EventsStatus>,
    /// Figures of the spooler; `None`: there is no destination.
    #[serde(default)]
    pub spool: Option<SpoolStatus>,
}

/// Totals of all processes of a sensor, those before a restart included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets that captures received.
    pub packets: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Events of analyzers.
    pub events: u64,
    /// Events that were stored, the sensor's own among them.
    pub stored_events: u64,
}

/// A process of a sensor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartStatus {
    /// `capture`, `events`, `spool`, or the name of an analyzer with the number of its instance.
    pub name: String,
    /// `starting`, `running`, `waiting` (for the capture), `paused` (started again soon), `stopping` or `ended`.
    pub state: String,
    /// Its process, while it runs.
    pub process: Option<u32>,
    /// Seconds since it was started, while it runs.
    pub seconds: f64,
    /// How often it was started again.
    pub restarts: u64,
    /// How its last process ended, in words.
    pub last_exit: Option<String>,
    /// The queue that it reads.
    pub queue: Option<String>,
}

/// Why there is no status.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatusError {
    /// Nothing listens.
    #[error("no sensor runs in {}", .0.display())]
    None(PathBuf),
    /// The socket cannot be used.
    #[error("{}: {error}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The sensor refuses, or something else answers.
    #[error("{}: {what}", path.display())]
    Answer {
        /// The socket.
        path: PathBuf,
        /// Its answer, or the error in it.
        what: String,
    },
}

/// An answer to a client that may not ask.
#[derive(Serialize, Deserialize)]
struct Refused {
    error: String,
}

/// Asks the sensor in a directory.
///
/// # Errors
/// There is none, it refuses, or it does not answer within five seconds.
pub fn ask(directory: &Path) -> Result<SensorStatus, StatusError> {
    let path = directory.join(STATUS_SOCKET);
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => StatusError::None(directory.to_owned()),
        _ => StatusError::Socket { path: path.clone(), error },
    };
    let stream = UnixStream::connect(&path).map_err(failed)?;
    stream.set_read_timeout(Some(CLIENT_TIME)).map_err(failed)?;
    let mut text = String::new();
    stream.take(DOCUMENT_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    if let Ok(refused) = serde_json::from_str::<Refused>(&text) {
        return Err(StatusError::Answer { path, what: refused.error });
    }
    serde_json::from_str(&text)
        .map_err(|error| StatusError::Answer { what: format!("this is no status of a sensor: {error}"), path })
}

/// A client and the rest of its answer.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    since: Instant,
    /// `None`: not made yet.
    answer: Option<Vec<u8>>,
    sent: usize,
}

/// The status socket. Nothing here waits for a client.
#[derive(Debug)]
pub(super) struct StatusServer {
    pub listener: UnixListener,
    clients: VecDeque<Client>,
    users: Vec<u32>,
}

impl StatusServer {
    /// Listens at `path`. `users`: who may ask besides root and our own user.
    pub fn bind(path: &Path, users: &[u32]) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // A descriptor that a client sends would be closed here, which some of them do slowly. Kernels before 6.16 take them.
        let _ = process::refuse_descriptors(&socket);
        // Who may ask is decided by the user of the connection. The path is not touched again: it may be another file by then.
        fchmod(&socket, Mode::from_raw_mode(0o666))?;
        let mask = umask(Mode::empty());
        let bound = bind(&socket, &SocketAddrUnix::new(path)?);
        umask(mask);
        bound?;
        listen(&socket, LISTENING)?;
        let listener = UnixListener::from(socket);
        let users = users.iter().copied().chain([0, rustix::process::geteuid().as_raw()]).collect();
        Ok(Self { listener, clients: VecDeque::new(), users })
    }

    /// The connections that wait for room.
    pub fn waiting(&self) -> impl Iterator<Item = &UnixStream> {
        self.clients.iter().map(|client| &client.stream)
    }

    /// Accepts new clients. Returns whether one of them may read the status, and is to be [answered](Self::answer).
    pub fn accept(&mut self) -> bool {
        for _ in 0..CLIENTS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let peer = tidewire_queue::peer(stream.as_fd());
            let is_allowed = peer.is_ok_and(|(_, user)| self.users.contains(&user));
            let answer =
                (!is_allowed).then(|| b"{\"error\":\"this user may not ask; add it to 'users' in [sensor]\"}".to_vec());
            if self.clients.len() >= CLIENTS_MAX {
                self.clients.pop_front();
            }
            self.clients.push_back(Client { stream, since: Instant::now(), answer, sent: 0 });
        }
        self.clients.iter().any(|client| client.answer.is_none())
    }

    /// Answers those who may ask.
    pub fn answer(&mut self, status: &SensorStatus) {
        let text = serde_json::to_vec(status).unwrap_or_default();
        for client in self.clients.iter_mut().filter(|client| client.answer.is_none()) {
            client.answer = Some(text.clone());
        }
    }

    /// Sends what fits.
    pub fn send(&mut self) {
        self.clients.retain_mut(|client| client.since.elapsed() < CLIENT_TIME && client.send());
    }
}

impl Client {
    /// Sends what fits; returns whether something is left.
    fn send(&mut self) -> bool {
        loop {
            let Some(rest) = self.answer.as_ref().map(|answer| answer.get(self.sent..).unwrap_or_default()) else {
                return true;
            };
            if rest.is_empty() {
                return false;
            }
            match self.stream.write(rest) {
                Ok(0) => return false,
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn large() -> SensorStatus {
        let part = PartStatus { name: "x".repeat(1000), ..PartStatus::default() };
        SensorStatus { parts: vec![part; 2000], ..SensorStatus::default() }
    }

    #[test]
    fn clients_are_answered_and_idle_ones_do_no_harm() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(STATUS_SOCKET);
        let mut server = StatusServer::bind(&path, &[]).expect("a socket");
        // Far more than there are places, and none of them reads.
        let idle: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(&path).expect("a connection")).collect();
        let client = {
            let folder = folder.path().to_owned();
            thread::spawn(move || ask(&folder))
        };
        tidewire_testing::wait_until("an answer", || {
            if server.accept() {
                server.answer(&large());
            }
            server.send();
            client.is_finished()
        });
        assert_eq!(client.join().expect("no panic").expect("a status"), large());
        assert!(server.waiting().count() <= CLIENTS_MAX);
        drop(idle);
    }

    #[test]
    fn any_user_may_connect_and_none_may_send_descriptors() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(STATUS_SOCKET);
        let mut server = StatusServer::bind(&path, &[]).expect("a socket");
        assert_eq!(std::fs::metadata(&path).expect("it").permissions().mode() & 0o777, 0o666);
        let probe = UnixStream::pair().expect("a pair").0;
        if let Err(why) = process::refuse_descriptors(&probe) {
            return tidewire_testing::skip(format!("the kernel takes descriptors: {why}"));
        }
        let client = UnixStream::connect(&path).expect("a connection");
        for is_accepted in [false, true] {
            use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut message = SendAncillaryBuffer::new(&mut space);
            let sent = [std::os::fd::AsFd::as_fd(&probe)];
            assert!(message.push(SendAncillaryMessage::ScmRights(&sent)));
            let bytes = [io::IoSlice::new(b"x")];
            let refused = sendmsg(&client, &bytes, &mut message, SendFlags::NOSIGNAL);
            assert_eq!(refused, Err(rustix::io::Errno::PERM), "{is_accepted}");
            server.accept();
        }
    }

    #[test]
    fn without_a_sensor_that_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = ask(folder.path()).expect_err("nothing is there").to_string();
        assert!(error.starts_with("no sensor runs in "), "{error}");
        drop(UnixListener::bind(folder.path().join(STATUS_SOCKET)).expect("a socket"));
        assert!(matches!(ask(folder.path()), Err(StatusError::None(_))), "a socket that was left behind");
    }
}
