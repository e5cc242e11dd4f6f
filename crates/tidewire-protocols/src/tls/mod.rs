//! TLS handshakes over TCP (RFC 8446, RFC 5246, RFC 6101): records and messages that are split anywhere.

#[cfg(feature = "certificates")]
mod certificate;
mod ciphers;
mod fingerprint;
mod handshake;
mod hello;
mod old;
mod record;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "certificates")]
mod x509_name;

#[cfg(feature = "quic")]
pub(crate) use fingerprint::fingerprints;
pub(crate) use handshake::Handshake;
#[cfg(feature = "quic")]
pub(crate) use hello::{ClientHello, version_name};
pub(crate) use old::old_hello;
