//! Records that only named recipients can read.
//!
//! A *data key* is made for a process, and forgotten with it. Each record is sealed with it (XChaCha20-Poly1305); the key itself is
//! wrapped for the recipients by `age` (X25519) and stored beside. What a store has to know to remove, select and deliver records stays
//! in the clear, and is authenticated: analyzer, kind, severity, fold, count of events, times, the key's id.
//!
//! | sealed record | bytes |
//! |---|---|
//! | version (1) | 1 |
//! | number of the record under its key, from 0: the nonce's last bytes, the others are 0 | 8 |
//! | the encrypted record, and its tag | its length, 16 |
//!
//! A wrapped key is an age file of the key's id (16 bytes) and the key (32 bytes).

use std::{
    collections::HashMap,
    fs,
    io::{Read as _, Write as _},
    path::PathBuf,
};

use age::{Decryptor, Encryptor, x25519};
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};
use tidewire_events::Record;
use tidewire_types::random;
use zeroize::Zeroizing;

use crate::{
    rows::{KeyId, Row},
    schema::time,
};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 9;
/// Bytes of a wrapped key, at most: one for a hundred recipients.
pub const WRAPPED_BYTES_MAX: usize = 64 << 10;
/// Recipients at most: each has a place in every wrapped key.
pub const RECIPIENTS_MAX: usize = 64;

/// Why records cannot be sealed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The caller's: no recipient.
    #[error("'{}' is no recipient of age (age1...): {why}", text.escape_debug())]
    Recipient {
        /// What it was.
        text: String,
        /// Why not.
        why: &'static str,
    },
    /// The caller's: too many.
    #[error("{0} recipients: 1 to {RECIPIENTS_MAX} are possible")]
    Recipients(usize),
    /// The file has no identity, or cannot be read.
    #[error("{}: {what}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A library's or the system's.
    #[error("the data key cannot be made: {0}")]
    Key(String),
    /// No identity is among the recipients.
    #[error("none of the identities is a recipient of this record")]
    NotForUs,
    /// Somebody changed the record, what is known of it, or its key.
    #[error("it was changed, or is sealed with another key")]
    Changed,
    /// The record has no key, or one that cannot be read.
    #[error("its key is missing or damaged")]
    NoKey,
}

/// Who can read records.
#[derive(Clone)]
pub struct Recipients(Vec<x25519::Recipient>);

impl Recipients {
    /// By their names, `age1…`.
    ///
    /// # Errors
    /// One is none, or they are too many, or none.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, SealError> {
        if texts.is_empty() || texts.len() > RECIPIENTS_MAX {
            return Err(SealError::Recipients(texts.len()));
        }
        let parse = |text: &S| {
            let text = text.as_ref();
            let failed = |why| SealError::Recipient { text: text.chars().take(100).collect(), why };
            text.trim().parse::<x25519::Recipient>().map_err(failed)
        };
        texts.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Seals records under one data key.
pub struct Sealer {
    key: KeyId,
    wrapped: Vec<u8>,
    cipher: XChaCha20Poly1305,
    next: u64,
}

fn random(bytes: &mut [u8]) -> Result<(), SealError> {
    random::fill(bytes).map_err(|error| SealError::Key(error.to_string()))
}

impl Sealer {
    /// Makes a data key, wrapped for these recipients.
    ///
    /// # Errors
    /// There is no randomness, or a recipient is weak.
    pub fn new(recipients: &Recipients) -> Result<Self, SealError> {
        // The id, and the key.
        let mut secret = Zeroizing::new([0_u8; 48]);
        random(secret.as_mut_slice())?;
        let failed = |error: &dyn std::fmt::Display| SealError::Key(error.to_string());
        let all = recipients.0.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(all).map_err(|error| failed(&error))?;
        let mut wrapped = Vec::new();
        let mut writer = encryptor.wrap_output(&mut wrapped).map_err(|error| failed(&error))?;
        let written = writer.write_all(secret.as_slice()).and_then(|()| writer.finish());
        written.map(drop).map_err(|error| failed(&error))?;
        let (key, cipher) = parts(&secret);
        Ok(Self { key, wrapped, cipher, next: 0 })
    }

    /// The data key, wrapped: [`Batch::keys`](crate::Batch::keys) of the batch with the first record, or an earlier one.
    #[must_use]
    pub fn key(&self) -> (KeyId, Vec<u8>) {
        (self.key, self.wrapped.clone())
    }

    /// Seals a record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn seal(&mut self, record: &Record) -> Result<Row, SealError> {
        let plain = Row::plain(0, record).map_err(|error| SealError::Key(error.to_string()))?;
        let number = self.next;
        // A nonce is used once, whatever happens behind.
        self.next += 1;
        let mut row = Row { key: Some(self.key), bytes: Vec::new(), ..plain };
        let payload = Payload { msg: record.bytes(), aad: &known(&row, &self.key) };
        let sealed = self.cipher.encrypt(&nonce(number), payload);
        let sealed = sealed.map_err(|_| SealError::Key("the record is too long".into()))?;
        row.bytes.reserve_exact(HEAD_BYTES + sealed.len());
        row.bytes.push(VERSION);
        row.bytes.extend_from_slice(&number.to_le_bytes());
        row.bytes.extend_from_slice(&sealed);
        Ok(row)
    }
}

