use super::{ARRIVALS_MAX, Answer, Arrival, HeldSyn, List, PendingChunk, SubscriberState, doubted::Doubted};
use crate::{
    Anomaly, AnomalyKind, Conflict, Direction, Gap, Mptcp,
    budget::Groups,
    lost_ranges::LostRanges,
    mptcp::{connection_stream::ConnectionStream, subflow::Subflow},
    prefetch::prefetch_first,
    queue::Queue,
};

/// State that only a few flows need: those with holes, anomalies or chunks.
///
/// The fields that every segment behind a hole reads come first, so that they share few cache lines.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SlowState {
    pub queue: [Queue; 2],
    /// Name of a path other than the direction's, and number of packets on it: see `Flow::other_path`.
    pub other_path: [(u32, u8); 2],
    /// See `Flow::bias`; `u64::MAX`: not decided.
    pub bias: [u64; 2],
    /// Internal offset of the FIN; `u64::MAX`: none seen.
    pub fin_at: [u64; 2],
    /// Internal offset of a FIN that a host would probably not accept; `u64::MAX`: none.
    pub fin_doubtful: [u64; 2],
    /// Internal offset up to which the side's own empty segments imply that it has sent; 0: nothing beyond what was
    /// seen.
    pub claimed: [u64; 2],
    /// Internal offset before which unconfirmed bytes are accepted without an acknowledgment.
    pub accepted: [u64; 2],
    /// Ranges that are known to be missing, and why: causes for the gap when their hole is given up.
    pub lost_ranges: [LostRanges; 2],
    /// Segments with wrong checksums that were neither delivered nor passed by, in the order of their ends.
    pub doubted: [Vec<Doubted>; 2],
    /// Clock at which the hole before the queue's first byte was first seen.
    pub hole_since_ns: [u64; 2],
    /// Time of the last packet of the direction before one said that bytes are missing, and the interface of the queue's first.
    pub hole_after_ns: [u64; 2],
    pub hole_interface: [u16; 2],
    /// Packets with payload since then.
    pub hole_segments: [u32; 2],
    /// Bytes of the stream that wait in the queue, whether they are stored or lie beyond a cutoff.
    pub waiting_bytes: [u64; 2],
    /// Segments that continue the stream and that the receiver would have answered, since its last packet; `UNHEARD`:
    /// so many that its side was not captured.
    pub unheard: [u32; 2],
    /// The last acknowledgment of data that was not seen, and how many consecutive ones continued each other.
    pub skip: [(u32, u32); 2],
    /// The budget's counters by the direction that is charged; `None`: not looked up yet.
    pub groups: [Option<Groups>; 2],
    /// Memory of this state and its lists, and how much of it was charged to the budget.
    pub bytes: u64,
    pub charged: u64,
    /// Whether it is charged to the key's lower endpoint; `None`: to neither.
    pub owner_is_a: Option<bool>,
    pub out_of_order_packets: [u64; 2],
    /// Internal offset behind contiguous bytes that wait for an acknowledgment because of wrong checksums.
    pub unconfirmed_end: [u64; 2],
    pub retransmitted_bytes: [u64; 2],
    /// Distant windows of the input that were read to compare retransmissions: see `Connection::compare`.
    pub windows_read: [u64; 2],
    /// Small runs that were compared with retransmissions.
    pub small_runs_compared: [u64; 2],
    /// Bit n: `anomalies` contains the kind n.
    pub anomaly_kinds: u32,
    pub anomalies: List<Anomaly>,
    pub conflicts: [List<Conflict>; 2],
    pub missing_bytes: [u64; 2],
    /// Of `missing_bytes`, those that were in captured packets: see `GapCause::is_of_packets`.
    pub stated_missing_bytes: [u64; 2],
    /// Payload that was only counted before the engine, and how much of it did not advance the stream.
    pub shunted_repeats: [u64; 2],
    pub cutoff: [u64; 2],
    pub shed_packets: [u64; 2],
    pub shed_bytes: [u64; 2],
    /// Frames beyond one for each packet (fragments).
    pub more_frames: [u64; 2],
    /// The connection of Multipath TCP that the flow is a part of.
    pub mptcp: Option<Mptcp>,
    /// A subflow of a known connection of it.
    pub subflow: Option<Box<Subflow>>,
    /// Of the first subflow, the connection.
    pub connection_stream: Option<Box<ConnectionStream>>,
    /// Memory of these.
    pub multipath_bytes: u64,
    /// Packets beyond those of `Half::packets`.
    pub more_packets: [u64; 2],
    /// Number of wraps of `Half::link_bytes`.
    pub link_wraps: [u32; 2],
    pub gaps: List<Gap>,
    pub pending_chunk: [Option<Box<PendingChunk>>; 2],
    pub held_syn: Option<Box<HeldSyn>>,
    /// Offset of the last urgent byte, which is removed from the stream; `u64::MAX`: none.
    pub urgent: [u64; 2],
    /// Internal offset of the first byte of the segment with the FIN.
    pub fin_from: [u64; 2],
    /// Clock of the receiver's last empty segment that acknowledged nothing new: it may have been a challenge ACK.
    pub challenged_ns: [u64; 2],
    /// Clock at the first segment of `unheard`.
    pub unheard_since_ns: [u64; 2],
    /// Internal offsets of the doubtful bytes since the receiver's last empty segment that are doubtful only because
    /// they acknowledge unseen data, a FIN's place included.
    pub unanswered: [Option<(u64, u64)>; 2],
    /// How often unconfirmed bytes with wrong checksums were acknowledged.
    pub confirmed: [u8; 2],
    /// Internal offset behind the last unconfirmed segment that was larger than a frame.
    pub merged_end: [u64; 2],
    /// Internal offset behind the unconfirmed bytes that existed when the receiver last acknowledged less.
    pub denied: [u64; 2],
    /// Internal offsets of the SACK block that reaches farthest.
    pub sacked: [(u64, u64); 2],
    /// Truncated parts of segments with wrong checksums: what the snap length cut is no matter of a checksum.
    pub truncated: [LostRanges; 2],
    /// Timestamps of the first and the last SYN-ACK, unless they are the last that the side sent at all.
    pub answer_stamps: Option<(u32, u32)>,
    /// SYN-ACKs with other numbers than the one in use, until the client decides.
    pub other_answers: List<Answer>,
    /// Segments of both directions that wait for the beginning of their stream, in the order of their arrival.
    pub arrivals: List<Arrival>,
    /// The farthest that a packet's time lay before that of an earlier packet.
    pub time_back_ns: u64,
    /// Reserved flags of TCP that segments had, in the upper bits of the low half of a byte.
    pub reserved_flags: [u8; 2],
    /// The time of the packet that opened the flow, where it is not the flow's least; 0: it is.
    pub opened_ns: u64,
    /// Packets whose times are outliers.
    pub time_outliers: u32,
    /// `keep_chunk` was called.
    pub keep: bool,
    /// The state of each of several applications.
    pub subscriber_states: Vec<SubscriberState>,
}

