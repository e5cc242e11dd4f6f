//! `tidewire attach`: what it prints, how it ends, and what it says where it cannot.

#[path = "../../../tidewire-queue-c/tests/common/mod.rs"]
pub mod sensor;

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Output, Stdio},
};

use serde_json::{Value, json};
use tidewire_queue::{Attach, Geometry, READERS_MAX, Reader};
use tidewire_testing::{Ends as _, Lines, Signal, signal, wait_until};

use self::sensor::{C2S, Sensor, Stream, conversation};
use crate::common::{command, lines, names};

fn geometry() -> Geometry {
    Geometry::new(1 << 12, 1 << 22)
}

/// `tidewire attach streams`, attached to a sensor in a folder.
fn attach(folder: &Path, options: &[&str]) -> Child {
    let words = [&["attach", "streams", "--directory", folder.to_str().unwrap()], options].concat();
    command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output for these streams.
fn printed(options: &[&str], publish: impl FnOnce(&mut Sensor)) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 0xabc);
    let child = attach(folder.path(), options);
    sensor.wait_for_readers(1);
    publish(&mut sensor);
    sensor.finish();
    child.output_in_time("attach")
}

#[test]
fn each_record_is_one_object() {
    let output = printed(&["--json"], |sensor| conversation(sensor, 1));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(said(&output), "tidewire: streams: 11 records read, none lost; the queue has ended\n");
    let records = lines(&output.stdout);
    let kinds: Vec<&str> = records.iter().map(|record| record["kind"].as_str().unwrap()).collect();
    let expected = "attached open data data data data gap conflict data data close packet ended";
    assert_eq!(kinds.join(" "), expected);
    assert_eq!(records[0], json!({"kind": "attached", "queue": "streams", "epoch": "0000000000000abc", "sequence": 0}));
    let open = "client client_known community_id kind next_offset ordinal priority proto repeated sequence server start_ns \
                stream timestamp_ns tunnel vlan";
    assert_eq!(names(&records[1]).join(" "), open);
    assert_eq!(records[1]["client"], json!({"addr": "192.0.2.1", "port": 40_001}));
    assert_eq!(
        records[2],
        json!({"kind": "data", "sequence": 1, "stream": 1, "timestamp_ns": 2000, "direction": "c2s", "offset": 0,
               "bytes": 10, "text": "GET /index"})
    );
    assert_eq!((&records[5]["data"], records[5].get("text")), (&json!("ff0007"), None));
    let gap = ["direction", "offset", "bytes", "cause"].map(|name| records[6][name].clone());
    assert_eq!(gap, [json!("s2c"), json!(22), json!(10), json!("not_captured")]);
    // Bytes that were published before are left out.
    assert_eq!((&records[8]["text"], &records[8]["offset"]), (&json!("rest"), &json!(38)));
    assert_eq!(records[9]["datagram"], json!(true));
    let close = &records[10];
    assert_eq!((&close["state"], &close["end_reason"]), (&json!("closed"), &json!("fin")));
    assert_eq!((&close["anomalies"], &close["c2s"]["delivered_bytes"]), (&json!(["overlap_conflict"]), &json!(42)));
    assert_eq!((&records[11]["packet"], &records[11]["bytes"]), (&json!(1), &json!(60)));
    assert_eq!(records[11]["transport_at"], Value::Null);
    assert_eq!(records[12], json!({"kind": "ended", "reason": "finished"}));
}

/// docs/output.md explains every member that is printed.
#[test]
fn members_are_documented() {
    fn names(value: &Value, into: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            into.push(name.clone());
            names(value, into);
        }
    }
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/output.md")).unwrap();
    let mut all = Vec::new();
    let records = lines(&printed(&["--json"], |sensor| conversation(sensor, 1)).stdout);
    records.iter().for_each(|record| names(record, &mut all));
    assert!(all.len() > 100, "{all:?}");
    let is_documented = |name: &String| text.contains(&format!("`{name}`")) || text.contains(&format!("\"{name}\""));
    let missing: Vec<&String> = all.iter().filter(|name| !is_documented(name)).collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
}

