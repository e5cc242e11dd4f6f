//! Several interfaces: the same packet at each that it crosses, interfaces without Ethernet frames, and those that appear.

use std::{net::UdpSocket, process::Command};

use serde_json::Value;
use tidewire_testing::InTime as _;

use crate::rig::{self, HERE, HERE_ADDRESS, Rig, THERE_ADDRESS, ip, settle};

fn fetch(page: &str) {
    let url = format!("http://{THERE_ADDRESS}{page}");
    let got = Command::new("curl").args(["-s", "--noproxy", "*", "-o", "/dev/null", &url]).status_in_time();
    assert!(got.expect("curl runs").success());
}

/// The near end of the cable becomes a port of a bridge, which has its address.
fn bridge() {
    ip("link add br0 type bridge");
    ip(&format!("addr del {HERE_ADDRESS}/24 dev {HERE}"));
    ip(&format!("link set {HERE} master br0"));
    ip(&format!("addr add {HERE_ADDRESS}/24 dev br0"));
    ip("link set br0 up");
}

/// `RetransSegs` of the calling thread's namespace (Linux, net/ipv4/proc.c; RFC 4022).
fn retransmitted_segments() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("counters");
    let mut tcp = text.lines().filter_map(|line| line.strip_prefix("Tcp: ")).map(str::split_whitespace);
    let (names, values) = (tcp.next().expect("names"), tcp.next().expect("values"));
    let (_, value) = names.zip(values).find(|(name, _)| *name == "RetransSegs").expect("a counter");
    value.parse().expect("a number")
}

fn http(records: &[Value]) -> Vec<&Value> {
    records.iter().filter(|record| record["server"]["port"] == 80).collect()
}

#[test]
fn a_packet_at_a_bridge_and_its_port_counts_once() {
    rig::run(&["nginx", "curl"], |rig: &Rig| {
        bridge();
        rig.nginx();
        let run = |words: &[&str]| {
            let running = rig.tidewire(&[&["flows", "--json", "--stats=json"], words].concat());
            (0..5).for_each(|_| fetch("/big"));
            rig.wait_for_closed();
            settle();
            let ended = running.interrupt();
            assert_eq!(ended.code(), 0, "{}", ended.said);
            ended
        };
        let ended = run(&["-i", "any"]);
        let (ledger, records) = (ended.ledger(), ended.records());
        assert_eq!(http(&records).len(), 5, "{records:?}");
        let mut retransmitted = 0;
        for flow in http(&records) {
            assert_eq!(flow["missing_bytes_s2c"], 0, "{flow}");
            let again = flow["retransmitted_bytes_s2c"].as_u64().expect("a number");
            let payload = flow["payload_bytes_s2c"].as_u64().expect("a number");
            assert!((1 << 20..(1 << 20) + 1_000).contains(&(payload - again)), "{flow}");
            retransmitted += again;
        }
        // On a busy machine, the server retransmits (RFC 8985 section 7); its kernel counts those segments.
        let most = rig.there(retransmitted_segments) * 1_460;
        assert!(retransmitted <= most, "{retransmitted} bytes retransmitted, at most {most}: {records:?}");
        let copies = ledger["duplicate"].as_u64().expect("a number");
        let tracked = ledger["tracked"].as_u64().unwrap_or(0) + ledger["beyond_cutoff"].as_u64().unwrap_or(0);
        assert!(copies >= tracked * 9 / 10, "{copies} copies of {tracked}");
        assert!(ended.said.contains("copies that another interface showed"), "{}", ended.said);
        // Each interface alone has none.
        assert_eq!(run(&["-i", "br0"]).ledger()["duplicate"], Value::Null);
        // And all of them are there on request.
        let ended = run(&["-i", "any", "--duplicates", "keep"]);
        assert_eq!(ended.ledger()["duplicate"], Value::Null);
        assert!(http(&ended.records())[0]["payload_bytes_s2c"].as_u64() > Some(2 << 20));
    });
}

#[test]
fn an_interface_without_ethernet_is_cut_off_in_the_engine() {
    rig::run(&["nginx", "curl"], |rig: &Rig| {
        rig.nginx();
        ip("tuntap add dev tun9 mode tun");
        ip("link set tun9 up");
        let alone = rig.tidewire(&["flows", "-i", "tun9"]);
        let ended = alone.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert!(ended.said.contains("cut off in the engine: frames without Ethernet"), "{}", ended.said);
        let beside = rig.tidewire(&["flows", "--json", "--stats=json", "--duplicates", "keep", "-i", "any"]);
        fetch("/");
        settle();
        let ended = beside.interrupt();
        assert_eq!(http(&ended.records()).len(), 1, "{}", ended.said);
        // Interfaces with the same engine share a line.
        assert!(ended.said.contains(&format!("lo, {HERE}: packet socket")), "{}", ended.said);
        assert!(ended.said.contains("tun9: packet socket"), "{}", ended.said);
        // Where copies are left out, no interface has programs: that is said, and all are captured.
        let by_default = rig.tidewire(&["flows", "--json", "--stats=json", "-i", "any"]);
        fetch("/");
        settle();
        let ended = by_default.interrupt();
        assert_eq!(http(&ended.records()).len(), 1, "{}", ended.said);
        let engines =
            format!("lo, {HERE}, tun9: packet socket, TPACKET_V3, cut off in the engine: copies are left out");
        assert!(ended.said.contains(&engines), "{}", ended.said);
        let uncut = rig.tidewire(&["flows", "--kernel-flows", "0", "-i", "any"]).interrupt();
        assert!(!uncut.said.contains("copies are left out"), "{}", uncut.said);
    });
}

/// Sends a datagram from the near end to another address of the far end.
fn send(from: &str, to: &str) {
    let socket = UdpSocket::bind((from, 0)).expect("an address");
    socket.send_to(b"tide", (to, 9)).expect("a route");
}

#[test]
fn interfaces_that_appear_are_captured_too() {
    for workers in ["1", "2"] {
        rig::run(&[], |rig: &Rig| {
            let running = rig.tidewire(&["flows", "--json", "--stats=json", "-j", workers, "-i", "any"]);
            send(HERE_ADDRESS, THERE_ADDRESS);
            ip("link add late0 type veth peer name late1");
            ip("addr add 10.9.1.1/24 dev late0");
            // The other end shows the packet, too: a copy.
            ip("link set late1 up");
            ip("link set late0 up");
            ip("neigh add 10.9.1.2 lladdr 02:00:00:00:00:09 dev late0");
            running.wait_for_said("late0 is up; it is captured, too");
            running.wait_for_said("late1 is up; it is captured, too");
            // Rings look for their interface a few times a second.
            settle();
            settle();
            send("10.9.1.1", "10.9.1.2");
            settle();
            ip("link del late0");
            running.wait_for_said("late0 is gone");
            settle();
            let ended = running.interrupt();
            assert_eq!(ended.code(), 0, "{}", ended.said);
            let (ledger, records) = (ended.ledger(), ended.records());
            let late: Vec<_> = records.iter().filter(|record| record["server"]["addr"] == "10.9.1.2").collect();
            assert_eq!(late.len(), 1, "{records:?}");
            assert_eq!((&late[0]["packets_c2s"], &ledger["duplicate"]), (&1.into(), &1.into()));
            // The counters of one that left stay.
            let interfaces = ledger["detail"]["live"]["interfaces"].as_array().expect("interfaces");
            let gone = interfaces.iter().find(|one| one["name"] == "late0").expect("the one that left");
            assert!(gone["sent"].as_u64() >= Some(1), "{gone}");
        });
    }
}
