//! Metrics of a collector.

use tidewire_delivery::collector::{CollectStatus, SensorFigures};

use crate::metrics::{Family, MetricKind, Sample};

/// All families.
pub(super) fn families(status: &CollectStatus) -> Vec<Family> {
    let mut all = Vec::new();
    let mut add = |kind, name, help, samples| all.push(Family { name, help, kind, samples });
    let alone = |value: u64| vec![Sample { labels: Vec::new(), value: value as f64 }];
    let sensors = |value: fn(&SensorFigures) -> f64| -> Vec<Sample> {
        let of =
            |sensor: &SensorFigures| Sample { labels: vec![("sensor", sensor.name.clone())], value: value(sensor) };
        status.sensors.iter().map(of).collect()
    };
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    add(gauge, "tidewire_collect_connections", "Sensors connected", alone(status.connections));
    add(counter, "tidewire_collect_refused", "Connections that were refused", alone(status.refused));
    let connected = sensors(|one| f64::from(u8::from(one.connected)));
    add(gauge, "tidewire_collect_connected", "Whether a sensor is connected", connected);
    let connections = sensors(|one| one.connections as f64);
    add(counter, "tidewire_collect_sensor_connections", "How often a sensor connected", connections);
    add(counter, "tidewire_collect_records", "Records stored", sensors(|one| one.records as f64));
    add(counter, "tidewire_collect_events", "Events in these", sensors(|one| one.events as f64));
    let bytes = sensors(|one| one.bytes as f64);
    add(counter, "tidewire_collect_bytes", "Bytes of records, before compression", bytes);
    let last = sensors(|one| one.last_ns as f64 / 1e9);
    add(gauge, "tidewire_collect_last_seconds", "When something was stored last, since 1970", last);
    let removed = sensors(|one| one.removed as f64);
    add(counter, "tidewire_collect_removed_records", "Records that were removed for age or size", removed);
    let failures = sensors(|one| one.failures as f64);
    add(counter, "tidewire_collect_failures", "Batches that could not be stored", failures);
    all
}
