//! `tidewire check-steering` on synthetic captures.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use tidewire_testing::InTime as _;

/// A classic capture of these Ethernet frames.
fn capture(name: &str, frames: &[Vec<u8>]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for (second, frame) in (1_u32..).zip(frames) {
        let length = (frame.len() as u32).to_le_bytes();
        bytes.extend([&second.to_le_bytes()[..], &[0; 4], &length, &length, frame].concat());
    }
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// UDP between hosts 1 and 2 (or back), with these fragment bits and ports.
fn udp(back: bool, place: u16, ports: [u16; 2]) -> Vec<u8> {
    let (from, to) = if back { (2, 1) } else { (1, 2) };
    let place = place.to_be_bytes();
    let mut frame =
        vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0, 0x45, 0, 0, 36, 0, 9, place[0], place[1], 64, 17, 0, 0];
    frame.extend([10, 0, 0, from, 10, 0, 0, to]);
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    frame.extend([0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    frame
}

fn check(arguments: &[&str], path: &PathBuf) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    command.arg("check-steering").args(&arguments[..arguments.len() - 1]).arg(path).arg(arguments[arguments.len() - 1]);
    command.run_in_time().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn split_flows_are_named() {
    let (_folder, path) = capture("two.pcap", &[udp(false, 0, [1000, 53]), udp(true, 0, [53, 1000])]);
    let whole = check(&["steer_flow"], &path);
    assert_eq!((whole.status.code(), text(&whole).contains("split: 0 of 1 flow")), (Some(0), true), "{}", text(&whole));
    let split = check(&["lb"], &path);
    assert_eq!(split.status.code(), Some(1));
    assert!(
        text(&split).contains("udp 10.0.0.1:1000 - 10.0.0.2:53 from packet 1: 1 to worker 0, 1 to worker 1 of 2"),
        "{}",
        text(&split)
    );
    let dropped = check(&["when (has_src_port 53) drop >-> steer_flow"], &path);
    assert!(text(&dropped).contains("1 dropped of 2"), "{}", text(&dropped));
    let json = check(&["--json", "-w", "2", "steer_field 26 4"], &path);
    let lines: Vec<serde_json::Value> =
        text(&json).lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    assert_eq!(lines.last().unwrap()["packets"], 2);
}

#[test]
fn fragments_go_by_the_setting() {
    let frames = [udp(false, 0, [1000, 53]), udp(false, 0x2000, [1000, 53]), udp(false, 2, [7, 7])];
    let (_folder, path) = capture("fragments.pcap", &frames);
    // Their hashes differ; the hash is fixed, and so are the workers.
    assert_eq!(check(&["hash"], &path).status.code(), Some(1));
    assert_eq!(check(&["hash,defrag"], &path).status.code(), Some(0));
    assert_eq!(check(&["--fragments", "follow-first", "steer_flow"], &path).status.code(), Some(0));
    assert_eq!(check(&["steer_p2p"], &path).status.code(), Some(0));
}

#[test]
fn unknown_results_are_reported() {
    let (folder, path) = capture("none.pcap", &[]);
    for (steering, part) in [
        ("steer_flwo", "did you mean `steer_flow`?"),
        ("steer_rss", "cannot run on files"),
        ("steer_to 4", "there are 4, counted from 0"),
        ("qm", "captures do not record"),
        ("rollover", "whenever a ring is full"),
        ("@/nowhere", "/nowhere"),
    ] {
        let output = check(&[steering], &path);
        assert_eq!(output.status.code(), Some(2), "{steering}: {}", text(&output));
        assert!(text(&output).contains(part), "{steering}: {}", text(&output));
    }
    let program = folder.path().join("program");
    fs::write(&program, "> main = do\n>   tcp\n>   steer_flow\n").unwrap();
    let output = check(&[&format!("@{}", program.display())], &path);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}
