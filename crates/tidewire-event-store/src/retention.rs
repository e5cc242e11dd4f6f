//! Removes records of a store that is too old or too large, and counts each removal.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use tidewire_events::Severity;

use crate::{
    clock::Now,
    error::Error,
    positions::destinations,
    rows::KindCounts,
    schema::{signed, time},
    store::Store,
};

/// Records that are removed in one transaction: a writer is kept waiting no longer than that takes.
const STEP: i64 = 1000;
/// Pages that are given back at once.
const STEP_PAGES: i64 = 2048;

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

/// Counts of removed records by reason and severity.
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

/// Result of a step of retention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Records that were removed.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether there is more to do.
    pub has_more: bool,
}

impl Store {
    /// Removes what is beyond the limits: the too old ones, then the oldest of the least severe ones until a twentieth of the size
    /// is free. The number of records that were removed.
    ///
    /// # Errors
    /// It cannot be written. Steps before are done and counted.
    pub fn retain(&mut self, limits: &Limits, now: Now) -> Result<u64, Error> {
        let mut removed = 0;
        loop {
            let step = self.retain_step(limits, now)?;
            removed += step.records;
            if !step.has_more {
                return Ok(removed);
            }
        }
    }

    /// As [`retain`](Self::retain), but no more than a thousand records, which takes some hundredths of a second: who has to wait for
    /// the store waits no longer.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn retain_step(&mut self, limits: &Limits, now: Now) -> Result<Retained, Error> {
        if let Some(age_ns) = limits.age_ns {
            let young = self.clock.first_young(&mut self.connection, age_ns, now);
            let young = young.map_err(Error::database(&self.path, "reading its clock"))?;
            let text =
                "SELECT id, severity, events, length(bytes), kind FROM record WHERE id < ?1 ORDER BY id LIMIT ?2";
            let step = self.remove(Reason::Age, text, young, u64::MAX)?;
            if step.records > 0 {
                return Ok(Retained { has_more: true, ..step });
            }
        }
        self.is_shrinking |= self.used_bytes()? > limits.size_bytes;
        if self.is_shrinking {
            // Not one record more than that: the next ones may be severe, and a few large ones may be most of the store.
            let goal = limits.size_bytes - limits.size_bytes / 20;
            let surplus = self.used_bytes()?.saturating_sub(goal);
            let text = "SELECT id, severity, events, length(bytes), kind FROM record WHERE ?1 = 0
                ORDER BY severity, id LIMIT ?2";
            let step = if surplus > 0 { self.remove(Reason::Size, text, 0, surplus)? } else { Retained::default() };
            self.is_shrinking = step.records > 0;
            if step.records > 0 {
                return Ok(Retained { has_more: true, ..step });
            }
        }
        if std::mem::take(&mut self.has_removed) {
            self.remove_keys()?;
        }
        Ok(Retained { has_more: self.shrink()?, ..Retained::default() })
    }

    /// Removes data keys that no record needs. Keys follow each other as records do: those before the key of the first record that is
    /// sealed, or all but the last one.
    fn remove_keys(&mut self) -> Result<(), Error> {
        let remove = |connection: &Connection, from: i64| -> rusqlite::Result<i64> {
            let ends = connection.query_row("SELECT min(id), max(id) FROM key", [], |row| {
                Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
            })?;
            let (Some(first), Some(last)) = ends else { return Ok(from) };
            if first == last {
                return Ok(from);
            }
            let text = "SELECT id, key FROM record WHERE id >= ?1 AND key IS NOT NULL ORDER BY id LIMIT 1";
            let sealed = connection.query_row(text, [from], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
            let (from, needed) = sealed.optional()?.unwrap_or((from, last));
            if first < needed {
                connection.execute("DELETE FROM key WHERE id < ?1", [needed])?;
            }
            Ok(from)
        };
        let removed = remove(&self.connection, self.sealed_from);
        self.sealed_from = removed.map_err(Error::database(&self.path, "removing keys"))?;
        Ok(())
    }

    /// Gives free pages back to the file system, as long as they are more than an eighth. Whether there are more.
    fn shrink(&mut self) -> Result<bool, Error> {
        let number = |name: &str| self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        let shrink = || -> rusqlite::Result<bool> {
            let (pages, free) = (number("page_count")?, number("freelist_count")?);
            if free <= pages / 8 {
                return Ok(false);
            }
            let given = (free - pages / 16).min(STEP_PAGES);
            let mut statement = self.connection.prepare(&format!("PRAGMA incremental_vacuum({given})"))?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(number("page_count")? < pages)
        };
        shrink().map_err(Error::database(&self.path, "giving pages back"))
    }

    /// One step: what a statement finds, up to so many bytes, removed and counted in one transaction.
    fn remove(&mut self, reason: Reason, text: &str, value: i64, bytes_max: u64) -> Result<Retained, Error> {
        let removed = remove(&mut self.connection, reason, text, value, bytes_max);
        let (removed, has_fewer_kinds) = removed.map_err(Error::database(&self.path, "removing old events"))?;
        if has_fewer_kinds {
            self.kinds.clear();
        }
        self.has_removed |= removed.records > 0;
        Ok(removed)
    }

    /// Counts of records removed since the store was created.
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

/// A record to remove.
struct Removal {
    id: i64,
    severity: u8,
    events: u64,
    bytes: u64,
    kind: i64,
}

/// Removes what a statement finds. Also says whether kinds went with it.
fn remove(
    connection: &mut Connection,
    reason: Reason,
    text: &str,
    value: i64,
    bytes_max: u64,
) -> rusqlite::Result<(Retained, bool)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (mut removals, mut bytes) = (Vec::new(), 0_u64);
    {
        let mut statement = transaction.prepare_cached(text)?;
        let mut rows = statement.query(params![value, STEP])?;
        while let Some(row) = rows.next()?
            && bytes < bytes_max
        {
            let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
            let one = Removal {
                id: row.get(0)?,
                severity: row.get(1)?,
                events: number(2)?,
                bytes: number(3)?,
                kind: row.get(4)?,
            };
            bytes = bytes.saturating_add(one.bytes);
            removals.push(one);
        }
    }
    if removals.is_empty() {
        return Ok((Retained::default(), false));
    }
    let mut kinds = KindCounts::default();
    for one in &removals {
        transaction.prepare_cached("DELETE FROM record WHERE id = ?1")?.execute([one.id])?;
        kinds.add(one.kind, -1);
    }
    let has_fewer_kinds = kinds.write(&transaction)?;
    count(&transaction, reason, &removals)?;
    let text = "DELETE FROM clock WHERE id < (SELECT max(id) FROM clock WHERE id <= (SELECT min(id) FROM record))";
    transaction.prepare_cached(text)?.execute([])?;
    transaction.commit()?;
    Ok((Retained { records: removals.len() as u64, bytes, has_more: false }, has_fewer_kinds))
}

