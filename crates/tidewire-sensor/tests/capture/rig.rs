//! A capture within the test's process, analyzers that are threads, and what they saw.
#![allow(dead_code, reason = "tests of the command use it as well")]

use std::{
    collections::BTreeMap,
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use tempfile::TempDir;
use tidewire::Stop;
use tidewire_queue::{
    Attach, Next, Progress, QueueEnd, Reader,
    records::{Close, Direction, Event, Gap, Open, PacketHeader},
};
use tidewire_sensor::{
    QUEUES_SOCKET,
    capture::{self, Emit},
    config::{CaptureConfig, CaptureInput, Distribution, QueueConfig, SensorConfig, SlowReaders, Unit},
    report::{CaptureEvent, CaptureStatus},
};
use tidewire_testing::Lines;

/// A capture of the repository's corpus.
pub fn corpus(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.unwrap().path());
    let is_capture = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".pcap"));
    files.into_iter().find(is_capture).unwrap_or_else(|| panic!("{}: no capture", folder.display()))
}

/// Captures with gaps, overlaps, conflicts, fragments, reused connections: several hundred streams together.
pub fn hostile() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kinds = ["demo", "pn-", "tcp-", "fragments-", "layer-", "link-", "tunnel-"];
    let mut names: Vec<String> = entries.filter(|name| kinds.iter().any(|kind| name.starts_with(kind))).collect();
    names.sort();
    names.iter().map(|name| corpus(name)).collect()
}

/// A queue that holds for its readers, with room for little: readers and the producer meet.
pub fn queue(name: &str) -> QueueConfig {
    QueueConfig {
        name: name.into(),
        unit: Unit::Streams,
        count: 1,
        distribution: Distribution::FlowHash,
        filter: None,
        cutoff_bytes: None,
        chunk_bytes: 0,
        flush: Duration::ZERO,
        priority: 0,
        classes: Vec::new(),
        memory_bytes: 1 << 16,
        records: 1 << 10,
        slow: SlowReaders::Hold(None),
        wait_for: 0,
    }
}

/// A sensor over these files, in a directory of its own.
pub struct Rig {
    pub directory: TempDir,
    pub config: SensorConfig,
}

impl Rig {
    pub fn new(files: &[PathBuf], queues: Vec<QueueConfig>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let capture = CaptureConfig {
            input: CaptureInput::Files(files.to_vec()),
            filter: None,
            workers: 1,
            memory_bytes: None,
            ring_bytes: None,
            snap_bytes: None,
            tap: false,
            promiscuous: true,
            sandbox: true,
            nice: 0,
        };
        let config = SensorConfig {
            directory: directory.path().to_owned(),
            metrics: None,
            users: Vec::new(),
            capture,
            queues,
            analyzers: Vec::new(),
            events: None,
            inline: None,
            spool: None,
            records: None,
            record: None,
            stop: Duration::from_secs(10),
        };
        Self { directory, config }
    }

    pub fn workers(mut self, count: usize) -> Self {
        self.config.capture.workers = count;
        self
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(QUEUES_SOCKET)
    }

    /// Starts it.
    pub fn start(&self) -> Running {
        self.start_as(capture::run_within)
    }

    /// Starts it with the analyzers of its configuration.
    pub fn start_emitting(&self, emit: Arc<dyn Emit>) -> Running {
        self.start_as(move |config, events, stop| capture::run_emitting(config, events, stop, emit))
    }

    fn start_as(&self, run: impl FnOnce(&SensorConfig, OwnedFd, &Stop) -> u8 + Send + 'static) -> Running {
        let (here, there) = UnixStream::pair().unwrap();
        let (config, stop) = (self.config.clone(), Stop::new());
        let stopped = stop.clone();
        let thread = thread::spawn(move || run(&config, there.into(), &stopped));
        Running { events: Lines::new(here.try_clone().unwrap()), here, stop, thread, seen: Vec::new() }
    }

