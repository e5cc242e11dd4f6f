//! The server: hands queues to readers, notices their ends, and wakes those that sleep. It belongs on a thread that does not
//! capture, in the publisher's process.

mod readers;
#[cfg(test)]
mod tests;

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd},
    io::read,
    net::{RecvFlags, recv},
};

use crate::{
    listener::Listener,
    protocol::{Answer, MESSAGE_BYTES_MAX, Refusal, Request, is_name},
    publisher::Offer,
    socket::send,
    sys::{peer, wait_ready},
};
use readers::{Asker, Served};

pub use readers::{QueueSettings, ReaderStatus, ServedStatus};

/// Connections without a request for a queue, at most; the oldest goes first.
const PENDING_MAX: usize = 32;
/// How long a connection may take to ask for a queue.
const PENDING_TIME: Duration = Duration::from_secs(2);
/// How late a reader that sleeps is woken, at most.
const WAKE_TIME: Duration = Duration::from_micros(200);
/// After so long without a record the server asks to be woken by the next one.
const QUIET_TIME: Duration = Duration::from_millis(100);
/// How long it still looks by itself after that: until then, every publisher sees the request.
const SETTLE_TIME: Duration = Duration::from_millis(5);
const SETTLE_STEP: Duration = Duration::from_millis(2);

/// Events of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A reader was attached.
    Attached(ReaderStatus),
    /// A reader ended or detached itself; its place is free again.
    Detached(ReaderStatus),
    /// A reader was turned away, or was another user's than those allowed.
    Refused {
        /// Why.
        why: Refusal,
        /// Its user.
        user: u32,
    },
}

#[derive(Debug)]
struct Pending {
    socket: OwnedFd,
    since: Instant,
    /// Whether its user may ask.
    is_admitted: bool,
}

/// A descriptor with something to say.
#[derive(Clone, Copy, Debug)]
enum Ready {
    Listener,
    Bell,
    Pending(usize),
    Reader { queue: usize, place: usize },
}

/// Serves queues at a path of the file system.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    users: Vec<u32>,
    queues: Vec<Served>,
    pending: Vec<Pending>,
    /// When something was published last.
    changed: Instant,
    /// The bell by which publishers wake it; and since when they do.
    bell: Arc<OwnedFd>,
    rests_since: Option<Instant>,
}

