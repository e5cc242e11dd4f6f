//! A capture whose handlers are queues.

use tidewire::{
    Application, Applications, Capture, Deliver, Error, Handler, Input, Ledger, Outcome, StreamClass, live::LiveReport,
};

use tidewire_queue::PRIORITIES;

use super::{
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
    fn of<H>(outcome: Outcome<H>) -> Self {
        let Outcome { ledger, input_errors, interrupted, live, .. } = outcome;
        Self { ledger, input_errors, interrupted, live }
    }
}

/// Runs a capture that publishes in these queues, with `workers` workers. Filters, cutoffs, chunks and classes are those of the
/// queues; what `capture` has set of them is replaced or not used.
///
/// One queue alone is the engine's handler. Several, and one with a filter of its own, are applications of one engine
/// ([`Applications`]), which costs more for each chunk.
///
/// # Errors
/// As [`Capture::run`]. The queues are not finished: see [`Queues::finish`].
pub fn run<I: Input>(capture: Capture<I>, queues: &Queues, workers: usize) -> Result<Ran, Error> {
    let capture = capture.workers(workers);
    if let [queue] = queues.configured.as_slice()
        && queue.config.filter.is_none()
        // The engine's 0 stands for streams without a class.
        && queue.config.classes.iter().all(|class| class.priority != Some(0))
    {
        let (set, priority) = (&queue.set, queue.config.priority);
        return match queue.config.unit {
            Unit::Streams => single(capture, queue, |_| StreamQueue::new(set.clone()).priority(priority)),
            Unit::Packets => single(capture, queue, |_| PacketQueue::new(set.clone()).priority(priority)),
        };
    }
    if queues.configured.iter().all(|queue| queue.config.unit == Unit::Streams) {
        let mut made = Vec::new();
        for _ in 0..workers {
            let mut applications = Applications::new();
            for queue in &queues.configured {
                applications.add(application(queue, StreamQueue::new(queue.set.clone())))?;
            }
            made.push(applications);
        }
        return several(capture, made);
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
    several(capture, made)
}

/// One queue is the handler.
fn single<I: Input, H: Handler + Send>(
    capture: Capture<I>,
    queue: &Configured,
    handler: impl FnMut(usize) -> H,
) -> Result<Ran, Error> {
    let config = &queue.config;
    let capture = capture.chunks(config.chunk_bytes, 0).flush_timeout(config.flush);
    let capture = capture.configure(|engine| engine.set_priorities(PRIORITIES));
    let capture = capture.cutoff(config.cutoff_bytes.unwrap_or(u64::MAX));
    let capture = config.classes.iter().fold(capture, |capture, class| capture.class(stream_class(class)));
    Ok(Ran::of(capture.run(handler)?))
}

/// Several queues are applications; `made` has those of each worker.
fn several<I: Input, H: Deliver + Send>(capture: Capture<I>, made: Vec<H>) -> Result<Ran, Error> {
    let mut made = made.into_iter();
    Ok(Ran::of(capture.run(|_| made.next().expect("as many as there are workers"))?))
}

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
