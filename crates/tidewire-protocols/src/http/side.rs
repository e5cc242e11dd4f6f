//! One direction: lines of heads, and how far a body goes.

use std::borrow::Cow;

use super::{
    chunks::take_chunks,
    framing::{Framing, LINE_BYTES_MAX},
    head,
};
use crate::{
    fields::Body,
    line::{Line, is_empty_line, near_ends, take_first, take_whole},
    work,
};

/// Lines of a head behind which only where it and its body end matters.
const LINES_MAX: u16 = 256;

/// Lines of a head behind which it is worth a closer look whether a field says anything new.
const ORDINARY_LINES_MAX: u32 = 8;

/// Longest start line that is found behind missing bytes.
const SOUGHT_BYTES_MAX: usize = 2 << 10;

/// Where a direction is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum At {
    /// Before a start line.
    #[default]
    Start,
    /// In a head, behind so many lines.
    Head(u16),
    /// In a body of which so much is left.
    Body(u64),
    /// In a body that the end of the stream ends.
    ToEnd,
    /// Before the size of a chunk.
    ChunkSize,
    /// In a chunk.
    Chunk(u64),
    /// Behind a chunk.
    ChunkEnd,
    /// Behind the last chunk.
    Trailer,
    /// Something else than HTTP follows, if the other side agrees.
    Tunnel,
    /// Bytes are missing; the next start line is looked for.
    Searching,
    /// This is no HTTP.
    Lost,
}

