//! HTTP: request lines and status lines.

use crate::{
    http::METHODS,
    look::{Look, begins},
    value::Service,
};

/// Ends of empty lines that may come before a message of HTTP.
const EMPTY_BYTES_MAX: usize = 4;

/// Longest method that is recognised by its request line alone.
const METHOD_BYTES_MAX: usize = 32;

/// A request line or a status line (RFC 9112 sections 3 and 4), behind empty lines (section 2.2); the dissector looks at the rest of it.
pub(super) fn look(bytes: &[u8]) -> Look {
    let empty = bytes.iter().take(EMPTY_BYTES_MAX).take_while(|byte| b"\r\n".contains(byte)).count();
    let bytes = &bytes[empty..];
    if !bytes.first().is_none_or(u8::is_ascii_uppercase) {
        return Look::Unknown;
    }
    if METHODS.iter().any(|method| bytes.starts_with(method)) {
        return Look::Client(Service::Http);
    }
    match begins(bytes, b"HTTP/") {
        Some(true) => return Look::Server(Service::Http),
        Some(false) => return Look::Open,
        None => {}
    }
    // Any other method: the whole line shows it.
    let method = bytes
        .iter()
        .take(METHOD_BYTES_MAX)
        .take_while(|&&byte| byte.is_ascii_uppercase() || b"-_".contains(&byte))
        .count();
    match (bytes.get(method), memchr::memchr(b'\n', bytes)) {
        // A longer one has a letter behind these.
        (None, _) => Look::Open,
        (Some(b' '), None) => Look::Open,
        (Some(b' '), Some(end)) if is_request_line(&bytes[..end]) => Look::Client(Service::Http),
        _ => Look::Unknown,
    }
}

/// Whether a line ends with a version of HTTP/1.
fn is_request_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.len() > 9
        && matches!(&line[line.len() - 9..], [b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', digit] if digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict is open until the line is whole, however it is cut.
    #[test]
    fn a_method_of_any_length_is_open_until_its_line_is_there() {
        for length in [1, METHOD_BYTES_MAX - 1, METHOD_BYTES_MAX, METHOD_BYTES_MAX + 1] {
            let line = format!("{} /a HTTP/1.1\r\n", "R".repeat(length));
            let shown = |bytes: usize| look(&line.as_bytes()[..bytes]);
            let is_known = matches!(shown(line.len()), Look::Client(Service::Http));
            assert_eq!(is_known, length <= METHOD_BYTES_MAX, "{length}");
            if is_known {
                assert!((0..line.len()).all(|bytes| matches!(shown(bytes), Look::Open)), "{length}");
            }
        }
    }
}
