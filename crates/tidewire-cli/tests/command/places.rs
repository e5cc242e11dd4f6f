//! Where outputs go, and that each has its own fate: what fails takes nothing from the others, and nothing from an earlier run.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Write as _,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tidewire_testing::{Ends as _, InTime as _, Signal, signal, skip, wait_until};

use crate::{
    common::*,
    exports::{capture, capture_of, ok, visible},
};

const TIDEWIRE: &str = env!("CARGO_BIN_EXE_tidewire");

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The run goes on for the others, to its end, and says which records are whole.
#[test]
fn an_output_that_fails_leaves_the_others_whole() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 400);
    let [eve, alone, database] = ["eve.json", "alone.json", "flows.db"].map(|name| bench.path(name));
    let (eve, alone, database) = (eve.to_str().unwrap(), alone.to_str().unwrap(), database.to_str().unwrap());
    ok(&["flows", &capture, "--to", &format!("eve:{alone}")]);
    let (expected, lines) = (fs::read_to_string(alone).unwrap(), ok(&["flows", &capture, "--json"]).lines().count());
    fs::write(eve, "what an earlier run wrote\n").unwrap();
    let tos = ["json:/dev/full", &format!("eve:{eve}"), &format!("sqlite:{database}")].map(str::to_owned);
    let words: Vec<&str> = tos.iter().flat_map(|to| ["--to", to]).collect();
    // One worker writes in one order.
    let output = run(&[&["flows", &capture, "-j", "1"], &words[..]].concat());
    let said = said(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for words in ["/dev/full: cannot be written: No space left", "the run goes on for what can be written"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(String::from_utf8_lossy(&output.stdout).contains("found, not all of them written"), "{output:?}");
    let written = fs::read_to_string(eve).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.contains("\"stats\"")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&written), sorted(&expected));
    assert_eq!(visible(bench.path("eve.json").parent().unwrap()), ["alone.json", "eve.json", "flows.db", "many.pcap"]);
    if tidewire_testing::missing(&["python3"]).is_none() {
        let count = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from flows').fetchone()[0])";
        let count = Command::new("python3").args(["-c", count, database]).run_in_time().unwrap();
        assert_eq!(String::from_utf8_lossy(&count.stdout).trim(), lines.to_string());
    }
}

/// `/dev/stdout` is standard output: what is in the file behind it stays, and nothing for people gets between the records.
#[test]
fn a_standard_stream_is_itself_by_any_name() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let expected = ok(&["flows", &capture, "--to", "json:-"]);
    let log = bench.path("log");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", log.to_str().unwrap()] {
        fs::write(&log, "a line of yesterday\n").unwrap();
        let file = File::options().append(true).open(&log).unwrap();
        let mut command = Command::new(TIDEWIRE);
        command.args(["flows", &capture, "-j", "1", "--to", &format!("json:{name}")]).stdout(file);
        assert!(command.status_in_time().unwrap().success(), "{name}");
        assert_eq!(fs::read_to_string(&log).unwrap(), format!("a line of yesterday\n{expected}"), "{name}");
    }
    let packets = bench.path("packets");
    let mut command = Command::new(TIDEWIRE);
    command.args(["flows", &capture, "-w", "/dev/stdout"]).stdout(File::create(&packets).unwrap());
    assert!(command.status_in_time().unwrap().success());
    let flows = |path: &str| ok(&["flows", path, "--json"]).lines().count();
    assert_eq!(flows(packets.to_str().unwrap()), flows(&capture));
    let refused = run(&["flows", &capture, "--to", "json:-", "--to", "eve:/dev/stdout"]);
    assert!(said(&refused).contains("only one format fits on standard output"), "{refused:?}");
}

/// A reader that went away is no failure, and hides none.
#[test]
fn a_reader_that_went_away_hides_no_other_failure() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 400);
    let cut = bench.file("cut.pcap", &fs::read(&capture).unwrap()[..30_000]);
    for (words, code) in [
        (&["flows", &capture, "--json", "-w", "/dev/full"][..], 4),
        (&["flows", &cut, "--json"], 3),
        (&["transactions", &cut, "--json"], 3),
        (&["flows", &capture, "--json"], 0),
    ] {
        let mut command = Command::new(TIDEWIRE);
        let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.output_in_time("tidewire");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
    }
}

