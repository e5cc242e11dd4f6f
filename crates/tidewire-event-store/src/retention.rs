//! What is removed when a store is too old or too large, each removal counted.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use tidewire_events::Severity;

use crate::{
    error::Error,
    schema::{signed, time},
    store::{KINDS_MAX, Store},
};

/// Records that are removed in one transaction: a writer is kept waiting no longer than that takes.
const STEP: i64 = 1000;

/// How old and how large a store may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records that were stored so long ago are removed, give or take a minute; `None`: never. Default 14 days. (The time of
    /// storing, not that of events, which come from old captures as well.)
    pub age_ns: Option<u64>,
    /// Bytes of the pages that are in use. Default 1 GiB. The log comes on top, some MiB. Beyond it, the oldest of the
    /// least severe records are removed.
    pub size_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { age_ns: Some(14 * 86_400_000_000_000), size_bytes: 1 << 30 }
    }
}

/// Why records were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// They were too old.
    Age,
    /// The store was too large.
    Size,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Size => "size",
        }
    }
}

/// What was removed for a reason, of a severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Why.
    pub reason: Reason,
    /// Of which severity.
    pub severity: Severity,
    /// Records.
    pub records: u64,
    /// Events in them.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// Removes what is beyond the limits: the too old ones, then the oldest of the least severe ones until a twentieth of the size
    /// is free. The number of records that were removed. `now_ns`: since 1970, as events have it.
    ///
    /// # Errors
    /// It cannot be written. Steps before are done and counted.
    pub fn retain(&mut self, limits: &Limits, now_ns: u64) -> Result<u64, Error> {
        let mut removed = 0;
        if let Some(age_ns) = limits.age_ns {
            // Where the clock jumped, nothing behind the first time that is too young is taken for old.
            let before = time(now_ns.saturating_sub(age_ns));
            let text = "SELECT coalesce(min(id), (SELECT max(id) + 1 FROM record)) FROM clock WHERE stored_ns >= ?1";
            let young = self.connection.query_row(text, [before], |row| row.get::<_, Option<i64>>(0));
            let young = young.map_err(Error::database(&self.path, "reading its clock"))?.unwrap_or(0);
            let text = "SELECT id, severity, events, length(bytes) FROM record WHERE id < ?1 ORDER BY id LIMIT ?2";
            loop {
                let step = self.remove(Reason::Age, text, young, u64::MAX)?;
                removed += step;
                if step < STEP.cast_unsigned() {
                    break;
                }
            }
        }
        if self.used_bytes()? > limits.size_bytes {
            let goal = limits.size_bytes - limits.size_bytes / 20;
            let text =
                "SELECT id, severity, events, length(bytes) FROM record WHERE ?1 = 0 ORDER BY severity, id LIMIT ?2";
            loop {
                // Not one record more than that: the next ones may be severe, and a few large ones may be most of the store.
                let surplus = self.used_bytes()?.saturating_sub(goal);
                if surplus == 0 {
                    break;
                }
                let step = self.remove(Reason::Size, text, 0, surplus)?;
                removed += step;
                if step == 0 {
                    break;
                }
            }
        }
        self.remove_kinds()?;
        if removed > 0 {
            self.remove_keys()?;
            self.shrink()?;
        }
        Ok(removed)
    }

    /// Removes data keys that no record needs. Keys follow each other as records do: those before the key of the first record that is
    /// sealed, or all but the last one.
    fn remove_keys(&mut self) -> Result<(), Error> {
        let remove = |connection: &Connection| -> rusqlite::Result<()> {
            let last = connection.query_row("SELECT max(id) FROM key", [], |row| row.get::<_, Option<i64>>(0))?;
            let Some(last) = last else { return Ok(()) };
            let text = "SELECT key FROM record WHERE key IS NOT NULL ORDER BY id LIMIT 1";
            let first = connection.query_row(text, [], |row| row.get::<_, i64>(0)).optional()?;
            connection.execute("DELETE FROM key WHERE id < ?1", [first.unwrap_or(last)]).map(drop)
        };
        remove(&self.connection).map_err(Error::database(&self.path, "removing keys"))
    }

    /// Removes kinds that no record has, where there are very many: analyzers choose their names.
    fn remove_kinds(&mut self) -> Result<(), Error> {
        let failed = Error::database(&self.path, "removing kinds");
        let count = self.connection.query_row("SELECT count(*) FROM kind", [], |row| row.get::<_, i64>(0));
        if count.map_err(&failed)? > KINDS_MAX as i64 {
            let removed = self.connection.execute("DELETE FROM kind WHERE id NOT IN (SELECT kind FROM record)", []);
            removed.map_err(&failed)?;
            self.kinds.clear();
        }
        Ok(())
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

    /// Gives free pages back to the file system, as long as they are more than an eighth.
    fn shrink(&mut self) -> Result<(), Error> {
        let number = |name: &str| self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        let shrink = || -> rusqlite::Result<()> {
            let (pages, free) = (number("page_count")?, number("freelist_count")?);
            if free > pages / 8 {
                let text = format!("PRAGMA incremental_vacuum({})", free - pages / 16);
                let mut statement = self.connection.prepare(&text)?;
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
            }
            Ok(())
        };
        shrink().map_err(Error::database(&self.path, "giving pages back"))
    }

    /// One step: what a statement finds, up to so many bytes, removed and counted in one transaction.
    fn remove(&mut self, reason: Reason, text: &str, value: i64, bytes_max: u64) -> Result<u64, Error> {
        let remove = |connection: &mut Connection| -> rusqlite::Result<u64> {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            {
                let mut statement = transaction.prepare_cached(text)?;
                let mut rows = statement.query(params![value, STEP])?;
                while let Some(row) = rows.next()?
                    && bytes < bytes_max
                {
                    let record =
                        (row.get::<_, i64>(0)?, row.get::<_, u8>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?);
                    bytes = bytes.saturating_add(record.3.cast_unsigned());
                    found.push(record);
                }
            }
            for (id, severity, events, bytes) in &found {
                transaction.prepare_cached("DELETE FROM record WHERE id = ?1")?.execute([id])?;
                let text = "INSERT INTO removed VALUES (?1, ?2, 1, ?3, ?4) ON CONFLICT (reason, severity) DO UPDATE
                    SET records = records + 1, events = events + excluded.events, bytes = bytes + excluded.bytes";
                transaction.prepare_cached(text)?.execute(params![reason.name(), severity, events, bytes])?;
                let text = "UPDATE destination SET lost_records = lost_records + 1, lost_events = lost_events + ?2
                    WHERE delivered < ?1";
                transaction.prepare_cached(text)?.execute([id, events])?;
            }
            let text =
                "DELETE FROM clock WHERE id < (SELECT max(id) FROM clock WHERE id <= (SELECT min(id) FROM record))";
            transaction.prepare_cached(text)?.execute([])?;
            transaction.commit()?;
            Ok(found.len() as u64)
        };
        remove(&mut self.connection).map_err(Error::database(&self.path, "removing old events"))
    }

    /// What was removed since the store was made.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn removed(&self) -> Result<Vec<Removed>, Error> {
        let text = "SELECT reason = 'size', severity, records, events, bytes FROM removed ORDER BY 1, 2";
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut statement = self.connection.prepare(text)?;
            let rows = statement.query_map([], |row| {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                Ok(Removed {
                    reason: if row.get(0)? { Reason::Size } else { Reason::Age },
                    severity: Severity::by_number(row.get(1)?).unwrap_or_default(),
                    records: number(2)?,
                    events: number(3)?,
                    bytes: number(4)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(Error::database(&self.path, "reading what was removed"))
    }

    /// The numbers of the first and the last record; `None` in an empty store.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn range(&self) -> Result<Option<(u64, u64)>, Error> {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
        let range = self.connection.query_row("SELECT min(id), max(id) FROM record WHERE id > ?1", [signed(0)], row);
        let (first, last) = range.map_err(Error::database(&self.path, "reading"))?;
        Ok(first.zip(last).map(|(first, last)| (first.cast_unsigned(), last.cast_unsigned())))
    }
}
