//! Analyzers of a sensor's queues get what `tidewire extract` writes, byte for byte: over files and interfaces, from the
//! confined process that a sensor captures with.

use std::{
    collections::BTreeMap,
    io::Write as _,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::Command,
    thread::{self, JoinHandle},
};

use sha2::{Digest as _, Sha256};
use tidewire_queue::{QueueEnd, Reader, records::gap_cause_name};
use tidewire_sensor::{
    QUEUES_SOCKET,
    config::{CaptureInput, Distribution, SensorConfig},
    report::{CaptureEvent, CaptureStatus},
};
use tidewire_testing::{Ends as _, InTime as _, Lines, Signal};

use crate::{
    common,
    rig::{self, HERE, Running, THERE_ADDRESS},
    sensor::{Rig, Seen, SeenStreams, attach, corpus, hostile, queue},
};

/// One direction: bytes, their SHA-256, gaps.
type Side = (u64, String, Vec<(u64, u64, String)>);
/// By stream and direction.
type Sides = BTreeMap<(u64, String), Side>;

/// Records that `tidewire extract` writes of captures: its own index, whose digests are of the files.
fn extracted(files: &[PathBuf]) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = common::command(&["extract", "-o", out.to_str().unwrap()]);
    let output = command.args(files).run_in_time().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let index = std::fs::read(out.join("index.jsonl")).unwrap();
    let lines = common::lines(&index);
    // A direction of which nothing was captured has a gap and no file.
    for (line, name) in lines.iter().filter_map(|line| Some((line, line["name"].as_str()?))) {
        let written = std::fs::read(out.join(name)).unwrap();
        assert_eq!(digest(&written), line["sha256"].as_str().unwrap());
    }
    lines
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn side_of(line: &serde_json::Value) -> Side {
    let gaps = line["gaps"].as_array().unwrap().iter();
    let gap = |gap: &serde_json::Value| {
        (gap[0].as_u64().unwrap(), gap[1].as_u64().unwrap(), gap[2].as_str().unwrap().to_owned())
    };
    (
        line["bytes"].as_u64().unwrap(),
        line["sha256"].as_str().map_or_else(|| digest(b""), str::to_owned),
        gaps.map(gap).collect(),
    )
}

fn expected(files: &[PathBuf]) -> Sides {
    let sides = extracted(files).into_iter().map(|line| {
        ((line["stream"].as_u64().unwrap(), line["direction"].as_str().unwrap().to_owned()), side_of(&line))
    });
    sides.collect()
}

fn sides(stream: &crate::sensor::SeenStream) -> impl Iterator<Item = (&'static str, Side)> {
    ["c2s", "s2c"].into_iter().enumerate().filter_map(|(at, name)| {
        let bytes = &stream.bytes[at];
        let mut gaps: Vec<(u64, u64, String)> = Vec::new();
        for gap in stream.gaps.iter().filter(|gap| gap.direction as usize == at) {
            let cause = gap_cause_name(gap.cause).unwrap().to_owned();
            match gaps.last_mut() {
                // The index has gaps of one cause that follow each other as one.
                Some(last) if last.0 + last.1 == gap.offset && last.2 == cause => last.1 += gap.bytes,
                _ => gaps.push((gap.offset, gap.bytes, cause)),
            }
        }
        (!bytes.is_empty() || !gaps.is_empty()).then(|| (name, (bytes.len() as u64, digest(bytes), gaps)))
    })
}

fn seen(streams: &SeenStreams) -> Sides {
    let all = streams.iter();
    all.flat_map(|(id, stream)| sides(stream).map(|(name, side)| ((*id, name.to_owned()), side))).collect()
}

#[test]
fn analyzers_see_every_byte_of_each_hostile_capture() {
    let files = hostile();
    let mut compared = 0;
    for file in &files {
        let mut streams = queue("streams");
        streams.wait_for = 1;
        let rig = Rig::new(std::slice::from_ref(file), vec![streams]);
        let mut running = rig.start();
        running.ready();
        let analyzer = rig.analyzer("streams", None).join().unwrap();
        running.finish();
        let expected = expected(std::slice::from_ref(file));
        assert_eq!(seen(&analyzer.streams), expected, "{}", file.display());
        compared += expected.len();
    }
    assert!(files.len() > 100 && compared > 150, "{} captures, {compared} directions", files.len());
}

