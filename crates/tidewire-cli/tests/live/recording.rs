//! `tidewire record` of interfaces.

use std::{collections::BTreeMap, fs, net::UdpSocket, path::Path, process::Command, time::Duration};

use serde_json::Value;
use tidewire::ChecksumStatus;
use tidewire_files::{Block, Reader, Source as _};
use tidewire_testing::{InTime as _, missing, sums_of_segments};

use crate::{
    common::{json, lines},
    rig::{self, HERE, HERE_ADDRESS, Rig, THERE_ADDRESS, wait_for},
};

/// Times of packets by their bytes on the wire and their bytes.
type Packets = BTreeMap<(u32, Vec<u8>), Vec<u64>>;

/// Without a socket that wants them, each ring stamps a packet by itself, one after the other.
const APART_NS: u64 = 2_000_000;

fn summary_of(ended: &rig::FinishedProgram) -> serde_json::Value {
    serde_json::from_str(&ended.out).expect("a summary")
}

fn packets(path: &Path, into: &mut Packets) {
    let mut reader = Reader::open(path).expect("a capture");
    let mut block = Block::new();
    while reader.fill(&mut block).expect("whole") {
        let batch = block.batch();
        for frame in batch.frames {
            into.entry((frame.wire_bytes, batch.bytes(frame).to_vec())).or_default().push(frame.timestamp.as_nanos());
        }
    }
}

/// Packets of all complete segments.
fn archived(folder: &Path) -> Packets {
    let mut all = Packets::new();
    for entry in fs::read_dir(folder).expect("an archive") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "pcapng") {
            packets(&path, &mut all);
        }
    }
    all
}

fn get(page: &str) {
    let url = format!("http://{THERE_ADDRESS}/{page}");
    let status = Command::new("curl").args(["-s", "-o", "/dev/null", &url]).status_in_time().expect("curl runs");
    assert!(status.success());
}

fn started(rig: &Rig, words: &[&str]) -> rig::Running {
    let recorder = rig.tidewire(&[&["record", "-i", HERE], words].concat());
    recorder.wait_for_said("packet socket");
    recorder
}

#[test]
fn what_tcpdump_writes_is_recorded() {
    rig::run(&["tcpdump", "nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let name = rig.directory.path().join("tcpdump.pcap");
        let recorder = started(rig, &["-o", place, "--segment-size", "1M", "--ring", "64M", "--json"]);
        let mut dump = Command::new("tcpdump");
        dump.args(["-i", HERE, "-w", name.to_str().expect("text"), "-B", "65536", "-s", "0", "-U"]);
        dump.args(["--time-stamp-precision=nano", "-Z", "root"]);
        let dump = rig::Running::start(dump);
        dump.wait_for_said("listening on");
        for _ in 0..3 {
            get("big");
            get("");
        }
        rig::settle();
        let dumped = dump.interrupt();
        assert!(dumped.code() == 0);
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0);
        let (mut expected, found) = (Packets::new(), archived(&archive));
        packets(&name, &mut expected);
        assert!(expected.len() > 100, "{}", expected.len());
        compare(&expected, &found, APART_NS);
        let summary = &summary_of(&ended);
        assert_eq!(summary["written_packets"].as_u64(), Some(found.values().map(Vec::len).sum::<usize>() as u64));
        assert_eq!((&summary["dropped_packets"], &summary["shed_packets"]), (&0.into(), &0.into()));
        assert!(summary["segments"].as_u64() > Some(2), "{summary}");
    });
}

/// A flow's protocol and client's port, and its anomalies of checksums.
type OfFlow = (Value, Value, Vec<String>);

/// Reports of checksums: the ledger's figures, and the anomalies of each flow.
fn of_checksums(records: &[Value]) -> (Vec<Value>, Vec<OfFlow>) {
    let (ledger, flows) = records.split_last().expect("a ledger");
    let of_flow = |flow: &Value| {
        let kinds = flow["anomalies"].as_array().into_iter().flatten();
        let kinds = kinds.map(|anomaly| anomaly["kind"].to_string()).filter(|kind| kind.contains("checksum")).collect();
        (flow["proto"].clone(), flow["client"]["port"].clone(), kinds)
    };
    let mut flows: Vec<_> = flows.iter().map(of_flow).collect();
    flows.sort_by_key(|(proto, port, _)| (proto.to_string(), port.as_u64()));
    let figures = vec![ledger["bad_checksum"].clone(), ledger["detail"]["anomalies"]["bad_checksum"].clone()];
    (figures, flows)
}

