//! A capture that is in memory before the clock starts: what the engine alone takes for it, without reading.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tidewire_core::{ChecksumMode, Chunk, Config, DefragPolicy, Engine, Handler, Share, Stream};
use tidewire_files::{Block, Reader, Source as _};
use tidewire_lab::sys::thread_cpu_ns;

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Fed {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// CPU time of the thread, nanoseconds.
    pub cpu_ns: u64,
    /// Payload delivered, of streams and of datagrams.
    pub delivered_bytes: u64,
    /// Streams opened, of every protocol.
    pub streams: u64,
}

/// Reads a whole capture into memory.
///
/// # Errors
/// The error of the file or of its format.
pub fn load(path: &Path) -> Result<Vec<Block>, String> {
    let mut reader = Reader::open(path).map_err(|error| error.to_string())?;
    let mut blocks = Vec::new();
    loop {
        let mut block = Block::new();
        let has_more = reader.fill(&mut block).map_err(|error| error.to_string())?;
        if !has_more {
            return Ok(blocks);
        }
        blocks.push(block);
    }
}

#[derive(Default)]
struct Count {
    bytes: u64,
}

impl Handler for Count {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.bytes += chunk.bytes.len() as u64;
    }
}

/// Feeds a capture to an engine with this policy for fragments; checksums are not verified.
///
/// # Errors
/// The error of the file; or the ledger does not close.
pub fn feed(path: &Path, policy: DefragPolicy) -> Result<Fed, String> {
    let blocks = load(path)?;
    let config = Config::default().with_checksum(ChecksumMode::Ignore).with_defrag_policy(policy);
    let mut engine = Engine::new(config, Share::ALL, Count::default());
    let (mut packets, mut bytes) = (0, 0);
    let begun_ns = thread_cpu_ns();
    for block in &blocks {
        let batch = block.batch();
        packets += batch.frames.len() as u64;
        bytes += batch.frames.iter().map(|frame| u64::from(frame.captured_bytes)).sum::<u64>();
        engine.process(&batch);
    }
    let cpu_ns = thread_cpu_ns() - begun_ns;
    engine.finish();
    let (handler, ledger) = engine.into_parts();
    if !ledger.closes() || ledger.received != packets {
        return Err("the ledger does not close".into());
    }
    Ok(Fed { packets, bytes, cpu_ns, delivered_bytes: handler.bytes, streams: ledger.streams_opened })
}
