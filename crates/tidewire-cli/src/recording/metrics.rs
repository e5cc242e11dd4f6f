//! The metrics of a recording.

use tidewire_recorder::Snapshot;

use crate::metrics::{Family, MetricKind, Sample};

/// The families of a snapshot.
pub fn families(figures: &Snapshot) -> Vec<Family> {
    let mut all = Vec::new();
    let mut add = |kind, name, help, samples| all.push(Family { name, help, kind, samples });
    let alone = |value: u64| vec![Sample { labels: Vec::new(), value: value as f64 }];
    let ledgers = figures.totals.priorities();
    let by_fate = |is_bytes: bool| -> Vec<Sample> {
        let of = |ledger: &tidewire_archive::PriorityLedger| {
            let fates = [
                ("written", ledger.written_packets, ledger.written_bytes),
                ("cut_off", ledger.cut_off_packets, ledger.cut_off_bytes),
                ("shed", ledger.shed_packets, ledger.shed_bytes),
                ("filtered", ledger.filtered_packets, ledger.filtered_bytes),
            ];
            let priority = ledger.priority.to_string();
            fates.map(|(fate, packets, bytes)| Sample {
                labels: vec![("fate", fate.to_owned()), ("priority", priority.clone())],
                value: if is_bytes { bytes } else { packets } as f64,
            })
        };
        ledgers.iter().flat_map(of).collect()
    };
    add(MetricKind::Counter, "tidewire_record_packets", "Packets by what became of them", by_fate(false));
    add(MetricKind::Counter, "tidewire_record_bytes", "Bytes on the wire by what became of them", by_fate(true));
    add(MetricKind::Counter, "tidewire_record_stored_bytes", "Bytes written to segments", alone(figures.stored_bytes));
    add(MetricKind::Counter, "tidewire_record_segments", "Segments completed", alone(figures.segments));
    add(
        MetricKind::Counter,
        "tidewire_record_segments_removed",
        "Segments removed by retention",
        alone(figures.removed),
    );
    let level = vec![Sample { labels: Vec::new(), value: figures.level_permille as f64 / 1000.0 }];
    add(MetricKind::Gauge, "tidewire_record_buffer_ratio", "Share of the buffers in use", level);
    add(MetricKind::Gauge, "tidewire_record_flows", "Flows that are remembered", alone(figures.flows));
    if let Some(waiting) = &figures.waiting {
        add(MetricKind::Counter, "tidewire_record_triggers", "Triggers of look-back", alone(waiting.triggers));
        let help = "Bytes of memory that packets take which wait for a trigger";
        add(MetricKind::Gauge, "tidewire_record_waiting_bytes", help, alone(waiting.bytes));
    }
    all
}
