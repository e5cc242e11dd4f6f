//! A connection, and what its packets mean.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{SendFlags, send},
};
use tidewire_events::{Message, Severity};

use super::{accounts::Accounts, sessions::Sessions};
use crate::protocol::{ClientPacket, Hello, NAMES_MAX, Refusal, ServerPacket, Window};

/// Least time between two requests that the other end of a pair sends its first packet.
const AGAIN_TIME: Duration = Duration::from_millis(100);

/// Role of a client.
#[derive(Debug)]
pub(super) enum Role {
    /// It has not said who it is.
    Unknown,
    /// An analyzer.
    Analyzer(Analyzer),
    /// A spooler.
    Control,
}

/// An analyzer's session.
#[derive(Debug)]
pub(super) struct Analyzer {
    /// Its name in a store.
    pub session: String,
    pub number: u64,
    /// Whose events it sends, the client's own name first, each with its account.
    pub names: Vec<(String, usize)>,
    /// The last durable event whose acknowledgment awaits room in the socket.
    pub unsaid: Option<u64>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Client {
    pub socket: OwnedFd,
    pub user: u32,
    pub role: Role,
    pub since: Instant,
    /// One end of a pair: it is never closed.
    pub is_pair: bool,
}

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received<'a> {
    /// An event.
    Event(Message<'a>),
    /// All destinations there are.
    Destinations(&'a [String]),
    /// Records that are less severe are not for this destination.
    Severity {
        /// Its name.
        destination: &'a str,
        /// The least severe records that it gets.
        severity: Severity,
    },
    /// A destination has everything up to this record.
    Delivered {
        /// Its name.
        destination: &'a str,
        /// The record.
        id: u64,
    },
}

/// State that all clients share.
pub(super) struct Shared<'a> {
    pub sessions: &'a mut Sessions,
    pub accounts: &'a mut Accounts,
    pub window: Window,
    pub rate: &'a dyn Fn(&str) -> Option<u64>,
    /// Whether this user may have this name.
    pub may_be: &'a dyn Fn(u32, &str) -> bool,
    /// Whether this user may say what was delivered.
    pub may_control: &'a dyn Fn(u32) -> bool,
}

impl Client {
    pub fn new(socket: OwnedFd, user: u32, is_pair: bool) -> Self {
        Self { socket, user, role: Role::Unknown, since: Instant::now(), is_pair }
    }

    /// The account that it is known by.
    pub fn account(&self) -> Option<usize> {
        match &self.role {
            Role::Analyzer(analyzer) => analyzer.names.first().map(|(_, account)| *account),
            _ => None,
        }
    }

    /// Until when nothing is read of it: one of its analyzers has sent more than it may.
    pub fn until(&self, accounts: &Accounts) -> Option<Instant> {
        match &self.role {
            Role::Analyzer(analyzer) => analyzer.names.iter().filter_map(|(_, account)| accounts.until(*account)).max(),
            _ => None,
        }
    }

    /// Sends a packet if there is room.
    pub fn send(&self, packet: &ServerPacket) -> bool {
        loop {
            match send(&self.socket, &packet.write(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS) => return false,
                // A lost peer is noticed by reading; no report is possible.
                Err(_) => return true,
            }
        }
    }

