//! Memory of all conversations together.

/// What the conversations of one worker hold, and how much they may.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    used_bytes: u64,
    max_bytes: u64,
    refused: u64,
}

/// Bytes for each worker unless said otherwise: 100,000 conversations in the middle of a handshake.
const DEFAULT_BYTES: u64 = 64 << 20;

impl Default for Budget {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl Budget {
    /// A budget of `max_bytes`.
    #[must_use]
    pub fn new(max_bytes: u64) -> Self {
        Self { used_bytes: 0, max_bytes, refused: 0 }
    }

    /// What is held, bytes.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// How many streams were given up because the bound was reached.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Replaces a charge by another. `false`: there is no room, and `before` is still charged.
    pub(crate) fn change(&mut self, before: u32, now: u32) -> bool {
        let used = self.used_bytes.saturating_sub(before.into()) + u64::from(now);
        if now > before && used > self.max_bytes {
            return false;
        }
        self.used_bytes = used;
        true
    }

    /// Counts a stream that was given up.
    pub(crate) fn refuse(&mut self) {
        self.refused += 1;
    }
}
