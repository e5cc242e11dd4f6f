//! See `fuzz/drivers/tls.rs` and `fuzz/drivers/protocols.rs`.
#![no_main]

#[path = "../drivers/protocols.rs"]
mod driver;
#[path = "../drivers/tls.rs"]
mod tls;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    driver::run(&tls::framed(input));
});
