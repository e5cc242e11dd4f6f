//! A capture whose handlers are queues and analyzers.

use tidewire::{
    Application, ApplicationId, Applications, Capture, Error, Handler, Input, Ledger, Outcome, StreamClass,
    live::LiveReport,
};
use tidewire_analyzers::{Analyzers, Inline};
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

impl Ran {
    fn of<H: Finish>(outcome: Outcome<H>) -> Self {
        let Outcome { handlers, ledger, input_errors, interrupted, live, .. } = outcome;
        handlers.into_iter().for_each(|mut handler| handler.finish());
        Self { ledger, input_errors, interrupted, live }
    }
}

/// Runs a capture that publishes in these queues, beside these analyzers, with `workers` workers. Filters, cutoffs, chunks and
/// classes are those of the queues; what `capture` has set of them is replaced or not used.
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
    workers: usize,
) -> Result<Ran, Error> {
    let capture = capture.workers(workers);
    let inline = inline.filter(|inline| inline.is_any_enabled());
    match (queues.configured.as_slice(), inline) {
        ([], Some(inline)) => alone(capture, inline),
        ([queue], _) if is_plain(queue) && inline.is_none_or(|inline| wants_as_much(queue, inline)) => {
            let (set, priority) = (&queue.set, queue.config.priority);
            match queue.config.unit {
                Unit::Streams => single(capture, queue, inline, |_| StreamQueue::new(set.clone()).priority(priority)),
                Unit::Packets => single(capture, queue, inline, |_| PacketQueue::new(set.clone()).priority(priority)),
            }
        }
        _ => several(capture, queues, inline, workers),
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

/// One queue is the handler, or the queue beside the analyzers.
fn single<I: Input, H: Handler + Finish + Send>(
    capture: Capture<I>,
    queue: &Configured,
    inline: Option<&Analyzers>,
    mut handler: impl FnMut(usize) -> H,
) -> Result<Ran, Error> {
    let config = &queue.config;
    let capture = capture.chunks(config.chunk_bytes, 0).flush_timeout(config.flush);
    let capture = capture.configure(|engine| engine.set_priorities(PRIORITIES));
    let capture = capture.cutoff(config.cutoff_bytes.unwrap_or(u64::MAX));
    let capture = config.classes.iter().fold(capture, |capture, class| capture.class(stream_class(class)));
    match inline {
        None => Ok(Ran::of(capture.run(handler)?)),
        Some(inline) => Ok(Ran::of(capture.run(|worker| Beside::new(handler(worker), inline.worker()))?)),
    }
}

/// Queues and analyzers are applications.
fn several<I: Input>(
    capture: Capture<I>,
    queues: &Queues,
    inline: Option<&Analyzers>,
    workers: usize,
) -> Result<Ran, Error> {
    if queues.configured.iter().all(|queue| queue.config.unit == Unit::Streams) {
        let mut made = Vec::new();
        for _ in 0..workers {
            let mut applications = Applications::new();
            for queue in &queues.configured {
                applications.add(application(queue, StreamQueue::new(queue.set.clone())))?;
            }
            made.push(applications);
        }
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
    hosted(capture, made, inline)
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

impl Finish for StreamQueue {}
impl Finish for PacketQueue {}
impl<const PACKETS: bool> Finish for Applications<PACKETS> {}

fn application<H>(queue: &Configured, handler: H) -> Application<H> {
    let config = &queue.config;
    let mut application = Application::new(handler)
        .name(config.name.clone())
        .cutoff(config.cutoff_bytes.unwrap_or(u64::MAX))
        .chunks(config.chunk_bytes, 0)
        .flush_timeout(config.flush)
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
