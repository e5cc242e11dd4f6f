//! The client: what analyzers use.

mod control;
mod link;
mod waiting;

use std::{
    cell::RefCell,
    env,
    ffi::OsString,
    os::fd::OwnedFd,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tidewire_events::{Event, is_name};

pub use control::Control;
pub use waiting::EventsCounts;

use crate::{OWN_NAME, error::EventsError, protocol::NAMES_MAX};
use link::{Link, Route};
use waiting::Shared;

/// How long [`Events::emit`] waits for room, unless it is set.
const WAIT_LIMIT: Duration = Duration::from_secs(30);
/// How long the end of the last handle waits for acknowledgments.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Result of emitting an event without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emitted {
    /// It is on its way.
    Sent,
    /// As many events wait as may: it was refused, which is counted, and reported as an event as soon as there is room.
    Full,
}

/// Emits events. Clones are the same client: threads share one.
///
/// A thread of its own sends, waits for acknowledgments, connects again and sends again. Events wait in memory until they are
/// acknowledged: those of a process that dies before are lost.
#[derive(Clone)]
pub struct Events {
    owner: Arc<Owner>,
}

/// Ends with the last handle.
struct Owner {
    shared: Arc<Shared>,
    /// Not started yet; runs; has ended.
    thread: Mutex<Sender>,
    /// Nanoseconds.
    wait_limit: AtomicU64,
}

enum Sender {
    Waiting(Link),
    Running(JoinHandle<()>),
    Ended,
}

