//! The writing side of a store.

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use tidewire_events::Record;

use crate::{
    error::Error,
    opening::{self, Recovery},
    positions::{Destination, counts, destinations},
    rows::{KeyId, Row, insert, insert_row, key_number, kind_of, note_numbers, raise_numbers},
    schema::{fact, open_writable, set_fact, signed, time},
};

/// More records than a log can have.
const LOST_MAX: u64 = 1 << 20;
/// Kinds whose numbers are remembered; beyond as many, those that no record has are removed from the store.
pub(crate) const KINDS_MAX: usize = 4096;
/// How often the time of storing is noted: retention by age is as exact as that.
const CLOCK_NS: u64 = 60_000_000_000;

/// Nanoseconds since 1970 by the system's clock.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// What is stored together, or not at all.
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
    /// Up to which record each destination has acknowledged.
    pub destinations: Vec<(String, u64)>,
    /// All destinations there are: others are forgotten, and new ones begin at the first record. `None`: those that there were.
    pub registered: Option<Vec<String>>,
    /// Folds that are closed ([`Output::closed`](tidewire_events::Output)): their records may be joined into one.
    pub closed: Vec<u64>,
    /// The first event number and the first fold behind those of sealed rows, whose records the store cannot read.
    pub next_numbers: Option<(u64, u64)>,
    /// The folder's state behind these records.
    pub state: Option<Vec<u8>>,
    /// When they are stored, for retention by age, nanoseconds since 1970; `None`: now.
    pub stored_ns: Option<u64>,
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

/// A store that this process writes. Only one may.
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    pub(crate) kinds: Kinds,
    next_id: u64,
    /// What `next_id` is if the transaction that failed last was stored after all.
    attempted: Option<u64>,
    /// The last time that was noted.
    clock_ns: Option<u64>,
    /// Held as long as the store is open.
    _lock: File,
}

impl Store {
    /// Opens a store, or makes it; its directory has to exist. The whole file is checked: what is damaged is kept aside, and what can be
    /// read of it is in the store again.
    ///
    /// # Errors
    /// Another process writes to it, it is no store, or the file system refuses.
    pub fn open(path: &Path) -> Result<(Self, Option<Recovery>), Error> {
        let lock = opening::lock(path)?;
        let had_log = opening::has_log(path);
        let (connection, recovery) = opening::open(path)?;
        let mut store = Self {
            path: path.to_owned(),
            connection,
            kinds: HashMap::new(),
            next_id: 1,
            attempted: None,
            clock_ns: None,
            _lock: lock,
        };
        store.read_facts()?;
        // Of a log that was cut, the last records are gone, and a collector may have them: their numbers are not given again.
        if had_log && !store.destinations()?.is_empty() {
            store.next_id += LOST_MAX;
        }
        Ok((store, recovery))
    }