#[test]
fn records_are_chosen() {
    let of = |options: &[&str]| {
        let publish = |sensor: &mut Sensor| (1..=3).for_each(|id| conversation(sensor, id));
        let output = printed(options, publish);
        assert!(output.status.success(), "{}", said(&output));
        let records = lines(&output.stdout);
        let is_record = |record: &&Value| !matches!(record["kind"].as_str(), Some("attached" | "ended"));
        records.iter().filter(is_record).map(|record| record["sequence"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of(&["--json", "--kind", "open,close"]), [0, 9, 11, 20, 22, 31]);
    assert_eq!(of(&["--json", "--stream", "2", "--direction", "s2c"]), [11, 14, 15, 16, 17, 20]);
    assert_eq!(of(&["--json", "--limit", "4", "--quiet"]), [0, 1, 2, 3]);
}

/// An analyzer that a sensor starts finds its queue, its name and its group in the environment.
#[test]
fn the_environment_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 1);
    let socket = sensor.socket.clone();
    let start = |name: &str, group: &str| {
        let variables = [("TIDEWIRE_QUEUE", "streams"), ("TIDEWIRE_NAME", name), ("TIDEWIRE_GROUP", group)];
        let mut child = command(&["attach", "--json"]);
        let child = child.envs(variables).env("TIDEWIRE_SOCKET", &socket);
        child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children = [start("one", "both"), start("two", "both"), start("all", "")];
    sensor.wait_for_readers(3);
    let mut known: Vec<(String, Option<String>)> = sensor.names();
    known.sort();
    let both = Some("both".to_owned());
    assert_eq!(known, [("all".into(), None), ("one".into(), both.clone()), ("two".into(), both)]);
    (1..=10).for_each(|id| conversation(&mut sensor, id));
    sensor.finish();
    let opens = children.map(|child| {
        let output = child.output_in_time("attach");
        lines(&output.stdout).iter().filter(|record| record["kind"] == "open").count()
    });
    assert_eq!((opens[0] + opens[1], opens[2]), (10, 10), "{opens:?}");
}

/// The raw form is a slot of 64 bytes and the payload.
#[test]
fn raw_records_are_as_in_shared_memory() {
    let output = printed(&["--raw"], |sensor| conversation(sensor, 1));
    let mut rest = output.stdout.as_slice();
    let mut sequences = Vec::new();
    while let Some((slot, behind)) = rest.split_first_chunk::<64>() {
        let word = |at: usize| u64::from_ne_bytes(slot[at * 8..][..8].try_into().unwrap());
        sequences.push(word(0));
        let bytes = word(2) as u32 as usize;
        if word(0) == 1 {
            assert_eq!(&behind[..bytes], b"GET /index");
        }
        rest = &behind[bytes..];
    }
    assert!(rest.is_empty());
    assert_eq!(sequences, (0..11).collect::<Vec<_>>());
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let complain = |words: &[&str]| {
        let output = attach(folder.path(), words).output_in_time("attach");
        (said(&output), output.status.code().unwrap())
    };
    let (message, code) = complain(&[]);
    assert!(code == 2 && message.contains("--json"), "{message}");
    let (message, code) = complain(&["--json"]);
    assert!(code == 3 && message.contains("no sensor listens here; start `tidewire sensor`"), "{message}");
    let (message, code) = complain(&["--json", "--name", "a b"]);
    assert!(code == 2 && message.contains("invalid --name 'a b'"), "{message}");
    let (message, code) = complain(&["--json", "--raw"]);
    assert!(code == 2 && message.contains("cannot be used with"), "{message}");
    let sensor = Sensor::new(folder.path(), geometry(), 1);
    let other = command(&["attach", "stream", "--json", "--directory", folder.path().to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .output_in_time("attach");
    assert_eq!(said(&other), "tidewire: no queue is called 'stream'; there are: streams\n");
    assert_eq!(other.status.code(), Some(2));
    let request = Attach::new("streams", "x");
    let readers: Vec<Reader> = (0..READERS_MAX).map(|_| Reader::attach(&sensor.socket, &request).unwrap()).collect();
    let (message, code) = complain(&["--json"]);
    assert!(code == 3 && message.contains("the queue has 32 readers"), "{message}");
    drop(readers);
}

/// Another user has no right to the socket.
#[test]
fn a_user_without_rights_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let _sensor = Sensor::new(folder.path(), geometry(), 1);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let words = ["attach", "streams", "--json", "--directory", folder.path().to_str().unwrap()];
    let child = command(&words).uid(65_534).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let Ok(child) = child else { return tidewire_testing::skip("no right to run as another user") };
    let output = child.output_in_time("attach");
    assert!(said(&output).contains("permission denied; the sensor's own user"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_closed_pipe_and_signals_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 1);
    let mut child = attach(folder.path(), &["--json"]);
    sensor.wait_for_readers(1);
    drop(child.stdout.take());
    conversation(&mut sensor, 1);
    let output = child.output_in_time("attach");
    assert_eq!(output.status.code(), Some(0));
    for number in [Signal::INT, Signal::TERM] {
        sensor.wait_for_readers(0);
        let mut child = attach(folder.path(), &["--json"]);
        let lines = Lines::new(child.stdout.take().unwrap());
        lines.until("attached");
        let before = sensor.publisher.counts().records;
        conversation(&mut sensor, 2);
        // Ten and the stream's open, which may be published again.
        let records = sensor.publisher.counts().records - before;
        // A published record is printed at once.
        lines.until("\"packet\"");
        signal(&child, number);
        let output = child.output_in_time("attach");
        assert_eq!(output.status.code(), Some(0));
        assert!(said(&output).contains(&format!("{records} records read, none lost")), "{}", said(&output));
    }
}

/// A reader that is stopped for a while loses records. The reported gaps cover the stream without a hole.
#[test]
fn losses_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), Geometry::new(1 << 10, 1 << 16), 1);
    let mut child = attach(folder.path(), &["--json"]);
    let output = Lines::new(child.stdout.take().unwrap());
    output.until("attached");
    let mut stream = Stream::new(1);
    sensor.say(&mut stream, C2S, b"begin");
    let mut records = vec![lines(output.until("\"begin\"").as_bytes()).remove(0)];
    signal(&child, Signal::STOP);
    (0..3000).for_each(|_| sensor.say(&mut stream, C2S, &[b'x'; 100]));
    signal(&child, Signal::CONT);
    sensor.finish();
    records.extend(lines(output.rest().join("\n").as_bytes()));
    let ended = child.output_in_time("attach");
    let of = |kind: &str| records.iter().filter(|record| record["kind"] == kind).collect::<Vec<_>>();
    let missed = of("missed").len() as u64;
    let lost: u64 = of("lost").iter().map(|record| record["records"].as_u64().unwrap()).sum();
    // Opens are among them: they are repeated for a reader that lost some, and may be lost again.
    // The stream's first open, 0, came before what is kept here.
    let mut sequence = 1;
    for record in records.iter().filter(|record| record.get("sequence").is_some() && record["kind"] != "attached") {
        assert_eq!(record["sequence"], json!(sequence), "{}", said(&ended));
        sequence += record["records"].as_u64().unwrap_or(1);
    }
    assert!(sequence >= 3002, "an open, and 3001 pieces: {}", said(&ended));
    assert!(lost > 1000 && said(&ended).contains(&format!(", {} lost (", lost + missed)), "{}", said(&ended));
    let mut next = 0;
    for record in records.iter().filter(|record| ["data", "missing"].contains(&record["kind"].as_str().unwrap())) {
        assert_eq!(record["offset"], json!(next));
        next += record["bytes"].as_u64().unwrap();
    }
    assert_eq!(next, 5 + 300_000);
}

