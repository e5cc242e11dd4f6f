//! The thread that sends events and reads acknowledgments, and the connection it has.

use std::{
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send, socket_with,
    },
};
use tidewire_events::{Event, Severity, Value};
use tidewire_queue::timespec;
use tidewire_types::clock::wall_ns;

use super::waiting::Shared;
use crate::{
    error::EventsError,
    protocol::{ServerPacket, goodbye},
};

/// How long the event processor may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Waits before it is tried again: doubled from the first to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Events that arrive within this time of the first one that wakes the thread are sent with it.
const GATHER: Duration = Duration::from_micros(500);
/// How long the thread sleeps at most: a bell that is not heard costs no more.
const SLEEP: Duration = Duration::from_secs(1);

/// How the event processor is reached.
pub(super) enum Route {
    /// By a path, again and again.
    Path(PathBuf),
    /// Over a pair that outlives it.
    Pair(OwnedFd),
}

/// A connection, or none.
pub(super) struct Link {
    route: Route,
    socket: Option<OwnedFd>,
    /// It has answered the first packet.
    is_welcome: bool,
    /// A first packet has to be sent.
    owes_hello: bool,
    pause: Duration,
    packet: Vec<u8>,
}

/// Nothing more to do at this moment; or the connection is over.
enum Step {
    Done,
    Over(String),
}

impl Link {
    pub(super) fn new(route: Route) -> Self {
        let is_pair = matches!(route, Route::Pair(_));
        // The answers are small; a longer one is cut, and invalid.
        let packet = vec![0; 4096];
        Self { route, socket: None, is_welcome: false, owes_hello: is_pair, pause: PAUSE_MIN, packet }
    }

    /// Connects by a path and waits for the answer.
    pub(super) fn connect(&mut self, shared: &Shared) -> Result<(), EventsError> {
        let Route::Path(path) = &self.route else { return Ok(()) };
        let path = path.clone();
        let failed = |source: io::Error| EventsError::Connect { path: path.clone(), source };
        let socket = open(&path).map_err(failed)?;
        let hello = shared.state().hello(shared).write();
        send(&socket, &hello, SendFlags::NOSIGNAL).map_err(|error| failed(error.into()))?;
        let begun = Instant::now();
        loop {
            let left = ANSWER_TIME.checked_sub(begun.elapsed()).filter(|left| !left.is_zero());
            let left = left.ok_or_else(|| failed(io::Error::other("it does not answer")))?;
            if shared.state().until.is_some_and(|until| Instant::now() >= until) {
                return Err(failed(io::ErrorKind::TimedOut.into()));
            }
            if !wait(&socket, left.min(SLEEP)) {
                continue;
            }
            let bytes = match recv(&socket, self.packet.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(failed(io::Error::other("it closed the connection without an answer"))),
                Ok((bytes, _)) => bytes,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(error) => return Err(failed(error.into())),
            };
            match ServerPacket::parse(&self.packet[..bytes]) {
                Some(ServerPacket::Refused(reason)) => return Err(EventsError::Refused(reason)),
                Some(packet @ ServerPacket::Welcome { .. }) => {
                    self.socket = Some(socket);
                    self.is_welcome = false;
                    self.take(shared, &packet);
                    if self.is_welcome {
                        return Ok(());
                    }
                    return Err(failed(io::Error::other("its answer is to another client")));
                }
                _ => return Err(failed(io::Error::other("its answer is not understood: another version?"))),
            }
        }
    }

    /// Sends until the last handle is gone.
    pub(super) fn run(mut self, shared: &Shared) {
        loop {
            if self.is_over(shared) {
                return;
            }
            if self.socket().is_none() {
                self.reach(shared);
                continue;
            }
            if let Step::Over(why) = self.exchange(shared) {
                self.lose(shared, why);
            }
        }
    }

    fn socket(&self) -> Option<&OwnedFd> {
        match &self.route {
            Route::Path(_) => self.socket.as_ref(),
            Route::Pair(socket) => Some(socket),
        }
    }

