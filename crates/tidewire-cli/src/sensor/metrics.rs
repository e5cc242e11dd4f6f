//! The metrics of a sensor: its parts, its capture, its queues and their readers.

use std::collections::BTreeMap;

use tidewire_sensor::{
    report::{QueueStatus, ReaderReport},
    supervisor::status::{PartStatus, SensorStatus},
};

use crate::metrics::{Family, Kind, Sample};

/// The families of a status. Names of parts, queues and groups come from the configuration; readers that were started by hand
/// name themselves, at most 32 a queue; their process tells those of one name apart, so that a counter does not fall when one of
/// them leaves.
pub fn families(status: &SensorStatus) -> Vec<Family> {
    let mut all = Vec::new();
    let alone = |value: f64| vec![Sample { labels: Vec::new(), value }];
    let mut add = |kind, name, help, samples| all.push(Family { name, help, kind, samples });
    let (counter, gauge) = (Kind::Counter, Kind::Gauge);
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
    let readers = |value: fn(&ReaderReport) -> f64| -> Vec<Sample> {
        // A process may attach several times; a set of labels has one value.
        let mut sums: BTreeMap<(&str, &str, i32), f64> = BTreeMap::new();
        for queue in &capture.queues {
            for reader in &queue.readers {
                *sums.entry((&queue.name, &reader.name, reader.process)).or_default() += value(reader);
            }
        }
        let of = |((queue, reader, process), value): ((&str, &str, i32), f64)| Sample {
            labels: vec![("queue", queue.to_owned()), ("reader", reader.to_owned()), ("process", process.to_string())],
            value,
        };
        sums.into_iter().map(of).collect()
    };
    add(counter, "tidewire_reader_read_records", "Records that a reader read", readers(|one| one.read as f64));
    let lost = readers(|one| one.lost as f64);
    add(counter, "tidewire_reader_lost_records", "Records that a reader missed or lost", lost);
    let lost = readers(|one| one.lost_bytes as f64);
    add(counter, "tidewire_reader_lost_bytes", "Bytes of these, as far as the reader knows", lost);
    add(gauge, "tidewire_reader_lag_records", "Records that a reader has still to read", readers(|one| one.lag as f64));
    all
}
