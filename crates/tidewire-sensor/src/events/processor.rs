//! The loop: receive, fold, cut, store, acknowledge.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tidewire_event_socket::{Server, ServerEvent, Taken, Waker};
use tidewire_event_store::{Batch, Destination, Error, RestoreProgress, Writer};
use tidewire_events::Event;

use super::{
    failure::{ENVIRONMENT, Failure},
    intake::{Cut, Intake},
    own,
    report::{DestinationStatus, EventsStatus},
    seal::Seal,
    triggers::Triggers,
    words::{self, Lines, Sparing},
};

/// Received events are cut into records after this time.
const CUT_TIME: Duration = Duration::from_millis(20);
/// Records after which it is cut, and bytes.
const CUT_RECORDS: usize = 1000;
const CUT_BYTES: usize = 2 << 20;
/// How often the state of folding is stored.
const STATE_TIME: Duration = Duration::from_secs(1);
/// Bytes of records that wait to be stored; beyond, nothing is received.
const STORING_BYTES_MAX: usize = 8 << 20;
/// How often the end of closing the store is looked for.
const CLOSE_LOOK: Duration = Duration::from_millis(100);
/// The last attempt to store takes this part of the time of an orderly end.
const LAST_ATTEMPT: u32 = 8;
/// Batches that wait to be stored; beyond, nothing is received.
pub(super) const BATCHES_MAX: usize = 16;

/// A batch that is stored.
struct Storing {
    taken: Taken,
    events: u64,
    bytes: usize,
}

/// Results of the writer's thread: batches that are durable, or will not be.
#[derive(Default)]
struct Results(Mutex<Vec<(Storing, Result<(), Error>)>>);

/// Receives, folds and stores.
pub(super) struct Processor {
    server: Server,
    intake: Intake,
    writer: Writer,
    results: Arc<Results>,
    waker: Waker,
    lines: Lines,
    refusals: Sparing,
    position_refusals: Sparing,
    /// How many positions were refused so far.
    refused_positions: u64,
    /// Where there are recipients.
    seal: Option<Seal>,
    begun: Instant,
    /// When a state of folding was stored last; `None`: none is.
    state: Option<Instant>,
    storing: usize,
    storing_bytes: usize,
    stored_events: u64,
    /// As they were when losses were last looked at.
    destinations: Vec<Destination>,
    /// Events that trigger the recording.
    triggers: Triggers,
    /// A failure after which nothing more can be stored.
    pub failure: Option<Failure>,
}

impl Processor {
    pub(super) fn new(
        server: Server,
        intake: Intake,
        writer: Writer,
        lines: Lines,
        seal: Option<Seal>,
        destinations: Vec<Destination>,
    ) -> Self {
        Self {
            // Sealed, folds begin again with each process.
            state: seal.is_none().then(Instant::now),
            seal,
            waker: server.waker(),
            server,
            intake,
            writer,
            results: Arc::default(),
            lines,
            refusals: Sparing::default(),
            position_refusals: Sparing::default(),
            refused_positions: 0,
            begun: Instant::now(),
            storing: 0,
            storing_bytes: 0,
            stored_events: 0,
            destinations,
            triggers: Triggers::default(),
            failure: None,
        }
    }

    /// Has events of these kinds trigger the recording.
    pub(super) fn trigger_at(&mut self, kinds: Vec<String>) {
        self.triggers = Triggers::of(kinds);
    }

    /// Whether the recording is to be triggered now.
    pub(super) fn triggers(&mut self) -> bool {
        self.triggers.take()
    }

    /// Adds an event of our own.
    pub(super) fn add(&mut self, event: &Event) {
        self.intake.add(event);
    }