/// The next step of a direction.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// Needs more bytes.
    More,
    /// A line of a head without its end; an empty one ends it.
    Line(Cow<'a, [u8]>),
    /// Irrelevant lines of a head, which were skipped.
    Passed,
    /// The first start line behind missing bytes.
    Found(Cow<'a, [u8]>),
    /// Bytes for what is behind a proxy that has not consented yet.
    Early(&'a [u8]),
    /// A body ended.
    End,
    /// Not HTTP.
    Bad,
}

#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) at: At,
    pub(super) framing: Framing,
    /// Whether a body has begun and not ended.
    pub(super) has_body: bool,
    /// Bytes of the body so far, and bytes within it that are missing.
    pub(super) body_bytes: u64,
    pub(super) missing_bytes: u64,
    /// Whether an interim response came last, among the bytes that are being read.
    pub(super) is_interim: bool,
    /// Whether the stream's side ended by itself: that ends a body that nothing else ends.
    pub(super) is_closed: bool,
    line: Line,
    /// The end of a line in which a start line is looked for.
    kept: Vec<u8>,
}

impl Side {
    pub(super) fn memory_bytes(&self) -> usize {
        self.kept.capacity() + self.line.memory_bytes()
    }

    pub(super) fn lose(&mut self) {
        *self = Self { at: At::Lost, is_closed: self.is_closed, ..Self::default() };
    }

    /// Looks for the next start line.
    pub(super) fn search(&mut self) {
        *self = Self { at: At::Searching, is_closed: self.is_closed, ..Self::default() };
    }

    /// Begins a head.
    pub(super) fn begin_head(&mut self, is_unnamed: bool) {
        (self.at, self.framing) = (At::Head(0), Framing::begun(is_unnamed));
        (self.has_body, self.body_bytes, self.missing_bytes) = (false, 0, 0);
        self.is_interim = false;
    }

    /// Begins the body of a message that may have one. `without_length`: where nothing announces its end.
    pub(super) fn begin_body(&mut self, without_length: At) {
        self.at = match self.framing.announced() {
            _ if self.framing.is_chunked => At::ChunkSize,
            _ if self.framing.has_coding => At::ToEnd,
            Some(0) => At::Start,
            Some(left) => At::Body(left),
            None => without_length,
        };
        self.has_body = self.at != At::Start || self.framing.content_length.is_some();
    }

    /// Takes what is known of the body, if one began. `complete`: whether all of it was seen, if nothing of what was is missing.
    pub(super) fn take_ended_body(&mut self, complete: Option<bool>) -> Option<Body> {
        let (bytes, missing) = (std::mem::take(&mut self.body_bytes), std::mem::take(&mut self.missing_bytes));
        let complete = if missing > 0 { Some(false) } else { complete };
        let body = Body { bytes, missing, announced: self.framing.announced(), complete };
        std::mem::take(&mut self.has_body).then_some(body)
    }

    /// Bytes that will not come, `seen` of which passed without being read. `None`: they are more than a body; else whether it ended.
    pub(super) fn skip(&mut self, bytes: u64, seen: u64) -> Option<bool> {
        let left = match self.at {
            At::Body(left) | At::Chunk(left) => left,
            At::ToEnd => u64::MAX,
            _ => return None,
        };
        let seen = seen.min(bytes);
        if bytes <= left || seen == 0 {
            self.body_bytes += seen;
            self.missing_bytes += bytes.min(left) - seen;
        } else {
            // At least so many are of this body; nothing says which ones are missing.
            self.body_bytes += left.saturating_sub(bytes - seen);
        }
        self.at = match self.at {
            At::Body(_) | At::Chunk(_) if bytes > left => return None,
            At::Body(_) if left == bytes => At::Start,
            At::Body(_) => At::Body(left - bytes),
            At::Chunk(_) if left == bytes => At::ChunkEnd,
            At::Chunk(_) => At::Chunk(left - bytes),
            at => at,
        };
        Some(self.at == At::Start)
    }

    /// Whether a body is whole whose end lies among bytes that were not read, `seen` of which passed. `None`: that is not known.
    pub(super) fn is_whole_behind(&self, bytes: u64, seen: u64) -> Option<bool> {
        match self.at {
            At::Body(_) if seen >= bytes => Some(true),
            At::Body(_) | At::Chunk(_) | At::ChunkSize | At::ChunkEnd if seen > 0 => None,
            // Its last chunk was read.
            At::Trailer => Some(true),
            _ => Some(false),
        }
    }

    /// Whether a message has begun and not ended.
    pub(super) fn is_within_message(&self) -> bool {
        !matches!(self.at, At::Start | At::Searching | At::Lost | At::Tunnel)
    }

    /// Takes so many bytes of a body that goes on behind them. `false`: they are something else, and nothing was done.
    #[inline]
    pub(super) fn take_body(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        match &mut self.at {
            At::Body(left) | At::Chunk(left) if *left > bytes => *left -= bytes,
            At::ToEnd => {}
            _ => return false,
        }
        self.body_bytes += bytes;
        true
    }

    /// Bytes that [`take_body`](Self::take_body) would take.
    pub(super) fn body_room(&self) -> u64 {
        match self.at {
            At::Body(left) | At::Chunk(left) => left.saturating_sub(1),
            At::ToEnd => u64::MAX,
            _ => 0,
        }
    }

    /// Goes on to the next thing that matters. `is_request`: what start lines of this direction are.
    pub(super) fn step<'a>(&mut self, bytes: &mut &'a [u8], is_request: bool) -> Step<'a> {
        while !bytes.is_empty() {
            let at = self.at;
            match at {
                // RFC 9112 section 2.2: empty lines before a message are ignored.
                At::Start if self.line.take_empty(bytes) > 0 => {}
                At::Start if self.is_interim && pass_over_interim(bytes) => {}
                At::Head(lines) if self.take_fields(bytes, is_request, lines) => return Step::Passed,
                At::Start | At::Head(_) => return self.line(bytes).map_or(Step::More, Step::Line),
                At::Body(left) | At::Chunk(left) => {
                    let part = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    *bytes = &bytes[part..];
                    self.body_bytes += part as u64;
                    let left = left - part as u64;
                    let is_chunk = matches!(self.at, At::Chunk(_));
                    self.at = match (left, is_chunk) {
                        (0, true) => At::ChunkEnd,
                        (0, false) => At::Start,
                        (left, true) => At::Chunk(left),
                        (left, false) => At::Body(left),
                    };
                    if self.at == At::Start {
                        return Step::End;
                    }
                }
                At::ToEnd => {
                    self.body_bytes += bytes.len() as u64;
                    *bytes = &[];
                }
                At::Trailer if self.line.pass_over(bytes, is_empty_line) > 0 => {}
                At::ChunkSize if self.line.is_at_start() && take_chunks(bytes, &mut self.body_bytes) => {}
                At::ChunkSize | At::ChunkEnd | At::Trailer => {
                    let Some(line) = self.line(bytes) else { return Step::More };
                    match self.chunk_line(&line) {
                        Step::More => {}
                        step => return step,
                    }
                }
                At::Searching => {
                    if let Some(line) = self.found(bytes, is_request) {
                        self.at = At::Start;
                        return Step::Found(line);
                    }
                }
                At::Tunnel => return Step::Early(std::mem::take(bytes)),
                At::Lost => *bytes = &[],
            }
        }
        Step::More
    }

    /// Goes on to the end of a line; a start line at its end. A body ends anywhere, and what follows it has no line of its own.
    fn found<'a>(&mut self, bytes: &mut &'a [u8], is_request: bool) -> Option<Cow<'a, [u8]>> {
        let end = memchr::memchr(b'\n', bytes);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        work::pass(part.len());
        *bytes = rest.get(1..).unwrap_or_default();
        if end.is_some() && self.kept.is_empty() {
            let line = &part[part.len().saturating_sub(SOUGHT_BYTES_MAX)..];
            return head::start_line_at_end(line, is_request).map(Cow::Borrowed);
        }
        // The last bytes of the line, however it comes.
        let part = &part[part.len().saturating_sub(SOUGHT_BYTES_MAX)..];
        let excess = (self.kept.len() + part.len()).saturating_sub(SOUGHT_BYTES_MAX);
        self.kept.drain(..excess);
        self.kept.extend_from_slice(part);
        end?;
        let line = std::mem::take(&mut self.kept);
        head::start_line_at_end(&line, is_request).map(|line| Cow::Owned(line.to_vec()))
    }

    fn chunk_line(&mut self, line: &[u8]) -> Step<'static> {
        self.at = match (self.at, head::chunk_bytes(line)) {
            (At::ChunkSize, Some(0)) => At::Trailer,
            (At::ChunkSize, Some(bytes)) => At::Chunk(bytes),
            (At::ChunkEnd, _) if line.is_empty() => At::ChunkSize,
            (At::Trailer, _) if line.is_empty() => At::Start,
            (At::Trailer, _) => At::Trailer,
            _ => return Step::Bad,
        };
        if self.at == At::Start { Step::End } else { Step::More }
    }

    /// Takes lines of a head, behind so many, that are irrelevant but for how the body ends. `false`: there are none.
    fn take_fields(&mut self, bytes: &mut &[u8], is_request: bool, before: u16) -> bool {
        let before = u32::from(before);
        if !self.line.is_at_start() || before < ORDINARY_LINES_MAX && Framing::may_want(bytes) {
            return false;
        }
        if self.framing.keeps(bytes) {
            return false;
        }
        let taken = take_irrelevant(&mut self.framing, bytes, is_request, before);
        if taken > 0 {
            self.at = At::Head(u16::try_from(before.saturating_add(taken)).unwrap_or(u16::MAX));
            self.bound_lines();
        }
        taken > 0
    }

    /// Takes a line, without its end; `None`: it is not complete.
    fn line<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let without_end = |line: &[u8]| {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = &text[..text.len().min(LINE_BYTES_MAX)];
            text.strip_suffix(b"\r").unwrap_or(text).len()
        };
        Some(match self.line.take(bytes, b'\n', LINE_BYTES_MAX + 1)? {
            Cow::Borrowed(line) => Cow::Borrowed(&line[..without_end(line)]),
            Cow::Owned(mut line) => {
                line.truncate(without_end(&line));
                Cow::Owned(line)
            }
        })
    }

    /// Counts a line of a head: behind very many the rest is ignored.
    pub(super) fn count_line(&mut self) {
        let At::Head(lines) = &mut self.at else { return };
        *lines = lines.saturating_add(1);
        self.bound_lines();
    }

    fn bound_lines(&mut self) {
        self.framing.is_unnamed |= matches!(self.at, At::Head(lines) if lines > LINES_MAX);
    }
}

