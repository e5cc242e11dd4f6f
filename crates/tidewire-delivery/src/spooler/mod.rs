//! The spooler: a process that sends what the store has to its destinations, each from a thread of its own.
//!
//! a thread for each destination (`lane.rs`), with a reader and a position of its own, so that a dead one delays no
//! other. The store is the spool: nothing is copied. `kafka/` makes messages of records (`messages.rs`) and follows
//! which are acknowledged (`topic.rs`); librdkafka is built only with the feature `kafka`. `collector/` keeps a store
//! for each sensor, named by its certificate.

mod backoff;
mod lane;
mod positions;
mod reporter;
mod run;
mod source;
mod stop;

pub use run::{main, run_within};
