//! A column of numbers: blocks of at most [`BLOCK_VALUES`], each in the form that is the shortest for it.
//!
//! A block is a form (1 byte), a count less one (varint) and, by its form:
//!
//! - 0 *steps*: pairs of a difference (zigzag varint) and how often it follows itself (varint, less one). Constants, arithmetic
//!   progressions with exceptions, and sawteeth are a few bytes.
//! - 1 *range*: the least value (8 bytes or less: varint), then a packed part of the values above it.
//! - 2 *differences*: the least difference (zigzag varint), then a packed part of the differences above it.
//! - 3 *dictionary*: count less one (varint), the values in order of appearance (zigzag varints of differences), packed indexes.
//!
//! A packed part is a width (1 byte), a count of exceptions (varint), the low bits of each number, and for each exception its
//! place (varint, from the one before) and the bits above (varint): a few large numbers do not widen all.

use super::{
    BLOCK_VALUES,
    bits::{pack, packed_bytes, unpack, width},
};
use crate::{
    cursor::{Cursor, put_varint, unzigzag, zigzag},
    error::DecodeError,
};

const STEPS: u8 = 0;
const RANGE: u8 = 1;
const DIFFERENCES: u8 = 2;
const DICTIONARY: u8 = 3;
/// Values of a dictionary, at most.
const DICTIONARY_VALUES: usize = 64;

/// A column that grows.
#[derive(Debug)]
pub(crate) struct IntColumn {
    /// The value before the open block.
    before: u64,
    open: Vec<u64>,
    sealed: Vec<u8>,
}

impl IntColumn {
    /// After a value that is known otherwise, and `repeated` more of it.
    pub(crate) fn new(first: u64, repeated: usize) -> Self {
        let mut column = Self { before: first, open: Vec::new(), sealed: Vec::new() };
        let mut left = repeated;
        while left >= BLOCK_VALUES {
            put_steps(&[(0, BLOCK_VALUES)], BLOCK_VALUES, &mut column.sealed);
            left -= BLOCK_VALUES;
        }
        column.open.resize(left, first);
        column
    }

    pub(crate) fn push(&mut self, value: u64) {
        self.open.push(value);
        if self.open.len() == BLOCK_VALUES {
            put_block(self.before, &self.open, &mut self.sealed);
            self.before = value;
            self.open.clear();
        }
    }

    /// Bytes that it takes in memory.
    pub(crate) fn charged_bytes(&self) -> usize {
        size_of::<Self>() + self.open.capacity() * 8 + self.sealed.capacity()
    }

    /// All blocks, to their end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.open.is_empty() {
            put_block(self.before, &self.open, &mut self.sealed);
        }
        self.sealed
    }
}

/// Appends a block of a list of numbers that no column has, as lengths and indexes are.
pub(super) fn put_block(before: u64, values: &[u64], out: &mut Vec<u8>) {
    let Some(facts) = Facts::of(before, values) else { return };
    let steps_bytes = facts.steps.as_ref().map_or(usize::MAX, |steps| steps_bytes(steps));
    // No packed form is shorter than this.
    if steps_bytes <= 8 {
        return put_steps(facts.steps.as_deref().unwrap_or_default(), values.len(), out);
    }
    let above = |value: &u64| value.wrapping_sub(facts.least);
    let range = Packing::of(values.iter().map(above));
    let range_bytes = range.bytes + varint_bytes(facts.least);
    let differences = || {
        let befores = std::iter::once(before).chain(values.iter().copied());
        values
            .iter()
            .zip(befores)
            .map(|(value, before)| value.wrapping_sub(before).wrapping_sub(facts.least_difference))
    };
    let packing = Packing::of(differences());
    let differences_bytes = packing.bytes + varint_bytes(zigzag(facts.least_difference.cast_signed()));
    // A dictionary of few values has indexes of few bits: not worth the search where values have few anyway.
    let dictionary = if range.width > 3 { Dictionary::of(values) } else { None };
    let dictionary_bytes = dictionary.as_ref().map_or(usize::MAX, |dictionary| dictionary.bytes());
    let least = steps_bytes.min(range_bytes).min(differences_bytes).min(dictionary_bytes);
    match (facts.steps, dictionary) {
        (Some(steps), _) if steps_bytes == least => put_steps(&steps, values.len(), out),
        (_, Some(dictionary)) if dictionary_bytes == least => dictionary.put(out),
        _ if range_bytes == least => {
            put_head(RANGE, values.len(), out);
            put_varint(out, facts.least);
            range.put(values.iter().map(above), out);
        }
        _ => {
            put_head(DIFFERENCES, values.len(), out);
            put_varint(out, zigzag(facts.least_difference.cast_signed()));
            packing.put(differences(), out);
        }
    }
}

