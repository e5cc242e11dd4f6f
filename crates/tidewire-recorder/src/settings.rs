use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tidewire::FilterError;
use tidewire_filter::Filter;

use crate::trigger::Trigger;

/// Priorities are less than this, as those of the engine.
pub const PRIORITIES_MAX: usize = tidewire_types::PRIORITIES_MAX as usize;
/// Bytes of buffers of a worker at least: some for each stage.
pub const BUFFER_BYTES_MIN: u64 = 8 << 20;

/// Selection of the packets that are recorded. How segments are written is in [`tidewire_archive::Settings`].
#[derive(Clone, Debug)]
pub struct RecordSettings {
    /// Payload bytes of each direction that are written: client to server, server to client. `u64::MAX`: all, the default.
    pub cutoff_bytes: [u64; 2],
    /// Classes of streams, by their first packet. The first that sets a property decides it.
    pub classes: Vec<RecordClass>,
    /// Bytes kept of each packet at most. Default: all.
    pub snap_bytes: u32,
    /// Only packets that match this expression are recorded; the others are counted as filtered.
    pub filter: Option<String>,
    /// The expression that packets passed, here or before: for the descriptions of interfaces.
    pub expression: Option<String>,
    /// Memory between capture and disk of each worker, bytes: at least [`BUFFER_BYTES_MIN`]. Default 64 MiB.
    pub buffer_bytes: u64,
    /// Share of that memory from which on low priorities are shed, in thousandths. Default 500.
    pub base_threshold_permille: u32,
    /// Flows that are remembered at most; beyond, the one silent longest of some is forgotten. About 250 bytes each. Default 262,144.
    pub flows_max: usize,
    /// A flow without packets for so long ends, by packet time. Default 10 minutes.
    pub idle: Duration,
    /// Packets arrive on their own (an interface): where memory is full they are shed, and errors of a disk are waited out. Otherwise
    /// reading waits, and an error ends the recording. Default: no.
    pub is_live: bool,
    /// Segments end by packet time, not by the clock. Default: yes.
    pub by_packet_time: bool,
    /// Names of the interfaces, set once they are known: before the first packet.
    pub interfaces: Arc<OnceLock<Vec<String>>>,
    /// Packets wait in memory until a trigger fires. Default: they are recorded at once.
    pub look_back: Option<LookBackSettings>,
    /// How long buffers wait at the end for a disk that refuses them. Default 5 s.
    pub patience: Duration,
}

impl Default for RecordSettings {
    fn default() -> Self {
        Self {
            cutoff_bytes: [u64::MAX; 2],
            classes: Vec::new(),
            snap_bytes: u32::MAX,
            filter: None,
            expression: None,
            buffer_bytes: 64 << 20,
            base_threshold_permille: 500,
            flows_max: 1 << 18,
            idle: Duration::from_secs(600),
            is_live: false,
            by_packet_time: true,
            interfaces: Arc::default(),
            look_back: None,
            patience: Duration::from_secs(5),
        }
    }
}

impl RecordSettings {
    /// Checks the expressions.
    ///
    /// # Errors
    /// One has no meaning.
    pub fn check(&self) -> Result<(), FilterError> {
        let classes = self.classes.iter().map(|class| &class.expression);
        let triggers = self.look_back.iter().flat_map(|look_back| &look_back.filters);
        classes.chain(&self.filter).chain(triggers).try_for_each(|expression| Filter::new(expression).map(drop))
    }

    /// Whether anything may be cut off.
    #[must_use]
    pub fn cuts(&self) -> bool {
        let cuts = |cutoff: &[u64; 2]| *cutoff != [u64::MAX; 2];
        cuts(&self.cutoff_bytes) || self.classes.iter().filter_map(|class| class.cutoff_bytes.as_ref()).any(cuts)
    }
}

/// Time that is recorded around a trigger.
#[derive(Clone, Debug)]
pub struct LookBackSettings {
    /// Time before it.
    pub before: Duration,
    /// Time after it.
    pub after: Duration,
    /// Memory of each worker for packets that wait, bytes.
    pub memory_bytes: usize,
    /// Packets that match one of these expressions fire.
    pub filters: Vec<String>,
    /// Packets that hold one of these byte strings fire.
    pub patterns: Vec<Vec<u8>>,
    /// A packet that fires records its stream, not all of the link. Streams are written when their packets leave memory.
    pub is_of_streams: bool,
    /// Fires from outside.
    pub trigger: Arc<Trigger>,
}

/// A class of streams: those whose first packet matches an expression in libpcap's language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordClass {
    /// The expression.
    pub expression: String,
    /// Payload bytes of each direction that are written.
    pub cutoff_bytes: Option<[u64; 2]>,
    /// Priority, 0 (the lowest) to 7.
    pub priority: Option<u8>,
    /// Bytes kept of each packet at most.
    pub snap_bytes: Option<u32>,
}
