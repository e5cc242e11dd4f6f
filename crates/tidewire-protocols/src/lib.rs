//! Protocol fields of streams: what a conversation is and whom it names.
//!
//! A [`Conversation`] takes the bytes of a stream in order, in pieces of any size, recognises the protocol by content and
//! then by port, and reports [`Transaction`]s: a TLS handshake, a DNS query with its answer, an HTTP request with its response.
//! The beginning of each direction is enough ([`CUTOFF_BYTES`]). Bytes are an attacker's: nothing here panics, and memory is
//! bounded for each stream and by a [`Budget`] for all.
#![forbid(unsafe_code)]

mod budget;
mod conversation;
mod dhcp;
mod dns;
mod early;
mod fields;
mod http;
mod input;
mod joined;
mod leads;
mod line;
#[cfg(test)]
mod line_tests;
mod lines;
mod look;
mod ntp;
mod parser_state;
mod quic;
mod reader;
mod recognise;
mod report;
#[cfg(feature = "serde")]
mod serial;
mod socks;
mod ssh;
mod stage;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod tls;
mod transaction;
mod value;
mod work;

pub use budget::Budget;
pub use conversation::{Conversation, Piece};
pub use dns::{dns_rcode_number, dns_type_number};
pub use fields::{
    Answer, Attribute, Certificate, Dhcp, DistinguishedName, Dns, DnsQuestion, Ftp, Http, Ntp, Quic, QuicEntry, Smtp,
    Socks, Ssh, Tls,
};
pub use input::Ports;
pub use quic::QuicHistory;
pub use report::{App, Report};
pub use text::{bytes_of_text, text_of_bytes};
pub use transaction::{Fields, Transaction};
pub use value::{Service, Value};

/// How many bytes of each direction are enough: handshakes with their certificates and the first requests of a connection
/// lie within.
pub const CUTOFF_BYTES: u64 = 16 << 10;

/// The example of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
