//! The log `conn` against Zeek's own, over the captures of its test suite: states, histories, durations, bytes and packets.

use std::{
    collections::{BTreeMap, HashMap},
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
const KNOWN: [(&str, &[&str]); 11] = [
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

/// What Zeek's logs `quic` have of its own captures: version, identifiers, name, protocol and history. `-`: no answer of a server, or nothing
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
    ("quic-multiple-initial-fragmented-crypto-only-initial", ["*", "*", "*", "*", "googleads.g.doubleclick.net", "*", "IIIS"]),
    ("quic-decrypt-fail-google-de-51833", ["*", "*", "*", "*", "www.google.de", "*", "ZZZIiIIIISiIIIiiiiiishoooIIOHHOoO"]),
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

/// Captures with wrong checksums of Zeek's suite: what it logs of their connections where it verifies checksums, as `--checksum verify`
/// does. The letter stands alone, and the packet is counted nowhere. (Of the last one Zeek has its log, of the others its rule: those tests
/// expect `bad_TCP_checksum` and so on.)
const WRONG: [(&str, &str, &[[&str; 6]]); 7] = [
    ("chksums/ip4-tcp-bad-chksum", "verify", &[["tcp", "C", "OTH", "0", "0", "-"]]),
    ("chksums/ip6-tcp-bad-chksum", "verify", &[["tcp", "C", "OTH", "0", "0", "-"]]),
    ("chksums/ip4-udp-bad-chksum", "verify", &[["udp", "C", "OTH", "0", "0", "-"]]),
    ("chksums/ip6-route0-udp-bad-chksum", "verify", &[["udp", "C", "OTH", "0", "0", "-"]]),
    // A sender that never had a right one: the capture is to blame.
    ("chksums/ip4-tcp-bad-chksum", "auto", &[["tcp", "CS", "S0", "1", "40", "-"]]),
    ("chksums/ip4-udp-bad-chksum", "ignore", &[["udp", "D", "S0", "1", "32", "-"]]),
    ("chksums/ip4-icmp-bad-chksum", "verify", &[["icmp", "-", "OTH", "0", "0", "-"]]),
];

#[test]
fn wrong_checksums_are_zeeks() {
    let Some(corpus) = corpus::find() else { return };
    for (name, mode, expected) in WRONG {
        let capture = corpus.join("captures/zeek+zeek/testing/btest/Traces").join(format!("{name}.pcap"));
        let names = ["proto", "history", "conn_state", "orig_pkts", "orig_ip_bytes", "orig_bytes"];
        let rows = written_with(mode, &capture, "conn");
        let rows: Vec<[&str; 6]> = rows.iter().map(|row| names.map(|name| row[name].as_str())).collect();
        assert_eq!(rows, expected, "{name} {mode}");
    }
}

/// A log that is written of a capture. Zeek's tests ignore checksums.
fn written(capture: &Path, log: &str) -> Vec<Row> {
    written_with("ignore", capture, log)
}

fn written_with(checksum: &str, capture: &Path, log: &str) -> Vec<Row> {
    let bench = common::Bench::new();
    let place = format!("zeek:{}", bench.path("logs").display());
    let words = ["flows", "--mode", "strict", "--checksum", checksum, "--to", &place, capture.to_str().unwrap()];
    common::run(&words);
    rows(&bench.path(&format!("logs/{log}.log"))).unwrap_or_default()
}