    /// Receives for at most so long, and does what is due. Whether something was received.
    pub(super) fn turn(&mut self, most: Duration) -> io::Result<bool> {
        self.intake.look_at_clock();
        let mut received = 0_u64;
        let timeout = match self.intake.since() {
            Some(since) if self.can_store() => most.min(CUT_TIME.saturating_sub(since.elapsed())),
            // The end of a session is to be stored, too.
            None if self.server.has_news() => most.min(CUT_TIME),
            _ => most,
        };
        self.server.pause(!self.can_store());
        let (intake, triggers) = (&mut self.intake, &mut self.triggers);
        let happened = self.server.turn(timeout, &mut |one| {
            received += 1;
            triggers.note(&one);
            intake.take(&one);
        })?;
        for event in &happened {
            self.lines.send(words::of(event));
            if let ServerEvent::Refused { analyzer, user, why } = event {
                // Who may not send events causes no more of them than a log has lines, and none while nothing can be stored.
                if let Some(left_out) = self.refusals.admit(self.can_store()) {
                    self.intake.add(&own::refused(analyzer.as_deref(), *user, why, left_out));
                }
            }
        }
        self.intake.look_at_clock();
        self.intake.tick();
        self.acknowledge();
        self.look_at_losses();
        self.look_at_positions();
        self.lines.look();
        let (records, bytes) = self.intake.waiting();
        let is_due = match self.intake.since() {
            Some(since) => since.elapsed() >= CUT_TIME,
            None => received == 0 && self.server.has_news(),
        };
        if (is_due || records >= CUT_RECORDS || bytes >= CUT_BYTES) && self.can_store() {
            let with_state = self.state.is_some_and(|stored| stored.elapsed() >= STATE_TIME);
            self.store(with_state);
        }
        Ok(received > 0 || !happened.is_empty())
    }

    /// Whether another batch may wait.
    fn can_store(&self) -> bool {
        self.storing < BATCHES_MAX && self.storing_bytes < STORING_BYTES_MAX
    }

    /// Gives what waits to the writer.
    fn store(&mut self, with_state: bool) {
        let Cut { out, delivered, registered, severities, state } = self.intake.cut(with_state);
        if with_state {
            self.state = Some(Instant::now());
        }
        let taken = self.server.take();
        let events = out.records.iter().map(tidewire_events::Record::count).sum();
        let bytes = out.records.iter().map(|record| record.bytes().len()).sum();
        let mut batch = Batch {
            producers: taken.positions.clone(),
            forgotten: taken.over.clone(),
            destinations: delivered,
            registered,
            severities,
            ..Batch::default()
        };
        if let Some(seal) = &mut self.seal {
            batch.next_numbers = Some(self.intake.next_numbers());
            if let Err(error) = seal.seal(&out.records, &mut batch) {
                // Nothing is acknowledged of what cannot be stored.
                self.failure = Some(Failure::new(ENVIRONMENT, error));
                return;
            }
        } else {
            (batch.records, batch.closed, batch.state) = (out.records, out.closed, state);
        }
        self.storing += 1;
        self.storing_bytes += bytes;
        let (results, waker) = (Arc::clone(&self.results), self.waker.clone());
        let storing = Storing { taken, events, bytes };
        // There is room for it: the writer takes as many as may be stored at once.
        self.writer.submit(batch, move |result| {
            results.0.lock().unwrap_or_else(PoisonError::into_inner).push((storing, result.map(drop)));
            waker.wake();
        });
    }

