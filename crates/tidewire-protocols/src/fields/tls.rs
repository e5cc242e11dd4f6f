//! The fields of a handshake, and of a certificate.

use std::borrow::Cow;

use super::distinguished_name::DistinguishedName;
use crate::value::{Members, Value, known_bytes, list_bytes, text_bytes};

/// The fields of a handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tls {
    /// The negotiated version (RFC 8446 section 4.2.1), as `TLS 1.3`.
    pub version: Option<Cow<'static, str>>,
    /// The highest version that the client offered.
    pub client_version: Option<Cow<'static, str>>,
    /// The server name that the client requested (RFC 6066 section 3).
    pub sni: Option<Box<str>>,
    /// The application protocols that the client offered (RFC 7301), at most 32.
    pub client_alpn: Vec<Box<str>>,
    /// The one that the server chose; TLS 1.3 encrypts it.
    pub alpn: Option<Box<str>>,
    /// The cipher suite that the server chose: its name in IANA's registry, or its number as `0x1a2b`.
    pub cipher: Option<Cow<'static, str>>,
    /// JA3 of the client's hello.
    pub ja3: Option<Box<str>>,
    /// JA4 of the client's hello.
    pub ja4: Option<Box<str>>,
    /// Whether the server continued an earlier session; known where its hello was seen.
    pub resumed: Option<bool>,
    /// Whether both sides went over to encryption.
    pub established: bool,
    /// The first alert that was sent in clear text: its number (RFC 8446 section 6).
    pub alert: Option<u8>,
    /// How many certificates the server sent in clear text.
    pub certificates: u32,
    /// Messages of certificates in clear text behind the first of each side, which alone are read.
    pub certificates_repeated: u32,
    /// The server's own certificate: only up to TLS 1.2.
    pub certificate: Option<Certificate>,
    /// SHA-256 of the certificates that the client and the server sent in clear text, each side's own first and its issuers behind
    /// it: at most 16 a side.
    pub chains: [Vec<[u8; 32]>; 2],
}

/// The fields of a certificate (RFC 5280).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Certificate {
    /// The subject, as `C=US, O=Example, CN=example.org`.
    pub subject: Option<DistinguishedName>,
    /// The issuer.
    pub issuer: Option<DistinguishedName>,
    /// The serial number in hexadecimal.
    pub serial: Option<Box<str>>,
    /// The beginning of its validity, seconds since the epoch (may be before it).
    pub not_before: Option<i64>,
    /// The end of its validity.
    pub not_after: Option<i64>,
    /// Alternative names of the subject: DNS names, addresses, mail addresses and URIs, at most 64.
    pub san: Vec<Box<str>>,
    /// Alternative names that are not among these: further ones, and those of other kinds.
    pub san_left_out: u32,
    /// SHA-256 of the certificate in hexadecimal.
    pub sha256: Box<str>,
    /// SHA-1 of it, by which other programs name certificates.
    pub sha1: [u8; 20],
}

impl Tls {
    /// The server name that the client requested, or else the first one of the certificate.
    pub(crate) fn name(&self) -> Option<&str> {
        let certified = || self.certificate.as_ref()?.san.first().map(|name| &**name);
        self.sni.as_deref().or_else(certified)
    }

    pub(crate) fn request(&self) -> String {
        self.client_alpn.join(" ")
    }

    pub(crate) fn response(&self) -> String {
        let parts = [self.version.as_deref(), self.cipher.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("version", &self.version);
        list.text("client_version", &self.client_version);
        list.text("sni", &self.sni);
        list.texts("client_alpn", &self.client_alpn);
        list.text("alpn", &self.alpn);
        list.text("cipher", &self.cipher);
        list.text("ja3", &self.ja3);
        list.text("ja4", &self.ja4);
        list.some("resumed", self.resumed.map(Value::Truth));
        list.push("established", Value::Truth(self.established));
        list.number("alert", self.alert.map(u64::from));
        if self.certificates > 0 {
            list.number("certificates", Some(self.certificates.into()));
        }
        if self.certificates_repeated > 0 {
            list.number("certificates_repeated", Some(self.certificates_repeated.into()));
        }
        list.some("certificate", self.certificate.as_ref().map(|certificate| Value::Object(certificate.list())));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let known = [&self.version, &self.client_version, &self.cipher];
        let texts = [&self.sni, &self.alpn, &self.ja3, &self.ja4];
        let certificate = self.certificate.as_ref().map_or(0, |certificate| {
            let names = [&certificate.subject, &certificate.issuer].into_iter().flatten();
            names.map(|name| name.len()).sum::<usize>()
                + text_bytes([&certificate.serial])
                + list_bytes(&certificate.san)
                + certificate.sha256.len()
        });
        size_of::<Self>()
            + known_bytes(known.into_iter().flatten())
            + text_bytes(texts)
            + list_bytes(&self.client_alpn)
            + self.chains.iter().map(|chain| size_of_val(&**chain)).sum::<usize>()
            + certificate
    }
}

impl Certificate {
    fn list(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = Vec::with_capacity(8);
        self.values(&mut Members(&mut |name, value| list.push((name, value))));
        list
    }

    fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.text("subject", &self.subject);
        list.text("issuer", &self.issuer);
        list.text("serial", &self.serial);
        list.some("not_before", self.not_before.map(Value::Seconds));
        list.some("not_after", self.not_after.map(Value::Seconds));
        list.texts("san", &self.san);
        if self.san_left_out > 0 {
            list.number("san_left_out", Some(self.san_left_out.into()));
        }
        list.push("sha256", Value::Text(&self.sha256));
    }
}
