//! The file of an index: a header, a table of sections, sections. Each part is checked before it is used; what is large is in pages,
//! and only those that a query needs are read.

use std::path::{Path, PathBuf};

use super::{
    encode::Sections,
    placed::Mark,
    record::{FlowRecord, TERM_BYTES_MAX, Term},
    rows::{self, Row},
    summary::Summary,
    varint::Numbers,
};
use crate::{Error, read_at::ReadAt};

const MAGIC: &[u8; 8] = b"TWTIDX\r\n";
/// Another one cannot be read.
pub(crate) const VERSION: u16 = 1;
/// Magic, version, reserved, count of sections, checksum of the table.
const HEAD_BYTES: usize = 24;
const ENTRY_BYTES: usize = 24;
/// Sections at most, known or not.
const SECTIONS_MAX: u32 = 64;
/// Bytes of a page at most, before compression: the gaps of as many packets as a segment has.
const PAGE_BYTES_MAX: u64 = 32 << 20;
/// Bytes at most of what is read as a whole: directories of a segment with only flows of one packet take 2 MiB.
const SECTION_BYTES_MAX: u64 = 64 << 20;
/// Read at first: the header, and for most segments the summary with it.
const FIRST_BYTES: usize = 8 << 10;

mod kind {
    pub const SUMMARY: u32 = 1;
    pub const RECORD_DIRECTORY: u32 = 2;
    pub const RECORD_PAGES: u32 = 3;
    pub const TERM_DIRECTORY: u32 = 4;
    pub const TERM_PAGES: u32 = 5;
    pub const MARKS: u32 = 6;
}

/// The bytes of an index.
pub(crate) fn write(sections: &Sections, summary: &Summary) -> Vec<u8> {
    let summary = serde_json::to_vec(summary).unwrap_or_default();
    let parts: [(u32, &[u8], bool); 6] = [
        (kind::SUMMARY, &summary, true),
        (kind::MARKS, &sections.marks, true),
        (kind::TERM_DIRECTORY, &sections.term_directory, true),
        (kind::RECORD_DIRECTORY, &sections.record_directory, true),
        // Their pages have checksums of their own.
        (kind::TERM_PAGES, &sections.term_pages, false),
        (kind::RECORD_PAGES, &sections.record_pages, false),
    ];
    let mut table = Vec::new();
    let mut offset = (HEAD_BYTES + parts.len() * ENTRY_BYTES) as u64;
    for (kind, bytes, is_whole) in parts {
        table.extend_from_slice(&kind.to_le_bytes());
        let checksum = if is_whole { crc32c::crc32c(bytes) } else { 0 };
        table.extend_from_slice(&checksum.to_le_bytes());
        table.extend_from_slice(&offset.to_le_bytes());
        table.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        offset += bytes.len() as u64;
    }
    let mut file = Vec::with_capacity(offset as usize);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&[0; 2]);
    file.extend_from_slice(&(parts.len() as u32).to_le_bytes());
    file.extend_from_slice(&crc32c::crc32c(&table).to_le_bytes());
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&table);
    for (_, bytes, _) in parts {
        file.extend_from_slice(bytes);
    }
    file
}

/// Where a section lies.
#[derive(Clone, Copy, Debug, Default)]
struct Section {
    checksum: u32,
    offset: u64,
    bytes: u64,
}

/// A page, as its directory has it.
#[derive(Clone, Copy, Debug)]
struct PageEntry {
    offset: u64,
    plain_bytes: u64,
    stored_bytes: u64,
    checksum: u32,
}

/// A page of records.
#[derive(Clone, Copy, Debug)]
struct RecordPage {
    /// Id of the stream of its first record.
    stream: u64,
    /// Rank of its first record.
    first: u64,
    records: u64,
    rows: PageEntry,
    gaps: PageEntry,
}

/// A page of terms.
#[derive(Clone, Debug)]
struct TermPage {
    first: Vec<u8>,
    page: PageEntry,
}

/// An index that is being read.
pub(crate) struct Sidecar {
    file: Box<dyn ReadAt>,
    path: PathBuf,
    sections: [Section; 7],
    summary: Summary,
    terms: Option<Vec<TermPage>>,
    records: Option<Vec<RecordPage>>,
}

