//! Processes that fold and store are killed at random moments: what was acknowledged is restored, and nothing is there twice.

use std::{
    env,
    fs::OpenOptions,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use tidewire_event_store::{Batch, Loss, Query, Reader, Store, Writer, WriterSettings};
use tidewire_events::{Event, FlowKey, Folder, FolderSettings, Output, Severity, Value};
use tidewire_testing::{Ends as _, PATIENCE, Signal, filters::Numbers, signal};

use crate::common::open;

const PATH: &str = "TIDEWIRE_TEST_STORE";
/// Kills of one store: opening takes as long as it is large.
const LIFE: u64 = 25;
/// Stores at once: most of the time disks are waited for.
const LANES: u64 = 4;
const KILLS: &str = "TIDEWIRE_TEST_KILLS";

/// Event number so and so of the producer: a mixture of identical, similar and different ones.
fn event(number: u64) -> Event {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let (kind, port) = match mixed % 4 {
        0 => ("identical", 80),
        1 | 2 => ("scan", number as u16),
        _ => ("different", mixed as u16),
    };
    let key = FlowKey { protocol: 6, server_port: port, ..FlowKey::default() };
    let severity = Severity::ALL[(mixed % 3) as usize];
    let event = Event {
        time_ns: number * 1000,
        analyzer: "a".into(),
        kind: kind.into(),
        severity,
        key: Some(key),
        ..Event::default()
    };
    if kind == "different" { event.with("text", Value::Text(format!("{mixed:x}"))) } else { event }
}

/// The part that is killed: continues with the first event that is not stored, and says what is acknowledged.
#[test]
#[ignore = "a part of the test of kills, which runs it as a process"]
fn folds_and_stores_until_it_is_killed() {
    let Some(path) = env::var_os(PATH) else { return };
    let store = open(Path::new(&path));
    let mut next = store.producer("p").unwrap().map_or(0, |last| last + 1);
    let settings = FolderSettings { folds_max: 50, ..FolderSettings::default() };
    let mut folder = match store.state().unwrap() {
        Some(state) => Folder::with_state(settings, [1, next], 0, &state).unwrap(),
        None => Folder::new(settings, [1, next], 0, 0),
    };
    assert_eq!(folder.counts().events, next, "folding continues where the store is");
    let writer_settings =
        WriterSettings { wait: Duration::from_millis(1), batches_max: 4, ..WriterSettings::default() };
    let writer = Writer::start(store, writer_settings).unwrap();
    loop {
        let mut out = Output::default();
        for _ in 0..1 + next % 97 {
            folder.push_event(next * 50_000, &event(next), &mut out).unwrap();
            next += 1;
        }
        let state = folder.state(next * 50_000, &mut out).unwrap();
        let last = next - 1;
        let producers = vec![("p".to_owned(), last)];
        let (records, closed, state) = (out.records, out.closed, Some(state));
        let batch = Batch { records, closed, producers, state, ..Batch::default() };
        writer.submit(batch, move |result| {
            result.unwrap();
            // Unbuffered: what the parent reads was acknowledged.
            let _ = writeln!(std::io::stderr(), "acknowledged {last}");
        });
    }
}

fn start(path: &Path) -> (Child, Receiver<u64>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "kills::folds_and_stores_until_it_is_killed", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, acknowledged) = channel();
    let errors = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        for line in errors.lines().map_while(Result::ok) {
            match line.strip_prefix("acknowledged ").and_then(|number| number.parse().ok()) {
                Some(number) => drop(sender.send(number)),
                None => println!("{line}"),
            }
        }
    });
    (child, acknowledged)
}

/// So many events are there, each once, in order.
fn check_all(path: &Path, events: u64) {
    let mut found = Vec::new();
    for stored in Reader::open(path).unwrap().all(&Query::default()).unwrap() {
        found.extend(stored.record().unwrap().events().unwrap());
    }
    found.sort_by_key(|(number, _)| *number);
    assert_eq!(found.len() as u64, events);
    for (at, (number, found)) in (0..).zip(found) {
        assert_eq!((number, found), (at, event(at)));
    }
}

