//! Reads and writes numbers of encoded bytes, within their bounds.

use crate::error::DecodeError;

/// The rest of encoded bytes; every read is checked.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes; `what`: what they are, for the error.
    pub(crate) fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Short(what))?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Short(what))?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A number of 7 bits a byte, the lowest first (LEB128).
    pub(crate) fn varint(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        let mut value = 0_u64;
        for place in 0..10 {
            let byte = self.byte(what)?;
            // The tenth byte has room for one bit.
            if place == 9 && byte > 1 {
                return Err(DecodeError::Value(what));
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Value(what))
    }

    /// A length with that many bytes behind it.
    pub(crate) fn sized(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let bytes = self.varint(what)?;
        self.bytes(usize::try_from(bytes).map_err(|_| DecodeError::Short(what))?, what)
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Long(self.rest.len())) }
    }
}

/// Appends a number as [`Cursor::varint`] reads it.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes as [`Cursor::sized`] reads them.
pub(crate) fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A difference as a small number, whatever its sign.
pub(crate) fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, difference: i64) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            put_varint(&mut out, zigzag(difference));
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.varint("a"), Ok(value));
            prop_assert_eq!(cursor.varint("b").map(unzigzag), Ok(difference));
            prop_assert!(cursor.end().is_ok());
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_an_error() {
        assert_eq!(Cursor::new(&[0xff; 10]).varint("it"), Err(DecodeError::Value("it")));
        assert_eq!(Cursor::new(&[0x80; 3]).varint("it"), Err(DecodeError::Short("it")));
    }
}
