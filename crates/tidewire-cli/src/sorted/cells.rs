//! Rows of tables as bytes, for a temporary file.

use crate::row::{Aside, Cells, Column};

/// Appends a row.
pub fn push(cells: &Cells, out: &mut Vec<u8>) {
    push_all(out, &cells.cells, String::as_str);
    push_all(out, &cells.notes, String::as_str);
    push_all(out, &cells.asides, |aside| aside.title);
    push_all(out, &cells.asides, |aside| aside.text.as_str());
}

/// Reads a row back. Titles are those of `columns`: a note without a column of its own has none.
pub fn read(mut bytes: &[u8], columns: &[Column]) -> Cells {
    let [cells, notes, titles, texts] = [(); 4].map(|()| read_all(&mut bytes));
    let title = |title: String| columns.iter().map(|column| column.title).find(|known| *known == title);
    let asides = titles.into_iter().zip(texts);
    let asides = asides.map(|(name, text)| Aside { title: title(name).unwrap_or_default(), text }).collect();
    Cells { cells, asides, notes }
}

fn push_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_ne_bytes());
}

fn push_all<T>(out: &mut Vec<u8>, all: &[T], text: impl Fn(&T) -> &str) {
    push_number(out, all.len());
    for one in all {
        push_number(out, text(one).len());
        out.extend_from_slice(text(one).as_bytes());
    }
}

fn read_number(bytes: &mut &[u8]) -> usize {
    let Some((number, rest)) = bytes.split_first_chunk() else { return 0 };
    *bytes = rest;
    u32::from_ne_bytes(*number) as usize
}

fn read_all(bytes: &mut &[u8]) -> Vec<String> {
    let count = read_number(bytes);
    let one = |_| {
        let length = read_number(bytes);
        let (text, rest) = bytes.split_at(length.min(bytes.len()));
        *bytes = rest;
        String::from_utf8_lossy(text).into_owned()
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back() {
        let columns = [Column::words("NAME", "name", 0)];
        let aside = |title: &'static str, text: &str| Aside { title, text: text.into() };
        let cells = Cells {
            cells: vec!["ä".into(), String::new(), "c".repeat(300)],
            asides: vec![aside("NAME", "name x"), aside("OTHER", "y")],
            notes: vec!["note".into()],
        };
        let mut bytes = Vec::new();
        push(&cells, &mut bytes);
        let again = read(&bytes, &columns);
        assert_eq!((again.cells, again.notes), (cells.cells, cells.notes));
        let asides: Vec<(&str, &str)> = again.asides.iter().map(|aside| (aside.title, &*aside.text)).collect();
        assert_eq!(asides, [("NAME", "name x"), ("", "y")]);
    }
}
