//! Data keys of files and records that only named recipients can read.
//!
//! A key is random and has a random id. It is wrapped for its recipients by `age` (X25519): an age file of the id (16 bytes) and the
//! key (32 bytes). What is sealed with it, and how, is up to who uses it.
#![forbid(unsafe_code)]

use std::{
    fmt, fs,
    io::{self, Read as _, Write as _},
    path::PathBuf,
};

use age::{Decryptor, Encryptor, x25519};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305};
use tidewire_types::random;
use zeroize::Zeroizing;

/// Recipients at most: each has a place in every wrapped key.
pub const RECIPIENTS_MAX: usize = 64;
/// Bytes of a wrapped key at most: 64 recipients take about 8 KiB.
pub const WRAPPED_BYTES_MAX: usize = 64 << 10;
/// Bytes of a file of identities at most.
const IDENTITIES_BYTES_MAX: u64 = 1 << 20;
/// Bytes of an id and a key.
const SECRET_BYTES: usize = 48;

/// The id of a data key.
pub type KeyId = [u8; 16];

/// Why a key cannot be made, or an identity not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The caller's: no recipient.
    #[error("'{}' is no recipient of age (age1...): {why}", text.escape_debug())]
    Recipient {
        /// The text as given.
        text: String,
        /// The reason for the refusal.
        why: &'static str,
    },
    /// The caller's: no recipients, or too many.
    #[error("{0} recipients: 1 to {RECIPIENTS_MAX} are possible")]
    Recipients(usize),
    /// The file has no identity, or cannot be read.
    #[error("{}: {what}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// The error in it.
        what: String,
    },
    /// A library's or the system's.
    #[error("the data key cannot be made: {0}")]
    Make(String),
}

/// Why a wrapped key cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnwrapError {
    /// No identity is among the recipients.
    #[error("none of the identities is a recipient")]
    NotForUs,
    /// It is too long, was changed, or is that of another id.
    #[error("the wrapped key cannot be read")]
    Damaged,
}

/// Who can read what is sealed.
#[derive(Clone)]
pub struct Recipients(Vec<x25519::Recipient>);

impl fmt::Debug for Recipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipients({})", self.0.len())
    }
}

impl Recipients {
    /// Parses their names, `age1…`.
    ///
    /// # Errors
    /// A name is invalid, or there are none or too many.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, KeyError> {
        if texts.is_empty() || texts.len() > RECIPIENTS_MAX {
            return Err(KeyError::Recipients(texts.len()));
        }
        let parse = |text: &S| {
            let text = text.as_ref();
            let failed = |why| KeyError::Recipient { text: text.chars().take(100).collect(), why };
            text.trim().parse::<x25519::Recipient>().map_err(failed)
        };
        texts.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Identities that open what is sealed.
#[derive(Clone, Default)]
pub struct Identities(Vec<x25519::Identity>);

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({})", self.0.len())
    }
}

impl Identities {
    /// Reads the identities of files (`AGE-SECRET-KEY-1…`, a line each; empty lines and comments (`#`) are left out), as
    /// `tidewire keys` and age-keygen(1) write them.
    ///
    /// # Errors
    /// A file cannot be read, or holds no identity.
    pub fn from_files(paths: &[PathBuf]) -> Result<Self, KeyError> {
        let mut identities = Self::default();
        for path in paths {
            let failed = |what: String| KeyError::Identity { path: path.clone(), what };
            let mut text = Zeroizing::new(String::new());
            let file = fs::File::open(path).map_err(|error| failed(error.to_string()))?;
            let read = file.take(IDENTITIES_BYTES_MAX).read_to_string(&mut text);
            read.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => failed("it holds no identity of age (AGE-SECRET-KEY-1...)".into()),
                _ => failed(error.to_string()),
            })?;
            identities.add(&text).map_err(|what| failed(what.to_owned()))?;
        }
        Ok(identities)
    }

    /// Adds the identities of a text.
    ///
    /// # Errors
    /// A line is no identity, or there is none.
    pub fn add(&mut self, text: &str) -> Result<(), &'static str> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found: Result<Vec<x25519::Identity>, _> = lines.map(str::parse).collect();
        let found = found.map_err(|_| "a line is no identity of age (AGE-SECRET-KEY-1...)")?;
        if found.is_empty() {
            return Err("it holds no identity of age (AGE-SECRET-KEY-1...)");
        }
        self.0.extend(found);
        Ok(())
    }

    /// Number of identities.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A data key.
#[derive(Clone)]
pub struct DataKey {
    /// Its id, which stands beside what it seals.
    pub id: KeyId,
    /// The cipher that seals with it.
    pub cipher: XChaCha20Poly1305,
}