/// Discarded output is no failure, however the null device was opened.
#[test]
fn output_may_be_thrown_away() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for words in [&["--json"][..], &["--to", "json:-"], &["-w", "-"]] {
        let mut command = Command::new(TIDEWIRE);
        command.args(["flows", &capture]).args(words).stdin(Stdio::piped()).stderr(Stdio::piped());
        command.stdout(File::options().read(true).write(true).open("/dev/null").unwrap());
        assert!(command.status_in_time().unwrap().success(), "{words:?}");
    }
}

/// If the output and its folder are removed, the message is that it is gone, not where it is.
#[test]
fn what_was_removed_is_said_to_be_gone() {
    let bench = Bench::new();
    let bytes = fs::read(capture(&bench)).unwrap();
    let folder = bench.path("out");
    fs::create_dir(&folder).unwrap();
    let place = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for words in [
        ["--to".to_owned(), format!("json:{}", place("a.json"))],
        ["--to".into(), format!("ipfix:{}", place("a.ipfix"))],
        ["--to".into(), format!("sqlite:{}", place("a.db"))],
        ["-w".into(), place("w.pcapng")],
    ] {
        let mut command = Command::new(TIDEWIRE);
        command.args(["flows", "-"]).args(&words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes).unwrap();
        wait_until("the output is there", || fs::read_dir(&folder).unwrap().count() > 0);
        fs::remove_dir_all(&folder).unwrap();
        drop(input);
        let output = child.output_in_time("tidewire");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
        assert!(said.contains("gone: it was removed meanwhile") && !said.contains("beside it"), "{words:?}: {said}");
        fs::create_dir(&folder).unwrap();
    }
}

/// Names of files have any bytes.
#[test]
fn paths_that_are_no_text_are_written_to() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let name = |kind: &str, name: &str| {
        let place = [bench.directory.path().as_os_str().as_bytes(), name.as_bytes(), b"\xff"].concat();
        (OsString::from_vec([kind.as_bytes(), &place].concat()), PathBuf::from(OsString::from_vec(place)))
    };
    let formats = [("--to", "json:", "/a"), ("--to", "sqlite:", "/b"), ("--to", "zeek:", "/c"), ("-w", "", "/d")];
    for (option, kind, file) in formats {
        let (value, path) = name(kind, file);
        let output = Command::new(TIDEWIRE).args(["flows", &capture, option]).arg(&value).run_in_time().unwrap();
        assert!(output.status.success() && path.exists(), "{value:?}: {}", said(&output));
    }
    let (value, _) = name("evil:", "/e");
    let output = Command::new(TIDEWIRE).args(["flows", &capture, "--to"]).arg(&value).run_in_time().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

/// As many handles as the process may have: with few, some of Zeek's logs cannot be opened. The others are whole, and so is what an
/// earlier run wrote.
#[test]
fn without_handles_for_all_logs_none_is_replaced_by_a_part() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 100);
    let logs = bench.path("logs");
    let records = || {
        let names = fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<(PathBuf, usize)> = names
            .map(|path| {
                let text = fs::read_to_string(&path).unwrap();
                (path, text.lines().filter(|line| !line.starts_with('#')).count())
            })
            .collect();
        all.sort();
        all
    };
    let to = format!("zeek:{}", logs.display());
    ok(&["flows", &capture, "--to", &to]);
    let whole = records();
    assert!(whole.len() > 2 && whole.iter().all(|(_, records)| *records > 0), "{whole:?}");
    let mut codes = Vec::new();
    for handles in 6..=20 {
        let line = format!("ulimit -n {handles}; exec {TIDEWIRE} flows -j 1 {capture} --to {to}");
        let output = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
        let code = output.status.code();
        assert!(code == Some(0) || said(&output).contains("Too many open files"), "{handles}: {}", said(&output));
        assert_eq!(records(), whole, "{handles} handles, {}", said(&output));
        codes.push(code);
    }
    assert!(codes.contains(&Some(4)) && codes.last() == Some(&Some(0)), "{codes:?}");
}

