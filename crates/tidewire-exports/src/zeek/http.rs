//! The log `http`.

use std::borrow::Cow;

use tidewire_protocols::{Http, bytes_of_text};

use crate::{
    model::{Exchange, media_type},
    zeek::{
        cell::{Column, Line, col},
        uid,
    },
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("trans_depth", "count"), ("method", "string"), ("host", "string"), ("uri", "string"), ("referrer", "string"), ("version", "string"),
    ("user_agent", "string"), ("origin", "string"), ("request_body_len", "count"), ("response_body_len", "count"),
    ("status_code", "count"), ("status_msg", "string"), ("info_code", "count"), ("info_msg", "string"), ("tags", "set[enum]"),
    ("username", "string"), ("password", "string"), ("proxied", "set[string]"), ("orig_fuids", "vector[string]"),
    ("orig_filenames", "vector[string]"), ("orig_mime_types", "vector[string]"), ("resp_fuids", "vector[string]"),
    ("resp_filenames", "vector[string]"), ("resp_mime_types", "vector[string]"),
];

pub(super) fn push(line: &mut Line<'_>, exchange: &Exchange<'_>, http: &Http) {
    line.identity(
        exchange.transaction.start.as_nanos(),
        exchange.stream,
        exchange.stream_start.as_nanos(),
        &exchange.key,
    );
    line.at(col!("trans_depth")).count(u64::from(exchange.number) + 1);
    line.at(col!("method")).field_if(http.method.as_deref());
    // Zeek's script has the field Host, also where the target names another one.
    match (&http.host_field, &http.host, http.port) {
        (Some(field), ..) => line.at(col!("host")).field(field),
        (None, Some(host), Some(port)) => line.at(col!("host")).field(&format!("{host}:{port}")),
        (None, host, _) => line.at(col!("host")).field_if(host.as_deref()),
    }
    if let Some(path) = http.path.as_deref() {
        line.at(col!("uri")).bytes(&unescaped(&bytes_of_text(path)));
    }
    line.at(col!("referrer")).field_if(http.referrer.as_deref());
    // Zeek's script has the version of the reply alone.
    let version = http.response_version.as_ref().or(http.version.as_ref());
    line.at(col!("version")).field_if(version.filter(|_| http.status.is_some()).map(AsRef::as_ref));
    line.at(col!("user_agent")).field_if(http.user_agent.as_deref());
    line.at(col!("request_body_len")).count(http.request_bytes.unwrap_or(0));
    line.at(col!("response_body_len")).count(http.response_bytes.unwrap_or(0));
    line.at(col!("status_code")).count_if(http.status.map(u64::from));
    line.at(col!("status_msg")).field_if(http.reason.as_deref());
    // A set without elements.
    line.at(col!("tags")).empty_set();
    const ORIGIN: [usize; 2] = [col!("orig_fuids"), col!("orig_mime_types")];
    const ANSWER: [usize; 2] = [col!("resp_fuids"), col!("resp_mime_types")];
    for (is_origin, [names, types], bytes, kind) in [
        (true, ORIGIN, http.request_bytes, &http.request_type),
        (false, ANSWER, http.response_bytes, &http.content_type),
    ] {
        let fuid = bytes.filter(|bytes| *bytes > 0).map(|_| uid::of_body(exchange, is_origin));
        line.at(names).texts(fuid.as_ref().and_then(|fuid| std::str::from_utf8(fuid).ok()));
        line.at(types).fields(kind.as_deref().map(media_type));
    }
}

/// A target without its escapes, as Zeek decodes it: `%41`, `%u0041`; of `%%` the first one is left out, and others stay as they are.
fn unescaped(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'%') {
        return Cow::Borrowed(bytes);
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let pair = |high: &u8, low: &u8| Some(digit(high)? << 4 | digit(low)?);
    let (mut decoded, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, taken) = match behind {
            _ if first != b'%' => (Some(first), 1),
            [b'%', _, ..] => (None, 1),
            [high, low, ..] if let Some(byte) = pair(high, low) => (Some(byte), 3),
            [b'u', a, b, c, d, ..] if let (Some(high), Some(low)) = (pair(a, b), pair(c, d)) => {
                decoded.extend(Some(high).filter(|_| (*a, *b) != (b'0', b'0')));
                (Some(low), 6)
            }
            _ => (Some(first), 1),
        };
        decoded.extend(byte);
        rest = &rest[taken..];
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_decoded_as_zeeks() {
        let cases: [(&str, &[u8]); 8] = [
            ("/a b", b"/a b"),
            ("/%41%2f%2F", b"/A//"),
            ("/%u0041%u4142", b"/AAB"),
            ("/%%41", b"/A"),
            ("/%", b"/%"),
            ("/%4", b"/%4"),
            ("/%zz%FC", b"/%zz\xfc"),
            ("/%%", b"/%%"),
        ];
        for (target, expected) in cases {
            assert_eq!(&*unescaped(target.as_bytes()), expected, "{target}");
        }
    }
}
