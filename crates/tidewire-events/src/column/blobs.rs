//! A column of texts or bytes: blocks of at most [`BLOCK_VALUES`] values and about 16 KiB.
//!
//! A block is a form (1 byte) and two or three blocks of numbers and bytes:
//!
//! - 0 *raw*: lengths, then the bytes; 1 the same with the bytes deflated (RFC 1951) where that is shorter.
//! - 2, 3 *dictionary*: the lengths of the distinct values, their bytes (3: deflated), and which is where.

use std::collections::HashMap;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{
    BLOCK_VALUES,
    ints::{put_block, read_block},
};
use crate::{
    cursor::{Cursor, put_sized, put_varint},
    error::DecodeError,
    limits::{EXCERPT_BYTES_MAX, VALUE_BYTES_MAX},
};

const DEFLATED: u8 = 1;
const DICTIONARY: u8 = 2;
/// Bytes after which a block is sealed.
const BLOCK_BYTES: usize = 1 << 14;
/// Bytes of one value, at most.
const BLOB_BYTES_MAX: usize = if VALUE_BYTES_MAX > EXCERPT_BYTES_MAX { VALUE_BYTES_MAX } else { EXCERPT_BYTES_MAX };
/// Fewer bytes are not deflated: there is little to gain.
const DEFLATE_BYTES_MIN: usize = 64;

/// A column that grows.
#[derive(Debug)]
pub(crate) struct BlobColumn {
    lengths: Vec<u64>,
    bytes: Vec<u8>,
    sealed: Vec<u8>,
}

impl BlobColumn {
    /// Beginning with `repeated` times the same value.
    pub(crate) fn new(first: &[u8], repeated: usize) -> Self {
        let mut column = Self { lengths: Vec::new(), bytes: Vec::new(), sealed: Vec::new() };
        for _ in 0..repeated {
            column.push(first);
        }
        column
    }

    pub(crate) fn push(&mut self, value: &[u8]) {
        self.lengths.push(value.len() as u64);
        self.bytes.extend_from_slice(value);
        if self.lengths.len() == BLOCK_VALUES || self.bytes.len() >= BLOCK_BYTES {
            self.seal();
        }
    }

    fn seal(&mut self) {
        if self.lengths.is_empty() {
            return;
        }
        match self.distinct() {
            Some((lengths, bytes, indexes)) => {
                put_bytes(DICTIONARY, &lengths, &bytes, &mut self.sealed);
                put_block(0, &indexes, &mut self.sealed);
            }
            None => put_bytes(0, &self.lengths, &self.bytes, &mut self.sealed),
        }
        self.lengths.clear();
        self.bytes.clear();
    }

    /// Lengths and bytes of the distinct values, and which is where; `None` if most are distinct.
    fn distinct(&self) -> Option<(Vec<u64>, Vec<u8>, Vec<u64>)> {
        let mut seen: HashMap<&[u8], u64> = HashMap::new();
        let (mut lengths, mut bytes) = (Vec::new(), Vec::new());
        let mut indexes = Vec::with_capacity(self.lengths.len());
        let mut rest = self.bytes.as_slice();
        for length in &self.lengths {
            let (value, behind) = rest.split_at_checked(*length as usize)?;
            rest = behind;
            let next = seen.len() as u64;
            let index = *seen.entry(value).or_insert(next);
            if index == next {
                lengths.push(*length);
                bytes.extend_from_slice(value);
            }
            indexes.push(index);
            if seen.len() > 16 + self.lengths.len() / 4 {
                return None;
            }
        }
        (lengths.len() < indexes.len()).then_some((lengths, bytes, indexes))
    }

    /// Bytes that it takes in memory.
    pub(crate) fn charged_bytes(&self) -> usize {
        size_of::<Self>() + self.lengths.capacity() * 8 + self.bytes.capacity() + self.sealed.capacity()
    }

    /// All blocks, to their end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.seal();
        self.sealed
    }
}

fn put_bytes(form: u8, lengths: &[u64], bytes: &[u8], out: &mut Vec<u8>) {
    let deflated = deflate(bytes);
    out.push(form | if deflated.is_some() { DEFLATED } else { 0 });
    put_block(0, lengths, out);
    if let Some(deflated) = deflated {
        put_varint(out, bytes.len() as u64);
        put_sized(out, &deflated);
    } else {
        put_sized(out, bytes);
    }
}

/// The bytes deflated; `None` where that gains less than an eighth.
fn deflate(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() < DEFLATE_BYTES_MIN {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() - bytes.len() / 8);
    let status = Compress::new(Compression::fast(), false).compress_vec(bytes, &mut out, FlushCompress::Finish);
    matches!(status, Ok(Status::StreamEnd)).then_some(out)
}

