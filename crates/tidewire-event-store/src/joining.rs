//! Records of a closed fold become one: what came in many small parts, each with a first event of its own, takes a fraction of the space.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use tidewire_events::Record;

use crate::{
    error::Error,
    rows::{KindCounts, RECORD_BYTES_MAX, checksum, insert},
    schema::signed,
    store::Store,
};

/// Parts that are joined at once, at most; a writer is kept waiting no longer than that takes.
const PARTS_MAX: i64 = 4096;
/// Bytes of parts that are read to be joined. (A joined record has at most 1 MiB.)
const BYTES_MAX: i64 = 8 << 20;

impl Store {
    /// Joins the records of a closed fold, in the place of the last of them. How many records are fewer then; 0 if nothing was
    /// done: there is one only, they are too many, or a destination still has to get some (it would get their events again).
    ///
    /// # Errors
    /// The store cannot be read or written; nothing has changed.
    pub fn join(&mut self, fold: u64) -> Result<u64, Error> {
        join(&mut self.connection, fold).map_err(Error::database(&self.path, "joining records"))
    }
}

fn join(connection: &mut Connection, fold: u64) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // A fold may be larger than what may be in memory: its bytes are bounded by part.
    let text = "SELECT coalesce(sum(length(bytes)), 0) FROM record WHERE fold = ?1";
    let bytes = transaction.prepare_cached(text)?.query_row([signed(fold)], |row| row.get::<_, i64>(0))?;
    if bytes > BYTES_MAX {
        return Ok(0);
    }
    let (mut ids, mut records, mut kind) = (Vec::new(), Vec::new(), 0);
    {
        let text = "SELECT id, kind, crc, bytes FROM record WHERE fold = ?1 AND key IS NULL ORDER BY id LIMIT ?2";
        let mut statement = transaction.prepare_cached(text)?;
        let mut rows = statement.query(params![signed(fold), PARTS_MAX + 1])?;
        while let Some(row) = rows.next()? {
            let (id, bytes) = (row.get::<_, i64>(0)?, row.get_ref(3)?.as_blob()?);
            let is_whole = row.get::<_, i64>(2)? == checksum(id.cast_unsigned(), bytes);
            let Some(record) = Record::decode(bytes).ok().filter(|_| is_whole) else { return Ok(0) };
            kind = row.get(1)?;
            ids.push(id);
            records.push(record);
        }
    }
    let Some(last) = ids.pop().filter(|_| !ids.is_empty() && ids.len() < PARTS_MAX as usize) else { return Ok(0) };
    let text = "SELECT 1 FROM destination WHERE delivered < ?1 LIMIT 1";
    if transaction.prepare_cached(text)?.query_row([last], |_| Ok(())).optional()?.is_some() {
        return Ok(0);
    }
    let before: usize = records.iter().map(|record| record.bytes().len()).sum();
    let joined =
        Record::join(&records).ok().flatten().filter(|joined| joined.bytes().len() < before.min(RECORD_BYTES_MAX));
    let Some(joined) = joined else { return Ok(0) };
    for id in ids.iter().chain([&last]) {
        transaction.prepare_cached("DELETE FROM record WHERE id = ?1")?.execute([id])?;
    }
    insert(&transaction, last.cast_unsigned(), kind, &joined)?;
    let mut kinds = KindCounts::default();
    kinds.add(kind, -(ids.len() as i64));
    kinds.write(&transaction)?;
    transaction.commit()?;
    Ok(ids.len() as u64)
}
