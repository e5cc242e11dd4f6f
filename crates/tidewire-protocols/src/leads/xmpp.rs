//! XMPP (RFC 6120 section 5): elements, separated by their ends.

use super::kinds::{Lead, Look};

const STREAM: &[u8] = b"<stream:stream";
const DECLARATION: &[u8] = b"<?xml";

/// Bytes within which a stream's element begins.
const WITHIN: usize = 200;

pub(super) fn look(bytes: &[u8]) -> Look {
    for pattern in [STREAM, DECLARATION] {
        let common = bytes.len().min(pattern.len());
        if bytes[..common] != pattern[..common] {
            continue;
        }
        let window = &bytes[..bytes.len().min(WITHIN)];
        if window.windows(STREAM.len()).any(|part| part == STREAM) {
            // Both sides begin with it: the port does not matter, and the first one is the client's.
            return Look::Client(Lead::Xmpp);
        }
        return if bytes.len() < WITHIN { Look::Open } else { Look::Unknown };
    }
    Look::Unknown
}

/// Whether a client's element asks for TLS.
pub(super) fn asks(element: &[u8]) -> bool {
    element.trim_ascii_start().starts_with(b"<starttls")
}

/// The answer in a server's element: whether TLS begins behind it. An element with an end of its own goes on up to that.
pub(super) fn answer(element: &[u8]) -> Option<bool> {
    let element = element.trim_ascii_start();
    let is_end = element.ends_with(b"/>");
    match () {
        () if element.starts_with(b"</proceed") => Some(true),
        () if element.starts_with(b"<proceed") && is_end => Some(true),
        () if element.starts_with(b"<failure") => Some(false),
        () => None,
    }
}
