//! Every event that is acknowledged is stored once, in order, whatever happens to the server.

use std::{sync::atomic::Ordering, time::Duration};

use tidewire_event_socket::{Control, Emitted, Events, EventsError, ServerSettings, Window};
use tidewire_events::{Event, Value};
use tidewire_testing::{PATIENCE, filters::Numbers, wait_until};

use crate::common::{Rig, event};

#[test]
fn what_is_flushed_is_stored_in_order() {
    let rig = Rig::new();
    let _server = rig.start();
    let events = Events::connect(&rig.path(), "a").unwrap();
    for number in 0..5000 {
        events.emit(&event("a", number)).unwrap();
    }
    events.flush(PATIENCE).unwrap();
    assert!(rig.numbers("a").into_iter().eq(0..5000));
    let counts = events.counts();
    assert_eq!((counts.emitted, counts.acknowledged, counts.refused), (5000, 5000, 0));
    assert!(matches!(events.emit(&event("b", 1)), Err(EventsError::Analyzer { .. })));
    drop(events);
    wait_until("a session that is over is forgotten", || rig.disk.lock().unwrap().positions.is_empty());
}

/// Servers end at any moment, with what they have received and not stored.
#[test]
fn servers_that_end_lose_nothing_and_store_nothing_twice() {
    let rig = Rig::new();
    let mut random = Numbers(5);
    let mut server = Some(rig.start());
    let emitters: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|name| {
            let events = Events::connect(&rig.path(), name).unwrap();
            std::thread::spawn(move || {
                events.set_wait_limit(PATIENCE);
                for number in 0..60_000 {
                    events.emit(&event(name, number)).unwrap();
                    if number % 1000 == 0 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
                events.flush(PATIENCE).unwrap();
                events.counts()
            })
        })
        .collect();
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(random.below(30)));
        rig.stores.store(random.below(2) == 0, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(random.below(30)));
        drop(server.take());
        rig.stores.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(random.below(20)));
        server = Some(rig.start());
    }
    for emitter in emitters {
        let counts = tidewire_testing::join_in_time("an emitter", emitter);
        assert_eq!((counts.emitted, counts.acknowledged), (60_000, 60_000));
    }
    for name in ["a", "b"] {
        assert!(rig.numbers(name).into_iter().eq(0..60_000), "each event of {name} once, in order");
    }
    drop(server);
}

/// One end of a pair stays with a client, the other is inherited by one server after the other; and the other way round.
#[test]
fn a_pair_outlives_servers_and_clients() {
    let rig = Rig::new();
    let pair = || {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    };
    let (ours, theirs) = pair();
    let copy = |socket: &std::os::fd::OwnedFd| socket.try_clone().unwrap();
    let mut emitted = 0;
    for client in 0..3 {
        let events = Events::over(copy(&theirs), "capture", &["scan", "match"]).unwrap();
        for part in 0..3 {
            for _ in 0..2000 {
                let name = if emitted % 2 == 0 { "scan" } else { "match" };
                events.emit(&event(name, emitted)).unwrap();
                emitted += 1;
            }
            let server = rig.start_with(ServerSettings::default(), Some(copy(&ours)));
            if part < 2 {
                std::thread::sleep(Duration::from_millis(part * 3));
            } else {
                events.flush(PATIENCE).unwrap_or_else(|error| panic!("client {client}: {error}"));
            }
            drop(server);
        }
    }
    for (rest, name) in ["scan", "match"].into_iter().enumerate() {
        let expected = (0..emitted).filter(|number| number % 2 == rest as u64);
        assert!(rig.numbers(name).into_iter().eq(expected), "{name}");
    }
}

#[test]
fn a_full_window_makes_one_wait_and_refuses_the_other() {
    let rig = Rig::new();
    rig.stores.store(false, Ordering::Relaxed);
    let window = Window { events: 100, bytes: 1 << 20 };
    let server = rig.start_with(ServerSettings { window, ..ServerSettings::default() }, None);
    let events = Events::connect(&rig.path(), "a").unwrap();
    for number in 0..100 {
        assert_eq!(events.try_emit(&event("a", number)).unwrap(), Emitted::Sent);
    }
    for number in 100..150 {
        assert_eq!(events.try_emit(&event("a", number)).unwrap(), Emitted::Full);
    }
    events.set_wait_limit(Duration::from_millis(20));
    assert!(matches!(events.emit(&event("a", 1000)), Err(EventsError::Timeout { .. })));
    rig.stores.store(true, Ordering::Relaxed);
    let reported = |rig: &Rig| {
        let disk = rig.disk.lock().unwrap();
        disk.events.iter().find(|event| event.kind == "sensor.events-refused").cloned()
    };
    wait_until("it is reported", || reported(&rig).is_some());
    assert_eq!(reported(&rig).unwrap().fields[0].value, Value::U64(50));
    assert_eq!(events.try_emit(&event("a", 100)).unwrap(), Emitted::Sent);
    events.flush(PATIENCE).unwrap();
    assert!(rig.numbers("a").into_iter().eq(0..=100));
    assert_eq!(events.counts().refused, 50);
    drop(server);
}

#[test]
fn an_analyzer_that_sends_too_fast_waits() {
    let rig = Rig::new();
    let settings = ServerSettings { rates: [("fast".to_owned(), 2000)].into(), ..ServerSettings::default() };
    let _server = rig.start_with(settings, None);
    let events = Events::connect(&rig.path(), "fast").unwrap();
    for number in 0..4000 {
        events.emit(&event("fast", number)).unwrap();
    }
    let other = Events::connect(&rig.path(), "other").unwrap();
    other.emit(&event("other", 0)).unwrap();
    other.flush(PATIENCE).unwrap();
    events.flush(PATIENCE).unwrap();
    assert_eq!(rig.numbers("fast").len(), 4000, "nothing is dropped");
    let disk = rig.disk.lock().unwrap();
    let counts = disk.counts.iter().find(|counts| counts.name == "fast").unwrap();
    assert!(counts.waits > 0 && counts.events == 4000, "{counts:?}");
}

#[test]
fn a_spooler_says_what_was_delivered() {
    let rig = Rig::new();
    let _server = rig.start();
    let mut control = Control::connect(&rig.path()).unwrap();
    control.register(&["central".to_owned(), "folder".to_owned()]).unwrap();
    control.delivered("central", 7).unwrap();
    wait_until("it is reported", || rig.disk.lock().unwrap().delivered == [("central".to_owned(), 7)]);
    assert_eq!(rig.disk.lock().unwrap().destinations, ["central", "folder"]);
    control.delivered("no name", 8).unwrap();
    wait_until("it is refused", || control.delivered("central", 9).is_err());
}

#[test]
fn environments_and_names_are_checked() {
    let rig = Rig::new();
    assert!(matches!(Events::connect(&rig.path(), "a"), Err(EventsError::Connect { .. })));
    for name in ["", "tidewire", "a b", &"x".repeat(65)] {
        assert!(matches!(Events::connect(&rig.path(), name), Err(EventsError::Name(_))), "{name}");
    }
    let _server = rig.start();
    let events = Events::connect(&rig.path(), "a").unwrap();
    let wrong = Event { kind: "a b".into(), ..event("a", 1) };
    assert!(matches!(events.emit(&wrong), Err(EventsError::Event(_))));
    events.flush(PATIENCE).unwrap();
}
