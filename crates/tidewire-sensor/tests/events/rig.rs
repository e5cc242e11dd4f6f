//! An event processor that is a process, and what its store has.

use std::{
    env,
    io::Write as _,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

use tempfile::TempDir;
use tidewire_event_socket::Events;
use tidewire_event_store::{Query, Reader, Stored};
use tidewire_events::{Event, Value};
use tidewire_sensor::{
    EVENTS_SOCKET,
    events::{
        self, EventsSettings,
        report::{EventsReport, EventsStatus},
    },
};
use tidewire_testing::{Ends as _, Lines, PATIENCE, Signal, signal};

const PROCESS: &str = "TIDEWIRE_TEST_EVENTS";

/// The process. Its standard input is the supervisor's socket, as the command has it.
#[test]
#[ignore = "a part of other tests, which run it as a process"]
fn runs_an_event_processor() {
    if env::var_os(PROCESS).is_none() {
        return;
    }
    let input = std::io::stdin();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let settings: EventsSettings = serde_json::from_str(&line).unwrap();
    let to = input.as_fd().try_clone_to_owned().unwrap();
    std::process::exit(events::main(settings, to).into());
}

/// A directory with a socket and a store.
pub struct Rig {
    pub folder: TempDir,
    pub settings: EventsSettings,
}

impl Rig {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = EventsSettings {
            directory: folder.path().to_owned(),
            store: folder.path().join("store/events.db"),
            ..EventsSettings::default()
        };
        Self { folder, settings }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(EVENTS_SOCKET)
    }

    pub fn connect(&self, name: &str) -> Events {
        Events::connect(&self.socket(), name).unwrap()
    }

    /// Starts it, and waits until it is ready.
    pub fn start(&self) -> Processor {
        let processor = self.spawn(Stdio::null());
        processor.ready();
        processor
    }

    /// Starts it with this as its standard output.
    pub fn spawn(&self, output: Stdio) -> Processor {
        let (mut here, there) = UnixStream::pair().unwrap();
        let child = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "rig::runs_an_event_processor", "--nocapture"])
            .env(PROCESS, "1")
            .stdin(OwnedFd::from(there))
            .stdout(output)
            .spawn()
            .unwrap();
        let mut line = serde_json::to_vec(&self.settings).unwrap();
        line.push(b'\n');
        here.write_all(&line).unwrap();
        Processor { child, lines: Lines::new(here.try_clone().unwrap()), here }
    }

    pub fn stored(&self) -> Vec<Stored> {
        stored(&self.settings.store)
    }

    /// All events in the order in which they were received.
    pub fn events(&self) -> Vec<Event> {
        let mut all = Vec::new();
        for stored in self.stored() {
            all.extend(stored.record().unwrap().events().unwrap());
        }
        all.sort_by_key(|(number, _)| *number);
        assert!(all.is_sorted_by(|before, behind| before.0 < behind.0), "each number once");
        all.into_iter().map(|(_, event)| event).collect()
    }

    /// The field `number` of the events of an analyzer, in order.
    pub fn numbers(&self, analyzer: &str) -> Vec<u64> {
        let all = self.events();
        all.iter().filter(|event| event.analyzer == analyzer).filter_map(number_of).collect()
    }
}

/// A raw connection.
pub fn raw(path: &Path) -> OwnedFd {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

pub fn stored(path: &Path) -> Vec<Stored> {
    Reader::open(path).unwrap().all(&Query::default()).unwrap()
}

/// A process.
pub struct Processor {
    pub child: Child,
    lines: Lines,
    /// The supervisor's end.
    here: UnixStream,
}

impl Processor {
    pub fn report(&self, what: &str) -> EventsReport {
        let line = self.lines.next(what).unwrap_or_else(|| panic!("{what}: the process has ended"));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    pub fn ready(&self) {
        self.until("ready", |report| matches!(report, EventsReport::Ready { .. }).then_some(()));
    }

    /// The first report that is looked for.
    pub fn until<T>(&self, what: &str, mut is_it: impl FnMut(&EventsReport) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "{what}: not in time");
            let report = self.report(what);
            if let EventsReport::Failed { text, .. } = &report {
                assert!(is_it(&report).is_some(), "{what}: {text}");
            }
            if let Some(found) = is_it(&report) {
                return found;
            }
        }
    }

    pub fn status(&self, what: &str, is_it: impl Fn(&EventsStatus) -> bool) -> EventsStatus {
        self.until(what, |report| match report {
            EventsReport::Status(status) if is_it(status) => Some(status.clone()),
            _ => None,
        })
    }

    /// Ends it orderly.
    pub fn stop(mut self) -> EventsStatus {
        signal(&self.child, Signal::TERM);
        let status = self.until("its end", |report| match report {
            EventsReport::Finished(status) => Some(status.clone()),
            _ => None,
        });
        let _ = self.here.flush();
        assert!(self.child.wait_in_time("the event processor").success());
        status
    }

    /// Asks it to end.
    pub fn ask(&self) {
        signal(&self.child, Signal::TERM);
    }

    /// Closes the supervisor's end.
    pub fn leave(&mut self) {
        self.here.shutdown(std::net::Shutdown::Both).unwrap();
    }

    pub fn kill(mut self) {
        signal(&self.child, Signal::KILL);
        self.child.wait_in_time("a killed process");
    }
}

pub fn event(analyzer: &str, kind: &str, number: u64) -> Event {
    let event = Event { time_ns: 1_000 * number, analyzer: analyzer.into(), kind: kind.into(), ..Event::default() };
    event.with("number", Value::U64(number))
}

fn number_of(event: &Event) -> Option<u64> {
    event.fields.iter().find_map(|field| match field.value {
        Value::U64(number) if field.name == "number" => Some(number),
        _ => None,
    })
}
