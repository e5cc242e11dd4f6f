//! The metrics of a sensor: its parts, its capture, its queues and their readers.

use std::collections::BTreeMap;

use tidewire_delivery::{DestinationStatus, SpoolStatus};
use tidewire_sensor::{
    events::report::{AnalyzerStatus, EventsStatus},
    report::{BranchStatus, OutputStatus, QueueStatus, ReaderReport},
    supervisor::status::{PartStatus, SensorStatus},
};

use crate::{
    metrics::{Family, MetricKind, Sample, interface_states},
    recording,
};

/// The families of a status. Names of parts, queues and groups come from the configuration; readers that were started by hand
/// name themselves, at most 32 a queue; their process distinguishes those of one name, so that a counter does not fall when one of
/// them leaves.
pub fn families(status: &SensorStatus) -> Vec<Family> {
    let mut all = Vec::new();
    let alone = |value: f64| vec![Sample { labels: Vec::new(), value }];
    let mut add = |kind, name, help, samples| all.push(Family { name, help, kind, samples });
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    add(gauge, "tidewire_sensor_elapsed_seconds", "Time since the sensor began", alone(status.seconds));
    let info = vec![Sample { labels: vec![("version", status.version.clone())], value: 1.0 }];
    add(gauge, "tidewire_build_info", "The version of the sensor", info);
    let parts = |value: fn(&PartStatus) -> f64| -> Vec<Sample> {
        let of = |part: &PartStatus| Sample { labels: vec![("part", part.name.clone())], value: value(part) };
        status.parts.iter().map(of).collect()
    };
    let is_up = |part: &PartStatus| f64::from(u8::from(part.process.is_some()));
    add(gauge, "tidewire_part_up", "Whether the process of a part runs", parts(is_up));
    add(gauge, "tidewire_part_seconds", "Time since the process of a part was started", parts(|part| part.seconds));
    add(counter, "tidewire_part_restarts", "How often a part was started again", parts(|part| part.restarts as f64));
    let capture = &status.capture;
    add(counter, "tidewire_packets_received", "Packets received by the engines", alone(capture.packets as f64));
    add(counter, "tidewire_dropped_packets", "Packets that the kernel dropped", alone(capture.dropped as f64));
    let delivered = alone(capture.ledger.delivered as f64);
    add(counter, "tidewire_delivered_packets", "Packets that streams have", delivered);
    let drops = capture.ledger.drops.iter();
    let drops =
        drops.map(|(reason, packets)| Sample { labels: vec![("reason", reason.clone())], value: *packets as f64 });
    add(counter, "tidewire_undelivered_packets", "Packets that no stream has by reason", drops.collect());
    let branches = |value: fn(&BranchStatus) -> u64| -> Vec<Sample> {
        let of = |branch: &BranchStatus| {
            let labels = vec![("branch", branch.name.clone()), ("unit", branch.unit.clone())];
            Sample { labels, value: value(branch) as f64 }
        };
        capture.ledger.branches.iter().map(of).collect()
    };
    add(counter, "tidewire_branch_offered", "Units that a branch got", branches(|one| one.offered));
    add(counter, "tidewire_branch_delivered", "Units that a branch passed on", branches(|one| one.delivered));
    add(counter, "tidewire_branch_lost", "Units that a branch lost", branches(|one| one.lost.values().sum()));
    let states = capture.interfaces.iter().map(|one| (one.name.as_str(), one.state.as_str(), one.idle_seconds));
    for Family { name, help, kind, samples } in interface_states(states) {
        add(kind, name, help, samples);
    }
    let queues = |value: fn(&QueueStatus) -> f64| -> Vec<Sample> {
        let of = |queue: &QueueStatus| Sample { labels: vec![("queue", queue.name.clone())], value: value(queue) };
        capture.queues.iter().map(of).collect()
    };
    add(counter, "tidewire_queue_records", "Records published", queues(|queue| queue.records as f64));
    add(counter, "tidewire_queue_bytes", "Payload published", queues(|queue| queue.bytes as f64));
    let shed = queues(|queue| queue.shed_records as f64);
    add(counter, "tidewire_queue_shed_records", "Records that were shed for slow readers", shed);
    let shed = queues(|queue| queue.shed_bytes as f64);
    add(counter, "tidewire_queue_shed_bytes", "Payload that was shed for slow readers", shed);
    let waited = queues(|queue| queue.waited_ns as f64 / 1e9);
    add(counter, "tidewire_queue_waited_seconds", "Time that the capture waited for slow readers", waited);
    add(gauge, "tidewire_queue_readers", "Readers attached", queues(|queue| queue.readers.len() as f64));
    // A figure that a reader never reported has no sample.
    let readers = |value: fn(&ReaderReport) -> Option<u64>| -> Vec<Sample> {
        // A process may attach several times; a set of labels has one value.
        let mut sums: BTreeMap<(&str, &str, i32), f64> = BTreeMap::new();
        for queue in &capture.queues {
            for reader in &queue.readers {
                if let Some(value) = value(reader) {
                    *sums.entry((&queue.name, &reader.name, reader.process)).or_default() += value as f64;
                }
            }
        }
        let of = |((queue, reader, process), value): ((&str, &str, i32), f64)| Sample {
            labels: vec![("queue", queue.to_owned()), ("reader", reader.to_owned()), ("process", process.to_string())],
            value,
        };
        sums.into_iter().map(of).collect()
    };
    add(counter, "tidewire_reader_read_records", "Records that a reader read", readers(|one| one.read));
    let lost = readers(|one| one.lost);
    add(counter, "tidewire_reader_lost_records", "Records that a reader missed or lost", lost);
    let lost = readers(|one| one.lost_bytes);
    add(counter, "tidewire_reader_lost_bytes", "Bytes of these, as far as the reader knows", lost);
    add(gauge, "tidewire_reader_lag_records", "Records that a reader has still to read", readers(|one| one.lag));
    if let Some(records) = &capture.records {
        add(
            counter,
            "tidewire_flow_records",
            "Streams that ended and were passed to outputs",
            alone(records.flows as f64),
        );
        add(
            counter,
            "tidewire_transaction_records",
            "Transactions passed to outputs",
            alone(records.transactions as f64),
        );
        let lost = alone(records.without_fields as f64);
        add(counter, "tidewire_flows_without_fields", "Streams that lost their fields for lack of memory", lost);
        let of = |output: &OutputStatus| Sample {
            labels: vec![("output", output.name.clone())],
            value: f64::from(u8::from(!output.failed)),
        };
        let up = records.outputs.iter().map(of).collect();
        add(gauge, "tidewire_output_up", "Whether an output can be written", up);
        let outputs = |value: fn(&OutputStatus) -> u64| -> Vec<Sample> {
            let of = |output: &OutputStatus| Sample {
                labels: vec![("output", output.name.clone())],
                value: value(output) as f64,
            };
            records.outputs.iter().map(of).collect()
        };
        let written = outputs(|output| output.written_records);
        add(counter, "tidewire_output_written_records", "Records that an output has", written);
        let lost = outputs(|output| output.lost_records);
        add(counter, "tidewire_output_lost_records", "Records that an output could not be given", lost);
        let removed = outputs(|output| output.removed_files);
        add(counter, "tidewire_output_removed_files", "Files that were removed to keep within bounds", removed);
        let removed = outputs(|output| output.removed_bytes);
        add(counter, "tidewire_output_removed_bytes", "Bytes of these files", removed);
    }
    if let Some(record) = &capture.record {
        all.extend(recording::metrics::families(&record.figures));
        let up = vec![Sample { labels: Vec::new(), value: f64::from(u8::from(!record.failed)) }];
        let help = "Whether packets can be recorded";
        all.push(Family { name: "tidewire_record_up", help, kind: gauge, samples: up });
        let failing = vec![Sample { labels: Vec::new(), value: f64::from(u8::from(record.failing.is_some())) }];
        let help = "Whether no packet can be written at this moment";
        all.push(Family { name: "tidewire_record_failing", help, kind: gauge, samples: failing });
    }
    if let Some(events) = &status.events {
        add_events(events, &mut all);
    }
    if let Some(spool) = &status.spool {
        add_destinations(spool, &mut all);
    }
    all
}

