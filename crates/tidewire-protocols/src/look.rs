//! Findings about first bytes, and the comparison of bytes.

use crate::{input::Ports, value::Service};

/// Bytes of a direction that are kept at most until its protocol is known.
pub(crate) const BYTES_MAX: usize = 512;

/// The finding about one direction's bytes.
#[derive(Debug)]
pub(crate) enum Look {
    Client(Service),
    Server(Service),
    Either(Service),
    Open,
    Unknown,
}

/// The ports of who sent bytes, and of the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) own: u16,
    pub(crate) peer: u16,
}

impl Ends {
    /// As the client (0) or the server (1) of a stream has them.
    pub(crate) fn of(side: usize, ports: Ports) -> Self {
        match side {
            0 => Self { own: ports.client, peer: ports.server },
            _ => Self { own: ports.server, peer: ports.client },
        }
    }

    pub(crate) fn have(self, port: u16) -> bool {
        self.own == port || self.peer == port
    }
}

/// Whether `bytes` begin with `pattern`, or are its beginning.
pub(crate) fn begins(bytes: &[u8], pattern: &[u8]) -> Option<bool> {
    let common = bytes.len().min(pattern.len());
    (bytes[..common] == pattern[..common]).then_some(common == pattern.len())
}

/// The same for a word in capital or small letters.
pub(crate) fn begins_word(bytes: &[u8], pattern: &[u8]) -> Option<bool> {
    let common = bytes.len().min(pattern.len());
    bytes[..common].eq_ignore_ascii_case(&pattern[..common]).then_some(common == pattern.len())
}
