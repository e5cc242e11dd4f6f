//! See `fuzz/drivers/quic.rs` and `fuzz/drivers/protocols.rs`.
#![no_main]

#[path = "../drivers/protocols.rs"]
mod driver;
#[path = "../drivers/quic.rs"]
mod quic;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    driver::run(&quic::protected(input));
});
