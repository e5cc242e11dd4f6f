//! Names of numbers in records; those of the engine, by the same numbers. Numbers are only ever added.

/// Causes of gaps.
pub const GAP_CAUSES: &[&str] =
    &["not_captured", "snapped", "cutoff", "memory", "shed", "urgent", "bad_checksum", "lost_by_capture"];

/// The cause `shed`.
pub const GAP_SHED: u8 = 4;

/// Why streams end.
pub const END_REASONS: &[&str] = &["fin", "rst", "timeout", "reused", "evicted", "end_of_input"];

/// Why a packet belongs to no stream; the first: it belongs to one.
pub const PACKET_REASONS: &[&str] = &["stream", "arp", "other_link", "unsupported_link", "malformed"];

/// The numbers of [`PACKET_REASONS`].
pub mod packet_reasons {
    /// ARP.
    pub const ARP: u8 = 1;
    /// Another protocol of the link layer.
    pub const OTHER_LINK: u8 = 2;
    /// A link type that is not decoded.
    pub const UNSUPPORTED_LINK: u8 = 3;
    /// Headers that contradict themselves or are incomplete.
    pub const MALFORMED: u8 = 4;
}

/// States of connections.
pub const TCP_STATES: &[&str] =
    &["stateless", "syn_sent", "syn_received", "established", "midstream", "half_closed", "closed", "reset"];

/// Kinds of tunnels.
pub const TUNNELS: &[&str] = &[
    "none",
    "gre",
    "ip_in_ip",
    "vxlan",
    "geneve",
    "gtp_u",
    "erspan",
    "teredo",
    "vxlan_gpe",
    "l2tp",
    "capwap",
    "ayiya",
    "lisp",
    "mpls",
    "ether_ip",
    "tzsp",
];

/// Anomalies.
pub const ANOMALIES: &[&str] = &[
    "overlap_conflict",
    "out_of_window",
    "old_timestamp",
    "blind_reset",
    "invalid_reset",
    "blind_syn",
    "invalid_ack",
    "no_ack",
    "changed_isn",
    "data_beyond_fin",
    "after_reset",
    "unexpected_signature",
    "reset_data",
    "syn_data",
    "simultaneous_open",
    "acked_unseen",
    "unacknowledged",
    "bad_checksum",
    "invalid_flags",
    "urgent",
    "low_ttl",
    "encapsulation_change",
    "doubtful_header",
    "link_mismatch",
    "outer_checksum",
    "keep_alive",
    "zero_window_probe",
    "buffer_limit",
    "hole_limit",
    "list_full",
];

/// The name of a gap's cause; `None`: a number of a later version.
#[must_use]
pub fn gap_cause_name(number: u8) -> Option<&'static str> {
    GAP_CAUSES.get(usize::from(number)).copied()
}

/// The name of an end's reason; `None`: a number of a later version.
#[must_use]
pub fn end_reason_name(number: u8) -> Option<&'static str> {
    END_REASONS.get(usize::from(number)).copied()
}

/// The name of a connection's state; `None`: a number of a later version.
#[must_use]
pub fn tcp_state_name(number: u8) -> Option<&'static str> {
    TCP_STATES.get(usize::from(number)).copied()
}

/// The name of a tunnel's kind; `None`: a number of a later version.
#[must_use]
pub fn tunnel_name(number: u8) -> Option<&'static str> {
    TUNNELS.get(usize::from(number)).copied()
}

/// The name of an anomaly; `None`: a number of a later version.
#[must_use]
pub fn anomaly_name(number: u8) -> Option<&'static str> {
    ANOMALIES.get(usize::from(number)).copied()
}
