//! `tidewire record` where something is wrong with its directory, its files, or what others wrote there.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
};
use tidewire_types::Timestamp;

use serde_json::Value;
use tidewire_archive::{
    Directory, Settings,
    block::{Interface, Packet, Writer, enhanced_packet, interface_description, section_header},
};
use tidewire_files::{Block, Reader, Source as _};
use tidewire_testing::{InTime as _, missing};

use crate::common::{Bench, complaint, run, text};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");

fn ending(folder: &Path, ending: &str) -> PathBuf {
    let entries = fs::read_dir(folder).expect("an archive").map(|entry| entry.expect("an entry").path());
    let found = entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect::<Vec<_>>();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_version_of_another_time_is_refused_or_made_again() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    assert_eq!(text(&["record", "-r", DEMO, "-o", place]).1, 0);
    let index = ending(&archive, ".tidx");
    let whole = fs::read(&index).unwrap();
    let out = bench.path("out.pcapng");
    let recall = ["recall", place, "-w", out.to_str().unwrap(), "udp"];
    let with_version = |version: u8| {
        let mut bytes = whole.clone();
        bytes[8] = version;
        fs::write(&index, bytes).unwrap();
    };
    // A newer one is neither read nor written over.
    with_version(9);
    let (said, code) = complaint(&recall);
    assert!(code == 3 && said.contains("format version 9") && said.contains("newer tidewire"), "{code}: {said}");
    let (said, code) = complaint(&["record", "--index-only", place]);
    assert!(code == 3 && said.contains("newer tidewire"), "{code}: {said}");
    assert_eq!(fs::read(&index).unwrap()[8], 9);
    // An older one is passed over, and made again.
    with_version(0);
    let (said, code) = complaint(&recall);
    assert!(code == 0 && said.contains("format version 0") && said.contains("--index-only"), "{code}: {said}");
    assert!(text(&["record", "--index-only", place]).0.contains("1 index made"));
    let (said, code) = complaint(&recall);
    assert!(code == 0 && !said.contains("version"), "{said}");
    // A manifest of a newer program: nothing is added to it.
    let manifest = archive.join("manifest.jsonl");
    let lines = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, lines.replace("\"version\":1", "\"version\":2")).unwrap();
    for words in [&["record", "-r", DEMO, "-o", place][..], &["record", "--verify", place]] {
        let (said, code) = complaint(words);
        assert!(code > 2 && said.contains("format version 2") && said.contains("newer tidewire"), "{code}: {said}");
    }
}

#[test]
fn an_encrypted_archive_is_verified_whole_with_its_identity() {
    let bench = Bench::new();
    let (identity, archive) = (bench.path("identity.txt"), bench.path("archive"));
    let (key, place) = (identity.to_str().unwrap(), archive.to_str().unwrap());
    let made = String::from_utf8(run(&["keys", "identity", "-o", key]).stdout).unwrap();
    let recipient = made.split_whitespace().find(|word| word.starts_with("age1")).expect("a recipient");
    let words = ["record", "-r", DEMO, "-o", place, "--encrypt-to", recipient, "--segment-size", "64K"];
    assert_eq!(text(&words).1, 0);
    let (said, code) = text(&["record", "--verify", place]);
    assert!(code == 0 && said.contains("indexes are encrypted") && said.contains("--identity"), "{said}");
    let (said, code) = text(&["record", "--verify", place, "--identity", key]);
    assert!(code == 0 && !said.contains("encrypted"), "{said}");
    let checked: Value =
        serde_json::from_str(&text(&["record", "--verify", place, "--identity", key, "--json"]).0).unwrap();
    assert_eq!((&checked["sealed"], &checked["findings"]), (&0.into(), &Value::Array(Vec::new())));
    let (said, code) = complaint(&["record", "--verify", "/nonexistent"]);
    assert!(code == 3 && said.contains("/nonexistent"), "{said}");
}

