//! See `fuzz/drivers/defrag.rs`, which the seeds' test runs too.
#![no_main]

#[path = "../drivers/defrag.rs"]
mod driver;
#[path = "../drivers/sent.rs"]
mod sent;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| driver::run(input));
