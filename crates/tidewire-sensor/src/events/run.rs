//! The order of things: store, socket, privileges, events, end.

use std::{
    io,
    os::fd::AsFd as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tidewire::live::Confinement;
use tidewire_event_socket::{Server, ServerSettings, Waker};
use tidewire_event_store::{Batch, Limits, Producer, Store, Writer, WriterSettings};
use tidewire_events::Event;
use tidewire_outputs::place::links::{self, Missing};
use tidewire_types::{clock::wall_ns, random::random_bytes};

use super::{
    failure::{ENVIRONMENT, Failure, SETTINGS},
    intake::Intake,
    own,
    processor::{BATCHES_MAX, Processor},
    report::{EventsReport, EventsStatus},
    seal::Seal,
    settings::EventsSettings,
    words::Lines,
};
use crate::{EVENTS_SOCKET, reporter};

/// How often figures are reported.
const STATUS: Duration = Duration::from_millis(500);
/// How often a stop and the supervisor's end are looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Sessions are forgotten that have stored nothing for so long: a process that was stopped for a day sends again what is not
/// acknowledged.
const SESSION_NS: u64 = 86_400_000_000_000;
/// How many are kept at most.
const SESSIONS_MAX: usize = 4096;
/// How many are kept however old they seem: as many as may be connected. So no event is stored twice because a clock jumps.
const SESSIONS_MIN: usize = 256;

/// An event processor that is to run.
pub(super) struct Run<'r> {
    pub settings: &'r EventsSettings,
    pub reporter: reporter::Reporter<EventsReport>,
    pub writer: &'r mut reporter::Writer<EventsReport>,
}

