//! Credentials of one side: its key and certificates, and the authorities that it trusts.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    Error, InconsistentKeys, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::{CertifiedKey, SingleCertAndKey},
};

use zeroize::Zeroizing;

use super::{
    certificate::{Facts, Role},
    error::KeyError,
    files,
};

/// Where key and certificates are: in one file, or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// A file with all of it, as `tidewire keys` makes it.
    pub keys: Option<PathBuf>,
    /// The certificate, with those between it and the authority's.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Certificates of authorities that the other side's may be from.
    pub authority: Option<PathBuf>,
}

/// Key, certificates and authorities, read and checked.
pub struct Credentials {
    /// The certificate, then those between it and the authority's.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its key, overwritten when it is dropped.
    pub key: Zeroizing<PrivateKeyDer<'static>>,
    /// Whom it believes.
    pub authorities: Arc<RootCertStore>,
    /// Facts of the certificate.
    pub facts: Facts,
    /// The file that the certificate is from.
    pub path: PathBuf,
}

const MISSING: &str = "no key: name the file that 'tidewire keys' made, or certificate, key and authority";

impl Places {
    fn part<'a>(&'a self, own: Option<&'a PathBuf>) -> Result<&'a Path, KeyError> {
        own.or(self.keys.as_ref()).map(PathBuf::as_path).ok_or(KeyError::Missing(MISSING))
    }

    /// Reads and checks all of it.
    ///
    /// # Errors
    /// A file cannot be read, has not what it should have, or others have access to its key.
    pub fn read(&self) -> Result<Credentials, KeyError> {
        let (certificate, key) = (self.part(self.certificate.as_ref())?, self.part(self.key.as_ref())?);
        let authority = self.part(self.authority.as_ref())?;
        let (chain, facts) = chain(certificate)?;
        let text = files::read(key)?;
        let read = PrivateKeyDer::from_pem_slice(text.as_bytes());
        let read = read.map_err(|_| KeyError::content(key, "this file holds no private key that can be read"))?;
        let credentials = Credentials {
            chain,
            key: Zeroizing::new(read),
            authorities: authorities(authority)?,
            facts,
            path: certificate.to_owned(),
        };
        credentials.certified()?;
        Ok(credentials)
    }
}

impl Credentials {
    pub(crate) fn unusable(&self, error: impl std::fmt::Display) -> KeyError {
        KeyError::content(&self.path, format!("key and certificate cannot be used: {error}"))
    }

    /// Key and certificate as both sides show them. The key is read where it is: copies would stay in memory.
    ///
    /// # Errors
    /// The key cannot be used, or does not belong to the certificate.
    pub(crate) fn certified(&self) -> Result<SingleCertAndKey, KeyError> {
        let key = ring::sign::any_supported_type(&self.key).map_err(|error| self.unusable(error))?;
        let certified = CertifiedKey::new(self.chain.clone(), key);
        match certified.keys_match() {
            // A kind of key that does not say its public half.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified.into()),
            Err(Error::InconsistentKeys(_)) => Err(self.unusable("the key is another certificate's")),
            Err(error) => Err(self.unusable(error)),
        }
    }
}

/// All certificates of a file, with what they say.
///
/// # Errors
/// The file cannot be read, or holds what is no certificate.
pub fn certificates(path: &Path) -> Result<Vec<(CertificateDer<'static>, Facts)>, KeyError> {
    let text = files::read(path)?;
    let certificate = |read: Result<CertificateDer<'static>, _>| {
        let certificate = read.ok()?;
        let facts = Facts::of(&certificate)?;
        Some((certificate, facts))
    };
    let all: Option<Vec<_>> = CertificateDer::pem_slice_iter(text.as_bytes()).map(certificate).collect();
    all.ok_or_else(|| KeyError::content(path, "this file holds a certificate that cannot be read"))
}

fn chain(path: &Path) -> Result<(Vec<CertificateDer<'static>>, Facts), KeyError> {
    let all = certificates(path)?;
    let Some(facts) = all.first().map(|first| first.1.clone()) else {
        return Err(KeyError::content(path, "this file holds no certificate"));
    };
    if facts.role == Role::Authority {
        return Err(KeyError::content(path, "its first certificate is that of an authority, which proves no name"));
    }
    // The other side has the authority's own.
    Ok((all.into_iter().filter(|one| one.1.role != Role::Authority).map(|one| one.0).collect(), facts))
}

fn authorities(path: &Path) -> Result<Arc<RootCertStore>, KeyError> {
    let mut roots = RootCertStore::empty();
    for (certificate, facts) in certificates(path)? {
        if facts.role == Role::Authority {
            let added = roots.add(certificate);
            added.map_err(|error| KeyError::content(path, format!("an authority that cannot be used: {error}")))?;
        }
    }
    if roots.is_empty() {
        return Err(KeyError::content(path, "this file holds no certificate of an authority"));
    }
    Ok(Arc::new(roots))
}
