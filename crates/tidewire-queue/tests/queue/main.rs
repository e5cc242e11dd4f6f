//! Queues between threads and processes.
#![forbid(unsafe_code)]

mod common;
mod crash;
mod groups;
mod hold;
mod hostile;

mod processes;
mod seeds;
mod server;
mod waits;
