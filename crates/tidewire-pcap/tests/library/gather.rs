//! Live handles with locality, gathered by the thread that reads and by one of its own: a C program reads in every way what
//! another one sends over a cable in a namespace of the test's own.

use std::{
    collections::HashSet,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
};

use crate::common::library;
use tidewire_live::sys::net::own_namespace;
use tidewire_testing::{Ends as _, InTime as _, Lines, missing};

/// Packets that are sent; fewer than a batch, so that a batch ends by its age.
const PACKETS: usize = 3000;
/// Ports that they go to, in turns.
const PORTS: usize = 50;

struct Bench {
    _folder: tempfile::TempDir,
    program: PathBuf,
    library: &'static Path,
}

/// None where there can be no cable, or no C program.
fn bench() -> Option<&'static Bench> {
    static MADE: OnceLock<Option<Bench>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        if let Err(error) = thread::spawn(|| tidewire_testing::privileged(own_namespace)).join().expect("a thread") {
            eprintln!("skipped: no network namespace of our own: {error}");
            return None;
        }
        if let Some(reason) = missing(&["ip", "cc", "/usr/include/pcap/pcap.h"]) {
            eprintln!("skipped: {reason}");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("gather");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/gather.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-o"]).arg(&program).arg(source).args(["-lpcap", "-lpthread"]);
        let built = compiler.run_in_time().expect("cc runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(Bench { _folder: folder, program, library: library() })
    });
    made.as_ref()
}

/// Runs a way of reading while packets are sent; what it printed after it was ready.
fn read(bench: &Bench, way: &str, variables: &[(&str, &str)]) -> Vec<String> {
    thread::scope(|scope| scope.spawn(|| read_on_a_cable(bench, way, variables)).join().expect("a thread"))
}

fn read_on_a_cable(bench: &Bench, way: &str, variables: &[(&str, &str)]) -> Vec<String> {
    own_namespace().expect("a namespace");
    for words in ["link add tx0 type veth peer name rx0", "link set tx0 up", "link set rx0 up"] {
        let done = Command::new("ip").args(words.split(' ')).status_in_time().expect("ip");
        assert!(done.success(), "ip {words}");
    }
    let mut command = Command::new("timeout");
    command.arg("60").arg(&bench.program).args([way, "rx0", &PACKETS.to_string()]).stdout(Stdio::piped());
    command.env("PCAP_CONFIG", "/dev/null").env("LD_PRELOAD", bench.library).envs(variables.iter().copied());
    let mut child = command.spawn().expect("timeout");
    let output = Lines::new(child.stdout.take().expect("a pipe"));
    loop {
        let line = output.next("it is ready").unwrap_or_else(|| panic!("{way}: it ended before it was ready"));
        assert!(!line.starts_with("open") && !line.starts_with("filter"), "{way}: {line}");
        if line == "ready" {
            break;
        }
    }
    let sent =
        Command::new(&bench.program).args(["send", "tx0", &PACKETS.to_string()]).status_in_time().expect("it runs");
    assert!(sent.success());
    let lines = output.rest();
    assert!(child.wait_in_time(way).success(), "{way} {variables:?}: {lines:?}");
    lines
}

fn packets(lines: &[String]) -> Vec<(u32, u32)> {
    let words = lines.iter().filter_map(|line| line.strip_prefix("packet ")?.split_once(' '));
    words.map(|(port, number)| (port.parse().expect("a port"), number.parse().expect("a number"))).collect()
}

fn settings(batch: &'static str) -> [[(&'static str, &'static str); 3]; 2] {
    ["off", "on"].map(|thread| {
        [("TIDEWIRE_LOCALITY", "port"), ("TIDEWIRE_LOCALITY_BATCH", batch), ("TIDEWIRE_LOCALITY_THREAD", thread)]
    })
}

#[test]
fn every_packet_comes_once_and_ports_together() {
    let Some(bench) = bench() else { return };
    for way in ["loop", "select", "next", "daemon"] {
        for variables in settings("4000") {
            let packets = packets(&read(bench, way, &variables));
            let unique: HashSet<_> = packets.iter().collect();
            assert_eq!((packets.len(), unique.len()), (PACKETS, PACKETS), "{way} {variables:?}");
            let runs = packets.chunk_by(|a, b| a.0 == b.0).count();
            // Batches by age: a slow machine may need several for what is sent in some milliseconds.
            assert!(runs < PORTS * 20, "{runs} runs of ports: {way} {variables:?}");
            for port in 1000..1000 + PORTS as u32 {
                let numbers = packets.iter().filter(|packet| packet.0 == port).map(|packet| packet.1);
                assert!(numbers.is_sorted(), "order within a port: {way} {variables:?}");
            }
        }
    }
}

#[test]
fn small_batches_are_full_and_follow_each_other() {
    let Some(bench) = bench() else { return };
    for variables in settings("100") {
        let packets = packets(&read(bench, "loop", &variables));
        assert_eq!(packets.iter().collect::<HashSet<_>>().len(), PACKETS, "{variables:?}");
        let numbers: Vec<_> = packets.iter().map(|packet| packet.1).collect();
        let far = numbers.iter().enumerate().filter(|(at, number)| at.abs_diff(**number as usize) > 100).count();
        assert_eq!(far, 0, "no packet is further from its place than a batch is long: {variables:?}");
    }
}

#[test]
fn signals_are_the_programs_and_threads_their_processs() {
    let Some(bench) = bench() else { return };
    for variables in settings("100") {
        let lines = read(bench, "signal", &variables);
        let handled: Vec<_> = lines.iter().filter(|line| line.starts_with("signal")).collect();
        assert!(!handled.is_empty() && handled.iter().all(|line| line.ends_with(" 1")), "{handled:?}");
        read(bench, "close", &variables);
    }
    let [_, with_thread] = settings("100");
    let lines = read(bench, "fork", &with_thread);
    let said: Vec<_> = lines.iter().filter(|line| line.starts_with("child")).collect();
    assert_eq!(said.len(), 50, "every child ends");
    for line in said {
        assert!(
            line.starts_with("child -1 -1 locality: packets are gathered by a thread, which fork does not copy"),
            "{line}"
        );
    }
}
