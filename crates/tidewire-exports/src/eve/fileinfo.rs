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

/// Appends the records `fileinfo` of an HTTP request: one for each body that is not empty. Bodies are neither stored nor hashed, and
/// beginnings of streams do not say whether they were whole, so that the state is `UNKNOWN`.
pub(super) fn push_files(out: &mut Vec<u8>, identity: &Identity<'_>, exchange: &Exchange<'_>, http: &Http) {
    let transaction = exchange.transaction;
    for (is_answer, bytes) in [(false, http.request_bytes), (true, http.response_bytes)] {
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else { continue };
        let mut object = identity.open(out, "fileinfo", transaction.end_ns, is_answer, None);
        object.object(member!("http"), |object| push_http(object, http));
        object.plain(member!("app_proto"), app_proto(transaction.service));
        object.object(member!("fileinfo"), |object| {
            object.text(member!("filename"), http.path.as_deref().map(without_query).unwrap_or_default());
            object.truth(member!("gaps"), false);
            object.plain(member!("state"), "UNKNOWN");
            object.truth(member!("stored"), false);
            object.number(member!("size"), bytes);
            object.number(member!("tx_id"), exchange.number.into());
        });
        identity.close(object, |_| {});
        out.push(b'\n');
    }
}

/// The path of a target, as Suricata has it: without what is behind `?`.
fn without_query(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}
