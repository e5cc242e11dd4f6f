//! See `fuzz/drivers/protocols.rs`, which the seeds' test runs too.
#![no_main]

#[path = "../drivers/protocols.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    driver::run(input);
});
