//! Tables for terminals, pipes and files.

mod fit;

use std::ops::Range;

use crate::{
    clock::{DATE_CHARS, SECOND_CHARS},
    error::CliError,
    layout::Layout,
    output::Out,
    row::{Align, Aside, Column},
    terminal,
};

/// A row of cells, and its notes.
struct Row {
    cells: Vec<String>,
    asides: Vec<Aside>,
    notes: Vec<String>,
}

/// Rows with a header, and notes beneath each row.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Widths of columns so far; they only grow.
    widths: Vec<usize>,
    /// Columns that are shown: decided with the header.
    shown: Option<Vec<usize>>,
    /// The part of times that is shown, if there is no room for all.
    brief: Option<Range<usize>>,
    /// Essential columns without room: their cells are noted beneath the rows.
    beneath: Vec<usize>,
    /// The column of names, if it has not the room that its longest one needs, and its width.
    narrowed: Option<(usize, usize)>,
    /// Spaces between columns.
    gap: usize,
    /// Whether later rows are unknown when the header is printed.
    is_unending: bool,
    /// Whether words are cut to fit: not in pipes and files, where programs such as grep search for whole addresses.
    cuts: bool,
    layout: Layout,
}

/// Least width of a cut cell, characters.
const CELL_MIN: usize = 12;

/// Characters of a date with a time to the microsecond.
const MICROSECOND_CHARS: usize = SECOND_CHARS + 7;

/// Width in pipes and files, characters: columns that do not fit are dropped.
const PIPE_CHARS: usize = 120;

/// Indentation of notes.
const INDENT: &str = "    ";

/// Rows that determine the widths of columns. Longer tables are printed in parts, to limit memory.
const ROWS_TOGETHER: usize = 8192;

