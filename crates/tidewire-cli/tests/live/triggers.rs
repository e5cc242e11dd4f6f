//! Look-back of `tidewire record`: everything that can be a trigger, and what it records.

use std::{collections::BTreeSet, fs, path::Path, process::Command, thread, time::Duration};

use tidewire_files::{Block, Reader, Source as _};
use tidewire_testing::{InTime as _, Signal};
use tidewire_wire::{Settings as WireSettings, decode, ports};

use crate::rig::{self, HERE, Rig, THERE_ADDRESS, wait_for};

/// Packets of an archive: their ports and bytes.
fn recorded(folder: &Path) -> Vec<((u16, u16), Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("an archive") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "pcapng") {
            continue;
        }
        let (mut reader, mut block) = (Reader::open(path).expect("a segment"), Block::new());
        while reader.fill(&mut block).expect("whole") {
            let batch = block.batch();
            all.extend(batch.frames.iter().map(|frame| {
                let bytes = batch.bytes(frame).to_vec();
                let decoded = decode(frame.link, &bytes, frame.wire_bytes, &WireSettings::default());
                (ports(&bytes, &decoded), bytes)
            }));
        }
    }
    all
}

fn requests(packets: &[((u16, u16), Vec<u8>)], page: &str) -> usize {
    let request = format!("GET /{page} ");
    packets.iter().filter(|(_, bytes)| bytes.windows(request.len()).any(|found| found == request.as_bytes())).count()
}

fn get(page: &str) {
    let url = format!("http://{THERE_ADDRESS}/{page}");
    let status = Command::new("curl").args(["-s", "-o", "/dev/null", &url]).status_in_time();
    assert!(status.expect("curl runs").success());
}

fn started(rig: &Rig, words: &[&str]) -> rig::Running {
    let recorder = rig.tidewire(&[&["record", "-i", HERE, "--keep-last", "60s", "--json"], words].concat());
    recorder.wait_for_said("packet socket");
    recorder
}

fn is_segment(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|all| all.count() > 1)
}

/// Ends a recorder, and returns what it wrote. The account closes.
fn ended(recorder: rig::Running, folder: &Path) -> Vec<((u16, u16), Vec<u8>)> {
    rig::settle();
    let ended = recorder.interrupt();
    assert_eq!(ended.code(), 0, "{}", ended.said);
    let summary: serde_json::Value = serde_json::from_str(&ended.out).expect("a summary");
    let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
    assert_eq!(number("received_packets"), number("written_packets") + number("filtered_packets"), "{summary}");
    let packets = recorded(folder);
    assert_eq!(number("written_packets"), packets.len() as u64);
    packets
}

#[test]
fn a_signal_is_a_trigger() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let recorder = started(rig, &["-o", archive.to_str().expect("text"), "--keep-after", "1ms"]);
        get("before");
        rig::settle();
        assert!(!is_segment(&archive));
        recorder.signal(Signal::USR1);
        wait_for("a segment", || is_segment(&archive));
        thread::sleep(Duration::from_millis(200));
        get("after");
        let packets = ended(recorder, &archive);
        assert_eq!((requests(&packets, "before"), requests(&packets, "after")), (1, 0));
    });
}

#[test]
fn packets_are_triggers_of_the_link_or_of_their_streams() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        for (name, port, words, expected) in [
            ("pattern", "40001", &["--trigger-pattern", "GET /wanted "][..], (2, 1, 0)),
            ("filter", "40002", &["--trigger", "tcp[tcpflags] & tcp-fin != 0 and src port 40002"], (2, 1, 0)),
            ("stream", "40003", &["--trigger-pattern", "GET /wanted ", "--trigger-streams"], (0, 1, 0)),
            ("after", "40004", &["--trigger-pattern", "GET /wanted ", "--keep-after", "60s"], (2, 1, 1)),
        ] {
            let archive = rig.directory.path().join(name);
            let place = archive.to_str().expect("text");
            let recorder = started(
                rig,
                &[&["-o", place], words, &["--keep-after", "1ms"][..2 * usize::from(name != "after")]].concat(),
            );
            get("other");
            get("other");
            let url = format!("http://{THERE_ADDRESS}/wanted");
            let mut status = Command::new("curl");
            status.args(["-s", "-o", "/dev/null", "--local-port", port, &url]);
            assert!(status.status_in_time().expect("curl runs").success());
            thread::sleep(Duration::from_millis(200));
            get("late");
            let packets = ended(recorder, &archive);
            let found = (requests(&packets, "other"), requests(&packets, "wanted"), requests(&packets, "late"));
            assert_eq!(found, expected, "{name}");
            if name == "stream" {
                let streams: BTreeSet<_> = packets.iter().map(|((from, to), _)| (from.min(to), from.max(to))).collect();
                assert_eq!(streams.len(), 1, "{streams:?}");
                // From its first packet on: both SYNs, request and answer at least.
                assert!(packets.len() >= 4, "{}", packets.len());
            }
        }
    });
}

/// `tidewire events --follow` of a sensor that runs, and a line of it is a trigger.
#[test]
fn an_event_of_a_sensor_is_a_trigger() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let folder = rig.directory.path();
        let (archive, control, sensor) = (folder.join("archive"), folder.join("control"), folder.join("sensor"));
        let (place, control) = (archive.to_str().expect("text"), control.to_str().expect("text"));
        let sensor = sensor.to_str().expect("text");
        let running = rig.tidewire(&["sensor", "-i", HERE, "--directory", sensor]);
        let recorder = started(rig, &["-o", place, "--keep-after", "1ms", "--control", control]);
        let tidewire = env!("CARGO_BIN_EXE_tidewire");
        let mut follow = Command::new(tidewire);
        follow.args(["events", "--directory", sensor, "--kind", "door.opened", "--follow", "--json"]);
        follow.stdin(std::process::Stdio::null());
        let mut trigger = Command::new(tidewire);
        trigger.args(["record", "trigger", control, "-"]);
        let trigger = rig::Running::fed_by(follow, trigger);
        get("before");
        let emit = |kind: &str| rig.here(&[tidewire, "event", "emit", "--directory", sensor, "--kind", kind]);
        emit("door.closed");
        thread::sleep(Duration::from_millis(500));
        assert!(!is_segment(&archive));
        emit("door.opened");
        trigger.wait_for_out("recording");
        wait_for("a segment", || is_segment(&archive));
        assert_eq!(requests(&ended(recorder, &archive), "before"), 1);
        drop(trigger);
        running.interrupt();
    });
}
