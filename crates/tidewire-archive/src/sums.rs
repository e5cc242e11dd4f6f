//! Checksums of what was written to a segment, in a hidden file beside it as long as it is open.
//!
//! A disk may store the sectors of a write in any order: after a power failure a block that is whole by its lengths can have zeros in
//! it. What was synced is there, as far as this file says; what follows only where its checksums hold. What was synced and has another
//! checksum was changed by the disk. The file is removed once the
//! segment has its name.
//!
//! Two places for a record that says how far the segment was synced, used in turn, each in a sector of its own; then one record for
//! each piece of the segment, in order. All is little-endian.

use std::ops::Range;

use crate::{Error, read_at::ReadAt};

/// Bytes of a segment that have a checksum, at most: what a crash costs where a write was cut short.
pub(crate) const PIECE_BYTES: usize = 64 << 10;
/// Where the records of pieces begin.
const PIECES_AT: u64 = 1024;
const SECTOR_BYTES: u64 = 512;
const RECORD_BYTES: usize = 32;
/// Kinds of records, with the version of the format.
const WRITTEN: u32 = 0x7453_0101;
const SYNCED: u32 = 0x7453_0201;

/// A part of a segment that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub offset: u64,
    pub bytes: u32,
    pub checksum: u32,
}

/// Checksums of the pieces of what is written at once: another thread can compute them before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums(Vec<u32>);

impl Checksums {
    /// Those of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut checksums = Self::default();
        checksums.compute(bytes);
        checksums
    }

    /// Makes them those of `bytes`.
    pub fn compute(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend(bytes.chunks(PIECE_BYTES).map(crc32c::crc32c));
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is one for each piece of so many bytes.
    pub(crate) fn has_all(&self, bytes: usize) -> bool {
        self.0.len() == bytes.div_ceil(PIECE_BYTES)
    }

    /// The pieces of so many bytes that are written at an offset.
    pub(crate) fn pieces(&self, bytes: usize, offset: u64) -> impl Iterator<Item = Piece> {
        self.0.iter().enumerate().map(move |(number, checksum)| {
            let at = number * PIECE_BYTES;
            let length = bytes.saturating_sub(at).min(PIECE_BYTES);
            Piece { offset: offset + at as u64, bytes: length as u32, checksum: *checksum }
        })
    }
}

impl Piece {
    /// Appends its record.
    pub fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&record(WRITTEN, self.offset, self.bytes, self.checksum));
    }
}

/// Where the record of a piece lies.
pub(crate) fn place_of(number: u64) -> u64 {
    PIECES_AT + number * RECORD_BYTES as u64
}

/// The record that says how far the segment was synced, and where it lies. `count`: of syncs before.
pub(crate) fn synced(bytes: u64, count: u64) -> ([u8; RECORD_BYTES], u64) {
    (record(SYNCED, bytes, 0, 0), count % 2 * SECTOR_BYTES)
}

fn record(kind: u32, offset: u64, bytes: u32, checksum: u32) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..4].copy_from_slice(&kind.to_le_bytes());
    record[8..16].copy_from_slice(&offset.to_le_bytes());
    record[16..20].copy_from_slice(&bytes.to_le_bytes());
    record[20..24].copy_from_slice(&checksum.to_le_bytes());
    let own = crc32c::crc32c(&record);
    record[4..8].copy_from_slice(&own.to_le_bytes());
    record
}

/// Reads a record of this kind; `None`: it was not written, or in part.
fn parse(found: &[u8], kind: u32) -> Option<Piece> {
    let word = |at: usize| Some(u32::from_le_bytes(found.get(at..at + 4)?.try_into().ok()?));
    let piece =
        Piece { offset: u64::from_le_bytes(found.get(8..16)?.try_into().ok()?), bytes: word(16)?, checksum: word(20)? };
    (record(kind, piece.offset, piece.bytes, piece.checksum)[..] == *found).then_some(piece)
}

/// The intact part of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whole {
    /// So many bytes from the beginning on were written whole.
    pub bytes: u64,
    /// Ranges of them that were synced and have changed since: the disk changed them. In order; near ones are joined.
    pub damaged: Vec<Range<u64>>,
}

