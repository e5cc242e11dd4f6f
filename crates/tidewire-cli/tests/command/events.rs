//! `tidewire events`: what it shows of stores, and what it says where it cannot.

use std::{
    collections::BTreeSet,
    fs,
    net::IpAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use serde_json::{Value, json};
use tidewire_delivery::lines::{put_key, put_row};
use tidewire_event_store::{Batch, Recipients, Row as StoredRow, Sealer, Store};
use tidewire_events::{Event, FlowKey, Folder, FolderSettings, Output as Folded, Severity, Value as Field};
use tidewire_testing::{Ends as _, InTime as _, Lines, schemas, skip};

use crate::common::command;

/// 2026-11-23 06:00:00 UTC.
const BEGIN: u64 = 1_795_413_600_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Probe `number` of a scan, a second after the one before.
fn probe(number: u64, client: &str) -> Event {
    let key = FlowKey {
        protocol: 6,
        client_addr: address(client),
        client_port: 40_000 + number as u16,
        server_addr: address("198.51.100.2"),
        server_port: 1 + number as u16,
    };
    let event = Event {
        time_ns: BEGIN + number * SECOND,
        analyzer: "scan".into(),
        kind: "scan.probe".into(),
        severity: Severity::Medium,
        key: Some(key),
        stream: Some(number),
        ..Event::default()
    };
    event.with("number", Field::U64(number))
}

/// The records of these events, each fold closed.
fn folded(events: &[Event]) -> Vec<tidewire_events::Record> {
    let (mut folder, mut out) = (Folder::new(FolderSettings::default(), [1, 2], 0, 0), Folded::default());
    for event in events {
        folder.push_event(event.time_ns, event, &mut out).expect("a sound event");
    }
    folder.close_all(&mut out).expect("a sound fold");
    out.records.sort_by_key(tidewire_events::Record::first);
    out.records
}

fn store(path: &Path, batch: &Batch) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let (mut store, _) = Store::open(path).expect("a store");
    store.append(batch).expect("room");
    path.to_owned()
}