/// Takes such lines; how many.
#[inline(never)]
fn take_irrelevant(framing: &mut Framing, bytes: &mut &[u8], is_request: bool, before: u32) -> u32 {
    let (mut now, mut behind, mut taken) = (*framing, *bytes, 0_u32);
    loop {
        let (mut rest, ends) = (behind, near_ends(behind));
        let is_ordinary = before + taken < ORDINARY_LINES_MAX;
        let lines = if is_ordinary { 0 } else { now.take_short(&mut rest, ends) };
        if lines > 0 {
            (taken, behind) = (taken + lines, rest);
            continue;
        }
        let Some(line) = take_first(&mut rest, ends) else { break };
        if is_ordinary && Framing::may_want(line) || !now.take(line, is_request) {
            break;
        }
        (taken, behind) = (taken + 1, rest);
    }
    (*framing, *bytes) = (now, behind);
    taken
}

/// Takes interim responses, each of which another one follows that is complete: that one says all that stays of them. `false`: there are
/// none.
fn pass_over_interim(bytes: &mut &[u8]) -> bool {
    let (mut rest, mut last) = (*bytes, *bytes);
    'heads: while let Some(line) = take_whole(&mut rest) {
        if is_empty_line(line) {
            continue;
        }
        let begin = &last[last.len() - rest.len() - line.len()..];
        if line.len() > LINE_BYTES_MAX || !head::is_interim(line) {
            break;
        }
        loop {
            let Some(line) = take_whole(&mut rest) else { break 'heads };
            if is_empty_line(line) {
                break;
            }
        }
        last = begin;
    }
    let passed = last.len() < bytes.len();
    *bytes = last;
    passed
}
