//! The index of the files: a line of JSON for each direction.

use std::{
    fs::File,
    io::{self, Write as _},
    sync::Arc,
};

use tidewire::{Direction, EndReason, FlowKey, Gap, Timestamp};
use tidewire_exports::{FileRecord, records};

use super::files::Written;
use crate::{
    clock::Clock,
    place::folder::Folder,
    row::{Cells, Column, Row},
    shared_output::SharedOutput,
    units::Bytes,
};

/// Name of the index.
pub const INDEX: &str = "index.jsonl";

/// A line of the index.
pub struct Line {
    pub id: u64,
    pub key: FlowKey,
    pub direction: Direction,
    pub start_ns: u64,
    pub end_ns: u64,
    pub end: EndReason,
    /// `None` if nothing of the direction was delivered.
    pub written: Option<Written>,
    pub gaps: Vec<Gap>,
}

/// Lines of the index: collected, or written as they come.
pub struct Lines {
    pub gathered: Vec<Line>,
    /// Number of lines that are also collected while they are written, for the closing table.
    pub gathered_max: usize,
    pub sinks: Vec<Arc<SharedOutput>>,
    pub scratch: Vec<u8>,
    pub files: u64,
    pub bytes: u64,
}

impl Lines {
    /// Adds a line.
    pub fn push(&mut self, line: Line) {
        if let Some(written) = &line.written {
            self.files += 1;
            self.bytes += written.bytes;
        }
        for sink in &self.sinks {
            sink.push(&line, &mut self.scratch);
        }
        if self.gathered.len() < self.gathered_max {
            self.gathered.push(line);
        }
    }
}

/// Writes the index under a hidden name until it is complete; on failure it is removed. That of a run which ended early (`is_whole` is false)
/// replaces none: returns its hidden name then.
pub fn write(folder: &Folder, lines: &[Line], is_whole: bool) -> io::Result<Option<String>> {
    let hidden = folder.hidden(INDEX);
    let written = folder.create(&hidden).and_then(|file| write_to(file, lines));
    let named = written.and_then(|()| {
        if is_whole {
            folder.check_replaceable(INDEX.as_ref())?;
        }
        folder.show(&hidden, INDEX, is_whole)
    });
    match named {
        Ok(is_named) => Ok((!is_named).then_some(hidden)),
        Err(error) => {
            let _ = folder.remove(&hidden);
            Err(error)
        }
    }
}

fn write_to(mut file: File, lines: &[Line]) -> io::Result<()> {
    let mut text = Vec::new();
    for line in lines {
        push_line(&mut text, line);
        if text.len() >= 256 << 10 {
            file.write_all(&text)?;
            text.clear();
        }
    }
    file.write_all(&text)
}

fn push_line(out: &mut Vec<u8>, line: &Line) {
    let written = line.written.as_ref();
    let times = (Timestamp::from_nanos(line.start_ns), Timestamp::from_nanos(line.end_ns));
    let mut record = FileRecord::new((line.id, line.key), line.direction, times, line.end);
    record.name = written.map(|written| written.name.as_str());
    record.bytes = written.map_or(0, |written| written.bytes);
    record.sha256 = written.and_then(|written| written.sha256);
    record.gaps = &line.gaps;
    records::file_json().push(out, &record);
}

/// The index is always JSON; its table has only name, length and number of gaps.
impl Row for Line {
    const COLUMNS: &'static [Column] = &COLUMNS;

    fn push_json(&self, out: &mut Vec<u8>) {
        push_line(out, self);
    }

    fn csv_header(_: &Clock) -> String {
        String::new()
    }

    fn push_csv(&self, _: &mut Vec<u8>, _: &Clock) {}

    fn cells(&self, _: &Clock) -> Cells {
        let gaps = if self.gaps.is_empty() { String::new() } else { self.gaps.len().to_string() };
        let written = self.written.as_ref();
        let bytes = written.map_or_else(String::new, |written| Bytes(written.bytes).to_string());
        Cells::of(vec![bytes, gaps, written.map_or_else(String::new, |written| written.name.clone())])
    }
}

const COLUMNS: [Column; 3] =
    [Column::figures("BYTES", "bytes", 0), Column::figures("GAPS", "gaps", 1), Column::words("FILE", "file", 0)];
