//! The log `conn` against Zeek's own, over the captures of its test suite: states, histories, durations, bytes and packets.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
};

use crate::{common, corpus};

/// Values that are compared.
const COMPARED: [&str; 10] = [
    "conn_state",
    "history",
    "duration",
    "orig_bytes",
    "resp_bytes",
    "orig_pkts",
    "resp_pkts",
    "orig_ip_bytes",
    "resp_ip_bytes",
    "missed_bytes",
];

/// Tests of Zeek's whose values differ, and why; docs/formats.md explains them. `*`: all, else these values.
const KNOWN: [(&str, &[&str]); 14] = [
    // Scripts that make Zeek stop looking: at packets of a host, or at the rest of a large transfer.
    ("scripts.base.frameworks.netcontrol.packetfilter", &["*"]),
    ("scripts.base.protocols.ftp.gridftp", &["*"]),
    // An analyzer gave up (letter X), which is nothing of the connection.
    ("scripts.base.protocols.ftp.ftp-max-command-length", &["history"]),
    // Zeek ends what was not answered within five seconds, and what was reset; later packets are another connection there.
    ("scripts.base.protocols.ssh.half-duplex-client", &["*"]),
    ("scripts.base.protocols.modbus.modbus_and_non_modbus_on_port_502", &["*"]),
    ("scripts.base.protocols.pop3.basic", &["*"]),
    // A gap is known when the bytes behind it are delivered, which is later; one of more than 4 GiB is no gap here.
    ("core.tcp.miss-end-data", &["history"]),
    ("core.tcp.large-file-reassembly", &["history", "missed_bytes"]),
    // Bytes that a direction acknowledged of one that was not captured are missing here; Zeek counts nothing.
    ("core.vlan-mpls", &["history", "missed_bytes"]),
    ("scripts.base.protocols.ssh.half-duplex-server", &["history", "missed_bytes"]),
    // The answer comes before what it answers: by its mode it is the server's (RFC 5905), Zeek counts both as the originator's.
    ("scripts.base.protocols.ntp.misordered-ntp", &["*"]),
    // Packets of tunnels are in their inner flows only, and those of fragments are whole.
    ("core.tunnels.ayiya", &["*"]),
    ("core.tunnels.teredo_bubble_with_payload", &["*"]),
    ("core.tunnels.gtp.outer_ip_frag", &["*"]),
];

type Row = BTreeMap<String, String>;

/// The rows of a log; `None`: the file has no header.
fn rows(path: &Path) -> Option<Vec<Row>> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    let names: Vec<&str> = text.lines().find_map(|line| line.strip_prefix("#fields\t"))?.split('\t').collect();
    let row =
        |line: &str| names.iter().map(|name| (*name).to_owned()).zip(line.split('\t').map(str::to_owned)).collect();
    Some(text.lines().filter(|line| !line.starts_with('#')).map(row).collect())
}

