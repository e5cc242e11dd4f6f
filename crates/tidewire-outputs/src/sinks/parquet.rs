//! `--to parquet:DIR`: a folder for each table, in it one for each hour.

use std::{io, path::Path, path::PathBuf, sync::Arc};

use tidewire::legible::legible;
use tidewire_exports::{
    columns::{Batch, Parquet},
    table::{Row, Table},
};

use super::row_writer::{self, RowWriter};
use crate::{
    error::OutputError,
    files::{Files, HourFolder, Keeper},
    place::folder::Folder,
    rotate::Rotate,
    settings::Settings,
};

const HOUR_NS: u64 = 3_600_000_000_000;

/// Hours of one table that are open at once: streams end in order, but for those that are silent for a while first. Each holds a
/// group of rows, so another one completes the oldest.
const HOURS_MAX: usize = 3;

/// The share of the memory for the rows of a file that are gathered; the rest is for groups of rows.
const BATCH_SHARE: u64 = 16;

/// The share of the memory for what a file holds of its groups until its end.
const INDEX_SHARE: u64 = 8;

/// The folder.
pub struct ParquetFolder {
    root: Arc<Folder>,
    keeper: Option<Arc<Keeper>>,
    shown: String,
    settings: Settings,
    /// Metadata of each file.
    facts: Vec<(&'static str, String)>,
    parts: Vec<Part>,
    /// Rows of the files that are complete.
    stored_rows: u64,
    failure: Option<OutputError>,
}

/// A file that is written: an hour of a table.
struct Part {
    table: &'static Table,
    hour: u64,
    batch: Batch,
    encoder: Parquet,
    files: Files,
    opened_ns: u64,
    /// Bytes of what was passed on, and about of what the encoder has.
    bytes: u64,
    waiting_bytes: u64,
    /// Rows of groups that were passed on whole.
    passed_rows: u64,
    /// Memory that this takes.
    held_bytes: u64,
}

impl ParquetFolder {
    /// Opens the folder, which is made where it does not exist.
    pub fn open(path: &Path, settings: &Settings) -> Result<Self, OutputError> {
        let shown = legible(&path.to_string_lossy()).into_owned();
        let opened = Folder::open_or_make(path);
        let root = opened.map_err(|error| OutputError::Write(format!("{shown}: cannot be written to: {error}")))?;
        let root = Arc::new(root);
        let name = |table: &Table| (table.name.to_owned(), file_name(table).into());
        let keeper = Keeper::of_hours(Arc::clone(&root), settings.tables.iter().map(name).collect(), settings);
        let (settings, facts) = (settings.clone(), row_writer::facts(settings));
        Ok(Self { root, keeper, shown, settings, facts, parts: Vec::new(), stored_rows: 0, failure: None })
    }

    fn part(&mut self, table: &'static Table, hour: u64, now_ns: u64) -> Result<usize, OutputError> {
        let of_hour = |part: &Part| part.table.name == table.name && part.hour == hour;
        if let Some(index) = self.parts.iter().position(of_hour) {
            if !self.parts[index].is_due(self.settings.rotate, now_ns) {
                return Ok(index);
            }
            self.complete(index, now_ns)?;
        }
        let of_table = |part: &&Part| part.table.name == table.name;
        if self.parts.iter().filter(of_table).count() >= HOURS_MAX
            && let Some(oldest) = self.parts.iter().position(|part| of_table(&part))
        {
            self.complete(oldest, now_ns)?;
        }
        let names = folders(table, hour);
        let shown = format!("{}/{}/{}.parquet", self.shown, names.join("/"), table.name);
        let folder = self.folder_of(&names);
        let folder = folder.map_err(|error| OutputError::Write(format!("{shown}: cannot be written: {error}")))?;
        let batch = Batch::new(table, &self.facts).within(self.settings.rows_bytes / BATCH_SHARE);
        let encoder = Parquet::new(table, &batch).map_err(|error| OutputError::Write(format!("{shown}: {error}")))?;
        let files = Files::of_parts(&Arc::new(folder), shown, file_name(table), &self.settings);
        let opened_ns = now_ns;
        let (bytes, waiting_bytes, passed_rows, held_bytes) = (0, 0, 0, 0);
        self.parts.push(Part {
            table,
            hour,
            batch,
            encoder,
            files,
            opened_ns,
            bytes,
            waiting_bytes,
            passed_rows,
            held_bytes,
        });
        self.use_folders();
        Ok(self.parts.len() - 1)
    }

