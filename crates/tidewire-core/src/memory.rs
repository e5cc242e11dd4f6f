//! Divides the memory of a process among tables, streams, fragments and history of every worker.
//!
//! `--memory` is one total for the process. Commands take parts for protocol fields and records (`memory.rs` of the
//! cli); of the engine's part (`Capture::memory`) `Config::share_out` gives a share to each of the workers, and each
//! share among the tables (as many flows and half-open connections as fit with their index, also while it doubles), the
//! history, first packets midstream, and what flows hold. `Engine::charged_bytes` is what is used of it; a test
//! compares it with an allocator that counts.

use std::fmt;

use crate::{Config, config::FLOWS_BY_MEMORY, flow::table_entry_bytes};

/// Least memory of a worker, bytes: with less the parts are too small to be of use.
pub const WORKER_MEMORY_BYTES_MIN: u64 = 2 << 20;
/// Memory of a process by default, bytes.
pub const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// Bytes of an entry of the delivery log (see `delivery_log.rs`).
const RUN_BYTES: u64 = 32;
/// Bytes of the index for each entry: at most 16 after it has doubled, and half of that more while it does.
const INDEX_BYTES: u64 = 24;

/// Why [`Config::share_out`] found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// Too little memory for the number of workers.
    Workers {
        /// Bytes for all workers together.
        memory_bytes: u64,
        /// Number of workers.
        workers: u64,
    },
    /// [`Config::flows_max`] needs more memory than there is for the flow table.
    Flows {
        /// Bytes for all workers together.
        memory_bytes: u64,
        /// Number of workers.
        workers: u64,
        /// The configured number of flows of each worker.
        flows: u32,
        /// Bytes that they take.
        needed_bytes: u64,
        /// Bytes that are for the flows of each worker.
        available_bytes: u64,
        /// Flows that fit into `available_bytes`.
        flows_max: u32,
    },
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Workers { memory_bytes, workers } => {
                let (each, least) = (WORKER_MEMORY_BYTES_MIN, WORKER_MEMORY_BYTES_MIN.saturating_mul(workers));
                write!(
                    f,
                    "{memory_bytes} bytes of memory for {workers} workers: each needs {each}, so at least {least}"
                )
            }
            Self::Flows { memory_bytes, workers, flows, needed_bytes, available_bytes, flows_max } => write!(
                f,
                "{flows} flows take {needed_bytes} bytes, and of {memory_bytes} bytes for {workers} workers \
                 {available_bytes} are for the flows of each: at most {flows_max}, or more memory"
            ),
        }
    }
}

impl std::error::Error for MemoryError {}

/// The parts of one worker's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    history: u64,
    fragments: u64,
    midstream: u64,
    streams: u64,
    usable: u64,
}

impl Parts {
    /// An eighth stays free for allocator overhead. Of the rest, streams get at most three eighths, a sixth of that for
    /// fragments; each of the two histories and the first packets of connections joined midway at most a sixteenth; the
    /// tables get the remainder.
    fn of(worker_bytes: u64) -> Self {
        let usable = worker_bytes - worker_bytes / 8;
        let (sixteenth, streams) = (usable / 16, usable / 8 * 3);
        Self { history: sixteenth, fragments: sixteenth, midstream: sixteenth, streams, usable }
    }
}

