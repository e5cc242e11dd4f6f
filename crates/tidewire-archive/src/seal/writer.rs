use chacha20poly1305::AeadInPlace as _;

use super::{Content, DataKey, FRAME_BYTES, LAST, MAGIC, Recipients, VERSION, associated, nonce};
use crate::Error;

/// Seals what is pushed to it.
pub(crate) struct SealWriter {
    key: DataKey,
    content: Content,
    /// Content of the next frame.
    waiting: Vec<u8>,
    next: u64,
}

impl SealWriter {
    /// Appends the header of a new file to `out`.
    pub fn begin(recipients: &Recipients, content: Content, out: &mut Vec<u8>) -> Result<Self, Error> {
        let (key, wrapped) = DataKey::make(recipients)?;
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(content as u16).to_le_bytes());
        out.extend_from_slice(&(wrapped.len() as u32).to_le_bytes());
        out.extend_from_slice(&key.id);
        out.extend_from_slice(&wrapped);
        Ok(Self { key, content, waiting: Vec::new(), next: 0 })
    }

    /// Appends the frames that are full to `out`.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.waiting.len() == FRAME_BYTES {
                self.seal(0, out);
            }
            let room = FRAME_BYTES - self.waiting.len();
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.waiting.extend_from_slice(now);
            bytes = rest;
        }
    }

    /// Ends the frame early, so that all that was pushed is in `out`.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.waiting.is_empty() {
            self.seal(0, out);
        }
    }

    /// Ends the file.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.seal(LAST, out);
    }

    fn seal(&mut self, last: u32, out: &mut Vec<u8>) {
        let head = self.waiting.len() as u32 | last;
        let known = associated(&self.key.id, self.content, self.next, head);
        let nonce = nonce(self.content, self.next);
        // A nonce is used once, whatever happens behind.
        self.next += 1;
        out.extend_from_slice(&head.to_le_bytes());
        let start = out.len();
        out.extend_from_slice(&self.waiting);
        let content = out.get_mut(start..).unwrap_or_default();
        let tag = self.key.cipher.encrypt_in_place_detached(&nonce, &known, content);
        // It fails for content of 256 GiB and more.
        out.extend_from_slice(tag.unwrap_or_default().as_slice());
        self.waiting.clear();
    }
}