#[test]
fn so_do_many_of_them_with_several_workers_and_queues() {
    let files = hostile();
    let expected = expected(&files);
    let ways = [
        (1, 1, 3, Distribution::FlowHash),
        (1, 8, 1, Distribution::FlowHash),
        (1, 32, 3, Distribution::FlowHash),
        (3, 8, 3, Distribution::FlowHash),
        (3, 8, 3, Distribution::RoundRobin),
        (8, 1, 1, Distribution::RoundRobin),
    ];
    for (count, readers, workers, distribution) in ways {
        let mut set = queue("set");
        (set.count, set.distribution, set.wait_for) = (count, distribution, readers);
        let rig = Rig::new(&files, vec![set]).workers(workers);
        let mut running = rig.start();
        running.ready();
        let name = |index| if count == 1 { "set".to_owned() } else { format!("set.{index}") };
        let of_queue = |index| (0..readers).map(|_| rig.analyzer(&name(index), None)).collect::<Vec<_>>();
        let analyzers: Vec<_> = (0..count).map(of_queue).collect();
        let mut union = Sides::new();
        for readers in analyzers {
            let mut all = readers.into_iter().map(|reader| seen(&reader.join().unwrap().streams));
            let first = all.next().unwrap();
            assert!(all.all(|other| other == first), "analyzers of a queue see the same");
            for (side, bytes) in first {
                assert!(union.insert(side, bytes).is_none(), "a stream is in one queue");
            }
        }
        running.finish();
        assert_eq!(union, expected, "{count} queues, {readers} readers each, {workers} workers");
    }
}

/// `tidewire sensor-capture` as the supervisor starts it.
struct Process {
    running: Running,
    events: Lines,
    _supervisor: UnixStream,
}

fn process(config: &SensorConfig) -> Process {
    let (mut here, there) = UnixStream::pair().unwrap();
    let mut command: Command = common::command(&["sensor-capture"]);
    command.stdin(OwnedFd::from(there));
    let running = Running::start(command);
    writeln!(here, "{}", serde_json::to_string(config).unwrap()).unwrap();
    Process { running, events: Lines::new(here.try_clone().unwrap()), _supervisor: here }
}

impl Process {
    fn wait_for(&self, is: impl Fn(&CaptureEvent) -> bool) -> Vec<CaptureEvent> {
        let mut before = Vec::new();
        loop {
            let line = self.events.next("an event").unwrap_or_else(|| panic!("it ended: {before:?}"));
            before.push(serde_json::from_str(&line).unwrap());
            if is(before.last().unwrap()) {
                return before;
            }
        }
    }

    fn ready(&self) {
        for event in self.wait_for(|event| matches!(event, CaptureEvent::Ready { .. })) {
            assert!(!matches!(event, CaptureEvent::Warning { .. }), "{event:?}");
        }
    }

    fn finish(self) -> CaptureStatus {
        let mut events =
            self.wait_for(|event| matches!(event, CaptureEvent::Finished(_) | CaptureEvent::Failed { .. }));
        let ended = self.running.wait();
        assert!(ended.status.success() && ended.said.is_empty(), "{}: {} {events:?}", ended.status, ended.said);
        match events.pop() {
            Some(CaptureEvent::Finished(status)) => status,
            other => panic!("{other:?}"),
        }
    }
}

fn analyzer(directory: &Path, queue: &str) -> JoinHandle<Seen> {
    let mut seen = Seen::new(Reader::attach(&directory.join(QUEUES_SOCKET), &attach(queue, None)).unwrap());
    thread::spawn(move || {
        while seen.step() {}
        seen
    })
}

/// With everything that a sensor's capture gives up given up.
#[test]
fn a_confined_process_serves_files() {
    let files = vec![corpus("demo"), corpus("tcp-gap"), corpus("pn-overlap-delivered")];
    let (mut streams, mut web) = (queue("streams"), queue("web"));
    web.filter = Some("port http".into());
    (streams.wait_for, web.wait_for) = (2, 1);
    let rig = Rig::new(&files, vec![streams, web]).workers(2);
    let process = process(&rig.config);
    process.ready();
    let analyzers = ["streams", "streams", "web"].map(|queue| analyzer(rig.directory.path(), queue));
    let [one, other, web] = analyzers.map(|analyzer| analyzer.join().unwrap());
    process.finish();
    let expected = expected(&files);
    assert_eq!(seen(&one.streams), expected);
    assert_eq!(seen(&other.streams), expected);
    assert!(!web.streams.is_empty() && web.streams.len() < one.streams.len());
    assert!(!rig.socket().exists(), "its socket is removed");
}

