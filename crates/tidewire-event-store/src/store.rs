//! The writing side of a store.

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension as _, Transaction, config::DbConfig, params};

use crate::{
    batch::{Batch, Producer},
    clock::{Clock, Now},
    error::Error,
    lock,
    loss::{Before, Files, Loss},
    opening::{self, Opening, Recovery},
    positions::{Destination, counts, destinations, write},
    progress::{Report, RestoreProgress},
    rows::{KindCounts, insert, insert_row, key_number, kind_of},
    schema::{LOST_MAX, fact, open_writable, set_fact, signed},
};

/// Kinds whose numbers are remembered.
const KINDS_MAX: usize = 4096;
/// Positions that were refused, and are remembered.
const NAMES_MAX: usize = 64;

/// A store that this process writes. Only one may.
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    pub(crate) kinds: Kinds,
    pub(crate) clock: Clock,
    /// Retention has begun to make room, and goes on until there is enough.
    pub(crate) is_shrinking: bool,
    /// Records were removed since keys were looked at.
    pub(crate) has_removed: bool,
    /// No record before this one is sealed.
    pub(crate) sealed_from: i64,
    /// The first record that was checked; 0: all were.
    pub(crate) unchecked: i64,
    /// How far those below it are checked by now.
    pub(crate) checked: i64,
    next_id: u64,
    /// The value of `next_id` if the transaction that failed last was stored after all.
    attempted: Option<u64>,
    /// The file says that it is in use: a lost log is noticed by that.
    is_marked: bool,
    erases: bool,
    refused: Vec<(String, u64)>,
    pub(crate) files: Files,
    /// Its id as it was opened.
    pub(crate) noted_id: [u8; 16],
    loss: Option<Loss>,
    is_closed: bool,
    /// Held as long as the store is open.
    lock: File,
    /// The lock of the store itself. Behind the connection, which is closed first.
    _store_lock: Option<File>,
}

impl Store {
    /// Opens a store, or makes it; its directory has to exist. It is checked: what is damaged is kept aside, and what can be read of it
    /// is in the store again.
    ///
    /// # Errors
    /// Another process writes to it, it is no store, or the file system refuses.
    pub fn open(path: &Path) -> Result<(Self, Option<Recovery>), Error> {
        Self::open_with(path, &Opening::default())
    }