/// Rust's runtime opens the null device in its place: that is no place for output.
#[test]
fn a_standard_output_that_was_closed_is_a_failure() {
    let bench = Bench::new();
    let (capture, lines) = (capture(&bench), bench.path("lines.json"));
    for words in
        ["flows --json", "flows", "flows -w -", "flows --to json:-", "flows --to eve:/dev/stdout", "streams --csv"]
    {
        let line = format!("exec {TIDEWIRE} {words} {capture} >&-");
        let output = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{words}: {said}");
        assert!(said.contains("standard output was closed when the program began"), "{words}: {said}");
    }
    let help = Command::new("sh").args(["-c", &format!("exec {TIDEWIRE} --help >&-")]).run_in_time().unwrap();
    assert_eq!(help.status.code(), Some(4), "{}", said(&help));
    // An output elsewhere is whole all the same.
    let line = format!("exec {TIDEWIRE} flows --to json:{} {capture} >&-", lines.display());
    let output = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
    assert_eq!(fs::read_to_string(&lines).unwrap().lines().count(), ok(&["flows", &capture, "--json"]).lines().count());
    assert_eq!(output.status.code(), Some(4), "its closing lines are lost: {}", said(&output));
}

/// One that is open for reading only takes nothing either, which Rust's library says of no write.
#[test]
fn a_standard_output_that_is_for_reading_only_is_a_failure() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for words in ["flows --json {}", "flows {}", "flows {} -w -", "flows {} --to json:-", "follow {} 1", "--help"] {
        let line = format!("exec {TIDEWIRE} {} 1</dev/null", words.replace("{}", &capture));
        let output = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{words}: {said}");
        assert!(said.contains("standard output is open for reading only"), "{words}: {said}");
    }
}

/// `recall` writes packets and rows by itself; it is not ended by SIGXFSZ without a word either.
#[test]
fn packets_of_archives_beyond_the_limit_of_file_sizes_are_said() {
    let bench = Bench::new();
    let (capture, archive, out) = (capture_of(&bench, 400), bench.path("archive"), bench.path("out.pcapng"));
    let (archive, out) = (archive.to_str().unwrap(), out.to_str().unwrap());
    assert!(run(&["record", "-r", &capture, "-o", archive, "-q"]).status.success());
    for words in [["-w", out], ["-w", "-"]] {
        let mut command = Command::new("prlimit");
        command.args(["--fsize=10000", TIDEWIRE, "recall", archive]).args(words).stderr(Stdio::piped());
        let child = command.stdout(File::create(bench.path("stdout")).unwrap()).spawn().unwrap();
        let output = child.output_in_time("recall");
        assert_eq!(output.status.code(), Some(4), "{words:?}: {} {}", output.status, said(&output));
        assert!(said(&output).contains("File too large"), "{words:?}: {}", said(&output));
    }
}

/// A replaced file keeps its mode and owner, and another user's link in a folder of all is not followed.
#[test]
fn what_is_replaced_stays_as_private_as_it_was() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for (to, name) in [("json", "flows.json"), ("csv", "flows.csv"), ("ipfix", "flows.ipfix"), ("sqlite", "flows.db")] {
        let path = bench.path(name);
        ok(&["flows", &capture, "--to", &format!("{to}:{}", path.display())]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        ok(&["flows", &capture, "--to", &format!("{to}:{}", path.display())]);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{to}");
    }
    let packets = bench.path("w.pcapng");
    fs::write(&packets, "").unwrap();
    fs::set_permissions(&packets, fs::Permissions::from_mode(0o640)).unwrap();
    ok(&["flows", &capture, "-w", packets.to_str().unwrap()]);
    assert_eq!(fs::metadata(&packets).unwrap().mode() & 0o777, 0o640);
    let (shared, victim) = (bench.path("shared"), bench.path("victim"));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(&victim, "precious").unwrap();
    let link = shared.join("out");
    symlink(&victim, &link).unwrap();
    if lchown(&link, Some(12_345), None).is_err() {
        return skip("links of other users need root");
    }
    for words in [["--to".to_owned(), format!("json:{}", link.display())], ["-w".into(), link.display().to_string()]] {
        let output = run(&["flows", &capture, &words[0], &words[1]]);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {output:?}");
        assert!(said(&output).contains("is a link of another user (12345)"), "{}", said(&output));
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    // Nor is another user's file replaced by one that this user may read and write, or logs in such a folder.
    fs::remove_file(&link).unwrap();
    for name in ["out", "conn.log"] {
        fs::write(shared.join(name), "").unwrap();
        lchown(shared.join(name), Some(12_345), None).unwrap();
    }
    for (option, format) in [("-w", ""), ("--to", "json:"), ("--to", "ipfix:"), ("--to", "sqlite:"), ("--to", "zeek:")]
    {
        let place = if format == "zeek:" { &shared } else { &link };
        let output = run(&["flows", &capture, option, &format!("{format}{}", place.display())]);
        assert_eq!(output.status.code(), Some(4), "{format}: {output:?}");
        assert!(said(&output).contains("it is of another user (12345)"), "{format}: {}", said(&output));
        assert_eq!(fs::metadata(shared.join("conn.log")).unwrap().uid(), 12_345);
    }
}

/// The file that standard output is appended to is no output of its own input.
#[test]
fn packets_are_not_appended_to_what_is_read() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let before = fs::read(&capture).unwrap();
    for words in [["-w", "-"], ["--to", "json:-"]] {
        let mut command = Command::new(TIDEWIRE);
        command.args(["flows", &capture]).args(words).stdout(File::options().append(true).open(&capture).unwrap());
        assert_eq!(command.status_in_time().unwrap().code(), Some(2), "{words:?}");
        assert_eq!(fs::read(&capture).unwrap(), before);
    }
}

