//! The fuzzer's seeds, one small frame of every kind that is walked, as tshark reads them: the innermost addresses and
//! ports. Where tshark is not installed the test says so and passes.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidewire_testing::InTime as _;
use tidewire_wire::{Decoded, Kind, LinkType, addresses, decode, fuzz_input, ports};

/// Preferences of tshark: it takes every 802.11 control field in CAPWAP for swapped, or none.
const PREFERENCES: &[&str] = &["capwap.swap_fc:FALSE"];

/// Frames that tshark reads otherwise, and why.
const EXPLAINED: &[(&str, &str)] = &[
    ("80211-aggregate", "of several packets no one's are the frame's; tshark's are the last one's"),
    ("mpls-pseudowire", "nothing states that there is a control word; tshark guesses otherwise"),
    ("vxlan-in-gre", "port 8472 is Linux's old default, not tshark's"),
    ("ipv6-hip", "a header after HIP, which RFC 7401 allows (5.1) and tshark does not look for"),
    ("ipv6-all", "a routing header names the final destination; tshark's field is that of the fixed header"),
    ("l2tp3", "cookie and pseudowire are agreed on in control messages; tshark does not guess"),
    ("l2tp3-in-udp", "the same"),
];

/// Link types that tshark 4.0 does not know: switch tags. tcpdump 4.99 reads their seeds as we do.
const UNKNOWN_LINKS: [LinkType; 4] =
    [LinkType::DSA_TAG_BRCM, LinkType::DSA_TAG_BRCM_PREPEND, LinkType::DSA_TAG_DSA, LinkType::DSA_TAG_EDSA];

/// Common findings of both about a frame.
#[derive(Debug, PartialEq, Eq)]
struct Ends {
    addresses: Option<(IpAddr, IpAddr)>,
    ports: Option<(u16, u16)>,
}

fn ours(frame: &[u8], decoded: &Decoded) -> Ends {
    let has_ports = matches!(decoded.kind, Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp);
    Ends {
        addresses: (decoded.ip_version != 0).then(|| addresses(frame, decoded)),
        ports: has_ports.then(|| ports(frame, decoded)),
    }
}

/// The last of each of tshark's fields, in the order of `fields`.
fn theirs(line: &str, decoded: &Decoded) -> Ends {
    let column: Vec<&str> = line.split('\t').collect();
    let text = |at: usize| column.get(at).copied().filter(|text| !text.is_empty());
    let address = |at: usize| text(at).and_then(|text| text.parse::<IpAddr>().ok());
    let port = |at: usize| text(at).and_then(|text| text.parse::<u16>().ok());
    let ip = if decoded.ip_version == 6 { 2 } else { 0 };
    let transport = match decoded.kind {
        Kind::Tcp => 4,
        Kind::Udp | Kind::UdpLite => 6,
        _ => 8,
    };
    Ends { addresses: address(ip).zip(address(ip + 1)), ports: port(transport).zip(port(transport + 1)) }
}

/// A classic pcap file of these frames.
fn pcap(link: LinkType, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    file.extend(u32::from(link.0).to_le_bytes());
    for frame in frames {
        let bytes = (frame.len() as u32).to_le_bytes();
        file.extend([[0; 4], [0; 4], bytes, bytes].concat());
        file.extend(frame);
    }
    file
}

#[test]
fn seeds_are_read_as_tshark_reads_them() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/decode");
    let Ok(entries) = fs::read_dir(seeds) else {
        eprintln!("skipped: no fuzz/seeds beside this crate (a packaged copy)");
        return;
    };
    let mut by_link: BTreeMap<LinkType, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    for entry in entries.map(Result::unwrap) {
        let input = fs::read(entry.path()).unwrap();
        let (link, frame, _, _) = fuzz_input(&input).expect("a link type and a frame");
        let name = entry.file_name().to_string_lossy().into_owned();
        by_link.entry(link).or_default().push((name, frame.to_vec()));
    }
    let scratch = Scratch(std::env::temp_dir().join(format!("tidewire-wire-tshark-{}", std::process::id())));
    let folder = &scratch.0;
    fs::create_dir_all(folder).unwrap();
    let (mut compared, mut differences) = (0, Vec::new());
    for (link, seeds) in by_link.iter().filter(|(link, _)| !UNKNOWN_LINKS.contains(link)) {
        let frames: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.1.clone()).collect();
        let path = folder.join(format!("{}.pcap", link.0));
        fs::write(&path, pcap(*link, &frames)).unwrap();
        let Some(lines) = tshark(&path) else {
            eprintln!("skipped: no tshark");
            return;
        };
        assert_eq!(lines.len(), seeds.len(), "{link:?}");
        for ((name, frame), line) in seeds.iter().zip(&lines) {
            let decoded = decode(*link, frame, frame.len() as u32, &tidewire_wire::Settings::default());
            let (ours, theirs) = (ours(frame, &decoded), theirs(line, &decoded));
            compared += 1;
            let explained = EXPLAINED.iter().any(|(explained, _)| explained == name);
            if (ours == theirs) == explained {
                differences.push(format!("{name}: {ours:?}, tshark {theirs:?}, explained: {explained}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared > 60, "{compared} seeds");
}

/// A folder that is removed with the value, also when the test fails.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A line of fields for each frame; `None` where there is no tshark.
fn tshark(path: &Path) -> Option<Vec<String>> {
    let fields =
        ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-n", "-T", "fields", "-E", "occurrence=l"]);
    for field in fields.into_iter().chain(["sctp.srcport", "sctp.dstport"]) {
        command.args(["-e", field]);
    }
    for preference in PREFERENCES {
        command.args(["-o", preference]);
    }
    let output = command.run_in_time().ok()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {complaint}");
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