fn key(row: &Row) -> Vec<String> {
    ["proto", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p"].map(|name| row[name].clone()).into()
}

fn is_known(test: &str, name: &str) -> bool {
    KNOWN.iter().any(|(known, names)| *known == test && (names.contains(&"*") || names.contains(&name)))
}

#[test]
fn connections_are_zeeks() {
    let Some(corpus) = corpus::find() else { return };
    let manifest = fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap();
    let mut lines = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let [file, expected] = ["file", "expected"].map(|name| names.iter().position(|other| *other == name).unwrap());
    let (mut compared, mut absent, mut differences, mut used) = (0, 0, Vec::new(), Vec::new());
    for line in lines {
        let logs = line[expected].split(';').filter(|path| path.ends_with("/conn.log"));
        for log in logs.filter_map(|entry| entry.strip_prefix("zeek-baseline=")) {
            let test = Path::new(log).parent().and_then(Path::file_name).unwrap().to_str().unwrap().to_owned();
            let Some(theirs) = rows(&corpus.join(log)) else { continue };
            // Some tests show a few columns only.
            if !theirs.iter().all(|row| row.contains_key("id.orig_h") && row.contains_key("proto")) {
                continue;
            }
            let ours = written(&corpus.join(line[file]), "conn");
            let mut found: HashMap<Vec<String>, Vec<Row>> = HashMap::new();
            ours.into_iter().rev().for_each(|row| found.entry(key(&row)).or_default().push(row));
            for row in theirs {
                let Some(own) = found.get_mut(&key(&row)).and_then(Vec::pop) else {
                    absent += 1;
                    continue;
                };
                compared += 1;
                for name in COMPARED.into_iter().filter(|name| row.contains_key(*name) && row[*name] != own[*name]) {
                    if is_known(&test, name) {
                        used.push(test.clone());
                        continue;
                    }
                    differences.push(format!(
                        "{test}: {name} of {:?}: Zeek {}, here {}",
                        key(&row),
                        row[name],
                        own[name]
                    ));
                }
            }
        }
    }
    println!(
        "{compared} connections are as Zeek has them, {absent} are outer flows of tunnels or other parts of one stream"
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared >= 200 && absent <= 64, "{compared} compared, {absent} absent");
    for (test, _) in KNOWN {
        assert!(used.iter().any(|other| other == test), "{test} does not differ any more");
    }
}

/// Fields of Zeek's logs `quic` for its own captures: version, identifiers, name, protocol and history. `-`: no answer of a server, or nothing
/// offered; of those with `*` the log is cut in Zeek's suite to the name and the history.
const QUIC: [(&str, [&str; 7]); 7] = [
    (
        "chromium-dpd-custom-port-4433",
        ["1", "95412c47018cdfe8", "(empty)", "d5412c47018cdfe8", "api.cirrus-ci.com", "h3", "ISishoHOOooOoO"],
    ),
    (
        "curl-8.1.2-dev-http3-www-google-de",
        [
            "1",
            "815d62c70884f4b51e8ccadd5beed372",
            "e5ec6b26584229be98a164349ae910351c40d10b",
            "c15d62c70884f4b5",
            "www.google.de",
            "h3",
            "ISXishIHXhHhhoHOOOoooOoO",
        ],
    ),
    (
        "quicv2-echo-dpd-custom-port-4433",
        [
            "quicv2",
            "fa603212c8688817af3d3238735bc7",
            "(empty)",
            "b168b5cc",
            "localhost",
            "quic-echo-example",
            "ISIIishoIHOHOoO",
        ],
    ),
    (
        "interop/quic-go_quic-go/handshake",
        ["1", "a771f6161a4072c0bf10", "(empty)", "5911deff", "server4:443", "hq-interop", "ISishhoIHOOo"],
    ),
    ("quicdoq", ["1", "fda05288ab9ff546", "0fb934775f247b8e", "a31f4933d8727231", "-", "doq", "ISishhoHOoOo"]),
    (
        "quic-multiple-initial-fragmented-crypto-only-initial",
        ["*", "*", "*", "*", "googleads.g.doubleclick.net", "*", "IIIS"],
    ),
    (
        "quic-decrypt-fail-google-de-51833",
        ["*", "*", "*", "*", "www.google.de", "*", "ZZZIiIIIISiIIIiiiiiishoooIIOHHOoO"],
    ),
];

#[test]
fn packets_of_quic_are_zeeks() {
    let Some(corpus) = corpus::find() else { return };
    let names =
        ["version", "client_initial_dcid", "client_scid", "server_scid", "server_name", "client_protocol", "history"];
    for (name, expected) in QUIC {
        let capture = corpus.join("captures/zeek+zeek/testing/btest/Traces/quic").join(format!("{name}.pcap"));
        let ours = written(&capture, "quic");
        let [row] = &ours[..] else { panic!("{name}: {ours:?}") };
        for (column, expected) in names.into_iter().zip(expected).filter(|(_, expected)| *expected != "*") {
            assert_eq!(row[column], expected, "{column} of {name}");
        }
    }
}

/// Fields of Zeek's logs `tunnel` for its own captures where tunnels are discovered.
const TUNNELS: [(&str, &[[&str; 5]]); 6] = [
    (
        "geneve",
        &[
            ["20.0.0.1", "50901", "20.0.0.2", "6081", "Tunnel::GENEVE"],
            ["20.0.0.2", "0", "20.0.0.1", "6081", "Tunnel::GENEVE"],
        ],
    ),
    ("geneve-many-options", &[["192.168.33.179", "6667", "192.168.179.33", "6081", "Tunnel::GENEVE"]]),
    ("geneve-47101", &[["127.0.0.1", "47101", "127.0.0.1", "6081", "Tunnel::GENEVE"]]),
    (
        "ayiya3",
        &[
            ["192.168.3.101", "53796", "216.14.98.22", "5072", "Tunnel::AYIYA"],
            ["192.168.3.101", "53859", "216.14.98.22", "5072", "Tunnel::AYIYA"],
        ],
    ),
    // (Of Teredo Zeek also follows the relay's conversation, by another port.)
    (
        "teredo_bubble_with_payload",
        &[
            ["192.168.2.16", "3797", "65.55.158.80", "3544", "Tunnel::TEREDO"],
            ["192.168.2.16", "3797", "65.55.158.81", "3544", "Tunnel::TEREDO"],
        ],
    ),
    // One in the other.
    (
        "gre-pptp",
        &[
            ["2402:f000:1:8e01::5555", "0", "2607:fcd0:100:2300::b108:2a6b", "0", "Tunnel::IP"],
            ["16.0.0.200", "0", "192.52.166.154", "0", "Tunnel::GRE"],
        ],
    ),
];

#[test]
fn tunnels_are_zeeks() {
    let Some(corpus) = corpus::find() else { return };
    for (name, expected) in TUNNELS {
        let capture = corpus.join("captures/zeek+zeek/testing/btest/Traces/tunnels").join(format!("{name}.pcap"));
        let rows = written(&capture, "tunnel");
        let names = ["id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "tunnel_type"];
        let found: BTreeSet<[&str; 5]> = rows.iter().map(|row| names.map(|name| row[name].as_str())).collect();
        assert_eq!(found, expected.iter().copied().collect(), "{name}");
        assert_eq!(rows.len(), expected.len(), "each once");
        assert!(rows.iter().all(|row| row["action"] == "Tunnel::DISCOVER"));
        // Who is in a tunnel names it.
        let uids: BTreeSet<&str> = rows.iter().map(|row| row["uid"].as_str()).collect();
        assert_eq!(uids.len(), expected.len());
        let conn = written(&capture, "conn");
        let parents: Vec<&str> =
            conn.iter().map(|row| &*row["tunnel_parents"]).filter(|parents| *parents != "-").collect();
        assert!(!parents.is_empty() && parents.iter().all(|set| set.split(',').all(|uid| uids.contains(uid))));
    }
}

/// Captures with wrong checksums of Zeek's suite: its rule is that of such packets the letter is there alone (`core.checksums` expects
/// `bad_TCP_checksum` and so on), unless it ignores checksums.
const WRONG: [(&str, &str, [&str; 6]); 8] = [
    ("ip4-tcp-bad-chksum", "verify", ["tcp", "C", "OTH", "0", "0", "-"]),
    ("ip6-hoa-tcp-bad-chksum", "verify", ["tcp", "C", "OTH", "0", "0", "-"]),
    ("ip6-udp-bad-chksum", "verify", ["udp", "C", "OTH", "0", "0", "-"]),
    ("ip6-route0-udp-bad-chksum", "verify", ["udp", "C", "OTH", "0", "0", "-"]),
    // Zeek has letters of TCP and UDP only.
    ("ip4-icmp-bad-chksum", "verify", ["icmp", "-", "OTH", "0", "0", "-"]),
    ("ip6-udp-bad-chksum", "ignore", ["udp", "D", "S0", "1", "52", "-"]),
    // A sender that never had a right one: the capture is to blame.
    ("ip4-tcp-bad-chksum", "auto", ["tcp", "CS", "S0", "1", "40", "-"]),
    ("ip6-udp-bad-chksum", "auto", ["udp", "CD", "S0", "1", "52", "-"]),
];

#[test]
fn wrong_checksums_are_zeeks() {
    let Some(corpus) = corpus::find() else { return };
    for (name, mode, expected) in WRONG {
        let capture = corpus.join("captures/zeek+zeek/testing/btest/Traces/chksums").join(format!("{name}.pcap"));
        let names = ["proto", "history", "conn_state", "orig_pkts", "orig_ip_bytes", "orig_bytes"];
        let rows = written_with(mode, &capture, "conn");
        let rows: Vec<[&str; 6]> = rows.iter().map(|row| names.map(|name| row[name].as_str())).collect();
        assert_eq!(rows, [expected], "{name} {mode}");
    }
}

/// A log that is written of a capture. Zeek's tests ignore checksums.
fn written(capture: &Path, log: &str) -> Vec<Row> {
    written_with("ignore", capture, log)
}

fn written_with(checksum: &str, capture: &Path, log: &str) -> Vec<Row> {
    let bench = common::Bench::new();
    let place = format!("zeek:{}", bench.path("logs").display());
    let words = [
        "flows",
        "--mode",
        "strict",
        "--duplicates",
        "keep",
        "--checksum",
        checksum,
        "--to",
        &place,
        capture.to_str().unwrap(),
    ];
    common::run(&words);
    rows(&bench.path(&format!("logs/{log}.log"))).unwrap_or_default()
}