impl Sidecar {
    /// Reads header and summary.
    pub fn open(mut file: Box<dyn ReadAt>, path: &Path) -> Result<Self, Error> {
        let damaged = |what: &str| Error::damaged(path, what);
        let mut head = Vec::new();
        file.read_at(0, FIRST_BYTES, &mut head)?;
        let (fixed, rest) = head.split_first_chunk::<HEAD_BYTES>().ok_or_else(|| damaged("its header is cut"))?;
        if !fixed.starts_with(MAGIC) {
            return Err(damaged("it does not begin as an index"));
        }
        let word = |at: usize| u32_at(fixed, at).unwrap_or_default();
        let found = word(8) as u16;
        if found != VERSION {
            return Err(Error::Version { path: path.to_owned(), found, supported: VERSION });
        }
        let count = word(12);
        if count > SECTIONS_MAX {
            return Err(damaged("it states too many sections"));
        }
        let table = rest.get(..count as usize * ENTRY_BYTES).ok_or_else(|| damaged("its table is cut"))?;
        if crc32c::crc32c(table) != word(16) {
            return Err(damaged("its table of sections was changed"));
        }
        let mut sections = [Section::default(); 7];
        for entry in table.chunks_exact(ENTRY_BYTES) {
            let (kind, checksum) = (u32_at(entry, 0), u32_at(entry, 4));
            let (offset, bytes) = (u64_at(entry, 8), u64_at(entry, 16));
            let (Some(kind), Some(checksum), Some(offset), Some(bytes)) = (kind, checksum, offset, bytes) else {
                continue;
            };
            if offset.checked_add(bytes).is_none_or(|end| end > file.bytes()) {
                return Err(damaged("it is cut"));
            }
            // Sections of a later minor version are left out.
            if let Some(place) = sections.get_mut(kind as usize) {
                *place = Section { checksum, offset, bytes };
            }
        }
        let mut sidecar =
            Self { file, path: path.to_owned(), sections, summary: Summary::default(), terms: None, records: None };
        let summary = sidecar.section(kind::SUMMARY)?;
        sidecar.summary = serde_json::from_slice(&summary).map_err(|_| damaged("its summary cannot be read"))?;
        Ok(sidecar)
    }

    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    fn damaged(&self, what: &str) -> Error {
        Error::damaged(&self.path, what)
    }

    fn place(&self, kind: u32) -> Section {
        self.sections.get(kind as usize).copied().unwrap_or_default()
    }

    /// A section that is checked as a whole.
    fn section(&mut self, kind: u32) -> Result<Vec<u8>, Error> {
        let place = self.place(kind);
        if place.bytes > SECTION_BYTES_MAX {
            return Err(self.damaged("a section is too long"));
        }
        let mut bytes = Vec::new();
        self.file.read_at(place.offset, place.bytes as usize, &mut bytes)?;
        if bytes.len() as u64 != place.bytes || crc32c::crc32c(&bytes) != place.checksum {
            return Err(self.damaged("a section was changed"));
        }
        Ok(bytes)
    }

    fn page(&mut self, kind: u32, entry: &PageEntry) -> Result<Vec<u8>, Error> {
        let place = self.place(kind);
        let end = entry.offset.checked_add(entry.stored_bytes);
        if entry.plain_bytes > PAGE_BYTES_MAX || end.is_none_or(|end| end > place.bytes) {
            return Err(self.damaged("a page is not within its section"));
        }
        if entry.plain_bytes == 0 {
            return Ok(Vec::new());
        }
        let mut stored = Vec::new();
        self.file.read_at(place.offset + entry.offset, entry.stored_bytes as usize, &mut stored)?;
        if stored.len() as u64 != entry.stored_bytes || crc32c::crc32c(&stored) != entry.checksum {
            return Err(self.damaged("a page was changed"));
        }
        let plain = zstd::bulk::decompress(&stored, entry.plain_bytes as usize);
        let plain = plain.map_err(|_| self.damaged("a page cannot be decompressed"))?;
        if plain.len() as u64 == entry.plain_bytes { Ok(plain) } else { Err(self.damaged("a page is too short")) }
    }

    /// Times of the pieces of the segment.
    pub fn marks(&mut self) -> Result<Vec<Mark>, Error> {
        let bytes = self.section(kind::MARKS)?;
        marks(&bytes).ok_or_else(|| self.damaged("its marks cannot be read"))
    }

    /// Reads the directory of terms.
    fn load_terms(&mut self) -> Result<Vec<TermPage>, Error> {
        if let Some(terms) = self.terms.take() {
            return Ok(terms);
        }
        let bytes = self.section(kind::TERM_DIRECTORY)?;
        term_directory(&bytes).ok_or_else(|| self.damaged("its directory of terms cannot be read"))
    }

