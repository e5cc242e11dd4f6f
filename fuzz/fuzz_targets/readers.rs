//! Any bytes as a capture: never a panic, memory by what was read and not by what is claimed, and the same frames
//! and the same damage whether the bytes come at once or a few at a time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read};
use tidewire_files::{Block, Error, Reader, Source};
use tidewire_wire::Frame;

/// More is a compression bomb; what is read of it is read like the rest.
const STREAM_BYTES_MAX: u64 = 16 << 20;

/// A stream that gives a few bytes at a time.
struct Dribble {
    bytes: Cursor<Vec<u8>>,
    step: usize,
}

impl Read for Dribble {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.step.min(room.len());
        self.bytes.read(&mut room[..bytes])
    }
}

/// Everything that was read: frames without their place in memory, a sum of their bytes, and errors.
fn read(data: &[u8], step: usize) -> (Vec<Frame>, u64, Vec<String>) {
    let (mut frames, mut sum, mut errors, mut bytes) = (Vec::new(), 0u64, Vec::new(), 0u64);
    let stream = Dribble { bytes: Cursor::new(data.to_vec()), step };
    let mut reader = match Reader::from_stream("fuzz", stream) {
        Ok(reader) => reader,
        Err(error) => return (frames, sum, vec![error.to_string()]),
    };
    let (mut block, mut clock_ns) = (Block::new(), 0);
    while bytes < STREAM_BYTES_MAX {
        match reader.fill(&mut block) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                assert!(matches!(error, Error::Damaged(_)), "{error}");
                errors.push(error.to_string());
                continue;
            }
        }
        let batch = block.batch();
        for frame in batch.frames {
            let packet = batch.bytes(frame);
            clock_ns = frame.timestamp_ns.max(clock_ns);
            assert_eq!(packet.len(), frame.captured_bytes as usize);
            assert!(frame.wire_bytes >= frame.captured_bytes);
            assert_eq!((frame.number, frame.clock_ns, frame.origin), (frames.len() as u64 + 1, clock_ns, 0));
            sum = packet.iter().fold(sum.rotate_left(1), |sum, &byte| sum.rotate_left(5) ^ u64::from(byte));
            bytes += 16 + packet.len() as u64;
            frames.push(frame.with_place(0, frame.captured_bytes));
        }
    }
    assert!(block.allocated_bytes() as u64 <= (4 << 20) + 4 * bytes.max(data.len() as u64));
    (frames, sum, errors)
}

fuzz_target!(|data: &[u8]| {
    let whole = read(data, usize::MAX);
    if whole.0.len() < 100_000 {
        let step = 1 + data.iter().map(|&byte| usize::from(byte)).sum::<usize>() % 97;
        assert_eq!(whole, read(data, step));
    }
});