/// The id and the cipher of a key.
fn parts(secret: &[u8; 48]) -> (KeyId, XChaCha20Poly1305) {
    let (id, key) = secret.split_at(16);
    let mut name = KeyId::default();
    name.copy_from_slice(id);
    (name, XChaCha20Poly1305::new(chacha20poly1305::Key::from_slice(key)))
}

fn nonce(number: u64) -> XNonce {
    let mut nonce = [0; 24];
    nonce[16..].copy_from_slice(&number.to_le_bytes());
    nonce.into()
}

/// What is known of a record without its key: nobody can change it unnoticed.
fn known(row: &Row, key: &KeyId) -> Vec<u8> {
    let mut bytes = key.to_vec();
    for name in [&row.analyzer, &row.kind] {
        bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.push(row.severity.number());
    for number in [row.fold, row.events] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    // As a store has them: an event may state any time, and it ends in 2262.
    for time_ns in [row.first_ns, row.last_ns] {
        bytes.extend_from_slice(&time(time_ns).to_le_bytes());
    }
    bytes
}

/// Reads sealed records with identities of `age`.
#[derive(Default)]
pub struct Keyring {
    identities: Vec<x25519::Identity>,
    /// Keys that were unwrapped; `None`: they are not for us.
    keys: HashMap<KeyId, Option<XChaCha20Poly1305>>,
}

/// Keys that are remembered.
const KEYS_MAX: usize = 4096;

impl Keyring {
    /// With the identities of these files (`AGE-SECRET-KEY-1…`, a line each), as `tidewire keys` and age-keygen(1) write them.
    ///
    /// # Errors
    /// A file cannot be read, or holds no identity.
    pub fn from_files(paths: &[PathBuf]) -> Result<Self, SealError> {
        let mut keyring = Self::default();
        for path in paths {
            let failed = |what: String| SealError::Identity { path: path.clone(), what };
            let text = fs::read_to_string(path).map(Zeroizing::new).map_err(|error| failed(error.to_string()))?;
            keyring.add(&text).map_err(|what| failed(what.to_owned()))?;
        }
        Ok(keyring)
    }

    /// Adds the identities of a text: a line each; empty lines and comments (`#`) are left out.
    ///
    /// # Errors
    /// Why it is none.
    pub fn add(&mut self, text: &str) -> Result<(), &'static str> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found: Result<Vec<x25519::Identity>, _> = lines.map(str::parse).collect();
        let found = found.map_err(|_| "a line is no identity of age (AGE-SECRET-KEY-1...)")?;
        if found.is_empty() {
            return Err("it holds no identity of age (AGE-SECRET-KEY-1...)");
        }
        self.identities.extend(found);
        self.keys.clear();
        Ok(())
    }

    /// Reads a sealed record; `wrapped`: its key, as a store, a collector or a message has it.
    ///
    /// # Errors
    /// It is not for these identities, or was changed.
    pub fn unseal(&mut self, row: &Row, wrapped: impl FnOnce() -> Option<Vec<u8>>) -> Result<Record, SealError> {
        let Some(key) = row.key else { return Err(SealError::NoKey) };
        if !self.keys.contains_key(&key) {
            let cipher = self.unwrap(&key, &wrapped().ok_or(SealError::NoKey)?)?;
            if self.keys.len() >= KEYS_MAX {
                self.keys.clear();
            }
            self.keys.insert(key, cipher);
        }
        let cipher = self.keys.get(&key).and_then(Option::as_ref).ok_or(SealError::NotForUs)?;
        let (head, sealed) = row.bytes.split_first_chunk::<HEAD_BYTES>().ok_or(SealError::Changed)?;
        let [VERSION, number @ ..] = head else { return Err(SealError::Changed) };
        let payload = Payload { msg: sealed, aad: &known(row, &key) };
        let plain = cipher.decrypt(&nonce(u64::from_le_bytes(*number)), payload);
        let record = Record::decode(&plain.map_err(|_| SealError::Changed)?).map_err(|_| SealError::Changed)?;
        // Its own head says the same as what was authenticated, if it was sealed by us.
        if Row::plain(row.id, &record).is_ok_and(|plain| known(&plain, &key) == known(row, &key)) {
            Ok(record)
        } else {
            Err(SealError::Changed)
        }
    }

    /// Unwraps a key; `None`: it is for others.
    fn unwrap(&self, key: &KeyId, wrapped: &[u8]) -> Result<Option<XChaCha20Poly1305>, SealError> {
        if wrapped.len() > WRAPPED_BYTES_MAX {
            return Err(SealError::NoKey);
        }
        let decryptor = Decryptor::new_buffered(wrapped).map_err(|_| SealError::NoKey)?;
        let identities = self.identities.iter().map(|identity| identity as &dyn age::Identity);
        let mut reader = match decryptor.decrypt(identities) {
            Ok(reader) => reader,
            Err(age::DecryptError::NoMatchingKeys) => return Ok(None),
            Err(_) => return Err(SealError::NoKey),
        };
        let mut secret = Zeroizing::new([0_u8; 48]);
        reader.read_exact(secret.as_mut_slice()).map_err(|_| SealError::NoKey)?;
        let (name, cipher) = parts(&secret);
        if name == *key { Ok(Some(cipher)) } else { Err(SealError::NoKey) }
    }
}
