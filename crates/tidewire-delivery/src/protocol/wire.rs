//! Numbers and texts as bytes.

use super::error::Garbled;

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a length and so many bytes.
pub(super) fn put_sized(bytes: &mut Vec<u8>, value: &[u8]) {
    put_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// Reads bytes from the front.
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Garbled> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Garbled::Short(what))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const COUNT: usize>(&mut self, what: &'static str) -> Result<[u8; COUNT], Garbled> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Garbled::Short(what))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, Garbled> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Garbled> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(super) fn varint(&mut self, what: &'static str) -> Result<u64, Garbled> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has one bit, and no number has two forms.
            if shift == 63 && bits > 1 || shift > 0 && byte == 0 {
                return Err(Garbled::Value(what));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Garbled::Value(what))
    }

    /// A length of at most `most`, and so many bytes.
    pub(super) fn sized(&mut self, most: usize, what: &'static str) -> Result<&'a [u8], Garbled> {
        let length = usize::try_from(self.varint(what)?).ok().filter(|length| *length <= most);
        self.bytes(length.ok_or(Garbled::Value(what))?, what)
    }

    pub(super) fn text(&mut self, most: usize, what: &'static str) -> Result<&'a str, Garbled> {
        std::str::from_utf8(self.sized(most, what)?).map_err(|_| Garbled::Value(what))
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(super) fn end(&self) -> Result<(), Garbled> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbled::Rest(self.0.len())) }
    }
}