    /// Starts an analyzer that reads to the end.
    pub fn analyzer(&self, queue: &str, group: Option<&str>) -> JoinHandle<Seen> {
        let (socket, request) = (self.socket(), attach(queue, group));
        thread::spawn(move || {
            let mut seen = Seen::new(Reader::attach(&socket, &request).unwrap());
            while seen.step() {}
            seen
        })
    }
}

pub fn attach(queue: &str, group: Option<&str>) -> Attach {
    let request = Attach::new(queue, "test");
    match group {
        Some(group) => request.in_group(group),
        None => request,
    }
}

/// A running capture.
pub struct Running {
    events: Lines,
    here: UnixStream,
    pub stop: Stop,
    thread: JoinHandle<u8>,
    pub seen: Vec<CaptureEvent>,
}

impl Running {
    /// Reads events until one that `is`.
    pub fn wait_for(&mut self, what: &str, mut is: impl FnMut(&CaptureEvent) -> bool) -> CaptureEvent {
        loop {
            let event = self.next().unwrap_or_else(|| panic!("{what}: it does not come: {:?}", self.seen));
            if is(&event) {
                return event;
            }
        }
    }

    pub fn ready(&mut self) {
        self.wait_for("ready", |event| matches!(event, CaptureEvent::Ready { .. }));
    }

    fn next(&mut self) -> Option<CaptureEvent> {
        let line = self.events.next("an event")?;
        let event: CaptureEvent = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.seen.push(event.clone());
        Some(event)
    }

    /// Goes away, as a supervisor does that dies.
    pub fn leave(self) -> JoinHandle<u8> {
        let Self { thread, here, .. } = self;
        here.shutdown(Shutdown::Both).unwrap();
        thread
    }

    /// Waits for its end. Its last figures.
    pub fn finish(self) -> (CaptureStatus, Vec<CaptureEvent>) {
        self.finish_with(0)
    }

    /// As `finish`, with this exit code.
    pub fn finish_with(mut self, expected: u8) -> (CaptureStatus, Vec<CaptureEvent>) {
        while self.next().is_some() {}
        let code = self.thread.join().unwrap();
        match self.seen.last() {
            Some(CaptureEvent::Finished(status)) if code == expected => (status.clone(), self.seen),
            _ => panic!("it failed with {code}: {:?}", self.seen),
        }
    }

    /// Waits for its failure: the exit code and the text.
    pub fn failure(mut self) -> (u8, String) {
        while self.next().is_some() {}
        match self.seen.pop() {
            Some(CaptureEvent::Failed { text, hint }) => {
                (self.thread.join().unwrap(), text + &hint.unwrap_or_default())
            }
            last => panic!("it did not fail: {last:?}"),
        }
    }
}

/// An analyzer's view of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenStream {
    pub open: Option<Open>,
    /// Where the analyzer began to see each direction.
    pub begin: [u64; 2],
    /// Bytes of the longest chunk.
    pub longest: usize,
    pub bytes: [Vec<u8>; 2],
    /// Offset behind the last byte or gap of each direction.
    pub next: [u64; 2],
    pub gaps: Vec<Gap>,
    pub conflicts: Vec<(u8, u64, u64)>,
    pub datagrams: [u64; 2],
    pub close: Option<Close>,
}

/// By id.
pub type SeenStreams = BTreeMap<u64, SeenStream>;

/// A packet.
pub struct Packet {
    pub stream: u64,
    pub direction: Direction,
    /// Why it belongs to no stream.
    pub code: u8,
    pub header: PacketHeader,
    pub bytes: Vec<u8>,
}

/// An analyzer and what it saw.
pub struct Seen {
    reader: Reader,
    payload: Vec<u8>,
    pub streams: SeenStreams,
    pub ended: Option<QueueEnd>,
    pub packets: Vec<Packet>,
}

impl Seen {
    pub fn new(reader: Reader) -> Self {
        Self { reader, payload: Vec::new(), streams: BTreeMap::new(), ended: None, packets: Vec::new() }
    }

