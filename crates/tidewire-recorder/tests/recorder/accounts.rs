use std::{collections::HashMap, fs, sync::Arc, time::Duration};

use tidewire::{Batch, Capture, FrameHandler, Stop};
use tidewire_archive::{Archive, Directory, Identities, Query, Retention, Settings};
use tidewire_recorder::{RecordClass, RecordSettings, Recorder, Status, Targets};
use tidewire_testing::sums_of_segments;
use tidewire_wire::{Kind, LinkType, Settings as WireSettings, addresses, decode, ports};

use crate::rig::{Seen, captures, read, recall, record};

const CUTOFF: u64 = 600;

/// Packets of a capture behind a cutoff, by a model that knows nothing of streams but addresses and ports.
fn model(packets: &[Seen]) -> (Vec<Seen>, u64) {
    let (mut seen, mut kept, mut cut_bytes) = (HashMap::<_, u64>::new(), Vec::new(), 0);
    let mut of_datagram = HashMap::new();
    for packet in packets {
        let decoded = decode(LinkType(packet.link), &packet.bytes, packet.wire_bytes, &WireSettings::default());
        let (source, destination) = addresses(&packet.bytes, &decoded);
        let (mut from, mut to) = ports(&packet.bytes, &decoded);
        let fragment = decoded.fragment;
        let mut is_flow = matches!(decoded.kind, Kind::Tcp | Kind::Udp);
        let proto = if decoded.kind == Kind::Fragment { fragment.proto } else { decoded.proto };
        // A datagram's fragments have the ports of its first one, which is the first here.
        if decoded.kind == Kind::Fragment && proto == 17 {
            let datagram = (source, destination, fragment.id);
            if let Some(&[a, b, c, d]) =
                packet.bytes.get(fragment.data_at as usize..).and_then(|data| data.first_chunk())
                && fragment.offset_bytes == 0
            {
                of_datagram.insert(datagram, (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])));
            }
            (from, to) = of_datagram[&datagram];
            is_flow = true;
        }
        let back = seen.get(&((destination, to), (source, from), proto)).copied().unwrap_or(0);
        let bytes = seen.entry(((source, from), (destination, to), proto)).or_default();
        let before = *bytes;
        *bytes += u64::from(decoded.payload_bytes);
        let flags = packet.bytes.get(decoded.transport_at as usize + 13).copied().unwrap_or(0);
        let is_control = decoded.kind == Kind::Tcp && flags & 7 != 0;
        let is_bare = decoded.kind == Kind::Tcp && decoded.payload_bytes == 0;
        if is_flow && !is_control && (before >= CUTOFF || is_bare && back >= CUTOFF) {
            cut_bytes += u64::from(packet.wire_bytes);
        } else {
            kept.push(packet.clone());
        }
    }
    (kept, cut_bytes)
}

#[test]
fn streams_of_which_nothing_is_written_are_in_the_archive() {
    let found = captures().into_iter().find(|path| path.to_string_lossy().contains("demo.pcap"));
    let capture = found.expect("the demo");
    let folder = tempfile::tempdir().expect("a directory");
    let settings =
        RecordSettings { cutoff_bytes: [0; 2], filter: Some("udp port 53".into()), ..RecordSettings::default() };
    let (snapshot, reported) = record(&capture, &[folder.path()], &Settings::default(), settings);
    assert_eq!(reported, Vec::<String>::new());
    let all = snapshot.totals.all();
    assert!(all.cut_off_packets > 0 && all.written_packets == 0, "{all:?}");
    let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
    let (streams, is_all) = archive.cut_off(&Query::default(), 100).expect("its index");
    assert!(is_all && streams.iter().all(|stream| stream.first_ns <= stream.last_ns && stream.last_ns < u64::MAX));
    let noted: u64 = streams.iter().flat_map(|stream| stream.amounts).map(|amount| amount.packets).sum();
    assert_eq!(noted, all.cut_off_packets);
}