/// A capture of two interfaces, a packet each.
fn two_interfaces(names: [&str; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    for (number, name) in names.into_iter().enumerate() {
        let mut interface = Interface::new(name, tidewire::LinkType::ETHERNET);
        interface.description = format!("cable {number}");
        interface.filter = "ip".into();
        interface.speed_bits = 1_000_000_000;
        interface_description(&mut bytes, &interface);
    }
    let packet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xcc][..], &[0; 46]].concat();
    for number in [1, 0] {
        enhanced_packet(
            &mut bytes,
            &Packet::new(number, Timestamp::from_nanos(1_700_000_000_000_000_000 + u64::from(number)), &packet, 60),
        );
    }
    bytes
}

fn described(path: &Path) -> Vec<Interface> {
    let (mut reader, mut block, mut found) = (Reader::open(path).unwrap(), Block::new(), Vec::new());
    while reader.fill(&mut block).unwrap() {
        found.extend(reader.described());
    }
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, interface)| interface).collect()
}

#[test]
fn interfaces_keep_their_names_descriptions_and_filters() {
    let bench = Bench::new();
    let one = bench.file("one.pcapng", &two_interfaces(["eth7", "eth8"]));
    let other = bench.file("other.pcapng", &two_interfaces(["wlan0", "eth8"]));
    for (number, files) in [vec![&*one], vec![&*one, &*other]].into_iter().enumerate() {
        let (archive, out) = (bench.path(&format!("archive{number}")), bench.path("out.pcapng"));
        let place = archive.to_str().unwrap();
        let words = [&["record", "-r"][..], &files, &["-F", "not tcp", "-o", place]].concat();
        assert_eq!(text(&words).1, 0);
        let check = |path: &Path| {
            let found = described(path);
            let mut names: Vec<&str> = found.iter().map(|interface| interface.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let expected = if files.len() == 1 { vec!["eth7", "eth8"] } else { vec!["eth7", "eth8", "wlan0"] };
            assert_eq!(names, expected);
            for interface in &found {
                assert_eq!(interface.filter, "(ip) and (not tcp)");
                assert!(interface.description.starts_with("cable ") && interface.speed_bits == 1_000_000_000);
            }
        };
        check(&ending(&archive, ".pcapng"));
        assert_eq!(text(&["recall", place, "-w", out.to_str().unwrap()]).1, 0);
        check(&out);
    }
}

#[test]
fn files_that_cannot_be_read_leave_no_directory() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let text = bench.file("text.txt", b"no capture, although it is long enough to be one: forty bytes and more");
    for file in ["/nowhere.pcap", &text, "/"] {
        let (said, code) = complaint(&["record", "-r", DEMO, file, "-o", archive.to_str().unwrap()]);
        assert!(code == 3 && said.contains(file), "{code}: {said}");
        assert!(!archive.exists(), "{file}");
    }
    // A file that turns out to be empty once it is read.
    let empty = bench.file("empty.pcap", b"");
    for file in [&*empty, "/dev/null"] {
        let (said, code) = complaint(&["record", "-r", file, "-o", archive.to_str().unwrap()]);
        assert!(code == 3 && said.contains(file), "{code}: {said}");
        assert!(!archive.exists(), "{file}");
    }
    // A directory that was there stays.
    fs::create_dir(&archive).unwrap();
    assert_eq!(complaint(&["record", "-r", &empty, "-o", archive.to_str().unwrap()]).1, 3);
    assert!(archive.exists());
}