fn run(words: &[&str], path: &Path) -> Output {
    let words = [&["events", "--store", path.to_str().expect("UTF-8"), "--time", "utc"], words].concat();
    command(&words).env("COLUMNS", "80").run_in_time().expect("tidewire")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn lines(output: &Output) -> Vec<Value> {
    text(output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_scan_is_a_row_that_says_what_varied_and_every_probe_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let probes: Vec<Event> = (0..50).map(|number| probe(number, "192.0.2.1")).collect();
    let path = store(&folder.path().join("events.db"), &Batch { records: folded(&probes), ..Batch::default() });
    let table = text(&run(&[], &path));
    let is_command = |line: &str| line.starts_with("    tidewire recall DIR ");
    assert!(table.lines().all(|line| is_command(line) || line.chars().count() <= 80), "{table}");
    for words in ["scan.probe", "192.0.2.1:*", "198.51.100.2:*", "medium", "server_port: ", "50 events in "] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let rows = lines(&run(&["--json"], &path));
    let count: u64 = rows.iter().map(|row| row["count"].as_u64().expect("a number")).sum();
    assert_eq!((count, rows[0]["event"]["fields"]["number"].as_u64()), (50, Some(0)));
    assert!(rows.len() < 15, "it is folded: {} rows", rows.len());
    let originals = lines(&run(&["--expand", "--json"], &path));
    let expected: Vec<Value> =
        probes.iter().map(|event| serde_json::from_str(&event.to_json()).expect("JSON")).collect();
    assert_eq!(originals, expected, "all of them, in order");
    // Filters see the key of each.
    let some = lines(&run(&["--expand", "--json", "tcp", "and", "dst", "portrange", "11-20"], &path));
    assert_eq!(some.len(), 10);
    assert!(lines(&run(&["--json", "udp"], &path)).is_empty());
    // Times and severities.
    let since = "2026-11-23T06:00:40Z";
    assert_eq!(lines(&run(&["--expand", "--json", "--since", since], &path)).len(), 10);
    assert_eq!(lines(&run(&["--expand", "--json", "--until", since, "--limit", "7"], &path)).len(), 7);
    // A time with fewer digits ends with all times that begin with them.
    for (until, events) in [("2026-11-23T06:00:05Z", 6), ("2026-11-23T06:00Z", 50), ("1795413605000000000", 6)] {
        assert_eq!(lines(&run(&["--expand", "--json", "--until", until], &path)).len(), events, "{until}");
    }
    assert!(lines(&run(&["--json", "--severity", "high"], &path)).is_empty());
    assert!(!lines(&run(&["--json", "--kind", "other,scan.*", "--analyzer", "scan"], &path)).is_empty());
    let csv = text(&run(&["--csv", "--limit", "1"], &path));
    let header = csv.lines().next().expect("a header");
    assert!(header.starts_with("start_time,end_time,sensor,severity,analyzer,kind,count,proto,"), "{csv}");
    assert_eq!(csv.lines().count(), 2);
}

/// Not ended by SIGXFSZ without a word.
#[test]
fn writes_beyond_the_limit_of_file_sizes_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let events: Vec<Event> =
        (0..600).map(|number| Event { kind: format!("scan.{number}"), ..probe(number, "192.0.2.1") }).collect();
    let path = store(&folder.path().join("events.db"), &Batch { records: folded(&events), ..Batch::default() });
    let out = folder.path().join("out");
    let to = format!("json:{}", out.display());
    for (to, stdout) in
        [(&["--to", &to][..], Stdio::null()), (&["--json"], fs::File::create(&out).expect("a file").into())]
    {
        let mut command = std::process::Command::new("prlimit");
        command.args(["--fsize=100000", env!("CARGO_BIN_EXE_tidewire"), "events", "--store"]).arg(&path).args(to);
        let output = command.stdout(stdout).stderr(Stdio::piped()).spawn().expect("prlimit").output_in_time("events");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(4) && said.contains("File too large"),
            "{to:?}: {}: {said}",
            output.status
        );
    }
}

#[test]
fn rows_are_written_in_other_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let probes: Vec<Event> = (0..50).map(|number| probe(number, "192.0.2.1")).collect();
    let path = store(&folder.path().join("events.db"), &Batch { records: folded(&probes), ..Batch::default() });
    let rows = lines(&run(&["--json"], &path));
    let place = |format: &str, name: &str| format!("{format}:{}", folder.path().join(name).display());
    let [database, other] = [place("sqlite", "out.db"), place("json", "out.json")];
    let store = path.to_str().expect("UTF-8");
    let words = ["events", "--store", store, "--to", &database, "--to", &other];
    text(&command(&words).run_in_time().expect("tidewire"));
    let written = fs::read_to_string(folder.path().join("out.json")).expect("lines");
    let written: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(written, rows);
    let refused = command(&["events", "--store", store, "--to", "eve:x"]).run_in_time().expect("tidewire");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("eve has no place for events"));
    if let Some(reason) = tidewire_testing::missing(&["python3"]) {
        return println!("skipped: {reason}");
    }
    let program = "import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(*db.execute('select count(*), sum(count), min(client_addr), min(encrypted) from events').fetchone())";
    let mut python = std::process::Command::new("python3");
    let output = python.args(["-c", program]).arg(folder.path().join("out.db")).run_in_time().expect("Python");
    assert_eq!(text(&output).trim(), format!("{} 50 192.0.2.1 0", rows.len()));
}

