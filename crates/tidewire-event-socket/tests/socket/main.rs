//! Analyzers and a server over real sockets.
#![forbid(unsafe_code)]

mod common;
mod exactly_once;
mod hostile;
mod reading;
mod seeds;
