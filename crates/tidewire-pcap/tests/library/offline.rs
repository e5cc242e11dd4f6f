//! Files with locality: a C program reads them in every way over the system's library, and over ours in each order; what
//! the calls return and the packets must be the same, and the order the configured one.

use std::{collections::HashMap, env, fs, path::Path, process::Command, sync::OnceLock};

use tidewire_testing::InTime as _;

use crate::common::library;

/// Packets of the file; several batches of the smallest that are used here.
const PACKETS: u32 = 1500;

/// The folder with the C programs and the file; none where there is no compiler or no libpcap to build with.
fn folder() -> Option<&'static Path> {
    static MADE: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(reason) = tidewire_testing::missing(&["cc", "/usr/include/pcap/pcap.h"]) {
            eprintln!("skipped: {reason}");
            return None;
        }
        for (name, library) in [("offline", "-lpcap"), ("byname", "-ldl")] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/c/{name}.c"));
            let mut compiler = Command::new("cc");
            compiler.args(["-O1", "-o"]).arg(folder.path().join(name)).arg(source).arg(library);
            let built = compiler.run_in_time().expect("cc runs");
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        }
        fs::write(folder.path().join("a.pcap"), capture()).expect("a file");
        Some(folder)
    });
    made.as_ref().map(tempfile::TempDir::path)
}

