//! Events become records, and survive a restart.

use std::{
    os::unix::fs::{PermissionsExt as _, lchown, symlink},
    process::Stdio,
};

use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with, socketpair,
};
use tidewire_event_socket::{Control, Events};
use tidewire_event_store::{Keyring, Query, Reader};
use tidewire_events::{Event, FlowKey, Severity, Value};
use tidewire_sensor::events::{KindSettings, report::EventsReport};
use tidewire_testing::{Ends as _, PATIENCE, filters::Numbers, wait_until};

use crate::rig::{Rig, event};

#[test]
fn what_is_acknowledged_is_folded_and_stored() {
    let rig = Rig::new();
    let processor = rig.start();
    let events = rig.connect("scanner");
    for number in 0..3000 {
        events.emit(&event("scanner", "scan", number)).unwrap();
    }
    events.flush(PATIENCE).unwrap();
    assert!(rig.numbers("scanner").into_iter().eq(0..3000), "durable before the end");
    let records = rig.stored().len();
    assert!(records < 300, "{records} records");
    drop(events);
    let status = processor.stop();
    assert_eq!((status.events, status.stored_events), (3000, 3000));
    let scanner = &status.analyzers[0];
    assert_eq!((scanner.name.as_str(), scanner.events, scanner.clients), ("scanner", 3000, 0));
    assert!(status.commits > 0 && status.store_bytes > 0 && status.failing.is_none());
}

#[test]
fn folds_go_on_after_an_orderly_end() {
    let mut rig = Rig::new();
    rig.settings.kinds.insert("same".into(), KindSettings { identity: Some(Vec::new()), ..KindSettings::default() });
    for round in 0..3 {
        let processor = rig.start();
        let events = rig.connect("a");
        for number in 0..10 {
            events.emit(&event("a", "same", round * 10 + number)).unwrap();
        }
        events.flush(PATIENCE).unwrap();
        drop(events);
        processor.stop();
    }
    let folds: std::collections::BTreeSet<u64> =
        rig.stored().iter().map(|stored| stored.record().unwrap().fold()).collect();
    assert_eq!(folds.len(), 1, "one fold over three processes");
    assert!(rig.numbers("a").into_iter().eq(0..30));
}

/// The capture's end of the pair outlives event processors that are killed.
#[test]
fn the_capture_sends_over_a_pair() {
    let mut rig = Rig::new();
    rig.settings.capture_on_stdout = true;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let start = || {
        let processor = rig.spawn(Stdio::from(theirs.try_clone().unwrap()));
        processor.ready();
        processor
    };
    let events = Events::over(ours, "capture", &["anomaly"]).unwrap();
    let mut processor = start();
    for number in 0..2000 {
        events.emit(&event("anomaly", "unusual", number)).unwrap();
        if number == 700 || number == 1500 {
            processor.kill();
            processor = start();
        }
    }
    events.flush(PATIENCE).unwrap();
    drop(events);
    processor.stop();
    assert!(rig.numbers("anomaly").into_iter().eq(0..2000));
}

#[test]
fn refusals_and_lost_records_become_events() {
    let mut rig = Rig::new();
    rig.settings.size_bytes = 300_000;
    let processor = rig.start();
    let mut control = Control::connect(&rig.socket()).unwrap();
    control.register(&["central".to_owned()]).unwrap();
    control.delivered("central", 1).unwrap();
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(rig.socket()).unwrap()).unwrap();
    send(&socket, b"hello?", SendFlags::NOSIGNAL).unwrap();
    processor.until("the refusal", |report| match report {
        EventsReport::Analyzer { text } if text.contains("refused") && text.contains("first line") => Some(()),
        _ => None,
    });
    let delivered = |status: &tidewire_sensor::events::report::EventsStatus| {
        status.destinations.iter().any(|one| one.name == "central" && one.delivered == 1)
    };
    processor.status("the position", delivered);
    let events = rig.connect("a");
    for number in 0..3000_u64 {
        let bytes = Numbers(number + 1).bytes(600);
        let event = Event { severity: Severity::Low, ..event("a", "k", number).with("bytes", Value::Bytes(bytes)) };
        events.emit(&event).unwrap();
    }
    events.flush(PATIENCE).unwrap();
    processor.status("the loss", |status| status.destinations.iter().any(|one| one.lost_events > 0));
    let own = |kind: &str| rig.events().into_iter().find(|event| event.analyzer == "tidewire" && event.kind == kind);
    wait_until("an event about the loss", || own("store.removed").is_some());
    let refused = own("sensor.analyzer-refused").unwrap();
    assert!(refused.fields.iter().all(|field| field.name != "name"), "it said none: {refused:?}");
    drop(events);
    processor.stop();
    let reader = Reader::open(&rig.settings.store).unwrap();
    let destinations = reader.destinations().unwrap();
    assert_eq!(destinations[0].name, "central");
}

