//! Names of numbers, as texts of C.

use std::ffi::{CStr, c_char};

/// Kinds of records, from 1.
const KINDS: &[&CStr] = &[c"open", c"data", c"gap", c"conflict", c"close", c"packet"];
/// Why queues end, from 1.
const ENDED: &[&CStr] = &[c"finished", c"aborted", c"gone"];
const GAP_CAUSES: &[&CStr] =
    &[c"not_captured", c"snapped", c"cutoff", c"memory", c"shed", c"urgent", c"bad_checksum", c"lost_by_capture"];
const END_REASONS: &[&CStr] = &[c"fin", c"rst", c"timeout", c"reused", c"evicted", c"end_of_input"];
const STATES: &[&CStr] =
    &[c"stateless", c"syn_sent", c"syn_received", c"established", c"midstream", c"half_closed", c"closed", c"reset"];
const TUNNELS: &[&CStr] = &[
    c"none",
    c"gre",
    c"ip_in_ip",
    c"vxlan",
    c"geneve",
    c"gtp_u",
    c"erspan",
    c"teredo",
    c"vxlan_gpe",
    c"l2tp",
    c"capwap",
    c"ayiya",
    c"lisp",
    c"mpls",
    c"ether_ip",
    c"tzsp",
];
const ANOMALIES: &[&CStr] = &[
    c"overlap_conflict",
    c"out_of_window",
    c"old_timestamp",
    c"blind_reset",
    c"invalid_reset",
    c"blind_syn",
    c"invalid_ack",
    c"no_ack",
    c"changed_isn",
    c"data_beyond_fin",
    c"after_reset",
    c"unexpected_signature",
    c"reset_data",
    c"syn_data",
    c"simultaneous_open",
    c"acked_unseen",
    c"unacknowledged",
    c"bad_checksum",
    c"invalid_flags",
    c"urgent",
    c"low_ttl",
    c"encapsulation_change",
    c"doubtful_header",
    c"link_mismatch",
    c"outer_checksum",
    c"keep_alive",
    c"zero_window_probe",
    c"buffer_limit",
    c"hole_limit",
    c"list_full",
];

/// A list of names.
#[derive(Clone, Copy, Debug)]
pub enum List {
    Kinds,
    Ended,
    GapCauses,
    EndReasons,
    States,
    Tunnels,
    Anomalies,
}

impl List {
    /// The names, and the number of the first one.
    pub fn names(self) -> (&'static [&'static CStr], u32) {
        match self {
            Self::Kinds => (KINDS, 1),
            Self::Ended => (ENDED, 1),
            Self::GapCauses => (GAP_CAUSES, 0),
            Self::EndReasons => (END_REASONS, 0),
            Self::States => (STATES, 0),
            Self::Tunnels => (TUNNELS, 0),
            Self::Anomalies => (ANOMALIES, 0),
        }
    }

    /// The name of a number; null if it has none.
    pub fn name(self, number: u32) -> *const c_char {
        let (names, first) = self.names();
        let index = number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| names.get(index)).map_or(std::ptr::null(), |name| name.as_ptr())
    }
}