impl Server {
    /// Listens at `path`, which only this user can connect to. A socket without a listener is replaced.
    ///
    /// # Errors
    /// `AddrInUse`: another server listens there, or something that is no socket is there; and what the kernel says.
    pub fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self {
            listener: Listener::bind(path)?,
            users: Vec::new(),
            queues: Vec::new(),
            pending: Vec::new(),
            changed: Instant::now(),
            bell: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
            rests_since: None,
        })
    }

    /// Lets these users attach and no others (root and the server's own user always may), and changes the permissions of the
    /// socket so that everybody can ask.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn allow_users(&mut self, users: &[u32]) -> io::Result<()> {
        self.users = users.to_vec();
        self.listener.open_to_all()
    }

    /// Offers a queue under a name.
    ///
    /// # Errors
    /// `InvalidInput`: the name is invalid (see [`is_name`]) or there already.
    pub fn offer(&mut self, name: &str, offer: Offer, settings: QueueSettings) -> io::Result<()> {
        if !is_name(name) || self.queues.iter().any(|queue| queue.name == name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        offer.bell().connect(&self.bell);
        self.queues.push(Served::new(name, offer, settings));
        Ok(())
    }

    /// Every queue, with its readers.
    #[must_use]
    pub fn status(&self) -> Vec<ServedStatus> {
        self.queues.iter().map(Served::status).collect()
    }

    /// Answers readers that come or go, and wakes those that sleep while records are there. Returns when something happened, and
    /// after `timeout` at the latest. Call it again and again.
    ///
    /// # Errors
    /// What the kernel says of the listening socket. No reader can cause one.
    pub fn turn(&mut self, timeout: Duration) -> io::Result<Vec<ServerEvent>> {
        let (begun, mut events) = (Instant::now(), Vec::new());
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            let step = self.pause().map_or(left, |pause| pause.min(left));
            self.step(step, &mut events)?;
            if !events.is_empty() || begun.elapsed() >= timeout {
                return Ok(events);
            }
        }
    }

    /// How long nothing needs to be looked at, unless a descriptor is ready; `None`: for ever.
    fn pause(&mut self) -> Option<Duration> {
        if self.queues.iter().all(Served::is_idle) {
            self.rest(false);
            return None;
        }
        if self.changed.elapsed() < QUIET_TIME {
            return Some(WAKE_TIME);
        }
        self.rest(true);
        match self.rests_since {
            Some(since) if since.elapsed() >= SETTLE_TIME => self.queues.iter().filter_map(Served::due).min(),
            _ => Some(SETTLE_STEP),
        }
    }

    /// Asks publishers to wake this thread with their next record, or asks no longer.
    fn rest(&mut self, rests: bool) {
        if self.rests_since.is_some() == rests {
            return;
        }
        self.rests_since = rests.then(Instant::now);
        self.queues.iter().for_each(|queue| queue.want_bell(rests));
    }

    fn step(&mut self, timeout: Duration, events: &mut Vec<ServerEvent>) -> io::Result<()> {
        let ready = self.poll(timeout)?;
        // From the last to the first, so that indexes stay what they were.
        for ready in ready.iter().rev() {
            match *ready {
                Ready::Reader { queue, place } => {
                    events.extend(self.queues[queue].detach(place).map(ServerEvent::Detached));
                }
                Ready::Pending(index) => events.extend(self.read_request(index)),
                Ready::Listener => self.accept(events)?,
                Ready::Bell => {
                    let _ = read(&self.bell, &mut [0_u8; 8]);
                }
            }
        }
        self.pending.retain(|pending| pending.since.elapsed() < PENDING_TIME);
        let mut has_changed = false;
        for queue in &mut self.queues {
            has_changed |= queue.serve();
            while let Some(place) = queue.outdated() {
                events.extend(queue.detach(place).map(ServerEvent::Detached));
            }
        }
        if has_changed {
            self.changed = Instant::now();
            self.rest(false);
        }
        Ok(())
    }

    /// Waits until a descriptor is ready.
    fn poll(&self, timeout: Duration) -> io::Result<Vec<Ready>> {
        let mut all = vec![Ready::Listener, Ready::Bell];
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&*self.bell, PollFlags::IN)];
        for (index, pending) in self.pending.iter().enumerate() {
            all.push(Ready::Pending(index));
            fds.push(PollFd::new(&pending.socket, PollFlags::IN));
        }
        for (queue, served) in self.queues.iter().enumerate() {
            for (place, socket) in served.sockets() {
                all.push(Ready::Reader { queue, place });
                fds.push(PollFd::new(socket, PollFlags::IN));
            }
        }
        wait_ready(&mut fds, timeout)?;
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(all.into_iter().zip(&fds).filter(|(_, fd)| is_ready(fd)).map(|(ready, _)| ready).collect())
    }

    /// Takes those who have connected, at most as many as may be pending.
    fn accept(&mut self, events: &mut Vec<ServerEvent>) -> io::Result<()> {
        for _ in 0..PENDING_MAX {
            let Some(socket) = self.listener.accept()? else { break };
            let user = peer(socket.as_fd()).map(|(_, user)| user);
            let is_admitted = user.is_ok_and(|user| self.admit(user).is_ok());
            if self.pending.len() >= PENDING_MAX {
                // Who may not ask takes no place of those who may. Its request may have come since this step looked.
                let last = self.pending.iter().position(|pending| !pending.is_admitted).unwrap_or(0);
                events.extend(self.read_request(last));
            }
            self.pending.push(Pending { socket, since: Instant::now(), is_admitted });
        }
        Ok(())
    }

    /// A connection asks for a queue, or has ended.
    fn read_request(&mut self, index: usize) -> Option<ServerEvent> {
        let Pending { socket, .. } = self.pending.remove(index);
        let mut message = [0; MESSAGE_BYTES_MAX + 1];
        let bytes = match recv(&socket, &mut message, RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(_) => return None,
            Ok((bytes, _)) => bytes.min(message.len()),
        };
        let (process, user) = peer(socket.as_fd()).ok()?;
        let asker = Asker { process, user };
        let (why, socket) = match self.find(&message[..bytes], asker.user) {
            Ok((queue, request)) => match self.queues[queue].attach(socket, request, asker) {
                Ok(status) => return Some(ServerEvent::Attached(status)),
                Err(refused) => refused,
            },
            Err(why) => (why, socket),
        };
        let _ = send(socket.as_fd(), &Answer::Refused(why.clone()).write(), &[]);
        Some(ServerEvent::Refused { why, user: asker.user })
    }

    /// Whether a user may ask.
    fn admit(&self, user: u32) -> Result<(), Refusal> {
        let is_admitted = user == self.listener.own_user() || user == 0 || self.users.contains(&user);
        if is_admitted { Ok(()) } else { Err(Refusal::User { user }) }
    }

    /// The queue that a user asks for.
    fn find(&self, message: &[u8], user: u32) -> Result<(usize, Request), Refusal> {
        self.admit(user)?;
        let request = Request::parse(message)?;
        match self.queues.iter().position(|queue| queue.name == request.queue) {
            Some(queue) => Ok((queue, request)),
            None => {
                let known = self.queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(", ");
                Err(Refusal::NoQueue { requested: request.queue, known })
            }
        }
    }
}
