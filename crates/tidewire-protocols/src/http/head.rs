//! Start lines and fields (RFC 9112 sections 3 to 5, RFC 9110 section 5), read leniently: what hosts accept is reported.

use std::borrow::Cow;

use super::fields::Http;
use crate::text::{known_text, long_text, text, trimmed};

/// Longest line that is kept; the rest of a longer one is left out.
pub(super) const LINE_BYTES_MAX: usize = 8 << 10;

/// Longest version of a status line.
const VERSION_BYTES_MAX: usize = 8;

/// The version of requests that have none.
pub(super) const SIMPLE: &str = "0.9";

/// What most messages say.
const VERSIONS: [&str; 2] = ["1.1", "1.0"];
const METHODS: [&str; 6] = ["GET", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT"];
const REASONS: [&str; 8] =
    ["OK", "Not Modified", "Found", "Not Found", "Moved Permanently", "No Content", "Partial Content", "Forbidden"];

/// How the body behind a head ends (RFC 9112 section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) content_length: Option<u64>,
    pub(super) is_chunked: bool,
    /// The sender asks for another protocol behind the head (RFC 9110 section 7.8).
    pub(super) is_upgrade: bool,
}

/// A request line. `false`: it is none.
pub(super) fn request_line(line: &[u8], http: &mut Http) -> bool {
    let mut parts = line.splitn(2, |&byte| byte == b' ');
    let (Some(method), Some(rest)) = (parts.next(), parts.next()) else { return false };
    let rest = trimmed(rest);
    if method.is_empty() || !method.iter().all(|&byte| is_token(byte)) {
        return false;
    }
    // A target may be missing.
    let behind = memchr::memrchr(b' ', rest).map_or(0, |at| at + 1);
    let (target, version) = match version_of(&rest[behind..]) {
        Some(version) => (trimmed(&rest[..behind]), Some(version)),
        // The version was cut off with the end of the line.
        None if line.len() >= LINE_BYTES_MAX => (rest, None),
        None => return simple_request(line, http),
    };
    http.method = Some(known_text(method, &METHODS));
    http.version = version;
    http.host = authority(method, target).map(without_port).map(text);
    http.path = Some(long_text(target));
    true
}

/// A request of HTTP/0.9 (RFC 1945 section 5.1), which has no version. `false`: it is none.
fn simple_request(line: &[u8], http: &mut Http) -> bool {
    let Some(target) = line.strip_prefix(b"GET ").map(trimmed) else { return false };
    if !(target.starts_with(b"/") || target.starts_with(b"http://")) || target.contains(&b' ') {
        return false;
    }
    http.method = Some("GET".into());
    http.version = Some(SIMPLE.into());
    http.host = authority(b"GET", target).map(without_port).map(text);
    http.path = Some(long_text(target));
    true
}

/// A status line, whose code may be damaged or missing. `false`: it is none.
pub(super) fn status_line(line: &[u8], http: &mut Http) -> bool {
    let Some(rest) = line.strip_prefix(b"HTTP/") else { return false };
    let version_bytes = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (version, rest) = rest.split_at(version_bytes);
    let is_version = (1..=VERSION_BYTES_MAX).contains(&version.len()) && version[0].is_ascii_digit();
    if !is_version {
        return false;
    }
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    let code = rest[..digits].iter().fold(0, |sum, digit| 10 * sum + u16::from(digit - b'0'));
    http.status = (digits > 0).then_some(code);
    let behind = rest.iter().position(u8::is_ascii_whitespace).map_or(&[][..], |blank| trimmed(&rest[blank..]));
    http.reason = (!behind.is_empty()).then(|| known_text(behind, &REASONS));
    http.version.get_or_insert_with(|| known_text(version, &VERSIONS));
    true
}

/// `1.1` of `HTTP/1.1`.
fn version_of(bytes: &[u8]) -> Option<Cow<'static, str>> {
    let version = bytes.strip_prefix(b"HTTP/")?;
    matches!(version, [b'1', b'.', digit] if digit.is_ascii_digit()).then(|| known_text(version, &VERSIONS))
}

/// RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The host of a target that names one (RFC 9112 section 3.2).
fn authority<'a>(method: &[u8], target: &'a [u8]) -> Option<&'a [u8]> {
    if method == b"CONNECT" {
        return Some(target).filter(|target| !target.contains(&b'/'));
    }
    let behind = target.windows(3).take(16).position(|window| window == b"://")? + 3;
    let rest = &target[behind..];
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let authority = &rest[..end];
    let user = memchr::memrchr(b'@', authority).map_or(0, |at| at + 1);
    Some(&authority[user..])
}

/// The host of an authority; addresses of IPv6 keep their brackets.
fn without_port(authority: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', authority) {
        Some(colon) if authority[colon + 1..].iter().all(u8::is_ascii_digit) => &authority[..colon],
        _ => authority,
    }
}

/// A field of a request's or a response's head.
pub(super) fn field(line: &[u8], is_request: bool, http: &mut Http, framing: &mut Framing) {
    let Some(colon) = memchr::memchr(b':', line) else { return };
    let (name, value) = (trimmed(&line[..colon]), trimmed(&line[colon + 1..]));
    let place = match name.len() {
        4 if is_request && name.eq_ignore_ascii_case(b"host") => {
            if !value.is_empty() {
                http.host = Some(text(without_port(value)));
            }
            return;
        }
        10 if is_request && name.eq_ignore_ascii_case(b"user-agent") => &mut http.user_agent,
        7 if is_request && name.eq_ignore_ascii_case(b"referer") => &mut http.referrer,
        12 if name.eq_ignore_ascii_case(b"content-type") => match is_request {
            true => &mut http.request_type,
            false => &mut http.content_type,
        },
        6 if !is_request && name.eq_ignore_ascii_case(b"server") => &mut http.server,
        8 if !is_request && name.eq_ignore_ascii_case(b"location") => &mut http.location,
        14 if name.eq_ignore_ascii_case(b"content-length") => {
            framing.content_length = framing.content_length.or(length(value));
            return;
        }
        17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
            let last = value.rsplit(|&byte| byte == b',').next().map(trimmed).unwrap_or_default();
            framing.is_chunked |= last.eq_ignore_ascii_case(b"chunked");
            return;
        }
        7 if name.eq_ignore_ascii_case(b"upgrade") => {
            framing.is_upgrade = true;
            return;
        }
        _ => return,
    };
    if place.is_none() && !value.is_empty() {
        // Addresses may be long.
        let is_address = matches!(name.len(), 7 | 8);
        *place = Some(if is_address { long_text(value) } else { text(value) });
    }
}

/// A number in decimal.
fn length(value: &[u8]) -> Option<u64> {
    let is_number = (1..=18).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| value.iter().fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0')))
}

/// The size of a chunk (RFC 9112 section 7.1); extensions are left out.
pub(super) fn chunk_bytes(line: &[u8]) -> Option<u64> {
    let digits = trimmed(line.split(|&byte| byte == b';').next().unwrap_or_default());
    let digit = |byte: u8| char::from(byte).to_digit(16).map(u64::from);
    if !(1..=15).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |sum, &byte| Some(16 * sum + digit(byte)?))
}
