//! Takes blocks out of a segment that lie where its checksums do not hold: the disk changed something there, and what that was is unknown.
//!
//! What is taken out is overwritten with statistics of an interface, whose only content is a comment: a block that no program takes
//! for a packet. So everything behind stays where it is. After a crash meanwhile the next repair does it again, and takes what is written here
//! for damage as well.

use std::ops::Range;

use crate::{Error, read_at::ReadAt};

/// Types of blocks that a recorder writes: description of an interface, its statistics, packet.
const DESCRIPTION: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const SECTION: u32 = 0x0a0d_0d0a;
/// Bytes of a block at most: a packet and its options.
const BLOCK_BYTES_MAX: u64 = 17 << 20;
/// A run of blocks behind damage is taken for blocks of the file, and not for a payload that looks like blocks, if it is longer than any packet,
/// or ends where it should.
const SEQUENCE_BYTES: u64 = 1 << 20;
/// How far the next block is looked for.
const SEARCH_BYTES: u64 = 4 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;
/// Bytes of a block that is written in the place of others: its options are shorter than 64 KiB.
const FILLER_BYTES_MAX: u64 = 60_000;
/// Statistics of an interface without options.
const FILLER_BYTES_MIN: u64 = 24;
const COMMENT: &str = "what was here was changed by the disk, and taken out by the repair of this segment. ";

/// Treatment of damage.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cure {
    /// The blocks in this range are taken out.
    TakeOut(Range<u64>),
    /// The segment ends here: no block is found behind.
    End(u64),
    /// A block that all packets depend on is damaged.
    Nothing,
}

/// The blocks of a segment, read ahead.
struct Blocks<'a> {
    data: &'a mut dyn ReadAt,
    buffer: Vec<u8>,
    from: u64,
    end: u64,
}

impl Blocks<'_> {
    fn word(&mut self, at: u64) -> Result<Option<u32>, Error> {
        let is_there = at >= self.from && at + 4 <= self.from + self.buffer.len() as u64;
        if !is_there {
            self.data.read_at(at, READ_BYTES, &mut self.buffer)?;
            self.from = at;
        }
        let found = self.buffer.get((at - self.from) as usize..).and_then(|rest| rest.first_chunk());
        Ok(found.map(|bytes| u32::from_le_bytes(*bytes)))
    }

    /// The end of the block that begins here; `None`: there is none, or it is not whole.
    fn block(&mut self, at: u64) -> Result<Option<u64>, Error> {
        let kinds = if at == 0 { &[SECTION][..] } else { &[DESCRIPTION, STATISTICS, PACKET] };
        if self.word(at)?.is_none_or(|kind| !kinds.contains(&kind)) {
            return Ok(None);
        }
        let Some(length) = self.word(at + 4)? else { return Ok(None) };
        let (bytes, end) = (u64::from(length), at + u64::from(length));
        if bytes < 12 || !bytes.is_multiple_of(4) || bytes > BLOCK_BYTES_MAX || end > self.end {
            return Ok(None);
        }
        Ok((self.word(end - 4)? == Some(length)).then_some(end))
    }

    /// Whether a sequence of blocks begins here. `end`: where it may end.
    fn is_sequence(&mut self, from: u64, end: u64) -> Result<bool, Error> {
        let mut at = from;
        while at < end && at - from < SEQUENCE_BYTES {
            match self.block(at)? {
                Some(next) => at = next,
                // The last one was not written whole.
                None => return Ok(at > from && end == self.end && end - at < BLOCK_BYTES_MAX && self.begins(at)?),
            }
        }
        Ok(true)
    }

    /// Whether a block begins here that ends behind all that is there.
    fn begins(&mut self, at: u64) -> Result<bool, Error> {
        let kind = self.word(at)?;
        let length = self.word(at + 4)?;
        Ok(kind.is_none_or(|kind| [DESCRIPTION, STATISTICS, PACKET].contains(&kind))
            && length.is_none_or(|length| at + u64::from(length) > self.end))
    }
}

/// Finds what is to be done about each damaged range of a segment, which has `end` bytes. Ranges are in order, and do not overlap.
///
/// # Errors
/// It cannot be read.
pub(crate) fn cures(data: &mut dyn ReadAt, end: u64, damaged: &[Range<u64>]) -> Result<Vec<Cure>, Error> {
    let mut blocks = Blocks { data, buffer: Vec::new(), from: 0, end };
    let (mut at, mut cures) = (0, Vec::new());
    for (place, range) in damaged.iter().enumerate() {
        if range.start == 0 {
            return Ok(vec![Cure::Nothing]);
        }
        if range.end <= at {
            continue;
        }
        let next_damage = damaged.get(place + 1).map_or(end, |next| next.start);
        // Up to the first block that is touched.
        let first = loop {
            match blocks.block(at)? {
                Some(next) if next <= range.start => at = next,
                _ => break at,
            }
        };
        // Where only the content of packets is changed, blocks still follow each other.
        while at < range.end {
            let Some(next) = blocks.block(at)? else { break };
            at = next;
        }
        // Behind lies a sequence that no other damage ends at once.
        let is_before = |at: u64| at < next_damage || at == end;
        let is_behind = at >= range.end && is_before(at);
        let mut found = (is_behind && blocks.is_sequence(at, next_damage)?).then_some(at);
        let mut candidate = range.end.next_multiple_of(4);
        while found.is_none() && candidate < next_damage.min(range.end + SEARCH_BYTES) {
            if blocks.block(candidate)?.is_some() && blocks.is_sequence(candidate, next_damage)? {
                found = Some(candidate);
            }
            candidate += 4;
        }
        match found.filter(|found| found - first >= FILLER_BYTES_MIN) {
            Some(behind) => {
                cures.push(Cure::TakeOut(first..behind));
                at = behind;
            }
            None => {
                cures.push(Cure::End(first));
                break;
            }
        }
    }
    Ok(cures)
}

/// Filler in the place of blocks that had so many bytes: a multiple of four.
pub(crate) fn filler(mut bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while bytes >= FILLER_BYTES_MIN {
        let mut length = bytes.min(FILLER_BYTES_MAX);
        if bytes - length > 0 && bytes - length < FILLER_BYTES_MIN {
            length -= FILLER_BYTES_MIN;
        }
        push_filler(&mut out, length as u32);
        bytes -= length;
    }
    out
}

fn push_filler(out: &mut Vec<u8>, length: u32) {
    let end = out.len() + length as usize;
    [STATISTICS, length, 0, 0, 0].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    // A comment, and the end of options, if there is room for both.
    if let Some(room) = (length as usize - FILLER_BYTES_MIN as usize).checked_sub(8) {
        out.extend_from_slice(&1_u16.to_le_bytes());
        out.extend_from_slice(&(room as u16).to_le_bytes());
        out.extend(COMMENT.bytes().cycle().take(room));
    }
    out.resize(end - 4, 0);
    out.extend_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests;
