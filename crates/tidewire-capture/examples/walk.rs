//! Reads captures and does nothing else: what reading costs. `cargo run --release --example walk FILE...`

use tidewire_capture::{Block, Reader, Source};

fn main() {
    for path in std::env::args().skip(1) {
        let (mut packets, mut bytes) = (0u64, 0u64);
        let mut block = Block::new();
        let mut source = match Reader::open(&path) {
            Ok(source) => source,
            Err(error) => {
                eprintln!("{error}");
                continue;
            }
        };
        loop {
            match source.fill(&mut block) {
                Ok(true) => {
                    let frames = block.batch().frames;
                    packets += frames.len() as u64;
                    bytes += frames.last().map_or(0, |frame| frame.clock_ns & 1);
                }
                Ok(false) => break,
                Err(error) => eprintln!("{error}"),
            }
        }
        println!("{path}: {packets} packets {bytes}");
    }
}