    /// Makes a new connection after a failure, which may have left the old one in any state. Returns whether what failed is stored
    /// after all: a commit whose flush failed may be in the log, and must not be stored twice.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn reconnect(&mut self) -> Result<bool, Error> {
        self.connection = open_writable(&self.path)?;
        self.kinds.clear();
        self.clock_ns = None;
        let before = self.next_id;
        self.read_facts()?;
        Ok(self.next_id > before && self.attempted == Some(self.next_id))
    }

    fn read_facts(&mut self) -> Result<(), Error> {
        let last = self.connection.query_row("SELECT max(id) FROM record", [], |row| row.get::<_, Option<i64>>(0));
        let last = last.and_then(|last| Ok((last, fact::<i64>(&self.connection, "next_id")?)));
        let (last, next) = last.map_err(self.failed("reading"))?;
        // Numbers are never given twice, even if the last records were removed.
        self.next_id = (last.unwrap_or(0).cast_unsigned() + 1).max(next.unwrap_or(1).cast_unsigned());
        Ok(())
    }

    fn failed(&self, what: &'static str) -> impl Fn(rusqlite::Error) -> Error {
        Error::database(&self.path, what)
    }

    /// Its id: random, for ever. (A store that was recovered without its numbers has another one, because it may give these again.)
    ///
    /// # Errors
    /// It cannot be read.
    pub fn id(&self) -> Result<[u8; 16], Error> {
        let id = fact::<[u8; 16]>(&self.connection, "store_id").map_err(self.failed("reading its id"))?;
        id.ok_or_else(|| Error::NotAStore { path: self.path.clone() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a batch. When this returns, it is durable, and the number of its last record (or of the one before) is returned.
    ///
    /// # Errors
    /// Nothing of the batch is stored.
    pub fn append(&mut self, batch: &Batch) -> Result<u64, Error> {
        self.append_all(std::slice::from_ref(batch))
    }

    /// Stores batches in one transaction.
    ///
    /// # Errors
    /// Nothing of them is stored.
    pub fn append_all(&mut self, batches: &[Batch]) -> Result<u64, Error> {
        let (path, mut next_id) = (self.path.clone(), self.next_id);
        let failed = Error::database(&path, "storing events");
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate);
        let transaction = transaction.map_err(&failed)?;
        // Kinds that this transaction adds are known when it is committed.
        let mut added = HashMap::new();
        let mut clock_ns = self.clock_ns;
        for batch in batches {
            let stored_ns = batch.stored_ns.unwrap_or_else(now_ns);
            // A clock that jumps back is noted as well.
            let is_empty = batch.records.is_empty() && batch.rows.is_empty();
            if !is_empty && clock_ns.is_none_or(|last| stored_ns.abs_diff(last) >= CLOCK_NS) {
                let text = "INSERT OR REPLACE INTO clock VALUES (?1, ?2)";
                let noted = transaction
                    .prepare_cached(text)
                    .and_then(|mut statement| statement.execute([signed(next_id), time(stored_ns)]));
                noted.map_err(&failed)?;
                clock_ns = Some(stored_ns);
            }
            for record in &batch.records {
                let message = record.message()?;
                let kind = kind(&transaction, &self.kinds, &mut added, message.names()).map_err(&failed)?;
                insert(&transaction, next_id, kind, record).map_err(&failed)?;
                next_id += 1;
            }
            for (name, wrapped) in &batch.keys {
                let text = "INSERT INTO key (name, wrapped) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
                let put = transaction.prepare_cached(text).and_then(|mut put| put.execute(params![name, wrapped]));
                put.map_err(&failed)?;
            }
            for row in &batch.rows {
                let names = (row.analyzer.as_str(), row.kind.as_str());
                let kind = kind(&transaction, &self.kinds, &mut added, names).map_err(&failed)?;
                let key = row.key.as_ref().map(|key| key_number(&transaction, key)).transpose().map_err(&failed)?;
                if key == Some(None) {
                    return Err(Error::UnknownKey { path: path.clone() });
                }
                insert_row(&transaction, next_id, kind, key.flatten(), row).map_err(&failed)?;
                next_id += 1;
            }
            positions(&transaction, batch, stored_ns).map_err(&failed)?;
        }
        set_fact(&transaction, "next_id", &signed(next_id)).map_err(&failed)?;
        self.attempted = Some(next_id);
        transaction.commit().map_err(&failed)?;
        self.kinds.extend(added);
        // Analyzers choose the names.
        if self.kinds.len() > KINDS_MAX {
            self.kinds.clear();
        }
        self.clock_ns = clock_ns;
        self.next_id = next_id;
        Ok(next_id - 1)
    }

    /// The last number given to a record; 0 in a store that never had one.
    #[must_use]
    pub fn last_id(&self) -> u64 {
        self.next_id - 1
    }

    /// The folder's state, as it was stored last.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn state(&self) -> Result<Option<Vec<u8>>, Error> {
        fact(&self.connection, "state").map_err(self.failed("reading the state of folding"))
    }

    /// The first event number and the first fold that no record has: where a folder without a state begins.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn next_numbers(&self) -> Result<(u64, u64), Error> {
        let read = || -> rusqlite::Result<_> {
            Ok((fact::<i64>(&self.connection, "next_number")?, fact::<i64>(&self.connection, "next_fold")?))
        };
        let (number, fold) = read().map_err(self.failed("reading its numbers"))?;
        Ok((number.unwrap_or(0).cast_unsigned(), fold.unwrap_or(0).cast_unsigned()))
    }

    /// Up to which sequence number a producer's events are stored; `None` for one that is not known.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn producer(&self, name: &str) -> Result<Option<u64>, Error> {
        let text = "SELECT sequence FROM producer WHERE name = ?1";
        let sequence = self.connection.query_row(text, [name], |row| row.get::<_, i64>(0)).optional();
        Ok(sequence.map_err(self.failed("reading a producer's position"))?.map(i64::cast_unsigned))
    }

    /// How many records and events there are.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn counts(&self) -> Result<(u64, u64), Error> {
        counts(&self.connection).map_err(self.failed("counting"))
    }

    /// All producers, the one that was stored last at the end.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn producers(&self) -> Result<Vec<Producer>, Error> {
        let text = "SELECT name, sequence, stored_ns FROM producer ORDER BY stored_ns, name";
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut statement = self.connection.prepare_cached(text)?;
            let rows = statement.query_map([], |row| {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                Ok(Producer { name: row.get(0)?, sequence: number(1)?, stored_ns: number(2)? })
            })?;
            rows.collect()
        };
        read().map_err(self.failed("reading producers"))
    }

    /// All destinations that have a position, by name.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn destinations(&self) -> Result<Vec<Destination>, Error> {
        destinations(&self.connection).map_err(self.failed("reading destinations"))
    }

    /// Forgets a destination that is no longer configured.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget_destination(&mut self, name: &str) -> Result<(), Error> {
        let text = "DELETE FROM destination WHERE name = ?1";
        self.connection.execute(text, [name]).map(drop).map_err(self.failed("forgetting a destination"))
    }
}

