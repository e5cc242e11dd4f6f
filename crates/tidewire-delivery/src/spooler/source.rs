//! The store that is read: records for one destination, from a position on.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tidewire_event_store::{Error, KeyId, Query, Reader, Row};
use tidewire_events::{Record, Severity};

use crate::{
    limits::{BATCH_BYTES, BATCH_ROWS_MAX},
    protocol::StoreId,
    settings::DestinationSettings,
};

/// How often it is looked whether there is another store in its place.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Data keys of a page.
const PAGE_KEYS_MAX: usize = 32;
/// Data keys in the cache.
const CACHED_KEYS_MAX: usize = 16;

/// Which records a destination gets.
pub(super) struct Filter {
    severity: Severity,
    kinds: Vec<String>,
    analyzers: Vec<String>,
}

impl Filter {
    pub(super) fn of(settings: &DestinationSettings, severity: Severity) -> Self {
        Self { severity, kinds: settings.kinds.clone(), analyzers: settings.analyzers.clone() }
    }
}

/// A page of records.
pub(super) struct Page {
    pub(super) rows: Vec<Row>,
    /// All records up to this one are in it, or not for this destination.
    pub(super) through: u64,
    /// The data keys that they need.
    pub(super) keys: BTreeMap<KeyId, Vec<u8>>,
    /// The last one, if it is damaged and left out.
    pub(super) damaged: Option<u64>,
    /// Records that are left out because they cannot be read: sealed ones whose key the store does not have, and invalid ones.
    pub(super) unreadable: usize,
}

/// A store, open for reading.
pub(super) struct Source {
    path: PathBuf,
    reader: Reader,
    store: StoreId,
    file: (u64, u64),
    looked: Instant,
    keys: HashMap<KeyId, Vec<u8>>,
}

fn file(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = file(path).unwrap_or_default();
        let reader = Reader::open(path)?;
        let store = reader.store_id()?;
        Ok(Self { path: path.to_owned(), reader, store, file, looked: Instant::now(), keys: HashMap::new() })
    }

    pub(super) fn store(&self) -> StoreId {
        self.store
    }

    /// Whether another store took its place: it was damaged, and recovered.
    pub(super) fn is_replaced(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_EVERY {
            return false;
        }
        self.looked = Instant::now();
        file(&self.path).is_some_and(|file| file != self.file)
    }

    /// The last record that a destination has, and what was removed before it got it (records, events).
    pub(super) fn position(&self, name: &str) -> Result<(u64, u64, u64), Error> {
        let all = self.reader.destinations()?;
        let found = all.iter().find(|destination| destination.name == name);
        Ok(found.map_or((0, 0, 0), |found| (found.delivered, found.lost_records, found.lost_events)))
    }

    pub(super) fn last_id(&self) -> Result<u64, Error> {
        self.reader.last_id()
    }

    /// A number that changes when something was stored.
    pub(super) fn changes(&self) -> Result<i64, Error> {
        self.reader.changes()
    }

    /// The records behind this one.
    pub(super) fn page(&mut self, after: u64, filter: &Filter) -> Result<Page, Error> {
        // Before the records: what is stored meanwhile belongs to the next page.
        let last = self.reader.last_id()?;
        let Filter { severity, kinds, analyzers } = filter;
        let query = Query { after, severity: *severity, kinds, analyzers, ..Query::default() };
        let found = self.reader.read_rows(&query, BATCH_ROWS_MAX, BATCH_BYTES)?;
        let (mut rows, mut through) = (found.rows, last);
        let damaged = found.damaged.filter(|id| *id <= last);
        if let Some(id) = damaged {
            through = id;
        } else if !found.is_last {
            through = rows.last().map_or(after, |row| row.id);
        }
        // Of what is newer than `last`, the kinds may not have been known yet.
        rows.retain(|row| row.id <= last);
        through = through.min(last);
        let mut keys = BTreeMap::new();
        for at in 0..rows.len() {
            let Some((id, key)) = rows.get(at).and_then(|row| Some((row.id, row.key?))) else { continue };
            if keys.contains_key(&key) {
                continue;
            }
            if keys.len() == PAGE_KEYS_MAX {
                // Each start of a sensor has a key: there may be more than a destination takes at once.
                rows.truncate(at);
                let through = rows.last().map_or(id - 1, |row| row.id);
                return Ok(Page { rows, through, keys, damaged: None, unreadable: 0 });
            }
            if let Some(wrapped) = self.key(&key)? {
                keys.insert(key, wrapped);
            }
        }
        // A collector refuses these, and would do so for ever.
        let found = rows.len();
        rows.retain(|row| match row.key {
            Some(key) => keys.contains_key(&key),
            None => Record::decode(&row.bytes).is_ok(),
        });
        let unreadable = found - rows.len();
        Ok(Page { rows, through: through.max(after), keys, damaged, unreadable })
    }

    fn key(&mut self, key: &KeyId) -> Result<Option<Vec<u8>>, Error> {
        if let Some(wrapped) = self.keys.get(key) {
            return Ok(Some(wrapped.clone()));
        }
        let found = self.reader.key(key)?;
        if let Some(wrapped) = &found {
            if self.keys.len() >= CACHED_KEYS_MAX {
                self.keys.clear();
            }
            self.keys.insert(*key, wrapped.clone());
        }
        Ok(found)
    }
}
