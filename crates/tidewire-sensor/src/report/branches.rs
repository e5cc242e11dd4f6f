//! The branches of a capture's ledger, from the figures of each.

use super::{
    CaptureStatus, OutputStatus, QueueStatus, RecordStatus,
    ledger::{BranchStatus, by_reason, reasons},
};

fn of_queue(queue: &QueueStatus) -> BranchStatus {
    let unit = if queue.unit == "packets" { "packets" } else { "records" };
    let slow = queue.shed_records.saturating_sub(queue.overload_records);
    let lost = by_reason([(reasons::SLOW_READERS, slow), (reasons::SHED, queue.overload_records)]);
    let offered = queue.records + queue.shed_records;
    BranchStatus::new(format!("queue.{}", queue.name), unit, [offered, queue.records], lost)
}

fn of_output(output: &OutputStatus) -> BranchStatus {
    let failed = output.lost_records.saturating_sub(output.slow_records + output.shed_records);
    let lost = by_reason([
        (reasons::FAILED, failed),
        (reasons::SLOW, output.slow_records),
        (reasons::SHED, output.shed_records),
    ]);
    let counts = [output.records, output.written_records];
    BranchStatus::new(format!("output.{}", output.name), "records", counts, lost)
}

fn of_recording(record: &RecordStatus) -> BranchStatus {
    let all = record.figures.totals.all();
    let lost = by_reason([
        (reasons::SHED, all.shed_packets),
        (reasons::CUT_OFF, all.cut_off_packets),
        (reasons::FILTERED, all.filtered_packets),
    ]);
    let delivered = all.written_packets.saturating_sub(record.figures.buffered_packets);
    BranchStatus::new("record".into(), "packets", [all.received_packets, delivered], lost)
}

impl CaptureStatus {
    /// Gives the ledger its branches, from the figures of this status.
    #[must_use]
    pub fn with_branches(mut self) -> Self {
        let queues = self.queues.iter().map(of_queue);
        let outputs = self.records.iter().flat_map(|records| &records.outputs).map(of_output);
        let recording = self.record.iter().map(of_recording);
        let inline = self.inline.iter().map(|inline| {
            let lost = by_reason([(reasons::REFUSED, inline.refused)]);
            let counts = [inline.emitted + inline.refused, inline.emitted];
            BranchStatus::new(format!("inline.{}", inline.analyzer), "events", counts, lost)
        });
        self.ledger.branches = queues.chain(outputs).chain(recording).chain(inline).collect();
        self
    }
}
