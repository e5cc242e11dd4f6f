//! The memory account of flows: charged when memory is taken, credited when it is released, never above the bound; and
//! which flow gives up its buffers when memory runs short.
//!
//! A flow is weighed by what it holds against what it has delivered, how long it has held it without a byte of
//! progress, whether both ends are known to have opened the connection, and what its source, its source's network and
//! its destination hold in total (docs/attacks.md, "Who gives up memory").
//!
//! One budget has all that flows hold beyond their entries: queues, chunks, and slow state with its lists
//! (`list.rs` counts these). Fragments have their own share of `memory_bytes`. When the next packet could exceed
//! the bound, 64 holders are sampled; the least deserving give up their holes (cause `memory`) and deliver their chunks
//! early, or end. The facts that decide are beside the table (`budget::Holder`), so that the choice touches no flow;
//! the rule is in `docs/attacks.md`. If shedding is enabled, the watermark rule looks at this budget before a packet's
//! payload is used.

use tidewire_types::siphash::siphash13_words;

/// Counters of held bytes by hash of an address or network. A fixed array: an attacker cannot make it grow. Addresses
/// with the same hash share a counter.
const GROUPS: usize = 1 << 12;

/// Bytes that one packet can add: its payload, and the rounding of allocations.
const PACKET_BYTES: u64 = 160 << 10;

/// Bytes that every flow is taken to have delivered. Few, so that flows that delivered nothing weigh most.
const DELIVERED_MIN: f32 = 16.0;
/// Packets of the input without progress after which a flow's weight doubles.
const PATIENCE_PACKETS: f32 = 16_384.0;
/// Greatest factor by waiting.
const PATIENCE_MAX: f32 = 64.0;
/// Factor of a flow whose handshake was not seen from both sides.
const UNPROVEN: f32 = 4.0;
/// Factor of a flow that gave up bytes before: its stream already has gaps, and a spared one has none.
const HARMED: f32 = 16.0;
/// Factor of a closed connection: nothing more is expected of it.
const OVER: f32 = 1024.0;
/// Greatest additional factor by the share of a source, network or destination in the memory.
const CROWD: f32 = 8.0;

/// The counters that a flow's direction belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    pub source: u16,
    pub network: u16,
    pub destination: u16,
}

impl Groups {
    /// The counters for the hashes of the source's address, its network and the destination's address.
    pub(crate) fn of(source: u64, network: u64, destination: u64) -> Self {
        let place = |hash: u64| (hash >> (u64::BITS - GROUPS.ilog2())) as u16;
        Self { source: place(source), network: place(network), destination: place(destination) }
    }
}

/// The memory that the flow of a slot holds, and the figures that it is weighed by: a copy outside the table, so that choosing touches no
/// flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holder {
    pub bytes: u32,
    /// Bytes delivered when last examined.
    pub delivered: u32,
    /// Of these, bytes behind holes that were given up for lack of memory or for a bound. They do not count as
    /// delivered.
    pub forced: u32,
    /// Number of the packet (modulo 2^32) at which the flow began to hold bytes without delivering.
    pub since: u32,
    pub groups: Groups,
    pub is_proven: bool,
    pub is_over: bool,
}

/// Bytes held, in total and by group.
pub(crate) struct Budget {
    pub used: u64,
    pub used_max: u64,
    limit: u64,
    /// Reclaiming begins here: one packet below the limit.
    threshold: u64,
    source_limit: u64,
    sources: Vec<u64>,
    networks: Vec<u64>,
    destinations: Vec<u64>,
    pub holes: u64,
    /// The memory that each slot's flow holds.
    pub holders: Vec<Holder>,
    group_key: [u64; 2],
}

impl Budget {
    pub(crate) fn new(limit: u64, source_limit: u64, hash_key: [u64; 2]) -> Self {
        /// Separates these uses of the hash key from others.
        const USES: [u64; 2] = [0x6772_6f75_7073_6869, 0x6772_6f75_7073_6c6f];
        let group_key = USES.map(|purpose| siphash13_words(hash_key, [purpose]) | 1);
        let source_limit = if source_limit == 0 { limit / 4 } else { source_limit };
        let threshold = limit - (limit / 8).min(PACKET_BYTES);
        Self {
            used: 0,
            used_max: 0,
            limit,
            threshold,
            source_limit,
            sources: vec![0; GROUPS],
            networks: vec![0; GROUPS],
            destinations: vec![0; GROUPS],
            holes: 0,
            holders: Vec::new(),
            group_key,
        }
    }

