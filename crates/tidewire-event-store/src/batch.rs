//! Batches: records and positions that are stored in one transaction.

use tidewire_events::{Record, Severity};

use crate::{
    clock::Now,
    rows::{KeyId, Row},
};

/// A set of changes that is stored as a whole, or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Records, in the order in which they are read again.
    pub records: Vec<Record>,
    /// Records of another store, stored behind these under numbers of this one. Who passes plain ones has read them.
    pub rows: Vec<Row>,
    /// Data keys, wrapped for their recipients, that rows may be sealed with. One that is there stays as it is.
    pub keys: Vec<(KeyId, Vec<u8>)>,
    /// Up to which sequence number each producer's events are among what is stored: an analyzer resends only what follows.
    pub producers: Vec<(String, u64)>,
    /// Producers that are over: nothing of them follows.
    pub forgotten: Vec<String>,
    /// Up to which record each destination has acknowledged. A position behind the last record is invalid, and left out
    /// ([`Store::take_refused`](crate::Store::take_refused)).
    pub destinations: Vec<(String, u64)>,
    /// All destinations there are: others are forgotten, and new ones begin at the first record. `None`: those that there were.
    pub registered: Option<Vec<String>>,
    /// Destinations whose records have this severity or more: others are not lost to them.
    pub severities: Vec<(String, Severity)>,
    /// Folds that are closed ([`Output::closed`](tidewire_events::Output)): their records may be joined into one.
    pub closed: Vec<u64>,
    /// The first event number and the first fold behind those of sealed rows, whose records the store cannot read.
    pub next_numbers: Option<(u64, u64)>,
    /// The folder's state behind these records.
    pub state: Option<Vec<u8>>,
    /// When they are stored, for retention by age; `None`: now.
    pub stored: Option<Now>,
}

/// How far a producer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Its name.
    pub name: String,
    /// Its events up to this sequence number are stored.
    pub sequence: u64,
    /// When the last of them was, nanoseconds since 1970.
    pub stored_ns: u64,
}