#[test]
fn an_archive_without_a_segment_is_empty_and_no_error() {
    let bench = Bench::new();
    let (archive, folder) = (bench.path("archive"), bench.path("folder"));
    let (place, out) = (archive.to_str().unwrap(), bench.path("out.pcapng"));
    // As a recorder leaves it before its first packet.
    assert_eq!(text(&["record", "-r", DEMO, "-o", place, "-F", "port 4"]).1, 0);
    for entry in fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_name() != "manifest.jsonl" {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let (said, code) = complaint(&["recall", place, "-w", out.to_str().unwrap()]);
    assert!(code == 1 && said.contains("no segment yet"), "{code}: {said}");
    assert_eq!(complaint(&["flows", place]).1, 0);
    assert_eq!(text(&["record", "--verify", place]).1, 0);
    fs::create_dir(&folder).unwrap();
    let (said, code) = complaint(&["recall", folder.to_str().unwrap(), "-w", out.to_str().unwrap()]);
    assert!(code == 3 && said.contains("holds no archive"), "{code}: {said}");
}

#[test]
fn stored_bytes_are_those_of_the_files() {
    let bench = Bench::new();
    for form in ["none", "zstd", "lz4"] {
        let archive = bench.path(form);
        let place = archive.to_str().unwrap();
        let words: &[&str] = if form == "none" { &[] } else { &["--compress", form] };
        let (said, code) = text(&[&["record", "-r", DEMO, "-o", place, "--json"], words].concat());
        let summary: Value = serde_json::from_str(&said).unwrap();
        let is_segment =
            |path: &PathBuf| path.to_string_lossy().contains(".pcapng") && path.extension() != Some("tidx".as_ref());
        let files = fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path()).filter(is_segment);
        let bytes: u64 = files.map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(code == 0 && bytes > 1000 && summary["stored_bytes"] == bytes, "{form}: {bytes} of {said}");
    }
}

#[test]
fn short_runs_keep_within_the_age() {
    let up = fs::read_to_string("/proc/uptime").unwrap();
    if up.split('.').next().and_then(|seconds| seconds.parse::<u64>().ok()).is_none_or(|seconds| seconds < 700) {
        return println!("skipped: the machine has just been started, and its clock is not trusted");
    }
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let record = || {
        let (said, code) = text(&["record", "-r", DEMO, "-o", place, "--age", "1h", "--segment-size", "64K", "--json"]);
        assert_eq!(code, 0);
        serde_json::from_str::<Value>(&said).unwrap()
    };
    // The packets are years old: those of this run stay, those of the run before go.
    let first = record();
    assert!(first["segments"].as_u64() > Some(1) && first["segments_removed"] == 0, "{first}");
    let second = record();
    assert_eq!(second["segments_removed"], first["segments"], "{second}");
    let out = bench.path("out.pcapng");
    let (said, code) = complaint(&["recall", place, "-w", out.to_str().unwrap()]);
    assert!(code == 0 && said.starts_with("155 packets"), "{said}");
    assert_eq!(text(&["record", "--verify", place]).1, 0);
}

#[test]
fn a_directory_that_is_named_twice_is_refused_before_it_is_made() {
    let bench = Bench::new();
    let place = |name: &str| bench.path(name).to_str().unwrap().to_owned();
    fs::create_dir(place("there")).unwrap();
    std::os::unix::fs::symlink(place("there"), place("link")).unwrap();
    for (one, other) in [("x", "./x"), ("x", "y/../x"), ("x/", "x"), ("there", "link"), ("there/new", "link/new")] {
        let (said, code) = complaint(&["record", "-r", DEMO, "-o", &place(one), "-o", &place(other)]);
        assert!(code == 2 && said.contains("same directory, named twice"), "{one}, {other}: {said}");
        assert!(!bench.path("x").exists() && !bench.path("there/new").exists(), "{one}, {other}");
    }
    assert_eq!(text(&["record", "-r", DEMO, "-o", &place("x"), "-o", &place("y")]).1, 0);
}

#[test]
fn a_snap_length_of_zero_is_all_of_each_packet() {
    let bench = Bench::new();
    let captured = |path: &Path| {
        let (mut reader, mut block, mut bytes) = (Reader::open(path).unwrap(), Block::new(), 0);
        while reader.fill(&mut block).unwrap() {
            bytes += block.batch().frames.iter().map(|frame| u64::from(frame.captured_bytes)).sum::<u64>();
        }
        bytes
    };
    let of = |name: &str, options: &[&str]| {
        let place = bench.path(name);
        let words = [&["record", "-r", DEMO, "-o", place.to_str().unwrap()], options].concat();
        assert_eq!(text(&words).1, 0);
        captured(&ending(&place, ".pcapng"))
    };
    let all = captured(Path::new(DEMO));
    let (short, class) = (of("short", &["--snaplen", "20"]), ["--snaplen-class", "tcp=0", "--snaplen-class", "ip=20"]);
    assert_eq!(of("all", &["--snaplen", "0"]), all);
    let of_class = of("class", &class);
    assert!(short < of_class && of_class < all && short < all / 2, "{short}, {of_class} of {all}");
}

