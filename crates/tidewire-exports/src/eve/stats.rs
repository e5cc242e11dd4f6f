//! `stats`: the counters of a run that Suricata's record has a place for, which are packets, bytes, losses of the capture and streams, and
//! in `tidewire` the records that were written. None of the others are made up: readers take an absent counter for 0.

use tidewire_types::Timestamp;

use crate::{
    eve::common::push_time,
    json::{Object, member},
};

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Time of the record.
    pub time: Timestamp,
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
    /// Records that were written to this output before this one.
    pub records: u64,
}

/// Appends the record `stats`.
pub fn push_stats(out: &mut Vec<u8>, stats: &Stats) {
    let mut object = Object::open(out);
    push_time(&mut object, member!("timestamp"), stats.time.as_nanos());
    object.plain(member!("event_type"), "stats");
    object.object(member!("stats"), |object| {
        object.number(member!("uptime"), stats.uptime);
        if let Some(dropped) = stats.dropped {
            object.object(member!("capture"), |object| {
                object.number(member!("kernel_packets"), stats.packets + dropped);
                object.number(member!("kernel_drops"), dropped);
            });
        }
        object.object(member!("decoder"), |object| {
            object.number(member!("pkts"), stats.packets);
            object.number(member!("bytes"), stats.bytes);
        });
        object.object(member!("flow"), |object| object.number(member!("total"), stats.flows));
    });
    object.object(member!("tidewire"), |object| object.number(member!("records"), stats.records));
    object.close();
    out.push(b'\n');
}