/// Numbers of kinds, by analyzer and kind.
pub(crate) type Kinds = HashMap<(String, String), i64>;

/// The number of a kind, known, or added by this transaction.
fn kind(
    transaction: &Transaction<'_>,
    known: &Kinds,
    added: &mut Kinds,
    (analyzer, kind): (&str, &str),
) -> rusqlite::Result<i64> {
    let names = (analyzer.to_owned(), kind.to_owned());
    if let Some(number) = known.get(&names).or_else(|| added.get(&names)) {
        return Ok(*number);
    }
    let number = kind_of(transaction, (analyzer, kind))?;
    Ok(*added.entry(names).or_insert(number))
}

/// What a batch says of producers, destinations and folding.
fn positions(transaction: &Transaction<'_>, batch: &Batch, stored_ns: u64) -> rusqlite::Result<()> {
    let text = "INSERT INTO producer VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, stored_ns = excluded.stored_ns";
    for (name, sequence) in &batch.producers {
        transaction.prepare_cached(text)?.execute(params![name, signed(*sequence), time(stored_ns)])?;
    }
    for name in &batch.forgotten {
        transaction.prepare_cached("DELETE FROM producer WHERE name = ?1")?.execute([name])?;
    }
    if let Some(names) = &batch.registered {
        register(transaction, names)?;
    }
    let text = "INSERT INTO destination VALUES (?1, ?2, 0, 0)
        ON CONFLICT (name) DO UPDATE SET delivered = max(delivered, excluded.delivered)";
    for (name, delivered) in &batch.destinations {
        transaction.prepare_cached(text)?.execute(params![name, signed(*delivered)])?;
    }
    if let Some(state) = &batch.state {
        set_fact(transaction, "state", state)?;
    }
    if let Some(next) = batch.next_numbers {
        raise_numbers(transaction, Some(next.0), Some(next.1))?;
    }
    note_numbers(transaction, &batch.records)
}

/// Makes these the destinations there are.
fn register(transaction: &Transaction<'_>, names: &[String]) -> rusqlite::Result<()> {
    for known in destinations(transaction)?.iter().filter(|known| !names.contains(&known.name)) {
        transaction.prepare_cached("DELETE FROM destination WHERE name = ?1")?.execute([&known.name])?;
    }
    let text = "INSERT INTO destination VALUES (?1, 0, 0, 0) ON CONFLICT DO NOTHING";
    for name in names {
        transaction.prepare_cached(text)?.execute([name])?;
    }
    Ok(())
}
