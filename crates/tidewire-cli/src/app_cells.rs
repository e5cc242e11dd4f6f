//! Protocol and name of a stream, as cells of a table.

use tidewire::legible::distinct;
use tidewire_protocols::{App, Transaction};

/// Most characters of a name in a table.
const CELL_CHARS: usize = 48;

/// Whom a stream's application names.
pub fn name(app: &App) -> Option<&str> {
    app.first.as_ref().and_then(Transaction::name)
}

/// The protocol as a cell of a table.
pub fn service(app: Option<&App>) -> String {
    app.map_or("", |app| app.service.name()).to_owned()
}

/// Whom it names, as a cell of a table.
pub fn name_cell(app: Option<&App>) -> String {
    app.and_then(name).map(cell).unwrap_or_default()
}

/// Text as a cell: legible, [`distinct`], and not longer than others can bear.
pub fn cell(text: &str) -> String {
    cut(&distinct(text), CELL_CHARS)
}

/// At most so many characters.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}
