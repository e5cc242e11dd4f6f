//! A store with events, an authority, a collector and a spooler, each in this process.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tempfile::TempDir;
use tidewire_delivery::{
    CollectorSettings, DestinationSettings, DestinationStatus, Settings, SpoolReport, To,
    collector::{CollectSettings, Server},
    keys::{Authority, Places, Validity, files},
    run_within,
};
use tidewire_event_store::{Batch, Query, Reader, Store};
use tidewire_events::{Event, FlowKey, Folder, FolderSettings, Output, Record, Severity, Value};
use tidewire_testing::wait_until;

pub const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// Bytes that must not be found in files where events are encrypted.
pub const EXCERPT: &[u8] = b"GET /secret-of-the-excerpt";
pub const ADDRESS: &str = "203.0.113.77";

/// Keys of one authority, made once for all tests.
pub struct Keys {
    pub folder: TempDir,
    pub authority: Authority,
}

pub fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (authority, text) = Authority::make("tests", Validity::of(YEAR)).unwrap();
        files::create(&folder.path().join("authority.pem"), &text).unwrap();
        let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let text = authority.collector(&hosts, Validity::of(YEAR)).unwrap();
        files::create(&folder.path().join("collector.pem"), &text).unwrap();
        for name in ["edge-1", "edge-2", "edge-3"] {
            let text = authority.sensor(name, Validity::of(YEAR)).unwrap();
            files::create(&folder.path().join(format!("{name}.pem")), &text).unwrap();
        }
        Keys { folder, authority }
    })
}

/// The file of a sensor, or `collector`.
pub fn key_file(name: &str) -> PathBuf {
    keys().folder.path().join(format!("{name}.pem"))
}

pub fn places(path: PathBuf) -> Places {
    Places { keys: Some(path), ..Places::default() }
}

/// An event that differs from all others.
pub fn event(number: u64) -> Event {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = FlowKey {
        protocol: 6,
        client_addr: ADDRESS.parse().unwrap(),
        server_addr: [192, 0, 2, 9].into(),
        server_port: mixed as u16,
        ..FlowKey::default()
    };
    let event = Event {
        time_ns: 1_800_000_000_000_000_000 + number * 1000,
        analyzer: "test".into(),
        kind: if number.is_multiple_of(2) { "even" } else { "uneven" }.into(),
        severity: Severity::ALL[(number % 5) as usize],
        key: Some(key),
        excerpt: Some(EXCERPT.to_vec()),
        ..Event::default()
    };
    event.with("number", Value::U64(number)).with("text", Value::Text(format!("{mixed:016x}")))
}

/// Each event as a record of its own.
pub fn records(numbers: std::ops::Range<u64>) -> Vec<Record> {
    let one = |number| {
        let mut folder = Folder::new(FolderSettings::default(), [0; 2], number, number);
        let mut out = Output::default();
        folder.push_event(0, &event(number), &mut out).unwrap();
        folder.close_all(&mut out).unwrap();
        out.records.remove(0)
    };
    numbers.map(one).collect()
}

pub fn batch(numbers: std::ops::Range<u64>) -> Batch {
    Batch { records: records(numbers), ..Batch::default() }
}

pub fn open(path: &Path) -> Store {
    Store::open(path).unwrap().0
}

/// The numbers of all events in a store, in the order in which they were stored; each is compared with what it was.
pub fn numbers(path: &Path) -> Vec<u64> {
    let Ok(reader) = Reader::open(path) else { return Vec::new() };
    let (mut numbers, mut after) = (Vec::new(), 0);
    loop {
        let rows = reader.rows(&Query { after, ..Query::default() }, 1000, 1 << 20).unwrap();
        let Some(last) = rows.last() else { return numbers };
        after = last.id;
        for row in rows {
            for (_, found) in row.record().unwrap().expect("a plain record").events().unwrap() {
                let Value::U64(number) = found.fields[0].value else { panic!("{found:?}") };
                assert_eq!(found, event(number));
                numbers.push(number);
            }
        }
    }
}

/// How many events a store has.
pub fn count(path: &Path) -> u64 {
    Reader::open(path).and_then(|reader| reader.counts()).map_or(0, |counts| counts.1)
}

/// Lines of a log.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits for a line with this text.
    pub fn until(&self, text: &str) -> String {
        let find = || self.all().into_iter().find(|line| line.contains(text));
        wait_until(&format!("'{text}' in the log"), || find().is_some());
        find().unwrap()
    }
}

/// A collector.
pub struct Collecting {
    pub server: Server,
    pub log: Log,
    pub store: PathBuf,
}

