//! Events of the event processor itself: what an operator has to know is in the store as well, and is delivered.

use tidewire_event_socket::{OWN_NAME, Refusal};
use tidewire_event_store::{Destination, Loss, Recovery};
use tidewire_events::{Event, Severity, Value, limits::VALUE_BYTES_MAX};
use tidewire_types::clock::wall_ns;

fn event(kind: &str, severity: Severity) -> Event {
    Event { time_ns: wall_ns(), analyzer: OWN_NAME.to_owned(), kind: kind.to_owned(), severity, ..Event::default() }
}

/// A text that an event can hold.
fn text(text: &str) -> Value {
    let end = text.floor_char_boundary(VALUE_BYTES_MAX.min(text.len()));
    Value::Text(text.get(..end).unwrap_or_default().to_owned())
}

/// A damaged store was recovered.
pub(super) fn recovered(recovery: &Recovery) -> Event {
    let event = event("store.recovered", Severity::High)
        .with("damage", text(&recovery.damage))
        .with("kept_aside", text(&recovery.kept_aside.to_string_lossy()))
        .with("records", Value::U64(recovery.records))
        .with("has_positions", Value::Bool(recovery.has_positions))
        .with("lacked_room", Value::Bool(recovery.lacked_room));
    // Without the field the number is unknown.
    match recovery.missing {
        Some(missing) => event.with("missing", Value::U64(missing)),
        None => event,
    }
}

/// A store of which the log is gone, or everything.
pub(super) fn lost(loss: Loss) -> Event {
    event("store.lost", Severity::High).with("what", text(loss.name()))
}

/// A store whose state of folding cannot be read: folds begin again.
pub(super) fn state_lost(why: &str) -> Event {
    event("store.state-lost", Severity::Low).with("why", text(why))
}

/// Records were removed that a destination does not have.
pub(super) fn removed(destination: &Destination, before: &Destination) -> Event {
    event("store.removed", Severity::High)
        .with("destination", text(&destination.name))
        .with("records", Value::U64(destination.lost_records.saturating_sub(before.lost_records)))
        .with("events", Value::U64(destination.lost_events.saturating_sub(before.lost_events)))
}

/// A client was refused, and so many before it of which there is no event.
pub(super) fn refused(analyzer: Option<&str>, user: u32, why: &Refusal, left_out: u64) -> Event {
    let event = event("sensor.analyzer-refused", Severity::Medium);
    // One that was refused before it said its name has none.
    let event = match analyzer {
        Some(name) => event.with("name", text(name)),
        None => event,
    };
    event
        .with("user", Value::U64(user.into()))
        .with("why", text(&why.to_string()))
        .with("left_out", Value::U64(left_out))
}

/// A position of a destination that no record has, and so many before it of which there is no event.
pub(super) fn position_refused(destination: &str, id: u64, left_out: u64) -> Event {
    event("sensor.position-refused", Severity::Medium)
        .with("destination", text(destination))
        .with("record", Value::U64(id))
        .with("left_out", Value::U64(left_out))
}