/// Counts over all kills of one store.
#[derive(Default)]
struct Life {
    kills: u64,
    /// Kills before which something new was stored.
    stored: u64,
    /// Kills between storing and acknowledging.
    unacknowledged: u64,
    events: u64,
}

/// Kills the processes of one store.
fn live(path: &Path, kills: u64, mut random: Numbers) -> Life {
    let mut life = Life { kills, ..Life::default() };
    for kill in 0..kills {
        let (mut child, acknowledged) = start(path);
        // Some are killed before they store anything.
        let mut highest = 0;
        if random.below(8) > 0 {
            highest = acknowledged.recv_timeout(PATIENCE).expect("an acknowledgment") + 1;
        }
        std::thread::sleep(Duration::from_micros(random.below(25_000)));
        signal(&child, Signal::KILL);
        child.wait_in_time("a killed process");
        while let Ok(number) = acknowledged.recv_timeout(PATIENCE) {
            highest = highest.max(number + 1);
        }
        // A process that was killed early leaves no store, or one without tables.
        let Ok(reader) = Reader::open(path) else {
            assert_eq!((highest, life.events), (0, 0), "kill {kill}");
            continue;
        };
        let (_, events) = reader.counts().unwrap();
        assert!(events >= life.events.max(highest), "kill {kill}: {events} stored, {highest} acknowledged");
        life.unacknowledged += u64::from(highest > 0 && events > highest);
        life.stored += u64::from(events > life.events);
        life.events = events;
    }
    let store = open(path);
    assert_eq!(store.producer("p").unwrap(), life.events.checked_sub(1), "as many as the producer's position says");
    check_all(path, life.events);
    life
}

#[test]
fn what_was_acknowledged_survives_hundreds_of_kills_and_nothing_is_there_twice() {
    let kills: u64 = env::var(KILLS).map_or(200, |text| text.parse().unwrap());
    let seed: u64 = env::var("SEED").map_or(11, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (folder, lives) = (folder.path(), kills.div_ceil(LIFE));
    let all: Vec<Life> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let live = move |life| live(&folder.join(format!("events-{life}.db")), LIFE, Numbers(seed + life));
                scope.spawn(move || (lane..lives).step_by(LANES as usize).map(live).collect::<Vec<_>>())
            })
            .collect();
        lanes.into_iter().flat_map(join_scoped).collect()
    });
    let sum = |of: fn(&Life) -> u64| all.iter().map(of).sum::<u64>();
    let (kills, stored) = (sum(|life| life.kills), sum(|life| life.stored));
    let (unacknowledged, events) = (sum(|life| life.unacknowledged), sum(|life| life.events));
    println!(
        "{kills} kills, {stored} with new events, {unacknowledged} between storing and acknowledging; {events} events"
    );
    assert!(stored > kills / 2, "most processes stored something: {stored}");
}

/// A log that was cut after its writer was killed differs from one that the kill left.
#[test]
fn a_log_that_is_cut_between_two_writers_is_known_from_that_of_a_killed_one() {
    for is_cut in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let (mut child, acknowledged) = start(&path);
        let mut left = 20;
        while left > 0 {
            acknowledged.recv_timeout(PATIENCE).expect("an acknowledgment");
            left -= 1;
        }
        signal(&child, Signal::KILL);
        child.wait_in_time("a killed process");
        let log = OpenOptions::new().write(true).open(folder.path().join("events.db-wal")).unwrap();
        let bytes = log.metadata().unwrap().len();
        if is_cut {
            log.set_len(bytes / 2).unwrap();
        }
        let store = Store::open(&path).unwrap().0;
        assert_eq!(store.loss(), is_cut.then_some(Loss::Log), "{bytes} bytes");
        drop(store);
        assert_eq!(open(&path).loss(), None, "it is said once");
    }
}

fn join_scoped<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