impl Config {
    /// Divides `memory_bytes`, which is for all of `workers` engines together, into the bounds of each engine. Bounds that are
    /// too large for their part are lowered. `data_bytes`: the size of [`Handler::Data`](crate::Handler::Data).
    ///
    /// # Errors
    /// [`MemoryError`]: too little memory for the workers, or [`flows_max`](Self::flows_max) does not fit.
    pub fn share_out(&mut self, memory_bytes: u64, workers: usize, data_bytes: usize) -> Result<(), MemoryError> {
        let workers = workers.max(1) as u64;
        let worker_bytes = memory_bytes / workers;
        if worker_bytes < WORKER_MEMORY_BYTES_MIN {
            return Err(MemoryError::Workers { memory_bytes, workers });
        }
        let parts = Parts::of(worker_bytes);
        let runs = (parts.history / RUN_BYTES).min(1 << 31) as u32;
        if self.history_segments > 0 {
            let runs = 1 << runs.max(1).ilog2();
            self.history_segments = self.history_segments.checked_next_power_of_two().unwrap_or(runs).min(runs);
        }
        self.history_copy_bytes = u64::from(self.history_copy_bytes).min(parts.history) as u32;
        self.fragment_memory_bytes = self.fragment_memory_bytes.min(parts.fragments);
        self.midstream_bytes = self.midstream_bytes.min(parts.midstream);
        self.memory_bytes = self.memory_bytes.min(parts.streams);
        self.stream_buffer_bytes = self.stream_buffer_bytes.min(self.memory_bytes);
        let history = u64::from(self.history_segments) * RUN_BYTES + u64::from(self.history_copy_bytes);
        let tables = parts.usable - self.memory_bytes - history - self.midstream_bytes;
        let (flow, half_open) = table_entry_bytes(data_bytes);
        let (flow, half_open) = (flow + INDEX_BYTES, half_open + INDEX_BYTES);
        self.half_open_max = self.half_open_max.min((tables / 8 / half_open) as u32);
        let left = tables - u64::from(self.half_open_max) * half_open;
        let flows_max = (left / flow).min(1 << 28) as u32;
        if self.flows_max == FLOWS_BY_MEMORY {
            self.flows_max = flows_max;
        } else if self.flows_max > flows_max {
            return Err(MemoryError::Flows {
                memory_bytes,
                workers,
                flows: self.flows_max,
                needed_bytes: u64::from(self.flows_max) * flow,
                available_bytes: left,
                flows_max,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory that the parts of all workers may reach together.
    fn sum(config: &Config, workers: usize, data_bytes: usize) -> u64 {
        let (flow, half_open) = table_entry_bytes(data_bytes);
        let tables = u64::from(config.flows_max) * (flow + INDEX_BYTES)
            + u64::from(config.half_open_max) * (half_open + INDEX_BYTES);
        let history = u64::from(config.history_segments) * RUN_BYTES + u64::from(config.history_copy_bytes);
        workers as u64 * (tables + history + config.midstream_bytes + config.memory_bytes)
    }

    #[test]
    fn the_parts_are_the_whole() {
        for memory_bytes in [16 << 20, 64 << 20, 1 << 30, 1 << 36] {
            for workers in [1, 2, 3, 8] {
                for data_bytes in [0, 8, 400] {
                    let mut config = Config { memory_bytes: u64::MAX, ..Config::default() };
                    config.share_out(memory_bytes, workers, data_bytes).expect("room");
                    let sum = sum(&config, workers, data_bytes);
                    let whole = memory_bytes - memory_bytes / 8;
                    let is_all = memory_bytes > 1 << 32 || whole - sum < 1000 * workers as u64;
                    assert!(sum <= whole + 8 * workers as u64 && is_all, "{sum} of {whole}");
                    assert!(config.flows_max as u64 >= memory_bytes / workers as u64 / 4000);
                }
            }
        }
    }

    #[test]
    fn what_has_no_room_is_refused() {
        let mut config = Config { flows_max: 1 << 24, ..Config::default() };
        let error = config.share_out(1 << 30, 1, 0).expect_err("four gigabytes of flows").to_string();
        assert!(error.contains("16777216 flows") && error.contains("at most"), "{error}");
        let error = Config::default().share_out(4 << 20, 8, 0).expect_err("half a megabyte each").to_string();
        assert!(error.contains("8 workers") && error.contains("at least 16777216"), "{error}");
        let mut config = Config { flows_max: 1000, ..Config::default() };
        config.share_out(16 << 20, 1, 0).expect("room");
        assert_eq!(config.flows_max, 1000, "fewer are as they are");
    }

    #[test]
    fn much_memory_changes_no_bound() {
        let (mut config, default) = (Config::default(), Config::default());
        config.share_out(1 << 36, 8, 0).expect("room");
        let bounds = |config: &Config| {
            (config.history_segments, config.history_copy_bytes, config.fragment_memory_bytes, config.half_open_max)
        };
        assert_eq!(bounds(&config), bounds(&default));
        assert_eq!(
            (config.memory_bytes, config.stream_buffer_bytes),
            (default.memory_bytes, default.stream_buffer_bytes)
        );
    }
}
