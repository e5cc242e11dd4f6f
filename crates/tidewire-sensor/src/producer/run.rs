//! A capture whose handlers are queues, analyzers and that of records.

use tidewire::{
    Application, ApplicationId, Applications, Capture, Error, Handler, Input, Ledger, Mode, Outcome, StreamClass,
    live::LiveReport,
};
use tidewire_analyzers::{Analyzers, Inline};
use tidewire_outputs::{ExportHandler, Exporting, MemoryParts};
use tidewire_queue::PRIORITIES;

use super::{
    beside::{Beside, Finish},
    packets::PacketQueue,
    queues::{Configured, Queues},
    streams::StreamQueue,
};
use crate::config::{ClassConfig, Unit};

/// The outcome of a run, without the handlers: a queue can be finished once they are gone.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ran {
    /// The fate of every packet.
    pub ledger: Ledger,
    /// Damaged or unreadable parts of the input.
    pub input_errors: Vec<Error>,
    /// Whether the run was stopped before the input's end.
    pub interrupted: bool,
    /// The last report of a live capture.
    pub live: Option<LiveReport>,
}

/// Settings of records that are written.
#[derive(Clone, Copy)]
pub struct RecordSettings<'a> {
    /// Which records, and where.
    pub exporting: &'a Exporting,
    /// The parts of the memory.
    pub parts: MemoryParts,
    /// Bytes of each direction that protocol fields are read from.
    pub cutoff_bytes: u64,
}

impl RecordSettings<'_> {
    fn handler<const HISTORY: bool>(&self) -> ExportHandler<HISTORY> {
        ExportHandler::new(self.exporting, &self.parts)
    }
}

impl Ran {
    fn of<H: Finish>(outcome: Outcome<H>) -> Self {
        let Outcome { handlers, ledger, input_errors, interrupted, live, .. } = outcome;
        handlers.into_iter().for_each(|mut handler| handler.finish());
        Self { ledger, input_errors, interrupted, live }
    }
}

/// Runs a capture that publishes in these queues, beside these analyzers, and writes these records, with `workers` workers. Filters,
/// cutoffs, chunks and classes are those of the queues; what `capture` has set of them is replaced or not used. So is the memory, where
/// records are written: protocol fields have a part of it.
///
/// One queue alone is the engine's handler, with the analyzers if it wants at least what they do. Several, and one with a filter
/// of its own, are applications of one engine ([`Applications`]), which costs more for each chunk.
///
/// # Errors
/// As [`Capture::run`]. The queues are not finished: see [`Queues::finish`]. Nor are the analyzers: see [`Analyzers::finish`].
pub fn run<I: Input>(
    capture: Capture<I>,
    queues: &Queues,
    inline: Option<&Analyzers>,
    records: Option<RecordSettings<'_>>,
    workers: usize,
) -> Result<Ran, Error> {
    let capture = capture.workers(workers);
    let inline = inline.filter(|inline| inline.is_any_enabled());
    if let Some(records) = records {
        let capture = capture.memory(records.parts.engine()).stream_bytes(records.exporting.kept().stream_bytes);
        return match records.exporting.wants_history() {
            false => written::<_, false>(capture, queues, inline, records, workers),
            true => written::<_, true>(capture, queues, inline, records, workers),
        };
    }
    match (queues.configured.as_slice(), inline) {
        ([], Some(inline)) => alone(capture, inline),
        // Frames alone are wanted: those of a recording.
        ([], None) => Ok(Ran::of(capture.mode(Mode::Track).cutoff(0).run(|_| Nothing)?)),
        ([queue], _) if is_plain(queue) && inline.is_none_or(|inline| wants_as_much(queue, inline)) => {
            let (set, priority) = (&queue.set, queue.config.priority);
            match queue.config.unit {
                Unit::Streams => single(capture, queue, inline, |_| StreamQueue::new(set.clone()).priority(priority)),
                Unit::Packets => single(capture, queue, inline, |_| PacketQueue::new(set.clone()).priority(priority)),
            }
        }
        _ => several(capture, queues, inline, None, workers),
    }
}

