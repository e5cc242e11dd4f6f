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

/// Rows of text under titles, each with notes beneath.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<(Vec<String>, Vec<String>)>,
    /// What columns have got by now; they only grow.
    widths: Vec<usize>,
    /// Whether the titles were printed.
    begun: bool,
}

/// Cells are cut to no less than this, in characters.
const CELL_MIN: usize = 12;

/// Rows that are looked at together for the widths of columns. Longer tables are printed in pieces, so that they
/// need not be held whole.
const ROWS_TOGETHER: usize = 8192;

impl Table {
    /// An empty table.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), widths: vec![0; columns.len()], begun: false }
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row(&mut self, cells: Vec<String>) {
        self.row_with_notes(cells, Vec::new());
    }

    /// Adds a row, and lines to stand beneath it.
    pub fn row_with_notes(&mut self, cells: Vec<String>, notes: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push((cells, notes));
    }

    /// Prints a piece of the table when enough rows have gathered.
    pub fn settle(&mut self, out: &mut Out) -> Result<(), Failure> {
        if self.rows.len() >= ROWS_TOGETHER { self.finish(out) } else { Ok(()) }
    }

    /// Prints the rows that have gathered.
    pub fn finish(&mut self, out: &mut Out) -> Result<(), Failure> {
        if self.rows.is_empty() {
            return Ok(());
        }
        for line in self.lines(output::width(), output::colours()) {
            out.line(&line)?;
        }
        Ok(())
    }

    /// The lines of the rows that have gathered, at most `width` characters each where one is given: dispensable
    /// columns go first, then the widest words are cut. Figures are never cut. Columns without a cell are left out.
    fn lines(&mut self, width: Option<usize>, bold: bool) -> Vec<String> {
        for (cells, _) in &self.rows {
            for (width, cell) in self.widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(|&index| self.widths[index] > 0).collect();
        let titled = |(width, column): (&usize, &Column)| (*width).max(column.title.chars().count());
        let mut widths: Vec<usize> = self.widths.iter().zip(&self.columns).map(titled).collect();
        if let Some(width) = width {
            self.fit(&mut shown, &mut widths, width);
        }
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if !std::mem::replace(&mut self.begun, true) {
            let titles: Vec<String> = self.columns.iter().map(|column| column.title.to_owned()).collect();
            let titles = self.render(&titles, &shown, &widths);
            lines.push(if bold { format!("\x1b[1m{titles}\x1b[0m") } else { titles });
        }
        for (cells, notes) in &self.rows {
            lines.push(self.render(cells, &shown, &widths));
            lines.extend(notes.iter().map(|note| format!("    {note}")));
        }
        self.rows.clear();
        lines
    }

    fn fit(&self, shown: &mut Vec<usize>, widths: &mut [usize], width: usize) {
        let total = |shown: &[usize], widths: &[usize]| {
            shown.iter().map(|&index| widths[index]).sum::<usize>() + 2 * shown.len().saturating_sub(1)
        };
        while total(shown, widths) > width {
            let least = (0..shown.len()).max_by_key(|&at| (self.columns[shown[at]].dispensable, at));
            match least.filter(|&at| self.columns[shown[at]].dispensable > 0) {
                Some(at) => drop(shown.remove(at)),
                None => break,
            }
        }
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
        table.row(vec!["1".into(), "2001:db8:1111:2222::3".into(), note.into()]);
        table
    }

    #[test]
    fn narrow_tables_drop_columns_then_cut_words() {
        assert_eq!(table("midstream").lines(None, false)[1], " 1  2001:db8:1111:2222::3  midstream");
        assert_eq!(table("midstream").lines(Some(30), false)[1], " 1  2001:db8:1111:2222::3");
        assert_eq!(table("midstream").lines(Some(20), false), ["ID  CLIENT", " 1  2001:db8…2222::3"]);
    }

    #[test]
    fn columns_without_a_cell_are_left_out() {
        assert_eq!(table("").lines(None, false)[0], "ID  CLIENT");
    }
}
