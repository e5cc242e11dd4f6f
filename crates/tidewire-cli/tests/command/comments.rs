//! Comments in capture files, in what is recorded of them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};
use tidewire_types::Timestamp;

use tidewire_archive::block::{
    Interface, Packet, Writer, enhanced_packet, enhanced_packet_with, interface_description, section_header,
};
use tidewire_files::{Block, CaptureLoss, Reader, Source as _};
use tidewire_testing::{InTime as _, missing};

use crate::common::*;

const PACKETS: u64 = 3000;

/// A frame that says which one it is.
fn frame(number: u64) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
    frame.extend(number.to_be_bytes());
    frame.resize(200, number as u8);
    frame
}

/// A comment as an option of pcapng.
fn option(text: &str) -> Vec<u8> {
    let mut option = [&1_u16.to_le_bytes()[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

/// A capture of which some packets have a comment, and some two.
fn commented(from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    let mut interface = Interface::new(format!("eth{from}"), tidewire::LinkType::ETHERNET);
    interface.comment = format!("behind the switch {from}");
    interface_description(&mut bytes, &interface);
    for number in from..from + PACKETS {
        let content = frame(number);
        let packet =
            Packet::new(0, Timestamp::from_nanos(1_700_000_000_000_000_000 + number % PACKETS * 1000), &content, 200);
        let text = format!("packet {number}");
        match number % 5 {
            0 => drop(enhanced_packet(&mut bytes, &Packet { comment: &text, ..packet })),
            1 => {
                let options = [option(&text), option("another \u{f6}ne"), vec![0; 4]].concat();
                enhanced_packet_with(&mut bytes, &packet, &options);
            }
            _ => drop(enhanced_packet(&mut bytes, &packet)),
        }
    }
    bytes
}

/// Packets with their comments.
type Commented = BTreeSet<(Vec<u8>, Vec<u8>)>;

/// The packets of captures with their comments, and the comments of interfaces.
fn comments(paths: &[PathBuf]) -> (Commented, BTreeSet<String>) {
    let (mut packets, mut interfaces) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let (mut reader, mut block) = (Reader::open(path).unwrap(), Block::new());
        reader.keep_comments();
        while reader.fill(&mut block).unwrap() {
            interfaces.extend(reader.described().into_iter().map(|(_, interface)| interface.comment));
            let of: std::collections::HashMap<u64, Vec<u8>> = reader.comments().into_iter().collect();
            let batch = block.batch();
            for frame in batch.frames {
                let comments = of.get(&frame.number).cloned().unwrap_or_default();
                assert!(packets.insert((batch.bytes(frame).to_vec(), comments)), "twice");
            }
        }
    }
    (packets, interfaces)
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "pcapng")).collect()
}

