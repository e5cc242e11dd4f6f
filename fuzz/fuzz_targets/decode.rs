//! Any bytes as a frame of any link type: the walk must not panic, what it returns must lie inside the frame, and the
//! views and checksums must cope with it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidewire_wire::{
    TcpHeader, addresses, decode, decode_subframe, fuzz_input, icmp_type_and_code, ports, subframes, transport_checksum,
};

fuzz_target!(|input: &[u8]| {
    let Some((link, frame, wire_bytes, settings)) = fuzz_input(input) else { return };
    let decoded = decode(link, frame, wire_bytes, &settings);
    assert_eq!(decoded.broken_promise(frame), None, "{decoded:?}");
    let _ = (addresses(frame, &decoded), ports(frame, &decoded), icmp_type_and_code(frame, &decoded));
    let _ = transport_checksum(frame, &decoded);
    for subframe in subframes(frame, &decoded) {
        let inner = decode_subframe(frame, &subframe, &settings);
        assert_eq!(inner.broken_promise(frame), None, "{inner:?}");
    }
    if let Some(header) = TcpHeader::new(frame, &decoded) {
        let _ = (header.timestamps(), header.window_scale(), header.options().count());
    }
});