#[test]
fn a_store_that_cannot_be_opened_is_an_error_with_its_path() {
    let mut rig = Rig::new();
    let path = rig.folder.path().join("no-store");
    std::fs::write(&path, "something else, and quite long enough to be looked at as a database ".repeat(20)).unwrap();
    rig.settings.store = path.join("events.db");
    let mut processor = rig.spawn(Stdio::null());
    let text = processor.until("why", |report| match report {
        EventsReport::Failed { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(text.contains("no-store"), "{text}");
    assert_eq!(processor.child.wait_in_time("it").code(), Some(3));
}

/// In a folder where all may make files, others decide neither where events go nor who reads them.
#[test]
fn a_store_is_not_put_where_another_user_says() {
    for (name, expected) in [("link/events.db", "link of another user"), ("events.db", "belongs to another user")] {
        let mut rig = Rig::new();
        let shared = rig.folder.path().join("shared");
        std::fs::create_dir_all(shared.join("theirs")).unwrap();
        std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o1777)).unwrap();
        symlink(shared.join("theirs"), shared.join("link")).unwrap();
        std::fs::write(shared.join("events.db"), "").unwrap();
        if lchown(shared.join("link"), Some(12_345), None).is_err() {
            return println!("skipped: files of other users need root");
        }
        lchown(shared.join("events.db"), Some(12_345), None).unwrap();
        rig.settings.store = shared.join(name);
        let mut processor = rig.spawn(Stdio::null());
        let text = processor.until("why", |report| match report {
            EventsReport::Failed { text, .. } => Some(text.clone()),
            _ => None,
        });
        assert!(text.contains(expected) && text.contains("12345"), "{text}");
        assert_eq!(processor.child.wait_in_time("it").code(), Some(3));
        assert_eq!(std::fs::read_dir(shared.join("theirs")).unwrap().count(), 0);
        assert_eq!(std::fs::metadata(shared.join("events.db")).unwrap().len(), 0);
    }
}

/// A damaged store is recovered, which is an event of its own.
#[test]
fn a_damaged_store_is_recovered_and_reported() {
    let rig = Rig::new();
    let send = |numbers: std::ops::Range<u64>| {
        let processor = rig.start();
        let events = rig.connect("a");
        numbers.for_each(|number| events.emit(&event("a", &format!("kind-{}", number % 50), number)).unwrap());
        events.flush(PATIENCE).unwrap();
        drop(events);
        processor.stop();
    };
    send(0..500);
    let bytes = std::fs::read(&rig.settings.store).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2..bytes.len() / 2 + 4096].fill(0x55);
    std::fs::write(&rig.settings.store, damaged).unwrap();
    send(500..510);
    let own = rig.events().into_iter().find(|event| event.kind == "store.recovered").expect("it is reported");
    assert_eq!((own.analyzer.as_str(), own.severity), ("tidewire", Severity::High));
    let numbers = rig.numbers("a");
    assert!(numbers.ends_with(&(500..510).collect::<Vec<_>>()), "{numbers:?}");
}

/// With recipients, no file of the store, and no other of the sensor's directory, holds a plain address or excerpt.
#[test]
fn what_is_encrypted_is_nowhere_plain() {
    let mut rig = Rig::new();
    let (identity, recipient) = identity();
    rig.settings.recipients = vec![recipient];
    let plain = |number: u64| {
        let key = FlowKey {
            protocol: 6,
            client_addr: "203.0.113.77".parse().unwrap(),
            server_addr: "198.51.100.200".parse().unwrap(),
            ..FlowKey::default()
        };
        let event = Event { key: Some(key), excerpt: Some(b"the secret excerpt".to_vec()), ..event("a", "k", number) };
        event.with("text", Value::Text("198.51.100.200 said it".into()))
    };
    for round in 0..3 {
        let processor = rig.start();
        let events = rig.connect("a");
        (0..500).for_each(|number| events.emit(&plain(round * 500 + number)).unwrap());
        events.flush(PATIENCE).unwrap();
        // The log is there as well, while the process runs.
        let mut seen = 0;
        for file in walk(rig.folder.path()) {
            let bytes = std::fs::read(&file).unwrap();
            seen += bytes.len();
            let needles: [&[u8]; 4] = [&[203, 0, 113, 77], &[198, 51, 100, 200], b"secret excerpt", b"198.51.100.200"];
            for needle in needles {
                let is_there = bytes.windows(needle.len()).any(|window| window == needle);
                // Four bytes happen by chance once in four thousand million places.
                assert!(!is_there, "{needle:?} is in {}", file.display());
            }
        }
        assert!(seen > 10_000, "{seen}");
        if round == 1 {
            processor.kill();
        } else {
            assert!(processor.stop().encrypted);
        }
    }
    let mut reader = Reader::open(&rig.settings.store).unwrap();
    assert!(reader.all(&Query::default()).unwrap().iter().all(|stored| stored.record().is_none()));
    let mut keyring = Keyring::default();
    keyring.add(&identity).unwrap();
    reader.unseal_with(keyring);
    let mut found = Vec::new();
    for stored in reader.all(&Query::default()).unwrap() {
        found.extend(stored.record().unwrap().events().unwrap());
    }
    found.sort_by_key(|(number, _)| *number);
    assert!(found.into_iter().eq((0..1500).map(|number| (number, plain(number)))));
}

fn identity() -> (String, String) {
    use age::secrecy::ExposeSecret as _;
    let identity = age::x25519::Identity::generate();
    (identity.to_string().expose_secret().to_owned(), identity.to_public().to_string())
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(|entry| match entry.file_type().unwrap() {
            kind if kind.is_dir() => walk(&entry.path()),
            kind if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}