    /// Adds the ranks of the records that have a term from `from` to `to`; both are of one kind.
    pub fn find(&mut self, from: Term, to: Term, ranks: &mut Vec<u32>) -> Result<(), Error> {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        from.encode(&mut low);
        to.encode(&mut high);
        let terms = self.load_terms()?;
        let start = terms.partition_point(|page| page.first <= low).saturating_sub(1);
        let mut found = Ok(());
        for page in terms.iter().skip(start).take_while(|page| page.first <= high) {
            found = self.page(kind::TERM_PAGES, &page.page).and_then(|bytes| {
                find_in(&bytes, &low, &high, ranks).ok_or_else(|| self.damaged("a page of terms cannot be read"))
            });
            if found.is_err() {
                break;
            }
        }
        self.terms = Some(terms);
        let records = self.summary.records;
        if found.is_ok() && ranks.iter().any(|&rank| u64::from(rank) >= records) {
            return Err(self.damaged("a term names a record that is not there"));
        }
        found
    }

    fn load_records(&mut self) -> Result<Vec<RecordPage>, Error> {
        if let Some(records) = self.records.take() {
            return Ok(records);
        }
        let bytes = self.section(kind::RECORD_DIRECTORY)?;
        record_directory(&bytes).ok_or_else(|| self.damaged("its directory of records cannot be read"))
    }

    /// Calls `each` with the records of these ranks, in order; ranks are sorted.
    pub fn rows(&mut self, ranks: &[u32], mut each: impl FnMut(u32, Row)) -> Result<(), Error> {
        let pages = self.load_records()?;
        let mut result = Ok(());
        for page in &pages {
            if !has_between(ranks, page.first, page.first + page.records) {
                continue;
            }
            result = self.decoded(page).map(|rows| {
                for (rank, row) in (page.first..).zip(rows) {
                    if ranks.binary_search(&(rank as u32)).is_ok() {
                        each(rank as u32, row);
                    }
                }
            });
            if result.is_err() {
                break;
            }
        }
        self.records = Some(pages);
        result
    }

    /// Calls `each` with every record.
    pub fn records(&mut self, mut each: impl FnMut(&FlowRecord)) -> Result<(), Error> {
        let pages = self.load_records()?;
        let mut result = Ok(());
        for page in &pages {
            result = self.decoded(page).map(|rows| rows.iter().for_each(|row| each(&row.record)));
            if result.is_err() {
                break;
            }
        }
        self.records = Some(pages);
        result
    }

    fn decoded(&mut self, page: &RecordPage) -> Result<Vec<Row>, Error> {
        let plain = self.page(kind::RECORD_PAGES, &page.rows)?;
        let rows = rows::decode(&plain).filter(|rows| rows.len() as u64 == page.records);
        rows.ok_or_else(|| self.damaged("a page of records cannot be read"))
    }

    /// The records of streams for which `wanted` says so, with where each of their packets lies. `id`: only pages that may have this
    /// stream are read.
    pub fn streams(
        &mut self,
        id: Option<u64>,
        mut wanted: impl FnMut(&Row) -> bool,
        mut each: impl FnMut(Row, Vec<u32>),
    ) -> Result<(), Error> {
        let pages = self.load_records()?;
        let mut result = Ok(());
        for (index, page) in pages.iter().enumerate() {
            let next = pages.get(index + 1).map_or(u64::MAX, |next| next.stream);
            if id.is_some_and(|id| id < page.stream || id > next) {
                continue;
            }
            result = self.decoded(page).and_then(|rows| {
                if !rows.iter().any(&mut wanted) {
                    return Ok(());
                }
                let gaps = self.page(kind::RECORD_PAGES, &page.gaps)?;
                let mut gaps = Numbers(&gaps);
                for row in rows {
                    let packets = row.extents.iter().map(|extent| extent.packets.saturating_sub(1));
                    let count = packets.fold(0, u64::saturating_add);
                    let own = (0..count).map(|_| gaps.next().and_then(|gap| u32::try_from(gap).ok()));
                    // Stops at the first that is not there: no number allocates.
                    let own: Option<Vec<u32>> = own.collect();
                    let own = own.ok_or_else(|| self.damaged("a page of gaps is too short"))?;
                    if wanted(&row) {
                        each(row, own);
                    }
                }
                Ok(())
            });
            if result.is_err() {
                break;
            }
        }
        self.records = Some(pages);
        result
    }

    /// The stream that the packet of this number in the segment, from 0, belongs to; `None`: it belongs to none.
    pub fn stream_of(&mut self, packet: u64) -> Result<Option<u64>, Error> {
        let mut found = None;
        let may_have = |row: &Row| row.record.stream != 0 && row.extents.iter().any(|extent| extent.first <= packet);
        self.streams(None, may_have, |row, gaps| {
            let mut gaps = gaps.into_iter();
            for extent in &row.extents {
                let mut number = extent.first;
                let mut has = number == packet;
                for gap in gaps.by_ref().take(usize::try_from(extent.packets.saturating_sub(1)).unwrap_or(usize::MAX)) {
                    number = number.saturating_add(u64::from(gap)).saturating_add(1);
                    has |= number == packet;
                }
                if has {
                    found = Some(row.record.stream);
                }
            }
        })?;
        Ok(found)
    }

