//! Summaries of the parts' work, in a few lines for the log at their end.

use tidewire_delivery::SpoolStatus;

use super::log::shown;
use crate::{
    events::report::EventsStatus,
    report::{CaptureStatus, ReaderReport},
};

/// Queues, readers or analyzers that are named, each; the others are counted.
const NAMED_MAX: usize = 32;

/// Lines of items, and one that counts those beyond the limit.
fn limited(lines: impl Iterator<Item = String>, what: &str) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(NAMED_MAX);
    lines.truncate(NAMED_MAX);
    lines.extend((more > 0).then(|| format!("the end: {more} more {what} are not listed")));
    lines
}

/// Packets, records by queue, and what was lost by reader.
pub fn of_capture(status: &CaptureStatus) -> Vec<String> {
    let mut lines = vec![format!("the end: {} packets, {} dropped", status.packets, status.dropped)];
    let ledger = &status.ledger;
    if !ledger.drops.is_empty() {
        let drops: Vec<String> = ledger.drops.iter().map(|(reason, packets)| format!("{packets} {reason}")).collect();
        lines.push(format!("the end: {} of the packets in streams; {}", ledger.delivered, drops.join(", ")));
    }
    let queues = status.queues.iter().map(|queue| {
        let shed = if queue.shed_records == 0 { String::new() } else { format!(", {} shed", queue.shed_records) };
        format!("the end: queue {}: {} records{shed}", queue.name, queue.records)
    });
    lines.extend(limited(queues, "queues"));
    let readers = status.queues.iter().flat_map(|queue| {
        let is_whole = |reader: &&ReaderReport| (reader.lost, reader.lag) == (Some(0), Some(0));
        queue.readers.iter().filter(move |reader| !is_whole(reader)).map(move |reader| {
            let (name, process) = (shown(&reader.name), reader.process);
            let what = match (reader.read, reader.lost, reader.lost_bytes, reader.lag) {
                (Some(read), Some(lost), Some(bytes), Some(lag)) => {
                    format!("{read} read, {lost} lost ({bytes} bytes), {lag} not read")
                }
                _ => "how much it read is not known".into(),
            };
            format!("the end: {name} (process {process}) of {}: {what}", queue.name)
        })
    });
    lines.extend(limited(readers, "readers"));
    for output in status.records.iter().flat_map(|records| &records.outputs) {
        let (name, written, records) = (&output.name, output.written_records, output.records);
        lines.push(format!(
            "the end: output {name}: {written} of {records} records written, {} lost",
            output.lost_records
        ));
    }
    let refused = status.inline.iter().filter(|inline| inline.refused > 0);
    lines.extend(refused.map(|one| format!("the end: {}: {} events refused", one.analyzer, one.refused)));
    if let Some(record) = &status.record {
        let (all, segments) = (record.figures.totals.all(), record.figures.segments);
        let (written, shed) = (all.written_packets, all.shed_packets);
        let packets = all.received_packets;
        let segments = tidewire_types::counted(segments, "segment", "segments");
        lines.push(format!(
            "the end: record: {written} of {packets} packets written, {} of them in {segments}; {shed} shed, {} cut off, {} filtered",
            record.figures.completed_packets, all.cut_off_packets, all.filtered_packets
        ));
    }
    lines
}

/// The capture was started several times.
pub fn all_of_capture([packets, dropped]: [u64; 2]) -> String {
    format!("the end: {packets} packets, {dropped} dropped in all, with those before it was started again")
}

/// The event processor was.
pub fn all_of_events([events, stored]: [u64; 2]) -> String {
    format!("the end: {events} events of analyzers, {stored} stored in all, with those before it was started again")
}

/// Events by analyzer, and what became of them.
pub fn of_events(status: &EventsStatus) -> Vec<String> {
    let (events, stored, records) = (status.events, status.stored_events, status.stored_records);
    let mut lines = vec![format!(
        "the end: {events} events of analyzers; {stored} stored, the sensor's own among them, in {records} records"
    )];
    let analyzers = status.analyzers.iter().filter(|one| one.events > 0 || one.refused > 0).map(|one| {
        let refused = if one.refused == 0 { String::new() } else { format!(", {} clients refused", one.refused) };
        format!("the end: {}: {} events{refused}", shown(&one.name), one.events)
    });
    lines.extend(limited(analyzers, "analyzers"));
    lines
}

/// Events that destinations have, and records that they still have to get.
pub fn of_spool(status: &SpoolStatus) -> Vec<String> {
    let destinations = status.destinations.iter().map(|one| {
        let lost = if one.lost_events == 0 { String::new() } else { format!(", {} events lost", one.lost_events) };
        let failing = one.failing.as_ref().map(|why| format!("; {}", shown(why))).unwrap_or_default();
        let (events, lag) = (one.events, one.lag_records);
        format!("the end: {}: {events} events delivered, {lag} records to be delivered{lost}{failing}", one.name)
    });
    limited(destinations, "destinations")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::QueueStatus;

    #[test]
    fn records_are_reported_by_queue_and_losses_by_reader() {
        let said = |lost| ReaderReport {
            read: Some(5),
            lost: Some(lost),
            lost_bytes: Some(0),
            lag: Some(0),
            ..ReaderReport::default()
        };
        let reader = |name: &str, lost: Option<u64>| {
            let figures = lost.map_or_else(ReaderReport::default, said);
            ReaderReport { name: name.into(), process: 7, ..figures }
        };
        let queue = |name: String, readers| QueueStatus { name, records: 9, readers, ..QueueStatus::default() };
        let mut status = CaptureStatus { packets: 3, ..CaptureStatus::default() };
        status.queues.push(queue(
            "web".into(),
            vec![reader("whole", Some(0)), reader("slow\u{1b}", Some(4)), reader("silent", None)],
        ));
        let lines = of_capture(&status);
        assert_eq!(lines[0], "the end: 3 packets, 0 dropped");
        assert_eq!(lines[1], "the end: queue web: 9 records");
        assert_eq!(lines[2], "the end: slow\\u{1b} (process 7) of web: 5 read, 4 lost (0 bytes), 0 not read");
        assert_eq!(lines[3], "the end: silent (process 7) of web: how much it read is not known");
        assert_eq!(lines.len(), 4);
        status.queues.extend((0..100).map(|number| queue(format!("q{number}"), Vec::new())));
        let lines = of_capture(&status);
        assert!(lines.iter().any(|line| line == "the end: 69 more queues are not listed"), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("slow")), "{lines:?}");
    }
}
