//! The index of the files: a line of JSON for each direction.

use std::{
    fs::File,
    io::{self, Write as _},
    sync::Arc,
};

use tidewire::{Direction, EndReason, FlowKey, Gap};

use super::files::Written;
use crate::{
    clock::Clock,
    output::{self, Object, push_number},
    place::folder::Folder,
    record,
    row::Column,
    row::{Cells, Row},
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
    let named = written.and_then(|()| folder.show(&hidden, INDEX, is_whole));
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
    let mut object = Object::open(out);
    match &line.written {
        Some(written) => object.plain("name", &written.name),
        None => object.null("name"),
    }
    object.number("stream", line.id);
    object.plain("direction", line.direction.name());
    object.plain("proto", &record::proto_name(line.key.proto));
    record::push_endpoints(&mut object, &line.key);
    object.array("vlan", record::vlans(&line.key), push_number);
    record::push_tunnel(&mut object, &line.key);
    object.number("start_ns", line.start_ns);
    object.number("end_ns", line.end_ns);
    object.plain("end_reason", line.end.name());
    object.number("bytes", line.written.as_ref().map_or(0, |written| written.bytes));
    match line.written.as_ref().and_then(|written| written.sha256) {
        Some(sha256) => object.plain("sha256", &output::hex(&sha256)),
        None => object.null("sha256"),
    }
    object.array("gaps", &line.gaps, |out, gap| {
        let _ = write!(out, "[{},{},\"{}\"]", gap.offset, gap.bytes, gap.cause.name());
    });
    object.close();
    out.push(b'\n');
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
