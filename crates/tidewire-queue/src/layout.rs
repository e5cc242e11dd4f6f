//! The layout of a queue in shared memory, version 1 (docs/queues.md).
//!
//! ```text
//! header    8,192 words (64 KiB: whole pages on every machine)
//! index     one slot of 8 words for each record, a power of two of slots
//! payload   a power of two of bytes, at least a page; mapped twice in a row, so that no payload is split
//! ```
//!
//! All words have 64 bits, in the byte order of the machine, and are read and written whole. Sequences and positions only
//! grow; a slot is `sequence % slots`, a byte `position % payload_bytes`.

/// The first word of a queue.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TWqueue\x01");
/// The version of this layout.
pub const VERSION: u64 = 1;
/// Bytes of the header: whole pages whatever a page is (4 to 64 KiB), as the payload behind it must be.
pub const HEADER_BYTES: usize = 1 << 16;
/// Words of the header.
pub const HEADER_WORDS: usize = HEADER_BYTES / 8;
/// Words of a slot of the index.
pub const SLOT_WORDS: usize = 8;
/// Bytes of a slot of the index.
pub const SLOT_BYTES: usize = SLOT_WORDS * 8;
/// Least number of slots: whole pages.
pub const SLOTS_MIN: u64 = 1 << 10;
/// Greatest number of slots.
pub const SLOTS_MAX: u64 = 1 << 26;
/// Greatest number of payload bytes.
pub const PAYLOAD_BYTES_MAX: u64 = 1 << 36;
/// A payload takes at most one part in so many of the payload bytes: what is written at once must leave readers time.
pub const PAYLOAD_PARTS: u64 = 8;

/// Words of the header. Those of a group are on a cache line of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// [`MAGIC`]. Written last, when the queue is ready.
    Magic = 0,
    /// [`VERSION`].
    Version = 1,
    /// Slots of the index.
    Slots = 2,
    /// Bytes of the payload.
    PayloadBytes = 3,
    /// Random, another one for each queue: distinguishes a queue from its successor.
    Epoch = 4,
    /// Sequence up to which slots may be overwritten at this moment (exclusive).
    SlotIntent = 16,
    /// Position up to which payload may be overwritten at this moment (exclusive).
    PayloadIntent = 17,
    /// Sequence up to which records are published (exclusive).
    Published = 32,
    /// 0, or why the queue has ended ([`QueueEnd`]).
    State = 48,
    /// Futex in its lower half: changes when readers are woken.
    Wake = 64,
}

/// Why a queue has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueEnd {
    /// The input ended, or the producer was stopped; every record was published.
    Finished,
    /// The producer dropped the queue without finishing, for example in a panic.
    Aborted,
    /// The producer's process ended without a word, for example by SIGKILL. Readers conclude this themselves.
    Gone,
    /// Another number, of a later version.
    Other(u64),
}

impl QueueEnd {
    /// The word of the header; never 0.
    #[must_use]
    pub fn word(self) -> u64 {
        match self {
            Self::Finished => 1,
            Self::Aborted => 2,
            Self::Gone => 3,
            Self::Other(word) => word,
        }
    }

    /// Reads the word of the header; 0: the queue runs.
    #[must_use]
    pub fn from_word(word: u64) -> Option<Self> {
        match word {
            0 => None,
            1 => Some(Self::Finished),
            2 => Some(Self::Aborted),
            3 => Some(Self::Gone),
            word => Some(Self::Other(word)),
        }
    }
}

/// Sizes of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    slots: u64,
    payload_bytes: u64,
}

impl Geometry {
    /// Sizes rounded up to powers of two: so many slots ([`SLOTS_MIN`] to [`SLOTS_MAX`]) and payload bytes (64 KiB to
    /// [`PAYLOAD_BYTES_MAX`]).
    #[must_use]
    pub fn new(slots: u64, payload_bytes: u64) -> Self {
        Self {
            slots: slots.clamp(SLOTS_MIN, SLOTS_MAX).next_power_of_two(),
            payload_bytes: payload_bytes.clamp(1 << 16, PAYLOAD_BYTES_MAX).next_power_of_two(),
        }
    }