    /// Whether there is nothing more to do.
    fn is_over(&self, shared: &Shared) -> bool {
        let state = shared.state();
        let Some(until) = state.until else { return false };
        let is_done = state.acknowledged() >= state.last();
        if is_done && let Some(socket) = self.socket().filter(|_| self.is_welcome) {
            let _ = send(socket, &goodbye(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        is_done || Instant::now() >= until || state.refused.is_some()
    }

    /// Tries to connect again.
    fn reach(&mut self, shared: &Shared) {
        let why = match self.connect(shared) {
            Ok(()) => {
                shared.state().counts.reconnects += 1;
                self.pause = PAUSE_MIN;
                return;
            }
            Err(why) => why,
        };
        {
            let mut state = shared.state();
            if let EventsError::Refused(reason) = &why {
                state.refused = Some(reason.clone());
            }
            state.hindrance = Some(why.to_string());
        }
        shared.notify();
        self.rest(shared);
    }

    /// Waits before the next attempt, unless the last handle goes.
    fn rest(&mut self, shared: &Shared) {
        let pause = self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        wait(shared.bell(), pause);
        shared.hush();
    }

    fn lose(&mut self, shared: &Shared, why: String) {
        (self.socket, self.is_welcome) = (None, false);
        self.owes_hello = matches!(self.route, Route::Pair(_));
        shared.state().hindrance = Some(why);
        self.rest(shared);
    }

    /// Sends and reads what can be, then sleeps until there is more.
    fn exchange(&mut self, shared: &Shared) -> Step {
        let is_full = match self.send_all(shared) {
            Ok(is_full) => is_full,
            Err(why) => return Step::Over(why),
        };
        let Some(socket) = self.socket() else { return Step::Done };
        {
            let mut state = shared.state();
            let waits_for_events = self.is_welcome && !is_full;
            if waits_for_events && state.unsent().is_some() {
                return Step::Done;
            }
            state.sleeps = waits_for_events;
        }
        let flags = if is_full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut waited = [PollFd::new(socket, flags), PollFd::new(shared.bell(), PollFlags::IN)];
        let polled = poll(&mut waited, Some(&timespec(SLEEP)));
        let [has_answer, is_rung] = [0, 1].map(|at: usize| !waited[at].revents().is_empty());
        shared.state().sleeps = false;
        if polled.is_err() {
            return Step::Done;
        }
        if is_rung {
            shared.hush();
            std::thread::sleep(GATHER);
        }
        if has_answer { self.receive(shared) } else { Step::Done }
    }

    /// Sends packets. `true`: there is more, and no room.
    fn send_all(&mut self, shared: &Shared) -> Result<bool, String> {
        if self.owes_hello {
            let hello = shared.state().hello(shared).write();
            if self.send(&hello)? {
                return Ok(true);
            }
            self.owes_hello = false;
        }
        if !self.is_welcome {
            return Ok(false);
        }
        self.report_lost(shared);
        loop {
            let Some((next, bytes)) = shared.state().unsent() else { return Ok(false) };
            if self.send(&bytes)? {
                return Ok(true);
            }
            shared.state().note_sent(next);
        }
    }

    /// `true`: there is no room.
    fn send(&self, packet: &[u8]) -> Result<bool, String> {
        let Some(socket) = self.socket() else { return Ok(true) };
        loop {
            match send(socket, packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(_) => return Ok(false),
                Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(format!("the event processor is gone: {error}")),
            }
        }
    }

    /// Reads what has arrived.
    fn receive(&mut self, shared: &Shared) -> Step {
        loop {
            let mut packet = std::mem::take(&mut self.packet);
            let received = match self.socket() {
                Some(socket) => recv(socket, packet.as_mut_slice(), RecvFlags::DONTWAIT),
                None => Err(Errno::AGAIN),
            };
            let parsed = received.map(|(bytes, _)| (bytes, ServerPacket::parse(&packet[..bytes.min(packet.len())])));
            self.packet = packet;
            match parsed {
                Ok((0, _)) => return Step::Over("the event processor is gone".into()),
                Ok((_, Some(packet))) => {
                    self.take(shared, &packet);
                    if let ServerPacket::Refused(reason) = packet {
                        return Step::Over(reason);
                    }
                }
                // Of a later version.
                Ok((_, None)) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Step::Done,
                Err(error) => return Step::Over(format!("the event processor is gone: {error}")),
            }
        }
    }

    /// Applies a packet of the event processor to the state.
    fn take(&mut self, shared: &Shared, packet: &ServerPacket) {
        let mut state = shared.state();
        match packet {
            ServerPacket::Welcome { session, durable, window } if *session == shared.session => {
                state.acknowledge(*durable);
                state.rewind();
                state.limit(*window);
                (state.refused, state.hindrance) = (None, None);
                self.is_welcome = true;
            }
            ServerPacket::Acknowledged { session, number } if *session == shared.session && state.is_sent(*number) => {
                state.acknowledge(*number);
            }
            ServerPacket::Again => (self.owes_hello, self.is_welcome) = (true, false),
            ServerPacket::Refused(reason) => {
                (state.refused, state.hindrance) = (Some(reason.clone()), Some(reason.clone()));
            }
            // To a process that had this end of a pair before.
            ServerPacket::Welcome { .. } | ServerPacket::Acknowledged { .. } => {}
        }
        drop(state);
        shared.notify();
    }

    /// Emits an event that says how many were refused, as soon as there is room.
    fn report_lost(&self, shared: &Shared) {
        let mut state = shared.state();
        if state.lost == 0 {
            return;
        }
        let frame = lost_event(&shared.name, state.lost);
        // Half of the window: else each event that is refused would be followed by one that says so.
        if state.is_half_empty() && state.has_room(&frame) {
            state.lost = 0;
            shared.put(&mut state, &frame);
        }
    }
}

fn lost_event(name: &str, count: u64) -> Vec<u8> {
    let event = Event {
        time_ns: wall_ns(),
        analyzer: name.to_owned(),
        kind: "sensor.events-refused".into(),
        severity: Severity::Medium,
        ..Event::default()
    };
    let mut frame = Vec::new();
    // Its names are some, and it is small.
    let _ = event.with("count", Value::U64(count)).encode(&mut frame);
    frame
}

/// A connection by a path, which never waits.
pub(super) fn open(path: &std::path::Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    // No descriptor is passed over this socket. Older kernels do not know the option.
    let _ = tidewire_queue::refuse_descriptors(std::os::fd::AsFd::as_fd(&socket));
    Ok(socket)
}

/// Waits until something can be read.
pub(super) fn wait(socket: &OwnedFd, most: Duration) -> bool {
    let mut waited = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut waited, Some(&timespec(most))).is_ok_and(|count| count > 0)
}
