//! Connections of which only a SYN was seen.
//!
//! A SYN without payload opens no flow. It becomes an entry of the half-open table (`flow/half_open.rs`, bounded, the
//! oldest is evicted first), and is promoted by the first packet that answers or continues it. An entry that ends is
//! reported as `open` and `close` together, without ever having been in the flow table. For handlers that want packets
//! (`Handler::PACKETS`) a SYN opens a flow at once, because a half-open entry keeps no packet.

use super::Key;
use crate::{Class, Mptcp, path::Path};

/// A connection of which only the client's SYN was seen (and its retransmissions).
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfOpen {
    pub key: Key,
    /// The low half of the key's hash.
    pub hash: u32,
    pub isn: u32,
    pub id: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub seen_clock_ns: u64,
    pub ip_bytes: u64,
    pub frame_bytes: u64,
    pub packets: u32,
    /// Payload bytes of SYNs.
    pub payload_bytes: u64,
    pub timestamp: Option<u32>,
    pub class: Class,
    /// The SYN's path.
    pub path: Path,
    pub client_is_a: bool,
    pub scale: u8,
    /// The SYN's checksum was verified and correct.
    pub good_checksum: bool,
    /// The SYN carried a signature: see `Segment::signed`.
    pub signed: bool,
    /// The client accepts segments larger than a usual frame.
    pub large_frames: bool,
    pub mptcp: Option<Mptcp>,
    pub tcp_flags: u8,
    /// See `Segment::high_flags`.
    pub high_flags: u8,
    /// Counts reuses of the slot, so that the queue by age recognises stale entries.
    pub generation: u32,
    pub live: bool,
    /// It was reported as unfinished.
    pub is_reported: bool,
}

impl Default for HalfOpen {
    fn default() -> Self {
        Self {
            key: Key::NONE,
            hash: 0,
            isn: 0,
            id: 0,
            first_ns: 0,
            last_ns: 0,
            seen_clock_ns: 0,
            ip_bytes: 0,
            frame_bytes: 0,
            packets: 0,
            payload_bytes: 0,
            timestamp: None,
            class: Class::NONE,
            path: Path::NONE,
            client_is_a: false,
            scale: 0,
            good_checksum: false,
            signed: false,
            large_frames: false,
            mptcp: None,
            tcp_flags: 0,
            high_flags: 0,
            generation: 0,
            live: false,
            is_reported: false,
        }
    }
}
