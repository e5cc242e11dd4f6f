//! Steering programs: the evaluator against the generated code, and the walk against the decoder.
#![forbid(unsafe_code)]

mod agreement;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/decode.rs"]
mod decode;
mod walk;
