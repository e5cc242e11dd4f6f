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

use std::path::Path;

use chacha20poly1305::XNonce;
use tidewire_sealing::{DataKey, UnwrapError, WRAPPED_BYTES_MAX};
pub use tidewire_sealing::{Identities, RECIPIENTS_MAX, Recipients};

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

/// Content of a sealed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Content {
    Segment = 1,
    Index = 2,
}

/// The data key of a file.
///
/// # Errors
/// It is for others, or cannot be read.
fn unwrap(id: &[u8; 16], wrapped: &[u8], identities: &Identities, path: &Path) -> Result<DataKey, Error> {
    DataKey::unwrap(id, wrapped, identities).map_err(|error| match error {
        UnwrapError::NotForUs => Error::Sealed { path: path.to_owned(), identities: identities.count() },
        UnwrapError::Damaged => Error::damaged(path, "its wrapped key cannot be read"),
    })
}

fn nonce(content: Content, number: u64) -> XNonce {
    let mut nonce = [0; 24];
    nonce[0] = content as u8;
    nonce[16..].copy_from_slice(&number.to_le_bytes());
    nonce.into()
}

/// Associated data of a frame, which is authenticated with it.
fn associated(id: &[u8; 16], content: Content, number: u64, head: u32) -> [u8; 30] {
    let mut bytes = [0; 30];
    bytes[..16].copy_from_slice(id);
    bytes[16..18].copy_from_slice(&(content as u16).to_le_bytes());
    bytes[18..26].copy_from_slice(&number.to_le_bytes());
    bytes[26..].copy_from_slice(&head.to_le_bytes());
    bytes
}
