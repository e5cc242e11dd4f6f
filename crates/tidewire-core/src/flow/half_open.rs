use super::Key;
use crate::{Class, path::Path};

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
    /// Payload of SYNs that were not taken into a stream at once.
    pub payload_bytes: u64,
    pub timestamp: Option<u32>,
    pub class: Class,
    /// How the SYN came.
    pub path: Path,
    pub client_is_a: bool,
    pub scale: u8,
    /// The SYN's checksum was verified and right.
    pub good_checksum: bool,
    /// The SYN carried a signature: see `Segment::signed`.
    pub signed: bool,
    /// The client takes segments that fit into no frame of usual size.
    pub large_frames: bool,
    pub tcp_flags: u8,
    /// Counts how often the slot was reused, so that the queue of oldest entries can tell.
    pub generation: u32,
    pub live: bool,
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
            tcp_flags: 0,
            generation: 0,
            live: false,
        }
    }
}