fn put_head(form: u8, count: usize, out: &mut Vec<u8>) {
    out.push(form);
    put_varint(out, count as u64 - 1);
}

fn varint_bytes(value: u64) -> usize {
    width(value | 1).div_ceil(7) as usize
}

/// Differences that follow themselves: each with how often.
type Steps = Vec<(u64, usize)>;

fn steps_bytes(steps: &[(u64, usize)]) -> usize {
    let bytes = |(difference, count): &(u64, usize)| {
        varint_bytes(zigzag(difference.cast_signed())) + varint_bytes(*count as u64 - 1)
    };
    steps.iter().map(bytes).sum()
}

fn put_steps(steps: &[(u64, usize)], count: usize, out: &mut Vec<u8>) {
    put_head(STEPS, count, out);
    for (difference, count) in steps {
        put_varint(out, zigzag(difference.cast_signed()));
        put_varint(out, *count as u64 - 1);
    }
}

/// Sizes that decide between forms.
struct Facts {
    least: u64,
    least_difference: u64,
    /// `None`: too many to be short.
    steps: Option<Steps>,
}

impl Facts {
    fn of(before: u64, values: &[u64]) -> Option<Self> {
        let first = *values.first()?;
        let mut facts = Self { least: first, least_difference: first.wrapping_sub(before), steps: Some(Vec::new()) };
        let mut last = before;
        for value in values {
            let difference = value.wrapping_sub(last);
            last = *value;
            facts.least = facts.least.min(*value);
            if difference.cast_signed() < facts.least_difference.cast_signed() {
                facts.least_difference = difference;
            }
            let Some(steps) = &mut facts.steps else { continue };
            if let Some((of, count)) = steps.last_mut()
                && *of == difference
            {
                *count += 1;
            } else if steps.len() * 4 > 8 + values.len() {
                facts.steps = None;
            } else {
                steps.push((difference, 1));
            }
        }
        Some(facts)
    }
}

/// How numbers are packed: the width that makes the fewest bytes.
struct Packing {
    width: u32,
    exceptions: usize,
    bytes: usize,
}

impl Packing {
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut widths = [0_usize; 65];
        let mut count = 0;
        for value in values {
            widths[width(value) as usize] += 1;
            count += 1;
        }
        let mut best = Self { width: 64, exceptions: 0, bytes: usize::MAX };
        let mut exceptions = 0;
        for at in (0..=64_u32).rev() {
            // An exception takes a place of one or two bytes, and the bits above: taken for the widest.
            let widest = widths.iter().rposition(|found| *found > 0).unwrap_or(0) as u32;
            let each = 2 + widest.saturating_sub(at).div_ceil(7) as usize;
            let bytes = 2 + packed_bytes(count, at) + exceptions * each;
            if bytes < best.bytes {
                best = Self { width: at, exceptions, bytes };
            }
            exceptions += widths[at as usize];
        }
        best
    }

    fn put(&self, values: impl Iterator<Item = u64> + Clone, out: &mut Vec<u8>) {
        out.push(self.width as u8);
        put_varint(out, self.exceptions as u64);
        pack(values.clone(), self.width, out);
        let mut next = 0;
        for (at, value) in values.enumerate().filter(|(_, value)| width(*value) > self.width) {
            put_varint(out, (at - next) as u64);
            put_varint(out, value >> self.width);
            next = at + 1;
        }
    }
}

/// Reads a packed part of `count` numbers.
fn unpack_part(cursor: &mut Cursor<'_>, count: usize, out: &mut Vec<u64>) -> Result<(), DecodeError> {
    let width = u32::from(cursor.byte("a width")?);
    let exceptions = cursor.varint("a count of exceptions")?;
    if width > 64 || exceptions > count as u64 || (width == 64 && exceptions > 0) {
        return Err(DecodeError::Value("a width"));
    }
    let packed = cursor.bytes(packed_bytes(count, width), "packed numbers")?;
    let begun = out.len();
    unpack(packed, count, width, |value| out.push(value));
    let mut next = begun;
    for _ in 0..exceptions {
        let skip = cursor.varint("an exception's place")?;
        let at = usize::try_from(skip).ok().and_then(|skip| next.checked_add(skip));
        let value = at.and_then(|at| out.get_mut(at)).ok_or(DecodeError::Value("an exception's place"))?;
        *value |= cursor.varint("an exception")? << width;
        next = at.unwrap_or(next) + 1;
    }
    Ok(())
}

/// Few values, and which is where.
struct Dictionary {
    values: Vec<u64>,
    indexes: Vec<u8>,
}