/// Whether a queue can be the engine's handler.
fn is_plain(queue: &Configured) -> bool {
    // The engine's 0 stands for streams without a class.
    queue.config.filter.is_none() && queue.config.classes.iter().all(|class| class.priority != Some(0))
}

/// Whether a queue gets all bytes that the analyzers look at.
fn wants_as_much(queue: &Configured, inline: &Analyzers) -> bool {
    let is_enough = |cutoff: Option<u64>| cutoff.is_none_or(|bytes| bytes >= inline.cutoff_bytes());
    is_enough(queue.config.cutoff_bytes) && queue.config.classes.iter().all(|class| is_enough(class.cutoff_bytes))
}

/// Analyzers without a queue are the handler.
fn alone<I: Input>(capture: Capture<I>, inline: &Analyzers) -> Result<Ran, Error> {
    let capture = capture.chunks(0, 0).cutoff(inline.cutoff_bytes());
    Ok(Ran::of(capture.run(|_| inline.worker())?))
}

/// The handler of records is the engine's, alone or beside one queue and the analyzers that want the same bytes.
fn written<I: Input, const HISTORY: bool>(
    capture: Capture<I>,
    queues: &Queues,
    inline: Option<&Analyzers>,
    records: RecordSettings<'_>,
    workers: usize,
) -> Result<Ran, Error> {
    let is_enough = inline.is_none_or(|inline| records.cutoff_bytes >= inline.cutoff_bytes());
    let handler = || records.handler::<HISTORY>();
    let with_cutoff = |capture: Capture<I>| capture.cutoff(records.cutoff_bytes);
    match (queues.configured.as_slice(), inline) {
        ([], None) => {
            let mode = if records.exporting.wants_figures_only() { Mode::Track } else { Mode::Strict };
            Ok(Ran::of(with_cutoff(capture.mode(mode)).run(|_| handler())?))
        }
        ([], Some(inline)) if is_enough => {
            Ok(Ran::of(with_cutoff(capture).run(|_| Beside::new(handler(), inline.worker()))?))
        }
        ([queue], inline) if is_enough && wants_the_same(queue, &records) => {
            let queue = || {
                let (set, priority) = (queue.set.clone(), queue.config.priority);
                Beside::new(StreamQueue::new(set).stating(priority), handler())
            };
            match inline {
                None => Ok(Ran::of(with_cutoff(capture).run(|_| queue())?)),
                Some(inline) => Ok(Ran::of(with_cutoff(capture).run(|_| Beside::new(queue(), inline.worker()))?)),
            }
        }
        _ => several(capture, queues, inline, Some(records), workers),
    }
}

/// Whether a queue is one of streams that has the bytes which records are made from, as they arrive.
fn wants_the_same(queue: &Configured, records: &RecordSettings<'_>) -> bool {
    let config = &queue.config;
    config.unit == Unit::Streams
        && config.filter.is_none()
        && config.classes.is_empty()
        && config.chunk_bytes == 0
        && config.cutoff_bytes.unwrap_or(u64::MAX) == records.cutoff_bytes
}

/// One queue is the handler, or the queue beside the analyzers.
fn single<I: Input, H: Handler + Finish + Send>(
    capture: Capture<I>,
    queue: &Configured,
    inline: Option<&Analyzers>,
    mut handler: impl FnMut(usize) -> H,
) -> Result<Ran, Error> {
    let config = &queue.config;
    let capture =
        capture.chunks(config.chunk_bytes, 0).flush_timeout((!config.flush.is_zero()).then_some(config.flush));
    let capture = capture.configure(|engine| engine.set_priorities(PRIORITIES));
    let capture = capture.cutoff(config.cutoff_bytes.unwrap_or(u64::MAX));
    let capture = config.classes.iter().fold(capture, |capture, class| capture.class(stream_class(class)));
    match inline {
        None => Ok(Ran::of(capture.run(handler)?)),
        Some(inline) => Ok(Ran::of(capture.run(|worker| Beside::new(handler(worker), inline.worker()))?)),
    }
}

