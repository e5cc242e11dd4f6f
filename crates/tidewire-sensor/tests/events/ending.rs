//! Its end, requested or not: reports of the spooler until then, and a store that is damaged while it is open.

use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt as _,
    path::Path,
    time::{Duration, Instant},
};

use tidewire_event_socket::Control;
use tidewire_event_store::Reader;
use tidewire_events::{Severity, Value};
use tidewire_sensor::events::report::EventsReport;
use tidewire_testing::{Ends as _, PATIENCE, wait_until};

use crate::rig::{Rig, event};

fn position(rig: &Rig, name: &str) -> Option<u64> {
    let all = Reader::open(&rig.settings.store).unwrap().destinations().unwrap();
    all.into_iter().find(|one| one.name == name).map(|one| one.delivered)
}

/// The spooler delivers the last events when everything else has ended.
#[test]
fn positions_of_the_last_delivery_are_stored() {
    let mut rig = Rig::new();
    rig.settings.lingers = true;
    for ends_by_signal in [true, false] {
        let mut processor = rig.start();
        let events = rig.connect("a");
        let mut control = Control::connect(&rig.socket()).unwrap();
        control.register(&["central".to_owned()]).unwrap();
        events.emit(&event("a", "k", 1)).unwrap();
        events.flush(PATIENCE).unwrap();
        processor.ask();
        processor.until("everything is stored", |report| matches!(report, EventsReport::Stored(_)).then_some(()));
        let last = Reader::open(&rig.settings.store).unwrap().last_id().unwrap();
        control.delivered("central", last).unwrap();
        if ends_by_signal {
            wait_until("it is stored", || position(&rig, "central") == Some(last));
            processor.ask();
            processor.until("its end", |report| matches!(report, EventsReport::Finished(_)).then_some(()));
        } else {
            processor.leave();
        }
        assert!(processor.child.wait_in_time("the event processor").success());
        if ends_by_signal {
            assert_eq!(position(&rig, "central"), Some(last));
        }
        drop(events);
    }
}

/// Without the setting to wait, it ends as soon as everything is stored.
#[test]
fn it_waits_for_the_spooler_only_if_it_is_configured_to() {
    let rig = Rig::new();
    let processor = rig.start();
    let control = Control::connect(&rig.socket()).unwrap();
    processor.stop();
    drop(control);
}

#[test]
fn positions_that_no_record_has_are_refused_and_reported() {
    let rig = Rig::new();
    let processor = rig.start();
    let mut control = Control::connect(&rig.socket()).unwrap();
    control.register(&["central".to_owned()]).unwrap();
    control.severity("central", Severity::High).unwrap();
    control.delivered("central", 1 << 40).unwrap();
    processor.until("the refusal", |report| match report {
        EventsReport::Analyzer { text } if text.contains("central") && text.contains("no record") => Some(()),
        _ => None,
    });
    wait_until("it is an event", || rig.events().iter().any(|event| event.kind == "sensor.position-refused"));
    processor.stop();
    let all = Reader::open(&rig.settings.store).unwrap().destinations().unwrap();
    assert_eq!((all[0].delivered, all[0].severity), (0, Severity::High));
}

/// Users who may not send events cannot fill the store with their refusals.
#[test]
fn a_flood_of_refusals_is_a_few_events() {
    let rig = Rig::new();
    let processor = rig.start();
    let begun = Instant::now();
    for _ in 0..600 {
        let socket = crate::rig::raw(&rig.socket());
        rustix::net::send(&socket, b"who is there?", rustix::net::SendFlags::NOSIGNAL).unwrap();
        // Until it is refused.
        let mut answer = [0; 512];
        let _ = rustix::net::recv(&socket, &mut answer, rustix::net::RecvFlags::empty()).unwrap();
    }
    let seconds = begun.elapsed().as_secs() + 1;
    // The next one says how many there were.
    std::thread::sleep(Duration::from_millis(1100));
    let socket = crate::rig::raw(&rig.socket());
    rustix::net::send(&socket, b"who is there?", rustix::net::SendFlags::NOSIGNAL).unwrap();
    let number = |event: &tidewire_events::Event| match event.fields.iter().find(|field| field.name == "left_out") {
        Some(field) => match field.value {
            Value::U64(number) => number,
            ref other => panic!("{other:?}"),
        },
        None => panic!("{event:?}"),
    };
    let refusals = || -> (u64, u64) {
        let events: Vec<_> = rig.events().into_iter().filter(|event| event.kind == "sensor.analyzer-refused").collect();
        (events.len() as u64, events.iter().map(number).sum())
    };
    wait_until("all are reported", || {
        let (events, left_out) = refusals();
        events + left_out == 601
    });
    let (events, _) = refusals();
    assert!(events <= 10 * (seconds + 2), "{events} events in {seconds} s");
    processor.stop();
}

