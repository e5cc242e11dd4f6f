//! Programs in C and Python that emit events.

use std::{
    path::Path,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tempfile::TempDir;
use tidewire_event_socket::{Received, Server, ServerSettings};
use tidewire_events::{Direction, Event, Severity, StreamPosition, Value};
use tidewire_testing::{InTime as _, missing, skip};

use crate::programs::{compile, library, program, source};

/// An event processor that keeps events in memory.
struct Processor {
    folder: TempDir,
    stop: Arc<AtomicBool>,
    events: Arc<Mutex<Vec<Event>>>,
    thread: Option<JoinHandle<()>>,
}

impl Processor {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server::bind(&folder.path().join("events.sock"), ServerSettings::default()).unwrap();
        let (stop, events) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, kept) = (Arc::clone(&stop), Arc::clone(&events));
        let run = move || {
            while !stopped.load(Ordering::Relaxed) {
                let mut receive = |received: Received<'_>| {
                    if let Received::Event(message) = received {
                        kept.lock().unwrap().push(message.event().unwrap());
                    }
                };
                server.turn(Duration::from_millis(2), &mut receive).unwrap();
                if server.has_news() {
                    let taken = server.take();
                    server.acknowledge(&taken);
                }
            }
        };
        Self { folder, stop, events, thread: Some(std::thread::spawn(run)) }
    }

    fn socket(&self) -> String {
        self.folder.path().join("events.sock").to_str().unwrap().to_owned()
    }

    /// Runs a program to its end. What it emitted.
    fn run(&self, command: &mut Command) -> Vec<Event> {
        let output = command.run_in_time().unwrap();
        assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        std::mem::take(&mut *self.events.lock().unwrap())
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn check(events: &[Event], name: &str) {
    assert!(events.iter().all(|event| event.analyzer == name));
    let kinds: Vec<&str> = events.iter().take(4).map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["simple", "bare", "whole", "json"]);
    assert_eq!(events[0].fields[0].value, Value::Text("a text".into()));
    assert!(events[0].time_ns > 1_600_000_000_000_000_000 && events[3].time_ns >= events[0].time_ns);
    let whole = &events[2];
    let mut expected = Event {
        time_ns: 123_456_789,
        analyzer: name.into(),
        kind: "whole".into(),
        severity: Severity::Critical,
        stream: Some(77),
        place: Some(StreamPosition { direction: Direction::ServerToClient, offset: 1000 }),
        excerpt: Some(b"a\0b".to_vec()),
        ..Event::default()
    };
    expected.key = whole.key;
    for (name, value) in [
        ("text", Value::Text("ä".into())),
        ("bytes", Value::Bytes(vec![0, 1])),
        ("unsigned", Value::U64(u64::MAX)),
        ("signed", Value::I64(i64::MIN)),
        ("double", Value::F64(1.5)),
        ("bool", Value::Bool(true)),
        ("address", Value::Addr("192.0.2.7".parse().unwrap())),
        ("when", Value::Time(42)),
    ] {
        expected = expected.with(name, value);
    }
    assert_eq!(*whole, expected);
    let key = whole.key.unwrap();
    assert_eq!((key.protocol, key.client_port, key.server_port), (17, 4000, 53));
    assert_eq!(key.server_addr.to_string(), "2001:db8::2");
    // Those that had no room are counted in an event.
    let many = events.iter().filter(|event| event.kind == "many").count();
    assert!(many == 1000 || events.iter().any(|event| event.kind == "sensor.events-refused"), "{many}");
}

#[test]
fn a_program_in_c_emits_events() {
    let Some(program) = program("tests/c/event.c", false) else { return };
    let processor = Processor::start();
    check(&processor.run(Command::new(&program).args([&processor.socket(), "in-c"])), "in-c");
}

#[test]
fn nothing_of_events_leaks() {
    let Some(program) = program("tests/c/event.c", false) else { return };
    if let Some(reason) = missing(&["valgrind"]) {
        return skip(reason);
    }
    let processor = Processor::start();
    let mut command = Command::new("valgrind");
    command.args(["-q", "--error-exitcode=9", "--leak-check=full"]).arg(&program).args([&processor.socket(), "in-c"]);
    check(&processor.run(&mut command), "in-c");
}

/// The examples, started as a sensor starts analyzers.
#[test]
fn examples_emit_events() {
    let processor = Processor::start();
    let variables = [("TIDEWIRE_EVENTS", processor.socket()), ("TIDEWIRE_NAME", "example".to_owned())];
    let shown = |events: &[Event]| {
        let values = events.iter().map(|event| (event.kind.clone(), event.fields[0].value.clone()));
        values.collect::<Vec<_>>()
    };
    let expected = [("login.failed".to_owned(), Value::Text("alice".into()))];
    if let Some(program) = compile(&source("../../examples/event.c"), false) {
        let events = processor.run(Command::new(program).arg("alice").envs(variables.clone()));
        assert_eq!(shown(&events), expected);
    }
    if let Some(reason) = missing(&["python3"]) {
        return skip(reason);
    }
    let script = source("../../examples/event.py");
    let mut command = Command::new("python3");
    command
        .arg(script)
        .arg("alice")
        .envs(variables)
        .env("LD_LIBRARY_PATH", library().parent().unwrap_or(Path::new(".")));
    assert_eq!(shown(&processor.run(&mut command)), expected);
}