    /// Acknowledges durable events to analyzers.
    fn acknowledge(&mut self) {
        let results = std::mem::take(&mut *self.results.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (storing, result) in results {
            self.storing -= 1;
            self.storing_bytes -= storing.bytes;
            match result {
                Ok(()) => {
                    self.stored_events += storing.events;
                    self.server.acknowledge(&storing.taken);
                }
                Err(error) => self.failure = Some(error.into()),
            }
        }
        // Also where nothing waits to be stored.
        if self.failure.is_none() {
            self.failure = self.writer.broken().map(Failure::broken);
        }
    }

    /// Reports positions of destinations that no record has.
    fn look_at_positions(&mut self) {
        let (count, last) = self.writer.refused_positions();
        let Some((destination, id)) = last.filter(|_| count > self.refused_positions) else { return };
        if let Some(left_out) = self.position_refusals.admit(self.can_store()) {
            let text = format!("destination {destination}: no record {id} is there; the position was left out");
            self.lines.send(text);
            self.intake.add(&own::position_refused(&destination, id, left_out));
        }
        self.refused_positions = count;
    }

    /// Reports records that were removed before a destination had them.
    fn look_at_losses(&mut self) {
        let now = self.writer.destinations();
        let Some(now) = now.filter(|now| *now != self.destinations) else { return };
        for destination in &now {
            let none = || Destination { lost_records: 0, lost_events: 0, ..destination.clone() };
            let before = self.destinations.iter().find(|before| before.name == destination.name);
            let before = before.cloned().unwrap_or_else(none);
            if destination.lost_events > before.lost_events {
                self.intake.add(&own::removed(destination, &before));
            }
        }
        self.destinations = now;
    }

    /// Figures.
    pub(super) fn status(&self) -> EventsStatus {
        let writer = self.writer.status();
        let (folds, memory_bytes) = self.intake.open();
        let counts = self.intake.counts();
        let analyzers = self.server.counts();
        let destinations = writer.destinations.iter().map(|one| DestinationStatus {
            name: one.name.clone(),
            delivered: one.delivered,
            lost_records: one.lost_records,
            lost_events: one.lost_events,
        });
        EventsStatus {
            seconds: self.begun.elapsed().as_secs_f64(),
            events: analyzers.iter().map(|analyzer| analyzer.events).sum(),
            stored_events: self.stored_events,
            stored_records: writer.records,
            folds: folds as u64,
            evicted: counts.evicted,
            memory_bytes: memory_bytes as u64,
            commits: writer.commits,
            store_bytes: writer.store_bytes,
            removed_records: writer.removed,
            encrypted: self.seal.is_some(),
            failing: writer.restore_progress.map(|progress| progress.to_string()).or(writer.failing),
            analyzers,
            destinations: destinations.collect(),
        }
    }

    /// Receives what was sent and stores it, in most of the time of an orderly end. From then on only the spooler is heard. Returns
    /// whether everything is stored.
    pub(super) fn finish(&mut self, most: Duration) -> io::Result<bool> {
        let until = Instant::now() + storing_time(most);
        self.server.close();
        // Events that analyzers sent before they ended are in their sockets. Analyzers that continue keep unacknowledged ones.
        let receives_until = Instant::now() + most / 2;
        while Instant::now() < receives_until && self.turn(CUT_TIME)? {}
        self.server.only_control();
        while !self.can_store() && Instant::now() < until {
            self.turn(CUT_TIME)?;
        }
        self.store_rest(until)?;
        Ok(self.failure.is_none() && self.storing == 0 && self.intake.waiting().0 == 0)
    }

    /// Stores what waits.
    fn store_rest(&mut self, until: Instant) -> io::Result<()> {
        if self.can_store() {
            let with_state = self.state.is_some();
            self.store(with_state);
        }
        while self.storing > 0 && self.failure.is_none() && Instant::now() < until {
            self.server.pause(true);
            self.server.turn(CUT_TIME, &mut |_| ())?;
            self.acknowledge();
        }
        Ok(())
    }

    /// Ends. Returns the last figures, and what could not be stored.
    pub(super) fn end(mut self, most: Duration) -> io::Result<(EventsStatus, Option<Failure>)> {
        // Positions that came since.
        if self.failure.is_none() && self.intake.since().is_some() {
            self.store_rest(Instant::now() + storing_time(most))?;
        }
        // Waiting batches are tried once more; those that cannot be stored are given back.
        self.writer.finish_within(most / LAST_ATTEMPT);
        self.acknowledge();
        let failure = self.not_stored();
        Ok((self.status(), failure))
    }

    /// Closes a store that nothing can be written to any more. It may be put back, which takes long if it is large: `meanwhile` is called
    /// ten times a second. Analyzers wait, and send again what is not acknowledged.
    pub(super) fn close(&mut self, mut meanwhile: impl FnMut(&Self)) {
        self.server.pause(true);
        self.writer.begin_close();
        let mut said = None;
        while !self.writer.is_closed() {
            std::thread::sleep(CLOSE_LOOK);
            self.say_progress(&mut said);
            meanwhile(self);
        }
        self.say_progress(&mut said);
    }

    /// Says how far the store is that is put back, where that changed.
    fn say_progress(&mut self, said: &mut Option<RestoreProgress>) {
        let progress = self.writer.status().restore_progress;
        if progress != *said {
            progress.iter().for_each(|progress| self.lines.say(progress.to_string()));
            *said = progress;
        }
    }

    /// Events that were received and are not durable, and why.
    fn not_stored(&mut self) -> Option<Failure> {
        let events = self.intake.events().saturating_sub(self.stored_events);
        if events == 0 && self.storing == 0 && self.intake.since().is_none() {
            return None;
        }
        let known = self.failure.take().map(|failure| failure.text);
        let why = self.writer.status().failing.or(known).unwrap_or_else(|| "the time was over".to_owned());
        let what = match events {
            0 => "the last positions of destinations".to_owned(),
            _ => format!("the last {events} events received"),
        };
        Some(Failure::new(ENVIRONMENT, format_args!("{what} could not be stored: {why}")))
    }
}

/// The part of an orderly end in which events are stored. The rest is for one more attempt and for the account: the supervisor kills
/// at its end.
fn storing_time(most: Duration) -> Duration {
    most * 3 / 4
}