    fn use_folders(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.use_folders(self.parts.iter().map(|part| folders(part.table, part.hour)).collect());
        }
    }

    fn folder_of(&self, [table, date, hour]: &HourFolder) -> io::Result<Folder> {
        self.root.enter(table)?.enter(date)?.enter(hour)
    }

    fn push(&mut self, row: &Row<'_>, now_ns: u64) -> Result<(), OutputError> {
        let index = self.part(row.table(), row.end().as_nanos() / HOUR_NS, now_ns)?;
        let part = &mut self.parts[index];
        row.cells(&mut |cell| part.batch.cell(cell));
        part.batch.end_row();
        if !part.batch.is_full() {
            return Ok(());
        }
        part.write(now_ns)?;
        if part.encoder.index_bytes() as u64 >= self.settings.rows_bytes / INDEX_SHARE {
            return self.complete(index, now_ns);
        }
        self.make_room(now_ns)
    }

    fn complete(&mut self, index: usize, now_ns: u64) -> Result<(), OutputError> {
        let completed = self.parts.remove(index).complete(now_ns);
        self.use_folders();
        self.stored_rows += completed?;
        if let Some(keeper) = &self.keeper {
            keeper.retain();
        }
        Ok(())
    }

    /// Ends the largest groups of rows while all of them together are too large.
    fn make_room(&mut self, now_ns: u64) -> Result<(), OutputError> {
        while self.parts.iter().map(|part| part.held_bytes).sum::<u64>() > self.settings.rows_bytes
            && let Some(largest) = self.parts.iter_mut().max_by_key(|part| part.held_bytes)
        {
            largest.encoder.end_group().map_err(|error| OutputError::Write(error.to_string()))?;
            largest.pass(now_ns);
            (largest.waiting_bytes, largest.held_bytes) = (0, 0);
        }
        Ok(())
    }

    fn note(&mut self, result: Result<(), OutputError>) {
        if let Err(error) = result {
            // Each table has a file of its own, and each is named that cannot be written.
            self.failure = Some(match self.failure.take() {
                Some(first) => first.graver(error, &self.settings.notify),
                None => error,
            });
        }
    }
}

impl Part {
    fn is_due(&self, rotate: Rotate, now_ns: u64) -> bool {
        let bytes = self.bytes + self.waiting_bytes + self.batch.value_bytes();
        rotate.bytes.is_some_and(|most| bytes >= most)
            || rotate.ns.is_some_and(|ns| now_ns.saturating_sub(self.opened_ns) >= ns)
    }

    /// Encodes what was gathered, and passes on what is complete.
    fn write(&mut self, now_ns: u64) -> Result<(), OutputError> {
        self.encoder.push(&mut self.batch).map_err(|error| OutputError::Write(error.to_string()))?;
        self.pass(now_ns);
        // The sizes are sums over all columns: too much work for each row.
        (self.waiting_bytes, self.held_bytes) = (self.encoder.waiting_bytes() as u64, self.encoder.held_bytes() as u64);
        Ok(())
    }

    fn pass(&mut self, now_ns: u64) {
        let rows = self.encoder.whole_rows();
        let passed = std::mem::replace(&mut self.passed_rows, rows);
        let bytes = self.encoder.bytes();
        if !bytes.is_empty() {
            self.files.push_rows(bytes, rows - passed, now_ns);
            self.bytes += bytes.len() as u64;
            // A group is passed on whole: what it took is given back.
            *bytes = Vec::new();
        }
    }

    /// Completes the file; its rows.
    fn complete(mut self, now_ns: u64) -> Result<u64, OutputError> {
        self.write(now_ns)?;
        self.encoder.finish().map_err(|error| OutputError::Write(error.to_string()))?;
        self.pass(now_ns);
        self.files.finish(now_ns, true)?;
        Ok(self.passed_rows)
    }
}

/// The name of a table's files, before their time and number.
fn file_name(table: &Table) -> String {
    format!("{}.parquet", table.name)
}

/// The folders of an hour, as readers of Hive's partitions expect them.
fn folders(table: &Table, hour: u64) -> HourFolder {
    let moment = jiff::Timestamp::from_second((hour * 3600) as i64).unwrap_or_default();
    [table.name.into(), moment.strftime("date=%Y-%m-%d").to_string(), moment.strftime("hour=%H").to_string()]
}

