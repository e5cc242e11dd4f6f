//! DNS over UDP and TCP, multicast DNS and LLMNR (RFC 1035, RFC 6762, RFC 4795): queries with their answers.

mod answered;
mod exchange;
mod message;
mod name;
mod names;
mod record;
mod security;
mod service;
#[cfg(test)]
mod tests;

pub use names::{dns_rcode_number, dns_type_number};

pub(crate) use exchange::Exchange;
pub(crate) use message::{HEADER_BYTES, is_message, is_whole_message, may_be_header};
