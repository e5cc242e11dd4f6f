//! The thread of one destination: reads what it still has to get, sends it, and notes what it has. Whatever becomes of it, the
//! others do not wait for it.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::{Duration, Instant},
};

use tidewire_event_store::Error;

use super::{
    backoff::{Backoff, random},
    positions::Positions,
    source::{Filter, Source},
    stop::Stop,
};
use crate::{
    destination::{Destination, Failure, Parcel, Start},
    protocol::StoreId,
    report::{DestinationStatus, SpoolReport},
    settings::DestinationSettings,
};

/// How often it looks for new records, at most.
const TICK: Duration = Duration::from_millis(25);
/// How often a position without records is sent: what does not match the filter.
const EMPTY_EVERY: Duration = Duration::from_secs(1);
/// How often figures are read of the store.
const FIGURES_EVERY: Duration = Duration::from_millis(500);
/// How often damage of the store is reported, at most.
const DAMAGE_EVERY: Duration = Duration::from_secs(60);

/// A destination and its thread's state.
pub(super) struct Lane {
    pub(super) settings: DestinationSettings,
    pub(super) filter: Filter,
    pub(super) destination: Box<dyn Destination>,
    pub(super) store: PathBuf,
    pub(super) stop: Arc<Stop>,
    pub(super) status: Arc<Mutex<DestinationStatus>>,
    pub(super) positions: Arc<Positions>,
    pub(super) notices: Sender<SpoolReport>,
    /// A store, and the last record of it that the destination acknowledged to this process: the store may not have that yet.
    pub(super) known: Option<(StoreId, u64)>,
    /// When damage of the store was reported last.
    pub(super) complained: Option<Instant>,
}

/// How the use of a destination ends, if it does not fail.
enum End {
    /// With the spooler.
    Over,
    /// It is opened again: keys were renewed.
    Again,
}

/// A parcel that was sent.
struct Sent {
    through: u64,
    records: u64,
    events: u64,
}

/// Progress since the destination was opened.
struct Run {
    source: Source,
    /// All up to this record was sent; all up to that one is there.
    sent: u64,
    delivered: u64,
    waiting: VecDeque<Sent>,
    /// The store's number of changes when nothing more was found.
    seen: Option<i64>,
    emptied: Instant,
    figured: Option<Instant>,
}

/// Why a session ends.
enum SessionError {
    /// The destination's, or the environment's.
    Failed(Failure),
    /// The store cannot be read.
    Store(Error),
}

