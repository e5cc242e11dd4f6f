//! `tidewire record --verify` and `--index-only`, and captures that lie in an archive.

use std::{fs, path::Path, process::Command};

use tidewire_testing::InTime as _;

use crate::common::*;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");

/// Standard output and error together, and the exit code.
fn said(words: &[&str]) -> (String, i32) {
    let output = run(words);
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code().unwrap())
}

/// Records the demo into a directory; returns its path.
fn recorded(bench: &Bench, name: &str) -> String {
    let place = bench.path(name).to_str().unwrap().to_owned();
    assert_eq!(text(&["record", "-r", DEMO, "-o", &place]).1, 0);
    place
}

/// The only segment of an archive.
fn segment(place: &str) -> String {
    let mut names = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    names.find(|path| path.extension().is_some_and(|ending| ending == "pcapng")).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn each_directory_that_is_named_is_verified() {
    let bench = Bench::new();
    let (one, two) = (recorded(&bench, "d1"), recorded(&bench, "d2"));
    let (report, code) = said(&["record", "--verify", &one, &two]);
    assert!(code == 0 && report.matches("1 segment intact").count() == 2, "{report}");
    let mut bytes = fs::read(segment(&two)).unwrap();
    bytes[500] ^= 1;
    fs::write(segment(&two), bytes).unwrap();
    for words in [
        &["--verify", &one, &two][..],
        &["--verify", &two, &one],
        &["--verify", &one, "--verify", &two],
        &[&one, "--verify", &two],
        &["--verify", "--json", &one, &two],
    ] {
        let (report, code) = said(&[&["record"], words].concat());
        assert!(code == 3 && report.contains("changed: its content"), "{words:?}: {code} {report}");
    }
    let (report, _) = said(&["record", "--verify", &two, &one]);
    let ends: Vec<&str> = report.lines().filter(|line| line.contains(" intact")).collect();
    assert_eq!(ends.len(), 2, "{report}");
    assert!(ends[0].starts_with(&format!("{two}: 0 segments")) && ends[0].ends_with("1 finding"), "{report}");
    assert!(ends[1].starts_with(&format!("{one}: 1 segment")) && ends[1].ends_with("as they were written"), "{report}");
    let none = bench.path("none");
    for (words, expected, what) in [
        (&["--verify", &one, "host", "192.0.2.7"][..], 2, "filter expression"),
        (&["tcp", "--verify", &one], 2, "filter expression"),
        (&["--verify", &one, "-F", "tcp"], 2, "filter expression"),
        (&["--index-only", &one, "tcp", "port", "80"], 2, "filter expression"),
        (&["--verify", &one, DEMO], 2, "not a directory"),
        (&["--verify"], 2, "needs a directory"),
        (&["--verify", &one, none.to_str().unwrap()], 3, "no such directory"),
    ] {
        let (report, code) = said(&[&["record"], words].concat());
        assert!(code == expected && report.contains(what), "{words:?}: {code} {report}");
    }
}

#[test]
fn where_nothing_is_nothing_is_intact() {
    let bench = Bench::new();
    let place = recorded(&bench, "archive");
    for entry in fs::read_dir(&place).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let (report, code) = said(&["record", "--verify", &place]);
    assert!(code == 3 && report.contains("holds no archive") && !report.contains("intact"), "{code} {report}");
    // As a recorder leaves it that has written nothing yet.
    let _ = said(&["record", "-r", DEMO, "-o", &place, "port", "4"]);
    for entry in fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()) {
        if !entry.ends_with("manifest.jsonl") {
            fs::remove_file(entry).unwrap();
        }
    }
    let (report, code) = said(&["record", "--verify", &place]);
    assert!(code == 0 && report.contains("no segment yet"), "{code} {report}");
}

