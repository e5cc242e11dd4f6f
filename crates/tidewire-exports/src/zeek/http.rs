//! The log `http`.

use tidewire_protocols::Http;

use crate::{
    model::{Exchange, media_type},
    zeek::{
        cell::{Column, Line},
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
    line.identity(exchange.transaction.start_ns, exchange.stream, exchange.stream_start_ns, &exchange.key);
    line.count(u64::from(exchange.number) + 1);
    line.text_if(http.method.as_deref());
    [&http.host, &http.path, &http.referrer].into_iter().for_each(|text| line.text_if(text.as_deref()));
    line.text_if(http.version.as_deref());
    line.text_if(http.user_agent.as_deref());
    line.unset();
    line.count(http.request_bytes.unwrap_or(0));
    line.count(http.response_bytes.unwrap_or(0));
    line.count_if(http.status.map(u64::from));
    line.text_if(http.reason.as_deref());
    line.unset_all(2);
    // A set without elements.
    line.empty_set();
    line.unset_all(3);
    for (is_origin, bytes, kind) in
        [(true, http.request_bytes, &http.request_type), (false, http.response_bytes, &http.content_type)]
    {
        let fuid = bytes.filter(|bytes| *bytes > 0).map(|_| uid::of_body(exchange, is_origin));
        line.texts(fuid.as_ref().and_then(|fuid| std::str::from_utf8(fuid).ok()));
        line.unset();
        line.texts(kind.as_deref().map(media_type));
    }
}
