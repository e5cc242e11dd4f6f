//! Summary of an index about its segment as a whole: JSON, so that it can be read without this program.

use serde::{Deserialize, Serialize};

/// An interface of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceSummary {
    /// Its name.
    pub name: String,
    /// Number of its link type (LINKTYPE).
    pub link: u16,
    /// Packets that it dropped while the segment was recorded, as its statistics say.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Packets that the operating system dropped meanwhile.
    #[serde(skip_serializing_if = "is_zero")]
    pub system_dropped: u64,
}

/// Packets and bytes of one priority: received = written + cut off + shed + filtered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityLedger {
    /// The priority, 0 the lowest.
    pub priority: u8,
    /// Packets that reached the recorder.
    pub received_packets: u64,
    /// Their bytes on the wire.
    pub received_bytes: u64,
    /// Packets in the segment.
    pub written_packets: u64,
    /// Their bytes on the wire.
    pub written_bytes: u64,
    /// Packets beyond a cutoff.
    pub cut_off_packets: u64,
    /// Their bytes.
    pub cut_off_bytes: u64,
    /// Packets for which neither memory nor disk had room.
    pub shed_packets: u64,
    /// Their bytes.
    pub shed_bytes: u64,
    /// Packets that a filter or sampling left out.
    pub filtered_packets: u64,
    /// Their bytes.
    pub filtered_bytes: u64,
}

impl PriorityLedger {
    /// Adds the counts of another one; the priority stays.
    pub fn add(&mut self, other: &Self) {
        self.received_packets += other.received_packets;
        self.received_bytes += other.received_bytes;
        self.written_packets += other.written_packets;
        self.written_bytes += other.written_bytes;
        self.cut_off_packets += other.cut_off_packets;
        self.cut_off_bytes += other.cut_off_bytes;
        self.shed_packets += other.shed_packets;
        self.shed_bytes += other.shed_bytes;
        self.filtered_packets += other.filtered_packets;
        self.filtered_bytes += other.filtered_bytes;
    }

    /// Whether every packet has one fate.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.received_packets == self.written_packets + self.cut_off_packets + self.shed_packets + self.filtered_packets
            && self.received_bytes == self.written_bytes + self.cut_off_bytes + self.shed_bytes + self.filtered_bytes
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Facts of a segment, or of another capture with an index. Digests are BLAKE3 in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// The name of the file.
    pub segment: String,
    /// Its format: `pcapng` or `pcap`.
    pub format: String,
    /// Which recording it belongs to: a random name, the same for all of its segments. Empty: another capture.
    pub recording: String,
    /// The worker that captured it.
    pub worker: u16,
    /// Its number among those of its worker.
    pub sequence: u64,
    /// Bytes of the capture, before compression and encryption.
    pub bytes: u64,
    /// Bytes of the file.
    pub stored_bytes: u64,
    /// Modification time of the file where the recorder did not write it, nanoseconds since the epoch: another one is another file.
    pub modified_ns: u64,
    /// Earliest time of a packet, nanoseconds since the epoch.
    pub first_ns: u64,
    /// Latest time of a packet.
    pub last_ns: u64,
    /// Packets.
    pub packets: u64,
    /// Packets of the directory before it: its first packet has the next number. Numbers of packets, and with them ids of streams,
    /// are unique in a directory.
    pub packets_before: u64,
    /// Records of flows.
    pub records: u64,
    /// Interfaces, in the order of their numbers.
    pub interfaces: Vec<InterfaceSummary>,
    /// Offset and length of each block that begins a section or describes an interface; of a pcap file, its header.
    pub descriptions: Vec<(u64, u32)>,
    /// Packets by what became of them, for each priority.
    pub ledger: Vec<PriorityLedger>,
    /// How deep tunnels were followed.
    pub tunnel_depth: u8,
    /// Whether VLAN ids distinguish flows.
    pub key_vlan: bool,
    /// Whether tunnels distinguish flows.
    pub key_tunnel: bool,
    /// Digest of the file.
    pub digest: String,
    /// Digest of the index of the segment before, of the same worker; empty for the first.
    pub previous: String,
    /// The repair after a crash; empty: it was completed in order.
    pub repaired: String,
    /// Bytes that the disk changed before that, and whose packets were taken out.
    #[serde(skip_serializing_if = "is_zero")]
    pub damaged_bytes: u64,
    /// Other directories that its recorder wrote segments to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<String>,
}
