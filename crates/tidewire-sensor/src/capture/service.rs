//! The thread that serves queues: readers come and go, sleepers are woken, figures and events go to the supervisor.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tidewire::Stop;
use tidewire_analyzers::Analyzers;
use tidewire_queue::{ServedStatus, Server};
use tidewire_types::clock::wall_ns;

use super::{
    events::{Events, Writer},
    figures::Figures,
    inline,
    recording::Recording,
    records::RecordWriter,
    visits::Visits,
    words,
};
use crate::{
    config::Unit,
    producer::Offered,
    report::{CaptureEvent, CaptureStatus, QueueStatus, ReaderReport},
};

/// How often figures are reported.
const STATUS: Duration = Duration::from_millis(500);
/// How often the end of the supervisor, and a stop, are looked for while something goes on. Else it is looked for with each report.
const LOOK: Duration = Duration::from_millis(20);
/// After so long without a packet, a record or a reader's step, nothing goes on.
const QUIET: Duration = Duration::from_secs(1);
/// How long readers may take to read the rest once the supervisor is gone.
const REST_ALONE: Duration = Duration::from_millis(500);

/// State of the thread that serves readers.
pub(super) struct Service {
    pub server: Server,
    pub events: Events,
    pub figures: Arc<Figures>,
    pub offered: Vec<Offered>,
    /// By queue, readers that must be attached before the input begins.
    pub awaited: Vec<usize>,
    pub stop: Stop,
    /// How long readers may take to read the rest after a stop: less than the supervisor waits before it kills.
    pub rest: Duration,
    /// Whether readers may take as long as they like once the input has ended: files.
    pub is_patient: bool,
    pub shared: Arc<Shared>,
    /// Analyzers within the capture.
    pub analyzers: Option<Arc<Analyzers>>,
    /// Records that are written.
    pub records: Option<Arc<RecordWriter>>,
    /// The recording of packets.
    pub recording: Option<Arc<Recording>>,
}

/// Whether anything goes on.
struct Activity {
    steps: u64,
    since: Instant,
}

impl Activity {
    fn new(begun: Instant) -> Self {
        Self { steps: 0, since: begun }
    }

    fn note(&mut self) {
        self.since = Instant::now();
    }

    fn look(&mut self, steps: u64) {
        if std::mem::replace(&mut self.steps, steps) != steps {
            self.note();
        }
    }

    fn is_quiet(&self) -> bool {
        self.since.elapsed() >= QUIET
    }
}

/// State that the service and the main thread share.
#[derive(Default)]
pub(super) struct Shared {
    /// Every queue was finished, or dropped.
    has_ended: AtomicBool,
    /// Whether as many readers are attached as must be, or the wait for them is over.
    is_attended: Mutex<bool>,
    attended: Condvar,
}

impl Shared {
    fn is_attended(&self) -> bool {
        *self.is_attended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attend(&self) {
        *self.is_attended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.attended.notify_all();
    }
}

/// The service's thread.
pub(super) struct Running {
    shared: Arc<Shared>,
    thread: JoinHandle<(Writer, Option<CaptureStatus>)>,
}

impl Running {
    /// Waits until as many readers are attached as must be, or the capture was stopped.
    pub(super) fn wait_for_readers(&self) {
        let is_attended = self.shared.is_attended.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.shared.attended.wait_while(is_attended, |is_attended| !*is_attended);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends the service when readers have read the rest, or took too long. The queues must have ended. Without figures: it
    /// panicked.
    pub(super) fn finish(self) -> Option<(Writer, Option<CaptureStatus>)> {
        self.shared.has_ended.store(true, Ordering::Release);
        self.thread.join().ok()
    }
}

impl Service {
    /// Starts the thread.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn start(mut self, mut writer: Writer) -> std::io::Result<Running> {
        let shared = Arc::clone(&self.shared);
        let run = move || {
            // After a panic only the holds are looked at, which must end.
            let served = catch_unwind(AssertUnwindSafe(|| self.serve(&mut writer)));
            if let Err(panic) = &served {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
                self.events.warn(format!("the thread that serves readers panicked: {text}"));
                self.stop.stop();
                self.offered.iter().for_each(|queue| queue.offer.end_hold(Duration::ZERO));
            }
            self.shared.attend();
            (writer, served.ok())
        };
        let thread = thread::Builder::new().name("queues".into()).spawn(run)?;
        Ok(Running { shared, thread })
    }

