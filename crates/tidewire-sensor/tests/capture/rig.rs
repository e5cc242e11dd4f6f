//! A capture within the test's process, analyzers that are threads, and what they saw.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::Duration,
};

use tempfile::TempDir;
use tidewire::Stop;
use tidewire_queue::{
    Attach, Ended, Next, Progress, Reader,
    records::{Close, Direction, Event, Gap, Open},
};
use tidewire_sensor::{
    QUEUES_SOCKET, capture,
    config::{CaptureConfig, CaptureInput, Distribution, QueueConfig, SensorConfig, SlowReaders, Unit},
    report::{CaptureEvent, CaptureStatus},
};

/// A capture of the repository's corpus.
pub fn corpus(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.unwrap().path());
    let is_capture = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".pcap"));
    files.into_iter().find(is_capture).unwrap_or_else(|| panic!("{}: no capture", folder.display()))
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
        let (here, there) = UnixStream::pair().unwrap();
        let (config, stop) = (self.config.clone(), Stop::new());
        let stopped = stop.clone();
        let thread = thread::spawn(move || capture::run_within(&config, there.into(), &stopped));
        Running { events: BufReader::new(here), stop, thread, seen: Vec::new() }
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
    events: BufReader<UnixStream>,
    pub stop: Stop,
    thread: JoinHandle<u8>,
    pub seen: Vec<CaptureEvent>,
}

impl Running {
    /// Reads events until one that `is`.
    pub fn wait_for(&mut self, what: &str, is: impl Fn(&CaptureEvent) -> bool) -> CaptureEvent {
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
        let mut line = String::new();
        if self.events.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let event: CaptureEvent = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.seen.push(event.clone());
        Some(event)
    }

    /// Waits for its end. Its last figures.
    pub fn finish(mut self) -> (CaptureStatus, Vec<CaptureEvent>) {
        while self.next().is_some() {}
        let code = self.thread.join().unwrap();
        match self.seen.last() {
            Some(CaptureEvent::Finished(status)) if code == 0 => (status.clone(), self.seen),
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

/// What an analyzer knows of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenStream {
    pub open: Option<Open>,
    pub bytes: [Vec<u8>; 2],
    /// Offset behind the last byte or gap of each direction.
    pub next: [u64; 2],
    pub gaps: Vec<Gap>,
    pub conflicts: Vec<(u8, u64, u64)>,
    pub datagrams: [u64; 2],
    pub close: Option<Close>,
}

/// An analyzer and what it saw.
pub struct Seen {
    reader: Reader,
    payload: Vec<u8>,
    pub streams: BTreeMap<u64, SeenStream>,
    pub ended: Option<Ended>,
    /// Packets: number, stream, direction, offsets, bytes.
    pub packets: Vec<(tidewire_queue::records::PacketHeader, u64, Direction, Vec<u8>)>,
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

    /// Reads one record. `false`: the queue has ended.
    pub fn step(&mut self) -> bool {
        self.payload.clear();
        match self.reader.next_timeout(&mut self.payload, Duration::from_millis(100)).unwrap() {
            Next::Record(record) => {
                let stream = self.streams.entry(record.stream);
                match Event::new(&record, &self.payload).expect("a record of this version") {
                    Event::Packet { direction, header, bytes } => {
                        self.packets.push((header, record.stream, direction, bytes.to_vec()));
                    }
                    event => stream.or_default().note(event),
                }
                true
            }
            Next::Ended(ended) => {
                self.ended = Some(ended);
                false
            }
            _ => true,
        }
    }
}

impl SeenStream {
    fn note(&mut self, event: Event<'_>) {
        match event {
            Event::Open { open, is_repeated } => {
                assert!(self.close.is_none(), "an open after the close");
                if self.open.is_none() {
                    self.next = open.next_offset;
                } else {
                    assert!(is_repeated && open.next_offset == self.next, "{open:?} {:?}", self.next);
                }
                self.open = Some(open);
            }
            Event::Data { direction, offset, bytes, repeated_bytes, is_datagram } => {
                let at = direction as usize;
                assert!(self.open.is_some() && self.close.is_none());
                assert_eq!(offset + repeated_bytes as u64, self.next[at], "bytes follow one another");
                let (repeated, fresh) = bytes.split_at(repeated_bytes);
                assert!(self.bytes[at].ends_with(repeated));
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
