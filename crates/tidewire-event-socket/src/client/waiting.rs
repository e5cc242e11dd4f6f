//! Events that wait for their acknowledgment, shared by those who emit and the thread that sends.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, eventfd},
    io::{read, write},
};
use tidewire_types::random::random_bytes;

use crate::protocol::{FULL_BYTES, Hello, PACKET_BYTES_MAX, Window, begin_events};

/// Counts of a client's events by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventsCounts {
    /// Events that were taken; those that report refused ones are among them.
    pub emitted: u64,
    /// Of these, events that are durable.
    pub acknowledged: u64,
    /// Events that [`try_emit`](crate::Events::try_emit) refused.
    pub refused: u64,
    /// How often the event processor was reached again.
    pub reconnects: u64,
}

/// A packet with its events.
#[derive(Debug)]
pub(super) struct Packet {
    pub first: u64,
    pub count: u64,
    /// Shared with the thread while it sends.
    pub bytes: Arc<Vec<u8>>,
}

/// The client's mutable state.
#[derive(Debug)]
pub(super) struct State {
    packets: VecDeque<Packet>,
    /// The number of the next event.
    next: u64,
    /// Up to here it was sent to the event processor that is connected now.
    sent: u64,
    /// Bytes of the packets.
    bytes: u64,
    window: Window,
    /// Events that were refused and not reported yet.
    pub lost: u64,
    pub counts: EventsCounts,
    pub has_thread: bool,
    /// The thread sleeps, and is woken by the next event.
    pub sleeps: bool,
    /// The last handle is gone: when to give up.
    pub until: Option<Instant>,
    /// The event processor refuses this client.
    pub refused: Option<String>,
    /// Why nothing is acknowledged at this moment.
    pub hindrance: Option<String>,
}

impl State {
    /// Whether a frame may be added.
    pub fn has_room(&self, frame: &[u8]) -> bool {
        let events = self.last() - self.acknowledged();
        self.packets.is_empty() || events < self.window.events && self.bytes + frame.len() as u64 <= self.window.bytes
    }

    /// The number of the last event that was emitted; 0: none.
    pub fn last(&self) -> u64 {
        self.next - 1
    }

    /// The number of the last event that is durable.
    pub fn acknowledged(&self) -> u64 {
        self.counts.acknowledged
    }

    pub fn counts(&self) -> EventsCounts {
        EventsCounts { emitted: self.last(), ..self.counts }
    }

    /// The next packet to send.
    pub fn unsent(&self) -> Option<(u64, Arc<Vec<u8>>)> {
        let at = self.packets.partition_point(|packet| packet.first < self.sent);
        self.packets.get(at).map(|packet| (packet.first + packet.count, Arc::clone(&packet.bytes)))
    }

    /// Everything before this event was sent.
    pub fn note_sent(&mut self, before: u64) {
        self.sent = before;
    }

    /// A new event processor: what is not acknowledged is sent again.
    pub fn rewind(&mut self) {
        self.sent = self.packets.front().map_or(self.next, |packet| packet.first);
    }

    /// Whether this can have been acknowledged: it was sent.
    pub fn is_sent(&self, number: u64) -> bool {
        number < self.next
    }

    /// Forgets what is durable.
    pub fn acknowledge(&mut self, number: u64) {
        self.counts.acknowledged = self.counts.acknowledged.max(number.min(self.last()));
        while let Some(packet) = self.packets.front()
            && packet.first + packet.count - 1 <= number
        {
            self.bytes -= packet.bytes.len() as u64;
            self.packets.pop_front();
        }
        self.sent = self.sent.max(self.packets.front().map_or(self.next, |packet| packet.first));
    }

    /// At most half of what may wait does.
    pub fn is_half_empty(&self) -> bool {
        (self.last() - self.acknowledged()) * 2 <= self.window.events
    }

    pub fn limit(&mut self, window: Window) {
        let most = Window::default();
        self.window = Window { events: window.events.clamp(1, most.events), bytes: window.bytes.clamp(1, most.bytes) };
    }

    pub fn hello(&self, shared: &Shared) -> Hello {
        let first = self.packets.front().map_or(self.next, |packet| packet.first);
        let (name, analyzers) = (shared.name.clone(), shared.analyzers.clone());
        Hello { name, analyzers, session: shared.session, first }
    }
}

/// State that the handles and the thread share.
#[derive(Debug)]
pub(super) struct Shared {
    pub name: String,
    pub analyzers: Vec<String>,
    /// Distinguishes this client from others of its name, and from its predecessors.
    pub session: u64,
    state: Mutex<State>,
    /// Something was acknowledged, or will not be.
    changed: Condvar,
    /// Wakes the thread.
    bell: OwnedFd,
}

impl Shared {
    pub(super) fn new(name: &str, analyzers: Vec<String>) -> io::Result<Self> {
        let session = random_bytes()?;
        let state = State {
            packets: VecDeque::new(),
            next: 1,
            sent: 1,
            bytes: 0,
            window: Window::default(),
            lost: 0,
            counts: EventsCounts::default(),
            has_thread: false,
            sleeps: false,
            until: None,
            refused: None,
            hindrance: Some("the event processor was not reached yet".into()),
        };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Ok(Self { name: name.to_owned(), analyzers, session: u64::from_le_bytes(session), state, changed, bell })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change.
    pub(super) fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes those who wait for a change.
    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    pub(super) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Takes back that the bell was rung.
    pub(super) fn hush(&self) {
        let _ = read(&self.bell, &mut [0; 8]);
    }

    fn ring(&self) {
        // It can only be full of rings already.
        let _ = write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Adds a frame.
    pub(super) fn put(&self, state: &mut State, frame: &[u8]) {
        let number = state.next;
        state.next += 1;
        let sent = state.sent;
        let open = state.packets.back_mut().filter(|packet| packet.first >= sent);
        let open = open.filter(|packet| packet.bytes.len() < FULL_BYTES);
        let open = open.filter(|packet| packet.bytes.len() + frame.len() <= PACKET_BYTES_MAX);
        let open = open.and_then(|packet| Some((&mut packet.count, Arc::get_mut(&mut packet.bytes)?)));
        let added = match open {
            Some((count, bytes)) => {
                *count += 1;
                bytes.extend_from_slice(frame);
                frame.len()
            }
            None => {
                let mut bytes = begin_events(number);
                bytes.extend_from_slice(frame);
                let added = bytes.len();
                state.packets.push_back(Packet { first: number, count: 1, bytes: Arc::new(bytes) });
                added
            }
        };
        state.bytes += added as u64;
        if std::mem::take(&mut state.sleeps) {
            self.ring();
        }
    }

    /// No event follows: the thread ends when all are acknowledged, or then.
    pub(super) fn end(&self, until: Instant) {
        self.state().until = Some(until);
        self.ring();
    }
}
