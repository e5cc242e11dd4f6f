//! Tables for terminals and for text files.

use crate::{
    failure::Failure,
    output::{self, Out},
};

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A column: its title, where cells stand, and how soon it goes when there is too little room (0: never).
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    pub align: Align,
    pub dispensable: u8,
}

/// What is said beneath a row when a column of this title had no room.
#[derive(Clone, Debug)]
pub struct Aside {
    pub title: &'static str,
    pub text: String,
}

/// A line of cells, and what stands beneath it.
struct Row {
    cells: Vec<String>,
    asides: Vec<Aside>,
    notes: Vec<String>,
}

/// Rows of text under titles, each with notes beneath.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// What columns have got by now; they only grow.
    widths: Vec<usize>,
    /// Which columns are shown: decided when the titles are printed.
    shown: Option<Vec<usize>>,
}

/// Cells are cut to no less than this, in characters.
const CELL_MIN: usize = 12;

/// Before what stands beneath a row.
const INDENT: &str = "    ";

/// Rows that are looked at together for the widths of columns. Longer tables are printed in pieces, so that they
/// need not be held whole.
const ROWS_TOGETHER: usize = 8192;

impl Table {
    /// An empty table.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), widths: vec![0; columns.len()], shown: None }
    }

    /// A table whose rows are printed as they come: what comes later is not known when the titles are printed, so that
    /// columns have the room that they usually need, and stay even where the first rows have nothing in them.
    pub fn unending(columns: &[Column]) -> Self {
        Self { widths: columns.iter().map(usual_width).collect(), ..Self::new(columns) }
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row(&mut self, cells: Vec<String>) {
        self.row_with_notes(cells, Vec::new(), Vec::new());
    }

    /// Adds a row, and lines to stand beneath it: `notes` in any case, `asides` where their columns have no room.
    pub fn row_with_notes(&mut self, cells: Vec<String>, asides: Vec<Aside>, notes: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(Row { cells, asides, notes });
    }

    /// Prints a piece of the table when enough rows have gathered.
    pub fn settle(&mut self, out: &mut Out) -> Result<(), Failure> {
        if self.is_long() { self.finish(out) } else { Ok(()) }
    }

    /// Whether enough rows have gathered to be printed.
    pub fn is_long(&self) -> bool {
        self.rows.len() >= ROWS_TOGETHER
    }

    /// Prints the rows that have gathered.
    pub fn finish(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.take_lines().iter().try_for_each(|line| out.line(line))
    }

    /// The rows that have gathered, as lines for standard output.
    pub fn take_lines(&mut self) -> Vec<String> {
        if self.rows.is_empty() { Vec::new() } else { self.lines(output::width(), output::colours()) }
    }

    /// The lines of the rows that have gathered, at most `width` characters each where one is given: dispensable
    /// columns go first, then the widest words are cut. Figures are never cut. Columns without a cell are left out.
    fn lines(&mut self, width: Option<usize>, bold: bool) -> Vec<String> {
        for row in &self.rows {
            for (width, cell) in self.widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let is_first = self.shown.is_none();
        let with_cells = || (0..self.columns.len()).filter(|&index| self.widths[index] > 0).collect();
        let mut shown: Vec<usize> = self.shown.take().unwrap_or_else(with_cells);
        let titled = |(width, column): (&usize, &Column)| (*width).max(column.title.chars().count());
        let mut widths: Vec<usize> = self.widths.iter().zip(&self.columns).map(titled).collect();
        if let Some(width) = width {
            if is_first {
                self.drop_columns(&mut shown, &widths, width);
            }
            self.cut_words(&shown, &mut widths, width);
        }
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if is_first {
            let titles: Vec<String> = self.columns.iter().map(|column| column.title.to_owned()).collect();
            let titles = self.render(&titles, &shown, &widths);
            lines.push(if bold { format!("\x1b[1m{titles}\x1b[0m") } else { titles });
        }
        let room = width.unwrap_or(usize::MAX).saturating_sub(INDENT.len());
        for row in &self.rows {
            lines.push(self.render(&row.cells, &shown, &widths));
            let beneath = self.beneath(row, &shown, &widths, room);
            lines.extend(beneath.iter().chain(&row.notes).map(|note| format!("{INDENT}{note}")));
        }
        self.rows.clear();
        self.shown = Some(shown);
        lines
    }

    /// What the line of a row could not say, in lines of at most `room` characters: words that were cut (unless they
    /// are longer than a line), and asides of columns that are not shown.
    fn beneath(&self, row: &Row, shown: &[usize], widths: &[usize], room: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for &index in shown.iter().filter(|&&index| row.cells[index].chars().count() > widths[index]) {
            let told = format!("{} {}", self.columns[index].title.to_lowercase(), row.cells[index]);
            if told.chars().count() <= room {
                lines.push(told);
            }
        }
        let is_shown = |aside: &&Aside| shown.iter().any(|&index| self.columns[index].title == aside.title);
        let mut asides = row.asides.iter().filter(|aside| !is_shown(aside));
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

    fn drop_columns(&self, shown: &mut Vec<usize>, widths: &[usize], width: usize) {
        while total(shown, widths) > width {
            let least = (0..shown.len()).max_by_key(|&at| (self.columns[shown[at]].dispensable, at));
            match least.filter(|&at| self.columns[shown[at]].dispensable > 0) {
                Some(at) => drop(shown.remove(at)),
                None => break,
            }
        }
    }

    fn cut_words(&self, shown: &[usize], widths: &mut [usize], width: usize) {
        while total(shown, widths) > width {
            let words = shown.iter().copied().filter(|&index| self.columns[index].align == Align::Left);
            match words.max_by_key(|&index| widths[index]).filter(|&index| widths[index] > CELL_MIN) {
                Some(index) => widths[index] -= 1,
                None => break,
            }
        }
    }

    fn render(&self, cells: &[String], shown: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for (place, &index) in shown.iter().enumerate() {
            if place > 0 {
                line.push_str("  ");
            }
            let width = widths[index];
            let cell = cut(&cells[index], width);
            let room = width - cell.chars().count();
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

/// Characters that a column's cells usually have.
fn usual_width(column: &Column) -> usize {
    match (column.title, column.align) {
        ("CLIENT" | "SERVER", _) => 21,
        ("START", _) => 26,
        ("STATE" | "END", _) => 11,
        (_, Align::Right) => 7,
        (title, Align::Left) => title.chars().count(),
    }
}

/// Characters of a line of these columns.
fn total(shown: &[usize], widths: &[usize]) -> usize {
    shown.iter().map(|&index| widths[index]).sum::<usize>() + 2 * shown.len().saturating_sub(1)
}

/// A cell in at most `width` characters; what is left out of its middle is shown as an ellipsis.
fn cut(cell: &str, width: usize) -> String {
    let length = cell.chars().count();
    if length <= width {
        return cell.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    cell.chars().take(head).chain(['…']).chain(cell.chars().skip(length - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(note: &str) -> Table {
        let mut table = Table::new(&[
            Column { title: "ID", align: Align::Right, dispensable: 0 },
            Column { title: "CLIENT", align: Align::Left, dispensable: 0 },
            Column { title: "NOTE", align: Align::Left, dispensable: 1 },
        ]);
        let aside = Aside { title: "NOTE", text: format!("noted {note}") };
        let asides = if note.is_empty() { Vec::new() } else { vec![aside] };
        table.row_with_notes(vec!["1".into(), "2001:db8:1111:2222::3".into(), note.into()], asides, Vec::new());
        table
    }

    #[test]
    fn narrow_tables_drop_columns_then_cut_words_and_tell_both_beneath() {
        assert_eq!(table("midstream").lines(None, false)[1..], [" 1  2001:db8:1111:2222::3  midstream"]);
        let narrow = table("midstream").lines(Some(30), false);
        assert_eq!(narrow, ["ID  CLIENT", " 1  2001:db8:1111:2222::3", "    noted midstream"]);
        let narrower = table("midstream").lines(Some(20), false);
        assert_eq!(narrower, ["ID  CLIENT", " 1  2001:db8…2222::3", "    noted midstream"]);
    }

    #[test]
    fn words_that_were_cut_are_told_beneath_where_a_line_is_long_enough() {
        let end = Column { title: "END", align: Align::Left, dispensable: 0 };
        let mut table = Table::new(&[end, Column { title: "WHY", ..end }]);
        table.row(vec!["a".repeat(10), "b".repeat(30)]);
        let lines = table.lines(Some(40), false);
        assert_eq!(lines[1].chars().count(), 40);
        assert_eq!(lines[2..], [format!("    why {}", "b".repeat(30))]);
    }

    #[test]
    fn asides_share_lines() {
        let column = |title| Column { title, align: Align::Left, dispensable: 1 };
        let mut table = Table::new(&[column("A"), column("B"), column("C")]);
        let aside = |title, text: &str| Aside { title, text: text.into() };
        let asides = vec![aside("A", "not told"), aside("B", "bbbb"), aside("C", "cccc"), aside("C", "dddd")];
        table.row_with_notes(vec!["a".repeat(16), "b".into(), "c".into()], asides, vec!["note".into()]);
        let lines = table.lines(Some(17), false);
        assert_eq!(lines[1..], ["a".repeat(16), "    bbbb, cccc".into(), "    dddd".into(), "    note".into()]);
    }

    #[test]
    fn later_pieces_keep_to_the_titles() {
        let mut table = table("");
        assert_eq!(table.lines(Some(80), false)[0], "ID  CLIENT");
        let asides = vec![Aside { title: "NOTE", text: "noted later".into() }];
        table.row_with_notes(vec!["2".into(), "10.0.0.1".into(), "later".into()], asides, Vec::new());
        assert_eq!(table.lines(Some(80), false), [" 2  10.0.0.1", "    noted later"]);
    }

    #[test]
    fn columns_without_a_cell_are_left_out() {
        assert_eq!(table("").lines(None, false)[0], "ID  CLIENT");
    }
}