#[test]
fn whatever_is_in_events_fits_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = "x".repeat(64);
    let probes: Vec<Event> = (0..3)
        .map(|number| {
            let one = probe(number, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1");
            let key = one.key.map(|key| FlowKey { server_addr: address("2001:db8:aaaa:bbbb:cccc:dddd:eeee:2"), ..key });
            let kind = format!("{}{number}", &long[1..]);
            let time_ns = if number == 2 { u64::MAX } else { one.time_ns };
            let one = Event { key, kind, time_ns, analyzer: long.clone(), excerpt: Some(vec![0xff; 4096]), ..one };
            let one = one
                .with(&"n".repeat(64), Field::Text("y".repeat(4096)))
                .with("user_agent", Field::Text("z".repeat(99)));
            one.with("bytes", Field::Bytes(vec![1; 4096])).with("words", Field::Text("w ".repeat(300)))
        })
        .collect();
    let path = store(&folder.path().join("events.db"), &Batch { records: folded(&probes), ..Batch::default() });
    let shown = |words: &[&str]| {
        let mut output = command(&[&["events", "--store", path.to_str().expect("UTF-8")], words].concat());
        text(&output.env("COLUMNS", "80").run_in_time().expect("tidewire"))
    };
    for words in [&[][..], &["--expand"], &["--time", "utc"]] {
        let lines = shown(words);
        // Commands are whole: they are pasted.
        let is_command = |line: &str| line.starts_with("    tidewire recall DIR --community-id ");
        assert!(lines.lines().all(|line| is_command(line) || line.chars().count() <= 80), "{words:?}: {lines}");
    }
    // Columns that are named are whole.
    let named = shown(&["--columns", "time,client,server,for,fold"]);
    let row = named.lines().nth(1).expect("a row");
    assert!(row.contains("[2001:db8:aaaa:bbbb:cccc:dddd:eeee:1]:40000  [2001:db8:") && !row.contains('…'), "{named}");
}