fn add_events(events: &EventsStatus, all: &mut Vec<Family>) {
    let alone = |value: f64| vec![Sample { labels: Vec::new(), value }];
    let mut add = |kind, name, help, samples| all.push(Family { name, help, kind, samples });
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    let by_analyzer = |value: fn(&AnalyzerStatus) -> f64| -> Vec<Sample> {
        // Analyzers name themselves; the event processor has a bound of them.
        let of = |one: &AnalyzerStatus| {
            let user = one.user.map(|user| ("user", user.to_string()));
            let labels = [("analyzer", one.name.clone())].into_iter().chain(user).collect();
            Sample { labels, value: value(one) }
        };
        events.analyzers.iter().map(of).collect()
    };
    add(counter, "tidewire_events_received", "Events that analyzers emitted", by_analyzer(|one| one.events as f64));
    let refused = by_analyzer(|one| one.refused as f64);
    add(counter, "tidewire_events_refused_clients", "Clients that were refused", refused);
    add(
        counter,
        "tidewire_events_waits",
        "How often an analyzer was made to wait",
        by_analyzer(|one| one.waits as f64),
    );
    add(counter, "tidewire_events_stored", "Events that are durable", alone(events.stored_events as f64));
    add(counter, "tidewire_event_records_stored", "Records that hold them", alone(events.stored_records as f64));
    let removed = alone(events.removed_records as f64);
    add(counter, "tidewire_event_records_removed", "Records that were too old, or had no room", removed);
    add(gauge, "tidewire_event_folds", "Folds that are open", alone(events.folds as f64));
    add(counter, "tidewire_event_folds_evicted", "Folds that were closed early", alone(events.evicted as f64));
    add(gauge, "tidewire_event_memory_bytes", "Bytes that open folds take", alone(events.memory_bytes as f64));
    add(gauge, "tidewire_event_store_bytes", "Bytes of the store in use", alone(events.store_bytes as f64));
    let failing = f64::from(u8::from(events.failing.is_some()));
    add(gauge, "tidewire_event_store_failing", "Whether no event can be stored", alone(failing));
}

