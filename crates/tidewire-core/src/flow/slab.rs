//! Entries that never move, in pieces that are allocated on demand.

/// Entries of a piece: a power of two. Small under a fuzzer, which makes tables by the thousand and fills none.
#[allow(unexpected_cfgs, reason = "cargo-fuzz sets it")]
const PIECE: usize = if cfg!(fuzzing) { 16 } else { 1 << 12 };

/// A growing array of reusable entries. Growing never copies what is there.
pub(crate) struct Slab<T> {
    pieces: Vec<Box<[T; PIECE]>>,
    free: Vec<u32>,
    used: u32,
    live: u32,
}

impl<T: Default> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { pieces: Vec::new(), free: Vec::new(), used: 0, live: 0 }
    }

    /// Entries in use.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Slots that were ever in use: those below it may be read.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Memory allocated, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = self.pieces.capacity() * size_of::<Box<[T; PIECE]>>() + self.free.capacity() * size_of::<u32>();
        (self.pieces.len() * PIECE * size_of::<T>() + lists) as u64
    }

    /// Allocates a slot. Its entry is in an unspecified, but valid state: as it was when freed, or default.
    pub(crate) fn take(&mut self) -> u32 {
        self.live += 1;
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let slot = self.used;
        if slot as usize >= self.pieces.len() * PIECE {
            let piece: Box<[T]> = (0..PIECE).map(|_| T::default()).collect();
            if let Ok(piece) = piece.try_into() {
                self.pieces.push(piece);
            }
        }
        self.used += 1;
        slot
    }

    /// Frees a slot.
    pub(crate) fn give(&mut self, slot: u32) {
        self.live -= 1;
        self.free.push(slot);
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.pieces[slot as usize / PIECE][slot as usize % PIECE]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.pieces[slot as usize / PIECE][slot as usize % PIECE]
    }
}
