//! Records that only recipients can read: no other process can read them, or change them unnoticed.

use std::path::Path;

use age::secrecy::ExposeSecret as _;
use tidewire_event_store::{
    Batch, Content, Keyring, Limits, Now, Query, Reader, Recipients, Row, SealError, Sealer, Stored, Writer,
    WriterSettings,
};
use tidewire_events::{Event, Folder, FolderSettings, Output};

use crate::common::{event, open, records, text};

fn identity() -> (String, String) {
    let identity = age::x25519::Identity::generate();
    (identity.to_string().expose_secret().to_owned(), identity.to_public().to_string())
}

fn keyring(texts: &[&str]) -> Keyring {
    let mut keyring = Keyring::default();
    texts.iter().for_each(|text| keyring.add(text).unwrap());
    keyring
}

fn seal(recipients: &[&str], numbers: std::ops::Range<u64>) -> Batch {
    let mut sealer = Sealer::new(&Recipients::parse(recipients).unwrap()).unwrap();
    let rows = records(numbers).iter().map(|record| sealer.seal(record).unwrap()).collect();
    Batch { rows, keys: vec![sealer.key()], ..Batch::default() }
}

fn read(path: &Path, identities: &[&str]) -> Vec<Stored> {
    let mut reader = Reader::open(path).unwrap();
    reader.unseal_with(keyring(identities));
    reader.all(&Query::default()).unwrap()
}

#[test]
fn recipients_read_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let ((first, first_name), (second, second_name), (other, _)) = (identity(), identity(), identity());
    let mut store = open(&path);
    store.append(&seal(&[&first_name, &second_name], 0..300)).unwrap();
    store.append(&seal(&[&second_name], 300..310)).unwrap();
    store.append(&Batch { records: records(310..311), ..Batch::default() }).unwrap();
    let readable = |identities: &[&str]| {
        let all = read(&path, identities);
        assert_eq!(all.len(), 311);
        for stored in &all {
            if let Some(record) = stored.record() {
                assert_eq!(record.events().unwrap()[0].1, event(stored.id - 1));
            }
        }
        all.iter().filter(|stored| stored.record().is_some()).count()
    };
    assert_eq!(readable(&[&first]), 301);
    assert_eq!(readable(&[&second]), 311);
    assert_eq!(readable(&[&other, &first]), 301);
    assert_eq!(readable(&[&other]), 1);
    let all = Reader::open(&path).unwrap().all(&Query::default()).unwrap();
    let Content::Sealed(row) = &all[7].content else { panic!("it is sealed") };
    let known = event(7);
    assert_eq!((&row.analyzer, &row.kind, row.severity), (&known.analyzer, &known.kind, known.severity));
    assert_eq!((row.events, row.first_ns, row.last_ns), (1, known.time_ns, known.time_ns));
    // A store that is opened again, and checked, has the same.
    drop(store);
    drop(open(&path));
    assert_eq!(readable(&[&second]), 311);
}

#[test]
fn what_was_changed_is_found() {
    let (secret, name) = identity();
    let batch = seal(&[&name], 0..2);
    let wrapped = batch.keys[0].1.clone();
    let unseal = |row: &Row, wrapped: &[u8]| keyring(&[&secret]).unseal(row, || Some(wrapped.to_vec()));
    let good = &batch.rows[0];
    unseal(good, &wrapped).unwrap();
    let changes: &[fn(&mut Row)] = &[
        |row| row.analyzer.push('x'),
        |row| row.kind.push('x'),
        |row| row.severity = tidewire_events::Severity::Critical,
        |row| row.events += 1,
        |row| row.first_ns += 1,
        |row| row.last_ns += 1,
        |row| row.fold += 1,
        |row| row.bytes[0] = 2,
        |row| row.bytes[1] ^= 1,
        |row| row.bytes[20] ^= 1,
        |row| row.bytes.truncate(5),
        |row| row.bytes.truncate(row.bytes.len() - 1),
    ];
    for change in changes {
        let mut row = good.clone();
        change(&mut row);
        assert!(matches!(unseal(&row, &wrapped), Err(SealError::Changed)), "{row:?}");
    }
    // The bytes of one record in the place of another's.
    let swapped = Row { bytes: batch.rows[1].bytes.clone(), ..good.clone() };
    assert!(matches!(unseal(&swapped, &wrapped), Err(SealError::Changed)));
    let other = seal(&[&name], 0..1);
    assert!(matches!(unseal(good, &other.keys[0].1), Err(SealError::NoKey)), "a key of another name");
    for at in (0..wrapped.len()).step_by(7) {
        let mut damaged = wrapped.clone();
        damaged[at] ^= 4;
        assert!(unseal(good, &damaged).is_err());
    }
    assert!(matches!(keyring(&[&secret]).unseal(good, || None), Err(SealError::NoKey)));
}

