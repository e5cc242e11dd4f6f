//! Events of interfaces and readers, in words.

use tidewire::live::{InterfaceProblem, LiveError};
use tidewire_queue::{ReaderStatus, ServerEvent as Event};

use crate::report::{CaptureStatus, QueueStatus};

/// An error that does not end the capture; `None`: a change of the interface says so already.
pub(super) fn of_trouble(error: &LiveError) -> Option<String> {
    let is_reported = matches!(
        error,
        LiveError::Interface {
            problem: InterfaceProblem::Down | InterfaceProblem::Gone | InterfaceProblem::GoneForGood,
            ..
        }
    );
    (!is_reported).then(|| error.with_hint().to_string())
}

fn reader(reader: &ReaderStatus) -> String {
    let group = reader.group.as_ref().map(|group| format!(" of group {group}")).unwrap_or_default();
    format!("{}{group} (process {}, user {})", reader.name, reader.process, reader.user)
}

/// The event of a reader, in words.
pub(super) fn of_reader(event: &Event) -> String {
    match event {
        Event::Attached(who) => format!("{} reads {} from record {}", reader(who), who.queue, who.first),
        Event::Detached(who) if !who.has_said => {
            format!("{} left {}: how many records it read is not known", reader(who), who.queue)
        }
        Event::Detached(who) => {
            let progress = &who.progress;
            let lost = progress.missed.saturating_add(progress.lost);
            format!("{} left {}: {} records read, {lost} lost", reader(who), who.queue, progress.read)
        }
        Event::Refused { why, user } => format!("a reader of user {user} was refused: {why}"),
        other => format!("{other:?}"),
    }
}

/// The readers that the input waits for, if it does.
pub(super) fn of_waiting(status: &CaptureStatus) -> Option<String> {
    let lacks = |queue: &&QueueStatus| queue.readers.len() < queue.awaited;
    let words = |queue: &QueueStatus| {
        let plural = if queue.awaited == 1 { "" } else { "s" };
        format!("{} reader{plural} of {} ({} attached)", queue.awaited, queue.name, queue.readers.len())
    };
    let mut missing = status.queues.iter().filter(lacks);
    let first: Vec<String> = missing.by_ref().take(4).map(words).collect();
    let more = missing.count();
    let more = if more == 0 { String::new() } else { format!(" and those of {more} more queues") };
    (!first.is_empty()).then(|| format!("waits for {}{more} before it reads the first packet", first.join(", ")))
}