    fn serve(&mut self, writer: &mut Writer) -> CaptureStatus {
        let begun = Instant::now();
        let (mut reported, mut looked) = (begun, begun);
        let (mut visits, mut activity) = (Visits::default(), Activity::new(begun));
        let (mut rest_until, mut waits) = (None, (begun, String::new()));
        self.attend();
        loop {
            let until_report = STATUS.saturating_sub(reported.elapsed());
            let pause = if activity.is_quiet() { self.idle_pause().min(until_report) } else { LOOK };
            match self.server.turn(visits.due().map_or(pause, |due| due.min(pause))) {
                Ok(happened) => {
                    happened.iter().for_each(|event| visits.note(event));
                    if !happened.is_empty() {
                        activity.note();
                        self.attend();
                    }
                }
                Err(error) => {
                    self.events.warn(format!("no analyzer can attach at this moment: {error}"));
                    thread::sleep(STATUS);
                }
            }
            visits.report(&self.events);
            if reported.elapsed() >= STATUS {
                reported = Instant::now();
                let status = self.status(begun, &self.server.status());
                if !self.is_patient || self.shared.is_attended() {
                    waits.1.clear();
                } else if let Some(text) = words::of_waiting(&status)
                    && waits.1 != text
                    && (waits.1.is_empty() || waits.0.elapsed() >= QUIET)
                {
                    waits = (Instant::now(), text.clone());
                    self.events.send(CaptureEvent::Reader { text });
                }
                self.events.send(CaptureEvent::Status(status));
                self.look_for_scans();
            }
            writer.write();
            let has_ended = self.shared.has_ended.load(Ordering::Acquire);
            if looked.elapsed() < LOOK && !has_ended {
                continue;
            }
            looked = Instant::now();
            self.look(writer.is_gone(), &mut rest_until);
            let served = self.server.status();
            activity.look(self.steps(&served));
            if has_ended {
                let until = *rest_until.get_or_insert_with(|| (!self.is_patient).then(|| Instant::now() + self.rest));
                if have_read_all(&served) || until.is_some_and(|until| Instant::now() >= until) {
                    visits.report_all(&self.events);
                    return self.status(begun, &served);
                }
            }
        }
    }

    /// How long the thread may sleep while nothing goes on: a stop may not be noticed later than its time allows.
    fn idle_pause(&self) -> Duration {
        (self.rest / 2).clamp(LOOK, STATUS)
    }

    /// A number that changes with each packet, record and step of a reader.
    fn steps(&self, served: &[ServedStatus]) -> u64 {
        let reader = |reader: &tidewire_queue::ReaderStatus| reader.progress.sequence;
        let queue = |sum: u64, queue: &ServedStatus| {
            queue.readers.iter().map(reader).fold(sum.wrapping_add(queue.published), u64::wrapping_add)
        };
        served.iter().fold(self.figures.packets(), queue)
    }

    /// Notices a stop and the supervisor's end: from then on the wait for readers is bounded.
    fn look(&mut self, is_alone: bool, rest_until: &mut Option<Option<Instant>>) {
        if is_alone {
            self.stop.stop();
        }
        if !self.stop.is_stopped() {
            return;
        }
        let rest = if is_alone { REST_ALONE.min(self.rest) } else { self.rest };
        let until = Instant::now() + rest;
        if rest_until.flatten().is_none_or(|known| until < known) {
            *rest_until = Some(Some(until));
            self.offered.iter().for_each(|queue| queue.offer.end_hold(rest));
            self.shared.attend();
        }
    }

    /// Reports scans that are over also while no packet comes. Files have their own time.
    fn look_for_scans(&self) {
        if let Some(analyzers) = self.analyzers.as_ref().filter(|_| !self.is_patient) {
            analyzers.look(wall_ns());
        }
    }

    /// Lets the input begin if enough readers are there.
    fn attend(&self) {
        let served = self.server.status();
        if served.iter().zip(&self.awaited).all(|(queue, awaited)| queue.readers.len() >= *awaited) {
            self.shared.attend();
        }
    }

    fn status(&self, begun: Instant, served: &[ServedStatus]) -> CaptureStatus {
        let has_begun = self.shared.is_attended();
        let awaited = self.awaited.iter().map(|awaited| if has_begun { 0 } else { *awaited });
        let queues = self.offered.iter().zip(served).zip(awaited);
        CaptureStatus {
            seconds: begun.elapsed().as_secs_f64(),
            packets: self.figures.packets(),
            dropped: self.figures.dropped(),
            ledger: self.figures.ledger(),
            interfaces: self.figures.interfaces(),
            queues: queues.map(|((queue, served), awaited)| queue_status(queue, served, awaited)).collect(),
            inline: inline::status(self.analyzers.as_ref()),
            records: self.records.as_ref().map(|records| records.status()),
            record: self.recording.as_ref().map(|recording| recording.status()),
        }
        .with_branches()
    }
}

/// Whether every reader is at the end, by its own account.
fn have_read_all(served: &[ServedStatus]) -> bool {
    let is_at_end = |queue: &ServedStatus| queue.readers.iter().all(|one| one.progress.sequence >= queue.published);
    served.iter().all(is_at_end)
}

fn queue_status(queue: &Offered, served: &ServedStatus, awaited: usize) -> QueueStatus {
    let counts = queue.offer.counts();
    let unit = match queue.unit {
        Unit::Streams => "streams",
        Unit::Packets => "packets",
    };
    let known = |reader: &tidewire_queue::ReaderStatus, figure: u64| reader.has_said.then_some(figure);
    let reader = |reader: &tidewire_queue::ReaderStatus| ReaderReport {
        name: reader.name.clone(),
        group: reader.group.clone(),
        process: reader.process,
        user: reader.user,
        first: reader.first,
        read: known(reader, reader.progress.read),
        lost: known(reader, reader.progress.missed.saturating_add(reader.progress.lost)),
        lost_bytes: known(reader, reader.progress.missed_bytes.saturating_add(reader.progress.lost_bytes)),
        lag: known(reader, served.published.saturating_sub(reader.progress.sequence)),
    };
    QueueStatus {
        name: queue.name.clone(),
        unit: unit.into(),
        records: counts.records,
        bytes: counts.bytes,
        shed_records: counts.shed_records,
        overload_records: counts.overload_records,
        shed_bytes: counts.shed_bytes,
        waited_ns: counts.waited_ns,
        awaited,
        readers: served.readers.iter().map(reader).collect(),
    }
}