impl Run<'_> {
    /// Runs it to its end. Returns the last figures.
    pub(super) fn run(mut self) -> Result<EventsStatus, Failure> {
        self.prepare();
        let mut own_events = Vec::new();
        let seal = match self.settings.recipients.as_slice() {
            [] => None,
            recipients => Some(Seal::new(recipients).map_err(|error| Failure::new(SETTINGS, error))?),
        };
        let (mut store, recovery) = open(&self.settings.store)?;
        if let Some(recovery) = &recovery {
            let (aside, damage) = (recovery.kept_aside.display(), &recovery.damage);
            let account = recovery.account();
            let room = if recovery.lacked_room { "; the disk has no room for the others" } else { "" };
            self.reporter.warn(format!("{damage}; {account}{room}; the damaged file is {aside}"));
            own_events.push(own::recovered(recovery));
        }
        if let Some(loss) = store.loss() {
            self.reporter.warn(format!("{}: {loss}", self.settings.store.display()));
            own_events.push(own::lost(loss));
        }
        if seal.is_some() {
            self.erase(&mut store)?;
        }
        let mut server = self.server()?;
        forget_old(&mut store)?;
        if let Some(registered) = self.settings.destinations.clone() {
            store.append(&Batch { registered: Some(registered), ..Batch::default() })?;
        }
        let producers = store.producers()?.into_iter();
        server.restore(producers.map(|producer| (producer.name, producer.sequence)));
        let (intake, state_lost) = Intake::new(self.settings.folder(), random_key()?, &store, seal.is_none())?;
        own_events.extend(state_lost.as_deref().map(own::state_lost));
        let destinations = store.destinations()?;
        let (records, events) = store.counts()?;
        self.confine()?;
        let stop = Arc::new(AtomicU32::new(0));
        handle_signals(&stop, server.waker())?;
        let writer = Writer::start(store, self.writer_settings())?;
        let lines = Lines::new(self.reporter.clone());
        let mut processor = Processor::new(server, intake, writer, lines, seal, destinations);
        processor.trigger_at(self.settings.trigger_kinds.clone());
        let store = self.settings.store.display().to_string();
        self.reporter.send(EventsReport::Ready { store, records, events });
        self.process(processor, &own_events, &stop)
    }

    /// No process of the same user looks into this process, or finds events in a core dump.
    fn prepare(&self) {
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            self.reporter.warn(format!("processes of the same user can trace the event processor: {error}"));
        }
        let nice = self.settings.nice;
        if nice != 0
            && let Err(error) = rustix::process::setpriority_process(None, nice)
        {
            self.reporter.warn(format!("the nice value {nice} cannot be set: {error}"));
        }
    }

    /// Erases removed records: those from before there were recipients are plain, and do not outlast their removal.
    fn erase(&self, store: &mut Store) -> Result<(), Failure> {
        match store.erase() {
            // Nothing is stored before there is room.
            Err(error) if error.is_full() => self.reporter.warn(format!("what was plain may still be there: {error}")),
            erased => erased?,
        }
        Ok(())
    }

    fn server(&self) -> Result<Server, Failure> {
        let settings = self.settings;
        let path = settings.directory.join(EVENTS_SOCKET);
        let failed = |error: io::Error| {
            let failure = Failure::new(ENVIRONMENT, format_args!("{}: {error}", path.display()));
            failure.hint("name a directory that the sensor may write to, and that no other sensor uses")
        };
        let server = ServerSettings {
            users: settings.users.clone(),
            rate: settings.rate,
            rates: settings.rates.clone(),
            owners: settings.owners.clone(),
            ..ServerSettings::default()
        };
        let mut server = Server::bind(&path, server).map_err(failed)?;
        if settings.capture_on_stdout {
            let adopted = io::stdout().as_fd().try_clone_to_owned().and_then(|socket| server.adopt(socket));
            adopted.map_err(|error| {
                Failure::new(SETTINGS, format_args!("the standard output is no socket of the capture: {error}"))
            })?;
        }
        Ok(server)
    }

    fn writer_settings(&self) -> WriterSettings {
        let limits = Limits { age_ns: self.settings.age_ns(), size_bytes: self.settings.size_bytes };
        // The batches that it is given were gathered already.
        WriterSettings {
            limits,
            records: 1,
            wait: Duration::ZERO,
            batches_max: BATCHES_MAX,
            ..WriterSettings::default()
        }
    }

    /// Leaves what storing needs: the directory of the store, and that of the socket, which is removed at the end.
    fn confine(&self) -> Result<(), Failure> {
        if !self.settings.sandbox {
            return Ok(());
        }
        let confinement = Confinement::new().writable(&self.settings.directory).writable(parent(&self.settings.store));
        let confined = confinement.confine().map_err(|error| Failure::new(ENVIRONMENT, error))?;
        confined.missing.iter().for_each(|missing| self.reporter.warn(missing.as_str()));
        Ok(())
    }

    /// Processes events until it is stopped.
    fn process(&mut self, mut processor: Processor, own: &[Event], stops: &AtomicU32) -> Result<EventsStatus, Failure> {
        own.iter().for_each(|event| processor.add(event));
        if let Err(failure) = self.turns_until_stored(&mut processor, stops) {
            self.close(&mut processor);
            return Err(failure);
        }
        let (status, failure) = processor.end(self.settings.stop).map_err(failed)?;
        match failure {
            Some(failure) => Err(failure.with(status)),
            None => Ok(status),
        }
    }

    /// Processes events until it is stopped, and what it has received is stored.
    fn turns_until_stored(&mut self, processor: &mut Processor, stops: &AtomicU32) -> Result<(), Failure> {
        self.turns(processor, || stops.load(Ordering::Relaxed) > 0)?;
        let is_stored = processor.finish(self.settings.stop).map_err(failed)?;
        if self.settings.lingers && is_stored {
            self.reporter.send(EventsReport::Stored(processor.status()));
            self.turns(processor, || stops.load(Ordering::Relaxed) > 1)?;
        }
        Ok(())
    }

    /// Closes the store after a failure, and reports figures while that takes.
    fn close(&mut self, processor: &mut Processor) {
        let mut reported = Instant::now();
        processor.close(|processor| {
            if reported.elapsed() >= STATUS {
                reported = Instant::now();
                self.reporter.send(EventsReport::Status(processor.status()));
            }
            self.writer.write();
        });
    }

    /// Does what is to do until it is over, or the supervisor is gone.
    fn turns(&mut self, processor: &mut Processor, is_over: impl Fn() -> bool) -> Result<(), Failure> {
        let mut reported = Instant::now();
        while !is_over() {
            processor.turn(LOOK.min(STATUS.saturating_sub(reported.elapsed()))).map_err(failed)?;
            if let Some(failure) = processor.failure.take() {
                return Err(failure);
            }
            if processor.triggers() {
                self.reporter.send(EventsReport::Trigger);
            }
            if reported.elapsed() >= STATUS {
                reported = Instant::now();
                self.reporter.send(EventsReport::Status(processor.status()));
            }
            if self.writer.is_gone() {
                break;
            }
            self.writer.write();
        }
        Ok(())
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::new(ENVIRONMENT, format_args!("the socket of events: {error}"))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Opens the store, in a directory that is made for its owner only. No link of another user leads to it.
fn open(path: &Path) -> Result<(Store, Option<tidewire_event_store::Recovery>), Failure> {
    let found = links::find(path, Missing::MakeOwn).map_err(|error| {
        let failure = Failure::new(ENVIRONMENT, format_args!("{}: {error}", path.display()));
        failure.hint("name a store in a directory that the sensor may write to")
    })?;
    Ok(Store::open(&found.path)?)
}

/// Forgets sessions that no client continues.
fn forget_old(store: &mut Store) -> Result<(), Failure> {
    let forgotten = forgotten(store.producers()?, wall_ns());
    if !forgotten.is_empty() {
        store.append(&Batch { forgotten, ..Batch::default() })?;
    }
    Ok(())
}

/// The sessions that are forgotten, of all in the order in which they stored something.
fn forgotten(producers: Vec<Producer>, now_ns: u64) -> Vec<String> {
    let old = now_ns.saturating_sub(SESSION_NS);
    let (many, recent) = (producers.len().saturating_sub(SESSIONS_MAX), producers.len().saturating_sub(SESSIONS_MIN));
    let is_old = |(at, one): &(usize, Producer)| *at < many || *at < recent && one.stored_ns < old;
    producers.into_iter().enumerate().filter(is_old).map(|(_, one)| one.name).collect()
}

/// A key of hashes that senders of events cannot guess.
fn random_key() -> Result<[u64; 2], Failure> {
    let bytes = random_bytes::<16>()
        .map_err(|error| Failure::new(ENVIRONMENT, format_args!("no random key of hashes: {error}")))?;
    Ok([0, 8].map(|at| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))))
}

