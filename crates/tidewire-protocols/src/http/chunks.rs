//! Chunks of a body that came whole (RFC 9112 section 7.1): many in one pass.

use tidewire_types::hex;

use crate::{
    line::{self, past_blanks},
    work,
};

/// Digits of a chunk's size that are read at once.
const DIGITS_MAX: usize = 7;

/// Takes chunks with their size, extensions and the end behind them, as many as are all there, and adds their bytes. `false`: none is.
pub(super) fn take_chunks(bytes: &mut &[u8], body_bytes: &mut u64) -> bool {
    let (mut rest, mut sum) = (*bytes, 0);
    while let Some((size, behind)) = chunk(rest) {
        (rest, sum) = (behind, sum + size as u64);
    }
    let is_any = rest.len() < bytes.len();
    *body_bytes += sum;
    *bytes = rest;
    is_any
}

/// The size of a chunk that is not the last one, and the bytes behind it.
#[inline(always)]
fn chunk(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (mut size, mut rest) = (0_usize, bytes);
    while let Some((&digit, behind)) = rest.split_first()
        && let Some(value) = hex::value(digit)
    {
        size = size << 4 | usize::from(value);
        rest = behind;
        if bytes.len() - rest.len() == DIGITS_MAX {
            break;
        }
    }
    work::add(1 + bytes.len() - rest.len());
    let rest = behind_line(rest).or_else(|| behind_size(rest))?;
    if size == 0 {
        return None;
    }
    Some((size, behind_line(rest.get(size..)?)?))
}

/// The bytes behind the line of a chunk, behind its size: there are blanks or extensions.
#[inline]
fn behind_size(rest: &[u8]) -> Option<&[u8]> {
    let rest = past_blanks(rest);
    if let Some(behind) = rest.strip_prefix(b"\n") {
        return Some(behind);
    }
    let extension = rest.strip_prefix(b";")?;
    let end = line::find(extension, b'\n')?;
    work::pass(end);
    Some(&extension[end + 1..])
}

/// The bytes behind an end of a line.
#[inline(always)]
fn behind_line(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'\n', behind @ ..] | [b'\r', b'\n', behind @ ..] => Some(behind),
        _ => None,
    }
}
