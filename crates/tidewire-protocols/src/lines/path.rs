//! Addresses of mails in commands.

use crate::text::trimmed;

/// The address of `FROM:<address> PARAMETERS` (RFC 5321 section 4.1.2): a quoted local part and an address literal may hold what ends
/// one elsewhere. A source route is part of it.
pub(super) fn path(rest: &[u8]) -> &[u8] {
    let behind = rest.iter().position(|&byte| byte == b':').map_or(rest, |at| trimmed(&rest[at + 1..]));
    match behind.strip_prefix(b"<") {
        Some(inner) => until(inner, b'>'),
        None => until(behind, b' '),
    }
}

/// The bytes before the first `end` that is neither quoted nor within brackets.
fn until(bytes: &[u8], end: u8) -> &[u8] {
    // An unclosed quotation is no quotation.
    let first = || bytes.split(|&byte| byte == end).next().unwrap_or_default();
    let (mut closing, mut is_escaped) = (None, false);
    for (at, &byte) in bytes.iter().enumerate() {
        match closing {
            _ if is_escaped => is_escaped = false,
            Some(_) if byte == b'\\' => is_escaped = true,
            Some(close) if byte == close => closing = None,
            Some(_) => {}
            None if byte == end => return &bytes[..at],
            None if byte == b'"' => closing = Some(b'"'),
            None if byte == b'[' => closing = Some(b']'),
            None => {}
        }
    }
    if closing.is_some() { first() } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_local_parts_may_hold_anything() {
        let cases = [
            ("FROM:<a@example.org> SIZE=3", "a@example.org"),
            (r#"TO:<"a>b"@example.org> NOTIFY=NEVER"#, r#""a>b"@example.org"#),
            (r#"TO:<"a\">b"@example.org>"#, r#""a\">b"@example.org"#),
            (r#"TO: "a b"@example.org X=y"#, r#""a b"@example.org"#),
            (r#"TO:<"a\\"@example.org> <c>"#, r#""a\\"@example.org"#),
            ("TO:<a@[x:b>c]>", "a@[x:b>c]"),
            ("TO:<@relay.example:u@example.org>", "@relay.example:u@example.org"),
            ("TO:<@relay.example:\"u>\"@example.org>", "@relay.example:\"u>\"@example.org"),
            ("TO:<\u{fc}\u{4f60}@example.org>", "\u{fc}\u{4f60}@example.org"),
            ("FROM:<> SIZE=5", ""),
            // Never closed.
            (r#"TO:<"a>b@example.org"#, r#""a"#),
            (r#"TO:<a@example.org"#, "a@example.org"),
            (r#"TO:<a\>b"#, r#"a\"#),
            ("TO", "TO"),
        ];
        for (rest, expected) in cases {
            assert_eq!(path(rest.as_bytes()), expected.as_bytes(), "{rest}");
        }
    }
}
