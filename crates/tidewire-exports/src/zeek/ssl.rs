//! The log `ssl`.

use tidewire_protocols::Tls;

use crate::{
    model::Exchange,
    zeek::cell::{Column, Line},
};

/// Zeek's own, and behind them those of its packages for certificates and fingerprints.
#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("version", "string"), ("cipher", "string"), ("curve", "string"), ("server_name", "string"), ("resumed", "bool"),
    ("last_alert", "string"), ("next_protocol", "string"), ("established", "bool"), ("ssl_history", "string"),
    ("cert_chain_fps", "vector[string]"), ("client_cert_chain_fps", "vector[string]"), ("sni_matches_cert", "bool"),
    ("subject", "string"), ("issuer", "string"), ("ja3", "string"), ("ja4", "string"),
];

pub(super) fn push(line: &mut Line<'_>, exchange: &Exchange<'_>, tls: &Tls) {
    line.identity(exchange.transaction.start_ns, exchange.stream, exchange.stream_start_ns, &exchange.key);
    line.text_if(tls.version.as_deref().map(version));
    line.text_if(tls.cipher.as_deref());
    line.unset();
    line.text_if(tls.sni.as_deref());
    line.truth(tls.resumed == Some(true));
    match tls.alert {
        Some(alert) => match alert_name(alert) {
            Some(name) => line.word(name),
            None => line.text(&format!("unknown-{alert}")),
        },
        None => line.unset(),
    }
    line.text_if(tls.alpn.as_deref());
    line.truth(tls.established);
    line.unset();
    let certificate = tls.certificate.as_ref();
    line.texts(certificate.map(|certificate| &*certificate.sha256));
    line.unset_all(2);
    line.text_if(certificate.and_then(|certificate| certificate.subject.as_deref()));
    line.text_if(certificate.and_then(|certificate| certificate.issuer.as_deref()));
    line.text_if(tls.ja3.as_deref());
    line.text_if(tls.ja4.as_deref());
}

fn version(version: &str) -> &str {
    match version {
        "SSL 2.0" => "SSLv2",
        "SSL 3.0" => "SSLv3",
        "TLS 1.0" => "TLSv10",
        "TLS 1.1" => "TLSv11",
        "TLS 1.2" => "TLSv12",
        "TLS 1.3" => "TLSv13",
        other => other,
    }
}

/// RFC 8446 section 6 and those before it, as Zeek writes them.
fn alert_name(alert: u8) -> Option<&'static str> {
    Some(match alert {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        21 => "decryption_failed",
        22 => "record_overflow",
        30 => "decompression_failure",
        40 => "handshake_failure",
        41 => "no_certificate",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        60 => "export_restriction",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        111 => "certificate_unobtainable",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        114 => "bad_certificate_hash_value",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => return None,
    })
}