impl DataKey {
    fn of(secret: &[u8; SECRET_BYTES]) -> Self {
        let (name, key) = secret.split_at(16);
        let mut id = KeyId::default();
        id.copy_from_slice(name);
        Self { id, cipher: XChaCha20Poly1305::new(chacha20poly1305::Key::from_slice(key)) }
    }

    /// Makes a new key, and wraps it for its recipients.
    ///
    /// # Errors
    /// There is no randomness, or a recipient is weak.
    pub fn make(recipients: &Recipients) -> Result<(Self, Vec<u8>), KeyError> {
        let failed = |error: &dyn fmt::Display| KeyError::Make(error.to_string());
        let mut secret = Zeroizing::new([0_u8; SECRET_BYTES]);
        random::fill(secret.as_mut_slice()).map_err(|error| failed(&error))?;
        let all = recipients.0.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(all).map_err(|error| failed(&error))?;
        let mut wrapped = Vec::new();
        let mut to = encryptor.wrap_output(&mut wrapped).map_err(|error| failed(&error))?;
        let written = to.write_all(secret.as_slice()).and_then(|()| to.finish());
        written.map(drop).map_err(|error| failed(&error))?;
        Ok((Self::of(&secret), wrapped))
    }

    /// Unwraps the key of this id.
    ///
    /// # Errors
    /// It is for others, or cannot be read.
    pub fn unwrap(id: &KeyId, wrapped: &[u8], identities: &Identities) -> Result<Self, UnwrapError> {
        if wrapped.len() > WRAPPED_BYTES_MAX {
            return Err(UnwrapError::Damaged);
        }
        let decryptor = Decryptor::new_buffered(wrapped).map_err(|_| UnwrapError::Damaged)?;
        let all = identities.0.iter().map(|identity| identity as &dyn age::Identity);
        let mut from = decryptor.decrypt(all).map_err(|error| match error {
            age::DecryptError::NoMatchingKeys => UnwrapError::NotForUs,
            _ => UnwrapError::Damaged,
        })?;
        let mut secret = Zeroizing::new([0_u8; SECRET_BYTES]);
        from.read_exact(secret.as_mut_slice()).map_err(|_| UnwrapError::Damaged)?;
        let key = Self::of(&secret);
        if key.id == *id { Ok(key) } else { Err(UnwrapError::Damaged) }
    }
}

#[cfg(test)]
mod tests {
    use age::secrecy::ExposeSecret as _;

    use super::*;

    fn identity() -> (Identities, String) {
        let identity = x25519::Identity::generate();
        let mut identities = Identities::default();
        identities.add(&format!("# ours\n\n{}\n", identity.to_string().expose_secret())).unwrap();
        (identities, identity.to_public().to_string())
    }

    #[test]
    fn only_recipients_unwrap_a_key() {
        let [(ours, name), (theirs, _)] = [identity(), identity()];
        let (key, wrapped) = DataKey::make(&Recipients::parse(&[name]).unwrap()).unwrap();
        assert_eq!(DataKey::unwrap(&key.id, &wrapped, &ours).unwrap().id, key.id);
        let refused =
            |id: &KeyId, wrapped: &[u8], identities: &Identities| DataKey::unwrap(id, wrapped, identities).err();
        assert_eq!(refused(&key.id, &wrapped, &theirs), Some(UnwrapError::NotForUs));
        assert_eq!(refused(&KeyId::default(), &wrapped, &ours), Some(UnwrapError::Damaged));
        assert_eq!(refused(&key.id, &wrapped[..wrapped.len() - 1], &ours), Some(UnwrapError::Damaged));
        let long = vec![0; WRAPPED_BYTES_MAX + 1];
        assert_eq!(refused(&key.id, &long, &ours), Some(UnwrapError::Damaged));
    }

    #[test]
    fn files_without_an_identity_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (content, why) in
            [(&b"# nothing\n"[..], "holds no identity"), (b"x", "a line is no"), (b"\xff", "holds no")]
        {
            let path = folder.path().join("identities");
            fs::write(&path, content).unwrap();
            let error = Identities::from_files(&[path]).unwrap_err().to_string();
            assert!(error.contains("identities: ") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn there_is_a_bounded_number_of_recipients() {
        let (identities, name) = identity();
        assert_eq!((identities.count(), format!("{identities:?}")), (1, "Identities(1)".into()));
        assert!(matches!(Recipients::parse::<&str>(&[]), Err(KeyError::Recipients(0))));
        assert!(matches!(Recipients::parse(&["age1"]), Err(KeyError::Recipient { .. })));
        assert!(matches!(Recipients::parse(&vec![name; 65]), Err(KeyError::Recipients(65))));
    }
}
