//! The log `files`: bodies of HTTP, and certificates of TLS.

use tidewire_protocols::{Fields, Http};

use crate::{
    model::{Exchange, media_type},
    zeek::{
        cell::{Column, Line, col},
        conn::is_local,
        uid,
    },
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("fuid", "string"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"),
    ("id.resp_p", "port"), ("source", "string"), ("depth", "count"), ("analyzers", "set[string]"), ("mime_type", "string"),
    ("filename", "string"), ("duration", "interval"), ("local_orig", "bool"), ("is_orig", "bool"), ("seen_bytes", "count"),
    ("total_bytes", "count"), ("missing_bytes", "count"), ("overflow_bytes", "count"), ("timedout", "bool"), ("parent_fuid", "string"),
    ("md5", "string"), ("sha1", "string"), ("sha256", "string"), ("extracted", "string"), ("extracted_cutoff", "bool"),
    ("extracted_size", "count"),
];

/// A file of a transaction.
pub(super) struct Found<'a> {
    is_origin: bool,
    source: &'static str,
    kind: Option<&'a str>,
    /// Of a body: what was seen, what was announced, and what is missing within it.
    bytes: Option<(u64, Option<u64>, u64)>,
    sha256: Option<&'a str>,
}

/// The files of a transaction.
pub(super) fn of<'a>(exchange: &Exchange<'a>) -> impl Iterator<Item = Found<'a>> {
    let found = match &exchange.transaction.fields {
        Fields::Http(http) => [false, true].map(|is_answer| body(http, is_answer)),
        Fields::Tls(tls) => {
            let certificate = tls.certificate.as_ref().map(|certificate| Found {
                is_origin: false,
                source: "SSL",
                kind: Some("application/x-x509-user-cert"),
                bytes: None,
                sha256: Some(&*certificate.sha256),
            });
            [None, certificate]
        }
        _ => [None, None],
    };
    found.into_iter().flatten()
}

fn body(http: &Http, is_answer: bool) -> Option<Found<'_>> {
    let (seen, announced, missing, kind) = match is_answer {
        false => (http.request_bytes, http.request_announced_bytes, http.request_missing_bytes, &http.request_type),
        true => (http.response_bytes, http.response_announced_bytes, http.response_missing_bytes, &http.content_type),
    };
    // Zeek begins a file with its first byte.
    let bytes = (seen.filter(|seen| *seen > 0)?, announced, missing);
    let kind = kind.as_deref().map(media_type);
    Some(Found { is_origin: !is_answer, source: "HTTP", kind, bytes: Some(bytes), sha256: None })
}

pub(super) fn push(line: &mut Line<'_>, exchange: &Exchange<'_>, file: &Found<'_>) {
    let (transaction, key) = (exchange.transaction, &exchange.key);
    let begin_ns = if file.is_origin { transaction.start.as_nanos() } else { transaction.end.as_nanos() };
    line.at(col!("ts")).seconds(begin_ns);
    line.at(col!("fuid")).name(&uid::of_body(exchange, file.is_origin));
    line.connection(exchange.stream, exchange.stream_start.as_nanos(), key);
    line.at(col!("source")).word(file.source);
    line.at(col!("depth")).count(0);
    match file.source {
        "SSL" => line.at(col!("analyzers")).texts(["X509", "SHA256"]),
        _ => line.at(col!("analyzers")).empty_set(),
    }
    line.at(col!("mime_type")).field_if(file.kind);
    let sender = if file.is_origin { key.client.address } else { key.server.address };
    line.at(col!("local_orig")).truth(is_local(sender));
    line.at(col!("is_orig")).truth(file.is_origin);
    line.at(col!("seen_bytes")).count_if(file.bytes.map(|(seen, ..)| seen));
    line.at(col!("total_bytes")).count_if(file.bytes.and_then(|(_, announced, _)| announced));
    line.at(col!("missing_bytes")).count(file.bytes.map_or(0, |(_, _, missing)| missing));
    line.at(col!("overflow_bytes")).count(0);
    line.at(col!("timedout")).truth(false);
    line.at(col!("sha256")).text_if(file.sha256);
}
