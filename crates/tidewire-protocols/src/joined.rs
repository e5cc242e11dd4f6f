//! A stream that was joined within a message: what begins a message later shows its protocol.
//!
//! Where a side speaks behind the other one, it begins a message. Within what a side says, messages of HTTP are found by their start
//! lines, each with a field or the end of a head behind it. Anything else says nothing.

use crate::{
    http,
    input::Ports,
    look::{BYTES_MAX, Look},
    recognise,
    value::Service,
    work,
};

/// Longest end of a line in which a start line is looked for, bytes.
const LINE_BYTES_MAX: usize = 2 << 10;

/// Bytes of a side whose lines are looked at: the rest of a message is longer only where it is a large file.
const LINES_BYTES_MAX: u32 = 1 << 20;

/// Bytes of the sides while nothing is known.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    sides: [Seeker; 2],
    /// Who spoke last.
    last: Option<usize>,
}

#[derive(Debug, Default)]
struct Seeker {
    /// Bytes of the side since it spoke last, while they may be the beginning of a message.
    turn: Vec<u8>,
    is_open: bool,
    /// The end of a line that is not complete, and a start line before it.
    line: Vec<u8>,
    start_line: Option<(Vec<u8>, bool)>,
    looked_at: u32,
}

/// A message that begins.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) service: Service,
    /// Whether the protocol's client is the stream's server.
    pub(crate) swapped: bool,
    /// Its first bytes, which end behind `taken` bytes of the piece.
    pub(crate) bytes: Vec<u8>,
    pub(crate) taken: usize,
}

impl Joined {
    /// Takes bytes of a side.
    pub(crate) fn data(&mut self, side: usize, bytes: &[u8], ports: Ports) -> Option<Found> {
        let seeker = &mut self.sides[side];
        if self.last.replace(side) != Some(side) {
            let before = std::mem::take(&mut seeker.turn);
            // The bytes of the side before were too short to be a message: the rest of one, maybe.
            seeker.lines(&before);
            seeker.is_open = true;
        }
        if !seeker.is_open {
            let (start_line, swapped, taken) = seeker.found(side, bytes)?;
            return Some(Found { service: Service::Http, swapped, bytes: start_line, taken });
        }
        let taken = bytes.len().min(BYTES_MAX.saturating_sub(seeker.turn.len()));
        seeker.turn.extend_from_slice(&bytes[..taken]);
        let (service, swapped) = match recognise::turn(&seeker.turn, side, ports) {
            Look::Client(service) => (service, side == 1),
            Look::Server(service) => (service, side == 0),
            Look::Either(service) => (service, false),
            Look::Open => return None,
            Look::Unknown => {
                seeker.is_open = false;
                let turn = std::mem::take(&mut seeker.turn);
                if let Some((start_line, swapped, end)) = seeker.found(side, &turn) {
                    let bytes = [&start_line, &turn[end..]].concat();
                    return Some(Found { service: Service::Http, swapped, bytes, taken });
                }
                let (start_line, swapped, end) = seeker.found(side, &bytes[taken..])?;
                return Some(Found { service: Service::Http, swapped, bytes: start_line, taken: taken + end });
            }
        };
        Some(Found { service, swapped, bytes: std::mem::take(&mut seeker.turn), taken })
    }

    /// Whether more bytes of a side have no effect until the other one sends some.
    #[inline]
    pub(crate) fn passes_over(&self, side: usize) -> bool {
        let seeker = &self.sides[side];
        self.last == Some(side) && !seeker.is_open && seeker.has_enough()
    }

    /// Bytes of a side are missing: what follows is within a message again.
    pub(crate) fn gap(&mut self, side: usize) {
        let looked_at = self.sides[side].looked_at;
        self.sides[side] = Seeker { looked_at, ..Seeker::default() };
        self.last = Some(side);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let of = |seeker: &Seeker| {
            let start_line = seeker.start_line.as_ref().map_or(0, |(line, _)| line.capacity());
            seeker.turn.capacity() + seeker.line.capacity() + start_line
        };
        size_of::<Self>() + self.sides.iter().map(of).sum::<usize>()
    }
}

impl Seeker {
    /// Looks for the head of a message in lines: its beginning, whether its sender is the server of the stream that asks or its client that
    /// answers, and where it ends in `bytes`.
    fn found(&mut self, side: usize, bytes: &[u8]) -> Option<(Vec<u8>, bool, usize)> {
        let (head, is_request, end) = self.lines(bytes)?;
        Some((head, is_request == (side == 1), end))
    }

    /// Whether lines are not looked at any more.
    fn has_enough(&self) -> bool {
        self.looked_at >= LINES_BYTES_MAX
    }

    fn lines(&mut self, bytes: &[u8]) -> Option<(Vec<u8>, bool, usize)> {
        if self.has_enough() {
            return None;
        }
        self.looked_at = self.looked_at.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        work::pass(bytes.len());
        let mut from = 0;
        while let Some(length) = memchr::memchr(b'\n', &bytes[from..]) {
            self.keep(&bytes[from..from + length]);
            from += length + 1;
            let line = std::mem::take(&mut self.line);
            work::pass(line.len());
            if let Some((start_line, is_request)) = self.start_line.take()
                && http::is_field_line(&line)
            {
                return Some(([&start_line[..], b"\r\n", &line, b"\n"].concat(), is_request, from));
            }
            let start = [true, false].into_iter().find_map(|is_request| {
                http::start_line_at_end(&line, is_request).map(|start| (start.to_vec(), is_request))
            });
            self.start_line = start;
        }
        self.keep(&bytes[from..]);
        None
    }

    /// Keeps the end of a line.
    fn keep(&mut self, part: &[u8]) {
        let part = &part[part.len().saturating_sub(LINE_BYTES_MAX)..];
        let excess = (self.line.len() + part.len()).saturating_sub(LINE_BYTES_MAX);
        self.line.drain(..excess);
        self.line.extend_from_slice(part);
    }
}
