use std::path::{Path, PathBuf};

use chacha20poly1305::AeadInPlace as _;

use super::{
    Content, DataKey, FRAME_BYTES, HEAD_BYTES, Identities, LAST, MAGIC, TAG_BYTES, VERSION, WRAPPED_BYTES_MAX,
    associated, nonce, unwrap,
};
use crate::{
    Error,
    read_at::{Framed, ReadAt},
};

/// The header of a sealed file, without its key.
pub(crate) struct Head {
    content: u16,
    id: [u8; 16],
    wrapped: Vec<u8>,
    /// Where frames begin.
    pub bytes: u64,
}

impl Head {
    /// Reads it.
    pub fn read(file: &mut dyn ReadAt, path: &Path) -> Result<Self, Error> {
        let mut head = Vec::new();
        file.read_at(0, HEAD_BYTES, &mut head)?;
        let cut = || Error::damaged(path, "its header is cut");
        let Some((magic, rest)) = head.split_first_chunk::<8>() else { return Err(cut()) };
        if magic != MAGIC {
            return Err(Error::damaged(path, "it does not begin as an encrypted file"));
        }
        let &[v0, v1, c0, c1, l0, l1, l2, l3, ref id @ ..] = rest else { return Err(cut()) };
        let found = u16::from_le_bytes([v0, v1]);
        if found != VERSION {
            return Err(Error::Version { path: path.to_owned(), found, supported: VERSION });
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > WRAPPED_BYTES_MAX {
            return Err(Error::damaged(path, "its wrapped key is too long"));
        }
        let id = *id.first_chunk().ok_or_else(cut)?;
        let mut wrapped = Vec::new();
        file.read_at(HEAD_BYTES as u64, length, &mut wrapped)?;
        if wrapped.len() != length {
            return Err(cut());
        }
        let content = u16::from_le_bytes([c0, c1]);
        Ok(Self { content, id, wrapped, bytes: (HEAD_BYTES + length) as u64 })
    }
}

/// Where a frame lies.
#[derive(Clone, Copy)]
struct SealedFrame {
    /// In the file: its length.
    at: u64,
    /// In the content.
    from: u64,
    head: u32,
}

/// Frames of a file that are read at most, as of a compressed one; a recorder writes one for each MiB, and where it syncs.
const FRAMES_MAX: usize = 4 << 20;

/// The content of a sealed file. Frames are opened as they are read.
pub(crate) struct Unsealed {
    inner: Box<dyn ReadAt>,
    path: PathBuf,
    key: DataKey,
    content: Content,
    frames: Vec<SealedFrame>,
    bytes: u64,
    /// Whether the last frame is there.
    is_whole: bool,
    /// The frame that was opened last.
    opened: Option<usize>,
    plain: Vec<u8>,
}

/// Opens a sealed file. One that was cut has the frames that are whole.
pub(crate) fn unseal(
    mut inner: Box<dyn ReadAt>,
    path: &Path,
    content: Content,
    identities: &Identities,
) -> Result<Unsealed, Error> {
    let head = Head::read(&mut *inner, path)?;
    if head.content != content as u16 {
        return Err(Error::damaged(path, "it holds something else"));
    }
    let key = unwrap(&head.id, &head.wrapped, identities, path)?;
    let (frames, is_whole) = places(&mut *inner, head.bytes)?;
    let bytes = frames.last().map_or(0, |place| place.from + u64::from(place.head & !LAST));
    let (path, plain) = (path.to_owned(), Vec::new());
    Ok(Unsealed { inner, path, key, content, frames, bytes, is_whole, opened: None, plain })
}

/// Where the whole frames of a sealed file end, as far as can be seen without its key; 0: it has none.
pub(crate) fn whole_bytes(mut inner: Box<dyn ReadAt>, path: &Path) -> Result<u64, Error> {
    let head = match Head::read(&mut *inner, path) {
        Ok(head) => head,
        Err(Error::Damaged { .. }) => return Ok(0),
        Err(error) => return Err(error),
    };
    let (frames, _) = places(&mut *inner, head.bytes)?;
    Ok(frames.last().map_or(0, |place| place.at + 4 + u64::from(place.head & !LAST) + TAG_BYTES as u64))
}

/// The frames that are whole, and whether the last one is there.
fn places(inner: &mut dyn ReadAt, first: u64) -> Result<(Vec<SealedFrame>, bool), Error> {
    let (mut at, mut from, mut is_whole) = (first, 0, false);
    let (mut frames, mut length) = (Vec::new(), Vec::new());
    while !is_whole && frames.len() < FRAMES_MAX {
        inner.read_at(at, 4, &mut length)?;
        let Some(head) = length.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else { break };
        let stated = u64::from(head & !LAST);
        let end = at + 4 + stated + TAG_BYTES as u64;
        // Zeros: allocated, and never written.
        if stated > FRAME_BYTES as u64 || end > inner.bytes() || head == 0 {
            break;
        }
        frames.push(SealedFrame { at, from, head });
        (at, from, is_whole) = (end, from + stated, head & LAST != 0);
    }
    Ok((frames, is_whole))
}

impl Unsealed {
    /// Whether nothing is missing at its end.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn open(&mut self, index: usize) -> Result<(), Error> {
        if self.opened == Some(index) {
            return Ok(());
        }
        let damaged = || Error::damaged(&self.path, format!("frame {index} was changed"));
        let place = *self.frames.get(index).ok_or_else(damaged)?;
        self.opened = None;
        let length = (place.head & !LAST) as usize;
        self.inner.read_at(place.at + 4, length + TAG_BYTES, &mut self.plain)?;
        let Some((content, tag)) = self.plain.split_last_chunk_mut::<TAG_BYTES>() else { return Err(damaged()) };
        if content.len() != length {
            return Err(damaged());
        }
        let known = associated(&self.key.id, self.content, index as u64, place.head);
        let nonce = nonce(self.content, index as u64);
        let opened = self.key.cipher.decrypt_in_place_detached(&nonce, &known, content, (&*tag).into());
        opened.map_err(|_| damaged())?;
        self.plain.truncate(length);
        self.opened = Some(index);
        Ok(())
    }
}

impl Framed for Unsealed {
    fn end(&self) -> u64 {
        self.bytes
    }

    fn frame(&mut self, offset: u64) -> Result<(u64, &[u8]), Error> {
        let index = self.frames.partition_point(|place| place.from <= offset).saturating_sub(1);
        // An empty frame is the last one.
        self.open(index)?;
        Ok((self.frames.get(index).map_or(0, |place| place.from), &self.plain))
    }
}
