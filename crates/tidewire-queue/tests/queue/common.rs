//! A folder, servers, and readers.

use std::{
    env,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use tidewire_queue::{Attach, Error, Geometry, Next, Publisher, QueueSettings, Reader, Record, Server, ServerEvent};
use tidewire_testing::{join_in_time, wait_until};

pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tidewire-queue-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server on a thread of its own.
pub struct Serving {
    stop: Arc<AtomicBool>,
    events: Arc<Mutex<Vec<ServerEvent>>>,
    thread: thread::JoinHandle<()>,
}

impl Serving {
    pub fn begin(mut server: Server) -> Self {
        let (stop, events) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, found) = (Arc::clone(&stop), Arc::clone(&events));
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let events = server.turn(Duration::from_millis(5)).unwrap();
                found.lock().unwrap().extend(events);
            }
        });
        Self { stop, events, thread }
    }

    /// Waits until so many of these events have happened.
    pub fn until(&self, what: &str, count: usize, is_one: impl Fn(&ServerEvent) -> bool) {
        let found = || self.events.lock().unwrap().iter().filter(|event| is_one(event)).count();
        wait_until(what, || found() >= count);
        assert_eq!(found(), count, "{what}");
    }

    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        join_in_time("the server", self.thread);
    }
}

/// A queue with its server in one thread: every step is made by the test.
pub struct Steps {
    pub publisher: Publisher,
    pub server: Server,
    pub folder: Folder,
}

impl Steps {
    pub fn new(name: &str, geometry: Geometry, settings: QueueSettings) -> Self {
        let folder = Folder::new(name);
        let publisher = Publisher::new(geometry, 1).unwrap();
        let mut server = Server::bind(&folder.socket()).unwrap();
        server.offer("main", publisher.offer(), settings).unwrap();
        Self { publisher, server, folder }
    }

    pub fn attach(&mut self, request: &Attach) -> Result<Reader, Error> {
        let (path, request) = (self.folder.socket(), request.clone());
        let thread = thread::spawn(move || Reader::attach(&path, &request));
        while !thread.is_finished() {
            self.server.turn(Duration::from_micros(100)).unwrap();
        }
        join_in_time("attach", thread)
    }

    /// Until the server has noticed that these readers are left.
    pub fn until_readers(&mut self, count: usize) {
        for _ in 0..10_000 {
            if self.server.status()[0].readers.len() == count {
                return;
            }
            self.server.turn(Duration::from_millis(1)).unwrap();
        }
        panic!("the server does not notice that a reader has gone");
    }
}

/// Everything that a reader finds until nothing is left.
pub fn drain(reader: &mut Reader) -> Vec<(Record, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let mut payload = Vec::new();
        match reader.next(&mut payload).unwrap() {
            Next::Record(record) => all.push((record, payload)),
            Next::Empty | Next::Ended(_) => return all,
            next => panic!("{next:?}"),
        }
    }
}
