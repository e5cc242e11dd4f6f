//! The check of what was not checked when the store was opened, a little at a time.

use crate::{
    error::Error,
    opening::wrong_checksum,
    salvage::{Found, scan},
    schema::signed,
    store::Store,
};

/// Records that are read at once, and bytes of them: a writer is kept waiting no longer than that takes.
const STEP: i64 = 1000;
const STEP_BYTES: usize = 1 << 20;

impl Store {
    /// Checks some of the records that were not checked when the store was opened. Whether there are more.
    ///
    /// # Errors
    /// [`Error::Damaged`], or it cannot be read.
    pub fn check_step(&mut self) -> Result<bool, Error> {
        if self.checked >= self.unchecked {
            return Ok(false);
        }
        let text = "SELECT id, crc, bytes, key FROM record WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3";
        let (mut damaged, mut last, mut bytes) = (None, self.unchecked, 0);
        let mut rows = 0;
        let read = scan(&self.connection, text, &[self.checked, self.unchecked, STEP], |id, length, found| {
            (last, rows, bytes) = (signed(id), rows + 1, bytes + length);
            damaged = matches!(found, Found::Damaged).then_some(id);
            damaged.is_none() && bytes < STEP_BYTES
        });
        read.map_err(Error::database(&self.path, "checking"))?;
        self.checked = if rows == STEP || bytes >= STEP_BYTES { last } else { self.unchecked };
        match damaged {
            Some(id) => {
                self.checked = signed(id);
                Err(wrong_checksum(&self.path, id))
            }
            None => Ok(self.checked < self.unchecked),
        }
    }

    /// Whether records are left that were not checked.
    #[must_use]
    pub fn is_unchecked(&self) -> bool {
        self.checked < self.unchecked
    }
}
