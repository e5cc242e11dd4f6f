//! The fields of each protocol, with the names and types of `Transaction::values`.

use crate::table::{
    Column, Kind,
    Kind::{List, Long, Object, Text, Truth},
    Unit, always, maybe,
};

const TEXTS: Kind = List(&Text);

const ANSWER: &[Column] = &[always("name", Text), always("type", Text), always("ttl", Long), always("data", Text)];

const QUESTION: &[Column] = &[always("name", Text), always("type", Text), maybe("class", Long)];

#[rustfmt::skip]
const DNS: &[Column] = &[
    maybe("id", Long), maybe("opcode", Long), maybe("query", Text), maybe("type", Text), maybe("class", Long), maybe("questions", Long).unit(Unit::Count),
    maybe("asked", Truth), maybe("answered", Truth), maybe("rd", Truth), maybe("rcode", Text), maybe("aa", Truth), maybe("tc", Truth),
    maybe("ra", Truth), maybe("answers", List(&Object(ANSWER))), maybe("answers_left_out", Long).unit(Unit::Count), maybe("answer_count", Long).unit(Unit::Count), maybe("authority_count", Long).unit(Unit::Count),
    maybe("additional_count", Long).unit(Unit::Count), maybe("latency_ns", Long).unit(Unit::Duration), maybe("more_questions", List(&Object(QUESTION))), maybe("conflicting", Truth),
];

#[rustfmt::skip]
const DHCP: &[Column] = &[
    maybe("message", Text), maybe("id", Long), maybe("client_mac", Text), maybe("host_name", Text), maybe("vendor_class", Text),
    maybe("requested", Text), maybe("assigned", Text), maybe("server", Text), maybe("domain", Text), maybe("lease", Long),
];

const FTP: &[Column] =
    &[maybe("server", Text), maybe("user", Text), maybe("commands", TEXTS), maybe("starttls", Truth)];

#[rustfmt::skip]
const HTTP: &[Column] = &[
    maybe("method", Text), maybe("host", Text), maybe("port", Long).unit(Unit::Port), maybe("path", Text), maybe("version", Text),
    maybe("response_version", Text), maybe("status", Long), maybe("reason", Text), maybe("user_agent", Text), maybe("referrer", Text), maybe("request_type", Text), maybe("content_type", Text), maybe("server", Text),
    maybe("location", Text), maybe("request_bytes", Long).unit(Unit::Bytes), maybe("response_bytes", Long).unit(Unit::Bytes),
    maybe("request_announced_bytes", Long).unit(Unit::Bytes), maybe("response_announced_bytes", Long).unit(Unit::Bytes), maybe("request_missing_bytes", Long).unit(Unit::Bytes), maybe("response_missing_bytes", Long).unit(Unit::Bytes),
    maybe("request_complete", Truth), maybe("response_complete", Truth), maybe("host_field", Text),
];

#[rustfmt::skip]
const NTP: &[Column] = &[
    maybe("version", Long), maybe("mode", Long), maybe("stratum", Long), maybe("reference", Text), maybe("latency_ns", Long).unit(Unit::Duration),
];

#[rustfmt::skip]
const QUIC: &[Column] = &[
    maybe("version", Text), maybe("client_version", Text), maybe("sni", Text), maybe("client_alpn", TEXTS), maybe("ja3", Text),
    maybe("ja4", Text), maybe("client_dcid", Text), maybe("client_scid", Text), maybe("server_scid", Text),
];

#[rustfmt::skip]
const SMTP: &[Column] = &[
    maybe("server", Text), maybe("client", Text), maybe("mail_from", Text), maybe("rcpt_to", TEXTS), maybe("starttls", Truth),
];

#[rustfmt::skip]
const SOCKS: &[Column] = &[
    maybe("version", Long), maybe("command", Long), maybe("host", Text), maybe("port", Long).unit(Unit::Port), maybe("user", Text), maybe("reply", Long),
];

#[rustfmt::skip]
const SSH: &[Column] = &[
    maybe("client_version", Text), maybe("server_version", Text), maybe("client_software", Text), maybe("server_software", Text),
    maybe("hassh", Text), maybe("hassh_server", Text),
];

#[rustfmt::skip]
const CERTIFICATE: &[Column] = &[
    maybe("subject", Text), maybe("issuer", Text), maybe("serial", Text), maybe("not_before", Long), maybe("not_after", Long),
    maybe("san", TEXTS), maybe("san_left_out", Long).unit(Unit::Count), maybe("sha256", Text),
];

#[rustfmt::skip]
const TLS: &[Column] = &[
    maybe("version", Text), maybe("client_version", Text), maybe("sni", Text), maybe("client_alpn", TEXTS), maybe("alpn", Text),
    maybe("cipher", Text), maybe("ja3", Text), maybe("ja4", Text), maybe("resumed", Truth), maybe("established", Truth),
    maybe("alert", Long), maybe("certificates", Long).unit(Unit::Count), maybe("certificates_repeated", Long).unit(Unit::Count), maybe("certificate", Object(CERTIFICATE)),
];

/// A column for each protocol, by name.
pub(super) const SERVICES: &[Column] = &[
    maybe("dhcp", Object(DHCP)),
    maybe("dns", Object(DNS)),
    maybe("ftp", Object(FTP)),
    maybe("http", Object(HTTP)),
    maybe("llmnr", Object(DNS)),
    maybe("mdns", Object(DNS)),
    maybe("ntp", Object(NTP)),
    maybe("quic", Object(QUIC)),
    maybe("smtp", Object(SMTP)),
    maybe("socks", Object(SOCKS)),
    maybe("ssh", Object(SSH)),
    maybe("tls", Object(TLS)),
];