fn handle_signals(stops: &Arc<AtomicU32>, waker: Waker) -> Result<(), Failure> {
    let stops = Arc::clone(stops);
    let handled = ctrlc::set_handler(move || {
        stops.fetch_add(1, Ordering::Relaxed);
        waker.wake();
    });
    handled.map_err(|error| Failure::new(ENVIRONMENT, format_args!("signals cannot be handled: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_makes_all_sessions_old() {
        let all = |count: usize, stored_ns: u64| -> Vec<Producer> {
            (0..count).map(|at| Producer { name: format!("{at}"), sequence: 1, stored_ns }).collect()
        };
        let day = SESSION_NS;
        assert_eq!(forgotten(all(300, 10 * day), 10 * day + 1).len(), 0);
        // Whether the clock was right, or jumped by a year, is unknown.
        let old = forgotten(all(300, 10 * day), 375 * day);
        assert_eq!((old.len(), old[0].as_str(), old[43].as_str()), (44, "0", "43"), "the oldest of them");
        assert!(forgotten(all(SESSIONS_MIN, 10 * day), u64::MAX).is_empty());
        assert!(forgotten(all(5, u64::MAX), 0).is_empty(), "a clock that jumped back");
        assert_eq!(forgotten(all(SESSIONS_MAX + 7, 10 * day), 10 * day).len(), 7);
    }
}
