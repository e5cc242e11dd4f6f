use crate::{
    Sections,
    index::{InterfaceSummary, PriorityLedger},
};

/// Result of indexing a capture.
pub(crate) struct Indexed {
    pub sections: Sections,
    pub is_pcapng: bool,
    pub descriptions: Vec<(u64, u32)>,
    pub interfaces: Vec<InterfaceSummary>,
    pub ledger: PriorityLedger,
    /// Where its whole records end.
    pub whole_bytes: u64,
    /// Why they do not end with the capture.
    pub damage: Option<String>,
}