#[test]
fn beyond_the_cutoff_packets_are_counted_and_not_written() {
    let mut cut_in_all = 0;
    for name in ["demo", "pn-window-beyond", "checksums"] {
        let found = captures().into_iter().find(|path| path.to_string_lossy().contains(name));
        let capture = found.unwrap_or_else(|| panic!("{name} is in the corpus"));
        let packets = read(&capture);
        let (mut expected, cut_bytes) = model(&packets);
        let folder = tempfile::tempdir().expect("a directory");
        let settings = RecordSettings { cutoff_bytes: [CUTOFF; 2], ..RecordSettings::default() };
        let (figures, _) = record(&capture, &[folder.path()], &Settings::default(), settings);
        let all = figures.totals.all();
        assert_eq!(all.cut_off_bytes, cut_bytes, "{name}");
        assert_eq!(all.cut_off_packets + all.written_packets, packets.len() as u64, "{name}");
        let mut found = recall(&[folder.path()], &Query::default());
        found.sort();
        expected.sort();
        assert!(found == expected, "{name}: {} of {}", found.len(), expected.len());
        cut_in_all += all.cut_off_packets;
    }
    assert!(cut_in_all > 0);
}

#[test]
fn classes_have_their_cutoff_priority_and_length() {
    let (mut short, mut of_priority) = (0, 0);
    for capture in captures() {
        let packets = read(&capture);
        let class = |expression: &str| RecordClass { expression: expression.into(), ..RecordClass::default() };
        let settings = RecordSettings {
            classes: vec![
                RecordClass { snap_bytes: Some(60), ..class("tcp") },
                RecordClass { priority: Some(3), ..class("udp") },
                RecordClass { cutoff_bytes: Some([0; 2]), ..class("udp port 53") },
            ],
            ..RecordSettings::default()
        };
        let folder = tempfile::tempdir().expect("a directory");
        let (figures, _) = record(&capture, &[folder.path()], &Settings::default(), settings);
        let of_three = figures.totals.priorities().into_iter().find(|ledger| ledger.priority == 3);
        of_priority += of_three.map_or(0, |ledger| ledger.received_packets);
        assert_eq!(figures.totals.all().received_packets, packets.len() as u64);
        if figures.totals.all().written_packets == 0 {
            continue;
        }
        let found = recall(&[folder.path()], &Query::default());
        assert_eq!(found.len() as u64, figures.totals.all().written_packets, "{}", capture.display());
        short += found.iter().filter(|packet| packet.bytes.len() == 60 && packet.wire_bytes > 60).count();
    }
    assert!(short > 20, "{short}");
    assert!(of_priority > 20, "{of_priority}");
}

#[test]
fn a_filter_counts_what_it_leaves_out() {
    let capture = captures().into_iter().find(|path| path.ends_with("demo.pcap")).expect("demo.pcap");
    let all = read(&capture);
    let mut filter = tidewire_filter::Filter::new("tcp[13] & 2 != 0").expect("a filter");
    let is_syn =
        |packet: &&Seen| filter.matches(LinkType(packet.link), &packet.bytes, packet.wire_bytes).unwrap_or(false);
    let (packets, syns) = (all.len() as u64, all.iter().filter(is_syn).count() as u64);
    assert!(syns > 2);
    let folder = tempfile::tempdir().expect("a directory");
    let settings = RecordSettings { filter: Some("tcp[13] & 2 != 0".into()), ..RecordSettings::default() };
    let (figures, _) = record(&capture, &[folder.path()], &Settings::default(), settings);
    let all = figures.totals.all();
    assert_eq!((all.received_packets, all.written_packets), (packets, syns));
    assert_eq!(all.filtered_packets, packets - syns);
    assert_eq!(recall(&[folder.path()], &Query::default()).len() as u64, syns);
}

