//! The server: accepts analyzers, receives their events, and says what is durable. One thread calls [`Server::turn`] again and again.
//!
//! It never drops an event. Where there is no room (the store is slow, the analyzer sends faster than its rate, its window is full), it
//! does not read, and the analyzer waits.

mod accounts;
mod client;
mod sessions;
mod settings;

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd},
    io::{Errno, read, write},
    net::{RecvFlags, recv},
};
use tidewire_queue::{Listener, peer, wait_ready};

use crate::protocol::{PACKET_BYTES_MAX, Refusal, ServerPacket};
use accounts::Accounts;
use client::{Client, Role, Shared};
use sessions::Sessions;
use settings::Places;

pub use accounts::AnalyzerCounts;
pub use client::Received;
pub use settings::{ServerEvent, ServerSettings, Taken};

/// Packets of a client that are read before it is another's turn.
const PACKETS_MAX: usize = 4;
/// Bytes that are read in a turn, and one packet more: what a caller has to have room for.
const TURN_BYTES: usize = 1 << 20;
/// Connections that are accepted in a turn.
const ACCEPTS_MAX: usize = 32;

/// Ends a [`Server::turn`] that waits, from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Wakes the server.
    pub fn wake(&self) {
        let _ = write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// Serves analyzers.
#[derive(Debug)]
pub struct Server {
    listener: Option<Listener>,
    own_user: u32,
    settings: ServerSettings,
    clients: Vec<Client>,
    sessions: Sessions,
    accounts: Accounts,
    bell: Arc<OwnedFd>,
    is_paused: bool,
    only_control: bool,
    packet: Vec<u8>,
    /// Bytes that may still be read in this turn.
    left_bytes: usize,
    /// The client that is heard first in the next turn.
    next: usize,
}

/// How a client ended.
#[derive(Debug)]
enum End {
    Gone,
    Refused(Refusal),
}

/// A descriptor with something to say.
#[derive(Clone, Copy, Debug)]
enum Ready {
    Bell,
    Listener,
    Client {
        at: usize,
        /// Otherwise the server only sends it the pending acknowledgment.
        may_read: bool,
    },
}

impl Server {
    /// Listens at `path`. A socket without a listener is replaced.
    ///
    /// # Errors
    /// `AddrInUse`: another process listens there, or something that is no socket is there; and what the kernel says.
    pub fn bind(path: &Path, settings: ServerSettings) -> io::Result<Self> {
        let listener = Listener::bind(path)?;
        if !settings.users.is_empty() {
            listener.open_to_all()?;
        }
        let mut accounts = Accounts::default();
        let own_user = listener.own_user();
        for (name, rate) in &settings.rates {
            let user = settings.owners.get(name).copied().flatten().unwrap_or(own_user);
            accounts.keep(name, user, Some(*rate));
        }
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            own_user,
            listener: Some(listener),
            settings,
            clients: Vec::new(),
            sessions: Sessions::default(),
            accounts,
            bell: Arc::new(bell),
            is_paused: false,
            only_control: false,
            // One byte more: a packet that fills it is too long.
            packet: vec![0; PACKET_BYTES_MAX + 1],
            left_bytes: 0,
            next: 0,
        })
    }

    /// Serves the other end of a pair as well: a process that was started with it, and its successors.
    ///
    /// # Errors
    /// What the kernel says of the socket.
    pub fn adopt(&mut self, socket: OwnedFd) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let client = Client::new(socket, self.own_user, true);
        client.send(&ServerPacket::Again);
        self.clients.push(client);
        Ok(())
    }

    /// Restores how far a store is in each session, the one used last at the end.
    pub fn restore(&mut self, positions: impl IntoIterator<Item = (String, u64)>) {
        positions.into_iter().for_each(|(name, durable)| self.sessions.restore(name, durable));
    }

    /// Wakes this server from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.bell))
    }

    /// Whether nothing is read, because what was received cannot be stored at this moment.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Accepts no further client; those that are connected are served.
    pub fn close(&mut self) {
        self.listener = None;
    }

    /// Reads nothing more of analyzers: only a spooler says where its destinations are.
    pub fn only_control(&mut self) {
        self.only_control = true;
    }

    /// Counts of each analyzer, by name.
    #[must_use]
    pub fn counts(&self) -> Vec<AnalyzerCounts> {
        self.accounts.counts()
    }

    /// Waits for clients at most so long, and calls `receive` with what they send, each event once and in the order of its session.
    ///
    /// # Errors
    /// What the kernel says of the listening socket. No client can cause one.
    pub fn turn(&mut self, timeout: Duration, receive: &mut dyn FnMut(Received<'_>)) -> io::Result<Vec<ServerEvent>> {
        let now = Instant::now();
        let mut happened = Vec::new();
        self.refuse_silent(now, &mut happened);
        let ready = self.poll(timeout, now)?;
        self.left_bytes = TURN_BYTES;
        let mut heard: Vec<usize> = Vec::new();
        let mut is_connecting = false;
        for ready in ready {
            match ready {
                Ready::Bell => drop(read(&*self.bell, &mut [0; 8])),
                Ready::Listener => is_connecting = true,
                Ready::Client { at, may_read: true } => heard.push(at),
                Ready::Client { at, may_read: false } => self.clients.iter_mut().skip(at).take(1).for_each(Client::say),
            }
        }
        // In turn, where not all can be heard.
        let begin = heard.partition_point(|at| *at < self.next);
        heard.rotate_left(begin);
        let mut ends = Vec::new();
        for at in heard {
            if self.left_bytes == 0 {
                self.next = at;
                break;
            }
            ends.extend(self.hear(at, receive, &mut happened).map(|end| (at, end)));
        }
        // From the last to the first, so that places stay what they were.
        ends.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, end) in ends {
            match end {
                End::Gone => self.gone(at, &mut happened),
                End::Refused(why) => self.refuse(at, why, &mut happened),
            }
        }
        if is_connecting {
            self.accept(&mut happened)?;
        }
        Ok(happened)
    }

    /// Positions of the events received since the last call.
    #[must_use]
    pub fn take(&mut self) -> Taken {
        let (positions, over) = self.sessions.take();
        Taken { positions, over }
    }

    /// Whether [`take`](Self::take) has something.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.sessions.is_dirty()
    }

    /// Acknowledges received events that are durable now to their analyzers.
    pub fn acknowledge(&mut self, taken: &Taken) {
        for (session, number) in &taken.positions {
            self.sessions.store(session, *number);
            self.clients.iter_mut().for_each(|client| client.acknowledge(session, *number));
        }
    }

    /// Waits until a descriptor is ready, or a limit of rate is over.
    fn poll(&mut self, timeout: Duration, now: Instant) -> io::Result<Vec<Ready>> {
        let mut timeout = timeout;
        let mut all = vec![Ready::Bell];
        let mut fds = vec![PollFd::new(&*self.bell, PollFlags::IN)];
        if let Some(listener) = &self.listener {
            all.push(Ready::Listener);
            fds.push(PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN));
        }
        for (at, client) in self.clients.iter().enumerate() {
            let until = client.until(&self.accounts).filter(|until| *until > now);
            if let Some(until) = until {
                timeout = timeout.min(until - now);
            }
            let is_full = matches!(&client.role, Role::Analyzer(analyzer)
                if self.sessions.waiting(&analyzer.session) >= self.settings.window.events);
            let mut flags = PollFlags::empty();
            let is_left = self.only_control && matches!(client.role, Role::Analyzer(_));
            flags.set(PollFlags::IN, !self.is_paused && until.is_none() && !is_full && !is_left);
            flags.set(PollFlags::OUT, client.owes());
            // A client that is not read from now is not polled either: otherwise its end would be reported in each turn.
            if !flags.is_empty() {
                all.push(Ready::Client { at, may_read: flags.contains(PollFlags::IN) });
                fds.push(PollFd::new(&client.socket, flags));
            }
        }
        wait_ready(&mut fds, timeout)?;
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(all.into_iter().zip(&fds).filter(|(_, fd)| is_ready(fd)).map(|(ready, _)| ready).collect())
    }

    /// Refuses those who do not say who they are.
    fn refuse_silent(&mut self, now: Instant, happened: &mut Vec<ServerEvent>) {
        let time = self.settings.hello_time;
        let is_silent = |client: &Client| {
            matches!(client.role, Role::Unknown)
                && !client.is_pair
                && now.saturating_duration_since(client.since) >= time
        };
        while let Some(at) = self.clients.iter().position(is_silent) {
            self.refuse(at, Refusal::Silent, happened);
        }
    }

    fn accept(&mut self, happened: &mut Vec<ServerEvent>) -> io::Result<()> {
        for _ in 0..ACCEPTS_MAX {
            let Some(listener) = &self.listener else { return Ok(()) };
            let Some(socket) = listener.accept()? else { return Ok(()) };
            let Ok((_, user)) = peer(socket.as_fd()) else { continue };
            let places = Places { max: self.settings.clients_max, own_user: self.own_user };
            let why = if !places.is_own(user) && !self.settings.users.contains(&user) {
                Some(Refusal::User { user })
            } else {
                let others: Vec<u32> = self.clients.iter().map(|client| client.user).collect();
                places.refusal(user, &others)
            };
            self.clients.push(Client::new(socket, user, false));
            if let Some(why) = why {
                self.refuse(self.clients.len() - 1, why, happened);
            }
        }
        Ok(())
    }

    /// Reads what a client sent.
    fn hear(
        &mut self,
        at: usize,
        receive: &mut dyn FnMut(Received<'_>),
        happened: &mut Vec<ServerEvent>,
    ) -> Option<End> {
        let settings = &self.settings;
        let rate = |name: &str| settings.rates.get(name).copied().or(settings.rate);
        let places = Places { max: settings.clients_max, own_user: self.own_user };
        let mut shared = Shared {
            sessions: &mut self.sessions,
            accounts: &mut self.accounts,
            window: settings.window,
            rate: &rate,
            may_be: &|user, name| {
                let owner = settings.owners.get(name);
                places.is_own(user) || owner.is_none_or(|owner| *owner == Some(user))
            },
            may_control: &|user| places.is_own(user),
        };
        let client = self.clients.get_mut(at)?;
        client.say();
        for _ in 0..PACKETS_MAX {
            let bytes = match recv(&client.socket, self.packet.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((bytes, _)) if bytes > 0 => bytes,
                Err(Errno::AGAIN | Errno::INTR) => return None,
                Ok(_) | Err(_) => return Some(End::Gone),
            };
            self.left_bytes = self.left_bytes.saturating_sub(bytes);
            let was_unknown = matches!(client.role, Role::Unknown);
            let packet = self.packet.get(..bytes).unwrap_or_default();
            let taken = if bytes > PACKET_BYTES_MAX {
                Err(Refusal::Packet("it is longer than any packet"))
            } else {
                client.take(packet, &mut shared, receive)
            };
            match (taken, &client.role) {
                (Err(why), _) => return Some(End::Refused(why)),
                (Ok(()), Role::Analyzer(analyzer)) if was_unknown => {
                    let analyzer = analyzer.names.first().map(|(name, _)| name.clone()).unwrap_or_default();
                    happened.push(ServerEvent::Connected { analyzer, user: client.user });
                }
                (Ok(()), _) => {}
            }
            let is_waiting = client.until(shared.accounts).is_some();
            if is_waiting || self.left_bytes == 0 {
                return None;
            }
        }
        None
    }

    /// A client is gone.
    fn gone(&mut self, at: usize, happened: &mut Vec<ServerEvent>) {
        let name = self.name(at);
        self.drop_client(at);
        happened.extend(name.map(|analyzer| ServerEvent::Gone { analyzer }));
    }

    fn name(&self, at: usize) -> Option<String> {
        match &self.clients.get(at)?.role {
            Role::Analyzer(analyzer) => analyzer.names.first().map(|(name, _)| name.clone()),
            _ => None,
        }
    }

    /// Turns a client away.
    fn refuse(&mut self, at: usize, why: Refusal, happened: &mut Vec<ServerEvent>) {
        // One that is refused for its name has not got it.
        let claimed = match &why {
            Refusal::Owner { name, .. } => Some(name.clone()),
            _ => None,
        };
        let analyzer = self.name(at).or(claimed);
        let Some(client) = self.clients.get(at) else { return };
        client.send(&ServerPacket::Refused(why.to_string()));
        let user = client.user;
        if let Some(account) = client.account() {
            self.accounts.change(account, |counts| counts.refused += 1);
        }
        if client.is_pair {
            self.leave(at);
        } else {
            self.drop_client(at);
        }
        happened.push(ServerEvent::Refused { analyzer, user, why });
    }

    fn leave(&mut self, at: usize) {
        let Some(client) = self.clients.get_mut(at) else { return };
        let mut shared = Shared {
            sessions: &mut self.sessions,
            accounts: &mut self.accounts,
            window: self.settings.window,
            rate: &|_| None,
            may_be: &|_, _| false,
            may_control: &|_| false,
        };
        client.leave(&mut shared);
    }

    fn drop_client(&mut self, at: usize) {
        self.leave(at);
        if at < self.clients.len() {
            self.clients.remove(at);
        }
    }
}
