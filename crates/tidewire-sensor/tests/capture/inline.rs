//! Analyzers within the capture: the same events whatever the queues are, and queues that do not notice them.

use std::{
    env,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tidewire_analyzers::{Emit, Settings};
use tidewire_event_socket::{Received, Server, ServerSettings};
use tidewire_events::{Event, Severity};
use tidewire_sensor::{
    capture,
    config::{QueueConfig, Unit},
    report::CaptureStatus,
};
use tidewire_testing::Ends as _;

use crate::rig::{Rig, SeenStreams, hostile, queue};

/// Names a directory to a capture that is a process of its own.
const CAPTURE: &str = "TIDEWIRE_TEST_EMITTING";

#[derive(Default)]
struct Kept(Mutex<Vec<Event>>);

impl Emit for Kept {
    fn try_emit(&self, event: &Event) -> bool {
        event.check().expect("an event within the limits");
        self.0.lock().unwrap().push(event.clone());
        true
    }
}

/// Every analyzer, with what ordinary hosts do as well.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.anomaly.severity = Severity::Info;
    settings
}

/// Events of a run, in an order that does not depend on the workers; and what a reader of the first queue saw.
fn run(
    queues: Vec<QueueConfig>,
    workers: usize,
    inline: Option<Settings>,
) -> (Vec<String>, SeenStreams, CaptureStatus) {
    let name = queues.first().map(|queue| if queue.unit == Unit::Streams { queue.name.clone() } else { String::new() });
    let mut queues = queues;
    if let Some(queue) = queues.first_mut().filter(|queue| queue.unit == Unit::Streams) {
        queue.wait_for = 1;
    }
    let mut rig = Rig::new(&hostile(), queues).workers(workers);
    rig.config.inline = inline;
    let kept = Arc::new(Kept::default());
    let mut running = rig.start_emitting(Arc::clone(&kept) as Arc<dyn Emit>);
    running.ready();
    let reader = name.filter(|name| !name.is_empty()).map(|name| rig.analyzer(&name, None));
    let streams = reader.map(|reader| reader.join().unwrap().streams).unwrap_or_default();
    let (status, _) = running.finish();
    let mut events: Vec<String> = kept.0.lock().unwrap().iter().map(Event::to_json).collect();
    events.sort();
    (events, streams, status)
}

fn without_ordinals(streams: &SeenStreams) -> Vec<crate::rig::SeenStream> {
    streams.values().map(crate::rig::SeenStream::without_ordinal).collect()
}

#[test]
fn events_are_the_same_beside_any_queues() {
    let (expected, none, status) = run(Vec::new(), 1, Some(settings()));
    assert!(expected.len() > 100 && none.is_empty(), "{} events without a queue", expected.len());
    let emitted: u64 = status.inline.iter().map(|one| one.emitted).sum();
    assert_eq!((emitted, status.inline.len()), (expected.len() as u64, 3));
    assert!(status.inline.iter().all(|one| one.refused == 0));

    let (nothing, plain, status) = run(vec![queue("streams")], 1, None);
    assert!(nothing.is_empty() && status.inline.is_empty());
    // Beside a queue that is the handler; beside one that cuts off earlier, or has a filter: as an application.
    let (beside, streams, _) = run(vec![queue("streams")], 1, Some(settings()));
    assert_same(&beside, &expected);
    assert!(without_ordinals(&streams) == without_ordinals(&plain), "a queue does not notice the analyzers");
    let cut = QueueConfig { cutoff_bytes: Some(10), ..queue("streams") };
    let (_, short, _) = run(vec![cut.clone()], 1, None);
    let (events, streams, _) = run(vec![cut], 1, Some(settings()));
    assert_same(&events, &expected);
    // (Anomalies beyond the cutoff are noted on the analyzers' account.)
    let delivered =
        |streams: &SeenStreams| streams.values().map(|one| (one.bytes.clone(), one.next)).collect::<Vec<_>>();
    assert!(delivered(&streams) == delivered(&short), "a queue gets what it would get alone");
    let filtered = QueueConfig { filter: Some("tcp port 80".into()), ..queue("streams") };
    assert_same(&run(vec![filtered, queue("other")], 1, Some(settings())).0, &expected);
    // With packets a SYN is a stream at once.
    let packets =
        QueueConfig { unit: Unit::Packets, slow: tidewire_sensor::config::SlowReaders::Lose, ..queue("packets") };
    let (events, ..) = run(vec![packets], 1, Some(settings()));
    assert!(events.len() >= expected.len() * 9 / 10, "{} {}", events.len(), expected.len());
    for workers in [2, 3] {
        assert_same(&run(vec![queue("streams")], workers, Some(settings())).0, &expected);
    }
}