    /// Takes a packet.
    pub fn take(
        &mut self,
        packet: &[u8],
        shared: &mut Shared<'_>,
        receive: &mut dyn FnMut(Received<'_>),
    ) -> Result<(), Refusal> {
        // A packet of a connection that a predecessor of this event processor had begun with the other end.
        if self.is_pair
            && matches!(self.role, Role::Unknown)
            && !matches!(ClientPacket::parse(packet), Ok(ClientPacket::Hello(_)))
        {
            // The request for its first packet may have found no room in the socket.
            if self.since.elapsed() >= AGAIN_TIME {
                self.since = Instant::now();
                self.send(&ServerPacket::Again);
            }
            return Ok(());
        }
        match (ClientPacket::parse(packet)?, &mut self.role) {
            (ClientPacket::Hello(hello), role) if self.is_pair || matches!(role, Role::Unknown) => {
                let mut names = std::iter::once(&hello.name).chain(&hello.analyzers);
                if let Some(name) = names.find(|name| !(shared.may_be)(self.user, name)) {
                    return Err(Refusal::Owner { user: self.user, name: name.clone() });
                }
                self.leave(shared);
                self.welcome(&hello, shared);
            }
            (ClientPacket::Control, Role::Unknown) => {
                if !(shared.may_control)(self.user) {
                    return Err(Refusal::Control { user: self.user });
                }
                self.role = Role::Control;
            }
            (ClientPacket::Events { first, frames }, Role::Analyzer(analyzer)) => {
                return analyzer.take(first, frames, shared, receive);
            }
            (ClientPacket::Goodbye, Role::Analyzer(analyzer)) => shared.sessions.finish(&analyzer.session),
            (ClientPacket::Register(names), Role::Control) => receive(Received::Destinations(&names)),
            (ClientPacket::Severity { destination, severity }, Role::Control) => {
                receive(Received::Severity { destination: &destination, severity });
            }
            (ClientPacket::Delivered { destination, id }, Role::Control) => {
                receive(Received::Delivered { destination: &destination, id });
            }
            _ => return Err(Refusal::Packet("it is not expected here")),
        }
        Ok(())
    }

    fn welcome(&mut self, hello: &Hello, shared: &mut Shared<'_>) {
        let session = Sessions::name(&hello.name, hello.session);
        let durable = shared.sessions.join(&session, hello.first);
        let names = std::iter::once(&hello.name).chain(&hello.analyzers).take(1 + NAMES_MAX);
        let user = self.user;
        let account = |name: &String| (name.clone(), shared.accounts.of(name, user, (shared.rate)(name)));
        let names: Vec<_> = names.map(account).collect();
        if let Some((_, account)) = names.first() {
            shared.accounts.change(*account, |counts| counts.clients += 1);
        }
        self.role = Role::Analyzer(Analyzer { session, number: hello.session, names, unsaid: None });
        self.send(&ServerPacket::Welcome { session: hello.session, durable, window: shared.window });
    }

    /// It is gone, or becomes another one.
    pub fn leave(&mut self, shared: &mut Shared<'_>) {
        if let Role::Analyzer(analyzer) = std::mem::replace(&mut self.role, Role::Unknown) {
            shared.sessions.leave(&analyzer.session);
            if let Some((_, account)) = analyzer.names.first() {
                shared.accounts.change(*account, |counts| counts.clients = counts.clients.saturating_sub(1));
            }
            analyzer.names.iter().for_each(|(_, account)| shared.accounts.release(*account));
        }
    }

    /// Says what is durable.
    pub fn acknowledge(&mut self, session: &str, number: u64) {
        if let Role::Analyzer(analyzer) = &mut self.role
            && analyzer.session == session
        {
            analyzer.unsaid = Some(number);
            self.say();
        }
    }

    /// Says what could not be said before.
    pub fn say(&mut self) {
        let Role::Analyzer(analyzer) = &self.role else { return };
        let Some(number) = analyzer.unsaid else { return };
        let is_said = self.send(&ServerPacket::Acknowledged { session: analyzer.number, number });
        if is_said && let Role::Analyzer(analyzer) = &mut self.role {
            analyzer.unsaid = None;
        }
    }

    /// Whether an acknowledgment awaits room in its socket.
    pub fn owes(&self) -> bool {
        matches!(&self.role, Role::Analyzer(analyzer) if analyzer.unsaid.is_some())
    }
}

impl Analyzer {
    /// Takes a packet of events.
    fn take(
        &mut self,
        first: u64,
        frames: &[u8],
        shared: &mut Shared<'_>,
        receive: &mut dyn FnMut(Received<'_>),
    ) -> Result<(), Refusal> {
        let last = shared.sessions.accepted(&self.session);
        if first > last + 1 {
            return Err(Refusal::Gap { found: first, last });
        }
        let mut taken = Taken { number: first, accepted: last, ..Taken::default() };
        let result = self.take_frames(frames, &mut taken, shared, receive);
        let (accepted, events) = (taken.accepted, taken.events);
        let own = self.names.first().map(|(_, account)| *account);
        taken.note(own, shared.accounts);
        shared.sessions.accept(&self.session, accepted);
        // All that it sends is the client's own, and what is another's, that one's as well.
        if let Some(own) = own {
            shared.accounts.spend(own, events, Instant::now());
        }
        result
    }

    fn take_frames(
        &self,
        mut frames: &[u8],
        taken: &mut Taken,
        shared: &mut Shared<'_>,
        receive: &mut dyn FnMut(Received<'_>),
    ) -> Result<(), Refusal> {
        // Most often the events of a packet are those of one analyzer.
        let mut of = 0;
        while !frames.is_empty() {
            let number = taken.number;
            let message = Message::first(frames).map_err(|error| Refusal::Event { number, error })?;
            let (message, bytes) = message.ok_or(Refusal::Packet("it ends within an event"))?;
            frames = frames.get(bytes..).unwrap_or_default();
            taken.number += 1;
            let analyzer = message.names().0;
            if self.names.get(of).is_none_or(|(name, _)| name != analyzer) {
                of = self
                    .names
                    .iter()
                    .position(|(name, _)| name == analyzer)
                    .ok_or_else(|| Refusal::Analyzer { number, analyzer: analyzer.to_owned() })?;
            }
            let account = self.names.get(of).map_or(0, |(_, account)| *account);
            if taken.account != Some(account) {
                taken.note(self.names.first().map(|(_, account)| *account), shared.accounts);
                taken.account = Some(account);
            }
            if number <= taken.accepted {
                taken.repeated += 1;
                continue;
            }
            receive(Received::Event(message));
            taken.accepted = number;
            (taken.events, taken.counted) = (taken.events + 1, taken.counted + 1);
            taken.bytes += bytes as u64 - 4;
        }
        Ok(())
    }
}

/// Counts of the accepted part of a packet.
#[derive(Debug, Default)]
struct Taken {
    number: u64,
    accepted: u64,
    events: u64,
    /// For this account, since it was noted last.
    account: Option<usize>,
    counted: u64,
    repeated: u64,
    bytes: u64,
}

impl Taken {
    fn note(&mut self, own: Option<usize>, accounts: &mut Accounts) {
        let (events, repeated) = (std::mem::take(&mut self.counted), std::mem::take(&mut self.repeated));
        let bytes = std::mem::take(&mut self.bytes);
        let Some(account) = self.account else { return };
        accounts.change(account, |counts| {
            counts.events += events;
            counts.repeated += repeated;
            counts.bytes += bytes;
        });
        if own != Some(account) && events > 0 {
            accounts.spend(account, events, Instant::now());
        }
    }
}
