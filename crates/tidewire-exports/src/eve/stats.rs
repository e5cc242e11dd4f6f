//! `stats`.

use crate::{eve::common::push_time, json::Object};

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Time of the record, nanoseconds since the epoch.
    pub time_ns: u64,
    /// Seconds since the run began.
    pub uptime: u64,
    /// Packets that reached the engine, and their captured bytes.
    pub packets: u64,
    /// Their captured bytes.
    pub bytes: u64,
    /// Packets that were lost before they could be read; `None` for files.
    pub dropped: Option<u64>,
    /// Streams that began.
    pub flows: u64,
    /// Records that were written to this output.
    pub records: u64,
}

/// Appends the record `stats`.
pub fn push_stats(out: &mut Vec<u8>, stats: &Stats) {
    let mut object = Object::open(out);
    push_time(&mut object, "timestamp", stats.time_ns);
    object.plain("event_type", "stats");
    object.object("stats", |object| {
        object.number("uptime", stats.uptime);
        if let Some(dropped) = stats.dropped {
            object.object("capture", |object| {
                object.number("kernel_packets", stats.packets + dropped);
                object.number("kernel_drops", dropped);
            });
        }
        object.object("decoder", |object| {
            object.number("pkts", stats.packets);
            object.number("bytes", stats.bytes);
        });
        object.object("flow", |object| object.number("total", stats.flows));
    });
    object.object("tidewire", |object| object.number("records", stats.records));
    object.close();
    out.push(b'\n');
}