/// The archive has what the kernel knew of checksums: of packets whose checksum the card fills in, also of those that it divides.
#[test]
fn an_archive_says_of_checksums_what_the_interface_said() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let recorder = started(rig, &["-o", place, "--json"]);
        // Everything reaches the engine, as from the archive.
        let live = rig.tidewire(&["streams", "--json", "--stats=json", "--kernel-flows", "0", "-i", HERE]);
        ["big", ""].into_iter().for_each(get);
        let socket = UdpSocket::bind((HERE_ADDRESS, 0)).expect("an address");
        for _ in 0..3 {
            socket.send_to(b"tide", (THERE_ADDRESS, 9)).expect("a route");
        }
        rig::settle();
        let (live, recorded) = (live.interrupt(), recorder.interrupt());
        assert_eq!((live.code(), recorded.code()), (0, 0), "{} {}", live.said, recorded.said);
        let expected = of_checksums(&lines(live.out.as_bytes()));
        assert!(expected.1.len() >= 3 && expected.0[0] == 0, "{expected:?}");
        assert_eq!(of_checksums(&json(&["streams", "--json", "--stats=json", place])), expected);
        // Flags say so.
        let (mut unready, mut long) = (0, 0);
        for path in fs::read_dir(&archive).expect("an archive").map(|entry| entry.expect("an entry").path()) {
            if path.extension().is_none_or(|ending| ending != "pcapng") {
                continue;
            }
            let (mut reader, mut block) = (Reader::open(&path).expect("a capture"), Block::new());
            while reader.fill(&mut block).expect("whole") {
                let frames = block.batch().frames.iter().filter(|frame| frame.checksum == ChecksumStatus::NotReady);
                frames.for_each(|frame| (unready, long) = (unready + 1, long + usize::from(frame.wire_bytes > 1522)));
            }
        }
        assert!(unready > 10 && long > 0, "{unready} {long}");
    });
}

#[test]
fn the_kernel_drops_what_is_beyond_the_cutoff_and_it_is_counted() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let recorder = started(rig, &["-o", place, "--cutoff", "10K", "--json", "tcp"]);
        for _ in 0..3 {
            get("big");
        }
        rig::settle();
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0);
        let summary = &summary_of(&ended);
        let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
        // Three megabytes crossed the cable.
        assert!(number("received_bytes") > 3 << 20, "{summary}");
        assert!(number("written_bytes") < 1 << 20, "{summary}");
        assert_eq!(number("received_bytes"), number("written_bytes") + number("cut_off_bytes"));
    });
}

/// Frames that came between both starts or ends are in one of them only.
fn compare(expected: &Packets, found: &Packets, apart_ns: u64) {
    for (packet, times) in expected {
        let same = found.get(packet).unwrap_or_else(|| panic!("{} bytes at {times:?}", packet.0));
        let has = |time: &u64| same.iter().any(|other| other.abs_diff(*time) < apart_ns);
        assert!(times.iter().all(has), "{times:?}, recorded {same:?}");
    }
}

#[test]
fn other_programs_agree_about_each_segment_of_an_interface() {
    rig::run(&["tcpdump", "nginx", "curl", "capinfos", "tshark", "editcap"], |rig| {
        rig.nginx();
        let archive = rig.directory.path().join("archive");
        let place = archive.to_str().expect("text");
        let recorder = started(rig, &["-o", place, "--segment-size", "512K", "--ring", "64M", "--json"]);
        let (dump, name) = rig.tcpdump("dumped.pcap", "");
        get("big");
        get("");
        rig::settle();
        assert_eq!(dump.interrupt().code(), 0);
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0);
        let (mut expected, found) = (Packets::new(), archived(&archive));
        packets(Path::new(&name), &mut expected);
        // 3 MB in packets of 64 KiB at most.
        assert!(expected.len() > 20, "{}", expected.len());
        compare(&expected, &found, APART_NS);
        // Every program reads every segment to its end, and calls the interface by its name.
        let (mut counted, mut segments) = (0, 0);
        for entry in fs::read_dir(&archive).expect("an archive") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|ending| ending != "pcapng") {
                continue;
            }
            segments += 1;
            let path = path.to_str().expect("text");
            let frames = rig.here(&["tshark", "-r", path, "-T", "fields", "-e", "frame.interface_name"]);
            assert!(frames.lines().all(|line| line == HERE), "{frames}");
            let count = frames.lines().count();
            let info = rig.here(&["capinfos", "-c", "-M", path]);
            assert!(info.contains(&count.to_string()), "{count}: {info}");
            let (copy, words) = (format!("{path}.copy"), ["-r", "-nn", "-tt", "-e", "-XX"]);
            rig.here(&["editcap", path, &copy]);
            let dumped =
                |path: &str| rig.here(&["tcpdump", words[0], path, words[1], words[2], words[3], words[4], "--nano"]);
            assert!(dumped(path) == dumped(&copy), "{path}");
            fs::remove_file(copy).expect("it goes");
            counted += count;
        }
        assert!(segments > 1);
        assert_eq!(summary_of(&ended)["written_packets"].as_u64(), Some(counted as u64));
    });
}