/// The files of a destination that is a folder, plain and sealed.
#[test]
fn files_of_a_folder_are_read_as_stores_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let probes: Vec<Event> = (0..50).map(|number| probe(number, "192.0.2.1")).collect();
    let (identity, recipient) = tidewire_delivery::keys::identity::make();
    let mut sealer = Sealer::new(&Recipients::parse(&[recipient]).expect("a recipient")).expect("a key");
    let (key, wrapped) = sealer.key();
    let mut lines_of = Vec::new();
    let (plain, sealed) = probes.split_at(20);
    for (id, record) in (1..).zip(&folded(plain)) {
        put_row(&mut lines_of, &StoredRow::plain(id, record).expect("a row"), true).expect("a record");
    }
    put_key(&mut lines_of, &key, &wrapped);
    for record in &folded(sealed) {
        put_row(&mut lines_of, &sealer.seal(record).expect("sealed"), true).expect("a record");
    }
    let files = folder.path().join("spool");
    fs::create_dir(&files).expect("a folder");
    fs::write(files.join("near-0123-1-9.jsonl"), &lines_of).expect("a file");
    // A file that is not whole yet.
    fs::write(files.join(".near-0123.partial"), "{").expect("a file");
    let file = folder.path().join("me.identity");
    fs::write(&file, identity.as_bytes()).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let with = ["--expand", "--json", "--identity", file.to_str().expect("UTF-8")];
    let expected: Vec<Value> =
        probes.iter().map(|event| serde_json::from_str(&event.to_json()).expect("JSON")).collect();
    // Sealed records know the numbers of their events, and those of plain ones are given here.
    let mut found = lines(&run(&with, &files));
    found.sort_by_key(|event| event["time_ns"].as_u64());
    assert!(found == expected, "all of them: {}", found.len());
    let found = lines(&run(&["--expand", "--json"], &files.join("near-0123-1-9.jsonl")));
    assert!(found == expected[..20], "in order: {}", found.len());
    assert!(text(&run(&[], &files)).contains("encrypted: --identity FILE"));
    // Records with their first event only, and invalid lines.
    let mut lines_of = b"rubbish\n{\"record\":1}\n".to_vec();
    let records = folded(plain);
    let count: u64 = records.iter().map(|record| record.events().expect("sound").len() as u64).sum();
    for (id, record) in (1..).zip(&records) {
        put_row(&mut lines_of, &StoredRow::plain(id, record).expect("a row"), false).expect("a record");
    }
    fs::write(files.join("other-1.jsonl"), &lines_of).expect("a file");
    let output = run(&["--expand", "--json"], &files.join("other-1.jsonl"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), records.len());
    for words in [
        "line 1 is left out: ",
        "line 2 is left out: neither",
        &format!("{} events are not in", count - records.len() as u64),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    for (words, code, why) in
        [(&["--follow"][..], 2, "files are not followed"), (&["--store", "/nowhere"], 2, "either stores")]
    {
        let output = run(words, &files);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn rows_are_valid_by_their_schema_and_have_no_member_that_it_does_not_name() {
    if let Some(why) = schemas::missing_validator() {
        return skip(why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (place, name) in ["east", "west"].into_iter().enumerate() {
        // Of a scan that has a beginning, the last one has totals.
        let probe = |number| probe(number, "192.0.2.1").with("first", Field::Time(BEGIN));
        let probes: Vec<Event> = (0..9).map(probe).collect();
        let (_, recipient) = tidewire_delivery::keys::identity::make();
        let mut sealer = Sealer::new(&Recipients::parse(&[recipient]).expect("a recipient")).expect("a key");
        let (mut batch, records) = (Batch::default(), folded(&probes));
        if place == 0 {
            batch.records = records;
        } else {
            batch.keys = vec![sealer.key()];
            batch.rows = records.iter().map(|record| sealer.seal(record).expect("sealed")).collect();
        }
        store(&folder.path().join(name).join("events.db"), &batch);
    }
    let output = run(&["--json"], folder.path());
    let text = text(&output);
    let found: Vec<(&str, String)> = text.lines().map(|line| ("fold.json", line.to_owned())).collect();
    let of = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    assert!(found.len() > 1);
    for (answer, (_, line)) in schemas::validate(&of, &found).iter().zip(&found) {
        assert_eq!(answer, "valid", "{line}");
    }
    let schema: Value = serde_json::from_str(&fs::read_to_string(of.join("fold.json")).expect("a file")).expect("JSON");
    let named: BTreeSet<&String> = schema["properties"].as_object().expect("members").keys().collect();
    let rows = lines(&output);
    let written: BTreeSet<&String> = rows.iter().flat_map(|row| row.as_object().expect("an object").keys()).collect();
    assert_eq!(written, named);
}

#[test]
fn stores_of_several_sensors_are_merged_by_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for (place, name) in ["east", "west"].into_iter().enumerate() {
        let numbers = (0..20).filter(|number| number % 2 == place as u64);
        let probes: Vec<Event> =
            numbers.map(|number| probe(number, "2001:db8::1").with("of", Field::Text(name.into()))).collect();
        // The key of probes has one family.
        let probes: Vec<Event> = probes.into_iter().map(|event| Event { key: None, ..event }).collect();
        store(&folder.path().join(name).join("events.db"), &Batch { records: folded(&probes), ..Batch::default() });
    }
    let originals = lines(&run(&["--expand", "--json"], folder.path()));
    let numbers: Vec<u64> =
        originals.iter().map(|event| event["fields"]["number"].as_u64().expect("a number")).collect();
    assert!(numbers.iter().copied().eq(0..20), "{numbers:?}");
    assert!(originals.iter().all(|event| event["sensor"] == event["fields"]["of"]), "{originals:?}");
    let table = text(&run(&[], folder.path()));
    assert!(table.contains("SENSOR") && table.contains("east") && table.contains("west"), "{table}");
    let output = run(&[], &folder.path().join("nowhere"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("there is no store of events at"), "{said}");
    assert!(said.contains("--directory or --store"), "{said}");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    let output = run(&[], &empty);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no events.db in it, nor in a folder of it"));
}

#[test]
fn encrypted_rows_show_what_is_in_the_clear_and_an_identity_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let (identity, recipient) = tidewire_delivery::keys::identity::make();
    let mut sealer = Sealer::new(&Recipients::parse(&[recipient]).expect("a recipient")).expect("a key");
    let records = folded(&[probe(0, "192.0.2.1"), probe(1, "192.0.2.1")]);
    let rows = records.iter().map(|record| sealer.seal(record).expect("sealed")).collect();
    let path = store(&folder.path().join("events.db"), &Batch { rows, keys: vec![sealer.key()], ..Batch::default() });
    let table = text(&run(&[], &path));
    assert!(
        table.contains("scan.probe") && table.contains("encrypted") && table.contains("--identity FILE"),
        "{table}"
    );
    assert!(!table.contains("192.0.2.1"), "{table}");
    assert_eq!(lines(&run(&["--json"], &path))[0]["encrypted"], json!(true));
    assert!(text(&run(&["--expand"], &path)).contains("2 events are encrypted: --identity FILE"));
    // An event that cannot be compared with a filter is not one that does not match.
    let output = run(&["host", "192.0.2.1"], &path);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("encrypted and") && said.contains("not compared with the filter"), "{said}");
    let file = folder.path().join("me.identity");
    fs::write(&file, identity).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let shown = command(&["keys", "show", file.to_str().expect("UTF-8")]).run_in_time().expect("tidewire");
    let said = String::from_utf8_lossy(&shown.stderr);
    assert!(shown.status.code() == Some(3) && said.contains("no certificate in it"), "{shown:?}");
    let words = ["--expand", "--json", "--identity", file.to_str().expect("UTF-8")];
    let events = lines(&run(&words, &path));
    assert_eq!((events.len(), &events[1]["client"]["addr"]), (2, &json!("192.0.2.1")));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    let output = run(&words, &path);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("--identity: "), "others may read it: {said}");
    // Those of another recipient.
    let (other, _) = tidewire_delivery::keys::identity::make();
    fs::write(&file, other).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    assert!(lines(&run(&words, &path)).is_empty());
}

#[test]
fn texts_of_events_do_not_control_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let evil = "\u{1b}[2J\r\nforged\u{202e}\u{7}";
    let event = Event { excerpt: Some(b"\x1b[31m\n\xff".to_vec()), ..probe(0, "192.0.2.1") };
    let event = event.with("agent", Field::Text(evil.into()));
    let path = store(&folder.path().join("events.db"), &Batch { records: folded(&[event]), ..Batch::default() });
    for words in [
        &[][..],
        &["--json"],
        &["--csv"],
        &["--expand"],
        &["--expand", "--json"],
        &["--follow", "--since", "0h", "--limit", "1"],
    ] {
        let words = if words.contains(&"--follow") {
            &["--follow", "--since", "1000000000", "--limit", "1"][..]
        } else {
            words
        };
        let shown = text(&run(words, &path));
        let is_bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!shown.contains(is_bad), "{words:?}: {shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("forged")), "{words:?}: {shown}");
    }
}

