//! Protocol fields against tshark's: names of TLS, DNS and QUIC, requests of HTTP, fingerprints.
//!
//! The project's own captures are always compared where there is a tshark, captures of the large corpus only if
//! `TIDEWIRE_CORPUS_ONLY` chooses some: tshark needs half a second for each.

use crate::corpus;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};
use tidewire_testing::InTime as _;

/// Kind and value of a field.
type Fact = (&'static str, String);

/// Differences with a known reason: the end of the capture's path, the kind, the value.
const KNOWN: [(&str, &str, &str); 21] = [
    // Two versions of the same bytes: the one that a Linux host takes.
    ("checksums/capture.pcap", "http", "GET /index.html"),
    ("checksums/capture.pcap", "http", "GET /EVIL!!!!ml"),
    // A key exchange of 40 kB: longer than hosts must accept.
    ("file-gzip/capture.pcap.gz", "hassh", "f5f40d15a3e578de97286b7821a1aae4"),
    ("file-gzip/capture.pcap.gz", "hassh", "8e277b726fc62e8b3d346585456ea0d0"),
    // HTTP on a port where tshark does not look for it.
    ("link-null/capture.pcap", "http", "POST /normalized%20uri"),
    // A request line of which the snap length cut the version.
    ("tcp-snapped/capture.pcap", "http", "GET /images/sf.net_box.gif"),
    // An urgent byte, which is part of the stream by default.
    ("tcp-urgent/capture.pcap", "http", "GET /malicXious"),
    // Two networks with the same addresses and ports: tshark makes one stream of both.
    ("vlan-tenants/capture.pcap", "http", "GET /ten"),
    // Files one behind another: tshark stops at the second header.
    ("file-concatenated/capture.pcap", "http", "GET /second"),
    // tshark looks for an Initial packet at the beginning of a connection only.
    ("quic-initial-behind-others/capture.pcap", "sni", "a2.example"),
    ("quic-initial-behind-others/capture.pcap", "sni", "b1.example"),
    ("quic-initial-behind-others/capture.pcap", "sni", "b2.example"),
    ("quic-initial-behind-others/capture.pcap", "sni", "c1.example"),
    ("quic-initial-behind-others/capture.pcap", "sni", "c2.example"),
    ("quic-initial-behind-others/capture.pcap", "sni", "d1.example"),
    ("quic-initial-behind-others/capture.pcap", "sni", "d2.example"),
    // Names are written as in zone files (RFC 1035 section 5.1), the root as a dot; a name may have 255 bytes.
    ("dns-questions/capture.pcap", "dns", "."),
    ("dns-questions/capture.pcap", "dns", "<root>"),
    ("dns-questions/capture.pcap", "dns", "<name too long>"),
    ("dns-questions/capture.pcap", "dns", "foo.bar.a\\b.sp ace.nu\\000l.\u{fffd}\u{fffd}.\"q\".tab\\t.org"),
    ("dns-questions/capture.pcap", "dns", "foo\\.bar.a\\\\b.sp ace.nu\\000l.\\255\\254.\"q\".tab\\009.org"),
];

const FIELDS: [&str; 9] = [
    "frame.protocols",
    "tls.handshake.extensions_server_name",
    "tls.handshake.ja3",
    "http.request.method",
    "http.request.uri",
    "dns.qry.name",
    "dns.flags.response",
    "ssh.kex.hassh",
    "ssh.kex.hasshserver",
];

/// Every value of these fields that tshark finds. Its options: reassembly as for files.
fn tsharks(capture: &Path) -> BTreeSet<Fact> {
    let filter = "tls.handshake.type == 1 or http.request or dns or mdns or ssh.kex.hassh or ssh.kex.hasshserver";
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-n", "-Y", filter, "-T", "fields", "-E", "separator=\u{1}"]);
    command.args(["-E", "occurrence=a", "-E", "aggregator=\u{2}", "-o", "tcp.reassemble_out_of_order:TRUE"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.run_in_time().expect("tshark");
    let mut facts = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let columns: Vec<Vec<&str>> = line
            .split('\u{1}')
            .map(|column| column.split('\u{2}').filter(|value| !value.is_empty()).collect())
            .collect();
        let [protocols, names, ja3, methods, targets, queries, responses, hassh, hassh_server] = &columns[..] else {
            panic!("tshark printed {line:?}")
        };
        let has = |protocol: &str| protocols.iter().any(|all| all.split(':').any(|one| one == protocol));
        if !has("dtls") {
            facts.extend(names.iter().map(|name| ("sni", (*name).to_owned())));
            facts.extend(ja3.iter().map(|hash| ("ja3", (*hash).to_owned())));
        }
        facts.extend(methods.iter().zip(targets).map(|(method, target)| ("http", format!("{method} {target}"))));
        // (Of several questions in a message, the first.)
        let questions = queries.iter().zip(responses).filter(|(_, response)| **response == "0" && !has("nbns"));
        facts.extend(questions.map(|(name, _)| ("dns", name.to_ascii_lowercase())));
        facts.extend(hassh.iter().chain(hassh_server).map(|hash| ("hassh", (*hash).to_owned())));
    }
    facts
}

/// Every value of the same fields that is found here.
fn ours(capture: &Path) -> BTreeSet<Fact> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    let output = command.args(["transactions", "--json"]).arg(capture).run_in_time().expect("the command runs");
    let mut facts = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let one: Value = serde_json::from_str(line).expect("a JSON object a line");
        let fields = &one[one["service"].as_str().expect("text")];
        let mut add = |kind, value: &Value| facts.extend(value.as_str().map(|text| (kind, text.to_owned())));
        for kind in ["sni", "ja3"] {
            add(kind, &fields[kind]);
        }
        add("hassh", &fields["hassh"]);
        add("hassh", &fields["hassh_server"]);
        if let (Some(method), Some(path)) = (fields["method"].as_str(), fields["path"].as_str()) {
            facts.insert(("http", format!("{method} {path}")));
        }
        if fields["asked"] == true {
            facts.extend(fields["query"].as_str().map(|name| ("dns", name.to_ascii_lowercase())));
        }
    }
    facts
}

