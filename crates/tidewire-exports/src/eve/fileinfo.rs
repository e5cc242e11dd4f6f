//! `fileinfo`: the body of a request or of its response.

use tidewire_protocols::Http;

use crate::{
    eve::{
        common::{Identity, app_proto},
        http::push_http,
    },
    json::member,
    model::Exchange,
};

/// Appends the records `fileinfo` of an HTTP request: one for each body of which bytes were seen. Bodies are neither stored nor hashed.
pub(super) fn push_files(out: &mut Vec<u8>, identity: &Identity<'_>, exchange: &Exchange<'_>, http: &Http) {
    let transaction = exchange.transaction;
    let bodies = [
        (false, http.request_bytes, http.request_missing_bytes, http.request_complete),
        (true, http.response_bytes, http.response_missing_bytes, http.response_complete),
    ];
    for (is_answer, bytes, missing, complete) in bodies {
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else { continue };
        let mut object = identity.open(out, "fileinfo", transaction.end.as_nanos(), is_answer, None);
        object.object(member!("http"), |object| push_http(object, http));
        object.plain(member!("app_proto"), app_proto(transaction.service));
        object.object(member!("fileinfo"), |object| {
            object.text(member!("filename"), http.path.as_deref().map(without_query).unwrap_or_default());
            object.truth(member!("gaps"), missing > 0);
            object.plain(member!("state"), state(complete));
            object.truth(member!("stored"), false);
            object.number(member!("size"), bytes);
            object.number(member!("tx_id"), exchange.number.into());
        });
        identity.close(object, |_| {});
        out.push(b'\n');
    }
}

/// Suricata closes a file at its end; one that ended before, or has a gap, is truncated.
fn state(complete: Option<bool>) -> &'static str {
    match complete {
        Some(true) => "CLOSED",
        Some(false) => "TRUNCATED",
        // The end lies where nothing was looked at.
        None => "UNKNOWN",
    }
}

/// The path of a target, as Suricata has it: without what is behind `?`.
fn without_query(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}