#[test]
fn a_program_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 1);
    let place = folder.path().join("out");
    // Each takes the queue's beginning and two records.
    let program = format!("head -n 3 >> {}; exit 3", place.display());
    let child = attach(folder.path(), &["--exec", &program]);
    let text = || fs::read_to_string(&place).unwrap_or_default();
    let begun = || text().matches("\"attached\"").count();
    let mut id = 0;
    wait_until("three starts", || {
        id += 1;
        conversation(&mut sensor, id);
        begun() >= 3
    });
    sensor.finish();
    let output = child.output_in_time("attach");
    assert_eq!(output.status.code(), Some(0));
    let message = said(&output);
    assert!(message.contains("the program ended (exit status: 3); it starts again in 0.1 s"), "{message}");
    assert!(
        message.contains("it starts again in 0.2 s") && message.contains("the program was started again"),
        "{message}"
    );
    // Each begins with streams that it knows.
    for part in text().split("{\"kind\":\"attached\"").skip(2) {
        let is_begun = |line: &str| ["\"open\"", "\"packet\"", "\"ended\""].iter().any(|kind| line.contains(kind));
        assert!(part.lines().nth(1).is_none_or(is_begun), "{part}");
    }
}

#[test]
fn a_program_that_runs_once_gives_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 1);
    let child = attach(folder.path(), &["--raw", "--once", "--exec", "wc -c; exit 7"]);
    sensor.wait_for_readers(1);
    conversation(&mut sensor, 1);
    let bytes = 11 * 64 + sensor.publisher.counts().bytes;
    sensor.finish();
    let output = child.output_in_time("attach");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), bytes.to_string());
}

#[test]
fn the_successor_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = attach(folder.path(), &["--json", "--follow"]);
    let said = Lines::new(child.stderr.take().unwrap());
    said.until("waiting for a sensor with the queue 'streams'");
    let lines = Lines::new(child.stdout.take().unwrap());
    for epoch in 1..=2 {
        let mut sensor = Sensor::new(folder.path(), geometry(), epoch);
        assert!(lines.until("attached").contains(&format!("{epoch:016x}")));
        // The server publishes opens again for who came, which is over then.
        sensor.wait_for_readers(1);
        conversation(&mut sensor, 1);
        lines.until("\"packet\"");
        sensor.finish();
        lines.until("\"ended\"");
    }
    signal(&child, Signal::TERM);
    assert_eq!(child.wait_in_time("attach").code(), Some(0));
    said.until("22 records read, none lost");
}