impl RowWriter for ParquetFolder {
    fn row(&mut self, row: &Row<'_>, now_ns: u64) {
        if self.failure.is_none() {
            let pushed = self.push(row, now_ns);
            self.note(pushed);
        }
    }

    fn flush(&mut self, now_ns: u64) {
        if let Some(keeper) = &self.keeper {
            keeper.look();
        }
        // An hour that is over, or a file that is old enough, is completed without another record.
        let rotate = Rotate { ns: self.settings.rotate.ns.or(Some(HOUR_NS)), ..self.settings.rotate };
        while let Some(index) = self.parts.iter().position(|part| part.is_due(rotate, now_ns)) {
            let completed = self.complete(index, now_ns);
            self.note(completed);
        }
    }

    fn finish(&mut self, now_ns: u64, _: bool) -> Result<(), OutputError> {
        while !self.parts.is_empty() {
            let completed = self.complete(0, now_ns);
            self.note(completed);
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.root.by_handle())
    }

    fn written_rows(&self) -> [u64; 2] {
        // A file without its end is not readable.
        let open: u64 = self.parts.iter().map(|part| part.passed_rows).sum();
        [self.stored_rows + open, self.stored_rows]
    }

    fn removed(&self) -> (u64, u64) {
        self.keeper.as_ref().map_or((0, 0), |keeper| keeper.removed())
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some() || self.parts.iter().any(|part| part.files.has_failed())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tidewire_exports::{EventRecord, table};
    use tidewire_types::Timestamp;

    use super::*;

    const START_NS: u64 = 1_795_329_000 * 1_000_000_000;

    fn folder(path: &Path, keep: &str) -> ParquetFolder {
        const TABLES: &[Table] = &[table::EVENTS];
        let settings = Settings { tables: TABLES, keep: keep.parse().unwrap(), ..Settings::default() };
        ParquetFolder::open(path, &settings).unwrap()
    }

    fn event(last_ns: u64) -> EventRecord<'static> {
        let mut event = EventRecord::default();
        event.last = Timestamp::from_nanos(last_ns);
        event
    }

    /// Writes a file of each hour.
    fn write(parquet: &mut ParquetFolder, hours: u64) {
        for hour in 0..hours {
            let last_ns = START_NS + hour * HOUR_NS;
            parquet.row(&Row::Event(&event(last_ns)), last_ns);
            parquet.flush(last_ns + HOUR_NS);
        }
    }

    fn hours(path: &Path) -> Vec<String> {
        let names = |path: &Path| -> Vec<String> {
            let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            entries.collect()
        };
        let dates = names(&path.join("events")).into_iter();
        let of_date = |date: String| {
            let hours = names(&path.join("events").join(&date));
            hours.into_iter().map(move |hour| format!("{date}/{hour}"))
        };
        let mut all: Vec<String> = dates.flat_map(of_date).collect();
        all.sort();
        all
    }

    /// The oldest files go with the folders of their hours; foreign names, links and folders stay.
    #[test]
    fn the_newest_hours_within_bounds_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let date = place.path().join("events/date=2026-11-22");
        fs::create_dir_all(date.join("hour=06")).unwrap();
        fs::write(date.join("hour=06/mine.parquet"), "precious").unwrap();
        std::os::unix::fs::symlink("/etc", date.join("hour=05")).unwrap();
        let mut parquet = folder(place.path(), "files=3");
        write(&mut parquet, 20);
        assert!(parquet.failure.is_none() && parquet.written_rows() == [20, 20]);
        assert_eq!(parquet.removed().0, 17);
        let (first, last) = ("date=2026-11-22/hour=0", "date=2026-11-23/hour=0");
        let kept = [format!("{last}0"), format!("{last}1"), "date=2026-11-22/hour=23".into()];
        let mut expected = [&[format!("{first}5"), format!("{first}6")][..], &kept].concat();
        expected.sort();
        assert_eq!(hours(place.path()), expected);
        assert!(date.join("hour=06/mine.parquet").exists());
        // An hour whose file is written stays when the file before it in that hour goes.
        let mut parquet = folder(place.path(), "free=8000000T");
        write(&mut parquet, 1);
        parquet.row(&Row::Event(&event(START_NS)), START_NS);
        parquet.finish(START_NS, true).unwrap();
        assert_eq!((parquet.written_rows(), parquet.removed().0), ([2, 2], 5));
        assert_eq!(hours(place.path()), [format!("{first}5"), format!("{first}6")]);
    }
}
