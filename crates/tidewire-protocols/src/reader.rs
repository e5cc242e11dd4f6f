//! A cursor over untrusted bytes.

/// Reads from the front; every method returns `None` where too little is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    #[cfg(any(feature = "certificates", feature = "quic"))]
    pub(crate) fn u24(&mut self) -> Option<u32> {
        self.take(3).map(|bytes| u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Bytes behind their length of one byte.
    pub(crate) fn block8(&mut self) -> Option<Self> {
        let length = self.u8()?;
        self.take(length.into()).map(Self)
    }

    /// Bytes behind their length of two bytes.
    pub(crate) fn block16(&mut self) -> Option<Self> {
        let length = self.u16()?;
        self.take(length.into()).map(Self)
    }

    /// Bytes behind their length of three bytes.
    #[cfg(any(feature = "certificates", feature = "quic"))]
    pub(crate) fn block24(&mut self) -> Option<Self> {
        let length = self.u24()?;
        self.take(length as usize).map(Self)
    }

    /// All numbers of two bytes.
    pub(crate) fn all_u16(self) -> impl Iterator<Item = u16> {
        self.0.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }
}