/// Searched in everything that is on the disk.
#[test]
fn no_file_of_a_store_holds_a_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let (_, name) = identity();
    let writer = Writer::start(open(&path), WriterSettings::default()).unwrap();
    for part in 0..20 {
        writer.submit(seal(&[&name], part * 100..part * 100 + 100), |result| assert!(result.is_ok()));
    }
    tidewire_testing::wait_until("all are stored", || writer.status().records == 2000);
    let needles: std::collections::HashSet<[u8; 16]> = (1..2000)
        .map(|number| match &event(number).fields[1].value {
            tidewire_events::Value::Text(text) => *text.as_bytes().first_chunk::<16>().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    let check = || {
        let mut seen = 0;
        for ending in ["", "-wal", "-shm"] {
            let bytes = std::fs::read(format!("{}{ending}", path.display())).unwrap_or_default();
            seen += bytes.len();
            let found =
                bytes.windows(16).filter_map(<[u8]>::first_chunk::<16>).find(|window| needles.contains(*window));
            assert_eq!(found, None, "in '{ending}'");
        }
        assert!(seen > 300_000, "the files were there: {seen}");
    };
    check();
    drop(writer.finish());
    check();
}

#[test]
fn recipients_and_identities_are_checked() {
    assert!(Recipients::parse::<&str>(&[]).is_err());
    let (secret, name) = identity();
    for wrong in ["", "age1", "someone", secret.as_str(), "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"]
    {
        assert!(Recipients::parse(&[wrong]).is_err(), "{wrong}");
    }
    assert!(Recipients::parse(&vec![name.as_str(); 65]).is_err());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity");
    assert!(Keyring::from_files(std::slice::from_ref(&path)).is_err());
    std::fs::write(&path, "# nothing\n").unwrap();
    assert!(Keyring::from_files(std::slice::from_ref(&path)).is_err());
    std::fs::write(&path, format!("# created by a test\n{secret}\n")).unwrap();
    Keyring::from_files(&[path]).unwrap();
}

/// An analyzer may state any time; a store's times end in 2262.
#[test]
fn sealed_records_of_any_time_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let (secret, name) = identity();
    let mut folds = Folder::new(FolderSettings::default(), [0; 2], 0, 0);
    let mut out = Output::default();
    let times = [0, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
    for time_ns in times {
        folds.push_event(0, &Event { time_ns, ..event(time_ns % 1000) }, &mut out).unwrap();
        folds.close_all(&mut out).unwrap();
    }
    let mut sealer = Sealer::new(&Recipients::parse(&[&name]).unwrap()).unwrap();
    let rows = out.records.iter().map(|record| sealer.seal(record).unwrap()).collect();
    open(&path).append(&Batch { rows, keys: vec![sealer.key()], ..Batch::default() }).unwrap();
    let found = read(&path, &[&secret]);
    let found: Vec<u64> = found.iter().map(|stored| stored.record().expect("it is readable").first_ns()).collect();
    assert_eq!(found, times);
}

/// A sensor that was taken over sends records that no key unseals.
#[test]
fn a_sealed_record_of_garbage_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let (secret, name) = identity();
    let mut batch = seal(&[&name], 0..5);
    batch.rows[2].bytes = vec![7; 100];
    let (garbage, row) = ([9; 16], batch.rows[1].clone());
    batch.rows[3].key = Some(garbage);
    batch.keys.push((garbage, b"no age file".to_vec()));
    batch.rows.push(Row { key: None, bytes: b"no record".to_vec(), ..row });
    open(&path).append(&batch).unwrap();
    let found = read(&path, &[&secret]);
    let readable: Vec<u64> = found.iter().filter(|stored| stored.record().is_some()).map(|stored| stored.id).collect();
    let damaged = |stored: &&Stored| matches!(stored.content, Content::Damaged(_));
    let damaged: Vec<u64> = found.iter().filter(damaged).map(|stored| stored.id).collect();
    assert_eq!((readable, damaged), (vec![1, 2, 5], vec![3, 4, 6]));
}

/// Encryption that is switched on later: what was plain is gone when it is removed, and so is the state of folding.
#[test]
fn plain_records_are_erased_when_they_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let (_, name) = identity();
    let mut store = open(&path);
    let state = b"the state of folding has plain values".to_vec();
    store.append(&Batch { records: records(0..300), state: Some(state.clone()), ..Batch::default() }).unwrap();
    drop(store);
    let mut store = open(&path);
    store.erase().unwrap();
    store.reconnect().unwrap();
    store.append(&seal(&[&name], 300..310)).unwrap();
    assert_eq!(store.state().unwrap(), Some(Vec::new()));
    let removed = store.retain(&Limits { age_ns: None, size_bytes: 60_000 }, Now::read()).unwrap();
    assert!(removed > 200, "{removed}");
    let left: Vec<u64> =
        Reader::open(&path).unwrap().all(&Query::default()).unwrap().iter().map(|one| one.id).collect();
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    assert!(!has(&state));
    let wrong: Vec<u64> =
        (1..300).filter(|number| has(text(*number).as_bytes()) != left.contains(&(number + 1))).collect();
    assert_eq!(wrong, [0; 0]);
}