#[test]
fn what_the_disk_changed_before_a_repair_is_named_for_good() {
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    // As kill -9 leaves a segment of which all was synced.
    let directory = Directory::open(&archive, &Settings::default(), 1).unwrap();
    let name = directory.begin(1_700_000_000_000_000_000, 0);
    let (mut writer, mut bytes) = (directory.create(&name).unwrap(), Vec::new());
    section_header(&mut bytes, &Writer::default());
    interface_description(&mut bytes, &Interface::new("eth0", tidewire::LinkType::ETHERNET));
    for number in 0..500 {
        let payload = [number as u8; 600];
        enhanced_packet(
            &mut bytes,
            &Packet::new(0, Timestamp::from_nanos(1_700_000_000_000_000_000 + number), &payload, 600),
        );
    }
    writer.write(&bytes).unwrap();
    writer.sync().unwrap();
    drop((writer, directory));
    let part = archive.join(name.hidden());
    let mut found = fs::read(&part).unwrap();
    let middle = found.len() / 2;
    found[middle] ^= 1;
    fs::write(&part, found).unwrap();
    let (said, code) = complaint(&["record", "-r", DEMO, "-o", place]);
    assert!(code == 0 && said.contains("the disk changed 65536 bytes"), "{said}");
    let (said, code) = text(&["record", "--verify", place]);
    assert!(code == 3 && said.contains("damaged before it was repaired"), "{said}");
    // Other programs read what is left.
    let segment = archive.join(name.to_string());
    let (mut reader, mut block, mut packets) = (Reader::open(&segment).unwrap(), Block::new(), 0);
    while reader.fill(&mut block).unwrap() {
        packets += block.batch().frames.len();
    }
    assert!((380..500).contains(&packets), "{packets}");
    if missing(&["tcpdump"]).is_none() {
        let dumped = Command::new("tcpdump").args(["-nr", segment.to_str().unwrap()]).run_in_time().unwrap();
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    }
}

#[test]
fn a_limit_of_file_sizes_is_named_and_what_was_before_is_kept() {
    if let Some(reason) = missing(&["prlimit"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let tidewire = env!("CARGO_BIN_EXE_tidewire");
    let words = ["--fsize=60000", tidewire, "record", "-r", DEMO, "-o", place, "--durable", "10ms"];
    let output = Command::new("prlimit").args(words).run_in_time().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(place) && said.contains("File too large"), "{said}");
    // The account still closes: it says so otherwise.
    assert!(said.contains("lost") && !said.contains("bug"), "{said}");
    assert_eq!(text(&["record", "-r", DEMO, "-o", place]).1, 0);
    assert_eq!(text(&["record", "--verify", place]).1, 0);
}

/// A disk that has no room: here a segment of the fourth second, beside which all others are small.
#[test]
fn the_first_failure_ends_a_recording_of_files_and_what_is_whole_stays() {
    if let Some(reason) = missing(&["prlimit"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let archive = bench.path("archive");
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    interface_description(&mut bytes, &Interface::new("eth0", tidewire::LinkType::ETHERNET));
    let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xcc][..], &[0; 500]].concat();
    for second in 0..40_u64 {
        for number in 0..if second == 3 { 300 } else { 10 } {
            let time_ns = (1_700_000_000 + second) * 1_000_000_000 + number;
            enhanced_packet(&mut bytes, &Packet::new(0, Timestamp::from_nanos(time_ns), &frame, frame.len() as u32));
        }
    }
    let capture = bench.file("seconds.pcapng", &bytes);
    let (place, tidewire) = (archive.to_str().unwrap(), env!("CARGO_BIN_EXE_tidewire"));
    let words = ["--fsize=60000", tidewire, "record", "-r", &capture, "-o", place, "--segment-time", "1s"];
    let output = Command::new("prlimit").args(words).run_in_time().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("reading ended after packet 690: 30 packets are in 3 whole segments, "), "{said}");
    assert!(!said.contains("--buffer") && !said.contains("bug"), "{said}");
    let names = fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap());
    let files: Vec<_> = names.map(|entry| (entry.file_name(), entry.metadata().unwrap().len())).collect();
    assert!(files.iter().all(|(_, bytes)| *bytes > 0), "{files:?}");
    // Three segments with an index each, the one that failed with its checksums, the manifest.
    assert_eq!(files.len(), 3 * 2 + 2 + 1, "{files:?}");
    assert_eq!(text(&["record", "-r", DEMO, "-o", place]).1, 0);
    assert_eq!(text(&["record", "--verify", place]).1, 0);
}