/// Exactly `bytes` of them, or an error: memory goes by a block's bound, not by what is stated.
fn inflate(deflated: &[u8], bytes: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::with_capacity(bytes);
    let status = Decompress::new(false).decompress_vec(deflated, &mut out, FlushDecompress::Finish);
    let is_whole = matches!(status, Ok(Status::StreamEnd)) && out.len() == bytes;
    if is_whole { Ok(out) } else { Err(DecodeError::Value("deflated bytes")) }
}

/// Reads a column, a block at a time.
pub(crate) struct BlobReader<'a> {
    cursor: Cursor<'a>,
    /// Where each value of the block is in its bytes.
    ends: Vec<(usize, usize)>,
    bytes: Vec<u8>,
    at: usize,
    numbers: Vec<u64>,
}

impl<'a> BlobReader<'a> {
    pub(crate) fn new(blocks: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(blocks), ends: Vec::new(), bytes: Vec::new(), at: 0, numbers: Vec::new() }
    }

    /// Goes on to the next value.
    pub(crate) fn next(&mut self) -> Result<&[u8], DecodeError> {
        if self.at == self.ends.len() {
            self.read()?;
        }
        let (begin, end) = *self.ends.get(self.at).ok_or(DecodeError::Short("a column"))?;
        self.at += 1;
        self.bytes.get(begin..end).ok_or(DecodeError::Short("a column's bytes"))
    }

    fn read(&mut self) -> Result<(), DecodeError> {
        let form = self.cursor.byte("a block's form")?;
        if form > DICTIONARY | DEFLATED {
            return Err(DecodeError::Value("a block's form"));
        }
        read_block(&mut self.cursor, 0, &mut self.numbers)?;
        let mut ends = Vec::with_capacity(self.numbers.len());
        let mut end = 0_usize;
        for length in &self.numbers {
            if *length > BLOB_BYTES_MAX as u64 {
                return Err(DecodeError::Value("a length"));
            }
            ends.push((end, end + *length as usize));
            end += *length as usize;
        }
        if end > BLOCK_BYTES + BLOB_BYTES_MAX {
            return Err(DecodeError::Value("a block's bytes"));
        }
        if form & DEFLATED == 0 {
            let bytes = self.cursor.sized("a block's bytes")?;
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
        } else {
            let bytes = self.cursor.varint("a block's bytes")?;
            let deflated = self.cursor.sized("deflated bytes")?;
            if bytes != end as u64 {
                return Err(DecodeError::Value("a block's bytes"));
            }
            self.bytes = inflate(deflated, end)?;
        }
        if self.bytes.len() != end {
            return Err(DecodeError::Value("a block's bytes"));
        }
        if form & DICTIONARY != 0 {
            read_block(&mut self.cursor, 0, &mut self.numbers)?;
            let value = |index: &u64| usize::try_from(*index).ok().and_then(|index| ends.get(index)).copied();
            let chosen: Option<Vec<_>> = self.numbers.iter().map(value).collect();
            ends = chosen.ok_or(DecodeError::Value("a dictionary's index"))?;
        }
        (self.ends, self.at) = (ends, 0);
        Ok(())
    }

    /// Whether nothing is left.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.at < self.ends.len() { Err(DecodeError::Value("a block's count")) } else { self.cursor.end() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(first: &[u8], repeated: usize, values: &[Vec<u8>]) -> usize {
        let mut column = BlobColumn::new(first, repeated);
        values.iter().for_each(|value| column.push(value));
        let blocks = column.finish();
        let mut reader = BlobReader::new(&blocks);
        for _ in 0..repeated {
            assert_eq!(reader.next(), Ok(first));
        }
        for value in values {
            assert_eq!(reader.next(), Ok(value.as_slice()));
        }
        assert_eq!(reader.end(), Ok(()));
        blocks.len()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn values_come_back(
            first in proptest::collection::vec(any::<u8>(), 0..30),
            repeated in 0_usize..1500,
            values in proptest::collection::vec(
                prop_oneof![proptest::collection::vec(any::<u8>(), 0..60), proptest::collection::vec(0_u8..2, 0..3)], 0..1500),
        ) {
            check(&first, repeated, &values);
        }

        #[test]
        fn any_bytes_are_values_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut reader = BlobReader::new(&bytes);
            for _ in 0..5000 {
                if reader.next().is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn large_values_and_repetitions_are_bounded() {
        let large: Vec<Vec<u8>> = (0..100_u8).map(|at| vec![at; 4096]).collect();
        assert!(check(&[], 0, &large) < 100 * 4096 / 32, "deflated");
        let few: Vec<Vec<u8>> = (0..4000).map(|at| format!("value-{}", at % 3).into_bytes()).collect();
        assert!(check(&[], 0, &few) < 4000 * 2 / 8 + 200, "a dictionary");
    }
}