#[test]
fn what_is_not_indexed_is_named() {
    let bench = Bench::new();
    let place = bench.path("captures");
    fs::create_dir_all(place.join("2026")).unwrap();
    let demo = fs::read(DEMO).unwrap();
    let compressed = |program: &str| {
        let output = Command::new(program).args(["-c", DEMO]).run_in_time();
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    };
    let gzip = compressed("gzip").expect("gzip, which is essential");
    for (name, bytes) in [
        ("a.pcap.gz", &gzip[..]),
        ("b.cap", &demo),
        ("2026/d.pcap", &demo),
        ("e.pcap", b""),
        ("f.pcap", b"junk"),
        ("README.txt", b"captures of a router"),
    ] {
        fs::write(place.join(name), bytes).unwrap();
    }
    let place = place.to_str().unwrap();
    let (report, code) = said(&["record", "--index-only", place]);
    assert_eq!(code, 3, "{report}");
    for (name, why) in [
        ("2026", "not indexed: a directory: name it itself"),
        ("e.pcap", "not indexed: empty: no capture"),
        ("f.pcap", "not indexed: no capture"),
        ("README.txt", "not indexed: no capture"),
    ] {
        assert!(report.lines().any(|line| line.contains(&format!("{place}/{name}: {why}"))), "{name}: {report}");
    }
    assert!(
        report.contains("2 indexes made, 0 there before, 2 captures refused, 2 other files passed over"),
        "{report}"
    );
    // The compressed one is searched as the plain one is: each packet is found twice.
    assert_eq!(found(place), 2 * 155);
}

#[test]
fn every_byte_of_a_manifest_and_every_capture_that_was_added_is_verified() {
    let bench = Bench::new();
    let place = recorded(&bench, "archive");
    let verified = || said(&["record", "--verify", &place]);
    assert_eq!(verified().1, 0);
    let (manifest, segment) = (Path::new(&place).join("manifest.jsonl"), segment(&place));
    // The last line has none behind it that names its digest.
    let text = fs::read(&manifest).unwrap();
    let last = text[..text.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
    for at in (last..text.len()).step_by(7) {
        let mut changed = text.clone();
        changed[at] ^= 1;
        fs::write(&manifest, &changed).unwrap();
        let (report, code) = verified();
        assert!(code == 3 && !report.contains("as they were written"), "byte {at}: {code} {report}");
    }
    fs::write(&manifest, &text).unwrap();
    let gzip = Command::new("gzip").args(["-c", &segment]).run_in_time().unwrap().stdout;
    for (name, bytes, why) in [
        ("copy.pcapng", fs::read(&segment).unwrap(), "without an index"),
        ("copy.pcapng.gz", gzip, "without an index"),
        ("copy.pcapng.sealed", b"TWSEALED\x01\0\x01\0".repeat(20), "encrypted, and of no name that a recorder gives"),
    ] {
        let path = Path::new(&place).join(name);
        fs::write(&path, bytes).unwrap();
        let (report, code) = verified();
        let expected = format!("{}: added: a capture that no recorder wrote here, ", path.display());
        assert!(code == 3 && report.contains(&expected) && report.contains(why), "{name}: {code} {report}");
        fs::remove_file(path).unwrap();
    }
    assert_eq!(verified().1, 0);
}

#[test]
fn a_damaged_capture_is_indexed_as_far_as_it_goes_and_said() {
    let bench = Bench::new();
    let demo = fs::read(DEMO).unwrap();
    fs::create_dir(bench.path("captures")).unwrap();
    bench.file("captures/cut.pcap", &demo[..demo.len() - 7]);
    let (report, code) = said(&["record", "--index-only", bench.path("captures").to_str().unwrap()]);
    assert!(code == 3 && report.contains("damaged") && report.contains("1 index made"), "{code} {report}");
    // So is one whose compressed data is cut.
    let gzip = Command::new("gzip").args(["-c", DEMO]).run_in_time().unwrap().stdout;
    bench.file("captures/cut.pcap", &demo);
    bench.file("captures/cut.pcap.gz", &gzip[..gzip.len() / 2]);
    let (report, code) = said(&["record", "--index-only", bench.path("captures").to_str().unwrap()]);
    assert!(code == 3 && report.contains("cut.pcap.gz") && report.contains("2 indexes made"), "{code} {report}");
    assert!(found(bench.path("captures").to_str().unwrap()) > 155);
}

#[test]
fn a_directory_of_which_nothing_is_indexed_is_no_archive() {
    let bench = Bench::new();
    let place = bench.path("captures");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("a.pcap"), b"junk").unwrap();
    let place = place.to_str().unwrap();
    assert_eq!(said(&["record", "--index-only", place]).1, 3);
    let (report, code) = said(&["recall", place, "--flows"]);
    assert!(code == 3 && report.contains("holds no archive") && !report.contains("recorder began"), "{code} {report}");
    let names: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.pcap"]);
}