impl Collecting {
    pub fn settings(store: &Path) -> CollectSettings {
        CollectSettings::new(vec!["127.0.0.1:0".parse().unwrap()], store.to_owned(), places(key_file("collector")))
    }

    pub fn with(settings: CollectSettings) -> Self {
        let (log, store) = (Log::default(), settings.store.clone());
        let of = log.clone();
        let server = Server::start(settings, move |line| of.add(line)).unwrap();
        Self { server, log, store }
    }

    pub fn start(store: &Path) -> Self {
        Self::with(Self::settings(store))
    }

    /// At an address that was in use before.
    pub fn start_at(store: &Path, address: SocketAddr) -> Self {
        Self::with(CollectSettings { listen: vec![address], ..Self::settings(store) })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.addresses()[0]
    }

    /// The store of a sensor.
    pub fn of(&self, sensor: &str) -> PathBuf {
        self.store.join(sensor).join("events.db")
    }
}

pub fn to_collector(name: &str, address: &str, keys: PathBuf) -> DestinationSettings {
    let to = To::Collector(CollectorSettings {
        address: address.to_owned(),
        keys: Some(keys),
        certificate: None,
        key: None,
        authority: None,
        server_name: None,
        timeout: Duration::from_secs(20),
    });
    destination(name, to)
}

pub fn destination(name: &str, to: To) -> DestinationSettings {
    DestinationSettings {
        name: name.to_owned(),
        severity: "info".into(),
        kinds: Vec::new(),
        analyzers: Vec::new(),
        retry_max: Duration::from_millis(200),
        to,
    }
}

/// A spooler.
pub struct Spooling {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u8>>,
    reader: Option<JoinHandle<()>>,
    statuses: Arc<Mutex<Vec<DestinationStatus>>>,
    damage: Log,
    pub log: Log,
}

impl Spooling {
    pub fn start(store: &Path, destinations: Vec<DestinationSettings>) -> Self {
        Self::with(Self::settings(store, destinations))
    }

    pub fn settings(store: &Path, destinations: Vec<DestinationSettings>) -> Settings {
        let stop = Duration::from_secs(10);
        Settings { store: store.to_owned(), socket: None, stop, nice: 0, sandbox: false, destinations }
    }

    pub fn with(settings: Settings) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let of = Arc::clone(&stop);
        let thread = std::thread::spawn(move || run_within(settings, theirs.into(), &of));
        let (log, statuses) = (Log::default(), Arc::<Mutex<Vec<DestinationStatus>>>::default());
        let damage = Log::default();
        let (lines, found, of) = (log.clone(), damage.clone(), Arc::clone(&statuses));
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(ours).lines().map_while(Result::ok) {
                match serde_json::from_str(&line).expect("a report") {
                    SpoolReport::Status(status) | SpoolReport::Finished(status) => {
                        for one in status.destinations.iter().filter_map(|one| one.failing.as_ref()) {
                            lines.add(one);
                        }
                        *of.lock().unwrap() = status.destinations;
                    }
                    SpoolReport::Warning { text } => lines.add(&text),
                    SpoolReport::Damaged { text } => found.add(&text),
                    SpoolReport::Failed { text, .. } => lines.add(&text),
                    SpoolReport::Ready => {}
                }
            }
        });
        Self { stop, thread: Some(thread), reader: Some(reader), statuses, damage, log }
    }

    pub fn status(&self, name: &str) -> DestinationStatus {
        let all = self.statuses.lock().unwrap();
        all.iter().find(|one| one.name == name).cloned().unwrap_or_default()
    }

    pub fn until(&self, what: &str, name: &str, holds: impl Fn(&DestinationStatus) -> bool) {
        wait_until(what, || holds(&self.status(name)));
    }

    pub fn stop(mut self) -> u8 {
        self.end().unwrap()
    }

    /// Its reports of damage of its store.
    pub fn damage(&self) -> Vec<String> {
        self.damage.all()
    }

    /// Ends it; its last figures.
    pub fn last(mut self, name: &str) -> DestinationStatus {
        self.end();
        self.reader.take().unwrap().join().unwrap();
        self.status(name)
    }

    fn end(&mut self) -> Option<u8> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(|thread| thread.join().unwrap())
    }
}

impl Drop for Spooling {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a file or folder contains these bytes anywhere.
pub fn contains(path: &Path, needle: &[u8]) -> bool {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().any(|entry| contains(&entry.unwrap().path(), needle));
    }
    fs::read(path).unwrap().windows(needle.len()).any(|window| window == needle)
}
