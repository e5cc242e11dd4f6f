//! What decoding and checksums cost, on frames in the first-level cache:
//! `cargo run --release -p tidewire-wire --example wire_speed`.

use std::hint::black_box;
use std::time::Instant;

use tidewire_wire::{Decoded, LinkType, Settings, checksum, decode, decode_into, transport_checksum};

/// An Ethernet frame with IPv4 or IPv6 and TCP with timestamps, or UDP; `tag` goes between the addresses and the type.
fn frame(ipv6: bool, udp: bool, tag: &[u8], payload_bytes: u16) -> Vec<u8> {
    let transport = if udp { 8 + payload_bytes } else { 32 + payload_bytes };
    let proto = if udp { 17 } else { 6 };
    let mut frame = vec![2; 12];
    frame.extend(tag);
    if ipv6 {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend(transport.to_be_bytes());
        frame.extend([proto, 64]);
        frame.extend([0x20; 32]);
    } else {
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((20 + transport).to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    }
    frame.extend([0x30, 0x39, 0, 80]);
    if udp {
        frame.extend(transport.to_be_bytes());
        frame.extend([0, 0]);
    } else {
        frame.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x18, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    }
    frame.resize(frame.len() + usize::from(payload_bytes), 0x5a);
    frame
}

/// The least of many short runs, in nanoseconds a call: other programs on the machine do not reach all of them.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 100;
    (0..10_000)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                call();
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let settings = Settings::default();
    println!("Decoded: {} bytes", size_of::<Decoded>());
    let vxlan = {
        let mut outer = frame(false, true, &[], 8 + 66);
        outer.truncate(42);
        outer[36..38].copy_from_slice(&4789u16.to_be_bytes());
        outer.extend([8, 0, 0, 0, 0, 0, 1, 0]);
        outer.extend(frame(false, false, &[], 0));
        outer
    };
    let extensions = {
        let mut packet = frame(true, false, &[], 1440);
        packet[20] = 60;
        for at in (54..54 + 1440).step_by(8) {
            packet[at..at + 8].copy_from_slice(&[60, 0, 1, 4, 0, 0, 0, 0]);
        }
        packet[54 + 1432] = 59;
        packet
    };
    let cases = [
        ("IPv4 TCP", frame(false, false, &[], 100)),
        ("IPv6 TCP", frame(true, false, &[], 100)),
        ("IPv4 UDP", frame(false, true, &[], 100)),
        ("VLAN, IPv4 TCP", frame(false, false, &[0x81, 0, 0, 5], 100)),
        ("QinQ, IPv6 TCP", frame(true, false, &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], 100)),
        ("VXLAN, IPv4 TCP", vxlan),
        ("180 IPv6 extension headers", extensions),
    ];
    for (name, frame) in &cases {
        let ns = nanoseconds(|| {
            black_box(decode(LinkType::ETHERNET, black_box(frame), frame.len() as u32, &settings));
        });
        let mut batch = [Decoded::EMPTY; 32];
        let ns_batch = nanoseconds(|| {
            for slot in black_box(&mut batch) {
                decode_into(LinkType::ETHERNET, black_box(frame), frame.len() as u32, &settings, slot);
            }
        }) / 32.0;
        println!("decode {name:27} {ns:6.2} ns, {ns_batch:6.2} in a batch");
    }
    for payload_bytes in [0, 100, 536, 1448, 9000, 60_000] {
        let frame = frame(false, false, &[], payload_bytes);
        let decoded = decode(LinkType::ETHERNET, &frame, frame.len() as u32, &settings);
        let ns = nanoseconds(|| {
            black_box(transport_checksum(black_box(&frame), &decoded));
        });
        println!(
            "TCP checksum, {payload_bytes:5} bytes of payload {ns:8.1} ns {:6.1} GB/s",
            (32.0 + f64::from(payload_bytes)) / ns
        );
    }
    let bytes = vec![0x5a; 1448];
    let ns = nanoseconds(|| {
        black_box(checksum::crc32c(&[black_box(&bytes)]));
    });
    println!("CRC-32C, 1448 bytes {ns:8.1} ns {:6.1} GB/s", 1448.0 / ns);
}
