//! The fields of a connection's beginning.

use std::borrow::Cow;
use tidewire_types::Timestamp;

use crate::value::{Members, known_bytes, list_bytes, text_bytes};

/// The fields of a connection's beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quic {
    /// The version of the client's first packet: `1`, `2`, `draft 29`.
    pub version: Option<Cow<'static, str>>,
    /// The highest version of TLS that the client offered.
    pub client_version: Option<Cow<'static, str>>,
    /// The server name that the client requested.
    pub sni: Option<Box<str>>,
    /// The application protocols that the client offered, at most 32.
    pub client_alpn: Vec<Box<str>>,
    /// JA3 of the client's hello.
    pub ja3: Option<Box<str>>,
    /// JA4 of the client's hello.
    pub ja4: Option<Box<str>>,
    /// The identifier that the client chose for the server first, in hexadecimal: keys are derived from it.
    pub client_dcid: Option<Box<str>>,
    /// The client's own identifier; may be empty.
    pub client_scid: Option<Box<str>>,
    /// The server's own identifier; absent if no answer was seen.
    pub server_scid: Option<Box<str>>,
}

/// A connection, up to a Retry or a CONNECTION_CLOSE in clear text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuicEntry {
    /// Time of its first packet.
    pub start: Timestamp,
    /// The version's number, of its first packet.
    pub version: u32,
    /// The first identifier that the client chose for the server, unless it is empty.
    pub client_dcid: Option<Box<[u8]>>,
    /// The client's own identifier.
    pub client_scid: Option<Box<[u8]>>,
    /// The server's own identifier.
    pub server_scid: Option<Box<[u8]>>,
    /// The server name that the client requested.
    pub server_name: Option<Box<str>>,
    /// The first application protocol that the client offered.
    pub client_protocol: Option<Box<str>>,
    /// The letters, at most 100.
    pub history: String,
}

impl Quic {
    pub(crate) fn request(&self) -> String {
        self.client_alpn.join(" ")
    }

    pub(crate) fn response(&self) -> String {
        self.version.as_deref().map(|version| format!("QUIC {version}")).unwrap_or_default()
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("version", &self.version);
        list.text("client_version", &self.client_version);
        list.text("sni", &self.sni);
        list.texts("client_alpn", &self.client_alpn);
        list.text("ja3", &self.ja3);
        list.text("ja4", &self.ja4);
        list.text("client_dcid", &self.client_dcid);
        list.text("client_scid", &self.client_scid);
        list.text("server_scid", &self.server_scid);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let texts = [&self.sni, &self.ja3, &self.ja4, &self.client_dcid, &self.client_scid, &self.server_scid];
        size_of::<Self>()
            + known_bytes([&self.version, &self.client_version].into_iter().flatten())
            + text_bytes(texts)
            + list_bytes(&self.client_alpn)
    }
}
