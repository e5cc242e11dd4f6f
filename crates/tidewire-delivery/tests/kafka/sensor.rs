//! A stand-in for a sensor: a store, where positions are kept, and a spooler as a process of its own.

use std::{
    io::{BufRead as _, BufReader},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{JoinHandle, spawn},
    time::Duration,
};

use rustix::process::Signal;
use tempfile::TempDir;
use tidewire_delivery::{DestinationSettings, DestinationStatus, KafkaSettings, Settings, SpoolReport, To};
use tidewire_event_socket::{Received, Server, ServerSettings};
use tidewire_event_store::{Batch, Reader, Store};
use tidewire_testing::{Ends as _, signal, wait_until};

/// The settings of a spooler that is a process.
const SETTINGS: &str = "TIDEWIRE_TEST_SPOOL";

/// The store, and a thread that writes it.
pub struct Sensor {
    folder: TempDir,
    batches: Option<Sender<Batch>>,
    thread: Option<JoinHandle<()>>,
}

/// Writes what comes, and positions as the event processor does.
fn write(mut store: Store, mut server: Server, batches: &Receiver<Batch>) {
    loop {
        let mut batch = match batches.try_recv() {
            Ok(batch) => batch,
            Err(std::sync::mpsc::TryRecvError::Empty) => Batch::default(),
            Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
        };
        let mut positions = Vec::new();
        server
            .turn(Duration::from_millis(5), &mut |received| {
                if let Received::Delivered { destination, id } = received {
                    positions.push((destination.to_owned(), id));
                }
            })
            .unwrap();
        batch.destinations = positions;
        store.append(&batch).unwrap();
    }
}

impl Sensor {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("events.db")).unwrap().0;
        let server = Server::bind(&folder.path().join("events.sock"), ServerSettings::default()).unwrap();
        let (batches, of) = channel();
        let thread = spawn(move || write(store, server, &of));
        Self { folder, batches: Some(batches), thread: Some(thread) }
    }

    pub fn append(&self, batch: Batch) {
        self.batches.as_ref().unwrap().send(batch).unwrap();
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("events.db")
    }

    pub fn id(&self) -> String {
        let id = Reader::open(&self.store()).unwrap().store_id().unwrap();
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn settings(&self, destinations: Vec<DestinationSettings>) -> Settings {
        let socket = Some(self.folder.path().join("events.sock"));
        Settings { store: self.store(), socket, stop: Duration::from_secs(20), nice: 0, sandbox: false, destinations }
    }

    /// Waits until a destination has everything, by the store's account.
    pub fn wait_for(&self, name: &str, records: u64) {
        let reader = Reader::open(&self.store()).unwrap();
        wait_until("the position of the destination", || {
            let all = reader.destinations().unwrap();
            let position = all.iter().find(|one| one.name == name).map_or(0, |one| one.delivered);
            position >= records && reader.last_id().unwrap() == records
        });
    }
}

impl Drop for Sensor {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn destination(name: &str, to: KafkaSettings) -> DestinationSettings {
    DestinationSettings {
        name: name.to_owned(),
        severity: "info".into(),
        kinds: Vec::new(),
        analyzers: Vec::new(),
        retry_max: Duration::from_millis(300),
        to: To::Kafka(to),
    }
}

/// A spooler as a process.
pub struct Spooler {
    process: Child,
    statuses: Arc<Mutex<Vec<DestinationStatus>>>,
    failed: Arc<AtomicBool>,
}

impl Spooler {
    pub fn start(settings: &Settings) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_spooler_as_a_process", "--ignored", "--nocapture"]);
        command.env(SETTINGS, serde_json::to_string(settings).unwrap());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let process = command.spawn().unwrap();
        let (statuses, failed) = (Arc::<Mutex<Vec<DestinationStatus>>>::default(), Arc::<AtomicBool>::default());
        let (of, has_failed) = (Arc::clone(&statuses), Arc::clone(&failed));
        spawn(move || {
            for line in BufReader::new(ours).lines().map_while(Result::ok) {
                match serde_json::from_str(&line).expect("a report") {
                    SpoolReport::Status(status) | SpoolReport::Finished(status) => {
                        *of.lock().unwrap() = status.destinations
                    }
                    SpoolReport::Failed { text, .. } => {
                        println!("the spooler failed: {text}");
                        has_failed.store(true, Ordering::Relaxed);
                    }
                    SpoolReport::Warning { text } | SpoolReport::Damaged { text } => {
                        println!("the spooler warns: {text}")
                    }
                    SpoolReport::Ready => {}
                }
            }
        });
        Self { process, statuses, failed }
    }

    pub fn status(&self, name: &str) -> DestinationStatus {
        let all = self.statuses.lock().unwrap();
        all.iter().find(|one| one.name == name).cloned().unwrap_or_default()
    }

    /// Waits until the destination says why it does not deliver, with all these words.
    pub fn wait_for_failing(&self, name: &str, words: &[&str]) {
        let says = || self.status(name).failing.unwrap_or_default();
        wait_until(&format!("{name} says {words:?}"), || words.iter().all(|word| says().contains(word)));
    }

    /// Time of a core that it has taken.
    pub fn cpu_seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    pub fn kill(mut self) {
        assert!(!self.failed.load(Ordering::Relaxed));
        self.process.kill().unwrap();
        self.process.wait_in_time("the spooler");
    }

    /// Ends it in good order.
    pub fn stop(mut self) {
        signal(&self.process, Signal::TERM);
        self.process.wait_in_time("the spooler");
    }
}

impl Drop for Spooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether a file or folder contains these bytes anywhere.
pub fn contains(path: &Path, needle: &[u8]) -> bool {
    if path.is_dir() {
        return std::fs::read_dir(path).unwrap().any(|entry| contains(&entry.unwrap().path(), needle));
    }
    std::fs::read(path).unwrap().windows(needle.len()).any(|window| window == needle)
}

/// Not a test: what [`Spooler::start`] starts.
pub fn run() {
    let Ok(settings) = std::env::var(SETTINGS) else { return };
    let settings: Settings = serde_json::from_str(&settings).unwrap();
    let report = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    std::process::exit(tidewire_delivery::main(settings, report, |_| Vec::new()).into());
}