/// Losses of a capture by its own account are causes of gaps in its file, in what is recorded of that, and in what is recalled.
#[test]
fn what_a_capture_lost_is_known_through_archives() {
    let bench = Bench::new();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/file-capture-losses/capture.pcapng");
    let keep: &[&str] = &["--keep-last", "1h", "--trigger", "tcp"];
    for (number, options) in [&[][..], keep].into_iter().enumerate() {
        let (archive, again) = (bench.path(&format!("archive{number}")), bench.path(&format!("again{number}.pcapng")));
        let (archive, again) = (archive.to_str().unwrap(), again.to_str().unwrap());
        let (said, code) = complaint(&[&["record", "-r", capture, "-o", archive], options].concat());
        assert_eq!(code, 0, "{said}");
        assert_eq!(text(&["recall", archive, "-w", again]).1, 0);
        for input in [capture, archive, again] {
            for workers in ["1", "3"] {
                let found = json(&["streams", "--json", "--stats", "json", "-j", workers, input]);
                let (ledger, streams) = found.split_last().unwrap();
                let gaps: Vec<_> = streams.iter().flat_map(|one| one["s2c"]["gaps"].as_array().unwrap()).collect();
                assert_eq!(gaps.len(), 1, "{input}: {streams:?}");
                assert_eq!(
                    (&gaps[0]["bytes"], &gaps[0]["cause"]),
                    (&1400.into(), &"lost_by_capture".into()),
                    "{input}"
                );
                let losses = &ledger["detail"]["capture_losses"];
                let figures = ["interface_dropped", "system_dropped", "between_packets"].map(|name| &losses[0][name]);
                assert_eq!(figures, [123, 45, 7].map(serde_json::Value::from).each_ref(), "{input}: {losses}");
            }
        }
        // Statistics of its interfaces are those of the last segment.
        let segment = segments(Path::new(archive)).remove(0);
        let losses = |path: &Path| {
            let mut reader = Reader::open(path).unwrap();
            while reader.fill(&mut Block::new()).unwrap() {}
            let figures = |loss: &CaptureLoss| (loss.interface_dropped, loss.system_dropped, loss.between_packets);
            reader.losses().iter().map(figures).collect::<Vec<_>>()
        };
        assert_eq!(losses(&segment), [(123, 45, 7)]);
        // Also where nothing is found in that time; and not of another time.
        let (found, code) = text(&["recall", archive, "-w", again, "--json", "host", "192.0.2.99"]);
        assert_eq!((losses(Path::new(again)), code), (vec![(123, 45, 0)], 1), "{found}");
        let summary: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert_eq!(summary["recall"]["capture_losses"][0]["interface_dropped"], 123, "{summary}");
        let (found, code) = text(&["recall", archive, "-w", again, "--json", "--to", "1971-01-01T00:00:00Z"]);
        assert_eq!((losses(Path::new(again)).len(), code), (0, 1), "{found}");
        assert!(!found.contains("capture_losses"), "{found}");
        assert_eq!(text(&["recall", archive, "-w", again]).1, 0);
        if missing(&["capinfos"]).is_none() {
            let output = Command::new("capinfos").arg(again).run_in_time().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("Number of stat entries = 1"), "{said}");
        }
    }
}

#[test]
fn comments_of_packets_and_interfaces_are_kept() {
    let bench = Bench::new();
    let one = bench.file("one.pcapng", &commented(0));
    let other = bench.file("other.pcapng", &commented(1_000_000));
    let keep: &[&str] = &["--keep-last", "1h", "--trigger", "ether[0] = 2"];
    for (number, (files, options)) in
        [(vec![&*one], &[][..]), (vec![&*one, &*other], &["--segment-size", "100K"]), (vec![&*one], keep)]
            .into_iter()
            .enumerate()
    {
        let archive = bench.path(&format!("archive{number}"));
        let place = archive.to_str().unwrap();
        let words = [&["record", "-r"][..], &files, options, &["-o", place]].concat();
        let (said, code) = complaint(&words);
        assert_eq!(code, 0, "{words:?}: {said}");
        let expected = comments(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(expected.0.iter().filter(|(_, comments)| !comments.is_empty()).count(), files.len() * 1200);
        assert!(comments(&segments(&archive)) == expected, "{words:?}");
        assert_eq!(text(&["record", "--verify", place]).1, 0);
        let out = bench.path("out.pcapng");
        assert_eq!(text(&["recall", place, "-w", out.to_str().unwrap()]).1, 0);
        assert!(comments(std::slice::from_ref(&out)) == expected, "{words:?}: recalled");
        if missing(&["tshark"]).is_none() {
            let path = out.to_str().unwrap();
            let words = ["-r", path, "-Y", "frame.comment", "-T", "fields", "-e", "frame.comment"];
            let dumped = Command::new("tshark").args(words).run_in_time().unwrap();
            let said = String::from_utf8_lossy(&dumped.stdout).into_owned();
            assert_eq!(said.lines().count(), files.len() * 1200, "{said}");
            assert!(said.contains("packet 2996") && said.contains("another \u{f6}ne"));
        }
    }
}