fn assert_same(found: &[String], expected: &[String]) {
    let missing: Vec<_> = expected.iter().filter(|event| !found.contains(event)).take(3).collect();
    let more: Vec<_> = found.iter().filter(|event| !expected.contains(event)).take(3).collect();
    assert!(found == expected, "{} and {} events; missing {missing:?}; more {more:?}", found.len(), expected.len());
}

/// The part of a process of its own: a capture that gives up its privileges and emits over its standard output.
#[test]
fn a_capture_that_emits() {
    let Some(directory) = env::var_os(CAPTURE) else { return };
    // The harness has written to the standard output that it was started with.
    let input = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned().unwrap();
    rustix::stdio::dup2_stdout(&input).unwrap();
    let mut config = Rig::new(&hostile(), vec![queue("streams")]).config;
    (config.directory, config.capture.sandbox, config.inline) = (directory.into(), true, Some(settings()));
    let (_here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    std::process::exit(capture::main(config, there.into()).into());
}

#[test]
fn a_confined_capture_emits_over_its_output() {
    let (expected, ..) = run(vec![queue("streams")], 1, Some(settings()));
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "inline::a_capture_that_emits", "--nocapture"])
        .env(CAPTURE, folder.path())
        .stdin(Stdio::from(there))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Server::bind(&folder.path().join("events.sock"), ServerSettings::default()).unwrap();
    server.adopt(here).unwrap();
    let mut events = Vec::new();
    let mut ended = false;
    while !ended {
        ended = child.try_wait().unwrap().is_some();
        let mut receive = |received: Received<'_>| {
            if let Received::Event(message) = received {
                events.push(message.event().unwrap().to_json());
            }
        };
        server.turn(Duration::from_millis(5), &mut receive).unwrap();
        if server.has_news() {
            let taken = server.take();
            server.acknowledge(&taken);
        }
    }
    assert!(child.wait_in_time("the capture").success());
    events.sort();
    assert_same(&events, &expected);
}

/// Who cannot take events, costs events and no packets: they are counted.
#[test]
fn refused_events_are_counted() {
    struct Full;
    impl Emit for Full {
        fn try_emit(&self, _: &Event) -> bool {
            false
        }
    }
    let mut rig = Rig::new(&hostile(), Vec::new());
    rig.config.inline = Some(settings());
    let (status, _) = rig.start_emitting(Arc::new(Full)).finish();
    let refused: u64 = status.inline.iter().map(|one| one.refused).sum();
    assert!(refused > 100 && status.inline.iter().all(|one| one.emitted == 0), "{:?}", status.inline);
}

#[test]
fn a_pattern_file_that_is_not_there_is_said_before_anything_starts() {
    let mut rig = Rig::new(&hostile(), vec![queue("streams")]);
    let mut settings = settings();
    settings.matching.files.push("none.txt".into());
    rig.config.inline = Some(settings);
    let running = rig.start_emitting(Arc::new(Kept::default()));
    let (code, text) = running.failure();
    assert!(code == 3 && text.contains("none.txt: "), "{code} {text}");
}