/// Real HTTP: what the client received is what every analyzer saw.
#[test]
fn analyzers_see_live_traffic() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let mut all = queue("all");
        all.memory_bytes = 16 << 20;
        let mut sensor = Rig::new(&[], vec![all]);
        sensor.config.capture.input = CaptureInput::Interfaces(vec![HERE.into()]);
        let process = process(&sensor.config);
        process.ready();
        let readers = [(); 3].map(|()| analyzer(sensor.directory.path(), "all"));
        let path = rig.directory.path().join("answer");
        let answers = ["", "big"].repeat(5).into_iter().map(|page| {
            let url = format!("http://{THERE_ADDRESS}/{page}");
            // With its headers: all bytes of the connection.
            rig.here(&["curl", "-s", "-i", "-o", path.to_str().unwrap(), &url]);
            (format!("GET /{page} "), digest(&std::fs::read(&path).unwrap()))
        });
        let mut expected: Vec<_> = answers.collect();
        expected.sort();
        rig::settle();
        process.running.signal(Signal::TERM);
        let seen = readers.map(|reader| reader.join().unwrap());
        let status = process.finish();
        for seen in &seen {
            let http = seen.streams.values().filter(|stream| stream.open.unwrap().key.server.port == 80);
            let mut found: Vec<_> = http
                .inspect(|stream| assert!(stream.gaps.is_empty() && stream.close.is_some(), "{:?}", stream.gaps))
                .map(|stream| {
                    let request = String::from_utf8_lossy(&stream.bytes[0]);
                    let line = request.split_inclusive(' ').take(2).collect::<String>();
                    (line, digest(&stream.bytes[1]))
                })
                .collect();
            found.sort();
            assert_eq!(found, expected);
            assert_eq!((seen.ended, seen.progress().read), (Some(QueueEnd::Finished), status.queues[0].records));
        }
        assert!(status.packets > 100 && status.dropped == 0, "{status:?}");
    });
}

/// SIGTERM while transfers go on: what was captured until then is delivered, each stream has its end, and nothing is missing.
#[test]
fn what_is_on_its_way_at_a_stop_is_delivered() {
    rig::run(&["nginx", "curl", "sh"], |rig| {
        rig.nginx();
        let mut sensor = Rig::new(&[], vec![queue("all")]);
        sensor.config.capture.input = CaptureInput::Interfaces(vec![HERE.into()]);
        let process = process(&sensor.config);
        process.ready();
        let reader = analyzer(sensor.directory.path(), "all");
        let transfers = format!("while curl -s -o /dev/null http://{THERE_ADDRESS}/big; do :; done");
        let mut transfers = Command::new("sh").args(["-c", &transfers]).spawn().unwrap();
        process.wait_for(|event| matches!(event, CaptureEvent::Status(status) if status.packets > 500));
        process.running.signal(Signal::TERM);
        let seen = reader.join().unwrap();
        let status = process.finish();
        transfers.kill().unwrap();
        transfers.wait_in_time("the transfers");
        assert_eq!((seen.ended, seen.progress().read), (Some(QueueEnd::Finished), status.queues[0].records));
        let mut frames = 0;
        let (mut whole, mut broken) = (0, 0);
        for stream in seen.streams.values() {
            let close = stream.close.as_ref().expect("each stream has its end");
            frames += close.figures.iter().map(|side| side.frames).sum::<u64>();
            if stream.open.unwrap().key.server.port == 80 {
                assert!(stream.gaps.is_empty(), "{:?}", stream.gaps);
                let answer = &stream.bytes[1];
                assert_eq!(answer.len() as u64, close.figures[1].reassembled_bytes, "every byte of its packets");
                let body = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |at| answer.len() - at - 4);
                *if body == 1 << 20 { &mut whole } else { &mut broken } += 1;
            }
        }
        assert!(whole >= 1, "{whole} whole, {broken} broken");
        // All but a few ARP packets are in streams.
        assert!((frames..frames + 20).contains(&status.packets), "{frames} of {} packets", status.packets);
        assert_eq!(status.dropped, 0);
    });
}

/// A cutoff takes effect in the kernel, and analyzers find what it withheld as a gap, to the byte.
#[test]
fn analyzers_see_what_a_cutoff_leaves() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let mut begin = queue("begin");
        begin.cutoff_bytes = Some(1000);
        let mut sensor = Rig::new(&[], vec![begin]);
        sensor.config.capture.input = CaptureInput::Interfaces(vec![HERE.into()]);
        let process = process(&sensor.config);
        process.ready();
        let reader = analyzer(sensor.directory.path(), "begin");
        rig.here(&["curl", "-s", "-o", "/dev/null", &format!("http://{THERE_ADDRESS}/big")]);
        rig::settle();
        process.running.signal(Signal::TERM);
        let seen = reader.join().unwrap();
        process.finish();
        let is_http = |stream: &&crate::sensor::SeenStream| stream.open.is_some_and(|open| open.key.server.port == 80);
        let stream = seen.streams.values().find(is_http).expect("the request");
        assert!(stream.bytes[0].starts_with(b"GET /big ") && stream.bytes[1].starts_with(b"HTTP/1.1 200 OK"));
        assert_eq!(stream.bytes[1].len(), 1000);
        let close = stream.close.expect("it ended");
        let [gap] = stream.gaps.as_slice() else { panic!("{:?}", stream.gaps) };
        assert_eq!((gap.offset, gap_cause_name(gap.cause)), (1000, Some("cutoff")));
        assert!(1000 + gap.bytes > 1 << 20 && close.end_offset[1] == 1000 + gap.bytes, "{gap:?}");
        // A busy machine's server sends some of it again.
        let on_wire = close.figures[1].payload_wire_bytes;
        assert!((1000 + gap.bytes..1000 + gap.bytes + (1 << 16)).contains(&on_wire), "{on_wire} of {gap:?}");
    });
}
