//! Every flood: charged memory is allocated memory after each packet.

use std::sync::PoisonError;

use tidewire_core::{Batch, ChecksumStatus, Config, Engine, Handler, Share, Stream};
use tidewire_lab::{
    attack::{Crowd, Flood, Maker, frame},
    sys::counting::allocated_bytes,
};

/// Uncharged bytes: those of an empty engine, and the scratch memory of a search for flows that release memory.
const FIXED_BYTES: u64 = 64 << 10;

#[derive(Default)]
struct Silent;

impl Handler for Silent {
    type Data = u64;

    fn open(&mut self, stream: &mut Stream<'_, u64>) {
        *stream.data() = 1;
    }
}

struct Feed {
    engine: Engine<Silent>,
    before: u64,
    packets: u64,
}

impl Feed {
    fn new(config: Config) -> Self {
        let engine = Engine::new(config, Share::ALL, Silent);
        // The generator and the engine's fixed parts are allocated by now.
        let before = allocated_bytes() - engine.charged_bytes();
        Self { engine, before, packets: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.packets += 1;
        let frame = frame(bytes, self.packets).with_checksum(ChecksumStatus::Verified);
        self.engine.process(&Batch::new(bytes, &[frame]));
    }

    /// Bytes charged, and bytes allocated without the current frame.
    fn account(&self, frame: &[u8], capacity: usize) -> (u64, u64) {
        assert!(capacity >= frame.len());
        (self.engine.charged_bytes(), allocated_bytes() - self.before - capacity as u64)
    }
}

/// Every flood, with chunks and without, at the least memory and at more: after each packet all allocated memory is
/// charged, and all charged memory is allocated.
#[test]
fn what_is_charged_is_what_is_allocated() {
    const PACKETS: u64 = 60_000;
    let _alone = super::COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    for (memory_bytes, chunk_bytes) in [(4 << 20, 0), (64 << 20, 0), (8 << 20, 4000)] {
        for &flood in Flood::ALL {
            let mut config = Config::default().with_chunk_bytes(chunk_bytes).with_memory_bytes(u64::MAX);
            config.share_out(memory_bytes, 1, size_of::<u64>()).expect("room");
            let crowd = Crowd { sources: 100_000, destinations: 3, is_v6: false };
            let mut maker = Maker::new(flood, crowd, PACKETS);
            let mut feed = Feed::new(config);
            let mut most = 0;
            for _ in 0..PACKETS {
                let frame = maker.next_frame();
                feed.put(&frame);
                let (charged, allocated) = feed.account(&frame, frame.capacity());
                let name = flood.name();
                assert!(
                    allocated <= charged + FIXED_BYTES,
                    "{name}, {memory_bytes}: {allocated} bytes allocated, {charged} charged, at packet {}",
                    feed.packets
                );
                assert!(
                    charged <= allocated + allocated / 4 + FIXED_BYTES,
                    "{name}, {memory_bytes}: {charged} bytes charged, {allocated} allocated, at packet {}",
                    feed.packets
                );
                most = most.max(charged);
            }
            // Tables grow by 4,096 entries at a time.
            let pieces = 4096 * (256 + 8 + 200 + 200);
            assert!(most <= memory_bytes + pieces, "{}: {most} of {memory_bytes}", flood.name());
            feed.engine.finish();
            assert_eq!(feed.engine.buffered_bytes(), 0, "{}", flood.name());
        }
    }
}
