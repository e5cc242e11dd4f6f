//! Rows as they are stored: read, passed to another store, sealed ones with their keys; and the ids of stores.

use tidewire_event_store::{Batch, Content, Error, Query, Reader, Row, Store, Stored};
use tidewire_events::Severity;

use crate::common::{batch, numbers, open};

const KEY: [u8; 16] = [7; 16];

fn sealed(id: u64, bytes: &[u8]) -> Row {
    Row {
        id,
        analyzer: "a".into(),
        kind: "k".into(),
        severity: Severity::High,
        fold: 3,
        events: 12,
        first_ns: 5,
        last_ns: 9,
        key: Some(KEY),
        bytes: bytes.to_vec(),
    }
}

#[test]
fn rows_pass_to_another_store_with_their_position() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.db"), folder.path().join("to.db"));
    let mut store = open(&from);
    store.append(&batch(0..700)).unwrap();
    let unknown = store.append(&Batch { rows: vec![sealed(0, b"x")], ..Batch::default() });
    assert!(matches!(unknown, Err(Error::UnknownKey { .. })), "{unknown:?}");
    let keys = vec![(KEY, b"wrapped".to_vec())];
    store.append(&Batch { rows: vec![sealed(0, b"opaque")], keys, ..Batch::default() }).unwrap();
    let reader = Reader::open(&from).unwrap();
    assert_eq!((reader.store_id().unwrap(), reader.last_id().unwrap()), (store.id().unwrap(), 701));

    let mut other = open(&to);
    assert_ne!(other.id().unwrap(), store.id().unwrap());
    let (mut after, mut pages) = (0, 0);
    loop {
        let rows = reader.rows(&Query { after, ..Query::default() }, 300, 50_000).unwrap();
        let Some(last) = rows.last() else { break };
        after = last.id;
        pages += 1;
        assert!(rows.len() <= 300 && rows.iter().rev().skip(1).map(|row| row.bytes.len()).sum::<usize>() < 50_000);
        let keys = rows.iter().filter_map(|row| row.key).map(|key| (key, reader.key(&key).unwrap().unwrap()));
        let (keys, producers) = (keys.collect(), vec![("from".to_owned(), after)]);
        other.append(&Batch { rows, keys, producers, ..Batch::default() }).unwrap();
    }
    assert!(pages > 2, "{pages}");
    assert_eq!(other.producer("from").unwrap(), Some(701));
    let copy = Reader::open(&to).unwrap();
    assert_eq!(copy.key(&KEY).unwrap().as_deref(), Some(&b"wrapped"[..]));
    let rows = copy.rows(&Query { after: 700, ..Query::default() }, 10, usize::MAX).unwrap();
    assert_eq!(rows, [sealed(701, b"opaque")]);
    let sealed = copy.all(&Query { after: 700, ..Query::default() }).unwrap();
    assert!(matches!(&sealed[..], [Stored { id: 701, content: Content::Sealed(_) }]));
    drop((copy, reader));
    let severe = Query { severity: Severity::High, kinds: &["k".to_owned()], ..Query::default() };
    assert_eq!(Reader::open(&to).unwrap().rows(&severe, 10, 1000).unwrap().len(), 1);
    drop(other);
    drop(Store::open(&to).unwrap());
}

#[test]
fn a_store_keeps_its_id_unless_it_may_give_numbers_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..50)).unwrap();
    let keys = vec![(KEY, b"wrapped".to_vec())];
    store.append(&Batch { rows: vec![sealed(0, b"opaque")], keys, ..Batch::default() }).unwrap();
    let id = store.id().unwrap();
    drop(store);
    assert_eq!(open(&path).id().unwrap(), id);
    // A record is damaged, the numbers are not.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE record SET crc = crc + 1 WHERE id = 20", []).unwrap();
    drop(connection);
    let (store, recovery) = Store::open(&path).unwrap();
    let recovery = recovery.unwrap();
    assert_eq!((recovery.records, recovery.missing, recovery.has_positions), (50, Some(1), true));
    assert_eq!((store.id().unwrap(), store.last_id()), (id, 51));
    let rows = Reader::open(&path).unwrap().rows(&Query { after: 50, ..Query::default() }, 10, 1000).unwrap();
    assert_eq!(rows, [sealed(51, b"opaque")], "sealed records are kept with their key");
    drop(store);
    // The numbers cannot be read.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE record SET crc = crc + 1 WHERE id = 30", []).unwrap();
    connection.execute("DROP TABLE fact", []).unwrap();
    drop(connection);
    let (store, recovery) = Store::open(&path).unwrap();
    assert!(!recovery.unwrap().has_positions);
    assert_ne!(store.id().unwrap(), id);
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("DELETE FROM record WHERE key IS NOT NULL", []).unwrap();
    drop(connection);
    assert_eq!(numbers(&path).len(), 48);
}
