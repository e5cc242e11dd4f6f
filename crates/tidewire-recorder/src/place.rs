use tidewire_wire::Frame;

/// Where a fragment lies that was written before its stream was known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FragmentLocation {
    /// Number of the segment among the worker's.
    pub segment: u64,
    /// Number of the packet in it, from 0.
    pub packet: usize,
    pub captured_bytes: u64,
    pub timestamp_ns: u64,
}

/// Ten years of 365 days, nanoseconds.
const WRONG_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// A packet's time. One that is ahead of the clock is an outlier, which counts at the time of those before it.
pub(crate) fn time_of(frame: &Frame) -> u64 {
    frame.timestamp.as_nanos().min(frame.clock.as_nanos())
}

/// The time by which segments are named and end. Nothing is removed for its age because one packet is decades old.
pub(crate) fn segment_time_of(frame: &Frame) -> u64 {
    match time_of(frame) {
        time_ns if frame.clock.as_nanos() - time_ns > WRONG_NS => frame.clock.as_nanos(),
        time_ns => time_ns,
    }
}