#[test]
fn what_the_filter_in_the_kernel_leaves_out_is_counted() {
    rig::run(&["nginx", "curl", "ping"], |rig| {
        rig.nginx();
        for (name, cutoff) in [("plain", None), ("cutoff", Some(["--cutoff", "10K"]))] {
            let archive = rig.directory.path().join(name);
            let place = archive.to_str().expect("text");
            let options = cutoff.iter().flatten().copied().collect::<Vec<_>>();
            let recorder =
                started(rig, &[&["-o", place, "--json", "--segment-size", "64K"], &options[..], &["icmp"]].concat());
            get("");
            rig.here(&["ping", "-c", "2", "-i", "0.2", "-s", "40000", THERE_ADDRESS]);
            get("big");
            rig::settle();
            let ended = recorder.interrupt();
            assert_eq!(ended.code(), 0);
            let summary = &summary_of(&ended);
            let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
            // ARP, both pages; of the fragments of the pings what the cutoff leaves is written.
            assert!(number("filtered_bytes") > 1 << 20 && number("filtered_packets") > 20, "{summary}");
            assert!(number("written_packets") + number("cut_off_packets") > 50, "{summary}");
            assert_eq!(number("cut_off_packets") > 50, cutoff.is_some(), "{summary}");
            let fates = ["written", "cut_off", "shed", "filtered"];
            for unit in ["packets", "bytes"] {
                let sum: u64 = fates.iter().map(|fate| number(&format!("{fate}_{unit}"))).sum();
                assert_eq!(number(&format!("received_{unit}")), sum, "{summary}");
            }
            // The packets that the kernel counted before its filter are the received ones.
            let kernel = &summary["live"]["interfaces"][0]["kernel"];
            assert_eq!(kernel["filtered"], summary["filtered_packets"], "{summary}");
            // And each segment has its share.
            let shares = sums_of_segments(&archive, ["received_packets", "filtered_packets"]);
            assert_eq!(shares, [number("received_packets"), number("filtered_packets")], "{summary}");
        }
    });
}

fn mount(place: &Path, size: &str) -> bool {
    fs::create_dir_all(place).expect("a directory");
    let options = format!("size={size}");
    let words = ["-t", "tmpfs", "-o", &options, "tmpfs", place.to_str().expect("text")];
    Command::new("mount").args(words).status_in_time().is_ok_and(|status| status.success())
}

/// Unmounts at the end.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", self.0.to_str().expect("text")]).status_in_time();
    }
}

#[test]
fn a_full_disk_is_named_and_recording_goes_on_when_there_is_room() {
    if let Some(reason) = missing(&["mount", "umount"]) {
        return println!("skipped: {reason}");
    }
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let disk = rig.directory.path().join("disk");
        if !mount(&disk, "8m") {
            return println!("skipped: no tmpfs can be mounted");
        }
        let _mounted = Mounted(&disk);
        let (archive, others) = (disk.join("archive"), disk.join("others"));
        let recorder = started(
            rig,
            &["-o", archive.to_str().expect("text"), "--segment-size", "1M", "--durable", "50ms", "--json"],
        );
        get("");
        wait_for("a segment", || fs::read_dir(&archive).is_ok_and(|all| all.count() > 1));
        // Another process fills the disk.
        let mut filler = fs::File::create(&others).expect("a file");
        while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
        drop(filler);
        get("big");
        recorder.wait_for_said("No space left on device");
        let said = recorder.said();
        assert!(said.contains(disk.to_str().expect("text")), "{said}");
        fs::remove_file(&others).expect("it goes");
        recorder.wait_for_said("recording goes on\n");
        get("big");
        rig::settle();
        std::thread::sleep(Duration::from_millis(200));
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0);
        let summary = &summary_of(&ended);
        // Packets that came meanwhile waited in memory.
        assert_eq!(summary["shed_packets"], 0, "{summary}");
        assert!(summary["written_bytes"].as_u64() > Some(2 << 20), "{summary}");
        let found: usize = archived(&archive).values().map(Vec::len).sum();
        assert_eq!(summary["written_packets"].as_u64(), Some(found as u64));
    });
}

#[test]
fn a_trigger_records_what_was_before_it() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let (archive, socket) = (rig.directory.path().join("archive"), rig.directory.path().join("control"));
        let (place, control) = (archive.to_str().expect("text"), socket.to_str().expect("text"));
        let words = ["-o", place, "--keep-last", "60s", "--keep-after", "1ms", "--control", control, "--json"];
        let recorder = started(rig, &words);
        get("");
        rig::settle();
        let fired = rig.here(&[env!("CARGO_BIN_EXE_tidewire"), "record", "trigger", control]);
        assert_eq!(fired, "recording\n");
        wait_for("a segment", || fs::read_dir(&archive).is_ok_and(|all| all.count() > 1));
        std::thread::sleep(Duration::from_millis(200));
        get("");
        rig::settle();
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0);
        let summary = &summary_of(&ended);
        let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
        // The first page is there, and what came later is not.
        assert!(number("written_packets") > 5 && number("filtered_packets") > 5, "{summary}");
        assert_eq!(number("received_packets"), number("written_packets") + number("filtered_packets"));
    });
}