    pub fn progress(&self) -> Progress {
        self.reader.progress()
    }

    pub fn first(&self) -> u64 {
        self.reader.first()
    }

    /// Detaches.
    pub fn leave(self) -> SeenStreams {
        self.streams
    }

    pub fn sequence(&self) -> u64 {
        self.reader.sequence()
    }

    pub fn published(&self) -> u64 {
        self.reader.published()
    }

    /// Reads one record. `false`: the queue has ended.
    pub fn step(&mut self) -> bool {
        self.read(Duration::from_millis(100), true)
    }

    /// As `step`, where others have to read before there is more.
    pub fn step_briefly(&mut self) -> bool {
        self.read(Duration::from_micros(100), true)
    }

    /// As `step`, of a queue in which records are lost: what follows from what is not looked at.
    pub fn step_lossy(&mut self) -> bool {
        self.read(Duration::from_millis(100), false)
    }

    fn read(&mut self, timeout: Duration, is_whole: bool) -> bool {
        self.payload.clear();
        match self.reader.next_timeout(&mut self.payload, timeout).unwrap() {
            Next::Record(record) => {
                match Event::new(&record, &self.payload).expect("a record of this version") {
                    Event::Packet { direction, header, bytes } => {
                        let (stream, bytes) = (record.stream, bytes.to_vec());
                        self.packets.push(Packet { stream, direction, code: record.code(), header, bytes });
                    }
                    event if is_whole => self.streams.entry(record.stream).or_default().note(event),
                    Event::Close(close) => self.streams.entry(record.stream).or_default().close = Some(close),
                    _ => {}
                }
                true
            }
            Next::Ended(ended) => {
                self.ended = Some(ended);
                false
            }
            Next::Missed(_) | Next::Lost { .. } => {
                assert!(!is_whole, "something was lost");
                true
            }
            _ => true,
        }
    }
}

impl SeenStream {
    /// Without what depends on the order in which workers open streams.
    pub fn without_ordinal(&self) -> Self {
        let open = self.open.map(|open| Open { ordinal: 0, ..open });
        let close = self.close.map(|close| Close { ordinal: 0, ..close });
        Self { open, close, ..self.clone() }
    }

    fn note(&mut self, event: Event<'_>) {
        match event {
            Event::Open { open, is_repeated } => {
                assert!(self.close.is_none(), "an open after the close");
                if self.open.is_none() {
                    (self.next, self.begin) = (open.next_offset, open.next_offset);
                    self.open = Some(open);
                } else {
                    assert!(is_repeated && open.next_offset == self.next, "{open:?} {:?}", self.next);
                }
            }
            Event::Data { direction, offset, bytes, repeated_bytes, is_datagram } => {
                let at = direction as usize;
                assert!(self.open.is_some() && self.close.is_none());
                assert_eq!(offset + repeated_bytes as u64, self.next[at], "bytes follow one another");
                self.longest = self.longest.max(bytes.len());
                let (repeated, fresh) = bytes.split_at(repeated_bytes);
                assert!(self.bytes[at].ends_with(repeated), "repeated bytes are those before");
                self.bytes[at].extend_from_slice(fresh);
                self.next[at] += fresh.len() as u64;
                self.datagrams[at] += u64::from(is_datagram);
            }
            Event::Gap(gap) => {
                assert_eq!(gap.offset, self.next[gap.direction as usize]);
                self.next[gap.direction as usize] += gap.bytes;
                self.gaps.push(gap);
            }
            Event::Conflict(conflict) => {
                self.conflicts.push((conflict.direction as u8, conflict.offset, conflict.bytes));
            }
            Event::Close(close) => {
                assert_eq!(close.end_offset, self.next);
                assert_eq!(Some(close.ordinal), self.open.map(|open| open.ordinal));
                self.close = Some(close);
            }
            other => panic!("{other:?}"),
        }
    }
}
