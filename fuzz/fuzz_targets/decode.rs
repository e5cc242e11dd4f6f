//! Any bytes as a frame of any link type: the walk must not panic, and what it returns must lie inside the frame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidewire_wire::{LinkType, Settings, decode};

fuzz_target!(|input: &[u8]| {
    let Some((&link, frame)) = input.split_first() else { return };
    let wire_bytes = frame.len() as u32;
    let decoded = decode(LinkType(link.into()), frame, wire_bytes, &Settings::default());
    let end = u64::from(decoded.payload_at) + u64::from(decoded.payload_captured_bytes);
    assert!(decoded.payload_captured_bytes == 0 || end <= frame.len() as u64);
});