    /// Reads all of it, and compares what can be compared.
    pub fn check(&mut self) -> Result<(), Error> {
        self.marks()?;
        let terms = self.load_terms()?;
        for page in &terms {
            let bytes = self.page(kind::TERM_PAGES, &page.page)?;
            let mut ranks = Vec::new();
            let read = find_in(&bytes, &[], &[u8::MAX; TERM_BYTES_MAX], &mut ranks);
            read.ok_or_else(|| self.damaged("a page of terms cannot be read"))?;
        }
        self.terms = Some(terms);
        let (mut records, mut packets) = (0, 0_u64);
        self.streams(
            None,
            |row| {
                records += 1;
                packets = row.extents.iter().fold(packets, |sum, extent| sum.saturating_add(extent.packets));
                false
            },
            |_, _| {},
        )?;
        if records != self.summary.records || packets != self.summary.packets {
            return Err(self.damaged("its records are not those of its summary"));
        }
        Ok(())
    }
}

/// Whether a sorted list has a number from `from` to `to`, that one not included.
fn has_between(ranks: &[u32], from: u64, to: u64) -> bool {
    let next = ranks.partition_point(|&rank| u64::from(rank) < from);
    ranks.get(next).is_some_and(|&rank| u64::from(rank) < to)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn marks(bytes: &[u8]) -> Option<Vec<Mark>> {
    let mut numbers = Numbers(bytes);
    let count = numbers.count()?;
    let mut marks = Vec::with_capacity(count);
    let mut before = Mark::NONE;
    for _ in 0..count {
        let (offset, first) = (numbers.next_from(before.offset)?, numbers.next_from(before.first)?);
        let first_ns = numbers.next_from(before.first_ns)?;
        before = Mark { offset, first, first_ns, last_ns: numbers.next_from(first_ns)? };
        marks.push(before);
    }
    Some(marks)
}

fn page_entry(numbers: &mut Numbers<'_>, offset: &mut u64) -> Option<PageEntry> {
    let (plain_bytes, stored_bytes) = (numbers.next()?, numbers.next()?);
    let checksum = u32::from_le_bytes(*numbers.bytes(4)?.first_chunk()?);
    let entry = PageEntry { offset: *offset, plain_bytes, stored_bytes, checksum };
    *offset = offset.checked_add(stored_bytes)?;
    Some(entry)
}

fn term_directory(bytes: &[u8]) -> Option<Vec<TermPage>> {
    let (mut numbers, mut offset) = (Numbers(bytes), 0);
    let mut pages = Vec::new();
    while !numbers.0.is_empty() {
        let length = numbers.count().filter(|&length| length <= TERM_BYTES_MAX)?;
        let first = numbers.bytes(length)?.to_vec();
        pages.push(TermPage { first, page: page_entry(&mut numbers, &mut offset)? });
    }
    Some(pages)
}

fn record_directory(bytes: &[u8]) -> Option<Vec<RecordPage>> {
    let (mut numbers, mut offset, mut first) = (Numbers(bytes), 0, 0_u64);
    let mut pages = Vec::new();
    while !numbers.0.is_empty() {
        let (stream, records) = (numbers.next()?, numbers.next()?);
        let rows = page_entry(&mut numbers, &mut offset)?;
        let gaps = page_entry(&mut numbers, &mut offset)?;
        pages.push(RecordPage { stream, first, records, rows, gaps });
        first = first.checked_add(records).filter(|&first| first <= u64::from(u32::MAX))?;
    }
    Some(pages)
}

/// Adds the ranks of terms between `low` and `high`, in a page.
fn find_in(bytes: &[u8], low: &[u8], high: &[u8], ranks: &mut Vec<u32>) -> Option<()> {
    let mut numbers = Numbers(bytes);
    let mut key: Vec<u8> = Vec::new();
    while !numbers.0.is_empty() {
        let (shared, own) = (numbers.next()?, numbers.count()?);
        let shared = usize::try_from(shared).ok().filter(|&shared| shared <= key.len())?;
        if shared + own > TERM_BYTES_MAX {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(numbers.bytes(own)?);
        let (count, length) = (numbers.next()?, numbers.count()?);
        let mut list = Numbers(numbers.bytes(length)?);
        if key.as_slice() < low || key.as_slice() > high {
            if key.as_slice() > high {
                return Some(());
            }
            continue;
        }
        let mut rank = 0_u32;
        for _ in 0..count {
            rank = rank.checked_add(u32::try_from(list.next()?).ok()?)?;
            ranks.push(rank);
        }
    }
    Some(())
}