/// Overwrites the root of an index under the running process.
fn spoil(path: &Path) {
    let other = rusqlite::Connection::open(path).unwrap();
    other.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(())).unwrap();
    let text = "SELECT rootpage FROM sqlite_schema WHERE name = 'record_by_severity'";
    let page = other.query_row(text, [], |row| row.get::<_, i64>(0)).unwrap() as u64;
    other.execute("INSERT OR REPLACE INTO fact VALUES ('other', 1)", []).unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[0xa5; 4096], (page - 1) * 4096).unwrap();
}

/// It ends, is started again, recovers the store, and gets what was not stored once more.
#[test]
fn damage_of_the_running_store_is_recovered_by_the_next_start() {
    let rig = Rig::new();
    let mut processor = rig.start();
    let events = rig.connect("a");
    events.set_wait_limit(PATIENCE);
    (0..500).for_each(|number| events.emit(&event("a", &format!("kind-{}", number % 50), number)).unwrap());
    events.flush(PATIENCE).unwrap();
    spoil(&rig.settings.store);
    (500..510).for_each(|number| events.emit(&event("a", "k", number)).unwrap());
    let text = processor.until("why it ends", |report| match report {
        EventsReport::Failed { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(text.contains("events.db") && text.contains("malformed"), "{text}");
    assert_eq!(processor.child.wait_in_time("it").code(), Some(3));
    let processor = rig.start();
    events.flush(PATIENCE).unwrap();
    drop(events);
    processor.stop();
    assert!(rig.numbers("a").into_iter().eq(0..510), "each once");
    assert!(rig.events().iter().any(|event| event.kind == "store.recovered"));
}

/// It ends, puts the store back, and goes on: all that was acknowledged is there, and nothing is reported as lost.
#[test]
fn a_store_that_is_removed_or_renamed_under_the_running_process_is_put_back() {
    let gone: [fn(&Path); 2] = [
        |path| std::fs::remove_file(path).unwrap(),
        |path| std::fs::rename(path, path.with_extension("moved")).unwrap(),
    ];
    for gone in gone {
        let rig = Rig::new();
        let mut processor = rig.start();
        let events = rig.connect("a");
        events.set_wait_limit(PATIENCE);
        (0..10).for_each(|number| events.emit(&event("a", "k", number)).unwrap());
        events.flush(PATIENCE).unwrap();
        gone(&rig.settings.store);
        (10..20).for_each(|number| events.emit(&event("a", "k", number)).unwrap());
        // A small store is there again before it says more.
        let is_back = |report: &EventsReport| match report {
            EventsReport::Warning { text } => text.contains("the store is in its place again").then_some(()),
            _ => None,
        };
        processor.until("the store is put back", is_back);
        assert_eq!(processor.child.wait_in_time("it").code(), Some(3));
        let processor = rig.start();
        events.flush(PATIENCE).unwrap();
        drop(events);
        processor.stop();
        assert!(rig.numbers("a").into_iter().eq(0..20), "each once");
        assert!(!rig.events().iter().any(|event| event.kind == "store.lost"));
    }
}

/// A log that is emptied under the running process, and a store that is removed between two: both are events.
#[test]
fn what_the_store_lost_becomes_an_event() {
    let rig = Rig::new();
    let mut processor = rig.start();
    let events = rig.connect("a");
    (0..10).for_each(|number| events.emit(&event("a", "k", number)).unwrap());
    events.flush(PATIENCE).unwrap();
    let log = format!("{}-wal", rig.settings.store.display());
    OpenOptions::new().write(true).open(log).unwrap().set_len(0).unwrap();
    (10..20).for_each(|number| events.emit(&event("a", "k", number)).unwrap());
    let text = processor.until("why it ends", |report| match report {
        EventsReport::Failed { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(text.contains("cut"), "{text}");
    assert_eq!(processor.child.wait_in_time("it").code(), Some(3));
    let lost = |what: &str| {
        let is_it = |event: &&tidewire_events::Event| {
            event.kind == "store.lost" && event.fields.iter().any(|field| field.value == Value::Text(what.into()))
        };
        rig.events().iter().filter(is_it).count()
    };
    let processor = rig.spawn(std::process::Stdio::null());
    processor.until("a warning", |report| match report {
        EventsReport::Warning { text } if text.contains("how many is not known") => Some(()),
        _ => None,
    });
    events.flush(PATIENCE).unwrap();
    drop(events);
    processor.stop();
    assert!(rig.numbers("a").into_iter().eq(10..20), "what was not acknowledged came again");
    assert_eq!((lost("log"), lost("store")), (1, 0));
    std::fs::remove_file(&rig.settings.store).unwrap();
    rig.start().stop();
    assert_eq!((lost("log"), lost("store")), (0, 1));
}
