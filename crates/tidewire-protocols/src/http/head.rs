//! Start lines and fields (RFC 9112 sections 3 to 5, RFC 9110 section 5), read leniently: what hosts accept is reported.

use std::borrow::Cow;

use super::{
    framing::{Framing, LINE_BYTES_MAX, Name, length},
    methods::METHODS,
};
use crate::{
    fields::Http,
    text::{LONG_TEXT_BYTES_MAX, bytes_of_text, known_text, long_text, text, trimmed},
    work,
};

/// Longest version of a status line.
const VERSION_BYTES_MAX: usize = 8;

/// The version of requests that have none.
pub(super) const SIMPLE: &str = "0.9";

/// The texts of most messages.
const VERSIONS: [&str; 2] = ["1.1", "1.0"];
const COMMON_METHODS: [&str; 6] = ["GET", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT"];
const REASONS: [&str; 8] =
    ["OK", "Not Modified", "Found", "Not Found", "Moved Permanently", "No Content", "Partial Content", "Forbidden"];

/// Parses a request line. `false`: it is invalid. `is_unnamed`: its target is not wanted.
pub(super) fn request_line(line: &[u8], http: &mut Http, is_unnamed: bool) -> bool {
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
        // An invalid version: servers answer as if it were 1.0 or 1.1.
        None if is_damaged_version(&rest[behind..]) => (trimmed(&rest[..behind]), None),
        None => return simple_request(line, http),
    };
    http.method = Some(known_text(method, &COMMON_METHODS));
    http.version = version;
    if is_unnamed {
        return true;
    }
    set_host(http, authority(method, target));
    http.path = Some(long_text(target));
    true
}

/// A request of HTTP/0.9 (RFC 1945 section 5.1), which has no version. `false`: it is invalid.
fn simple_request(line: &[u8], http: &mut Http) -> bool {
    let Some(target) = line.strip_prefix(b"GET ").map(trimmed) else { return false };
    if !(target.starts_with(b"/") || target.starts_with(b"http://")) || target.contains(&b' ') {
        return false;
    }
    http.method = Some("GET".into());
    http.version = Some(SIMPLE.into());
    set_host(http, authority(b"GET", target));
    http.path = Some(long_text(target));
    true
}

/// A status line (RFC 9112 section 4).
pub(super) struct StatusLine {
    pub(super) version: Cow<'static, str>,
    pub(super) code: Option<u16>,
    pub(super) reason: Option<Cow<'static, str>>,
}

/// Parses a status line, whose code may be damaged or missing. `None`: it is invalid.
pub(super) fn status_line(line: &[u8]) -> Option<StatusLine> {
    let (version, code, rest) = status(line)?;
    let behind = rest.iter().position(u8::is_ascii_whitespace).map_or(&[][..], |blank| trimmed(&rest[blank..]));
    Some(StatusLine {
        version: known_text(version, &VERSIONS),
        code,
        reason: (!behind.is_empty()).then(|| known_text(behind, &REASONS)),
    })
}

/// Whether another response to the same request follows this one (RFC 9110 section 15.2): its code is 1xx, but not 101.
pub(super) fn is_interim(line: &[u8]) -> bool {
    matches!(status(line), Some((_, Some(100 | 102..=199), _)))
}

/// Version and code of a status line, and the bytes from the code on.
#[inline]
fn status(line: &[u8]) -> Option<(&[u8], Option<u16>, &[u8])> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let version_bytes = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (version, rest) = rest.split_at(version_bytes);
    let is_version = (1..=VERSION_BYTES_MAX).contains(&version.len()) && version[0].is_ascii_digit();
    if !is_version {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    let code = rest[..digits].iter().fold(0, |sum, digit| 10 * sum + u16::from(digit - b'0'));
    Some((version, (digits > 0).then_some(code), rest))
}

