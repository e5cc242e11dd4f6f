//! An output that workers share, for records that are printed as they come.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tidewire::Stop;

use crate::{
    error::CliError,
    layout::Layout,
    output::Stdout,
    progress,
    row::{Form, Row},
    table::Table,
    terminal,
};

/// Bytes that are collected before the worker that adds more writes them. Otherwise they are written a few times a second.
const GATHERED_BYTES: usize = 256 << 10;

/// A shared output. Lines stay whole. A slow reader blocks the workers instead of filling memory.
pub struct SharedOutput {
    gathered: Mutex<Gathered>,
    /// Locked before collected bytes are taken, to keep them in order.
    writer: Mutex<Box<dyn Write + Send>>,
    failure: Mutex<Option<io::Error>>,
    form: Form,
    layout: Layout,
    /// Records left to print.
    left: AtomicU64,
    stop: Stop,
}

struct Gathered {
    bytes: Vec<u8>,
    /// The header of comma-separated values, until it is printed.
    header: Option<String>,
    table: Option<Table>,
}

impl SharedOutput {
    /// Prints records of one kind on standard output, at most `limit`. A write error ends the run.
    pub fn stdout<R: Row>(form: Form, layout: &Layout, limit: Option<u64>, stop: &Stop) -> Arc<Self> {
        Self::new::<R>(form, layout, limit, stop, Box::new(Stdout))
    }

    /// Prints to another writer.
    pub fn new<R: Row>(
        form: Form,
        layout: &Layout,
        limit: Option<u64>,
        stop: &Stop,
        writer: Box<dyn Write + Send>,
    ) -> Arc<Self> {
        let gathered = Gathered {
            bytes: Vec::new(),
            header: (form == Form::Csv).then(|| layout.csv_header::<R>()),
            table: (form == Form::Table).then(|| Table::unending(&layout.columns::<R>(), layout)),
        };
        Arc::new(Self {
            gathered: Mutex::new(gathered),
            writer: Mutex::new(writer),
            failure: Mutex::default(),
            form,
            layout: layout.clone(),
            left: AtomicU64::new(limit.unwrap_or(u64::MAX)),
            stop: stop.clone(),
        })
    }

    /// Prints a record; false: the limit was reached. `scratch` is a reusable buffer of the caller.
    pub fn push<R: Row>(&self, row: &R, scratch: &mut Vec<u8>) -> bool {
        let take = |left: u64| (left > 0).then(|| if left == u64::MAX { left } else { left - 1 });
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return false;
        }
        let is_much = if self.form == Form::Table {
            // Formatted before the lock is taken, as lines are.
            let cells = self.layout.cells(row);
            let mut gathered = lock(&self.gathered);
            gathered.table.as_mut().is_some_and(|table| {
                table.row_with_notes(cells.cells, cells.asides, cells.notes);
                table.is_long()
            })
        } else {
            scratch.clear();
            if self.form == Form::Json {
                row.push_json(scratch)
            } else {
                self.layout.push_csv(row, scratch)
            }
            let mut gathered = lock(&self.gathered);
            if let Some(header) = gathered.header.take() {
                gathered.bytes.extend_from_slice(header.as_bytes());
                gathered.bytes.push(b'\n');
            }
            gathered.bytes.extend_from_slice(scratch);
            gathered.bytes.len() >= GATHERED_BYTES
        };
        if is_much {
            self.flush();
        }
        true
    }

    /// Writes collected lines.
    pub fn flush(&self) {
        let mut writer = lock(&self.writer);
        let bytes = {
            let mut gathered = lock(&self.gathered);
            let lines = gathered.table.as_mut().map(Table::take_lines).unwrap_or_default();
            for line in lines {
                gathered.bytes.extend_from_slice(line.as_bytes());
                gathered.bytes.push(b'\n');
            }
            std::mem::take(&mut gathered.bytes)
        };
        if bytes.is_empty() || lock(&self.failure).is_some() {
            return;
        }
        if progress::is_shown() && terminal::is_terminal() {
            progress::remove();
        }
        if let Err(error) = writer.write_all(&bytes).and_then(|()| writer.flush()) {
            lock(&self.failure).get_or_insert(error);
            self.stop.stop();
        }
    }

    /// Writes the rest and returns the write error, if any.
    pub fn finish(&self) -> Result<(), CliError> {
        self.flush();
        lock(&self.failure).take().map_or(Ok(()), |error| Err(CliError::from_output(error)))
    }
}

/// A worker that panicked leaves whole lines.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Clock, row::Cells, row::Column};

    struct Number(u64);

    impl Row for Number {
        const COLUMNS: &'static [Column] = &[];

        fn push_json(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(format!("{}-{}\n", self.0, self.0).as_bytes());
        }

        fn csv_header(_: &Clock) -> String {
            "number".into()
        }

        fn push_csv(&self, out: &mut Vec<u8>, _: &Clock) {
            out.extend_from_slice(format!("{}\n", self.0).as_bytes());
        }

        fn cells(&self, _: &Clock) -> Cells {
            Cells::of(Vec::new())
        }
    }

    #[derive(Clone, Default)]
    struct Shown(Arc<Mutex<Vec<u8>>>);

    impl Write for Shown {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_of_several_workers_stay_whole() {
        let shown = Shown::default();
        let sink =
            SharedOutput::new::<Number>(Form::Json, &Layout::default(), None, &Stop::new(), Box::new(shown.clone()));
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let sink = &sink;
                scope.spawn(move || {
                    let mut scratch = Vec::new();
                    (0..20_000).for_each(|number| assert!(sink.push(&Number(number * 4 + worker), &mut scratch)));
                });
            }
        });
        sink.finish().unwrap();
        let text = String::from_utf8(lock(&shown.0).clone()).unwrap();
        let mut numbers: Vec<u64> = text
            .lines()
            .map(|line| {
                let (left, right) = line.split_once('-').unwrap();
                assert_eq!(left, right);
                left.parse().unwrap()
            })
            .collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..80_000));
    }

    #[test]
    fn names_come_first_and_the_limit_holds() {
        let shown = Shown::default();
        let sink =
            SharedOutput::new::<Number>(Form::Csv, &Layout::default(), Some(2), &Stop::new(), Box::new(shown.clone()));
        let printed: Vec<bool> = (0..5).map(|number| sink.push(&Number(number), &mut Vec::new())).collect();
        assert_eq!(printed, [true, true, false, false, false]);
        assert!(lock(&shown.0).is_empty());
        sink.flush();
        assert_eq!(*lock(&shown.0), b"number\n0\n1\n");
    }

    #[test]
    fn what_cannot_be_written_ends_the_run() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let stop = Stop::new();
        let sink = SharedOutput::new::<Number>(Form::Json, &Layout::default(), None, &stop, Box::new(Closed));
        sink.push(&Number(1), &mut Vec::new());
        sink.flush();
        assert!(stop.is_stopped());
        assert!(matches!(sink.finish(), Err(CliError::ClosedPipe)));
    }
}
