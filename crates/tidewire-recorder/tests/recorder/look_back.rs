use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tidewire::{Batch, FrameHandler as _, Stop, Timestamp};
use tidewire_archive::{
    Directory, Query, Retention, Settings,
    block::{Interface, Packet, Writer, enhanced_packet, interface_description, section_header},
};
use tidewire_files::{Block, Reader, Source as _};
use tidewire_recorder::{LookBackSettings, RecordClass, RecordSettings, Recorder, Snapshot, Status, Targets, Trigger};

use crate::rig::{Seen, captures, read, recall, record};

const SPAN: Duration = Duration::from_millis(20);

fn settings(filters: &[&str], patterns: &[&[u8]], is_of_streams: bool) -> RecordSettings {
    let look_back = LookBackSettings {
        before: SPAN,
        after: SPAN,
        memory_bytes: 64 << 20,
        filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
        patterns: patterns.iter().map(|pattern| pattern.to_vec()).collect(),
        is_of_streams,
        trigger: Arc::new(Trigger::default()),
    };
    RecordSettings { look_back: Some(look_back), ..RecordSettings::default() }
}

fn demo() -> std::path::PathBuf {
    captures().into_iter().find(|path| path.ends_with("demo.pcap")).expect("demo.pcap")
}

/// Packets that lie around one that fires.
fn around(packets: &[Seen], fires: impl Fn(&Seen) -> bool) -> Vec<Seen> {
    let times: Vec<u64> = packets.iter().filter(|packet| fires(packet)).map(|packet| packet.timestamp_ns).collect();
    assert!(!times.is_empty());
    let near = |packet: &&Seen| times.iter().any(|time| time.abs_diff(packet.timestamp_ns) <= SPAN.as_nanos() as u64);
    packets.iter().filter(near).cloned().collect()
}

#[test]
fn what_lies_around_a_trigger_is_recorded() {
    let packets = read(&demo());
    let is_query = |packet: &Seen| packet.bytes.windows(7).any(|bytes| bytes == b"HTTP/1.");
    let mut expected = around(&packets, is_query);
    assert!(expected.len() < packets.len());
    let folder = tempfile::tempdir().expect("a directory");
    let (figures, _) = record(&demo(), &[folder.path()], &Settings::default(), settings(&[], &[b"HTTP/1."], false));
    let mut found = recall(&[folder.path()], &Query::default());
    found.sort();
    expected.sort();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    let all = figures.totals.all();
    assert_eq!(all.filtered_packets, (packets.len() - expected.len()) as u64);
}

#[test]
fn a_trigger_of_streams_records_the_streams_that_it_concerns() {
    let packets = read(&demo());
    let folder = tempfile::tempdir().expect("a directory");
    record(&demo(), &[folder.path()], &Settings::default(), settings(&["udp port 53"], &[], true));
    let found = recall(&[folder.path()], &Query::default());
    assert!(!found.is_empty() && found.len() < 10, "{} of {}", found.len(), packets.len());
    let only = Query { filter: Some("udp port 53".into()), ..Query::default() };
    assert_eq!(recall(&[folder.path()], &only).len(), found.len());
}

#[test]
fn without_a_trigger_nothing_is_recorded() {
    let folder = tempfile::tempdir().expect("a directory");
    let (figures, _) =
        record(&demo(), &[folder.path()], &Settings::default(), settings(&["port 4"], &[b"no such"], false));
    let all = figures.totals.all();
    assert_eq!((all.written_packets, all.filtered_packets), (0, 155));
}

/// A datagram to a port, of 1,000 bytes.
fn datagram(port: u16, number: u32) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    packet.extend([0x45, 0, 0x03, 0xda, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x30, 0]);
    packet.extend(port.to_be_bytes());
    packet.extend([0x03, 0xc6, 0, 0]);
    packet.extend(number.to_be_bytes());
    packet.resize(1000, 7);
    packet
}

/// Times of packets in milliseconds, and which of them fires: the ones that are recorded.
fn recorded(milliseconds: &[u64], fires: usize) -> Vec<u64> {
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    interface_description(&mut bytes, &Interface::new("eth0", tidewire::LinkType::ETHERNET));
    for (number, time) in milliseconds.iter().enumerate() {
        let packet = datagram(if number == fires { 7 } else { 9 }, number as u32);
        enhanced_packet(&mut bytes, &Packet::new(0, Timestamp::from_nanos(time * 1_000_000), &packet, 1000));
    }
    let folder = tempfile::tempdir().expect("a directory");
    let capture = folder.path().join("capture.pcapng");
    std::fs::write(&capture, bytes).expect("written");
    let archive = folder.path().join("archive");
    record(&capture, &[&archive], &Settings::default(), settings(&["udp port 7"], &[], false));
    let found = recall(&[&archive], &Query::default());
    found.iter().map(|seen| u32::from_be_bytes(seen.bytes[42..46].try_into().expect("four")).into()).collect()
}