/// The start line that a line ends with, if it is one beyond doubt: what precedes it may be the end of a body.
/// `line`: without its line feed.
pub(crate) fn start_line_at_end(line: &[u8], is_request: bool) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\r")?;
    if !is_request {
        let status_line = &line[memchr::memmem::rfind(line, b"HTTP/1.")?..];
        let (version, code) = status_line.split_at_checked(b"HTTP/1.1".len())?;
        let code = version_of(version).and_then(|_| code.strip_prefix(b" "))?;
        let is_code = matches!(code, [b'1'..=b'5', tens, units, ..] if tens.is_ascii_digit() && units.is_ascii_digit());
        return (is_code && code.get(3).is_none_or(|&byte| byte == b' ')).then_some(status_line);
    }
    let (before, version) = line.split_at_checked(line.len().checked_sub(b" HTTP/1.1".len())?)?;
    version_of(version.strip_prefix(b" ")?)?;
    let target = memchr::memrchr(b' ', before)?;
    let ends = |method: &&&[u8]| before[..=target].ends_with(method);
    // (`BCOPY` ends with `COPY`.)
    let method = METHODS.iter().filter(ends).max_by_key(|method| method.len())?;
    Some(&line[target + 1 - method.len()..])
}

/// `1.1` of `HTTP/1.1`.
fn version_of(bytes: &[u8]) -> Option<Cow<'static, str>> {
    let version = bytes.strip_prefix(b"HTTP/")?;
    matches!(version, [b'1', b'.', digit] if digit.is_ascii_digit()).then(|| known_text(version, &VERSIONS))
}

