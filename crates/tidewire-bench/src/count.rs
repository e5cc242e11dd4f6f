//! The counting handler: both directions of every connection are reassembled and delivered to a handler that only counts.

use std::path::PathBuf;

use serde::Serialize;
use tidewire::{Capture, ChecksumMode, Chunk, Handler, Stream};

/// The counts.
#[derive(Clone, Debug, Serialize)]
pub struct Counted {
    /// Streams opened, of every protocol.
    pub streams: u64,
    /// TCP payload bytes delivered to the handler.
    pub delivered_bytes: u64,
    /// Packets received.
    pub packets: u64,
    /// Bytes reported as gaps.
    pub gap_bytes: u64,
    /// Greatest number of bytes buffered at once.
    pub buffered_bytes_max: u64,
}

#[derive(Default)]
struct Count {
    bytes: u64,
}

impl Handler for Count {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        if !chunk.is_datagram {
            self.bytes += chunk.bytes.len() as u64;
        }
    }
}

/// Runs the counting handler over captures.
///
/// # Errors
/// The error of the capture; or the ledger does not close.
pub fn count(files: Vec<PathBuf>, checksum: ChecksumMode, workers: usize) -> Result<Counted, String> {
    let capture = Capture::files(files).checksum(checksum).workers(workers);
    let outcome = capture.run(|_| Count::default()).map_err(|error| error.to_string())?;
    if !outcome.ledger.closes() {
        return Err("the ledger does not close".into());
    }
    if let Some(damage) = outcome.input_errors.first() {
        return Err(damage.to_string());
    }
    Ok(Counted {
        streams: outcome.ledger.streams_opened,
        delivered_bytes: outcome.handlers.iter().map(|count| count.bytes).sum(),
        packets: outcome.ledger.received,
        gap_bytes: outcome.ledger.gap_bytes,
        buffered_bytes_max: outcome.ledger.buffered_bytes_max,
    })
}
