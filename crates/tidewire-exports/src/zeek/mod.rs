//! Logs as Zeek writes them: conn, dns, http, ssl, quic, tunnel, weird and files, in its TSV and as JSON lines.
//!
//! Columns are those of Zeek 7's default configuration, in its order; what a reader needs is in the header of each file. A record's
//! `uid` is derived from the stream's id and its first packet's time, so that logs agree without a table.

mod cell;
mod conn;
mod dns;
mod files;
mod history;
mod http;
mod quic;
mod segment;
mod side;
mod ssl;
#[cfg(test)]
mod tests;
mod tunnel;
mod uid;
mod weird;

pub use cell::Form;
pub use history::History;
pub use tunnel::Tunnel;

use crate::{
    explained::Explained,
    model::{Exchange, FlowRecord},
    time::push_civil,
    zeek::cell::{Column, Line},
};
use tidewire::{Anomaly, FlowKey};
use tidewire_protocols::{Fields, QuicEntry};

/// A log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Log {
    /// Connections.
    Conn,
    /// DNS queries.
    Dns,
    /// HTTP requests.
    Http,
    /// TLS handshakes.
    Ssl,
    /// Beginnings of QUIC.
    Quic,
    /// Tunnels.
    Tunnel,
    /// Anomalies.
    Weird,
    /// Bodies and certificates.
    Files,
}

impl Log {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Conn, Self::Dns, Self::Http, Self::Ssl, Self::Quic, Self::Tunnel, Self::Weird, Self::Files];

    /// Its name, which is that of its file without `.log`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Conn => "conn",
            Self::Dns => "dns",
            Self::Http => "http",
            Self::Ssl => "ssl",
            Self::Quic => "quic",
            Self::Tunnel => "tunnel",
            Self::Weird => "weird",
            Self::Files => "files",
        }
    }

    pub(crate) fn columns(self) -> &'static [Column] {
        match self {
            Self::Conn => conn::COLUMNS,
            Self::Dns => dns::COLUMNS,
            Self::Http => http::COLUMNS,
            Self::Ssl => ssl::COLUMNS,
            Self::Quic => quic::COLUMNS,
            Self::Tunnel => tunnel::COLUMNS,
            Self::Weird => weird::COLUMNS,
            Self::Files => files::COLUMNS,
        }
    }
}

/// Appends the beginning of a file, opened at so many seconds since the epoch. JSON has none.
pub fn push_header(out: &mut Vec<u8>, form: Form, log: Log, opened: i64) {
    if form == Form::Json {
        return;
    }
    out.extend_from_slice(b"#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\t");
    out.extend_from_slice(log.name().as_bytes());
    push_moment(out, "open", opened);
    out.extend_from_slice(b"#fields");
    log.columns().iter().for_each(|(name, _)| push_word(out, name));
    out.extend_from_slice(b"\n#types");
    log.columns().iter().for_each(|(_, kind)| push_word(out, kind));
    out.push(b'\n');
}

/// Appends the end of a file. A file without it is one whose writer was killed.
pub fn push_footer(out: &mut Vec<u8>, form: Form, closed: i64) {
    if form == Form::Tsv {
        out.extend_from_slice(b"#close\t");
        push_civil(out, closed, *b"---");
        out.push(b'\n');
    }
}

fn push_moment(out: &mut Vec<u8>, name: &str, seconds: i64) {
    out.extend_from_slice(b"\n#");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\t');
    push_civil(out, seconds, *b"---");
    out.push(b'\n');
}

fn push_word(out: &mut Vec<u8>, word: &str) {
    out.push(b'\t');
    out.extend_from_slice(word.as_bytes());
}

/// Appends a stream's line of the log `conn`.
pub fn push_conn(out: &mut Vec<u8>, form: Form, flow: &FlowRecord<'_>, history: &History) {
    let mut line = Line::open(out, form, conn::COLUMNS);
    conn::push(&mut line, flow, history);
    line.close();
}

/// Appends the line of a tunnel that was seen first at this time.
pub fn push_tunnel(out: &mut Vec<u8>, form: Form, tunnel: &Tunnel, time_ns: u64) {
    let mut line = Line::open(out, form, tunnel::COLUMNS);
    tunnel::push(&mut line, tunnel, time_ns);
    line.close();
}

/// Appends the line of the log `weird` of streams whose anomaly the point of the capture explains.
pub fn push_explained(out: &mut Vec<u8>, form: Form, explained: &Explained) {
    let mut line = Line::open(out, form, weird::COLUMNS);
    weird::push_explained(&mut line, explained);
    line.close();
}

/// Appends a stream's lines of the log `weird` for these of its anomalies.
pub fn push_weirds(out: &mut Vec<u8>, form: Form, flow: &FlowRecord<'_>, anomalies: &[Anomaly]) {
    for anomaly in anomalies {
        let mut line = Line::open(out, form, weird::COLUMNS);
        weird::push(&mut line, flow, anomaly);
        line.close();
    }
}

/// Appends a transaction's lines of the log `weird`.
pub fn push_weird_answer(out: &mut Vec<u8>, form: Form, exchange: &Exchange<'_>) {
    if let Fields::Dns(dns) = &exchange.transaction.fields
        && dns.conflicting
    {
        let mut line = Line::open(out, form, weird::COLUMNS);
        weird::push_conflict(&mut line, exchange, dns);
        line.close();
    }
}

/// Appends a line of the log `quic` of a stream with this number, time and key.
pub fn push_quic_entry(out: &mut Vec<u8>, form: Form, stream: (u64, u64, &FlowKey), entry: &QuicEntry) {
    let mut line = Line::open(out, form, quic::COLUMNS);
    quic::push_entry(&mut line, stream, entry);
    line.close();
}

/// Appends a transaction's line of the log `quic` where packets are not followed (without its history), beside the one of its hello in `ssl`.
pub fn push_quic(out: &mut Vec<u8>, form: Form, exchange: &Exchange<'_>) {
    if let Fields::Quic(fields) = &exchange.transaction.fields {
        let mut line = Line::open(out, form, quic::COLUMNS);
        quic::push(&mut line, exchange, fields);
        line.close();
    }
}

/// Appends a transaction's lines of the log `files`.
pub fn push_files(out: &mut Vec<u8>, form: Form, exchange: &Exchange<'_>) {
    for file in files::of(exchange) {
        let mut line = Line::open(out, form, files::COLUMNS);
        files::push(&mut line, exchange, &file);
        line.close();
    }
}

/// The log that a transaction belongs to; `None`: to none of these.
#[must_use]
pub fn log_of(exchange: &Exchange<'_>) -> Option<Log> {
    match &exchange.transaction.fields {
        Fields::Dns(_) => Some(Log::Dns),
        Fields::Http(_) => Some(Log::Http),
        Fields::Tls(_) => Some(Log::Ssl),
        // As Zeek: of a hello that was read.
        Fields::Quic(quic) => quic.client_version.as_ref().map(|_| Log::Ssl),
        _ => None,
    }
}

/// Appends a transaction's line of its log ([`log_of`]).
pub fn push_transaction(out: &mut Vec<u8>, form: Form, exchange: &Exchange<'_>) {
    let Some(log) = log_of(exchange) else { return };
    let mut line = Line::open(out, form, log.columns());
    match &exchange.transaction.fields {
        Fields::Dns(dns) => dns::push(&mut line, exchange, dns),
        Fields::Http(http) => http::push(&mut line, exchange, http),
        Fields::Tls(tls) => ssl::push(&mut line, exchange, tls),
        Fields::Quic(quic) => ssl::push_quic(&mut line, exchange, quic),
        _ => {}
    }
    line.close();
}
