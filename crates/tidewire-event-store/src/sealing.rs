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
//!
//! State of folding is not stored where records are sealed, and records are not joined.

use std::{collections::HashMap, path::PathBuf};

use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};
use tidewire_events::Record;
use tidewire_sealing::{DataKey, Identities, KeyError, UnwrapError};
pub use tidewire_sealing::{RECIPIENTS_MAX, Recipients, WRAPPED_BYTES_MAX};

use crate::{
    rows::{KeyId, Row},
    schema::time,
};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 9;

/// Why records cannot be sealed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// A recipient, an identity, or the making of a data key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The record is too long, or invalid.
    #[error("the record cannot be sealed: {0}")]
    Record(String),
    /// No identity is among the recipients.
    #[error("none of the identities is a recipient of this record")]
    NotForUs,
    /// The record, its plain columns or its key was changed.
    #[error("it was changed, or is sealed with another key")]
    Changed,
    /// The record has no key, or one that cannot be read.
    #[error("its key is missing or damaged")]
    NoKey,
}

/// Seals records under one data key.
pub struct Sealer {
    key: KeyId,
    wrapped: Vec<u8>,
    cipher: XChaCha20Poly1305,
    next: u64,
}

impl Sealer {
    /// Makes a data key, wrapped for these recipients.
    ///
    /// # Errors
    /// There is no randomness, or a recipient is weak.
    pub fn new(recipients: &Recipients) -> Result<Self, SealError> {
        let (DataKey { id: key, cipher }, wrapped) = DataKey::make(recipients)?;
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
        let plain = Row::plain(0, record).map_err(|error| SealError::Record(error.to_string()))?;
        let number = self.next;
        // A nonce is used once, whatever happens behind.
        self.next += 1;
        let mut row = Row { key: Some(self.key), bytes: Vec::new(), ..plain };
        let payload = Payload { msg: record.bytes(), aad: &known(&row, &self.key) };
        let sealed = self.cipher.encrypt(&nonce(number), payload);
        let sealed = sealed.map_err(|_| SealError::Record("it is too long".into()))?;
        row.bytes.reserve_exact(HEAD_BYTES + sealed.len());
        row.bytes.push(VERSION);
        row.bytes.extend_from_slice(&number.to_le_bytes());
        row.bytes.extend_from_slice(&sealed);
        Ok(row)
    }
}

fn nonce(number: u64) -> XNonce {
    let mut nonce = [0; 24];
    nonce[16..].copy_from_slice(&number.to_le_bytes());
    nonce.into()
}

/// Associated data of a sealed record: its plain columns, which cannot be changed unnoticed.
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
    identities: Identities,
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
        Ok(Self { identities: Identities::from_files(paths)?, ..Self::default() })
    }

    /// Adds the identities of a text: a line each; empty lines and comments (`#`) are left out.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn add(&mut self, text: &str) -> Result<(), &'static str> {
        self.identities.add(text)?;
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
        match DataKey::unwrap(key, wrapped, &self.identities) {
            Ok(key) => Ok(Some(key.cipher)),
            Err(UnwrapError::NotForUs) => Ok(None),
            Err(UnwrapError::Damaged) => Err(SealError::NoKey),
        }
    }
}
