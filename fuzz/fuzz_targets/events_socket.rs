//! See `fuzz/drivers/events_socket.rs`, which the seeds' test runs too.
#![no_main]

#[path = "../drivers/events_socket.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| driver::run(input));
