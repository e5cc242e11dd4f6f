//! From the engine to the queues: handlers that publish what they are told, beside analyzers that make events.
//!
//! Each queue of the configuration, or set of queues, is one application of the engine, so that packets are read, decoded,
//! tracked and reassembled once for all. Several workers share the queues; a queue is locked for each event, which costs
//! little with one worker.
//!
//! # The capture's process
//!
//! `capture/run.rs` is the order of things: queues with all of their memory, input, confinement (`Confinement::pass_descriptors`), then
//! the threads. The main thread captures; `service.rs` is the other one: it serves and wakes readers, notices the supervisor's end, and
//! writes events (`events.rs`) to a socket that never makes it wait. `producer/run.rs` makes a queue that is alone the engine's handler;
//! several, and one with a filter, are `Applications`. `set.rs` is a queue or a set of them: a mutex for each queue, which workers share;
//! a stream's queue is chosen when it opens, by a keyed hash of its ends or in turn. What is kept of a stream is the queue's `Owners`,
//! from which members of groups, repeated OPENs and gaps of shed bytes follow.

mod beside;
mod describe;
mod packets;
mod queues;
mod run;
mod set;
mod streams;

pub use packets::{PacketQueue, PacketState};
pub use queues::{Offered, Queues, QueuesError};
pub use run::{Ran, run};
pub use set::QueueSet;
pub use streams::{StreamQueue, StreamState};
