//! See `fuzz/drivers/engine/mod.rs`, which the seeds' test runs too.
#![no_main]

#[path = "../drivers/engine/mod.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| driver::run(input));
