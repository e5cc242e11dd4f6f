//! Certificates in clear text: up to TLS 1.2 (RFC 5246 section 7.4.2).

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::{FromDer as _, GeneralName, ParsedExtension, X509Certificate};

use super::{fields::Certificate, x509_name};
use crate::{
    reader::Reader,
    text::{hex, text},
};

/// Most alternative names that are kept.
const NAMES_MAX: usize = 64;

/// Most certificates that are counted.
const CERTIFICATES_MAX: u32 = 64;

/// Most certificates of a side of which the digest is kept. Chains that clients accept are shorter (OpenSSL: 100 at most, browsers
/// ten); 16 digests are half a KiB.
const DIGESTS_MAX: usize = 16;

/// The certificates of a message.
#[derive(Debug, Default)]
pub(super) struct Chain<'a> {
    /// The first, which is the sender's own.
    pub(super) first: Option<&'a [u8]>,
    pub(super) count: u32,
    /// SHA-256 of each, the first ones.
    pub(super) sha256: Vec<[u8; 32]>,
}

impl<'a> Chain<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut list = Reader::new(body).block24()?;
        let mut chain = Self::default();
        while chain.count < CERTIFICATES_MAX
            && let Some(der) = list.block24()
        {
            let der = der.rest();
            chain.first.get_or_insert(der);
            chain.count += 1;
            if chain.sha256.len() < DIGESTS_MAX {
                chain.sha256.push(Sha256::digest(der).into());
            }
        }
        Some(chain)
    }
}

/// The fields of a certificate. One that cannot be parsed has its digests only. `sha256`: its digest, if that is known.
pub(super) fn read(der: &[u8], sha256: Option<&[u8; 32]>) -> Certificate {
    let sha256 = sha256.copied().unwrap_or_else(|| Sha256::digest(der).into());
    let (sha256, sha1) = (hex(&sha256).into(), Sha1::digest(der).into());
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return Certificate { sha256, sha1, ..Certificate::default() };
    };
    let validity = certificate.validity();
    Certificate {
        subject: Some(x509_name::shown(certificate.subject())),
        issuer: Some(x509_name::shown(certificate.issuer())),
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
