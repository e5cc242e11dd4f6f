use tidewire_wire as wire;
use tidewire_wire::{Batch, Frame};

use super::{
    Key,
    extract::{Extract, Found, no_key},
    fragments::{self, Piece},
    limits::BATCH_FRAMES_MAX,
    radix,
};
use crate::prefetch::prefetch;

/// How many packets ahead headers are prefetched: enough for a miss of 100 ns at 5 to 10 ns a packet.
const PREFETCH_FRAMES: usize = 16;

/// Gives the order in which a batch is handed over. Keeps its memory (some 16 bytes a packet of the largest batch), so that
/// only the first batches allocate.
#[derive(Debug)]
pub struct Sorter {
    /// Looks through tunnels.
    extract: Extract,
    /// Goes by the outermost headers.
    outermost: Extract,
    pieces: Vec<Piece>,
    narrow: Buffers<u32>,
    wide: Buffers<u64>,
}

/// Keys with their indices, and room to sort them in.
#[derive(Debug, Default)]
struct Buffers<T> {
    items: Vec<T>,
    scratch: Vec<T>,
}

impl Sorter {
    /// A sorter by this key, which looks through tunnels as the walk does by default.
    #[must_use]
    pub fn new(key: Key) -> Self {
        let walk = wire::Settings::default();
        let outermost = Extract { key, walk: walk.clone().with_tunnel_depth(0) };
        let extract = Extract { key, walk };
        Self { extract, outermost, pieces: Vec::new(), narrow: Buffers::default(), wide: Buffers::default() }
    }

    /// The key it sorts by.
    #[must_use]
    pub fn key(&self) -> Key {
        self.extract.key
    }

    /// Replaces what is in `order` by the indices of the batch's frames in the order of delivery, each once. More than
    /// [`BATCH_FRAMES_MAX`] frames are sorted in pieces of so many.
    pub fn order(&mut self, batch: &Batch<'_>, order: &mut Vec<u32>) {
        order.clear();
        order.reserve(batch.frames.len());
        for (piece, frames) in batch.frames.chunks(BATCH_FRAMES_MAX as usize).enumerate() {
            let first = piece as u32 * BATCH_FRAMES_MAX;
            let batch = Batch::new(batch.memory, frames);
            let Self { extract, outermost, pieces, narrow, wide } = self;
            if extract.key == Key::Flow {
                wide.fill(&batch, [extract, outermost], pieces, |index, key| u64::from(key) << 16 | u64::from(index));
                radix::sort(&mut wide.items, &mut wide.scratch);
                order.extend(wide.items.iter().map(|&item| first + (item & 0xffff) as u32));
            } else {
                narrow.fill(&batch, [extract, outermost], pieces, |index, key| key << 16 | index & 0xffff);
                radix::sort(&mut narrow.items, &mut narrow.scratch);
                order.extend(narrow.items.iter().map(|&item| first + (item & 0xffff)));
            }
        }
    }
}

impl<T: radix::Item> Buffers<T> {
    /// One item for each frame, by the first way to find keys, or by the second where a tunnel's fragments are met with.
    fn fill(&mut self, batch: &Batch<'_>, ways: [&Extract; 2], pieces: &mut Vec<Piece>, item: impl Fn(u32, u32) -> T) {
        if !self.extract(batch, ways[0], pieces, &item) {
            self.extract(batch, ways[1], pieces, &item);
        }
        let items = &mut self.items;
        fragments::resolve(pieces, no_key(ways[0].key), |index, key| {
            if let Some(slot) = items.get_mut(index as usize) {
                *slot = item(index, key);
            }
        });
    }

    /// False where a fragment of a tunnel's packet was met with.
    fn extract(
        &mut self,
        batch: &Batch<'_>,
        way: &Extract,
        pieces: &mut Vec<Piece>,
        item: &impl Fn(u32, u32) -> T,
    ) -> bool {
        let no_key = no_key(way.key);
        self.items.clear();
        pieces.clear();
        batch.frames.iter().take(PREFETCH_FRAMES).for_each(|frame| ask_for(batch, frame));
        for (index, frame) in batch.frames.iter().enumerate() {
            if let Some(ahead) = batch.frames.get(index + PREFETCH_FRAMES) {
                ask_for(batch, ahead);
            }
            let index = index as u32;
            let key = match way.find(frame.link, batch.bytes(frame), frame.wire_bytes) {
                Found::Packet(key) => key.unwrap_or(no_key),
                Found::Fragment(piece) => {
                    pieces.push(Piece { index, ..piece });
                    no_key
                }
                Found::TunnelFragment => return false,
            };
            self.items.push(item(index, key));
        }
        true
    }
}

/// The cache lines of a frame's headers: the ports of plain frames are in its first 60 bytes, which may lie in two lines.
#[inline(always)]
fn ask_for(batch: &Batch<'_>, frame: &Frame) {
    let at = frame.at as usize;
    for at in [at, at + 40] {
        if let Some(byte) = batch.memory.get(at, 1) {
            prefetch(byte, 0);
        }
    }
}