    /// As [`open`](Self::open), checking as much as is said.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with(path: &Path, opening: &Opening) -> Result<(Self, Option<Recovery>), Error> {
        let lock = lock::lock(path)?;
        // Of what is there: another writer may have lost the file beside it.
        let found_lock = lock::lock_store(path)?;
        let before = Before::look(path, &lock);
        let opened = opening::open(path, opening)?;
        let store_lock = match found_lock.filter(|file| lock::has_name(file, path)) {
            None => lock::lock_store(path)?,
            found => found,
        };
        // The id of this start of the machine is read while it can be.
        let _ = Now::read();
        let mut store = Self {
            path: path.to_owned(),
            connection: opened.connection,
            kinds: HashMap::new(),
            clock: Clock::default(),
            is_shrinking: false,
            has_removed: true,
            sealed_from: 0,
            unchecked: opened.unchecked,
            checked: 0,
            next_id: 1,
            attempted: None,
            is_marked: false,
            erases: false,
            refused: Vec::new(),
            files: Files::of_store(path),
            noted_id: [0; 16],
            loss: None,
            is_closed: false,
            lock,
            _store_lock: store_lock,
        };
        store.read_facts()?;
        let was_in_use = fact::<i64>(&store.connection, "in_use").map_err(store.failed("reading"))? == Some(1);
        if was_in_use {
            // Of a log that was cut or lost, the last records are gone, and a collector may have them: their numbers are not given again.
            store.next_id += LOST_MAX;
            store.forget_use();
        }
        store.noted_id = store.id()?;
        store.loss = before.loss(was_in_use, store.noted_id, opened.recovery.is_some());
        before.note(&store.lock, store.noted_id);
        store.files.note_log(path);
        Ok((store, opened.recovery))
    }

    /// A loss is said once, and its numbers are left out once.
    fn forget_use(&self) {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.connection.unchecked_transaction()?;
            set_fact(&transaction, "next_id", &signed(self.next_id))?;
            set_fact(&transaction, "in_use", &0)?;
            transaction.commit()
        };
        // On a disk that is full now, both come once more.
        let _ = write();
    }

    /// Bytes of the pages that are in use.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn used_bytes(&self) -> Result<u64, Error> {
        let number = |name: &str| {
            let number = self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
            number.map(i64::cast_unsigned).map_err(Error::database(&self.path, "reading its size"))
        };
        Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
    }

    /// Says that it is not in use any more.
    pub(crate) fn set_unused(&self) -> rusqlite::Result<()> {
        match fact::<i64>(&self.connection, "in_use")? {
            Some(1) => set_fact(&self.connection, "in_use", &0),
            _ => Ok(()),
        }
    }

    /// The loss since it was open last, apart from damage.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// Says in the database itself, not only in its log, that it is in use.
    fn mark(&mut self) -> Result<(), Error> {
        if !self.is_marked {
            let failed = Error::database(&self.path, "storing events");
            let is_used = fact::<i64>(&self.connection, "in_use").map_err(&failed)? == Some(1);
            let write_back = |mode: &str| {
                let text = format!("PRAGMA wal_checkpoint({mode})");
                self.connection.query_row(&text, [], |row| row.get::<_, bool>(0)).map_err(&failed)
            };
            // A process that is killed before it stores has lost nothing: from the mark on, the log is not empty.
            let is_busy = !is_used && write_back("TRUNCATE")?;
            set_fact(&self.connection, "in_use", &1).map_err(&failed)?;
            // Where a reader is in the way, it is written with the log later.
            if !is_busy {
                write_back("FULL")?;
            }
            self.files.note_log(&self.path);
            self.is_marked = true;
        }
        Ok(())
    }

    /// Overwrites with zeros what is removed from now on, and forgets the state of folding: what was stored before there were
    /// recipients is plain until it is removed, and then it is gone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn erase(&mut self) -> Result<(), Error> {
        let erase = |connection: &Connection| -> rusqlite::Result<()> {
            connection.pragma_update(None, "secure_delete", "ON")?;
            set_fact(connection, "state", &Vec::<u8>::new())?;
            // Pages that are free keep what was on them: they are given back.
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            drop(rows);
            // The log has plain pages, too. It is cut on purpose.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        self.files.forget_log(&self.lock);
        erase(&self.connection).map_err(self.failed("erasing what was plain"))?;
        self.files.note_log(&self.path);
        self.erases = true;
        Ok(())
    }

    /// Whether another file has its path or that of its log now, or none, or the log was cut: records stored from now on are lost with this file,
    /// or no other process finds them.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.files.are_replaced(&self.path)
    }

    /// Has all of it checked when it is opened next: damage was found while it was open.
    pub fn doubt(&self) {
        opening::doubt(&self.path);
    }

    /// Positions that were left out because no record has them yet, since the last call.
    pub fn take_refused(&mut self) -> Vec<(String, u64)> {
        std::mem::take(&mut self.refused)
    }

    /// Makes a new connection after a failure, which may have left the old one in any state. Returns whether what failed is stored
    /// after all: a commit whose flush failed may be in the log, and must not be stored twice.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn reconnect(&mut self) -> Result<bool, Error> {
        self.connection = open_writable(&self.path)?;
        if self.erases {
            let set = self.connection.pragma_update(None, "secure_delete", "ON");
            set.map_err(self.failed("setting up"))?;
        }
        self.kinds.clear();
        (self.clock, self.is_marked) = (Clock::default(), false);
        self.files.note_log(&self.path);
        let before = self.next_id;
        self.read_facts()?;
        let is_stored = self.next_id > before && self.attempted == Some(self.next_id);
        // Numbers that were left out stay so.
        self.next_id = self.next_id.max(before);
        Ok(is_stored)
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
        // Frames that are written behind a cut would be copied to the store with nothing before them.
        if self.is_replaced() {
            return Err(Error::replaced(&self.path));
        }
        self.mark()?;
        let (path, mut next_id) = (self.path.clone(), self.next_id);
        let failed = Error::database(&path, "storing events");
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate);
        let transaction = transaction.map_err(&failed)?;
        // Kinds that this transaction adds are known when it is committed.
        let (mut added, mut counts) = (HashMap::new(), KindCounts::default());
        let (mut clock, mut refused) = (self.clock, Vec::new());
        for batch in batches {
            let stored = batch.stored.unwrap_or_else(Now::read);
            if !batch.records.is_empty() || !batch.rows.is_empty() {
                clock.note(&transaction, next_id, stored).map_err(&failed)?;
            }
            for record in &batch.records {
                let message = record.message()?;
                let kind = kind(&transaction, &self.kinds, &mut added, message.names()).map_err(&failed)?;
                insert(&transaction, next_id, kind, record).map_err(&failed)?;
                counts.add(kind, 1);
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
                counts.add(kind, 1);
                next_id += 1;
            }
            write(&transaction, batch, stored.wall_ns(), next_id - 1, &mut refused).map_err(&failed)?;
        }
        counts.write(&transaction).map_err(&failed)?;
        set_fact(&transaction, "next_id", &signed(next_id)).map_err(&failed)?;
        self.attempted = Some(next_id);
        transaction.commit().map_err(&failed)?;
        self.files.note_commit(&path, &self.lock);
        self.kinds.extend(added);
        // Analyzers choose the names.
        if self.kinds.len() > KINDS_MAX {
            self.kinds.clear();
        }
        self.refused.append(&mut refused);
        self.refused.truncate(NAMES_MAX);
        (self.clock, self.next_id) = (clock, next_id);
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

impl Store {
    /// Closes it, as dropping it does. Where it was removed while it was open, it is copied to its path, which takes long if it is large:
    /// `report` gets the progress, from another thread.
    pub fn close_with(mut self, report: impl Fn(RestoreProgress) + Sync) {
        self.close(&report);
    }

    fn close(&mut self, report: Report<'_>) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let is_orderly = match self.is_replaced() {
            true => self.restore(report),
            // Everything is in the log at least. If that cannot be written, some numbers are left out, no more.
            false => self.set_unused().is_ok(),
        };
        if !is_orderly {
            // The log stays: its presence shows that it was not removed.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close(&|_| ());
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
