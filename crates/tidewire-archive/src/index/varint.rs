//! Numbers of 1 to 10 bytes, 7 bits each, the lowest first.

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a difference, small ones in few bytes whatever their sign.
pub(crate) fn put_difference(out: &mut Vec<u8>, from: u64, to: u64) {
    let difference = to.wrapping_sub(from) as i64;
    put(out, (difference << 1 ^ difference >> 63) as u64);
}

/// Reads what was put. No input makes it panic.
pub(crate) struct Numbers<'a>(pub &'a [u8]);

impl<'a> Numbers<'a> {
    pub fn next(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            if shift == 63 && byte > 1 {
                return None;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    /// Reads a number that [`put_difference`] appended.
    pub fn next_from(&mut self, from: u64) -> Option<u64> {
        let coded = self.next()?;
        let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
        Some(from.wrapping_add(difference as u64))
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A number that counts things of at least one byte each in what is left.
    pub fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.next()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_differences_come_back() {
        let all = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut out = Vec::new();
        for a in all {
            put(&mut out, a);
            for b in all {
                put_difference(&mut out, a, b);
            }
        }
        let mut numbers = Numbers(&out);
        for a in all {
            assert_eq!(numbers.next(), Some(a));
            for b in all {
                assert_eq!(numbers.next_from(a), Some(b));
            }
        }
        assert_eq!(numbers.next(), None);
        assert_eq!(Numbers(&[0xff; 9]).next(), None);
        assert_eq!(Numbers(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).next(), None);
        assert_eq!(Numbers(&[5, 1, 1]).count(), None);
    }
}