impl SlowState {
    /// Counts the memory of a subflow and of its connection, bytes that wait excluded.
    pub(crate) fn count_multipath(&mut self) {
        let subflow = self.subflow.as_ref().map_or(0, |subflow| size_of::<Subflow>() as u64 + 16 + subflow.bytes());
        let connection = self.connection_stream.as_ref().map_or(0, |_| size_of::<ConnectionStream>() as u64 + 16);
        self.bytes = self.bytes + subflow + connection - self.multipath_bytes;
        self.multipath_bytes = subflow + connection;
    }

    /// Notes a segment that waits for the beginning of its stream.
    pub(crate) fn note_arrival(&mut self, direction: Direction, end: u64, timestamp_ns: u64) {
        if self.arrivals.len() < ARRIVALS_MAX {
            self.arrivals.push(Arrival { direction, end, timestamp_ns }, &mut self.bytes);
        }
    }

    /// Prefetches the lines that a segment behind a hole reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch_first(self, std::mem::offset_of!(Self, anomaly_kinds));
    }

    /// Payload that was counted and is neither part of the stream nor repeated: in gaps, waiting, or counted elsewhere.
    pub(crate) fn elsewhere_bytes(&self, at: usize) -> u64 {
        self.stated_missing_bytes[at] + self.waiting_bytes[at] + self.shunted_repeats[at]
    }

    /// Internal offset of the first waiting byte, captured or known to be missing.
    pub(crate) fn first_known(&self, at: usize) -> Option<u64> {
        let lost_ranges = self.lost_ranges[at].first_start();
        self.queue[at].first_start().into_iter().chain(lost_ranges).min()
    }

    /// Whether nothing waits: no bytes, and (where the beginning of the stream is not known) no range known to be
    /// missing.
    pub(crate) fn has_nothing(&self, at: usize, is_held: bool) -> bool {
        self.queue[at].is_empty() && (!is_held || self.lost_ranges[at].is_empty())
    }

    /// Whether an anomaly of this kind is listed.
    pub(crate) fn has_anomaly(&self, kind: AnomalyKind) -> bool {
        self.anomaly_kinds >> kind as u32 & 1 != 0
    }

    /// Lists an anomaly.
    pub(crate) fn list_anomaly(&mut self, anomaly: Anomaly) {
        self.anomaly_kinds |= 1 << anomaly.kind as u32;
        self.anomalies.push(anomaly, &mut self.bytes);
    }
}

