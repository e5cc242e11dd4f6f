//! The log `ssl`.

use std::borrow::Cow;

use tidewire_protocols::{Certificate, DistinguishedName, Quic, Tls, bytes_of_text};
use tidewire_types::hex;

use crate::{
    model::Exchange,
    zeek::cell::{Column, Line, col},
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
    line.identity(
        exchange.transaction.start.as_nanos(),
        exchange.stream,
        exchange.stream_start.as_nanos(),
        &exchange.key,
    );
    line.at(col!("version")).text_if(tls.version.as_deref().map(version).as_deref());
    line.at(col!("cipher")).text_if(tls.cipher.as_deref());
    line.at(col!("server_name")).field_if(tls.sni.as_deref());
    line.at(col!("resumed")).truth(tls.resumed == Some(true));
    if let Some(alert) = tls.alert {
        match alert_name(alert) {
            Some(name) => line.at(col!("last_alert")).word(name),
            None => line.at(col!("last_alert")).text(&format!("unknown-{alert}")),
        }
    }
    line.at(col!("next_protocol")).field_if(tls.alpn.as_deref());
    line.at(col!("established")).truth(tls.established);
    let certificate = tls.certificate.as_ref();
    // Zeek has both vectors once one side sent a certificate.
    let has_chain = tls.chains.iter().any(|chain| !chain.is_empty());
    const CHAINS: [usize; 2] = [col!("cert_chain_fps"), col!("client_cert_chain_fps")];
    for (column, chain) in CHAINS.into_iter().zip(tls.chains.iter().rev()) {
        if has_chain && chain.is_empty() {
            line.at(column).empty_set();
        } else {
            line.at(column).texts(chain.iter().map(|digest| hex::encode(digest)));
        }
    }
    let name = |of: fn(&Certificate) -> &Option<DistinguishedName>| {
        certificate.and_then(|one| of(one).as_ref()).map(distinguished)
    };
    line.at(col!("subject")).bytes_if(name(|one| &one.subject).as_deref());
    line.at(col!("issuer")).bytes_if(name(|one| &one.issuer).as_deref());
    line.at(col!("ja3")).text_if(tls.ja3.as_deref());
    line.at(col!("ja4")).text_if(tls.ja4.as_deref());
}

/// A client's hello in QUIC, which is TLS 1.3 (RFC 9001 section 4.2); what the server answers is encrypted by keys that are not derived.
pub(super) fn push_quic(line: &mut Line<'_>, exchange: &Exchange<'_>, quic: &Quic) {
    line.identity(
        exchange.transaction.start.as_nanos(),
        exchange.stream,
        exchange.stream_start.as_nanos(),
        &exchange.key,
    );
    line.at(col!("version")).word("TLSv13");
    line.at(col!("server_name")).field_if(quic.sni.as_deref());
    line.at(col!("resumed")).truth(false);
    line.at(col!("established")).truth(false);
    line.at(col!("ja3")).text_if(quic.ja3.as_deref());
    line.at(col!("ja4")).text_if(quic.ja4.as_deref());
}

fn version(version: &str) -> Cow<'_, str> {
    match version {
        "SSL 2.0" => "SSLv2".into(),
        "SSL 3.0" => "SSLv3".into(),
        "TLS 1.0" => "TLSv10".into(),
        "TLS 1.1" => "TLSv11".into(),
        "TLS 1.2" => "TLSv12".into(),
        "TLS 1.3" => "TLSv13".into(),
        other => match (other.strip_prefix("TLS 1.3 draft "), other.strip_prefix("0x")) {
            (Some(draft), _) => format!("TLSv13-draft{draft}").into(),
            (_, Some(number)) => match u16::from_str_radix(number, 16) {
                Ok(number) => format!("unknown-{number}").into(),
                Err(_) => other.into(),
            },
            _ => other.into(),
        },
    }
}

/// A name as Zeek writes it (RFC 2253): from the last attribute to the first, without blanks between them.
fn distinguished(name: &DistinguishedName) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 16);
    let mut separator = "";
    for attribute in name.attributes().into_iter().rev() {
        out.extend_from_slice(separator.as_bytes());
        let kind = match attribute.kind {
            "E" | "Email" => "emailAddress",
            "streetAddress" => "street",
            other => other,
        };
        out.extend_from_slice(kind.as_bytes());
        if !attribute.kind.is_empty() {
            out.push(b'=');
        }
        let value = bytes_of_text(&attribute.value);
        for (at, &byte) in value.iter().enumerate() {
            let is_outer = at == 0 && matches!(byte, b'#' | b' ') || byte == b' ' && at + 1 == value.len();
            if is_outer || matches!(byte, b',' | b'+' | b'"' | b'\\' | b'<' | b'>' | b';') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        separator = if attribute.is_joined { "+" } else { "," };
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The first one is of Zeek's own tests (`scripts.base.protocols.imap.starttls`).
    #[test]
    fn names_and_versions_are_zeeks() {
        let distinguished = |name: &str| String::from_utf8(distinguished(&name.to_owned().into())).unwrap();
        let name = "C=DE, O=1&1 Mail & Media GmbH, ST=Rhineland-Palatinate, L=Montabaur, E=server-certs@1und1.de, CN=imap.gmx.net";
        let expected = "CN=imap.gmx.net,emailAddress=server-certs@1und1.de,L=Montabaur,ST=Rhineland-Palatinate,O=1&1 Mail & Media GmbH,C=DE";
        assert_eq!(distinguished(name), expected);
        assert_eq!(distinguished("C=US, O=DigiCert\\, Inc., CN=a"), "CN=a,O=DigiCert\\, Inc.,C=US");
        // Escaped separators divide nothing, and attributes of one part stay together.
        assert_eq!(distinguished("CN=a\\, O=b, O=c + 2.5.4.97=d"), "2.5.4.97=d+O=c,CN=a\\, O=b");
        assert_eq!(distinguished("streetAddress=a 1"), "street=a 1");
        assert_eq!((distinguished("x").as_str(), distinguished("").as_str()), ("x", ""));
        assert_eq!((&*version("TLS 1.3 draft 23"), &*version("0x7e01")), ("TLSv13-draft23", "unknown-32257"));
    }
}
