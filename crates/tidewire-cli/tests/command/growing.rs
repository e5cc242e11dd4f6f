//! Files while they are written: lines grow under their names, what has no lines is hidden until it is complete, and what an earlier run wrote
//! stays until this one's is whole.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tidewire_testing::{Ends as _, InTime as _, wait_until};

use crate::{
    common::*,
    exports::{capture, capture_of, ok, visible},
    tables::without_columns,
};

/// The files below a folder that are not hidden.
fn shown(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = visible(folder).into_iter().map(|name| folder.join(name)).collect();
    let folders: Vec<PathBuf> = all.extract_if(.., |path| path.is_dir()).collect();
    all.extend(folders.iter().flat_map(|folder| shown(folder)));
    all
}

/// As log shippers and `tail -f` need it; a kill leaves lines that are whole, and nothing else that looks so.
#[test]
fn lines_grow_while_they_are_written_and_a_kill_leaves_them_whole() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let bytes = fs::read(&capture).unwrap();
    let folder = bench.path("out");
    fs::create_dir(&folder).unwrap();
    let place = |format: &str, name: &str| format!("{format}:{}", folder.join(name).display());
    let mut places = vec![place("eve", "eve.json"), place("json", "a.json"), place("csv", "a.csv")];
    places.extend([
        place("zeek", "logs"),
        place("zeek-json", "lines"),
        place("sqlite", "a.db"),
        place("ipfix", "a.ipfix"),
    ]);
    if without_columns(&bench, &capture).is_none() {
        places.extend([place("parquet", "parquet"), place("arrow", "a.arrow")]);
    }
    let mut words = vec!["flows"];
    places.iter().for_each(|place| words.extend(["--to", place]));
    words.push("-");
    let mut child = command(&words).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&bytes).unwrap();
    let conns = [folder.join("logs/conn.log"), folder.join("lines/conn.log")];
    let lines = [folder.join("eve.json"), folder.join("a.json"), folder.join("a.csv")];
    for path in lines.iter().chain(&conns) {
        wait_until("records can be read", || fs::read_to_string(path).is_ok_and(|text| text.lines().count() > 1));
    }
    assert!(child.try_wait().unwrap().is_none(), "the pipe is open");
    child.kill().unwrap();
    let _ = child.wait_in_time("the command");
    for path in shown(&folder) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with('\n'), "{}", path.display());
        let is_of_lines = path.extension().is_some_and(|end| ["json", "csv", "log"].contains(&end.to_str().unwrap()));
        assert!(is_of_lines, "{}", path.display());
    }
    drop(input);
}

/// A run that fails, at once or on the way, destroys nothing; one that is whole replaces what was there.
#[test]
fn what_an_earlier_run_wrote_stays_until_this_one_is_whole() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 2000);
    let folder = bench.path("out");
    fs::create_dir(&folder).unwrap();
    let eve = format!("eve:{}", folder.join("eve.json").display());
    // One worker writes in one order.
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    ok(&["flows", "-j", "1", "--to", &eve, &capture]);
    let earlier = read("eve.json");
    for words in [["flows", "--to", &eve, "nowhere.pcap"], ["flows", "--to", &eve, "/"]] {
        assert!(!run(&words).status.success());
        assert_eq!((visible(&folder), read("eve.json") == earlier), (vec!["eve.json".into()], true));
    }
    // Another output cannot be written: this one is whole all the same.
    let failed = run(&["flows", "-j", "1", "--to", &eve, "--to", "csv:/dev/full", &capture]);
    assert_eq!(failed.status.code(), Some(4));
    assert_eq!((visible(&folder), read("eve.json") == earlier), (vec!["eve.json".into()], true));
    // It cannot be written itself: it has a part of the records.
    let line = format!("ulimit -f 1201; exec {} flows -j 1 --to {eve} {capture}", env!("CARGO_BIN_EXE_tidewire"));
    let failed = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(failed.status.code() == Some(4) && said.contains("that of an earlier run is eve."), "{said}");
    let aside = visible(&folder).into_iter().find(|name| name != "eve.json").unwrap();
    assert!(read(&aside) == earlier && read("eve.json").ends_with('\n'));
    ok(&["flows", "-j", "1", "--to", &eve, &capture]);
    assert_eq!((visible(&folder), read("eve.json") == earlier), (vec![aside, "eve.json".into()], true));
}