#[test]
fn a_capture_that_was_added_is_searched_and_named() {
    let bench = Bench::new();
    let captures = bench.path("captures");
    fs::create_dir(&captures).unwrap();
    fs::write(captures.join("first.pcap"), Pcap::new().bytes()).unwrap();
    let captures = captures.to_str().unwrap();
    assert_eq!(said(&["record", "--index-only", captures]).1, 0);
    let archive = recorded(&bench, "archive");
    for place in [captures, &archive] {
        let before = found(place);
        assert_eq!(said(&["record", "--verify", place]).1, 0);
        fs::copy(DEMO, Path::new(place).join("added.pcap")).unwrap();
        assert_eq!(found(place), before + 155);
        let (report, code) = said(&["recall", place, "--flows"]);
        let note = format!(
            "{place}: 1 capture has no index and is read whole: added.pcap (tidewire record --index-only {place} makes it)"
        );
        assert!(code == 0 && report.contains(&note), "{report}");
        let (report, code) = said(&["record", "--verify", place]);
        assert!(code == 3 && report.contains("added.pcap: added: a capture"), "{code} {report}");
        // Once it has an index it belongs to the archive.
        assert_eq!(said(&["record", "--index-only", place]).1, 0);
        assert_eq!(found(place), before + 155);
        let (report, code) = said(&["record", "--verify", place]);
        assert!(code == 0 && report.contains("as they were written"), "{code} {report}");
    }
}

/// Packets that are found in an archive.
fn found(place: &str) -> u64 {
    let output = run(&["recall", place, "--flows", "--json"]);
    lines(&output.stdout).pop().unwrap()["recall"]["packets"].as_u64().unwrap()
}

#[test]
fn the_hint_of_an_encrypted_segment_without_an_index_works() {
    let bench = Bench::new();
    let (identity, place) = (bench.path("id.txt"), bench.path("archive"));
    let (identity, place) = (identity.to_str().unwrap(), place.to_str().unwrap());
    let (report, code) = said(&["keys", "identity", "-o", identity]);
    assert!(code == 0 && report.contains("archives"), "{report}");
    let recipient = text(&["keys", "recipient", identity]).0.trim().to_owned();
    let (report, code) = said(&["record", "-r", DEMO, "-o", place, "--encrypt-to", identity]);
    assert!(code == 2 && report.contains(&format!("a file; `tidewire keys recipient {identity}`")), "{code} {report}");
    assert_eq!(text(&["record", "-r", DEMO, "-o", place, "--encrypt-to", &recipient]).1, 0);
    let indexes = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let index = indexes.into_iter().find(|path| path.to_str().unwrap().ends_with(".tidx.sealed")).unwrap();
    fs::remove_file(index).unwrap();
    let (report, code) = said(&["record", "--index-only", place, "--identity", identity]);
    let hint = format!("tidewire record --index-only {place} --identity FILE --encrypt-to age1");
    assert!(code == 3 && report.contains(&hint), "{code} {report}");
    // The directory may come last as well.
    let (report, code) = said(&["record", "--index-only", "--identity", identity, "--encrypt-to", &recipient, place]);
    assert!(code == 0 && report.contains("1 index made"), "{code} {report}");
}

#[test]
fn the_example_of_a_configuration_is_understood() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/record.toml");
    // Its interface and a file are too much: all of it was read by then.
    let (report, code) = said(&["record", "--config", example, "-r", DEMO]);
    assert!(code == 2 && report.contains("cannot read files (-r) and capture from interfaces"), "{code} {report}");
    let all = fs::read_to_string(example).unwrap();
    let uncommented: Vec<_> =
        all.lines().map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line)).collect();
    let bench = Bench::new();
    let path = bench.file("record.toml", uncommented.join("\n").as_bytes());
    let (report, code) = said(&["record", "--config", &path, "-r", DEMO]);
    assert!(code == 2 && report.contains("cannot read files (-r) and capture from interfaces"), "{code} {report}");
}
