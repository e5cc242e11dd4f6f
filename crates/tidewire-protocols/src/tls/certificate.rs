//! Certificates in clear text: up to TLS 1.2 (RFC 5246 section 7.4.2).

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::{FromDer as _, GeneralName, ParsedExtension, X509Certificate};

use super::fields::Certificate;
use crate::{
    reader::Reader,
    text::{hex, text},
};

/// Most alternative names that are kept.
const NAMES_MAX: usize = 64;

/// Most certificates that are counted.
const CERTIFICATES_MAX: u32 = 64;

/// The first certificate of a message, which is the server's, and how many there are. One that cannot be parsed has its
/// digest only.
pub(super) fn chain(body: &[u8]) -> Option<(Option<Certificate>, u32)> {
    let mut list = Reader::new(body).block24()?;
    let (mut first, mut count) = (None, 0);
    while count < CERTIFICATES_MAX
        && let Some(der) = list.block24()
    {
        first.get_or_insert(der.rest());
        count += 1;
    }
    Some((first.map(read), count))
}

/// The fields of a certificate.
pub(super) fn read(der: &[u8]) -> Certificate {
    let (sha256, sha1) = (hex(&Sha256::digest(der)).into(), Sha1::digest(der).into());
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return Certificate { sha256, sha1, ..Certificate::default() };
    };
    let validity = certificate.validity();
    Certificate {
        subject: Some(text(certificate.subject().to_string().as_bytes())),
        issuer: Some(text(certificate.issuer().to_string().as_bytes())),
        serial: Some(text(hex(certificate.raw_serial()).as_bytes())),
        not_before: Some(validity.not_before.timestamp()),
        not_after: Some(validity.not_after.timestamp()),
        san: names(&certificate),
        sha256,
        sha1,
    }
}

fn names(certificate: &X509Certificate<'_>) -> Vec<Box<str>> {
    let lists = certificate.extensions().iter().filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    lists.flatten().filter_map(name).take(NAMES_MAX).collect()
}

fn name(name: &GeneralName<'_>) -> Option<Box<str>> {
    match name {
        GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
            Some(text(name.as_bytes()))
        }
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv4Addr::from(bytes).to_string().into()),
            16 => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv6Addr::from(bytes).to_string().into()),
            _ => None,
        },
        _ => None,
    }
}