impl Dictionary {
    fn of(values: &[u64]) -> Option<Self> {
        let mut found = Self { values: Vec::new(), indexes: Vec::with_capacity(values.len()) };
        // Where most of the first are distinct, the rest is not looked at.
        let mut slots = [0_u8; 256];
        for value in values {
            let mut slot = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
            let index = loop {
                match slots[slot] {
                    0 if found.values.len() == DICTIONARY_VALUES => return None,
                    0 => {
                        found.values.push(*value);
                        slots[slot] = found.values.len() as u8;
                        break found.values.len() - 1;
                    }
                    place if found.values[usize::from(place) - 1] == *value => break usize::from(place) - 1,
                    _ => slot = (slot + 1) % slots.len(),
                }
            };
            found.indexes.push(index as u8);
        }
        Some(found)
    }

    fn width(&self) -> u32 {
        width(self.values.len() as u64 - 1)
    }

    fn differences(&self) -> impl Iterator<Item = u64> {
        let befores = std::iter::once(0).chain(self.values.iter().copied());
        self.values.iter().zip(befores).map(|(value, before)| zigzag(value.wrapping_sub(before).cast_signed()))
    }

    fn bytes(&self) -> usize {
        1 + self.differences().map(varint_bytes).sum::<usize>() + packed_bytes(self.indexes.len(), self.width())
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_head(DICTIONARY, self.indexes.len(), out);
        put_varint(out, self.values.len() as u64 - 1);
        self.differences().for_each(|difference| put_varint(out, difference));
        pack(self.indexes.iter().map(|index| u64::from(*index)), self.width(), out);
    }

    fn read(cursor: &mut Cursor<'_>, count: usize, out: &mut Vec<u64>) -> Result<(), DecodeError> {
        let values = cursor.varint("a dictionary's count")?.saturating_add(1);
        if values > DICTIONARY_VALUES as u64 {
            return Err(DecodeError::Value("a dictionary's count"));
        }
        let mut dictionary = [0; DICTIONARY_VALUES];
        let mut last = 0_u64;
        for value in &mut dictionary[..values as usize] {
            last = last.wrapping_add(unzigzag(cursor.varint("a dictionary's value")?).cast_unsigned());
            *value = last;
        }
        let width = width(values - 1);
        let packed = cursor.bytes(packed_bytes(count, width), "packed indexes")?;
        let mut is_wrong = false;
        unpack(packed, count, width, |index| {
            is_wrong |= index >= values;
            out.push(dictionary[index as usize % DICTIONARY_VALUES]);
        });
        if is_wrong { Err(DecodeError::Value("a dictionary's index")) } else { Ok(()) }
    }
}

/// Reads one block behind the value `before`.
pub(super) fn read_block(cursor: &mut Cursor<'_>, before: u64, out: &mut Vec<u64>) -> Result<(), DecodeError> {
    let form = cursor.byte("a block's form")?;
    let count = cursor.varint("a block's count")?;
    if count >= BLOCK_VALUES as u64 {
        return Err(DecodeError::Value("a block's count"));
    }
    let count = count as usize + 1;
    out.clear();
    match form {
        STEPS => {
            let mut last = before;
            while out.len() < count {
                let difference = unzigzag(cursor.varint("a step")?).cast_unsigned();
                let times = cursor.varint("a step's count")?;
                if times >= (count - out.len()) as u64 {
                    return Err(DecodeError::Value("a step's count"));
                }
                for _ in 0..=times {
                    last = last.wrapping_add(difference);
                    out.push(last);
                }
            }
        }
        RANGE => {
            let least = cursor.varint("a least value")?;
            unpack_part(cursor, count, out)?;
            out.iter_mut().for_each(|value| *value = value.wrapping_add(least));
        }
        DIFFERENCES => {
            let least = unzigzag(cursor.varint("a least difference")?).cast_unsigned();
            unpack_part(cursor, count, out)?;
            let mut last = before;
            for value in out {
                last = last.wrapping_add(*value).wrapping_add(least);
                *value = last;
            }
        }
        DICTIONARY => Dictionary::read(cursor, count, out)?,
        _ => return Err(DecodeError::Value("a block's form")),
    }
    Ok(())
}

/// Reads a column, a block at a time.
pub(crate) struct IntReader<'a> {
    cursor: Cursor<'a>,
    last: u64,
    block: Vec<u64>,
    at: usize,
}

impl<'a> IntReader<'a> {
    pub(crate) fn new(first: u64, blocks: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(blocks), last: first, block: Vec::new(), at: 0 }
    }

    pub(crate) fn next(&mut self) -> Result<u64, DecodeError> {
        if self.at == self.block.len() {
            read_block(&mut self.cursor, self.last, &mut self.block)?;
            self.at = 0;
        }
        self.last = *self.block.get(self.at).ok_or(DecodeError::Short("a column"))?;
        self.at += 1;
        Ok(self.last)
    }

    /// Whether nothing is left.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.at < self.block.len() { Err(DecodeError::Value("a block's count")) } else { self.cursor.end() }
    }
}

#[cfg(test)]
mod tests;