impl Whole {
    fn damage(&mut self, piece: &Piece) {
        let end = piece.offset + u64::from(piece.bytes);
        match self.damaged.last_mut() {
            Some(last) if piece.offset <= last.end + PIECE_BYTES as u64 => last.end = end,
            _ => self.damaged.push(piece.offset..end),
        }
    }
}

/// Compares a segment with its checksums. `sums`: the file that has them.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn compare(sums: &mut dyn ReadAt, segment: &mut dyn ReadAt) -> Result<Whole, Error> {
    let (mut found, mut synced_bytes) = (Vec::new(), 0);
    for count in 0..2 {
        sums.read_at(synced(0, count).1, RECORD_BYTES, &mut found)?;
        synced_bytes = parse(&found, SYNCED).map_or(synced_bytes, |record| record.offset.max(synced_bytes));
    }
    let (mut whole, mut content) = (Whole::default(), Vec::new());
    for number in 0.. {
        sums.read_at(place_of(number), RECORD_BYTES, &mut found)?;
        let Some(piece) = parse(&found, WRITTEN).filter(|piece| piece.bytes as usize <= PIECE_BYTES) else {
            // A record that the disk changed: of its piece nothing is known, and the others have their places.
            if found.len() == RECORD_BYTES && whole.bytes < synced_bytes {
                continue;
            }
            break;
        };
        let end = piece.offset + u64::from(piece.bytes);
        let is_synced = end <= synced_bytes;
        if piece.offset != whole.bytes && !(is_synced && piece.offset > whole.bytes) {
            break;
        }
        segment.read_at(piece.offset, piece.bytes as usize, &mut content)?;
        // A piece that is not there at all is no damage that packets could lie in.
        if content.len() != piece.bytes as usize {
            break;
        }
        if crc32c::crc32c(&content) != piece.checksum {
            if !is_synced {
                break;
            }
            whole.damage(&piece);
        }
        whole.bytes = end;
    }
    whole.bytes = whole.bytes.max(synced_bytes);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: &[u8], synced_bytes: Option<u64>) -> Vec<u8> {
        let mut sums = vec![0; PIECES_AT as usize];
        Checksums::of(content).pieces(content.len(), 0).for_each(|piece| piece.push(&mut sums));
        if let Some(bytes) = synced_bytes {
            let (record, at) = synced(bytes, 1);
            sums[at as usize..at as usize + RECORD_BYTES].copy_from_slice(&record);
        }
        sums
    }

    #[test]
    fn what_holds_its_checksums_is_whole_and_what_was_synced() {
        let content: Vec<u8> = (0..5 * PIECE_BYTES + 77).map(|at| (at % 251) as u8 | 1).collect();
        let mut sums = written(&content, None);
        let whole = |bytes: u64, damaged: &[Range<u64>]| Whole { bytes, damaged: damaged.to_vec() };
        let (all, piece) = (content.len() as u64, PIECE_BYTES as u64);
        assert_eq!(compare(&mut sums, &mut content.clone()).expect("read"), whole(all, &[]));
        let mut torn = content.clone();
        torn[3 * PIECE_BYTES..3 * PIECE_BYTES + 512].fill(0);
        assert_eq!(compare(&mut sums, &mut torn).expect("read"), whole(3 * piece, &[]));
        // Synced pieces are there; ranges that the disk changed are named.
        let mut sums = written(&content, Some(4 * PIECE_BYTES as u64));
        let changed = 3 * piece..4 * piece;
        assert_eq!(compare(&mut sums, &mut torn).expect("read"), whole(all, std::slice::from_ref(&changed)));
        // A record that was written in part ends it.
        let at = place_of(4) as usize;
        sums[at + 20] ^= 1;
        assert_eq!(compare(&mut sums, &mut torn).expect("read"), whole(4 * piece, std::slice::from_ref(&changed)));
        // One that the disk changed where all was synced hides no other.
        let at = place_of(1) as usize;
        sums[at + 20] ^= 1;
        assert_eq!(compare(&mut sums, &mut torn).expect("read"), whole(4 * piece, &[changed]));
        assert_eq!(compare(&mut Vec::new(), &mut torn).expect("read"), Whole::default());
    }
}
