//! `tidewire record`: files and pipes into archives, accounts, and what is refused.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tidewire_testing::{Ends as _, InTime as _, Signal, missing, signal};

use crate::common::{Bench, command, complaint, json, text};

fn demo() -> String {
    format!("{}/../../tests/corpus/demo/demo.pcap", env!("CARGO_MANIFEST_DIR"))
}

/// Complete segments of an archive.
fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("an archive").map(|entry| entry.expect("an entry").path());
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.contains(".pcapng") && !name.contains(".tidx") && !name.starts_with('.')
    };
    let mut all: Vec<PathBuf> = entries.filter(is_segment).collect();
    all.sort();
    all
}

fn dumped(path: &Path) -> String {
    let path = path.to_str().expect("text");
    let output = Command::new("tcpdump").args(["-r", path, "-nn", "-tt", "--nano", "-e", "-XX"]).run_in_time();
    String::from_utf8_lossy(&output.expect("tcpdump runs").stdout).into_owned()
}

#[test]
fn other_programs_see_what_was_captured() {
    if let Some(reason) = missing(&["tcpdump", "capinfos"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let archive = bench.path("archive");
    let (said, code) = text(&["record", "-r", &demo(), "-o", archive.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(said.starts_with("155 packets recorded, "), "{said}");
    let found = segments(&archive);
    assert_eq!(found.len(), 1);
    let expected = dumped(Path::new(&demo()));
    assert!(expected.lines().count() > 1000);
    assert_eq!(dumped(&found[0]), expected);
    let checked = Command::new("capinfos").args(["-c", "-M", found[0].to_str().unwrap()]).run_in_time().unwrap();
    assert!(checked.status.success() && String::from_utf8_lossy(&checked.stdout).contains("155"));
    assert_eq!(text(&["record", "--verify", archive.to_str().unwrap()]).1, 0);
}

/// FINs are written whatever was cut off before them.
#[test]
fn connections_that_were_cut_off_are_closed_all_the_same() {
    let bench = Bench::new();
    let archive = bench.path("archive").to_str().unwrap().to_owned();
    assert_eq!(text(&["record", "-r", &demo(), "-o", &archive, "--cutoff", "1K"]).1, 0);
    let ends = |command: &str, input: &str| -> Vec<(String, String)> {
        let of = |record: &serde_json::Value, name: &str| record[name].as_str().unwrap().to_owned();
        json(&[command, "--json", input, "tcp"]).iter().map(|one| (of(one, "state"), of(one, "end_reason"))).collect()
    };
    for command in ["flows", "streams"] {
        assert_eq!(ends(command, &archive), ends(command, &demo()), "{command}");
    }
    assert_eq!(json(&["flows", "--json", "--where", "state = closed", &archive]).len(), 3);
    let exported = json(&["flows", "--format", "json", &archive, "tcp"]);
    assert_eq!(exported.iter().filter(|flow| flow["state"] == "closed").count(), 3);
    // Both names of the end of a period.
    for option in ["--to", "--until"] {
        let (said, _) =
            text(&["recall", &archive, "--from", "2026-11-21T04:00:49Z", option, "2026-11-21T04:00:50Z", "--flows"]);
        assert!(said.contains("192.0.2.10:47600") && !said.contains("192.0.2.10:36426"), "{option}: {said}");
    }
    let (said, code) = complaint(&["flows", &archive, "--to", "06:00"]);
    assert!(code == 2 && said.contains("for packets before a time use --until"), "{said}");
}

#[test]
fn a_file_is_no_place_for_an_archive() {
    let bench = Bench::new();
    let file = bench.file("capture.pcap", b"");
    for place in [file.clone(), format!("{file}/archive")] {
        let (said, code) = complaint(&["record", "-r", &demo(), "-o", &place]);
        assert!(code == 2 && said.contains("capture.pcap is a file; name a directory"), "{said}");
    }
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let archive = bench.path("archive").to_str().unwrap().to_owned();
    let (said, _) = text(&["record", "-r", &demo(), "-o", &archive, "--encrypt-to", recipient]);
    assert!(said.ends_with(&format!("find packets:\n  tidewire recall {archive} --identity FILE\n")), "{said}");
}

#[test]
fn every_form_of_an_archive_verifies_until_it_is_changed() {
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    for options in [&["--compress", "zstd"][..], &["--compress", "lz4"], &["--encrypt-to", recipient]] {
        let bench = Bench::new();
        let archive = bench.path("archive");
        let place = archive.to_str().unwrap();
        let demo = demo();
        let all = [&["record", "-r", &demo, "-o", place, "--segment-size", "64K"][..], options].concat();
        assert_eq!(text(&all).1, 0, "{options:?}");
        let found = segments(&archive);
        assert!(found.len() > 1, "{options:?}");
        assert_eq!(text(&["record", "--verify", place]).1, 0, "{options:?}");
        let mut bytes = fs::read(&found[1]).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&found[1], bytes).unwrap();
        let (said, code) = text(&["record", "--verify", place]);
        assert_eq!(code, 3);
        assert!(said.contains("changed"), "{said}");
    }
}

#[test]
fn the_summary_accounts_for_each_packet() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let demo = demo();
    let words = ["record", "-r", &demo, "-o", place, "--cutoff", "600", "--json", "--priority-class", "udp=3"];
    let summary =
        &json(&[&words[..], &["--cutoff-class", "udp=all", "--snaplen-class", "tcp=80", "not arp"]].concat())[0];
    let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}"));
    assert_eq!(number("received_packets"), 155);
    assert_eq!(number("written_packets") + number("cut_off_packets") + number("filtered_packets"), 155);
    assert!(number("cut_off_packets") > 50);
    let levels: Vec<u64> =
        summary["priorities"].as_array().unwrap().iter().filter_map(|one| one["priority"].as_u64()).collect();
    assert_eq!(levels, [0, 3]);
    let of_udp = &summary["priorities"][1];
    assert_eq!(of_udp["written_packets"], of_udp["received_packets"]);
}

#[test]
fn standard_input_is_recorded_and_a_second_recorder_refused() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let capture = fs::read(demo()).unwrap();
    let (mut first, mut input) = piped(place);
    input.write_all(&capture[..50_000]).unwrap();
    tidewire_testing::wait_until("a segment", || hidden(&archive) > 0);
    let (said, code) = complaint(&["record", "-r", &demo(), "-o", place]);
    assert_eq!(code, 4);
    assert!(said.contains(place) && said.contains("another recorder writes to this directory"), "{said}");
    input.write_all(&capture[50_000..]).unwrap();
    drop(input);
    assert!(first.wait_in_time("a recorder").success());
    assert_eq!(text(&["record", "--verify", place]).1, 0);
}

