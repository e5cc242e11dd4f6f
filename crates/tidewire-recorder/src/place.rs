/// Where a fragment lies that was written before its stream was known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number of the segment among the worker's.
    pub segment: u64,
    /// Number of the packet in it, from 0.
    pub packet: usize,
    pub captured_bytes: u64,
    pub timestamp_ns: u64,
}
