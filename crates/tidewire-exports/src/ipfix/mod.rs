//! IPFIX (RFC 7011) and NetFlow v9 (RFC 3954).
//!
//! An [`Exporter`] gathers records into messages of a bounded size. Templates are in the first message and again after some, because
//! UDP loses messages and collectors start late. A file of messages one after the other is what RFC 5655 describes.
//!
//! Only elements of IANA's registry are used, and their reverses (RFC 5103): a collector needs no dictionary of ours.

mod exporter;
mod field;
mod message;
#[cfg(test)]
mod tests;

pub use exporter::{Exporter, Settings, Statistics, export_second};

/// How a stream becomes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One record with both directions (RFC 5103).
    Biflow,
    /// One record for each direction that sent packets.
    Uniflow,
    /// As [`Uniflow`](Self::Uniflow), in NetFlow v9.
    Netflow9,
}

/// Bytes of a message over UDP: with the headers of UDP, IP and a tunnel it fits into 1,500.
pub const UDP_MESSAGE_BYTES: usize = 1400;

/// Bytes of a message in files and over TCP.
pub const STREAM_MESSAGE_BYTES: usize = 16 << 10;
