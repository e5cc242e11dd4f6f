//! Limits of the defragmenter, set on the command line and in a configuration file.

use std::net::Ipv4Addr;

use crate::common::*;

/// A datagram of 48 bytes in three fragments of 16, of which the last comes `late_us` after the others.
fn capture(bench: &Bench, late_us: u64) -> String {
    let (a, b) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
    let datagram = udp(a, b, (6000, 7), &[b'x'; 40]);
    let start_us = 1_700_000_000_000_000;
    let mut pcap = Pcap::new();
    for (index, piece) in datagram.chunks(16).enumerate() {
        let more = if index < 2 { 0x2000 } else { 0 };
        let at_us = start_us + if index < 2 { 0 } else { late_us };
        pcap.frame_at(at_us, &ipv4(a, b, 17, 77, more | (index as u16 * 2), piece));
    }
    bench.file("fragments.pcap", pcap.bytes())
}

/// The first datagram's reason, by the command line and by a configuration file; `null`: rebuilt.
fn verdict(capture: &str, option: &str, value: &str) -> String {
    let bench = Bench::new();
    let by_option = json(&["datagrams", capture, "--json", &format!("--{option}"), value]);
    let config = bench.file("tidewire.toml", format!("{option} = '{value}'\n").as_bytes());
    assert_eq!(json(&["datagrams", capture, "--json", "--config", &config]), by_option, "{option} = {value}");
    by_option[0]["rejected"].to_string()
}

#[test]
fn each_bound_is_kept_to_the_unit() {
    let bench = Bench::new();
    let capture = capture(&bench, 2_000);
    let cases = [
        ("fragment-min", "16", "null"),
        ("fragment-min", "17", "\"tiny\""),
        ("fragments-max", "3", "null"),
        ("fragments-max", "2", "\"too_many\""),
        ("datagram-max", "48", "null"),
        ("datagram-max", "47", "\"oversized\""),
        ("datagram-max", "64K", "null"),
        ("datagram-max", "all", "null"),
        ("fragment-timeout", "2ms", "null"),
        ("fragment-timeout", "1999us", "\"timeout\""),
    ];
    for (option, value, wanted) in cases {
        assert_eq!(verdict(&capture, option, value), wanted, "{option} {value}");
    }
}

#[test]
fn fragments_are_waited_for_half_a_minute_or_for_ever() {
    let bench = Bench::new();
    let capture = capture(&bench, 40_000_000);
    assert_eq!(verdict(&capture, "fragment-timeout", "30s"), "\"timeout\"");
    assert_eq!(json(&["datagrams", &capture, "--json"])[0]["rejected"], "timeout");
    assert_eq!(verdict(&capture, "fragment-timeout", "0"), "null");
}

#[test]
fn a_bound_that_rejects_everything_is_refused() {
    let bench = Bench::new();
    let capture = capture(&bench, 0);
    let (message, code) = complaint(&["datagrams", &capture, "--fragments-max", "0"]);
    assert!(message.contains("--fragments-max must be at least 1") && code == 2, "{message}");
    let (message, code) = complaint(&["datagrams", &capture, "--fragment-timeout", "30"]);
    assert!(message.contains("did you mean 30s?") && code == 2, "{message}");
}

/// Two datagrams in fragments, of which the filter accepts one by its port, and a later fragment whose first one is not there.
fn of_two_ports(bench: &Bench) -> String {
    let (a, b) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
    let mut pcap = Pcap::new();
    for (id, port) in [(77, 5060), (78, 7)] {
        for (index, piece) in udp(a, b, (6000, port), &[b'x'; 40]).chunks(16).enumerate() {
            let more = if index < 2 { 0x2000 } else { 0 };
            pcap.frame(&ipv4(a, b, 17, id, more | (index as u16 * 2), piece));
        }
    }
    pcap.frame(&ipv4(a, b, 17, 79, 2, &[b'y'; 16]));
    bench.file("two.pcap", pcap.bytes())
}

/// A filter accepts the later fragments, which have no ports, with the first one.
#[test]
fn a_filter_accepts_whole_datagrams() {
    let bench = Bench::new();
    let capture = of_two_ports(&bench);
    let flows = json(&["flows", "--json", &capture, "-F", "udp port 5060"]);
    assert_eq!((flows.len(), &flows[0]["frames_c2s"], &flows[0]["payload_bytes_c2s"]), (1, &3.into(), &40.into()));
    let datagrams = json(&["datagrams", "--json", &capture, "-F", "udp port 5060"]);
    assert!(datagrams.len() == 1 && datagrams[0]["rejected"].is_null(), "{datagrams:?}");
    assert_eq!(json(&["datagrams", "--json", &capture, "-F", "udp port 9"]).len(), 0);
    let packets = bench.path("packets.pcapng");
    let packets = packets.to_str().unwrap();
    assert_eq!(run(&["flows", &capture, "-F", "udp port 5060", "-w", packets]).status.code(), Some(0));
    assert_eq!(json(&["flows", "--json", packets])[0]["frames_c2s"], 3);
}
