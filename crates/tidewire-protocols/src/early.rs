//! Bytes of a client for what comes behind a proxy's consent, sent before it: as a handshake in the packet of its `CONNECT`.

/// Most bytes that are kept; the longest hello that is read is no longer.
const KEPT_BYTES_MAX: usize = 16 << 10;

/// Few connections have any, so that it lies apart from what all have.
#[derive(Debug, Default)]
pub(crate) struct Early {
    pub(crate) bytes: Vec<u8>,
    /// Bytes behind them that were not kept, or never came.
    pub(crate) missing: u64,
    /// When the first of them came.
    pub(crate) ns: u64,
}

impl Early {
    /// Keeps bytes as long as there is room, and none is missing before them.
    pub(crate) fn keep(&mut self, bytes: &[u8], ns: u64) {
        if self.bytes.is_empty() && self.missing == 0 {
            self.ns = ns;
        }
        let room = if self.missing == 0 { KEPT_BYTES_MAX.saturating_sub(self.bytes.len()) } else { 0 };
        let (kept, rest) = bytes.split_at(bytes.len().min(room));
        self.bytes.extend_from_slice(kept);
        self.missing = self.missing.saturating_add(rest.len() as u64);
    }

    /// So many bytes will not come.
    pub(crate) fn gap(&mut self, bytes: u64) {
        self.missing = self.missing.saturating_add(bytes);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_no_holes() {
        let mut early = Early::default();
        early.keep(b"ab", 1);
        early.gap(3);
        early.keep(b"cd", 2);
        assert_eq!((&early.bytes[..], early.missing, early.ns), (&b"ab"[..], 5, 1));
        let mut early = Early::default();
        (0..3).for_each(|ns| early.keep(&[7; 10_000], ns));
        assert_eq!((early.bytes.len(), early.missing, early.ns), (KEPT_BYTES_MAX, 30_000 - KEPT_BYTES_MAX as u64, 0));
    }
}
