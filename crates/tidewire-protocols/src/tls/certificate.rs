//! Certificates in clear text: up to TLS 1.2 (RFC 5246 section 7.4.2).

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use x509_parser::{
    oid_registry::OID_X509_EXT_SUBJECT_ALT_NAME,
    prelude::{FromDer as _, GeneralName, ParsedExtension, X509Certificate},
};

use super::x509_name;
use crate::{
    fields::Certificate,
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
    let (san, san_left_out) = names(&certificate);
    Certificate {
        subject: Some(x509_name::shown(certificate.subject())),
        issuer: Some(x509_name::shown(certificate.issuer())),
        serial: Some(text(hex(certificate.raw_serial()).as_bytes())),
        not_before: Some(validity.not_before.timestamp()),
        not_after: Some(validity.not_after.timestamp()),
        san,
        san_left_out,
        sha256,
        sha1,
    }
}

/// The alternative names, and how many are not among them: further ones, and those of other kinds.
fn names(certificate: &X509Certificate<'_>) -> (Vec<Box<str>>, u32) {
    let (mut kept, mut left_out) = (Vec::new(), 0_u32);
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => {
                for found in &names.general_names {
                    match name(found).filter(|_| kept.len() < NAMES_MAX) {
                        Some(name) => kept.push(name),
                        None => left_out = left_out.saturating_add(1),
                    }
                }
            }
            // A list that cannot be read has one name at least.
            _ if extension.oid == OID_X509_EXT_SUBJECT_ALT_NAME => left_out = left_out.saturating_add(1),
            _ => {}
        }
    }
    (kept, left_out)
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