/// Whether bytes in the place of the version are a damaged one, as `HTTP/1.` or `HTTP/1.01`. HTTP/2 has no request lines.
fn is_damaged_version(bytes: &[u8]) -> bool {
    let is_version = |version: &[u8]| version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    bytes.strip_prefix(b"HTTP/1").is_some_and(is_version)
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

/// Whether a value of the field Host names what the target names: in any letters, with its port or without.
fn is_target(http: &Http, value: &[u8]) -> bool {
    let mut named = Http::default();
    set_host(&mut named, Some(value));
    let is_same_host = match (&named.host, &http.host) {
        (Some(field), Some(target)) => field.eq_ignore_ascii_case(target),
        _ => false,
    };
    is_same_host && (named.port.is_none() || http.port.is_none() || named.port == http.port)
}

/// Keeps the host of an authority, and its port apart; addresses of IPv6 keep their brackets.
fn set_host(http: &mut Http, authority: Option<&[u8]>) {
    let Some(authority) = authority else { return };
    let (host, port) = match memchr::memrchr(b':', authority) {
        Some(colon) if authority[colon + 1..].iter().all(u8::is_ascii_digit) => {
            (&authority[..colon], length(&authority[colon + 1..]).and_then(|port| u16::try_from(port).ok()))
        }
        _ => (authority, None),
    };
    (http.host, http.port) = (Some(text(host)), port);
}

/// Whether a line is a field of a head, or the empty one that ends it. `line`: without its line feed.
pub(crate) fn is_field_line(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let name = memchr::memchr(b':', line).map(|colon| &line[..colon]);
    line.is_empty() || name.is_some_and(|name| !name.is_empty() && name.iter().all(|&byte| is_token(byte)))
}

/// A field of a request's or a response's head, or the continuation of the one before (RFC 9112 section 5.2). Of those that are
/// repeated the first one counts. `folded`: the text that the next line may continue; [`unfold`] ends it behind the head.
pub(super) fn field(
    line: &[u8],
    is_request: bool,
    http: &mut Http,
    framing: &mut Framing,
    folded: &mut Option<Box<Folded>>,
) {
    work::pass(line.len());
    let is_folded = matches!(line.first(), Some(b' ' | b'\t'));
    if is_folded {
        match framing.last {
            Some(name) if name.is_text() && !framing.is_unnamed => {
                let line = trimmed(line);
                if !line.is_empty() {
                    framing.has_texts |= name.bit();
                }
                if folded.as_ref().is_some_and(|folded| folded.name != name) {
                    unfold(folded, http);
                }
                let mut begun = || place(name, is_request, http).and_then(|place| place.take());
                folded.get_or_insert_with(|| Box::new(Folded::of(name, is_request, begun()))).push(line);
            }
            Some(name) if name.is_framing() || !framing.is_unnamed => {
                continued(name, trimmed(line), is_request, http, framing);
            }
            _ => {}
        }
        return;
    }
    unfold(folded, http);
    framing.last = None;
    let Some((name, value)) = Name::split(line, is_request) else { return };
    if framing.is_unnamed && !name.is_framing() {
        return;
    }
    let value = trimmed(value);
    let is_first = match name {
        Name::Host => !framing.has_host,
        name => place(name, is_request, http).is_none_or(|place| place.is_none()),
    };
    if is_first {
        framing.last = Some(name);
        if name.is_text() && !value.is_empty() {
            framing.has_texts |= name.bit();
        }
        continued(name, value, is_request, http, framing);
    }
}

/// A part of a field's value.
fn continued(name: Name, value: &[u8], is_request: bool, http: &mut Http, framing: &mut Framing) {
    match name {
        Name::Host if value.is_empty() || framing.has_host => {}
        Name::Host => {
            framing.has_host = true;
            // The authority of the target precedes it (RFC 9112 section 3.2.2).
            if http.host.is_none() {
                set_host(http, Some(value));
            } else if !is_target(http, value) {
                http.host_field = Some(text(value));
            }
        }
        Name::Length | Name::Coding => framing.set(name, value),
        name => {
            if let Some(place) = place(name, is_request, http).filter(|_| !value.is_empty()) {
                *place = Some(name.cut(value));
            }
        }
    }
}

/// A text that several lines of a head make up, until its last one: each line is copied once.
#[derive(Debug)]
pub(super) struct Folded {
    name: Name,
    is_request: bool,
    text: Vec<u8>,
}

impl Folded {
    fn of(name: Name, is_request: bool, begun: Option<Box<str>>) -> Self {
        let text = begun.map_or(Vec::new(), |begun| bytes_of_text(&begun).into_owned());
        Self { name, is_request, text }
    }

    /// Appends a line, as long as there is room.
    fn push(&mut self, line: &[u8]) {
        if !line.is_empty() && self.text.len() < LONG_TEXT_BYTES_MAX {
            let blank = if self.text.is_empty() { &b""[..] } else { b" " };
            self.text.extend_from_slice(blank);
            self.text.extend_from_slice(line);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.text.capacity()
    }
}

/// Puts a text that is complete in its place.
#[inline]
pub(super) fn unfold(folded: &mut Option<Box<Folded>>, http: &mut Http) {
    if let Some(folded) = folded.take() {
        put(&folded, http);
    }
}

fn put(folded: &Folded, http: &mut Http) {
    work::pass(folded.text.len());
    if let Some(place) = place(folded.name, folded.is_request, http).filter(|_| !folded.text.is_empty()) {
        *place = Some(folded.name.cut(&folded.text));
    }
}

/// Where the text of a field is kept.
fn place(name: Name, is_request: bool, http: &mut Http) -> Option<&mut Option<Box<str>>> {
    Some(match name {
        Name::UserAgent => &mut http.user_agent,
        Name::Referrer => &mut http.referrer,
        Name::Kind if is_request => &mut http.request_type,
        Name::Kind => &mut http.content_type,
        Name::Server => &mut http.server,
        Name::Location => &mut http.location,
        Name::Host | Name::Length | Name::Coding => return None,
    })
}

/// The size of a chunk (RFC 9112 section 7.1); extensions are left out.
pub(super) fn chunk_bytes(line: &[u8]) -> Option<u64> {
    let digits = trimmed(line.split(|&byte| byte == b';').next().unwrap_or_default());
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, &byte| {
        let digit = char::from(byte).to_digit(16).map(u64::from)?;
        sum.checked_mul(16)?.checked_add(digit)
    })
}
