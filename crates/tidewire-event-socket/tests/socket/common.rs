//! A server on a thread that stores in memory, when it is configured to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tempfile::TempDir;
use tidewire_event_socket::{AnalyzerCounts, Received, Server, ServerEvent, ServerSettings};
use tidewire_events::{Event, Value};

/// State that outlives a server: as a store does.
#[derive(Default)]
pub struct Disk {
    pub events: Vec<Event>,
    pub positions: BTreeMap<String, u64>,
    pub delivered: Vec<(String, u64)>,
    pub destinations: Vec<String>,
    pub happened: Vec<ServerEvent>,
    pub counts: Vec<AnalyzerCounts>,
}

pub struct Rig {
    pub folder: TempDir,
    pub disk: Arc<Mutex<Disk>>,
    /// Whether what is received is stored, and acknowledged.
    pub stores: Arc<AtomicBool>,
}

pub struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Rig {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, disk: Arc::default(), stores: Arc::new(AtomicBool::new(true)) }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("events.sock")
    }

    pub fn start(&self) -> Running {
        self.start_with(ServerSettings::default(), None)
    }

    /// Starts a server. What it has received and not stored is lost with it.
    pub fn start_with(&self, settings: ServerSettings, pair: Option<std::os::fd::OwnedFd>) -> Running {
        let mut server = Server::bind(&self.path(), settings).unwrap();
        server.restore(self.disk.lock().unwrap().positions.clone());
        if let Some(pair) = pair {
            server.adopt(pair).unwrap();
        }
        let (disk, stores) = (Arc::clone(&self.disk), Arc::clone(&self.stores));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut waiting = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let happened = server.turn(Duration::from_millis(1), &mut |received| match received {
                    Received::Event(message) => waiting.push(message.event().unwrap()),
                    Received::Delivered { destination, id } => {
                        disk.lock().unwrap().delivered.push((destination.to_owned(), id));
                    }
                    Received::Destinations(names) => disk.lock().unwrap().destinations = names.to_vec(),
                    _ => {}
                });
                let mut disk = disk.lock().unwrap();
                disk.happened.extend(happened.unwrap());
                disk.counts = server.counts();
                if stores.load(Ordering::Relaxed) && server.has_news() {
                    let taken = server.take();
                    disk.events.append(&mut waiting);
                    disk.positions.extend(taken.positions.iter().cloned());
                    taken.over.iter().for_each(|name| {
                        disk.positions.remove(name);
                    });
                    server.acknowledge(&taken);
                }
            }
        });
        Running { stop, thread: Some(thread) }
    }

    /// Numbers of the events that are stored, of an analyzer.
    pub fn numbers(&self, analyzer: &str) -> Vec<u64> {
        let disk = self.disk.lock().unwrap();
        disk.events.iter().filter(|event| event.analyzer == analyzer).filter_map(number_of).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

pub fn event(analyzer: &str, number: u64) -> Event {
    let event = Event { time_ns: number, analyzer: analyzer.into(), kind: "test".into(), ..Event::default() };
    event.with("number", Value::U64(number))
}

fn number_of(event: &Event) -> Option<u64> {
    event.fields.iter().find_map(|field| match field.value {
        Value::U64(number) if field.name == "number" => Some(number),
        _ => None,
    })
}

/// A raw connection.
pub fn raw(path: &Path) -> std::os::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}