#[test]
fn new_events_are_followed_and_nothing_is_a_table_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.db");
    let (mut writer, _) = Store::open(&path).expect("a store");
    let shown = text(&run(&[], &path));
    assert!(shown.starts_with("no events in "), "{shown}");
    let words = ["events", "--store", path.to_str().expect("UTF-8"), "--follow", "--json", "--limit", "2"];
    let mut child = command(&words).stdout(Stdio::piped()).spawn().expect("tidewire");
    let followed = Lines::new(child.stdout.take().expect("a pipe"));
    // Whether it reads already is not to be seen: one that is stored before is not new.
    let mut number = 0;
    tidewire_testing::wait_until("two events", || {
        writer.append(&Batch { records: folded(&[probe(number, "192.0.2.1")]), ..Batch::default() }).expect("room");
        number += 1;
        child.try_wait().expect("a child").is_some()
    });
    assert!(child.wait_in_time("tidewire events").success());
    let rows: Vec<Value> = followed.rest().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((rows.len(), &rows[0]["kind"]), (2, &json!("scan.probe")));
}

#[test]
fn wrong_words_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = store(&folder.path().join("events.db"), &Batch::default());
    for (words, said) in [
        (&["--since", "yesterday"][..], "how long ago (1h, 30m)"),
        (&["tcp", "prt", "80"], "the filter does not compile"),
        (&["--severity", "bad"], "info"),
        (&["--kind", "*.scan"], "invalid --kind '*.scan': expected a kind, or the beginning of kinds and a *"),
        (&["--expand", "--csv"], "use --expand with --json"),
        (&["--columns", "x"], "unknown column 'x'"),
        (&["--identity", "/nowhere"], "--identity: "),
    ] {
        let output = run(words, &path);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(said), "{words:?}: {errors}");
    }
}

