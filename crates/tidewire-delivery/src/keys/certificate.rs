//! Facts of certificates.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::pki_types::CertificateDer;
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

/// The purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It signs others.
    Authority,
    /// It proves who a collector is.
    Collector,
    /// It proves who a sensor is.
    Sensor,
    /// None of these alone.
    Other,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authority => "authority",
            Self::Collector => "collector",
            Self::Sensor => "sensor",
            Self::Other => "other",
        })
    }
}

/// Facts of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its common name; empty if it has none or several.
    pub name: String,
    /// Its serial number: bytes in hexadecimal, with colons between.
    pub serial: String,
    /// Names and addresses of the host.
    pub hosts: Vec<String>,
    /// Its purpose.
    pub role: Role,
    /// From when on it is valid.
    pub begins: SystemTime,
    /// Until when.
    pub ends: SystemTime,
}

impl Facts {
    /// Reads a certificate; nothing is verified. `None`: it is invalid.
    #[must_use]
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (rest, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let mut names = certificate.subject().iter_common_name().map(|name| name.as_str().unwrap_or_default());
        let name = names.next().filter(|_| names.next().is_none()).unwrap_or_default().to_owned();
        let validity = certificate.validity();
        Some(Self {
            name,
            serial: certificate.raw_serial_as_string(),
            hosts: hosts(&certificate),
            role: role(&certificate),
            begins: time(validity.not_before.timestamp()),
            ends: time(validity.not_after.timestamp()),
        })
    }

    /// How long it is still valid; `None`: it is not.
    #[must_use]
    pub fn left(&self, now: SystemTime) -> Option<Duration> {
        self.ends.duration_since(now).ok().filter(|_| self.begins <= now)
    }
}

fn time(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds.max(0).cast_unsigned())
}

fn role(certificate: &X509Certificate<'_>) -> Role {
    if certificate.is_ca() {
        return Role::Authority;
    }
    let usage = certificate.extended_key_usage().ok().flatten().map(|usage| usage.value);
    match usage.map(|usage| (usage.server_auth, usage.client_auth)) {
        Some((true, false)) => Role::Collector,
        Some((false, true)) => Role::Sensor,
        _ => Role::Other,
    }
}

fn hosts(certificate: &X509Certificate<'_>) -> Vec<String> {
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.map(|names| names.value.general_names.as_slice()).unwrap_or_default();
    let host = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(std::net::IpAddr::from);
            four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(std::net::IpAddr::from)).ok().map(|ip| ip.to_string())
        }
        _ => None,
    };
    names.iter().filter_map(host).collect()
}
