//! Memory for bytes that wait: charged when taken, freed when given back, never above the bound.

/// Counters of buffered bytes by hash of the sender's address: a fixed array, so that counting costs no memory that
/// an attacker could grow. Addresses that share a counter share its bound.
const SOURCES: usize = 1 << 14;

/// What one packet can add: its payload, and what an allocation rounds up to.
const PACKET_BYTES: u64 = 160 << 10;

/// What is buffered, in all and by source.
pub(crate) struct Budget {
    pub used: u64,
    pub used_max: u64,
    limit: u64,
    /// Relief begins here: a packet's worth below the limit.
    threshold: u64,
    source_limit: u64,
    sources: Vec<u64>,
    pub holes: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64, source_limit: u64) -> Self {
        let source_limit = if source_limit == 0 { limit / 4 } else { source_limit };
        let threshold = limit - (limit / 8).min(PACKET_BYTES);
        Self { used: 0, used_max: 0, limit, threshold, source_limit, sources: vec![0; SOURCES], holes: 0 }
    }

    /// The counter of an address, by its hash.
    pub(crate) fn source(address_hash: u64) -> u32 {
        (address_hash % SOURCES as u64) as u32
    }

    /// Notes that what a source had charged changed from `before` to `after`.
    pub(crate) fn change(&mut self, source: u32, before: u64, after: u64) {
        self.used = (self.used + after).saturating_sub(before);
        let counter = &mut self.sources[source as usize % SOURCES];
        *counter = (*counter + after).saturating_sub(before);
    }

    /// Whether the next packet could bring all buffers together over the bound.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.used > self.threshold
    }

    /// Notes how much is used, `besides` included, between packets.
    pub(crate) fn note(&mut self, besides: u64) {
        self.used_max = self.used_max.max(self.used + besides);
    }

    /// Whether one source has more than its part.
    pub(crate) fn source_is_over(&self, source: u32) -> bool {
        self.sources[source as usize % SOURCES] > self.source_limit
    }

    /// Whether more than `parts` of `whole` parts of the memory are used.
    pub(crate) fn is_above(&self, parts: u64, whole: u64) -> bool {
        u128::from(self.used) * u128::from(whole) > u128::from(self.limit) * u128::from(parts)
    }

    /// The share of the memory in use, in thousandths.
    pub(crate) fn level_permille(&self) -> u32 {
        (u128::from(self.used) * 1000 / u128::from(self.limit.max(1))).min(1000) as u32
    }
}