/// Counts what goes: by severity, and for each destination that has not got it and would have.
fn count(transaction: &Transaction<'_>, reason: Reason, removals: &[Removal]) -> rusqlite::Result<()> {
    let sum = |of: &mut dyn Iterator<Item = &Removal>| {
        let add = |(records, events, bytes): (i64, u64, u64), one: &Removal| {
            (records + 1, events.saturating_add(one.events), bytes.saturating_add(one.bytes))
        };
        let (records, events, bytes) = of.fold((0, 0, 0), add);
        (records, time(events), time(bytes))
    };
    for severity in Severity::ALL.map(Severity::number) {
        let (records, events, bytes) = sum(&mut removals.iter().filter(|one| one.severity == severity));
        if records > 0 {
            let text = "INSERT INTO removed VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (reason, severity) DO UPDATE
                SET records = records + ?3, events = events + ?4, bytes = bytes + ?5";
            transaction.prepare_cached(text)?.execute(params![reason.name(), severity, records, events, bytes])?;
        }
    }
    for destination in destinations(transaction)? {
        let is_lost =
            |one: &&Removal| one.id > signed(destination.delivered) && one.severity >= destination.severity.number();
        let (records, events, _) = sum(&mut removals.iter().filter(is_lost));
        if records > 0 {
            let text = "UPDATE destination SET lost_records = lost_records + ?2, lost_events = lost_events + ?3
                WHERE name = ?1";
            transaction.prepare_cached(text)?.execute(params![destination.name, records, events])?;
        }
    }
    Ok(())
}