/// Queues, analyzers and records are applications.
fn several<I: Input>(
    capture: Capture<I>,
    queues: &Queues,
    inline: Option<&Analyzers>,
    records: Option<RecordSettings<'_>>,
    workers: usize,
) -> Result<Ran, Error> {
    let is_of_streams = queues.configured.iter().all(|queue| queue.config.unit == Unit::Streams);
    if is_of_streams && !records.is_some_and(|records| records.exporting.wants_history()) {
        let mut made = Vec::new();
        for _ in 0..workers {
            let mut applications = Applications::new();
            for queue in &queues.configured {
                applications.add(application(queue, StreamQueue::new(queue.set.clone())))?;
            }
            made.push(applications);
        }
        records.map(|records| add_records::<_, false>(&mut made, records)).transpose()?;
        return hosted(capture, made, inline);
    }
    let mut made = Vec::new();
    for _ in 0..workers {
        let mut applications = Applications::with_packets();
        for queue in &queues.configured {
            match queue.config.unit {
                Unit::Streams => applications.add(application(queue, StreamQueue::new(queue.set.clone())))?.index(),
                Unit::Packets => applications.add(application(queue, PacketQueue::new(queue.set.clone())))?.index(),
            };
        }
        made.push(applications);
    }
    match records {
        Some(records) if records.exporting.wants_history() => add_records::<true, true>(&mut made, records)?,
        Some(records) => add_records::<true, false>(&mut made, records)?,
        None => {}
    }
    hosted(capture, made, inline)
}

/// Adds the handler of records to the applications of each worker.
fn add_records<const PACKETS: bool, const HISTORY: bool>(
    made: &mut [Applications<PACKETS>],
    records: RecordSettings<'_>,
) -> Result<(), Error> {
    for applications in made {
        let application = Application::new(records.handler::<HISTORY>()).name("records").cutoff(records.cutoff_bytes);
        applications.add(application)?;
    }
    Ok(())
}

/// Runs the applications of each worker, and the analyzers as one more.
fn hosted<I: Input, const PACKETS: bool>(
    capture: Capture<I>,
    mut made: Vec<Applications<PACKETS>>,
    inline: Option<&Analyzers>,
) -> Result<Ran, Error> {
    let mut id: Option<ApplicationId<Inline>> = None;
    for applications in &mut made {
        if let Some(inline) = inline {
            let application = Application::new(inline.worker()).name("inline").cutoff(inline.cutoff_bytes());
            id = Some(applications.add(application)?);
        }
    }
    let mut made = made.into_iter();
    let mut outcome = capture.run(|_| made.next().expect("as many as there are workers"))?;
    if let Some(id) = id {
        outcome.handlers.iter_mut().for_each(|applications| applications.get_mut(id).finish());
    }
    Ok(Ran::of(outcome))
}

/// Wants nothing of streams.
struct Nothing;

impl Handler for Nothing {
    type Data = ();
}

impl Finish for Nothing {}
impl<const PACKETS: bool> Finish for Applications<PACKETS> {}

fn application<H>(queue: &Configured, handler: H) -> Application<H> {
    let config = &queue.config;
    let mut application = Application::new(handler)
        .name(config.name.clone())
        .cutoff(config.cutoff_bytes.unwrap_or(u64::MAX))
        .chunks(config.chunk_bytes, 0)
        .flush_timeout((!config.flush.is_zero()).then_some(config.flush))
        .priority(config.priority);
    if let Some(filter) = &config.filter {
        application = application.filter(filter);
    }
    config.classes.iter().fold(application, |application, class| application.class(stream_class(class)))
}

fn stream_class(class: &ClassConfig) -> StreamClass {
    let mut made = StreamClass::matching(&class.filter);
    if let Some(bytes) = class.cutoff_bytes {
        made = made.cutoff(bytes);
    }
    if let Some(level) = class.priority {
        made = made.priority(level);
    }
    made
}
