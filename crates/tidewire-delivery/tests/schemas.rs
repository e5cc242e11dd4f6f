//! Lines of events, records and sealed records are what `docs/schemas` says, by an independent validator.
#![forbid(unsafe_code)]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value as Json, json};
use tidewire_delivery::{Row, lines::put_row};
use tidewire_events::{Direction, Event, FlowKey, Folder, FolderSettings, Output, Severity, StreamPosition, Value};
use tidewire_testing::schemas;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::I64),
        any::<u64>().prop_map(Value::U64),
        any::<f64>().prop_map(Value::F64),
        Just(Value::F64(f64::NAN)),
        ".{0,20}".prop_map(Value::Text),
        any::<[u8; 5]>().prop_map(|bytes| Value::Bytes(bytes.to_vec())),
        any::<u32>().prop_map(|addr| Value::Addr(std::net::IpAddr::V4(addr.into()))),
        any::<u128>().prop_map(|addr| Value::Addr(std::net::IpAddr::V6(addr.into()))),
        any::<u64>().prop_map(Value::Time),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let key = (any::<u8>(), any::<[u128; 2]>(), any::<bool>(), any::<[u16; 2]>());
    let key = key.prop_map(|(protocol, addrs, is_v4, [client_port, server_port])| {
        let [client_addr, server_addr] = addrs
            .map(|addr| if is_v4 { std::net::IpAddr::V4((addr as u32).into()) } else { addr.to_be_bytes().into() });
        FlowKey { protocol, client_addr, client_port, server_addr, server_port }
    });
    let place = (any::<bool>(), any::<u64>()).prop_map(|(is_back, offset)| {
        let direction = if is_back { Direction::ServerToClient } else { Direction::ClientToServer };
        StreamPosition { direction, offset }
    });
    let parts = (
        any::<u64>(),
        0..5_usize,
        proptest::option::of(key),
        proptest::option::of(any::<u64>()),
        proptest::option::of(place),
        proptest::collection::vec(value(), 0..6),
        proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
    );
    parts.prop_map(|(time_ns, severity, key, stream, place, values, excerpt)| {
        let severity = Severity::ALL[severity];
        let (analyzer, kind) = ("scan".to_owned(), "scan.horizontal".to_owned());
        let event = Event { time_ns, analyzer, kind, severity, key, stream, place, fields: Vec::new(), excerpt };
        values.into_iter().zip(0..).fold(event, |event, (value, at)| event.with(&format!("field.{at}"), value))
    })
}

fn rows(events: &[Event]) -> Vec<Row> {
    let mut folder = Folder::new(FolderSettings::default(), [0; 2], 0, 0);
    let mut out = Output::default();
    for event in events {
        folder.push_event(0, event, &mut out).expect("an event within limits");
    }
    folder.close_all(&mut out).expect("nothing is damaged");
    (1..).zip(&out.records).map(|(id, record)| Row::plain(id, record).expect("a record")).collect()
}

/// Lines of each schema.
fn lines() -> Vec<(&'static str, String)> {
    let mut runner = TestRunner::deterministic();
    let mut all = Vec::new();
    let mut put = |schema, row: &Row, expand| {
        let mut bytes = Vec::new();
        put_row(&mut bytes, row, expand).expect("a whole record");
        let text = String::from_utf8(bytes).expect("JSON is text");
        all.extend(text.lines().map(|line| (schema, line.to_owned())));
    };
    for _ in 0..300 {
        let first = event().new_tree(&mut runner).expect("an event").current();
        let folded: Vec<Event> = (0..4).map(|at| Event { time_ns: first.time_ns / 2 + at, ..first.clone() }).collect();
        for events in [vec![first], folded] {
            for row in rows(&events) {
                put("event.json", &row, true);
                put("record.json", &row, false);
                put("sealed.json", &Row { key: Some([0xab; 16]), ..row }, false);
            }
        }
    }
    all
}

#[test]
fn every_line_is_valid_and_wrong_ones_are_not() {
    if let Some(why) = schemas::missing_validator() {
        return tidewire_testing::skip(why);
    }
    let lines = lines();
    for (answer, line) in schemas::validate(&folder(), &lines).iter().zip(&lines) {
        assert_eq!(answer, "valid", "{line:?}");
    }
    let event = json!({"time_ns": 1, "analyzer": "a", "kind": "k", "severity": "low", "fields": {}});
    let record = json!({"record": 1, "count": 1, "first_ns": 1, "last_ns": 1, "event": event});
    let with = |of: &Json, name: &str, value: Json| {
        let mut of = of.clone();
        of[name] = value;
        of.to_string()
    };
    let wrong = [
        ("event.json", with(&event, "time_ns", json!(-1))),
        ("event.json", with(&event, "severity", json!("bad"))),
        ("event.json", with(&event, "kind", json!("a b"))),
        ("event.json", with(&event, "proto", json!("tcp"))),
        ("event.json", with(&event, "offset", json!(5))),
        ("event.json", with(&event, "excerpt", json!("0x"))),
        ("event.json", with(&event, "fields", json!({"a": [1]}))),
        ("record.json", with(&record, "count", json!(0))),
        ("record.json", with(&record, "event", json!({}))),
        ("sealed.json", record.to_string()),
    ];
    assert_eq!(
        schemas::validate(&folder(), &[("event.json", event.to_string()), ("record.json", record.to_string())]),
        ["valid"; 2]
    );
    for (answer, line) in schemas::validate(&folder(), &wrong).iter().zip(&wrong) {
        assert_ne!(answer, "valid", "{line:?}");
    }
}

/// Schemas allow more members, as names may be added; but each that is written is described.
#[test]
fn every_member_is_described() {
    let names = |of: &Json| -> BTreeSet<String> { of.as_object().expect("an object").keys().cloned().collect() };
    let schema = |name: &str| -> Json {
        let text = std::fs::read_to_string(folder().join(name)).expect("the schema");
        serde_json::from_str(&text).expect("JSON")
    };
    let mut written = BTreeSet::new();
    for (name, line) in lines() {
        let line: Json = serde_json::from_str(&line).expect("JSON");
        let described = names(&schema(name)["properties"]);
        assert!(names(&line).is_subset(&described), "{name}: {line}");
        written.extend(names(&line).into_iter().map(|member| (name, member)));
    }
    let described = ["event.json", "record.json", "sealed.json"].into_iter();
    let all: BTreeSet<_> = described
        .flat_map(|name| names(&schema(name)["properties"]).into_iter().map(move |member| (name, member)))
        .collect();
    let never: Vec<_> = all.difference(&written).collect();
    let others = [("event.json", "sensor"), ("sealed.json", "part"), ("sealed.json", "parts")];
    assert_eq!(never, others.map(|(name, member)| (name, member.to_owned())).each_ref());
}