impl Default for SlowState {
    fn default() -> Self {
        Self {
            queue: Default::default(),
            other_path: [(0, 0); 2],
            bias: [u64::MAX; 2],
            groups: [None; 2],
            // With allocator overhead.
            bytes: size_of::<Self>() as u64 + 16,
            charged: 0,
            owner_is_a: None,
            anomaly_kinds: 0,
            missing_bytes: [0; 2],
            stated_missing_bytes: [0; 2],
            shunted_repeats: [0; 2],
            claimed: [0; 2],
            retransmitted_bytes: [0; 2],
            windows_read: [0; 2],
            small_runs_compared: [0; 2],
            out_of_order_packets: [0; 2],
            unconfirmed_end: [0; 2],
            cutoff: [u64::MAX; 2],
            shed_packets: [0; 2],
            shed_bytes: [0; 2],
            more_frames: [0; 2],
            mptcp: None,
            subflow: None,
            connection_stream: None,
            multipath_bytes: 0,
            more_packets: [0; 2],
            link_wraps: [0; 2],
            hole_since_ns: [0; 2],
            hole_after_ns: [0; 2],
            hole_interface: [0; 2],
            hole_segments: [0; 2],
            waiting_bytes: [0; 2],
            unheard: [0; 2],
            unheard_since_ns: [0; 2],
            challenged_ns: [0; 2],
            unanswered: [None; 2],
            skip: [(0, 0); 2],
            fin_at: [u64::MAX; 2],
            fin_from: [u64::MAX; 2],
            fin_doubtful: [u64::MAX; 2],
            arrivals: List::default(),
            gaps: List::default(),
            conflicts: Default::default(),
            anomalies: List::default(),
            pending_chunk: Default::default(),
            held_syn: None,
            lost_ranges: Default::default(),
            urgent: [u64::MAX; 2],
            doubted: Default::default(),
            confirmed: [0; 2],
            accepted: [0; 2],
            merged_end: [0; 2],
            denied: [0; 2],
            sacked: [(0, 0); 2],
            truncated: Default::default(),
            answer_stamps: None,
            other_answers: List::default(),
            time_back_ns: 0,
            reserved_flags: [0; 2],
            opened_ns: 0,
            time_outliers: 0,
            keep: false,
            subscriber_states: Vec::new(),
        }
    }
}

const _: () = assert!(AnomalyKind::ALL.len() <= 32, "a bit for each kind");
