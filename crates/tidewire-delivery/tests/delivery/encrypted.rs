//! Events that only recipients can read: neither the spool, nor the collector, nor files of a folder show a byte of them.

use std::{collections::HashMap, fs, path::Path, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value as Json;
use tidewire_delivery::{FolderSettings, To, keys::identity};
use tidewire_event_store::{Batch, Keyring, Query, Reader, Recipients, Row, Sealer, Store};
use tidewire_events::{Record, Severity};
use tidewire_testing::wait_until;

use crate::rig::{
    ADDRESS, Collecting, EXCERPT, Spooling, batch, contains, count, destination, event, key_file, open, records,
    to_collector,
};

/// Stores events under a new data key, as a process of a sensor does.
fn seal(store: &mut Store, recipients: &Recipients, numbers: std::ops::Range<u64>) {
    let mut sealer = Sealer::new(recipients).unwrap();
    let rows = records(numbers).iter().map(|record| sealer.seal(record).unwrap()).collect();
    store.append(&Batch { rows, keys: vec![sealer.key()], ..Batch::default() }).unwrap();
}

fn check(record: &Record, number: u64) {
    assert_eq!(record.events().unwrap(), [(number, event(number))]);
}

/// Texts that must not be found: addresses as text and as bytes, excerpts, texts.
fn is_opaque(path: &Path) -> bool {
    let address: std::net::Ipv4Addr = ADDRESS.parse().unwrap();
    let text = format!("{:016x}", 7_u64.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let needles: [&[u8]; 4] = [ADDRESS.as_bytes(), &address.octets(), EXCERPT, text.as_bytes()];
    needles.iter().all(|needle| !contains(path, needle))
}

#[test]
fn no_process_between_sees_a_byte_and_recipients_see_all() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, files) = (folder.path().join("spool"), folder.path().join("files"));
    fs::create_dir(&spool).unwrap();
    fs::create_dir(&files).unwrap();
    let path = spool.join("events.db");
    let (identity, recipient) = identity::make();
    let (other, _) = identity::make();
    let recipients = Recipients::parse(&[recipient]).unwrap();
    let mut store = open(&path);
    seal(&mut store, &recipients, 0..300);
    let collecting = Collecting::start(&folder.path().join("collected"));
    let every = Duration::from_millis(1);
    let to_files = FolderSettings { path: files.clone(), every, bytes: 1 << 30, expand: true };
    let address = collecting.address().to_string();
    let to =
        || vec![to_collector("c", &address, key_file("edge-1")), destination("files", To::Folder(to_files.clone()))];
    let spooling = Spooling::start(&path, to());
    wait_until("the first ones", || count(&collecting.of("edge-1")) == 300);
    drop(spooling);
    // The sensor was started again: another data key.
    seal(&mut store, &recipients, 300..500);
    let spooling = Spooling::start(&path, to());
    wait_until("all", || count(&collecting.of("edge-1")) == 500);
    spooling.until("files", "files", |status| status.delivered == 500);
    drop(spooling);
    for place in [&spool, &collecting.store, &files] {
        assert!(is_opaque(place), "{}", place.display());
    }
    // The same texts are found where nothing is encrypted.
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).unwrap();
    open(&plain.join("events.db")).append(&batch(0..10)).unwrap();
    assert!(!is_opaque(&plain));

    let mut keyring = Keyring::default();
    keyring.add(&identity).unwrap();
    let mut reader = Reader::open(&collecting.of("edge-1")).unwrap();
    reader.unseal_with(keyring);
    let all = reader.all(&Query::default()).unwrap();
    assert_eq!(all.len(), 500);
    for (number, stored) in (0..).zip(&all) {
        check(stored.record().expect("it can be read"), number);
    }
    let mut keyring = Keyring::default();
    keyring.add(&other).unwrap();
    let mut reader = Reader::open(&collecting.of("edge-1")).unwrap();
    reader.unseal_with(keyring);
    assert!(reader.all(&Query::default()).is_ok_and(|all| all.iter().all(|stored| stored.record().is_none())));
    check_files(&files, &identity);
}

/// Each file of a folder can be read alone.
fn check_files(folder: &Path, identity: &str) {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 2, "{names:?}");
    let mut number = 0;
    for path in names {
        let mut keyring = Keyring::default();
        keyring.add(identity).unwrap();
        let mut keys = HashMap::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Json = serde_json::from_str(line).unwrap();
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            let bytes = |name: &str| BASE64_STANDARD.decode(text(name)).unwrap();
            let whole = |name: &str| line[name].as_u64().unwrap();
            if !line["wrapped"].is_null() {
                keys.insert(text("key"), bytes("wrapped"));
                continue;
            }
            let key = text("key");
            let id = u128::from_str_radix(&key, 16).unwrap().to_be_bytes();
            let row = Row {
                id: whole("record"),
                analyzer: text("analyzer"),
                kind: text("kind"),
                severity: Severity::by_name(&text("severity")).unwrap(),
                fold: whole("fold"),
                events: whole("count"),
                first_ns: whole("first_ns"),
                last_ns: whole("last_ns"),
                key: Some(id),
                bytes: bytes("sealed"),
            };
            check(&keyring.unseal(&row, || keys.get(&key).cloned()).unwrap(), number);
            number += 1;
        }
    }
    assert_eq!(number, 500);
}

/// A record whose key never came is not stored: no process could read it, which would go unnoticed.
#[test]
fn keys_go_with_records_when_these_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let recipients = Recipients::parse(&[identity::make().1]).unwrap();
    let mut store = open(&path);
    for at in 0..20 {
        seal(&mut store, &recipients, at * 300..at * 300 + 300);
    }
    let keys = || {
        let rows = Reader::open(&path).unwrap().rows(&Query::default(), 10_000, usize::MAX).unwrap();
        let reader = Reader::open(&path).unwrap();
        let mut keys: Vec<_> = rows.iter().map(|row| row.key.unwrap()).collect();
        keys.dedup();
        assert!(keys.iter().all(|key| reader.key(key).unwrap().is_some()), "each record has its key");
        keys
    };
    let before = keys();
    assert_eq!(before.len(), 20);
    let limits = tidewire_event_store::Limits { age_ns: None, size_bytes: store.used_bytes().unwrap() * 3 / 4 };
    // Records of all severities are in each; those of the first keys go at last.
    store.retain(&limits, tidewire_event_store::Now::at(0)).unwrap();
    let limits = tidewire_event_store::Limits { age_ns: None, size_bytes: 0 };
    let left = keys();
    assert!(!left.is_empty());
    store.retain(&limits, tidewire_event_store::Now::at(0)).unwrap();
    seal(&mut store, &recipients, 0..1);
    store
        .retain(
            &tidewire_event_store::Limits { age_ns: Some(1), size_bytes: u64::MAX },
            tidewire_event_store::Now::at(u64::MAX / 4),
        )
        .unwrap();
    let reader = Reader::open(&path).unwrap();
    let kept = before.iter().filter(|key| reader.key(key).unwrap().is_some()).count();
    assert_eq!(kept, 0, "keys that no record needs are removed");
}
