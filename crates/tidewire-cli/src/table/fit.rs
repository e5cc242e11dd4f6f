//! Fits a table into a line: chooses columns, and shortens cells.

use super::{CELL_MIN, Table};
use crate::row::Align;

/// Least width of a column of names, of which the longest is not whole; where the column is requested, it is [`CELL_MIN`].
const NAME_MIN: usize = 20;

/// Characters that are worth an ellipsis, and a line beneath with the whole text.
const CUT_MIN: usize = 4;

impl Table {
    /// Width of a line with these columns, characters.
    pub(super) fn total(&self, shown: &[usize], widths: &[usize]) -> usize {
        shown.iter().map(|&index| widths[index]).sum::<usize>() + self.gap * shown.len().saturating_sub(1)
    }

    /// Whether columns were named: these are whole, and lines may be longer.
    pub(super) fn is_named(&self) -> bool {
        self.layout.is_named || self.layout.exactly.is_some()
    }

    fn is_word(&self, index: usize) -> bool {
        self.columns[index].align == Align::Left && !self.columns[index].is_time
    }

    fn is_address(&self, index: usize) -> bool {
        matches!(self.columns[index].name, "client" | "server" | "source" | "destination")
    }

    /// The column of the other direction.
    pub(super) fn partner(&self, index: usize) -> Option<usize> {
        let name = self.columns[index].name;
        let other = |from: &str, to: &str| name.strip_suffix(from).map(|stem| format!("{stem}{to}"));
        let other = other("_c2s", "_s2c").or_else(|| other("_s2c", "_c2s"))?;
        self.columns.iter().position(|column| column.name == other)
    }

    /// Whether a column has names, of which a long one must not cost all others their column.
    pub(super) fn is_name(&self, index: usize) -> bool {
        self.columns[index].name == "name" && self.columns[index].dispensable > 0
    }

    /// Leaves a column of names the room behind `kept`, if not all names fit; at least what is worth a column.
    fn narrow(&mut self, index: usize, kept: &[usize], widths: &mut [usize], width: usize) {
        let least = if self.layout.essential.contains(&index) { CELL_MIN } else { NAME_MIN };
        let room = width.saturating_sub(self.total(kept, widths) + self.gap);
        if widths[index] > room.max(least) {
            widths[index] = room.max(least);
            self.narrowed = Some((index, widths[index]));
        }
    }

    /// The columns that fit, the least dispensable first; both directions of a figure, or neither.
    pub(super) fn fitting(&mut self, shown: Vec<usize>, widths: &mut [usize], width: usize) -> Vec<usize> {
        if self.layout.exactly.is_some() {
            return shown;
        }
        let essential = self.layout.essential.clone();
        let ranks: Vec<u8> = self.columns.iter().map(|column| column.dispensable).collect();
        let dispensable = |index: usize| if essential.contains(&index) { 0 } else { ranks[index] };
        let mut ranked = shown;
        // Names take the room that columns of the same rank leave.
        ranked.sort_by_key(|&index| (dispensable(index), self.is_name(index), index));
        let mut kept: Vec<usize> = Vec::with_capacity(ranked.len());
        for &index in &ranked {
            let is_with = |other: &usize| ranked.contains(other) && dispensable(*other) == dispensable(index);
            let partner = self.partner(index).filter(is_with);
            if kept.contains(&index) || partner.is_some_and(|partner| partner < index) {
                continue;
            }
            if self.is_name(index) && !self.is_named() {
                self.narrow(index, &kept, widths, width);
            }
            let before = kept.len();
            kept.extend([Some(index), partner].into_iter().flatten());
            if dispensable(index) > 0 && self.total(&kept, widths) > width {
                kept.truncate(before);
            }
        }
        kept.sort_unstable();
        kept
    }

    /// Puts one space between columns instead of two, if that is what is missing, or words are cut anyway.
    pub(super) fn tighten(&mut self, shown: &[usize], widths: &[usize], width: usize) {
        if self.total(shown, widths) > width {
            self.gap = 1;
            if self.is_named() && self.total(shown, widths) > width {
                self.gap = 2;
            }
        }
    }

    /// Moves columns, from the left, into notes if even cut words do not fit; the first column, addresses and requested columns
    /// stay. `width`: that of a line.
    pub(super) fn move_beneath(&mut self, shown: &mut Vec<usize>, widths: &[usize], width: usize) {
        if self.is_named() {
            return;
        }
        loop {
            let mut least = widths.to_vec();
            self.cut_words(shown, &mut least, width);
            let is_needed = |index: usize| self.is_address(index) || self.layout.essential.contains(&index);
            let place = (1..shown.len()).find(|&place| !is_needed(shown[place]));
            match place.filter(|_| self.total(shown, &least) > width) {
                Some(place) => self.beneath.push(shown.remove(place)),
                None => return,
            }
        }
    }

    /// Narrows columns of words to `width`: the last one first, whose words continue in the next line; then the widest ones, by no
    /// fewer characters than are worth it.
    pub(super) fn cut_words(&self, shown: &[usize], widths: &mut [usize], width: usize) {
        if self.is_named() {
            return;
        }
        let over = self.total(shown, widths).saturating_sub(width);
        if let Some(last) = self.wrapped_column(shown) {
            let least = CELL_MIN.max(self.title(&self.columns[last]).chars().count());
            widths[last] -= over.min(widths[last].saturating_sub(least));
        }
        let whole = widths.to_vec();
        while self.total(shown, widths) > width {
            let words = shown.iter().copied().filter(|&index| self.is_word(index));
            match words.max_by_key(|&index| widths[index]).filter(|&index| widths[index] > CELL_MIN) {
                Some(index) => widths[index] -= 1,
                None => break,
            }
        }
        for (width, whole) in widths.iter_mut().zip(whole).filter(|(width, whole)| **width < *whole) {
            *width = (*width).min(whole.saturating_sub(CUT_MIN).max(CELL_MIN));
        }
    }

    /// The last column, if it is one of words: they may continue in the next line. Addresses are cut.
    pub(super) fn wrapped_column(&self, shown: &[usize]) -> Option<usize> {
        shown.last().copied().filter(|&index| shown.len() > 1 && self.is_word(index) && !self.is_address(index))
    }
}
