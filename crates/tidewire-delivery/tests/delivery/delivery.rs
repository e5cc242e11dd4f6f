//! Events arrive, once and in order.

use std::{fs, time::Duration};

use tidewire_delivery::{DestinationSettings, FolderSettings, Settings, To};
use tidewire_event_socket::{Received, Server, ServerSettings};
use tidewire_events::Severity;
use tidewire_testing::wait_until;

use crate::rig::{Collecting, Spooling, batch, count, destination, key_file, numbers, open, to_collector};

#[test]
fn events_arrive_once_and_in_order_through_ends_of_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..3000)).unwrap();
    let collecting = Collecting::start(&folder.path().join("collected"));
    let (address, there) = (collecting.address(), collecting.of("edge-1"));
    let to = || vec![to_collector("central", &address.to_string(), key_file("edge-1"))];
    let spooling = Spooling::start(&path, to());
    wait_until("what was stored before", || count(&there) == 3000);
    store.append(&batch(3000..3100)).unwrap();
    wait_until("what is stored now", || count(&there) == 3100);
    spooling.until("the position", "central", |status| status.delivered == 3100 && status.connected);
    assert_eq!(spooling.stop(), 0);
    // Another spooler, which has no position of its own: the collector has it.
    store.append(&batch(3100..3200)).unwrap();
    let spooling = Spooling::start(&path, to());
    wait_until("what was stored meanwhile", || count(&there) == 3200);
    // A collector that is not there for a while.
    collecting.server.finish();
    store.append(&batch(3200..3300)).unwrap();
    spooling.log.until("Connection refused");
    let collecting = Collecting::start_at(&folder.path().join("collected"), address);
    wait_until("what waited for the collector", || count(&there) == 3300);
    // The last try at the end.
    store.append(&batch(3300..3400)).unwrap();
    assert_eq!(spooling.stop(), 0);
    assert!(numbers(&there).into_iter().eq(0..3400));
    let status = collecting.server.status();
    assert_eq!((status.sensors.len(), status.sensors[0].position), (1, 3400));
}

#[test]
fn destinations_have_filters_and_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..1000)).unwrap();
    let collecting = Collecting::start(&folder.path().join("collected"));
    let address = collecting.address().to_string();
    let severe = DestinationSettings {
        severity: "high".into(),
        kinds: vec!["even".into()],
        ..to_collector("severe", &address, key_file("edge-1"))
    };
    let none =
        DestinationSettings { analyzers: vec!["unknown".into()], ..to_collector("none", &address, key_file("edge-2")) };
    // No collector listens there.
    let dead = to_collector("dead", "127.0.0.1:1", key_file("edge-3"));
    let spooling = Spooling::start(&path, vec![dead, severe, none]);
    let expected: Vec<u64> = (0..1000).filter(|number| number % 2 == 0 && number % 5 >= 3).collect();
    wait_until("the severe ones", || count(&collecting.of("edge-1")) == expected.len() as u64);
    assert_eq!(numbers(&collecting.of("edge-1")), expected);
    spooling.until("the position behind what does not match", "none", |status| status.delivered == 1000);
    spooling.until("figures", "severe", |status| status.delivered == 1000 && status.records == expected.len() as u64);
    spooling.until("the dead one", "dead", |status| status.failing.is_some() && status.lag_records == 1000);
    assert_eq!(count(&collecting.of("edge-2")), 0);
}

#[test]
fn kinds_are_chosen_by_their_beginning_and_destinations_may_have_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    open(&path).append(&batch(0..100)).unwrap();
    let to = |name: &str, kinds: &[&str]| DestinationSettings {
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        ..destination(
            name,
            To::Folder(FolderSettings { path: out.clone(), every: Duration::from_secs(3600), bytes: 1, expand: true }),
        )
    };
    // The second name is what the first one's files begin with.
    let spooling =
        Spooling::start(&path, vec![to("a", &["nothing", "ev*"]), to("a-0", &["un*"]), to("b", &["even.*"])]);
    for name in ["a", "a-0", "b"] {
        spooling.until("all records", name, |status| status.delivered == 100);
    }
    spooling.stop();
    let numbers_of = |name: &str| {
        let files = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let begins = |path: &std::path::PathBuf| {
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-') && !rest.starts_with("-0-"))
        };
        let texts = files.filter(begins).map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>().concat();
        let number =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["fields"]["number"].as_u64().unwrap();
        texts.lines().map(number).collect::<Vec<u64>>()
    };
    let (mut even, mut uneven) = (numbers_of("a"), numbers_of("a-0"));
    even.sort_unstable();
    uneven.sort_unstable();
    assert!(even.into_iter().eq((0..100).step_by(2)) && uneven.into_iter().eq((1..100).step_by(2)));
    assert!(numbers_of("b").is_empty());
}

