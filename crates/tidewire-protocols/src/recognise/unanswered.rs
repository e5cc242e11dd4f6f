//! A client's bytes that are of no known protocol: a server may still answer them in HTTP.

/// The beginning of a response of HTTP/1 (RFC 9112 section 4).
const STATUS_LINE: &[u8; 7] = b"HTTP/1.";

/// Bytes of the client behind which no answer is waited for.
const REQUEST_BYTES_MAX: u16 = 16 << 10;

/// A stream whose client's bytes were not recognised. Nothing of them is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    request_bytes: u16,
    /// Bytes of a status line that the server sent.
    answered_bytes: u8,
}

/// The finding about a server's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A response of HTTP, whose first bytes end behind so many of the last piece.
    Http(usize),
    /// More bytes may decide.
    Open,
    Unknown,
}

impl Unanswered {
    /// The beginning of a status line, which all bytes of one that is answered begin with.
    pub(crate) const STATUS_LINE: &[u8] = STATUS_LINE;

    /// With the first bytes of both directions, client first, and what they show.
    pub(super) fn of(bytes: [&[u8]; 2]) -> (Self, Answer) {
        let mut new = Self { request_bytes: 0, answered_bytes: 0 };
        let answer = match new.data(0, bytes[0]) {
            Answer::Open => new.data(1, bytes[1]),
            other => other,
        };
        (new, answer)
    }

    /// Takes bytes of a side.
    pub(crate) fn data(&mut self, side: usize, bytes: &[u8]) -> Answer {
        if side == 0 {
            let request_bytes = usize::from(self.request_bytes).saturating_add(bytes.len());
            return match u16::try_from(request_bytes) {
                Ok(request_bytes) if request_bytes <= REQUEST_BYTES_MAX => {
                    self.request_bytes = request_bytes;
                    Answer::Open
                }
                _ => Answer::Unknown,
            };
        }
        let wanted = &STATUS_LINE[usize::from(self.answered_bytes)..];
        let common = wanted.len().min(bytes.len());
        self.answered_bytes += common as u8;
        match bytes[..common] == wanted[..common] {
            false => Answer::Unknown,
            true if common == wanted.len() => Answer::Http(common),
            true => Answer::Open,
        }
    }

    /// Whether an answer is waited for though bytes of a side are missing.
    pub(crate) fn survives_gap(self, side: usize) -> bool {
        side == 0
    }
}
