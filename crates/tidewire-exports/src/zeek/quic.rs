//! The log `quic`.

use std::borrow::Cow;

use tidewire_protocols::Quic;

use crate::{
    model::Exchange,
    zeek::cell::{Column, Line},
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("version", "string"), ("client_initial_dcid", "string"), ("client_scid", "string"), ("server_scid", "string"),
    ("server_name", "string"), ("client_protocol", "string"), ("history", "string"),
];

pub(super) fn push(line: &mut Line<'_>, exchange: &Exchange<'_>, quic: &Quic) {
    line.identity(exchange.transaction.start_ns, exchange.stream, exchange.stream_start_ns, &exchange.key);
    line.text_if(quic.version.as_deref().map(version).as_deref());
    // Zeek takes an empty one for none.
    line.text_if(quic.client_dcid.as_deref().filter(|id| !id.is_empty()));
    line.text_if(quic.client_scid.as_deref());
    line.text_if(quic.server_scid.as_deref());
    line.text_if(quic.sni.as_deref());
    line.text_if(quic.client_alpn.first().map(|name| &**name));
    // Packets behind the beginning are not looked at: a part of their history would look as if nothing had followed.
    line.text("");
}

/// As Zeek names versions: those that it does not know by their number.
fn version(version: &str) -> Cow<'_, str> {
    match (version, version.strip_prefix("draft ").and_then(|draft| draft.parse::<u8>().ok())) {
        ("2", _) => "quicv2".into(),
        (_, Some(draft)) => format!("unknown-ff0000{draft:02x}").into(),
        _ => version.into(),
    }
}