    /// Sizes below the least: for models and tests on the heap.
    #[cfg(test)]
    pub(crate) fn small(slots: u64, payload_bytes: u64) -> Self {
        Self { slots, payload_bytes }
    }

    /// Sizes as a header states them; `None` if no producer of this version would state them.
    #[must_use]
    pub fn stated(slots: u64, payload_bytes: u64) -> Option<Self> {
        let geometry = Self { slots, payload_bytes };
        (slots != 0 && payload_bytes != 0 && geometry == Self::new(slots, payload_bytes)).then_some(geometry)
    }

    /// Slots of the index.
    #[must_use]
    #[inline]
    pub fn slots(self) -> u64 {
        self.slots
    }

    /// Bytes of the payload.
    #[must_use]
    #[inline]
    pub fn payload_bytes(self) -> u64 {
        self.payload_bytes
    }

    /// Greatest payload of one record, in bytes.
    #[must_use]
    #[inline]
    pub fn record_bytes_max(self) -> u64 {
        self.payload_bytes / PAYLOAD_PARTS
    }

    /// Slots that a producer announces at once that it will overwrite, at most, beyond those of its next record.
    pub(crate) fn slots_ahead(self) -> u64 {
        self.slots / 64
    }

    /// Bytes that a producer announces at once that it will overwrite, at most, beyond those of its next record.
    pub(crate) fn payload_ahead(self) -> u64 {
        self.payload_bytes / 64
    }

    /// Bytes of header and index: where the payload begins.
    #[must_use]
    pub fn payload_at(self) -> u64 {
        HEADER_BYTES as u64 + self.slots * SLOT_BYTES as u64
    }

    /// Bytes of the file.
    #[must_use]
    pub fn file_bytes(self) -> u64 {
        self.payload_at() + self.payload_bytes
    }
}

/// One record: a slot of the index. The types of [`crate::records`] say what each kind has in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Number of the record, from 0.
    pub sequence: u64,
    /// Position of its payload.
    pub position: u64,
    /// Bytes of its payload.
    pub bytes: u32,
    /// Its kind: the number of a [`RecordType`](crate::records::RecordType).
    pub kind: u16,
    /// Flags (the low byte, [`crate::records::flags`]) and a code by kind (the high byte).
    pub flags: u16,
    /// The stream.
    pub stream: u64,
    /// Offset in the direction's bytes.
    pub offset: u64,
    /// Time, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Which members of groups it is for; 0: every reader ([`is_for`](Self::is_for)).
    pub owners: u64,
    /// By kind.
    pub detail: u64,
}

impl Record {
    /// The slot's words.
    #[must_use]
    #[inline]
    pub fn words(&self) -> [u64; SLOT_WORDS] {
        let packed = u64::from(self.bytes) | u64::from(self.kind) << 32 | u64::from(self.flags) << 48;
        [self.sequence, self.position, packed, self.stream, self.offset, self.time_ns, self.owners, self.detail]
    }

    /// Reads a slot's words; every value is possible.
    #[must_use]
    #[inline]
    pub fn from_words(words: [u64; SLOT_WORDS]) -> Self {
        let [sequence, position, packed, stream, offset, time_ns, owners, detail] = words;
        Self {
            sequence,
            position,
            bytes: packed as u32,
            kind: (packed >> 32) as u16,
            flags: (packed >> 48) as u16,
            stream,
            offset,
            time_ns,
            owners,
            detail,
        }
    }

    /// Whether the record is for the member of a group at `place`, which attached under `generation`.
    ///
    /// The low half of the word `owners` has a bit for each place; the high half is the generation under which the publisher
    /// chose them. A choice that is older than the member was made for another one at the same place.
    #[must_use]
    pub fn is_for(&self, place: u32, generation: u32) -> bool {
        let (mask, chosen) = (self.owners as u32, (self.owners >> 32) as u32);
        self.owners == 0 || (mask >> (place % 32) & 1 == 1 && chosen.wrapping_sub(generation) as i32 >= 0)
    }

    /// Bytes of payload that the record takes: whole words.
    #[must_use]
    #[inline]
    pub fn payload_taken(&self) -> u64 {
        u64::from(self.bytes).next_multiple_of(8)
    }
}