/// The rest of a failed write is in the archive, and counted, or neither.
#[test]
fn packets_of_a_write_that_failed_are_counted_by_what_is_there() {
    if let Some(reason) = missing(&["prlimit"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    interface_description(&mut bytes, &Interface::new("eth0", tidewire::LinkType::ETHERNET));
    let mut random = 1_u32;
    for number in 0..3000 {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xcc];
        frame.extend(
            std::iter::repeat_with(|| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 24) as u8
            })
            .take(1000),
        );
        enhanced_packet(
            &mut bytes,
            &Packet::new(0, Timestamp::from_nanos(1_700_000_000_000_000_000 + number), &frame, frame.len() as u32),
        );
    }
    let capture = bench.file("many.pcapng", &bytes);
    for (form, least) in [(&[][..], 1400), (&["--compress", "zstd"][..], 900)] {
        let archive = bench.path(&format!("archive{least}"));
        let (place, tidewire) = (archive.to_str().unwrap(), env!("CARGO_BIN_EXE_tidewire"));
        let words = ["--fsize=1500000", tidewire, "record", "-r", &capture, "-o", place, "--json"];
        let output = Command::new("prlimit").args(words).args(form).run_in_time().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |name: &str| summary[name].as_u64().unwrap();
        assert_eq!(number("received_packets"), number("written_packets") + number("shed_packets"), "{summary}");
        let found = || {
            let recalled = bench.path("recalled.pcapng");
            let (found, _) = text(&["recall", place, "--json", "-w", recalled.to_str().unwrap()]);
            let last: Value = serde_json::from_str(found.lines().last().unwrap()).unwrap();
            last["recall"]["packets"].as_u64().unwrap()
        };
        assert!(number("written_packets") > least, "{summary}");
        assert_eq!(found(), number("written_packets"), "{form:?}: {summary}");
        // The next recorder completes what is there.
        assert_eq!(text(&["record", "-r", DEMO, "-o", place]).1, 0);
        assert_eq!(text(&["record", "--verify", place]).1, 0);
    }
}

#[test]
fn a_directory_that_may_not_be_written_to_is_named() {
    let bench = Bench::new();
    if let Some(reason) =
        missing(&["setpriv"]).or_else(|| (fs::metadata("/proc/self").unwrap().uid() != 0).then(|| "not root".into()))
    {
        return println!("skipped: {reason}");
    }
    let capture = bench.file("demo.pcap", &fs::read(DEMO).unwrap());
    let program = bench.path("tidewire");
    fs::copy(env!("CARGO_BIN_EXE_tidewire"), &program).unwrap();
    let archive = bench.path("archive");
    fs::create_dir(&archive).unwrap();
    for path in [bench.directory.path(), &archive, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let place = archive.to_str().unwrap();
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", program.to_str().unwrap()];
    let inside = archive.join("new");
    for place in [place, inside.to_str().unwrap()] {
        let output = Command::new("setpriv").args(user).args(["record", "-r", &capture, "-o", place]).run_in_time();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(place) && said.contains("check the permissions"), "{said}");
    }
    assert_eq!(fs::read_dir(&archive).unwrap().count(), 0);
}