    /// The hash key of addresses for [`Groups::of`].
    pub(crate) fn group_key(&self) -> [u64; 2] {
        self.group_key
    }

    /// Records that the charge of a flow's direction changed from `before` to `after`.
    pub(crate) fn change(&mut self, groups: Groups, before: u64, after: u64) {
        self.used = (self.used + after).saturating_sub(before);
        let counters = [
            (&mut self.sources, groups.source),
            (&mut self.networks, groups.network),
            (&mut self.destinations, groups.destination),
        ];
        for (counters, at) in counters {
            let counter = &mut counters[at as usize % GROUPS];
            *counter = (*counter + after).saturating_sub(before);
        }
    }

    /// The entry of a slot, created on demand.
    pub(crate) fn holder(&mut self, slot: u32) -> &mut Holder {
        let at = slot as usize;
        if self.holders.len() <= at {
            // Slots are allocated in order: as many entries as the table has, in steps.
            if self.holders.capacity() <= at {
                self.holders.reserve_exact((at + 1 - self.holders.len()).max(self.holders.len() / 4 + 64));
            }
            self.holders.resize(at + 1, Holder::default());
        }
        &mut self.holders[at]
    }

    /// Memory of the account itself.
    pub(crate) fn bytes(&self) -> u64 {
        (self.holders.capacity() * size_of::<Holder>() + 3 * GROUPS * size_of::<u64>()) as u64
    }

    /// Bytes that the flow of a slot holds.
    pub(crate) fn held_by(&self, slot: u32) -> u32 {
        self.holders.get(slot as usize).map_or(0, |holder| holder.bytes)
    }

    /// Counts bytes that a slot's flow delivered only because a hole was given up.
    pub(crate) fn force(&mut self, slot: u32, bytes: u64) {
        let holder = self.holder(slot);
        holder.forced = holder.forced.saturating_add(bytes.min(u64::from(u32::MAX)) as u32);
    }

    /// See [`Holder::forced`].
    pub(crate) fn forced(&self, slot: u32) -> u32 {
        self.holders.get(slot as usize).map_or(0, |holder| holder.forced)
    }

    /// The worth of reclaiming from a slot's flow: the highest goes first.
    pub(crate) fn weight(&self, slot: u32, packet: u64) -> f32 {
        let Some(holder) = self.holders.get(slot as usize).filter(|holder| holder.bytes > 0) else { return f32::MAX };
        let waited = (packet as u32).wrapping_sub(holder.since) as f32;
        let delivered = holder.delivered.saturating_sub(holder.forced);
        let greed = holder.bytes as f32 / (delivered as f32 + DELIVERED_MIN);
        let patience = (1.0 + waited / PATIENCE_PACKETS).min(PATIENCE_MAX);
        let count = |counters: &Vec<u64>, at: u16| counters[at as usize % GROUPS];
        let crowd = count(&self.sources, holder.groups.source)
            .max(count(&self.networks, holder.groups.network) / 2)
            .max(count(&self.destinations, holder.groups.destination) / 4);
        let crowd = 1.0 + CROWD * crowd as f32 / self.limit.max(1) as f32;
        let standing = if holder.is_over {
            OVER
        } else if holder.is_proven {
            1.0
        } else {
            UNPROVEN
        };
        let harm = if holder.forced > 0 { HARMED } else { 1.0 };
        greed * patience * crowd * standing * harm
    }

    /// Whether the next packet could bring the buffers above the bound.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.used > self.threshold
    }

    /// Whether enough was reclaimed: a little more than needed, so that not every packet reclaims.
    pub(crate) fn is_reclaimed(&self) -> bool {
        self.used <= self.threshold - self.threshold / 64
    }

    /// Records the peak of memory in use, `besides` included, between packets.
    pub(crate) fn note(&mut self, besides: u64) {
        self.used_max = self.used_max.max(self.used + besides);
    }

    /// Whether a source holds more than its share.
    pub(crate) fn source_is_over(&self, groups: Groups) -> bool {
        self.sources[groups.source as usize % GROUPS] > self.source_limit
    }

    /// Whether more than `parts` of `whole` parts of the memory are in use.
    pub(crate) fn is_above(&self, parts: u64, whole: u64) -> bool {
        u128::from(self.used) * u128::from(whole) > u128::from(self.limit) * u128::from(parts)
    }

    /// The share of the memory in use, in thousandths.
    pub(crate) fn level_permille(&self) -> u32 {
        (u128::from(self.used) * 1000 / u128::from(self.limit.max(1))).min(1000) as u32
    }
}
