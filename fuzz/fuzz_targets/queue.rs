//! See `fuzz/drivers/queue.rs`, which the seeds' test runs too.
#![no_main]

#[path = "../drivers/queue.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| driver::run(input));
