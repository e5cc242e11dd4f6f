//! The parts of the memory: for the engine, and for what a program keeps of the traffic beside it.

use tidewire::protocols::ProtocolReader;

/// The least that the engine of a worker works with, bytes (`WORKER_MEMORY_BYTES_MIN` of `tidewire-core`).
pub const ENGINE_BYTES_MIN: u64 = 2 << 20;

/// State that a command keeps beside the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptState {
    /// Records that wait for their order, or to be encoded.
    pub records: bool,
    /// Protocol fields of streams.
    pub fields: bool,
    /// Fields of QUIC packets.
    pub quic: bool,
    /// Bytes of each stream's state that lie outside of the engine's entry.
    pub stream_bytes: usize,
}

impl KeptState {
    /// Records.
    pub const RECORDS: Self = Self { records: true, fields: false, quic: false, stream_bytes: 0 };
    /// Records and protocol fields.
    pub const FIELDS: Self = Self { fields: true, ..Self::RECORDS };
}

/// The parts of a run's memory, bytes of all its workers together.
#[derive(Clone, Copy, Debug)]
pub struct MemoryParts {
    workers: u64,
    records: u64,
    fields: u64,
    quic: u64,
    engine: u64,
}

impl MemoryParts {
    /// The parts of `memory` bytes for a command that keeps `kept`.
    pub fn of(memory: u64, workers: usize, kept: KeptState) -> Self {
        let workers = workers.max(1) as u64;
        let part = |is_kept: bool, bytes: u64| if is_kept { bytes } else { 0 };
        let records = part(kept.records, memory / 8);
        // Fields of QUIC packets are of the same streams: their part is one of the fields', not one of the flow table's.
        let quic = part(kept.quic, memory / 8);
        let fields = part(kept.fields, ProtocolReader::part_of(memory) - quic);
        // Of less than 4 MiB a worker the engine takes what it needs; the other parts come on top.
        let least = (ENGINE_BYTES_MIN * workers).min(memory);
        let engine = (memory - records - fields - quic).max(least);
        Self { workers, records, fields, quic, engine }
    }

    /// For the engines of all workers.
    pub fn engine(&self) -> u64 {
        self.engine
    }

    /// For the records of all workers.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// For the records of each worker.
    pub fn worker_records(&self) -> usize {
        usize::try_from(self.records / self.workers).unwrap_or(usize::MAX)
    }

    /// For the protocol fields of each worker's streams.
    pub fn worker_fields(&self) -> u64 {
        self.fields / self.workers
    }

    /// For the packets of QUIC of each worker.
    pub fn worker_quic(&self) -> usize {
        usize::try_from(self.quic / self.workers).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_quic_take_no_room_of_flows() {
        let parts = |quic| MemoryParts::of(64 << 20, 2, KeptState { quic, ..KeptState::FIELDS });
        let (with, without) = (parts(true), parts(false));
        assert_eq!((with.engine(), with.records()), (without.engine(), without.records()));
        assert_eq!(with.worker_fields() + with.worker_quic() as u64, without.worker_fields());
        assert_eq!((with.worker_quic(), without.worker_quic()), (4 << 20, 0));
    }
}