fn add_destinations(spool: &SpoolStatus, all: &mut Vec<Family>) {
    let mut add = |kind, name, help, samples| all.push(Family { name, help, kind, samples });
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    let by_name = |value: fn(&DestinationStatus) -> f64| -> Vec<Sample> {
        let of =
            |one: &DestinationStatus| Sample { labels: vec![("destination", one.name.clone())], value: value(one) };
        spool.destinations.iter().map(of).collect()
    };
    add(
        gauge,
        "tidewire_destination_connected",
        "Whether it can be delivered to",
        by_name(|one| f64::from(u8::from(one.connected))),
    );
    add(
        gauge,
        "tidewire_destination_failing",
        "Whether attempts fail",
        by_name(|one| f64::from(u8::from(one.failing.is_some()))),
    );
    add(gauge, "tidewire_destination_lag_records", "Records to be delivered", by_name(|one| one.lag_records as f64));
    add(counter, "tidewire_destination_events", "Events delivered", by_name(|one| one.events as f64));
    add(counter, "tidewire_destination_bytes", "Bytes sent", by_name(|one| one.bytes as f64));
    add(counter, "tidewire_destination_failures", "Attempts that failed", by_name(|one| one.failures as f64));
    let lost = by_name(|one| one.lost_events as f64);
    add(counter, "tidewire_destination_lost_events", "Events that were removed before they were delivered", lost);
}
