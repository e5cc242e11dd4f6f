//! Scans: events of one scan are one row, with the totals of the last one and the command that finds its packets.

use jiff::Timestamp;
use tidewire_events::{DecodeError, Event, Record, Value};

use crate::record::endpoint;

const SECOND_NS: u64 = 1_000_000_000;

/// Whether events are those of the sensor's own analyzer of scans.
pub fn is_scan(analyzer: &str, kind: &str) -> bool {
    analyzer == "scan" && kind.starts_with("scan.")
}

fn field<'a>(event: &'a Event, name: &str) -> Option<&'a Value> {
    event.fields.iter().find(|field| field.name == name).map(|field| &field.value)
}

/// When that which an event is about began, nanoseconds since the epoch.
pub fn first_ns(event: &Event) -> Option<u64> {
    match field(event, "first") {
        Some(Value::Time(first_ns)) => Some(*first_ns),
        _ => None,
    }
}

/// The last event of a record, if it is of a scan with a beginning.
pub fn last_event(record: &Record) -> Result<Option<Event>, DecodeError> {
    let (mut unfold, mut last) = (record.unfold()?, None);
    while let Some((_, message)) = unfold.next()? {
        last = Some(message.event()?);
    }
    Ok(last.filter(|event| first_ns(event).is_some()))
}

/// The event with the greater totals.
pub fn later(one: Option<Event>, other: Option<Event>) -> Option<Event> {
    let attempts = |event: &Event| match field(event, "attempts") {
        Some(Value::U64(attempts)) => *attempts,
        _ => 0,
    };
    [one, other].into_iter().flatten().max_by_key(|event| (attempts(event), event.time_ns))
}

/// The target of a scan: a network with the port, or a host.
pub fn target(event: &Event) -> Option<String> {
    let key = event.key?;
    match field(event, "network") {
        Some(Value::Text(network)) if key.server_port == 0 => Some(network.clone()),
        Some(Value::Text(network)) => Some(format!("{network}:{}", key.server_port)),
        _ => Some(endpoint(
            tidewire::Endpoint { address: key.server_addr, port: key.server_port },
            if key.server_port == 0 { 0 } else { key.protocol },
        )),
    }
}

/// The options of `tidewire recall` for the whole seconds around a period.
pub fn period(first_ns: u64, last_ns: u64) -> String {
    let time = |ns: u64| Timestamp::from_second((ns / SECOND_NS).cast_signed()).unwrap_or(Timestamp::MAX);
    format!("--from {} --to {}", time(first_ns), time(last_ns.saturating_add(SECOND_NS)))
}

/// The notes of the command that finds packets.
pub fn its_packets(search: &str) -> [String; 2] {
    ["its packets:".into(), format!("tidewire recall DIR {search}")]
}

/// The command that finds the packets of a scan.
pub fn recall(event: &Event) -> Option<[String; 2]> {
    let key = event.key?;
    let period = period(first_ns(event).unwrap_or(event.time_ns), event.time_ns);
    let port = if key.server_port == 0 { String::new() } else { format!(" and port {}", key.server_port) };
    let hosts = match (event.kind.as_str(), field(event, "network")) {
        ("scan.syn-flood", _) => format!("host {}", key.server_addr),
        (_, Some(Value::Text(network))) => format!("host {} and net {network}", key.client_addr),
        _ => format!("host {} and host {}", key.client_addr, key.server_addr),
    };
    Some(its_packets(&format!("{period} {hosts}{port}")))
}
