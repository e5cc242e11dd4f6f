//! An authority: one key that signs the certificates of a collector and its sensors.

use std::{
    net::IpAddr,
    path::Path,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use time::OffsetDateTime;

use super::{
    certificate::{Facts, Role},
    error::KeyError,
    files,
};
use crate::limits::is_sensor_name;

/// Names of a host in a certificate, at most.
const HOSTS_MAX: usize = 32;
/// A certificate is valid from a day before it is made: clocks differ.
const BEFORE: Duration = Duration::from_secs(86_400);

/// How long a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// From when.
    pub begins: SystemTime,
    /// Until when.
    pub ends: SystemTime,
}

impl Validity {
    /// From now (a day ago, as clocks differ) for so long.
    #[must_use]
    pub fn of(span: Duration) -> Self {
        let now = SystemTime::now();
        Self { begins: now - BEFORE, ends: now + span }
    }
}

/// An authority.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
    ends: SystemTime,
}

impl Authority {
    /// Makes one. Returns it with the text of its file: key and certificate.
    ///
    /// # Errors
    /// There is no randomness, or the times are not possible.
    pub fn make(name: &str, validity: Validity) -> Result<(Self, String), KeyError> {
        let key = KeyPair::generate()?;
        let mut params = params(name, validity);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.pem();
        let text = format!("{}{certificate}", key.serialize_pem());
        Ok((Self { certificate, issuer: Issuer::new(params, key), ends: validity.ends }, text))
    }

    /// Reads one from its file.
    ///
    /// # Errors
    /// It cannot be read, others have access to it, or it holds no authority.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = files::read(path)?;
        let wrong = |what: &str| KeyError::content(path, what);
        let key = KeyPair::from_pem(&text).map_err(|_| wrong("this file holds no key of an authority"))?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes());
        let certificate = certificate.map_err(|_| wrong("this file holds no certificate of an authority"))?;
        let facts = Facts::of(&certificate).ok_or_else(|| wrong("its certificate cannot be read"))?;
        if facts.role != Role::Authority {
            return Err(wrong("its certificate is not that of an authority"));
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key)?;
        let at = text.find("-----BEGIN CERTIFICATE-----").unwrap_or(0);
        let certificate = text.get(at..).unwrap_or_default().trim_end().to_owned() + "\n";
        Ok(Self { certificate, issuer, ends: facts.ends })
    }

    /// Its certificate, which everybody may see.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Makes a key and a certificate for a sensor of this name. The text of its file: key, certificate, certificate of the authority.
    ///
    /// # Errors
    /// The name is not possible.
    pub fn sensor(&self, name: &str, validity: Validity) -> Result<String, KeyError> {
        if !is_sensor_name(name) {
            let what =
                "the name of a sensor has 1 to 63 letters, digits, '-', '_' and '.', the first a letter or a digit";
            return Err(KeyError::Name { name: name.to_owned(), what });
        }
        self.issue(params(name, validity), ExtendedKeyUsagePurpose::ClientAuth, validity)
    }

    /// Makes a key and a certificate for a collector that sensors reach by one of these names or addresses.
    ///
    /// # Errors
    /// A name is not possible.
    pub fn collector(&self, hosts: &[String], validity: Validity) -> Result<String, KeyError> {
        for host in hosts {
            let is_address = host.parse::<IpAddr>().is_ok();
            if !is_address && (rustls::pki_types::DnsName::try_from(host.as_str()).is_err() || host.contains('*')) {
                let what = "expected the name of a host, as in collector.example.org, or an IP address";
                return Err(KeyError::Name { name: host.clone(), what });
            }
        }
        let Some(first) = hosts.first().filter(|_| hosts.len() <= HOSTS_MAX) else {
            return Err(KeyError::Missing("name 1 to 32 hosts by which sensors reach the collector"));
        };
        let mut params = params(first, validity);
        params.subject_alt_names = CertificateParams::new(hosts.to_vec())?.subject_alt_names;
        self.issue(params, ExtendedKeyUsagePurpose::ServerAuth, validity)
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> Result<String, KeyError> {
        let ends = validity.ends.min(self.ends);
        params.not_after = OffsetDateTime::from(ends);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(format!("{}{certificate}{}", key.serialize_pem(), self.certificate))
    }
}

fn params(name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = OffsetDateTime::from(validity.begins);
    params.not_after = OffsetDateTime::from(validity.ends);
    params
}