/// UDP and TCP of 40 conversations, both directions, with ARP between them; microseconds, little-endian.
fn capture() -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        file.extend(word.to_le_bytes());
    }
    for number in 0..PACKETS {
        let conversation = (number.wrapping_mul(2_654_435_761) >> 16) as u16 % 40;
        let (client, server) = (40_000 + conversation, [443_u16, 53, 80, 25, 3306][usize::from(conversation % 5)]);
        let (from, to) = if number % 3 == 0 { (client, server) } else { (server, client) };
        let mut frame = vec![2; 60 + number as usize % 900];
        frame[12..14].copy_from_slice(if number % 50 == 0 { &[8, 6] } else { &[8, 0] });
        let bytes = (frame.len() as u16 - 14).to_be_bytes();
        let proto = if server == 53 { 17 } else { 6 };
        let [host, peer] = if number % 3 == 0 { [conversation as u8, 99] } else { [99, conversation as u8] };
        frame[14..26].copy_from_slice(&[0x45, 0, bytes[0], bytes[1], 0, 0, 0x40, 0, 64, proto, 0, 0]);
        frame[26..34].copy_from_slice(&[10, 0, 0, host, 10, 0, 0, peer]);
        frame[34..38].copy_from_slice(&[from.to_be_bytes(), to.to_be_bytes()].concat());
        let length = frame.len() as u32;
        for word in [1_700_000_000, number, length, length + number % 2] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// The output of the program; over ours where there are variables, which then say so.
fn read(way: &str, file: &Path, variables: &[(&str, &str)]) -> Vec<String> {
    let folder = folder().expect("checked before");
    let mut command = Command::new("timeout");
    command.arg("60").arg(folder.join("offline")).arg(way).arg(file);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEWIRE_")) {
        command.env_remove(name);
    }
    command.env("PCAP_CONFIG", "/dev/null").envs(variables.iter().copied());
    if !variables.is_empty() {
        command.env("LD_PRELOAD", library());
    }
    let output = command.run_in_time().expect("timeout");
    assert!(output.status.code().is_some_and(|code| code < 2), "{way} {variables:?}: {:?}", output.status);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Every way to turn it on that is tried.
fn settings() -> Vec<Vec<(&'static str, &'static str)>> {
    let mut all = Vec::new();
    for key in ["port", "service", "flow", "auto"] {
        for (batch, thread) in [("64", "off"), ("64", "on"), ("4000", "on")] {
            all.push(vec![
                ("TIDEWIRE_LOCALITY", key),
                ("TIDEWIRE_LOCALITY_BATCH", batch),
                ("TIDEWIRE_LOCALITY_THREAD", thread),
            ]);
        }
    }
    all
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn without_packets(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| !line.starts_with("packet")).collect()
}

/// Destination ports in the order of delivery.
fn ports(lines: &[String]) -> Vec<u16> {
    let packets = lines.iter().filter(|line| line.starts_with("packet"));
    packets.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
}

#[test]
fn every_call_returns_the_same_and_every_packet_comes_once() {
    let Some(folder) = folder() else { return };
    let file = folder.join("a.pcap");
    for way in ["all", "nano", "steps", "break", "facts"] {
        let system = read(way, &file, &[]);
        assert!(system.len() > 5);
        for variables in settings() {
            let ours = read(way, &file, &variables);
            assert_eq!(without_packets(&ours), without_packets(&system), "{way} {variables:?}");
            assert_eq!(sorted(ours), sorted(system.clone()), "{way} {variables:?}");
        }
    }
}

#[test]
fn batches_are_in_order_and_flows_keep_theirs() {
    let Some(folder) = folder() else { return };
    let file = folder.join("a.pcap");
    let by = |batch| [("TIDEWIRE_LOCALITY", "port"), ("TIDEWIRE_LOCALITY_BATCH", batch)];
    let descents = |lines: &[String]| ports(lines).windows(2).filter(|pair| pair[0] > pair[1]).count();
    let (off, small) = (descents(&read("all", &file, &[])), descents(&read("all", &file, &by("100"))));
    let whole = read("all", &file, &by("4000"));
    assert_eq!(descents(&whole), 1, "ascending, then ARP, shown as 0");
    assert!(descents(&whole) < small && small < off / 4, "batches follow each other: {small} of {off}");
    let mut last: HashMap<u16, &str> = HashMap::new();
    for line in whole.iter().filter(|line| line.starts_with("packet")) {
        let (port, time) = (ports(std::slice::from_ref(line))[0], line.split(' ').nth(1).expect("a time"));
        assert!(last.insert(port, time).is_none_or(|before| before < time), "{line}");
    }
}

#[test]
fn damage_is_reported_after_the_packets_before() {
    let Some(folder) = folder() else { return };
    let whole = capture();
    let mut large = whole.clone();
    large.splice(24 + 76.., [0xff_u8, 0xff, 0xff, 0x7f].repeat(8));
    let files = [("cut", &whole[..40_000]), ("head", &whole[..10]), ("none", &whole[..24]), ("large", &large[..])];
    for (name, bytes) in files {
        let file = folder.join(format!("{name}.pcap"));
        fs::write(&file, bytes).expect("a file");
        let system = read("all", &file, &[]);
        for variables in settings() {
            let ours = read("all", &file, &variables);
            assert_eq!(ours.last(), system.last(), "{name} {variables:?}");
            assert_eq!(sorted(ours), sorted(system.clone()), "{name} {variables:?}");
        }
    }
}

#[test]
fn a_filter_is_good_for_all_that_was_not_delivered() {
    let Some(folder) = folder() else { return };
    let file = folder.join("a.pcap");
    let system = read("filter", &file, &[]);
    for variables in settings() {
        let ours = read("filter", &file, &variables);
        assert_eq!(without_packets(&ours), without_packets(&system), "{variables:?}");
        let delivered = ports(&ours).len();
        assert!(delivered > 1000 && delivered < PACKETS as usize, "{delivered} with {variables:?}");
        let mut once = sorted(ours);
        once.dedup();
        assert_eq!(ports(&once).len(), delivered, "none twice");
    }
}

#[test]
fn handles_are_closed_in_callbacks_and_threads_stay_with_their_process() {
    let Some(folder) = folder() else { return };
    let file = folder.join("a.pcap");
    for variables in settings() {
        assert_eq!(ports(&read("close", &file, &variables)).len(), 4, "{variables:?}");
    }
    let thread = |thread| {
        let small = ("TIDEWIRE_LOCALITY_BATCH", "64");
        [("TIDEWIRE_LOCALITY", "flow"), small, ("TIDEWIRE_LOCALITY_THREAD", thread)]
    };
    let with = read("fork", &file, &thread("on"));
    assert!(with[1].starts_with("child -1 locality: a file that a thread reads ahead"), "{with:?}");
    assert_eq!(with[2], "child closed");
    assert_eq!(read("fork", &file, &thread("off"))[1..3], ["child -2 ", "child closed"]);
}

#[test]
fn mistakes_are_reported_by_the_call_that_opens() {
    let Some(folder) = folder() else { return };
    let file = folder.join("a.pcap");
    for (name, value, what) in [
        ("TIDEWIRE_LOCALITY", "prot", "'prot' is unknown; expected off, port, service, flow, auto"),
        ("TIDEWIRE_LOCALITY_BATCH", "5", "this setting needs locality"),
    ] {
        let said = read("all", &file, &[(name, value)]).join("\n");
        assert!(said.starts_with(&format!("open: {name}: ")) && said.contains(what), "{said}");
    }
    let off = [("TIDEWIRE_LOCALITY", "off")];
    assert_eq!(read("all", &file, &off), read("all", &file, &[]));
}

/// A program that opens the system's library by name gets it, unharmed by ours; `lo` needs privileges, without which both say no.
#[test]
fn the_systems_library_called_by_name_is_left_alone() {
    let Some(folder) = folder() else { return };
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new("timeout");
        command.arg("20").arg(folder.join("byname")).arg(folder.join("a.pcap")).arg("lo");
        command.env("PCAP_CONFIG", "/dev/null").envs(variables.iter().copied());
        let output = command.run_in_time().expect("timeout");
        assert!(output.status.success(), "{variables:?}: {:?}", output.status);
        String::from_utf8(output.stdout).expect("text")
    };
    let alone = run(&[]);
    assert!(alone.starts_with("file 1 1500\nlive "), "{alone}");
    let preload = ("LD_PRELOAD", library().to_str().expect("a path"));
    for more in [("A", "1"), ("TIDEWIRE_LOCALITY", "port"), ("TIDEWIRE_ENGINE", "packet")] {
        assert_eq!(run(&[preload, more]), alone, "{more:?}");
    }
}
