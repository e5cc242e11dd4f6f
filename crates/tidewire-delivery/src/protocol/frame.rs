//! Frames: length of the body (4 bytes, the lowest first), type (1), CRC32C of type and body (4), body.

use super::error::Garbled;

/// Bytes before the body.
pub const HEADER_BYTES: usize = 9;

/// A whole frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its body.
    pub body: Vec<u8>,
}

fn checksum(kind: u8, body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&[kind]), body)
}

/// Appends a frame.
pub fn put_frame(bytes: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(&checksum(kind, body).to_le_bytes());
    bytes.extend_from_slice(body);
}

/// Frames of bytes that arrive in pieces of any size.
#[derive(Debug, Default)]
pub struct Assembler {
    bytes: Vec<u8>,
}

impl Assembler {
    /// Adds what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether a part of a frame is here, and its rest is not.
    #[must_use]
    pub fn is_within(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The length of the body that is arriving, once that is known, and at most `most`.
    ///
    /// # Errors
    /// It is longer.
    pub fn arriving(&self, most: usize) -> Result<Option<usize>, Garbled> {
        let Some(length) = self.bytes.first_chunk().map(|length| u32::from_le_bytes(*length)) else { return Ok(None) };
        let oversized = Garbled::Oversized { bytes: length.into(), most };
        usize::try_from(length).ok().filter(|length| *length <= most).map(Some).ok_or(oversized)
    }

    /// The next frame, if all of it has arrived. `most`: bytes of its body; what is beyond is refused as soon as the header is here.
    ///
    /// # Errors
    /// It is too long, or its checksum is wrong.
    pub fn next(&mut self, most: usize) -> Result<Option<Frame>, Garbled> {
        let Some(length) = self.arriving(most)? else { return Ok(None) };
        let Some((header, rest)) = self.bytes.split_at_checked(HEADER_BYTES) else { return Ok(None) };
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let [_, _, _, _, kind, stated @ ..] = header else { return Ok(None) };
        if stated != checksum(*kind, body).to_le_bytes() {
            return Err(Garbled::Checksum);
        }
        let frame = Frame { kind: *kind, body: body.to_vec() };
        self.bytes.drain(..HEADER_BYTES + length);
        // After a large frame its room is given back.
        self.bytes.shrink_to(64 << 10);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_pieces() {
        let mut bytes = Vec::new();
        put_frame(&mut bytes, 7, b"seven");
        put_frame(&mut bytes, 8, b"");
        put_frame(&mut bytes, 9, &[1; 1000]);
        for size in [1, 2, 8, 9, 10, 100, 5000] {
            let mut assembler = Assembler::default();
            let mut kinds = Vec::new();
            for piece in bytes.chunks(size) {
                assembler.push(piece);
                while let Some(frame) = assembler.next(1000).expect("whole frames") {
                    kinds.push((frame.kind, frame.body.len()));
                }
            }
            assert_eq!(kinds, [(7, 5), (8, 0), (9, 1000)]);
            assert!(!assembler.is_within());
        }
    }

    #[test]
    fn a_long_one_is_refused_before_it_is_here_and_a_changed_one_is_noticed() {
        let mut assembler = Assembler::default();
        assembler.push(&u32::MAX.to_le_bytes());
        assert_eq!(assembler.next(4 << 20), Err(Garbled::Oversized { bytes: u32::MAX.into(), most: 4 << 20 }));
        let mut bytes = Vec::new();
        put_frame(&mut bytes, 7, b"seven");
        for at in 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let mut assembler = Assembler::default();
            assembler.push(&changed);
            assert_eq!(assembler.next(100), Err(Garbled::Checksum), "byte {at}");
        }
    }
}