/// A recorder writes to no directory that another user chose; a segment that is gone is no success, whatever is found in the others.
#[test]
fn an_archive_is_where_it_was_put_and_whole() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 400);
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let output = run(&["record", "-r", &capture, "-o", place, "--segment-size", "64K", "-q"]);
    assert!(output.status.success(), "{}", said(&output));
    let segment = visible(&archive).into_iter().filter(|name| name.ends_with(".pcapng")).nth(1).expect("several");
    let packets = bench.path("found.pcapng");
    let recall = || run(&["recall", place, "-w", packets.to_str().unwrap()]);
    assert_eq!(recall().status.code(), Some(0));
    fs::remove_file(archive.join(segment)).unwrap();
    let output = recall();
    assert!(output.status.code() == Some(3) && said(&output).contains("1 capture is missing"), "{}", said(&output));
    let (shared, target) = (bench.path("shared"), bench.path("target"));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::create_dir(&target).unwrap();
    let link = shared.join("archive");
    symlink(&target, &link).unwrap();
    if lchown(&link, Some(12_345), None).is_err() {
        return skip("links of other users need root");
    }
    // A slash behind its name, as shells add it, changes nothing, nor does a component behind it.
    for end in ["", "/", "/.", "/new", "/new/deep"] {
        let place = format!("{}{end}", link.display());
        let [json, zeek, sqlite] = ["json", "zeek", "sqlite"].map(|format| format!("{format}:{place}/out"));
        for words in [
            &["record", "-r", &capture, "-o", &place, "-q"][..],
            &["extract", &capture, "-o", &place],
            &["collect", "--store", &place, "--keys", "/nonexistent"],
            &["flows", &capture, "-w", &format!("{place}/out")],
            &["flows", &capture, "--to", &json],
            &["flows", &capture, "--to", &zeek],
            &["flows", &capture, "--to", &sqlite],
        ] {
            let output = run(words);
            assert_eq!(output.status.code(), Some(4), "{words:?}: {output:?}");
            assert!(said(&output).contains("is a link of another user (12345)"), "{words:?}: {}", said(&output));
        }
    }
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

