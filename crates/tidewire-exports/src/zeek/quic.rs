//! The log `quic`.

use std::borrow::Cow;

use tidewire::FlowKey;
use tidewire_protocols::{Quic, QuicEntry};
use tidewire_types::hex;

use crate::{
    model::Exchange,
    zeek::cell::{Column, Line, col},
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("version", "string"), ("client_initial_dcid", "string"), ("client_scid", "string"), ("server_scid", "string"),
    ("server_name", "string"), ("client_protocol", "string"), ("history", "string"),
];

pub(super) fn push(line: &mut Line<'_>, exchange: &Exchange<'_>, quic: &Quic) {
    line.identity(
        exchange.transaction.start.as_nanos(),
        exchange.stream,
        exchange.stream_start.as_nanos(),
        &exchange.key,
    );
    line.at(col!("version")).text_if(quic.version.as_deref().map(version).as_deref());
    // Zeek takes an empty one for none.
    line.at(col!("client_initial_dcid")).text_if(quic.client_dcid.as_deref().filter(|id| !id.is_empty()));
    line.at(col!("client_scid")).text_if(quic.client_scid.as_deref());
    line.at(col!("server_scid")).text_if(quic.server_scid.as_deref());
    line.at(col!("server_name")).field_if(quic.sni.as_deref());
    line.at(col!("client_protocol")).field_if(quic.client_alpn.first().map(|name| &**name));
    // Packets behind the beginning are not looked at: a part of their history would look as if nothing had followed.
    line.at(col!("history")).text("");
}

pub(super) fn push_entry(line: &mut Line<'_>, (stream, start_ns, key): (u64, u64, &FlowKey), entry: &QuicEntry) {
    line.identity(entry.start.as_nanos(), stream, start_ns, key);
    line.at(col!("version")).text(&version_of(entry.version));
    for (column, id) in [
        (col!("client_initial_dcid"), &entry.client_dcid),
        (col!("client_scid"), &entry.client_scid),
        (col!("server_scid"), &entry.server_scid),
    ] {
        line.at(column).text_if(id.as_deref().map(hex::encode).as_deref());
    }
    line.at(col!("server_name")).field_if(entry.server_name.as_deref());
    line.at(col!("client_protocol")).field_if(entry.client_protocol.as_deref());
    line.at(col!("history")).text(&entry.history);
}

/// As Zeek names versions by their number.
fn version_of(number: u32) -> Cow<'static, str> {
    match number {
        1 => "1".into(),
        0x6b33_43cf => "quicv2".into(),
        // (Zeek has 30 for draft 31, too.)
        0xff00_0016..=0xff00_0022 => format!("draft-{}", number & 0xff).into(),
        0xface_b001 | 0xface_b002 | 0xface_b00e | 0xface_b011..=0xface_b013 => format!("mvfst ({number:x})").into(),
        _ => format!("unknown-{number:x}").into(),
    }
}

/// As Zeek names versions by ours.
fn version(version: &str) -> Cow<'_, str> {
    match version {
        "2" => "quicv2".into(),
        _ => match (version.strip_prefix("draft "), version.strip_prefix("0x")) {
            (Some(draft), _) => format!("draft-{draft}").into(),
            (_, Some(number)) if number.starts_with("face") => format!("mvfst ({number})").into(),
            _ => version.into(),
        },
    }
}