/// A record that is removed before a destination has it is lost to it only if it would have got it.
#[test]
fn the_event_processor_hears_which_severities_destinations_get() {
    let folder = tempfile::tempdir().unwrap();
    let (path, socket) = (folder.path().join("events.db"), folder.path().join("events.sock"));
    open(&path).append(&batch(0..10)).unwrap();
    let mut server = Server::bind(&socket, ServerSettings::default()).unwrap();
    let dead = |name: &str, severity: &str| DestinationSettings {
        severity: severity.into(),
        ..to_collector(name, "127.0.0.1:1", key_file("edge-1"))
    };
    let settings =
        Settings { socket: Some(socket), ..Spooling::settings(&path, vec![dead("a", "high"), dead("b", "info")]) };
    let _spooling = Spooling::with(settings);
    let (mut names, mut severities) = (Vec::new(), Vec::new());
    wait_until("severities", || {
        let mut receive = |received: Received<'_>| match received {
            Received::Destinations(all) => names = all.to_vec(),
            Received::Severity { destination, severity } => severities.push((destination.to_owned(), severity)),
            _ => {}
        };
        server.turn(Duration::from_millis(10), &mut receive).unwrap();
        severities.len() == 2
    });
    assert_eq!(names, ["a", "b"], "they are named first");
    assert_eq!(severities, [("a".to_owned(), Severity::High), ("b".to_owned(), Severity::Info)]);
}

#[test]
fn many_sensors_at_once_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let collecting = Collecting::start(&folder.path().join("collected"));
    let address = collecting.address().to_string();
    let all: Vec<_> = ["edge-1", "edge-2", "edge-3"]
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            let path = folder.path().join(format!("{name}.db"));
            let mut store = open(&path);
            let first = at as u64 * 10_000;
            store.append(&batch(first..first + 2000)).unwrap();
            (name, first, Spooling::start(&path, vec![to_collector("c", &address, key_file(name))]), store)
        })
        .collect();
    for (name, first, ..) in &all {
        wait_until("all of a sensor", || count(&collecting.of(name)) == 2000);
        assert!(numbers(&collecting.of(name)).into_iter().eq(*first..first + 2000));
    }
}

#[test]
fn a_folder_gets_whole_files_that_say_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut store = open(&path);
    store.append(&batch(0..500)).unwrap();
    let to = |bytes, expand| {
        let every = Duration::from_secs(3600);
        vec![destination("files", To::Folder(FolderSettings { path: out.clone(), every, bytes, expand }))]
    };
    let names = || {
        let mut names: Vec<String> =
            fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let spooling = Spooling::start(&path, to(1 << 30, true));
    wait_until("a hidden file", || names().iter().any(|name| name.starts_with('.')));
    assert_eq!(spooling.status("files").delivered, 0, "nothing is delivered before it has its name");
    spooling.stop();
    assert_eq!(names().len(), 1, "{:?}", names());
    assert!(
        names()[0].starts_with("files-") && names()[0].ends_with("-00000000000000000001-00000000000000000500.jsonl"),
        "{:?}",
        names()
    );
    let text = fs::read_to_string(out.join(&names()[0])).unwrap();
    for (at, line) in text.lines().enumerate() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (value["record"].as_u64(), value["fields"]["number"].as_u64()),
            (Some(at as u64 + 1), Some(at as u64))
        );
    }
    assert_eq!(text.lines().count(), 500);
    // It goes on behind them, and gives small files their names at once.
    store.append(&batch(500..600)).unwrap();
    let spooling = Spooling::start(&path, to(1, false));
    spooling.until("the second file", "files", |status| status.delivered == 600);
    assert_eq!(names().len(), 2);
    let text = fs::read_to_string(out.join(&names()[1])).unwrap();
    let value: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((value["count"].as_u64(), value["event"]["fields"]["number"].as_u64()), (Some(1), Some(500)));
}