/// One bad record, of a disk or of a hostile sensor, does not keep the others from being read.
#[test]
fn damaged_records_are_named_and_the_others_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let records: Vec<_> = ["first", "needle", "last"]
        .iter()
        .flat_map(|text| folded(&[probe(0, "192.0.2.1").with("text", Field::Text((*text).into()))]))
        .collect();
    let path = store(&folder.path().join("events.db"), &Batch { records, ..Batch::default() });
    let mut bytes = fs::read(&path).expect("a file");
    let at = bytes.windows(6).position(|window| window == b"needle").expect("the text of the second record");
    bytes[at] = b'N';
    fs::write(&path, bytes).expect("a file");
    for words in [&["--expand", "--json"][..], &["--json"]] {
        let output = run(words, &path);
        let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(shown.contains("first") && shown.contains("last") && !shown.contains("eedle"), "{shown}");
        assert!(said.contains("record 2 is damaged and left out"), "{said}");
    }
}

/// The command that a row prints beneath it, with an archive in the place of DIR.
fn printed_recall(table: &str, archive: &str) -> Vec<String> {
    let (_, beneath) = table.split_once("    its packets:\n    tidewire ").expect("a command on a line of its own");
    let (command, _) = beneath.split_once('\n').expect("a line");
    command.replace("DIR", archive).split(' ').map(str::to_owned).collect()
}

