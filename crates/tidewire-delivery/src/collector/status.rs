//! Counters of a collector.

/// Figures of a collector since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectStatus {
    /// Connections now.
    pub connections: u64,
    /// Connections that were refused, before or after their greeting.
    pub refused: u64,
    /// By sensor.
    pub sensors: Vec<SensorFigures>,
}

/// Figures of a sensor since the collector began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SensorFigures {
    /// Its name.
    pub name: String,
    /// Whether it is connected.
    pub connected: bool,
    /// How often it connected.
    pub connections: u64,
    /// Records stored.
    pub records: u64,
    /// Events in these.
    pub events: u64,
    /// Bytes of records, before compression.
    pub bytes: u64,
    /// The last record of its store that is durable.
    pub position: u64,
    /// When something was stored last, nanoseconds since 1970; 0: not yet.
    pub last_ns: u64,
    /// Records that were removed for age or size.
    pub removed: u64,
    /// Batches that could not be stored.
    pub failures: u64,
}
