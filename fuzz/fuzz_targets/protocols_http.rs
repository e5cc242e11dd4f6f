//! The target `protocols`, for inputs that lead into one dissector. See `fuzz/drivers/protocols.rs`.
#![no_main]

#[path = "../drivers/protocols.rs"]
mod driver;

use libfuzzer_sys::{Corpus, fuzz_target};
use tidewire_protocols::Service;

fuzz_target!(|input: &[u8]| -> Corpus {
    let is_found = driver::run(input).iter().any(|service| matches!(service, Service::Http));
    if is_found { Corpus::Keep } else { Corpus::Reject }
});