/// Another user who may write to the folder exchanges the file for a link while it is written: that is a failure, and nothing of it is
/// published as ours.
#[test]
fn a_file_that_was_exchanged_is_a_failure() {
    let bench = Bench::new();
    let bytes = fs::read(capture_of(&bench, 400)).unwrap();
    let victim = bench.path("victim");
    fs::write(&victim, "precious").unwrap();
    for to in [["--to", "json:"], ["--to", "ipfix:"], ["-w", ""]] {
        let folder = bench.path("folder");
        fs::create_dir(&folder).unwrap();
        let place = format!("{}{}", to[1], folder.join("out").display());
        let mut command = Command::new(TIDEWIRE);
        command.args(["flows", "-", to[0], &place]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes[..30_000]).unwrap();
        let names = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        tidewire_testing::wait_until("a file", || !names().is_empty());
        // A file of lines is renamed when there is something in it.
        tidewire_testing::wait_until("its exchange", || {
            names().iter().all(|name| fs::remove_file(name).is_ok() && symlink(&victim, name).is_ok())
        });
        input.write_all(&bytes[30_000..]).unwrap();
        drop(input);
        let output = child.output_in_time("tidewire");
        assert_eq!(output.status.code(), Some(4), "{to:?}: {}", said(&output));
        assert!(said(&output).contains("gone: "), "{}", said(&output));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// A link is followed, also to what is not there yet; it is not put aside for a file of its name.
#[test]
fn a_link_that_leads_nowhere_stays() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let mut expected = 1;
    for (place, name) in [("json:", "a"), ("sqlite:", "b"), ("ipfix:", "c"), ("", "d")] {
        if place == "sqlite:" && cfg!(not(feature = "sqlite")) {
            continue;
        }
        expected += 3;
        let [link, lost] = ["link", "lost"].map(|kind| bench.path(&format!("{kind}-{name}")));
        symlink(format!("later-{name}"), &link).unwrap();
        symlink(bench.path("nowhere").join("later"), &lost).unwrap();
        let words = |path: &Path| {
            let option = if place.is_empty() { "-w" } else { "--to" };
            [option.to_owned(), format!("{place}{}", path.display())]
        };
        let [option, to] = words(&link);
        ok(&["flows", &capture, &option, &to]);
        assert!(link.is_symlink() && bench.path(&format!("later-{name}")).is_file());
        let [option, to] = words(&lost);
        let output = run(&["flows", &capture, &option, &to]);
        assert_eq!(output.status.code(), Some(4), "{to}: {output:?}");
        assert!(said(&output).contains("it is a link into a folder that does not exist"), "{}", said(&output));
        assert!(lost.is_symlink());
    }
    let left = fs::read_dir(bench.path("")).unwrap().count();
    assert_eq!(left, expected, "the capture, and of each format two links and a file");
}

/// Every name that the file system allows, also where a file of an earlier run has it.
#[test]
fn names_may_be_as_long_as_the_file_system_allows() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for (bytes, format) in
        [232, 240, 255].into_iter().flat_map(|bytes| ["json", "csv", "ipfix"].map(|format| (bytes, format)))
    {
        let folder = bench.path(&format!("{format}{bytes}"));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("n".repeat(bytes));
        let target = format!("{format}:{}", path.display());
        ok(&["flows", &capture, "-j", "1", "--to", &target]);
        let first = fs::read(&path).unwrap();
        ok(&["flows", &capture, "-j", "1", "--to", &target]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{format} {bytes}");
        assert!(format == "ipfix" || fs::read(&path).unwrap() == first, "{format} {bytes}");
    }
    let rotated = bench.path("rotated");
    fs::create_dir(&rotated).unwrap();
    let target = format!("json:{}", rotated.join("n".repeat(255)).display());
    ok(&["flows", &capture, "--rotate", "64K", "--to", &target]);
    let all: String = visible(&rotated).iter().map(|name| fs::read_to_string(rotated.join(name)).unwrap()).collect();
    assert_eq!(all.lines().count(), ok(&["flows", &capture, "--json"]).lines().count());
}

/// A pipe whose other users do not want to wait is waited for all the same.
#[test]
fn a_pipe_that_does_not_block_gets_everything() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 800);
    for words in [&["--json"][..], &["--to", "json:-"], &["-w", "-"]] {
        let words = [&["flows", &capture, "-j", "1"], words].concat();
        let expected = Command::new(TIDEWIRE).args(&words).run_in_time().unwrap().stdout;
        assert!(expected.len() > 1 << 17, "more than a pipe holds: {}", expected.len());
        let start = || {
            let (reader, writer) = std::io::pipe().unwrap();
            let flags = rustix::fs::fcntl_getfl(&writer).unwrap() | rustix::fs::OFlags::NONBLOCK;
            rustix::fs::fcntl_setfl(&writer, flags).unwrap();
            let child = Command::new(TIDEWIRE).args(&words).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
            (child, reader)
        };
        let (child, mut reader) = start();
        let reading = std::thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 1 << 14]);
            loop {
                std::thread::sleep(std::time::Duration::from_millis(5));
                match std::io::Read::read(&mut reader, &mut piece).unwrap() {
                    0 => return all,
                    bytes => all.extend_from_slice(&piece[..bytes]),
                }
            }
        });
        let output = child.output_in_time("a slow reader");
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        assert!(reading.join().unwrap() == expected, "{words:?}");
        // And where no process reads, a signal ends it as for other pipes.
        let (child, reader) = start();
        std::thread::sleep(std::time::Duration::from_millis(600));
        let sent = std::time::Instant::now();
        signal(&child, Signal::TERM);
        let output = child.output_in_time("no reader");
        assert!(sent.elapsed() < std::time::Duration::from_secs(2), "{words:?}: {:?}", sent.elapsed());
        assert_eq!(output.status.code(), Some(130), "{words:?}");
        // (Of packets it is another descriptor by now.)
        assert!(said(&output).contains("interrupted; no process reads "), "{words:?}: {}", said(&output));
        drop(reader);
    }
}

