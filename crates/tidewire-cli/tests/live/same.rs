//! A capture from an interface gives the same output as the file that tcpdump recorded of it.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
};

use serde_json::Value;
use tidewire_testing::PATIENCE;

use crate::{
    common::json,
    rig::{self, FinishedProgram, HERE, Rig, THERE_ADDRESS, settle},
};

/// A ring notes a packet's time by itself where the packet has none: so much may two rings differ.
const TIMES_APART_NS: u64 = 5_000_000;

/// A record's times, taken out of it.
fn take_times(value: &mut Value, into: &mut Vec<u64>) {
    let Some(object) = value.as_object_mut() else { return };
    for name in ["start_ns", "end_ns"] {
        into.extend(object.remove(name).and_then(|time| time.as_u64()));
    }
    object.values_mut().for_each(|value| take_times(value, into));
}

/// Records by what does not depend on the order in which two rings saw the same packets, each with its times.
fn by_stream(records: Vec<Value>) -> BTreeMap<String, (Value, Vec<u64>)> {
    let mut sorted = BTreeMap::new();
    for mut record in records {
        let mut times = Vec::new();
        take_times(&mut record, &mut times);
        let object = record.as_object_mut().expect("an object");
        object.remove("id");
        // Noted at packets, whose numbers are ids as well.
        object.remove("anomalies");
        // Packets that the kernel discards behind a cutoff are counted without their sequence numbers.
        object.remove("retransmitted_bytes_c2s");
        object.remove("retransmitted_bytes_s2c");
        let key = format!("{} {} {}", object["proto"], object["client"], object["server"]);
        assert!(sorted.insert(key, (record, times)).is_none(), "two streams are one");
    }
    sorted
}

/// The same in both, and how many records there are.
fn assert_same(ended: &FinishedProgram, words: &[&str], path: &str) -> usize {
    assert_eq!(ended.code(), 0, "{}", ended.said);
    let ledger = ended.ledger();
    let lost = &ledger["detail"]["live"]["rings"]["no_room"];
    assert_eq!(lost, 0, "{ledger}");
    let file = by_stream(json(&[words, &["--json", path]].concat()));
    let live = by_stream(ended.records());
    let (a, b): (Vec<_>, Vec<_>) = (live.keys().collect(), file.keys().collect());
    assert_eq!(a, b);
    for (key, (record, times)) in &live {
        let (expected, expected_times) = &file[key];
        assert_eq!(record, expected, "{key}");
        let is_near = times.iter().zip(expected_times).all(|(a, b)| a.abs_diff(*b) < TIMES_APART_NS);
        assert!(is_near && times.len() == expected_times.len(), "{times:?} {expected_times:?}");
    }
    live.len()
}

/// Runs `words` over the cable and over a file beside it.
fn compare(rig: &Rig, words: &[&str], more: &[&str], filter: &str, traffic: impl FnOnce()) -> usize {
    rig.wait_for_closed();
    let (tcpdump, path) = rig.tcpdump("beside.pcap", filter);
    let live = ["--json", "--stats=json", "-i", HERE, "-F", filter];
    let running = rig.tidewire(&[words, &live, more].concat());
    traffic();
    rig.wait_for_closed();
    settle();
    let ended = running.interrupt();
    // It gets its packets when a block is full or a second old, and gives up those in one when it is interrupted.
    std::thread::sleep(std::time::Duration::from_millis(1300));
    let written = tcpdump.interrupt();
    assert!(written.said.contains("0 packets dropped by kernel"), "{}", written.said);
    assert_same(&ended, words, &path)
}

#[test]
fn web_pages_by_curl() {
    rig::run(&["nginx", "curl", "tcpdump"], |rig| {
        rig.nginx();
        let pages = |count: usize| {
            let (small, big) = (format!("http://{THERE_ADDRESS}/"), format!("http://{THERE_ADDRESS}/big"));
            for _ in 0..count {
                assert_eq!(rig.here(&["curl", "-s", &small]), "the tide is high\n");
            }
            assert_eq!(rig.here(&["curl", "-s", &big]).len(), 1 << 20);
        };
        let filter = "tcp port 80";
        assert_eq!(compare(rig, &["flows"], &[], filter, || pages(20)), 21);
        assert_eq!(compare(rig, &["streams", "--digest", "sha256"], &[], filter, || pages(10)), 11);
        assert_eq!(compare(rig, &["flows"], &["-j", "2"], filter, || pages(20)), 21);
        let steered = ["-j", "3", "--steer", "steer_flow"];
        assert_eq!(compare(rig, &["streams", "--digest", "sha256"], &steered, filter, || pages(20)), 21);
    });
}

#[test]
fn bulk_by_iperf3() {
    rig::run(&["iperf3", "tcpdump"], |rig| {
        rig.serve(&["iperf3", "-s", "-B", THERE_ADDRESS]);
        rig::wait_for("iperf3", || TcpStream::connect((THERE_ADDRESS, 5201)).is_ok());
        let bulk = || {
            // At most what two rings and a file take on a slow machine; both directions.
            rig.here(&["iperf3", "-c", THERE_ADDRESS, "-n", "20M", "-b", "400M"]);
            rig.here(&["iperf3", "-c", THERE_ADDRESS, "-n", "20M", "-b", "400M", "-R"]);
        };
        let streams = compare(rig, &["streams", "--digest", "sha256"], &["--ring", "128M"], "tcp port 5201", bulk);
        assert_eq!(streams, 4);
    });
}

#[test]
fn names_by_dig_and_many_small_connections() {
    rig::run(&["dig", "tcpdump"], |rig| {
        let (names, echo) = rig.there(|| {
            let names = UdpSocket::bind((THERE_ADDRESS, 53)).expect("a socket");
            (names, TcpListener::bind((THERE_ADDRESS, 7)).expect("a listener"))
        });
        std::thread::spawn(move || {
            let mut room = [0; 1500];
            while let Ok((count, from)) = names.recv_from(&mut room) {
                // An answer without an answer: the question's header says so.
                room[2] |= 0x80;
                let _ = names.send_to(&room[..count], from);
            }
        });
        std::thread::spawn(move || {
            for stream in echo.incoming() {
                let mut stream = stream.expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
                let mut said = Vec::new();
                let _ = stream.read_to_end(&mut said);
                let _ = stream.write_all(&said);
            }
        });
        let traffic = || {
            for number in 0..10 {
                let (server, name) = (format!("@{THERE_ADDRESS}"), format!("host{number}.example"));
                rig.here(&["dig", &server, &name, "+tries=3", "+noedns"]);
            }
            for number in 0..10_000 {
                let mut stream = TcpStream::connect((THERE_ADDRESS, 7)).expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
                let said = format!("call {number}");
                stream.write_all(said.as_bytes()).expect("written");
                stream.shutdown(std::net::Shutdown::Write).expect("a FIN");
                let mut heard = String::new();
                stream.read_to_string(&mut heard).expect("an answer");
                assert_eq!(heard, said);
            }
        };
        let filter = "udp port 53 or tcp port 7";
        assert_eq!(compare(rig, &["streams", "--digest", "sha256"], &["-j", "2"], filter, traffic), 10_010);
    });
}