impl Table {
    /// An empty table.
    pub fn new(columns: &[Column], layout: &Layout) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
            widths: vec![0; columns.len()],
            shown: None,
            brief: None,
            beneath: Vec::new(),
            narrowed: None,
            gap: 2,
            is_unending: false,
            cuts: true,
            layout: layout.clone(),
        }
    }

    /// A table whose rows are printed as they come: later rows are unknown when the header is printed, so columns have their
    /// usual width, and are shown even if the first rows leave them empty.
    pub fn unending(columns: &[Column], layout: &Layout) -> Self {
        let widths = columns.iter().map(usual_width).collect();
        Self { widths, is_unending: true, ..Self::new(columns, layout) }
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row(&mut self, cells: Vec<String>) {
        self.row_with_notes(cells, Vec::new(), Vec::new());
    }

    /// Adds a row with notes beneath: `notes` always, `asides` if their columns are not shown.
    pub fn row_with_notes(&mut self, cells: Vec<String>, asides: Vec<Aside>, notes: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(Row { cells, asides, notes });
    }

    /// Prints a part of the table if there are enough rows.
    pub fn settle(&mut self, out: &mut Out) -> Result<(), CliError> {
        if self.is_long() { self.finish(out) } else { Ok(()) }
    }

    /// Whether there are enough rows to print.
    pub fn is_long(&self) -> bool {
        self.rows.len() >= ROWS_TOGETHER
    }

    /// Prints the collected rows.
    pub fn finish(&mut self, out: &mut Out) -> Result<(), CliError> {
        self.take_lines().iter().try_for_each(|line| out.line(line))
    }

    /// Takes the collected rows as lines for standard output.
    pub fn take_lines(&mut self) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let known = terminal::width();
        self.cuts = known.is_some();
        self.lines(known.or(Some(PIPE_CHARS)), terminal::colours())
    }

    /// Renders the collected rows in at most `width` characters, if given: times lose their date first, then dispensable
    /// columns are dropped, then the widest words are cut. Numbers are never cut. Empty columns are omitted unless they were
    /// requested.
    fn lines(&mut self, width: Option<usize>, bold: bool) -> Vec<String> {
        let width = width.filter(|_| !self.layout.wide);
        self.widen();
        let is_first = self.shown.is_none();
        let mut shown = self.shown.take().unwrap_or_else(|| self.chosen());
        let mut widths = self.titled_widths();
        if let Some(width) = width {
            if is_first && self.total(&shown, &widths) > width {
                self.shorten_times();
                widths = self.titled_widths();
                shown = self.fitting(shown, &mut widths, width);
                if self.cuts {
                    self.tighten(&shown, &widths, width);
                    self.move_beneath(&mut shown, &widths, width);
                }
            }
            if self.cuts {
                self.cut_words(&shown, &mut widths, width);
            }
        }
        if let Some((index, most)) = self.narrowed {
            widths[index] = widths[index].min(most);
        }
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if is_first {
            let titles: Vec<String> = self.columns.iter().map(|column| self.title(column)).collect();
            let titles = self.render(&titles, &shown, &widths, false);
            lines.push(if bold { format!("\x1b[1m{titles}\x1b[0m") } else { titles });
        }
        let room = width.unwrap_or(usize::MAX).saturating_sub(INDENT.len());
        for mut row in std::mem::take(&mut self.rows) {
            let rest = self
                .wrapped_column(&shown)
                .filter(|_| self.cuts)
                .and_then(|last| wrap(&mut row.cells[last], widths[last]));
            lines.push(self.render(&row.cells, &shown, &widths, true));
            let beneath = self.beneath(&row, &shown, &widths, room);
            let notes = rest.iter().chain(&beneath).chain(&row.notes);
            lines.extend(
                notes.flat_map(|note| terminal::wrapped(note, Some(room))).map(|line| format!("{INDENT}{line}")),
            );
        }
        self.shown = Some(shown);
        lines
    }

    /// Widens columns for the collected rows.
    fn widen(&mut self) {
        for row in &self.rows {
            for (index, cell) in row.cells.iter().enumerate() {
                let needed = self.visible(index, cell).chars().count();
                self.widths[index] = self.widths[index].max(needed);
            }
        }
    }

    /// The requested columns, or those with a value.
    fn chosen(&self) -> Vec<usize> {
        if let Some(exactly) = &self.layout.exactly {
            return exactly.clone();
        }
        let is_chosen = |index: &usize| {
            let of_pair = self.partner(*index).map_or(0, |partner| self.widths[partner]);
            let is_wanted = self.widths[*index].max(of_pair) > 0 || self.layout.essential.contains(index);
            is_wanted && !self.layout.without.contains(index)
        };
        (0..self.columns.len()).filter(is_chosen).collect()
    }

    /// A column's title; for times with their unit.
    fn title(&self, column: &Column) -> String {
        match self.layout.clock.unit().filter(|_| column.is_time) {
            Some(unit) => format!("{} ({unit})", column.title),
            None => column.title.to_owned(),
        }
    }

    fn titled_widths(&self) -> Vec<usize> {
        let titled = |(&width, column): (&usize, &Column)| width.max(self.title(column).chars().count());
        self.widths.iter().zip(&self.columns).map(titled).collect()
    }

    /// Shows times without their date: to the millisecond if all are of one day (or are printed as they happen), else to the
    /// second.
    fn shorten_times(&mut self) {
        let Some(time) = self.columns.iter().position(|column| column.is_time) else { return };
        if !self.layout.clock.has_brief_form() {
            return;
        }
        let date = |row: &Row| row.cells[time].get(..DATE_CHARS).map(str::to_owned);
        let is_one_day = self.rows.windows(2).all(|pair| date(&pair[0]) == date(&pair[1])) && !self.is_long();
        let with_milliseconds = DATE_CHARS + 1..SECOND_CHARS + 4;
        self.brief = Some(if is_one_day || self.is_unending { with_milliseconds } else { 0..SECOND_CHARS });
        for (width, column) in self.widths.iter_mut().zip(&self.columns) {
            *width = if column.is_time { 0 } else { *width };
        }
        self.widen();
    }

    /// The visible part of a cell.
    fn visible<'a>(&self, index: usize, cell: &'a str) -> std::borrow::Cow<'a, str> {
        match self.brief.clone().filter(|_| self.columns[index].is_time) {
            Some(part) => {
                // A zone that differs from the title's follows the microseconds.
                let (time, zone) = (cell.get(part).unwrap_or(cell), cell.get(MICROSECOND_CHARS..).unwrap_or_default());
                format!("{time}{zone}").into()
            }
            None => cell.into(),
        }
    }

    /// Notes for what a row does not show, in lines of at most `room` characters: cut words (unless longer than a line; names always), and
    /// asides of columns that are not shown.
    fn beneath(&self, row: &Row, shown: &[usize], widths: &[usize], room: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let is_cut =
            |index: &&usize| !self.columns[**index].is_time && row.cells[**index].chars().count() > widths[**index];
        for &index in shown.iter().filter(|_| self.cuts).filter(is_cut) {
            let note = format!("{} {}", self.columns[index].title.to_lowercase(), row.cells[index]);
            if note.chars().count() <= room || self.is_name(index) {
                lines.push(note);
            }
        }
        let moved: Vec<_> = self.beneath.iter().filter(|&&index| !row.cells[index].is_empty()).collect();
        let moved =
            moved.iter().map(|&&index| format!("{} {}", self.columns[index].title.to_lowercase(), row.cells[index]));
        lines.extend(Some(moved.collect::<Vec<_>>().join(", ")).filter(|line| !line.is_empty()));
        let is_shown = |aside: &&Aside| shown.iter().any(|&index| self.columns[index].title == aside.title);
        // Requested columns are shown without other ones.
        let is_wanted = self.layout.exactly.is_none();
        let mut asides = row.asides.iter().filter(|aside| is_wanted && !is_shown(aside));
        if let Some(first) = asides.next() {
            let mut line = first.text.clone();
            for aside in asides {
                if line.chars().count() + 2 + aside.text.chars().count() > room {
                    lines.push(std::mem::take(&mut line));
                } else {
                    line.push_str(", ");
                }
                line.push_str(&aside.text);
            }
            lines.push(line);
        }
        lines
    }

    fn render(&self, cells: &[String], shown: &[usize], widths: &[usize], is_row: bool) -> String {
        let mut line = String::new();
        for (place, &index) in shown.iter().enumerate() {
            if place > 0 {
                line.extend(std::iter::repeat_n(' ', self.gap));
            }
            let width = widths[index];
            let cell = if is_row { self.visible(index, &cells[index]) } else { cells[index].as_str().into() };
            // In pipes a long name is whole, and moves what is behind it.
            let cell = if self.cuts { cut(&cell, width) } else { cell.into_owned() };
            let room = width.saturating_sub(cell.chars().count());
            let (before, after) = match self.columns[index].align {
                Align::Left => (0, room),
                Align::Right => (room, 0),
            };
            line.extend(std::iter::repeat_n(' ', before));
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', after));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Usual width of a column's cells, characters.
fn usual_width(column: &Column) -> usize {
    match (column.title, column.align) {
        ("CLIENT" | "SERVER", _) => 21,
        ("START", _) => 26,
        ("STATE" | "END", _) => 11,
        ("NAME", _) => 24,
        (_, Align::Right) => 7,
        (title, Align::Left) => title.chars().count(),
    }
}

/// Leaves as many words in a cell as fit; the rest, if any, belongs beneath.
fn wrap(cell: &mut String, width: usize) -> Option<String> {
    if cell.chars().count() <= width {
        return None;
    }
    let mut first = terminal::wrapped(cell, Some(width)).swap_remove(0);
    if first.chars().count() > width {
        first.clear();
    }
    let rest = cell.split_off(first.len());
    Some(rest.trim_start().to_owned())
}

/// Cuts a cell to at most `width` characters, with an ellipsis in its middle.
fn cut(cell: &str, width: usize) -> String {
    let length = cell.chars().count();
    if length <= width {
        return cell.to_owned();
    }
    let kept = width.saturating_sub(1);
    // An address keeps its port, in which more of them differ.
    let port = port(cell).filter(|port| port.len() < kept).map_or(0, str::len);
    let tail = port.max(kept / 2);
    let head = kept - tail;
    cell.chars().take(head).chain(['…']).chain(cell.chars().skip(length - tail)).collect()
}

/// The port at the end of `192.0.2.1:80` or `[2001:db8::1]:80`, with its colon.
fn port(cell: &str) -> Option<&str> {
    let (address, digits) = cell.rsplit_once(':')?;
    let is_port = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_address = address.ends_with(']') || !address.contains(':');
    (is_port && is_address).then(|| &cell[address.len()..])
}

#[cfg(test)]
mod tests;