#[test]
fn a_signal_that_comes_twice_at_once_ends_a_recording_in_order() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let (mut recorder, mut input) = piped(archive.to_str().unwrap());
    input.write_all(&fs::read(demo()).unwrap()[..50_000]).unwrap();
    tidewire_testing::wait_until("a segment", || hidden(&archive) > 0);
    // As a terminal that is closed sends it: to the process, and to its group.
    for _ in 0..2 {
        signal(&recorder, Signal::HUP);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(input);
    assert_eq!(recorder.wait_in_time("a recorder").code(), Some(130));
    assert_eq!((hidden(&archive), segments(&archive).len()), (0, 1));
}

/// A recorder of standard input.
fn piped(place: &str) -> (Child, std::process::ChildStdin) {
    let mut command = command(&["record", "-r", "-", "-o", place, "--durable", "20ms"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    (child, input)
}

/// Bytes of segments that are being written.
fn hidden(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".pcapng.part");
    entries.filter(is_hidden).filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

#[test]
fn indexes_are_made_for_captures_that_lie_there() {
    let bench = Bench::new();
    let capture = bench.file("a.pcap", &fs::read(demo()).unwrap());
    let place = Path::new(&capture).parent().unwrap().to_str().unwrap().to_owned();
    let (said, code) = text(&["record", "--index-only", &place]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("155 packets") && said.contains("1 index made"), "{said}");
    assert!(text(&["record", "--index-only", &place]).0.contains("1 there before"));
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let demo = demo();
    for (words, expected) in [
        (&["-r", &*demo][..], "-o"),
        (&["-o", place], "nothing to record"),
        (&["-i", "lo", "-r", &demo, "-o", place], "-r"),
        (&["-r", &demo, "-o", place, "-j", "2"], "--workers"),
        (&["-r", &demo, "-o", place, "--size", "100K"], "--size"),
        (&["-r", &demo, "-o", place, "--segment-size", "1K"], "--segment-size"),
        (&["-r", &demo, "-o", place, "--buffer", "1M"], "--buffer"),
        (&["-r", &demo, "-o", place, "--durable", "0"], "--durable"),
        (&["-r", &demo, "-o", place, "--age", "0"], "--age must be more than 0"),
        // For what a file system can never have free, retention would remove the whole archive.
        (&["-r", &demo, "-o", place, "--free", "4000000T"], "is more than the file system of"),
        (&["-r", &demo, "-o", place, "--keep-last", "1s", "--trigger", "tcp", "--keep-memory", "0"], "--keep-memory"),
        (&["-r", &demo, "-o", place, "tcp", "prt", "80"], "prt"),
        (&["-r", &demo, "-o", place, "--cutoff-class", "prt 80=1K"], "prt"),
        (&["-r", &demo, "-o", place, "--keep-last", "1s"], "--trigger"),
        (&["-r", &demo, "-o", place, "--trigger", "tcp"], "--keep-last"),
        (&["-r", &demo, "-o", place, "--keep-last", "1s", "--trigger", "tcp prt 1"], "prt"),
        (&["-r", &demo, "-o", place, "--keep-last", "1s", "--trigger-pattern", "|0"], "--trigger-pattern"),
        (&["trigger"], "SOCKET"),
        (&["-r", &demo, "-o", place, "-F", "tcp", "udp"], "cannot be used with"),
        (&["-r", &demo, "-o", place, "--encrypt-to", "me"], "recipient"),
        (&["-r", &demo, "-o", place, "--duration", "1s"], "--duration"),
        (&["-r", &demo, "-o", place, "ip.addr == 1.2.3.4"], "display filter"),
    ] {
        let (said, code) = complaint(&[&["record"], words].concat());
        assert_eq!(code, 2, "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert!(!archive.exists(), "{words:?}");
    }
    let (said, code) = complaint(&["record", "-r", "/nowhere.pcap", "-o", place]);
    assert_eq!(code, 3, "{said}");
    let (said, code) = complaint(&["record", "-r", &demo, "-o", "/proc/nothing"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("/proc/nothing"), "{said}");
}

/// The commands that are printed can be pasted: a shell sees the directory as one word.
#[test]
fn printed_commands_quote_what_a_shell_would_split() {
    let bench = Bench::new();
    let place = bench.path("it's an archive").to_str().unwrap().to_owned();
    let recorded = text(&["record", "-r", &demo(), "-o", &place]).0;
    let overview = text(&["recall", &place, "--overview"]).0;
    for (said, title) in [(&recorded, "find packets:\n  tidewire "), (&overview, "next\n  tidewire ")] {
        let (_, line) = said.split_once(title).expect(said);
        let line = format!("printf '%s|' {}", line.lines().next().unwrap());
        let words = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
        let words = String::from_utf8(words.stdout).unwrap();
        assert!(words.ends_with(&format!("|{place}|")), "{words}: {said}");
    }
}

#[test]
fn the_summary_says_what_is_there_and_how_to_find_it() {
    let bench = Bench::new();
    let (archive, place) = (bench.path("archive"), bench.path("archive").to_str().unwrap().to_owned());
    let many = bench.file("many.pcap", &repeated(10));
    let words = ["record", "-r", &many, "-o", &place, "--segment-size", "64K", "--size", "300K"];
    let (said, code) = text(&words);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("1,550 packets recorded, 0 lost, "), "{said}");
    let there = format!("\n  there now {} segments, ", segments(&archive).len());
    assert!(said.contains(&there) && said.contains(" removed to keep within bounds\n"), "{said}");
    assert!(said.ends_with(&format!("\nfind packets:\n  tidewire recall {place}\n")), "{said}");
}

/// The packets of the demo, so many times.
fn repeated(times: usize) -> Vec<u8> {
    let demo = fs::read(demo()).unwrap();
    let (head, packets) = demo.split_at(24);
    [head.to_vec(), packets.repeat(times)].concat()
}

#[test]
fn look_back_says_what_waits_and_how_often_it_was_triggered() {
    let bench = Bench::new();
    let place = bench.path("archive").to_str().unwrap().to_owned();
    let demo = demo();
    let words = ["record", "-r", &demo, "-o", &place, "--keep-last", "1s", "--keep-after", "1ms"];
    let (said, code) = text(&[&words[..], &["--trigger", "udp port 53"]].concat());
    let triggers = said.lines().find_map(|line| line.trim_start().strip_prefix("look-back ")).unwrap_or_default();
    assert!(code == 0 && triggers.contains(" triggers; "), "{said}");
    let summary = &json(&[&words[..], &["--trigger", "udp port 4", "--json"]].concat())[0];
    assert_eq!(summary["triggers"].as_u64(), Some(0), "{summary}");
    // At the end the packets of the last second wait, and no trigger requested them.
    assert!(summary["waiting_bytes"].as_u64() > Some(1000), "{summary}");
    assert!(summary["waiting_ns"].as_u64().is_some_and(|span| (1..=1_000_000_000).contains(&span)), "{summary}");
    assert!(json(&["record", "-r", &demo, "-o", &place, "--json"])[0].get("triggers").is_none());
}

#[test]
fn a_trigger_has_its_own_help() {
    for words in [&["record", "trigger", "-h"][..], &["record", "trigger", "--help"]] {
        let (said, code) = text(words);
        assert!(code == 0 && said.contains("tidewire record trigger <SOCKET>") && !said.contains("--cutoff"), "{said}");
    }
}
