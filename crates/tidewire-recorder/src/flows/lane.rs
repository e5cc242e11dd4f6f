use tidewire::EndReason;
use tidewire_archive::FlowRecord;

use super::key::{Details, Key};
use crate::classes::Keep;

/// Packets that share one record: a conversation, or that part of it which has the same VLANs and outer headers.
/// What each packet needs comes first, in two lines of the cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Lane {
    pub key: Key,
    pub last_ns: u64,
    /// The segment that its record is in, and the record's number there.
    pub segment: u64,
    pub keep: Keep,
    pub record: u32,
    pub client_is_lower: bool,
    /// Why it ended.
    pub end: Option<EndReason>,
    /// The lane whose account the conversation has, and its serial number.
    pub account: (u32, u64),
    /// Payload of each direction so far, client to server first.
    pub payload: [u64; 2],
    /// Changes when another flow gets the place.
    pub serial: u64,
    /// Number of the conversation's first packet; 0: what has no stream.
    pub stream: u64,
    /// Whether the kernel counts and drops the direction.
    pub shunted: [bool; 2],
    pub fins: [bool; 2],
    pub details: Details,
}

/// Bytes of a lane that a packet needs.
pub(super) const HOT_BYTES: usize = 128;

impl Lane {
    /// A record without packets, as it begins in a segment.
    pub fn new_record(&self) -> FlowRecord {
        let mut key = self.key.flow(self.client_is_lower);
        key.tunnel = self.details.tunnel;
        key.icmp = self.details.icmp;
        FlowRecord {
            stream: self.stream,
            key: Some(key),
            outer: self.details.outer,
            priority: self.keep.priority,
            cutoff_bytes: self.keep.cutoff,
            end: self.end,
            ..FlowRecord::NONE
        }
    }

    /// Direction of a packet: 0 from the client.
    #[inline]
    pub fn direction(&self, from_lower: bool) -> usize {
        usize::from(from_lower != self.client_is_lower)
    }
}