/// An hour back, as when a clock is set; a single packet of long ago changes nothing.
#[test]
fn a_clock_that_is_set_back_loses_nothing_that_lies_around_a_trigger() {
    let before: Vec<u64> = (0..100).map(|number| 10_000_000 + number).collect();
    let after: Vec<u64> = (0..100).map(|number| 6_400_000 + number).collect();
    let around = |at: u64| (at - 20..=at + 20).collect::<Vec<u64>>();
    assert_eq!(recorded(&[&*before, &after].concat(), 150), around(150));
    let mut stale = before.clone();
    stale[45] = 5;
    let found = recorded(&stale, 50);
    assert!(found.len() >= 40 && around(50).iter().filter(|number| found.contains(number)).count() >= 40, "{found:?}");
    // Where both sides of the step are near the trigger.
    let found = recorded(&[&*before, &after].concat(), 105);
    assert!(found.contains(&105) && found.contains(&120) && found.contains(&95) && found.len() >= 35, "{found:?}");
}

/// Records packets as those of an interface, a hundred at a time; `before_last` is called before the last of them. What was recorded,
/// by port, and the figures.
fn live(ports: &[u16], settings: RecordSettings, before_last: impl FnOnce()) -> (BTreeMap<u16, usize>, Snapshot) {
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    interface_description(&mut bytes, &Interface::new("eth0", tidewire::LinkType::ETHERNET));
    for (number, port) in ports.iter().enumerate() {
        let packet = datagram(*port, number as u32);
        let time = 1_700_000_000_000_000_000 + number as u64 * 1000;
        enhanced_packet(&mut bytes, &Packet::new(0, Timestamp::from_nanos(time), &packet, 1000));
    }
    let folder = tempfile::tempdir().expect("a directory");
    let capture = folder.path().join("capture.pcapng");
    std::fs::write(&capture, bytes).expect("written");
    let archive = folder.path().join("archive");
    let directory = Directory::open(&archive, &Settings::default(), 0).expect("a directory");
    let targets = Arc::new(Targets::new(vec![directory], Retention::default(), 1, &Stop::new(), |_| {}));
    let status = Arc::new(Status::default());
    let settings = RecordSettings { is_live: true, ..settings };
    let mut recorder = Recorder::new(&Arc::new(settings), 0, &targets, &status).expect("settings");
    let (mut reader, mut block) = (Reader::open(&capture).expect("a capture"), Block::new());
    let mut before_last = Some(before_last);
    let mut left = ports.len();
    while reader.fill(&mut block).expect("read") {
        let batch = block.batch();
        for frames in batch.frames.chunks(100) {
            left -= frames.len();
            if left == 0
                && let Some(call) = before_last.take()
            {
                call();
            }
            recorder.frames(&Batch::new(batch.memory, frames));
            recorder.level(0);
        }
    }
    recorder.finish();
    drop(recorder);
    let mut found = BTreeMap::new();
    for seen in recall(&[&archive], &Query::default()) {
        *found.entry(u16::from_be_bytes([seen.bytes[36], seen.bytes[37]])).or_insert(0) += 1;
    }
    let figures = status.snapshot();
    assert!(figures.totals.closes(), "{figures:?}");
    (found, figures)
}

/// Memory for a tenth of the packets.
fn small(is_fired: bool) -> (RecordSettings, Arc<Trigger>) {
    let mut settings = settings(&[], &[], false);
    let trigger = Arc::new(Trigger::default());
    if let Some(look_back) = &mut settings.look_back {
        look_back.before = Duration::from_secs(60);
        look_back.after = Duration::from_secs(60);
        look_back.memory_bytes = 400 * 1040;
        look_back.trigger = Arc::clone(&trigger);
        if is_fired {
            look_back.filters = vec!["udp port 7".into()];
        }
    }
    (settings, trigger)
}

#[test]
fn a_full_memory_goes_to_a_disk_that_is_idle() {
    let ports: Vec<u16> = std::iter::once(7).chain((0..4000).map(|_| 9)).collect();
    let (found, figures) = live(&ports, small(true).0, || {});
    assert_eq!((found.get(&9), figures.totals.all().shed_packets), (Some(&4000), 0));
}

#[test]
fn a_flood_of_low_priority_pushes_nothing_else_out_of_memory() {
    let ports: Vec<u16> = (0..4000).map(|number| if number % 20 == 0 { 53 } else { 9 }).collect();
    let (mut settings, trigger) = small(false);
    settings.classes =
        vec![RecordClass { expression: "udp port 53".into(), priority: Some(3), ..RecordClass::default() }];
    let (found, figures) = live(&ports, settings, || trigger.fire());
    assert_eq!(found.get(&53), Some(&200), "{found:?}");
    let low = found.get(&9).copied().unwrap_or(0);
    assert!((100..=400).contains(&low), "{found:?}");
    // Packets that no trigger had requested when they left.
    assert_eq!(figures.totals.all().filtered_packets, 4000 - 200 - low as u64);
}
