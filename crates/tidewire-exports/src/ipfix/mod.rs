//! IPFIX (RFC 7011) and NetFlow v9 (RFC 3954).
//!
//! An [`Exporter`] gathers records into messages of a bounded size. Templates are in the first message and again after some, because
//! UDP loses messages and collectors start late. A file of messages one after the other is what RFC 5655 describes.
//!
//! Without an enterprise number only elements of IANA's registry are used, and their reverses (RFC 5103): a collector needs no
//! dictionary of ours. With one ([`Settings::enterprise`]) records also have what a stream carried, and the types of these elements are
//! exported (RFC 5610).

mod exporter;
mod field;
mod message;
mod own;
#[cfg(test)]
mod tests;

pub use exporter::{
    Encoded, Exporter, STREAM_MESSAGE_BYTES, Settings, Statistics, UDP_MESSAGE_BYTES, export_second, templates,
    templates_before,
};
pub use field::{Layout, REVERSE as REVERSE_ENTERPRISE};
pub use own::{DOCUMENTATION as DOCUMENTATION_ENTERPRISE, elements_of_protocols};
