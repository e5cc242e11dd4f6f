//! The fields of a connection's beginning.

use crate::value::{Value, list_bytes, push_text, push_texts, text_bytes};

/// The fields of a connection's beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quic {
    /// The version of the client's first packet: `1`, `2`, `draft 29`.
    pub version: Option<Box<str>>,
    /// The highest version of TLS that the client offered.
    pub client_version: Option<Box<str>>,
    /// The name that the client asked for.
    pub sni: Option<Box<str>>,
    /// The application protocols that the client offered, at most 16.
    pub client_alpn: Vec<Box<str>>,
    /// JA3 of the client's hello.
    pub ja3: Option<Box<str>>,
    /// JA4 of the client's hello.
    pub ja4: Option<Box<str>>,
}

impl Quic {
    pub(crate) fn request(&self) -> String {
        self.client_alpn.join(" ")
    }

    pub(crate) fn response(&self) -> String {
        self.version.as_deref().map(|version| format!("QUIC {version}")).unwrap_or_default()
    }

    pub(crate) fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = Vec::with_capacity(6);
        push_text(&mut list, "version", &self.version);
        push_text(&mut list, "client_version", &self.client_version);
        push_text(&mut list, "sni", &self.sni);
        push_texts(&mut list, "client_alpn", &self.client_alpn);
        push_text(&mut list, "ja3", &self.ja3);
        push_text(&mut list, "ja4", &self.ja4);
        list
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let texts = [&self.version, &self.client_version, &self.sni, &self.ja3, &self.ja4];
        size_of::<Self>() + text_bytes(texts) + list_bytes(&self.client_alpn)
    }
}