thread_local! {
    /// Where events are encoded before the lock is taken.
    static FRAME: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A variable of the environment, if it is not empty.
fn variable(name: &'static str) -> Result<OsString, EventsError> {
    env::var_os(name).filter(|value| !value.is_empty()).ok_or(EventsError::Environment(name))
}

impl Events {
    /// Connects to the event processor that listens at `path`, as this analyzer.
    ///
    /// # Errors
    /// It cannot be reached, or refuses. (Later it is reached again by itself.)
    pub fn connect(path: &Path, analyzer: &str) -> Result<Self, EventsError> {
        let events = Self::new(Route::Path(path.to_owned()), analyzer, &[])?;
        if let Sender::Waiting(link) = &mut *events.owner.sender() {
            link.connect(&events.owner.shared)?;
        }
        events.start()?;
        Ok(events)
    }

    /// As [`connect`](Self::connect), with what a sensor says to the programs that it starts: `TIDEWIRE_EVENTS` is the socket's path,
    /// `TIDEWIRE_NAME` the analyzer's name.
    ///
    /// # Errors
    /// A variable is not set; else as [`connect`](Self::connect).
    pub fn from_environment() -> Result<Self, EventsError> {
        let (path, name) = (variable("TIDEWIRE_EVENTS")?, variable("TIDEWIRE_NAME")?);
        let name = name.into_string().map_err(|name| EventsError::Name(name.to_string_lossy().into_owned()))?;
        Self::connect(Path::new(&path), &name)
    }

    /// Over one end of a pair (`SOCK_SEQPACKET`) whose other end each event processor inherits: for a process that cannot connect,
    /// because it has confined itself. `analyzers`: whose events it sends, besides its own.
    ///
    /// No thread runs before [`start`](Self::start) or the first event, so that a process can confine itself in between.
    ///
    /// # Errors
    /// A name is invalid.
    pub fn over(socket: OwnedFd, name: &str, analyzers: &[&str]) -> Result<Self, EventsError> {
        Self::new(Route::Pair(socket), name, analyzers)
    }

    fn new(route: Route, name: &str, analyzers: &[&str]) -> Result<Self, EventsError> {
        let is_usable = |name: &&str| is_name(name) && *name != OWN_NAME;
        if let Some(name) = [name].into_iter().chain(analyzers.iter().copied()).find(|name| !is_usable(name)) {
            return Err(EventsError::Name(name.to_owned()));
        }
        let analyzers: Vec<String> = analyzers.iter().take(NAMES_MAX).map(|name| (*name).to_owned()).collect();
        let shared = Arc::new(Shared::new(name, analyzers).map_err(EventsError::Thread)?);
        let thread = Mutex::new(Sender::Waiting(Link::new(route)));
        let wait_limit = AtomicU64::new(WAIT_LIMIT.as_nanos() as u64);
        Ok(Self { owner: Arc::new(Owner { shared, thread, wait_limit }) })
    }

    /// How long [`emit`](Self::emit) waits for room. Default 30 s.
    pub fn set_wait_limit(&self, limit: Duration) {
        let nanoseconds = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.owner.wait_limit.store(nanoseconds, Ordering::Relaxed);
    }

    /// Starts the thread that sends, if it does not run.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(&self) -> Result<(), EventsError> {
        let mut sender = self.owner.sender();
        if !matches!(*sender, Sender::Waiting(_)) {
            return Ok(());
        }
        let Sender::Waiting(link) = std::mem::replace(&mut *sender, Sender::Ended) else { return Ok(()) };
        let shared = Arc::clone(&self.owner.shared);
        let thread = std::thread::Builder::new().name("events".into()).spawn(move || link.run(&shared));
        *sender = Sender::Running(thread.map_err(EventsError::Thread)?);
        self.owner.shared.state().has_thread = true;
        Ok(())
    }

    /// Emits an event, and waits while as many as may wait for their acknowledgment.
    ///
    /// # Errors
    /// The event breaks a limit, the event processor refuses this client, or there was no room in time.
    pub fn emit(&self, event: &Event) -> Result<(), EventsError> {
        let limit = Duration::from_nanos(self.owner.wait_limit.load(Ordering::Relaxed));
        self.with_frame(event, |shared, frame| {
            let begun = Instant::now();
            let mut state = shared.state();
            while !state.has_room(frame) {
                let left = limit.checked_sub(begun.elapsed()).filter(|left| !left.is_zero());
                match (left, &state.refused) {
                    (_, Some(reason)) => return Err(EventsError::Refused(reason.clone())),
                    (None, None) => return Err(EventsError::Timeout { waited: limit, last: state.hindrance.clone() }),
                    (Some(left), None) => state = shared.wait(state, left),
                }
            }
            shared.put(&mut state, frame);
            Ok(())
        })
    }

    /// Emits an event without ever waiting. The first call may start a thread.
    ///
    /// # Errors
    /// The event breaks a limit.
    pub fn try_emit(&self, event: &Event) -> Result<Emitted, EventsError> {
        self.with_frame(event, |shared, frame| {
            let mut state = shared.state();
            // Events that were refused earlier are reported first.
            if state.has_room(frame) && state.lost == 0 {
                shared.put(&mut state, frame);
                Ok(Emitted::Sent)
            } else {
                state.lost += 1;
                state.counts.refused += 1;
                Ok(Emitted::Full)
            }
        })
    }

    /// Encodes an event and gives its frame to `put`.
    fn with_frame<T>(
        &self,
        event: &Event,
        put: impl FnOnce(&Shared, &[u8]) -> Result<T, EventsError>,
    ) -> Result<T, EventsError> {
        let shared = &self.owner.shared;
        if event.analyzer != shared.name && !shared.analyzers.contains(&event.analyzer) {
            let (analyzer, name) = (event.analyzer.chars().take(80).collect(), shared.name.clone());
            return Err(EventsError::Analyzer { analyzer, name });
        }
        let emitted = FRAME.with_borrow_mut(|frame| {
            frame.clear();
            event.encode(frame)?;
            put(shared, frame)
        })?;
        if !shared.state().has_thread {
            self.start()?;
        }
        Ok(emitted)
    }

    /// Waits until every event that was emitted so far is durable.
    ///
    /// # Errors
    /// The event processor refuses this client, or the time is over.
    pub fn flush(&self, most: Duration) -> Result<(), EventsError> {
        let shared = &self.owner.shared;
        let begun = Instant::now();
        let mut state = shared.state();
        let last = state.last();
        while state.acknowledged() < last {
            match most.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
                _ if state.refused.is_some() => {
                    return Err(EventsError::Refused(state.refused.clone().unwrap_or_default()));
                }
                None => return Err(EventsError::Timeout { waited: most, last: state.hindrance.clone() }),
                Some(left) => state = shared.wait(state, left),
            }
        }
        Ok(())
    }

    /// Counts of the events so far.
    #[must_use]
    pub fn counts(&self) -> EventsCounts {
        self.owner.shared.state().counts()
    }
}

impl Owner {
    fn sender(&self) -> std::sync::MutexGuard<'_, Sender> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Sender::Running(thread) = std::mem::replace(&mut *self.sender(), Sender::Ended) else { return };
        self.shared.end(Instant::now() + LAST_WAIT);
        // It watches the time itself.
        let _ = thread.join();
    }
}