#[test]
fn a_full_disk_leaves_no_line_in_part() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 2000);
    let folder = bench.path("out");
    fs::create_dir(&folder).unwrap();
    let (tidewire, place) = (env!("CARGO_BIN_EXE_tidewire"), folder.join("a.json"));
    // Blocks of 512 bytes, or of 1024: both end in the middle of a line.
    let line = format!("ulimit -f 401; exec {tidewire} flows --to json:{} {capture}", place.display());
    let failed = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
    assert_eq!(failed.status.code(), Some(4));
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.len() > 150_000 && text.ends_with("}\n"), "{} {}", file.display(), text.len());
}

#[test]
fn a_full_disk_leaves_whole_messages_of_ipfix() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 2000);
    let folder = bench.path("out");
    fs::create_dir(&folder).unwrap();
    let (tidewire, place) = (env!("CARGO_BIN_EXE_tidewire"), folder.join("a.ipfix"));
    let line = format!("ulimit -f 100; exec {tidewire} flows --to ipfix:{} {capture}", place.display());
    let failed = Command::new("sh").args(["-c", &line]).run_in_time().unwrap();
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let (bytes, mut messages, mut at) = (fs::read(&file).unwrap(), 0, 0);
    while at < bytes.len() {
        assert_eq!(bytes[at..at + 2], [0, 10], "{at}");
        at += usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
        messages += 1;
    }
    assert!(messages > 1 && at == bytes.len(), "{messages} messages, {at} of {} bytes", bytes.len());
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("{messages} whole messages in ")), "{said}");
}

/// A failed output is named with what is left of it.
#[test]
fn a_full_disk_is_said_with_what_each_file_has() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let mut talk = |ports: std::ops::Range<u16>| {
        ports.for_each(|port| conversation(&mut pcap, port, &[(false, b"hello")]));
        pcap.packets += 60_000;
    };
    talk(20_000..20_010);
    talk(21_000..23_000);
    let capture = bench.file("many.pcap", pcap.bytes());
    let folder = bench.path("out");
    let said_of = |blocks: u32, to: &str, rest: &str| {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let place = folder.join("a");
        let words = format!("flows -j 1 --to {to}:{} {rest} {capture}", place.display());
        let line = format!("ulimit -f {blocks}; exec {} {words}", env!("CARGO_BIN_EXE_tidewire"));
        let failed = Command::new("bash").args(["-c", &line]).run_in_time().unwrap();
        let said = String::from_utf8(failed.stderr).unwrap().replace(',', "");
        assert_eq!(failed.status.code(), Some(4), "{said}");
        said
    };
    // Of several files each has its own number.
    let said = said_of(100, "json", "--rotate 1G,30s");
    let files: Vec<(String, usize)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap().lines().count()))
        .collect();
    let is_said = |(path, records): &(String, usize)| {
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap();
        said.contains(&format!("; {records} whole records in {name} beside it; those before it have 10 whole records"))
    };
    assert!(files.iter().any(is_said), "{said} {files:?}");
    if cfg!(feature = "sqlite") {
        let said = said_of(300, "sqlite", "");
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let name = names.iter().filter_map(|name| name.to_str()).find(|name| name.ends_with(".part")).unwrap();
        let rows =
            said.split("the ").find_map(|rest| rest.split_once(" rows that were committed are in ")).expect(&said);
        let rows: u32 = rows.0.parse().unwrap();
        assert!(rows > 0 && rows.is_multiple_of(512) && said.contains(name), "{said}");
    }
}
