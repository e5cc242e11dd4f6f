//! SSH: its identification, which a server may send behind other lines.

use crate::{
    look::{BYTES_MAX, Look, begins},
    value::Service,
};

/// The identification (RFC 4253 section 4.2).
pub(super) fn look(bytes: &[u8]) -> Look {
    match begins(bytes, b"SSH-") {
        Some(true) => Look::Either(Service::Ssh),
        Some(false) => Look::Open,
        None => Look::Unknown,
    }
}

/// A server that sends lines of text before its identification (RFC 4253 section 4.2), which a client does not. `has_client`: the
/// client's identification came before.
pub(super) fn behind_lines(bytes: &[u8], has_client: bool) -> Look {
    // Later bytes change nothing, so that the verdict is the same however the stream was cut.
    let bytes = &bytes[..bytes.len().min(BYTES_MAX)];
    let at = if bytes.starts_with(b"SSH-") { Some(0) } else { memchr::memmem::find(bytes, b"\nSSH-") };
    let lines = &bytes[..at.unwrap_or(bytes.len())];
    let is_binary = |&byte: &u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
    match at {
        _ if lines.iter().any(is_binary) => Look::Unknown,
        Some(_) => Look::Server(Service::Ssh),
        None if has_client => Look::Server(Service::Ssh),
        None if bytes.len() < BYTES_MAX => Look::Open,
        None => Look::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identification_behind_too_many_lines_is_ignored_however_it_comes() {
        for (lines, is_known) in [(BYTES_MAX - 5, true), (BYTES_MAX - 4, false)] {
            let bytes = [vec![b'x'; lines], b"\nSSH-2.0-x\r\n".to_vec()].concat();
            let shown = |count: usize| matches!(behind_lines(&bytes[..count], false), Look::Server(Service::Ssh));
            assert_eq!(shown(bytes.len()), is_known, "{lines}");
            assert_eq!((0..=bytes.len()).any(shown), is_known, "{lines}");
        }
    }
}
