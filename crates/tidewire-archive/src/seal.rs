//! Files that only recipients can read.
//!
//! Each file has a data key of its own, wrapped for the recipients by `age` (X25519) in its header. The rest is frames of at most
//! 256 KiB, sealed with XChaCha20-Poly1305. A file that was cut, and frames that were changed, swapped or taken from another file,
//! are recognised.
//!
//! | part | bytes |
//! |---|---|
//! | `TWSEALED` | 8 |
//! | version (1), what it holds (1: a segment, 2: an index) | 2, 2 |
//! | length of the wrapped key | 4 |
//! | id of the file | 16 |
//! | the wrapped key: an age file of id (16 bytes) and key (32 bytes) | its length |
//! | frames: length of the content, with bit 31 set in the last one; encrypted content; tag | 4, its length, 16 |
//!
//! Numbers are little-endian. The nonce of a frame is what the file holds (1 byte), 15 zeros and the frame's number from 0 (8 bytes);
//! authenticated with it are the id, what the file holds (2 bytes), the number and the frame's length with its bit.

mod reader;
mod writer;

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use age::{Decryptor, Encryptor, x25519};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use tidewire_types::random;
use zeroize::Zeroizing;

use crate::Error;
pub(crate) use reader::{unseal, whole_bytes};
pub(crate) use writer::SealWriter;

pub(crate) const MAGIC: &[u8; 8] = b"TWSEALED";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
/// Content of a frame at most.
pub(crate) const FRAME_BYTES: usize = 256 << 10;
const LAST: u32 = 1 << 31;
/// Bytes of a wrapped key at most: 64 recipients take about 8 KiB.
const WRAPPED_BYTES_MAX: usize = 64 << 10;
/// Recipients at most: each has a place in the header of every file.
pub const RECIPIENTS_MAX: usize = 64;
/// Bytes of a file of identities at most.
const IDENTITIES_BYTES_MAX: u64 = 1 << 20;

/// What a sealed file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Content {
    Segment = 1,
    Index = 2,
}

/// Who can read sealed files.
#[derive(Clone)]
pub struct Recipients(Vec<x25519::Recipient>);

impl std::fmt::Debug for Recipients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recipients({})", self.0.len())
    }
}

impl Recipients {
    /// By their names, `age1…`.
    ///
    /// # Errors
    /// One is none, or they are too many, or none.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, Error> {
        if texts.is_empty() || texts.len() > RECIPIENTS_MAX {
            let count = texts.len();
            return Err(Error::Key(format!("{count} recipients: 1 to {RECIPIENTS_MAX} are possible")));
        }
        let parse = |text: &S| {
            let shown: String = text.as_ref().chars().take(100).collect();
            let failed =
                |why| Error::Key(format!("'{}' is no recipient of age (age1...): {why}", shown.escape_debug()));
            text.as_ref().trim().parse::<x25519::Recipient>().map_err(failed)
        };
        texts.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Identities that open sealed files.
#[derive(Clone, Default)]
pub struct Identities(Vec<x25519::Identity>);

impl std::fmt::Debug for Identities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identities({})", self.0.len())
    }
}

impl Identities {
    /// The identities in these files (`AGE-SECRET-KEY-1…`, a line each; empty lines and comments (`#`) are left out), as
    /// `tidewire keys` and age-keygen(1) write them.
    ///
    /// # Errors
    /// A file cannot be read, or holds no identity.
    pub fn from_files(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut identities = Self::default();
        for path in paths {
            let failed = |what: String| Error::Key(format!("{}: {what}", path.display()));
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
    /// Why it is none.
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
}

/// The id and the cipher of a file.
struct Key {
    id: [u8; 16],
    cipher: XChaCha20Poly1305,
}

impl Key {
    fn of(secret: &[u8; 48]) -> Self {
        let (name, key) = secret.split_at(16);
        let mut id = [0; 16];
        id.copy_from_slice(name);
        Self { id, cipher: XChaCha20Poly1305::new(chacha20poly1305::Key::from_slice(key)) }
    }

    /// A new key, and its wrapped form.
    fn make(recipients: &Recipients) -> Result<(Self, Vec<u8>), Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Key(format!("the data key cannot be made: {error}"));
        let mut secret = Zeroizing::new([0_u8; 48]);
        random::fill(secret.as_mut_slice()).map_err(|error| failed(&error))?;
        let all = recipients.0.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(all).map_err(|error| failed(&error))?;
        let mut wrapped = Vec::new();
        let mut to = encryptor.wrap_output(&mut wrapped).map_err(|error| failed(&error))?;
        let written = to.write_all(secret.as_slice()).and_then(|()| to.finish());
        written.map(drop).map_err(|error| failed(&error))?;
        Ok((Self::of(&secret), wrapped))
    }

    /// Unwraps a key.
    fn unwrap(id: &[u8; 16], wrapped: &[u8], identities: &Identities, path: &Path) -> Result<Self, Error> {
        let damaged = || Error::damaged(path, "its wrapped key cannot be read");
        let decryptor = Decryptor::new_buffered(wrapped).map_err(|_| damaged())?;
        let all = identities.0.iter().map(|identity| identity as &dyn age::Identity);
        let mut from = match decryptor.decrypt(all) {
            Ok(from) => from,
            Err(age::DecryptError::NoMatchingKeys) => {
                return Err(Error::Sealed { path: path.to_owned(), identities: identities.0.len() });
            }
            Err(_) => return Err(damaged()),
        };
        let mut secret = Zeroizing::new([0_u8; 48]);
        from.read_exact(secret.as_mut_slice()).map_err(|_| damaged())?;
        let key = Self::of(&secret);
        if key.id == *id { Ok(key) } else { Err(damaged()) }
    }
}

fn nonce(content: Content, number: u64) -> XNonce {
    let mut nonce = [0; 24];
    nonce[0] = content as u8;
    nonce[16..].copy_from_slice(&number.to_le_bytes());
    nonce.into()
}

/// What is authenticated with a frame.
fn associated(id: &[u8; 16], content: Content, number: u64, head: u32) -> [u8; 30] {
    let mut bytes = [0; 30];
    bytes[..16].copy_from_slice(id);
    bytes[16..18].copy_from_slice(&(content as u16).to_le_bytes());
    bytes[18..26].copy_from_slice(&number.to_le_bytes());
    bytes[26..].copy_from_slice(&head.to_le_bytes());
    bytes
}