/// The project's captures, and those of the corpus, if the variable is set.
fn captures() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(corpus::root().join("tests/corpus")).expect("the project's own corpus");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let has_fields = |folder: &PathBuf| {
        let expected = std::fs::read_to_string(folder.join("flows.jsonl")).unwrap_or_default();
        expected.contains("\"app\"") || folder.ends_with("demo")
    };
    let files = folders.filter(has_fields).flat_map(|folder| {
        let names = ["capture.pcap", "capture.pcapng", "capture.pcap.gz", "demo.pcap"];
        names.map(|name| folder.join(name)).into_iter().filter(|path| path.is_file())
    });
    let entries = std::env::var_os("TIDEWIRE_CORPUS_ONLY").and_then(|_| corpus::entries()).unwrap_or_default();
    files.chain(entries.into_iter().map(|entry| entry.path)).collect()
}

#[test]
fn protocol_fields_are_tsharks() {
    if let Some(reason) = tidewire_testing::missing(&["tshark"]) {
        return tidewire_testing::skip(reason);
    }
    let captures = captures();
    assert!(captures.len() >= 14, "{} captures", captures.len());
    let (compared, used) = (Mutex::new(0), Mutex::new(BTreeSet::new()));
    let differences = corpus::each(
        &captures,
        |capture| capture.to_str().unwrap_or_default(),
        |capture| {
            let (ours, theirs) = (ours(capture), tsharks(capture));
            *compared.lock().unwrap() += theirs.len();
            let mut differences = Vec::new();
            for (kind, value) in ours.symmetric_difference(&theirs) {
                let is_known = |known: &&(&str, &str, &str)| {
                    capture.ends_with(known.0) && known.1 == *kind && known.2 == value.as_str()
                };
                if let Some(known) = KNOWN.iter().find(is_known) {
                    used.lock().unwrap().insert(known);
                    continue;
                }
                let whose = if ours.contains(&(*kind, value.clone())) { "only here" } else { "only tshark's" };
                differences.push(format!("{kind} {value:?}: {whose}"));
            }
            differences
        },
    );
    differences.conclude();
    assert_eq!(used.into_inner().unwrap().len(), KNOWN.len(), "a known difference has gone");
    let compared = compared.into_inner().unwrap();
    assert!(compared >= 30, "only {compared} values");
    eprintln!("{compared} values of tshark");
}