#[test]
fn an_event_prints_the_command_that_finds_its_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");
    let archive = folder.path().join("archive");
    let archive = archive.to_str().expect("UTF-8");
    assert!(command(&["record", "-r", demo, "-o", archive]).run_in_time().expect("tidewire").status.success());
    let flows = command(&["flows", demo, "--json", "-F", "tcp port 80 and ip"]).run_in_time().expect("tidewire");
    let flow: Value = serde_json::from_slice(flows.stdout.split(|&byte| byte == b'\n').next().unwrap()).expect("JSON");
    let end = |name: &str| (address(flow[name]["addr"].as_str().unwrap()), flow[name]["port"].as_u64().unwrap() as u16);
    let ((client_addr, client_port), (server_addr, server_port)) = (end("client"), end("server"));
    let (start_ns, end_ns) = (flow["start_ns"].as_u64().unwrap(), flow["end_ns"].as_u64().unwrap());
    let key = FlowKey { protocol: 6, client_addr, client_port, server_addr, server_port };
    // The id is that of the sensor, which the archive does not know.
    let event = Event {
        time_ns: end_ns,
        analyzer: "match".into(),
        kind: "match.web".into(),
        key: Some(key),
        stream: Some(5757),
        ..Event::default()
    };
    let event = event.with("first", Field::Time(start_ns));
    let path = store(&folder.path().join("events.db"), &Batch { records: folded(&[event]), ..Batch::default() });
    let originals = lines(&run(&["--expand", "--json"], &path));
    assert_eq!(originals[0]["community_id"], flow["community_id"]);
    let rows = lines(&run(&["--json"], &path));
    assert_eq!(rows[0]["community_id"], flow["community_id"]);
    let values = text(&run(&["--csv"], &path));
    assert!(values.lines().next().unwrap().ends_with(",community_id"), "{values}");
    assert!(values.lines().nth(1).unwrap().ends_with(flow["community_id"].as_str().unwrap()), "{values}");
    let printed = text(&run(&[], &path));
    assert!(printed.lines().any(|line| line.len() > 80 && line.contains(" --community-id ")), "{printed}");
    let words = printed_recall(&printed, archive);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--flows", "--json"]).collect();
    let found = lines(&command(&words).run_in_time().expect("tidewire"));
    assert_eq!((found[0]["community_id"].clone(), found.len()), (flow["community_id"].clone(), 2), "{words:?}");
    // follow finds it by the same name.
    for capture in [archive, demo] {
        let id = flow["community_id"].as_str().unwrap();
        let at = format!("{}.{:09}", start_ns / SECOND, start_ns % SECOND);
        let followed = |words: &[&str]| {
            let output = command(&[&["follow", capture], words].concat()).run_in_time().expect("tidewire");
            (String::from_utf8_lossy(&output.stdout).contains("GET / HTTP"), output.status.code())
        };
        assert_eq!(followed(&[id]), (true, Some(0)), "{capture}");
        assert_eq!(followed(&["--community-id", id, "--at", &at]), (true, Some(0)), "{capture}");
        assert_eq!(followed(&["--community-id", id, "--at", "1000000000"]), (false, Some(1)), "{capture}");
        // A time with fewer digits is all that begins with them: that of a table, of JSON, and whole seconds.
        let second =
            jiff::Timestamp::from_second((start_ns / SECOND).cast_signed()).unwrap().strftime("%Y-%m-%dT%H:%M:%S");
        let brief = format!("{second}.{:03}Z", start_ns % SECOND / 1_000_000);
        for at in [brief, format!("{second}Z"), start_ns.to_string(), (start_ns / SECOND).to_string()] {
            assert_eq!(followed(&[id, "--at", &at]), (true, Some(0)), "{capture} {at}");
        }
    }
}

/// Events of one scan, in whatever folds, are one row with the totals.
#[test]
fn a_scan_is_one_row_with_its_totals() {
    let folder = tempfile::tempdir().expect("a folder");
    let step = |phase: &str, ports: u64, at: u64| {
        let key = FlowKey {
            protocol: 6,
            client_addr: address("192.0.2.66"),
            client_port: 0,
            server_addr: address("198.51.100.7"),
            server_port: 0,
        };
        let (time_ns, kind) = (BEGIN + at * SECOND, "scan.vertical".to_owned());
        Event { time_ns, analyzer: "scan".into(), kind, severity: Severity::Medium, key: Some(key), ..Event::default() }
            .with("phase", Field::Text(phase.into()))
            .with("attempts", Field::U64(ports))
            .with("first", Field::Time(BEGIN))
            .with("port_range", Field::Text(format!("1-{ports}")))
            .with("ports", Field::U64(ports))
    };
    // Farther apart than a fold lasts.
    let events = [step("begun", 15, 1), step("grown", 10_000, 200), step("over", 20_000, 400)];
    let records = folded(&events);
    assert!(records.len() > 1, "several folds");
    let path = store(&folder.path().join("events.db"), &Batch { records, ..Batch::default() });
    let table = text(&run(&[], &path));
    assert_eq!(table.matches("scan.vertical").count(), 1, "{table}");
    for words in ["ports=20000", "port_range=1-20000", "phase=over", "198.51.100.7"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let rows = lines(&run(&["--json"], &path));
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["event"]["fields"]["ports"], &rows[0]["totals"]["fields"]["ports"]),
        (&json!(15), &json!(20_000))
    );
    assert!(rows[0].get("community_id").is_none(), "it is of many flows: {}", rows[0]);
    let words = printed_recall(&table, "x").join(" ");
    let expected =
        "recall x --from 2026-11-23T06:00:00Z --to 2026-11-23T06:06:41Z host 192.0.2.66 and host 198.51.100.7";
    assert_eq!(words, expected);
}