/// Ledgers of segments add up to that of the recording.
#[test]
fn segments_have_their_share_of_the_account() {
    let capture =
        captures().into_iter().max_by_key(|path| path.metadata().map_or(0, |file| file.len())).expect("a capture");
    let folder = tempfile::tempdir().expect("a directory");
    let archive = Settings { segment_bytes: 5_000, ..Settings::default() };
    let settings = RecordSettings { cutoff_bytes: [CUTOFF; 2], ..RecordSettings::default() };
    let (figures, _) = record(&capture, &[folder.path()], &archive, settings);
    assert!(figures.segments > 1);
    let reopened = Directory::open(folder.path(), &archive, 0).expect("its lock is free");
    assert_eq!(reopened.kept().segments, figures.segments);
    let names = ["received_packets", "written_packets", "cut_off_packets"];
    let sums = sums_of_segments(folder.path(), names);
    let all = figures.totals.all();
    assert_eq!(sums, [all.received_packets, all.written_packets, all.cut_off_packets]);
    assert!(all.cut_off_packets > 0, "{all:?}");
}

/// A recorder whose capture loses three packets with each twenty.
struct Losing {
    recorder: Recorder,
    frames: u64,
}

impl FrameHandler for Losing {
    fn frames(&mut self, batch: &Batch<'_>) {
        for frames in batch.frames.chunks(1) {
            self.recorder.frames(&Batch::new(batch.memory, frames));
            self.frames += 1;
            self.recorder.dropped(self.frames / 20 * 3);
        }
    }

    fn finish(&mut self) {
        self.recorder.finish();
    }
}

/// 300 datagrams, one a second from second 1,000 on.
fn datagrams() -> Vec<u8> {
    let mut file = [&0xa1b2_c3d4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[0, 0, 4, 0], &[1, 0, 0, 0]].concat();
    let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], &ip[..], &[0x30, 0x39, 0, 53, 0, 8, 0, 0]].concat();
    let length = (frame.len() as u32).to_le_bytes();
    (1000..1300_u32)
        .for_each(|second| file.extend([&second.to_le_bytes()[..], &[0; 4], &length, &length, &frame].concat()));
    file
}

/// Losses of the capture are known by segment, from the index of the recorder and from one that is made of the segment.
#[test]
fn losses_are_of_the_segment_in_which_they_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let (capture, archive) = (folder.path().join("capture.pcap"), folder.path().join("archive"));
    fs::write(&capture, datagrams()).expect("written");
    let settings = Settings { segment_time: Duration::from_secs(100), ..Settings::default() };
    let directory = Directory::open(&archive, &settings, 0).expect("a directory");
    let stop = Stop::new();
    let targets = Arc::new(Targets::new(vec![directory], Retention::default(), 1, &stop, |_| ()));
    let (record, status) = (Arc::new(RecordSettings::default()), Arc::new(Status::default()));
    let recorder = Recorder::new(&record, 0, &targets, &status).expect("settings");
    let mut handler = Some(Losing { recorder, frames: 0 });
    let outcome = Capture::file(&capture).stop_when(&stop).run_frames(|_| handler.take().expect("one"));
    drop(outcome.expect("a run"));
    drop(targets);
    let lost = |from: Option<u64>, to: Option<u64>| {
        let second = |second: u64| second * 1_000_000_000;
        let query = Query { from_ns: from.map(second), to_ns: to.map(second), ..Query::default() };
        let archive = Archive::open([&archive], Identities::default()).expect("an archive");
        let recall = archive.recall(&query).expect("a query");
        recall.interface_losses().iter().map(|loss| (loss.dropped, loss.system_dropped)).collect::<Vec<_>>()
    };
    for what in ["recorded", "made again"] {
        assert_eq!(lost(None, None), [(0, 45)], "{what}");
        for from in [1000, 1100, 1200] {
            assert_eq!(lost(Some(from), Some(from + 50)), [(0, 15)], "{what}: from second {from}");
        }
        assert_eq!(lost(Some(1050), Some(1150)), [(0, 30)], "{what}");
        assert!(lost(Some(1300), None).is_empty(), "{what}");
        let directory = Directory::open(&archive, &settings, 0).expect("a directory");
        directory.index_only(&Identities::default(), true, 0, |_| ()).expect("indexes");
    }
}
