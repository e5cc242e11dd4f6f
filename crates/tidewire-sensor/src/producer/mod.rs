//! From the engine to the queues: handlers that publish their calls as records, beside analyzers that make events, and beside what
//! writes records of streams and transactions.
//!
//! Each queue of the configuration, or set of queues, is one application of the engine, so that packets are read, decoded,
//! tracked and reassembled once for all. Several workers share the queues; a queue is locked for each event, which costs
//! little with one worker.

mod beside;
mod describe;
mod packets;
mod queues;
mod run;
mod set;
mod streams;

pub use packets::{PacketQueue, PacketState};
pub use queues::{Offered, Queues, QueuesError};
pub use run::{Ran, RecordSettings, run};
pub use set::QueueSet;
pub use streams::{StreamQueue, StreamState};
