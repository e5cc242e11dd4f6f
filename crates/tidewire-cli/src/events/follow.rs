//! `--follow`: new records as they are stored.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    time::{Duration, Instant},
};

use super::{
    folded::{Folded, layout},
    options::Options,
    selection::Selection,
    stores::{Opened, Store, Stores, places},
};
use crate::{
    error::{self, CliError},
    generate::{on_signal, stopped},
    layout::Layout,
    output::Out,
    row::{Form, Row as _},
    table::Table,
    terminal,
};

/// How often new records are looked for.
const LOOK: Duration = Duration::from_millis(200);
/// How often stores of new sensors, and stores that replace others, are looked for.
const SEARCH: Duration = Duration::from_secs(2);

/// How far a store was read.
struct Position {
    /// The last record that was printed.
    after: u64,
    /// Which file it is: a store that was damaged is replaced.
    file: Option<u64>,
    /// Which store it is: one whose numbers could not be read begins them again.
    id: Option<[u8; 16]>,
}

struct Following<'a> {
    options: &'a Options,
    selection: &'a Selection,
    stores: Stores,
    positions: Vec<Position>,
    form: Form,
    layout: Layout,
    table: Table,
    out: Out,
    left: Option<u64>,
}

/// Prints records until a signal comes, the reader of the output is gone, or enough were printed.
pub fn run(options: &Options, selection: &Selection, stores: Stores, form: Form) -> Result<u8, CliError> {
    on_signal();
    let layout = layout(options, &stores, form)?;
    let mut out = Out::stdout();
    if form == Form::Csv {
        out.line(&layout.csv_header::<Folded>())?;
    }
    let mut positions = Vec::new();
    for store in &stores.all {
        let after = if selection.has_begin() { 0 } else { store.last_id()? };
        positions.push(Position { after, file: file(&store.path), id: store.id() });
    }
    let table = Table::unending(&layout.columns::<Folded>(), &layout);
    let left = options.limit;
    let mut following = Following { options, selection, stores, positions, form, layout, table, out, left };
    let mut searched = Instant::now();
    while !stopped() && following.left != Some(0) && !terminal::is_closed() {
        match following.look() {
            Err(CliError::Interrupted(_)) => break,
            looked => looked?,
        }
        if searched.elapsed() >= SEARCH {
            searched = Instant::now();
            following.search()?;
        }
        std::thread::sleep(LOOK);
    }
    following.out.flush()?;
    Ok(error::OK)
}

fn file(path: &std::path::Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.ino())
}

impl Following<'_> {
    /// Prints what is new in all stores.
    fn look(&mut self) -> Result<(), CliError> {
        let Self { selection, stores, positions, form, layout, table, out, left, .. } = self;
        for (store, position) in stores.all.iter().zip(positions) {
            store.each(&selection.query(position.after), |row| {
                position.after = row.id;
                let record = match store.open_row(&row) {
                    Opened::Plain(record) => Some(record),
                    Opened::Sealed => None,
                    Opened::Damaged => return Ok(true),
                };
                if !selection.matches(record.as_ref()) {
                    return Ok(true);
                }
                let Some(folded) = Folded::of(store, std::slice::from_ref(&row)) else { return Ok(true) };
                match form {
                    Form::Json => folded.push_json(out.buffer()),
                    Form::Csv => layout.push_csv(&folded, out.buffer()),
                    Form::Table => {
                        let cells = layout.cells(&folded);
                        table.row_with_notes(cells.cells, cells.asides, cells.notes);
                        table.finish(out)?;
                    }
                }
                *left = left.map(|left| left - 1);
                Ok(*left != Some(0) && !stopped())
            })?;
        }
        // Who looks at the output sees all that there is.
        self.out.flush()
    }

    /// Opens stores of new sensors, and those that replaced damaged ones.
    fn search(&mut self) -> Result<(), CliError> {
        for (store, position) in self.stores.all.iter_mut().zip(&mut self.positions) {
            let now = file(&store.path);
            if now.is_some() && now != position.file && store.reopen().is_ok() {
                position.file = now;
                if store.id() != position.id {
                    (position.after, position.id) = (0, store.id());
                }
            }
        }
        if self.options.store.is_empty() {
            return Ok(());
        }
        for (path, sensor) in places(self.options)? {
            if self.stores.all.iter().all(|store| store.path != path) {
                let file = file(&path);
                // It may be in the making.
                if self.stores.add(path, sensor, &self.options.identity).is_ok() {
                    let id = self.stores.all.last().and_then(Store::id);
                    self.positions.push(Position { after: 0, file, id });
                }
            }
        }
        Ok(())
    }
}