impl From<Failure> for SessionError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Lane {
    fn status(&self) -> MutexGuard<'_, DestinationStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, text: String) {
        let text = format!("destination {}: {text}", self.settings.name);
        let _ = self.notices.send(SpoolReport::Warning { text });
    }

    /// Reports damage of the store, which its writer can recover.
    fn failure(&mut self, ended: SessionError) -> Failure {
        let error = match ended {
            SessionError::Failed(failure) => return failure,
            SessionError::Store(error) => error,
        };
        if !error.is_damage() {
            return Failure::new(error.to_string());
        }
        if self.complained.is_none_or(|at| at.elapsed() >= DAMAGE_EVERY) {
            self.complained = Some(Instant::now());
            let _ = self.notices.send(SpoolReport::Damaged { text: error.to_string() });
        }
        Failure::new(error.to_string()).hint("the store is recovered when the event processor opens it again")
    }

    /// Reports a warning of the destination.
    fn pass_warning(&mut self) {
        if let Some(warning) = self.destination.warning() {
            self.warn(warning);
        }
    }

    /// Runs until the spooler ends.
    pub(super) fn run(mut self) {
        let mut backoff = Backoff::new(self.settings.retry_max);
        loop {
            let failed = match self.session(&mut backoff) {
                Ok(End::Again) => {
                    self.destination.close();
                    continue;
                }
                Ok(End::Over) => {
                    self.destination.close();
                    self.status().connected = false;
                    return;
                }
                Err(ended) => self.failure(ended),
            };
            let was_ending = self.stop.until().is_some();
            self.destination.close();
            {
                let mut status = self.status();
                (status.connected, status.failures) = (false, status.failures + 1);
                status.failing = Some(failed.to_string());
                status.bytes = self.destination.bytes();
            }
            self.figure_alone();
            let pause = backoff.pause(random());
            match self.stop.until() {
                // There was one more attempt.
                Some(_) if was_ending => return,
                Some(until) if Instant::now() >= until => return,
                Some(_) => {}
                None => self.stop.pause(pause),
            }
        }
    }

    /// Opens the destination, and serves it until it fails or the spooler ends.
    fn session(&mut self, backoff: &mut Backoff) -> Result<End, SessionError> {
        let generation = self.stop.generation();
        let source = Source::open(&self.store)?;
        let (stored, ..) = source.position(&self.settings.name)?;
        // The store's position may be older: the event processor has not stored the last report, or is not there.
        let known = self.known.filter(|(store, _)| *store == source.store()).map_or(0, |known| known.1);
        let start = Start { store: source.store(), delivered: stored.max(known) };
        let delivered = start.delivered;
        let durable = self.destination.open(start)?;
        self.pass_warning();
        let last = source.last_id()?;
        if let Some(durable) = durable.filter(|durable| *durable > last) {
            let what = format!("it has everything up to record {durable} of this store, which has {last} only");
            let hint = "an older copy of the store was put in its place; move it aside, and start the sensor again";
            return Err(Failure::new(format!("{}: {what}", self.settings.name)).hint(hint).into());
        }
        let begin = durable.unwrap_or(delivered);
        self.known = Some((start.store, begin));
        let mut run = Run {
            source,
            sent: begin,
            delivered: begin,
            waiting: VecDeque::new(),
            seen: None,
            emptied: Instant::now(),
            figured: None,
        };
        {
            let mut status = self.status();
            (status.connected, status.delivered) = (true, begin);
            // Where something waits, it works again when something was delivered.
            if begin >= last {
                status.failing = None;
            }
        }
        self.positions.set(&self.settings.name, begin);
        loop {
            let is_busy = self.fill(&mut run)?;
            self.pass_warning();
            if self.take(&mut run, if is_busy { Duration::ZERO } else { TICK })? {
                backoff.reset();
            }
            self.figure(&mut run, FIGURES_EVERY)?;
            if self.is_over(&mut run)? {
                // The last figures are those of the end.
                self.figure(&mut run, Duration::ZERO)?;
                return Ok(End::Over);
            }
            if self.stop.generation() != generation {
                return Ok(End::Again);
            }
            if run.source.is_replaced() {
                return Err(Failure::new(format!("{}: another store is in its place now", self.store.display())).into());
            }
        }
    }

    /// Sends what there is, as far as the destination takes it. Whether there may be more.
    fn fill(&mut self, run: &mut Run) -> Result<bool, SessionError> {
        if run.waiting.len() >= self.destination.window() {
            return Ok(false);
        }
        let changes = run.source.changes()?;
        if run.seen == Some(changes) {
            return Ok(false);
        }
        let page = run.source.page(run.sent, &self.filter)?;
        let is_empty = page.rows.is_empty() && page.damaged.is_none() && page.unreadable == 0;
        if let Some(id) = page.damaged {
            self.warn(format!("{}: record {id} is damaged and left out", self.store.display()));
            self.status().damaged += 1;
        }
        if page.unreadable > 0 {
            let (store, count) = (self.store.display(), page.unreadable);
            let what = "records are left out: they are invalid, or encrypted and their key is missing";
            self.warn(format!("{store}: {count} {what}"));
            self.status().damaged += count as u64;
        }
        if page.through <= run.sent {
            run.seen = Some(changes);
            return Ok(false);
        }
        if is_empty && run.emptied.elapsed() < EMPTY_EVERY && self.stop.until().is_none() {
            return Ok(false);
        }
        run.emptied = Instant::now();
        let parcel = Parcel { after: run.sent, through: page.through, rows: &page.rows, keys: &page.keys };
        self.destination.send(&parcel)?;
        let left_out = self.destination.left_out();
        self.status().damaged += left_out;
        let events = page.rows.iter().map(|row| row.events).fold(0, u64::saturating_add);
        run.waiting.push_back(Sent { through: page.through, records: page.rows.len() as u64, events });
        run.sent = page.through;
        Ok(!is_empty)
    }

    /// Notes what has become durable there. Whether something has.
    fn take(&mut self, run: &mut Run, wait: Duration) -> Result<bool, Failure> {
        let durable = self.destination.acknowledged(wait)?;
        if durable <= run.delivered {
            return Ok(false);
        }
        if durable > run.sent {
            return Err(Failure::new(format!("record {durable} is acknowledged, and only {} was sent", run.sent)));
        }
        run.delivered = durable;
        let (mut records, mut events) = (0, 0_u64);
        while let Some(sent) = run.waiting.front().filter(|sent| sent.through <= durable) {
            (records, events) = (records + sent.records, events.saturating_add(sent.events));
            run.waiting.pop_front();
        }
        {
            let mut status = self.status();
            (status.delivered, status.failing) = (durable, None);
            status.records += records;
            status.events = status.events.saturating_add(events);
        }
        self.known = Some((run.source.store(), durable));
        self.positions.set(&self.settings.name, durable);
        Ok(true)
    }

    /// Figures while the destination cannot be reached: how much waits for it.
    fn figure_alone(&self) {
        let figures = Source::open(&self.store).and_then(|source| {
            let (delivered, lost_records, lost_events) = source.position(&self.settings.name)?;
            Ok((delivered, lost_records, lost_events, source.last_id()?))
        });
        // A store that cannot be read is what failed.
        let Ok((delivered, lost_records, lost_events, last)) = figures else { return };
        let mut status = self.status();
        status.delivered = status.delivered.max(delivered);
        status.lag_records = last.saturating_sub(status.delivered);
        (status.lost_records, status.lost_events) = (lost_records, lost_events);
    }

    /// Figures for the report, if the last ones are so old.
    fn figure(&mut self, run: &mut Run, every: Duration) -> Result<(), Error> {
        if run.figured.is_some_and(|at| at.elapsed() < every) {
            return Ok(());
        }
        run.figured = Some(Instant::now());
        let (_, lost_records, lost_events) = run.source.position(&self.settings.name)?;
        let last = run.source.last_id()?;
        let bytes = self.destination.bytes();
        let mut status = self.status();
        status.lag_records = last.saturating_sub(run.delivered);
        (status.bytes, status.lost_records, status.lost_events) = (bytes, lost_records, lost_events);
        Ok(())
    }

    /// Whether the spooler ends, and there is nothing more to deliver or no time for it.
    fn is_over(&mut self, run: &mut Run) -> Result<bool, SessionError> {
        let Some(until) = self.stop.until() else { return Ok(false) };
        if Instant::now() >= until {
            return Ok(true);
        }
        if run.sent >= run.source.last_id()? {
            self.destination.flush()?;
            self.take(run, Duration::ZERO)?;
            return Ok(run.delivered >= run.sent);
        }
        Ok(false)
    }
}