/// An input with damage or without a match was read to its end: its output is complete, and replaces that of an earlier run.
#[test]
fn a_damaged_input_and_one_without_a_match_replace_what_was_there() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 400);
    let cut = bench.file("cut.pcap", &fs::read(&capture).unwrap()[..30_000]);
    let matches = ["match", &capture, "-e", "no such text"];
    for (words, code) in [(&["flows", &cut][..], 3), (&matches, 1)] {
        for option in ["-w", "--to json:", "--to csv:"] {
            let path = bench.file("out", b"what an earlier run wrote");
            let (option, place) = option.split_once(' ').unwrap_or((option, ""));
            let place = format!("{place}{path}");
            let output = run(&[words, &[option, &place]].concat());
            assert_eq!(output.status.code(), Some(code), "{words:?} {place}: {}", said(&output));
            let written = fs::read(&path).unwrap();
            assert!(written != b"what an earlier run wrote", "{words:?} {place}");
            assert_eq!(said(&output).contains("damaged at byte"), code == 3, "{words:?} {place}: {}", said(&output));
            // With names of columns or of the file's own at the most, where nothing was found.
            assert_eq!(written.len() > 1000, code == 3, "{words:?} {place}: {}", written.len());
        }
    }
    let (archive, path) = (bench.path("archive"), bench.file("out", b"what an earlier run wrote"));
    let archive = archive.to_str().unwrap();
    ok(&["record", "-q", "-r", &capture, "-o", archive]);
    let output = run(&["recall", archive, "host", "203.0.113.99", "-w", &path]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(ok(&["flows", &path, "--json"]), "", "a capture file without packets");
}

/// A folder of logs is written by its handle: what has the name of a log and is no file is neither followed, renamed nor replaced.
#[test]
fn logs_replace_nothing_but_files() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let (folder, victim) = (bench.path("logs"), bench.path("victim"));
    fs::create_dir(&folder).unwrap();
    fs::write(&victim, "precious").unwrap();
    let place = folder.join("conn.log");
    let make: [(&str, &dyn Fn()); 4] = [
        ("a link", &|| symlink(&victim, &place).unwrap()),
        ("a FIFO", &|| fifo(&place)),
        ("a socket", &|| drop(std::os::unix::net::UnixListener::bind(&place).unwrap())),
        ("a directory", &|| fs::create_dir(&place).unwrap()),
    ];
    for (what, make) in make {
        make();
        let before = fs::symlink_metadata(&place).unwrap().ino();
        for form in ["zeek", "zeek-json"] {
            for rotate in [&[][..], &["--rotate", "64K"]] {
                let to = format!("{form}:{}", folder.display());
                let output = run(&[&["flows", &capture, "--to", &to], rotate].concat());
                let said = said(&output);
                assert_eq!(output.status.code(), Some(4), "{said}");
                let expected =
                    format!("conn.log: cannot be written: what has this name is {what}, not a file; remove it");
                assert!(said.contains(&expected), "{said}");
                assert_eq!(fs::symlink_metadata(&place).unwrap().ino(), before, "{what}");
                assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{what}");
            }
        }
        let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir(&place));
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    ok(&["flows", &capture, "--to", &format!("zeek:{}", folder.display())]);
}

fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// A FIFO that gets the name of an output while it is written stays; the output is hidden beside it.
#[test]
fn a_fifo_with_the_name_of_an_output_stays() {
    let bench = Bench::new();
    let bytes = fs::read(capture_of(&bench, 400)).unwrap();
    for to in [["--to", "json:"], ["--to", "ipfix:"], ["--to", "sqlite:"], ["-w", ""]] {
        let folder = bench.path("folder");
        fs::create_dir(&folder).unwrap();
        let name = folder.join("out");
        let mut command = Command::new(TIDEWIRE);
        command.args(["flows", "-", to[0], &format!("{}{}", to[1], name.display())]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes[..30]).unwrap();
        wait_until("a hidden file", || fs::read_dir(&folder).unwrap().count() > 0);
        fifo(&name);
        input.write_all(&bytes[30..]).unwrap();
        drop(input);
        let output = child.output_in_time("tidewire");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{to:?}: {said}");
        assert!(said.contains("is a FIFO, not a file"), "{said}");
        assert!(!fs::symlink_metadata(&name).unwrap().is_file(), "{to:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// An output of another command is neither replaced nor mixed up with extracted files, and two runs never write to one directory.
#[test]
fn extract_writes_to_no_other_output() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let [archive, logs, out] = ["archive", "logs", "out"].map(|name| bench.path(name));
    ok(&["record", "-r", &capture, "-o", archive.to_str().unwrap()]);
    ok(&["flows", &capture, "--to", &format!("zeek:{}", logs.display())]);
    let extract = |place: &Path| run(&["extract", &capture, "--force", "-o", place.to_str().unwrap()]);
    for (place, what) in [(&archive, "an archive of 'tidewire record'"), (&logs, "logs of Zeek")] {
        let before = visible(place);
        let output = extract(place);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.contains("name another directory"), "{said}");
        assert_eq!(visible(place), before);
    }
    fs::create_dir(&out).unwrap();
    let held = File::open(&out).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let output = extract(&out);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("another run writes to it"), "{}", said(&output));
    drop(held);
    assert_eq!(extract(&out).status.code(), Some(0));
}

/// Who may write beside a new directory exchanges it while it is written: nothing else gets its name.
#[test]
fn a_directory_that_was_exchanged_gets_no_name() {
    let bench = Bench::new();
    let bytes = fs::read(capture_of(&bench, 400)).unwrap();
    let (beside, moved) = (bench.path("beside"), bench.path("moved"));
    fs::create_dir(&beside).unwrap();
    let out = beside.join("out");
    let mut command = Command::new(TIDEWIRE);
    command.args(["extract", "-", "-o", out.to_str().unwrap()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&bytes[..30_000]).unwrap();
    let hidden = || fs::read_dir(&beside).unwrap().next().map(|entry| entry.unwrap().path());
    // Directories are made by name and then opened by it (mkdir(2) returns no handle): what is exchanged before is the run's own.
    let handles = format!("/proc/{}/fd", child.id());
    let is_open = |folder: PathBuf| {
        let mut open = fs::read_dir(&handles).unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        open.any(|path| path == folder)
    };
    wait_until("the directory is open", || hidden().is_some_and(is_open));
    let hidden = hidden().unwrap();
    fs::rename(&hidden, &moved).unwrap();
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("other"), "not ours").unwrap();
    input.write_all(&bytes[30_000..]).unwrap();
    drop(input);
    let output = child.output_in_time("tidewire");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("the directory was replaced while it was written"), "{}", said(&output));
    assert!(!out.exists() && fs::read_to_string(hidden.join("other")).unwrap() == "not ours");
    assert!(moved.join("index.jsonl").exists());
}

/// A damaged input and an output without room: both are named, and the status is that of the output.
#[test]
fn two_failures_are_named_and_the_graver_one_is_the_status() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"question"), (true, b"answer")]);
    let whole = pcap.bytes();
    let capture = bench.file("cut.pcap", &whole[..whole.len() - 10]);
    let (said, status) = complaint(&["flows", &capture]);
    assert!(status == 3 && said.contains("damaged at byte"), "{said}");
    let (said, status) = complaint(&["flows", "--to", "csv:/dev/full", &capture]);
    assert!(status == 4 && said.contains("damaged at byte") && said.contains("/dev/full: cannot be written"), "{said}");
}
