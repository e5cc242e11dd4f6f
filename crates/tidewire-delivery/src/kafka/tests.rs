//! Messages of records, and mistakes in settings.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::prelude::*;
use tidewire_event_store::Row;
use tidewire_events::{Event, FlowKey, FoldSettings, Folder, FolderSettings, Identity, Output, Severity, Value};

use super::{
    KafkaSettings,
    messages::{Error, Form, Message, each, sequence},
    settings::MESSAGE_BYTES_MIN,
};
use crate::destination::Failure;

const FORM: Form = Form { expand_max: 1000, bytes_max: MESSAGE_BYTES_MIN as usize };

fn event(number: u64) -> Event {
    let key = FlowKey { protocol: 17, client_port: number as u16, ..FlowKey::default() };
    let key = (!number.is_multiple_of(3)).then_some(key);
    let (analyzer, kind) = ("scan".into(), "scan.vertical".into());
    let event = Event { time_ns: number * 7, analyzer, kind, severity: Severity::High, key, ..Event::default() };
    event.with("n", Value::U64(number)).with("text", Value::Text(format!("{number:x}")))
}

/// Each series of events with and without a key is a record.
fn rows(events: impl IntoIterator<Item = Event>) -> Vec<Row> {
    let default = FoldSettings { identity: Identity::Members(Vec::new()), ..FoldSettings::default() };
    let mut folder = Folder::new(FolderSettings { default, ..FolderSettings::default() }, [3; 2], 0, 0);
    let mut out = Output::default();
    for event in events {
        folder.push_event(0, &event, &mut out).expect("an event within limits");
    }
    folder.close_all(&mut out).expect("nothing is damaged");
    (1..).zip(&out.records).map(|(id, record)| Row::plain(id, record).expect("a record")).collect()
}

fn messages(row: &Row, wrapped_bytes: usize, form: Form) -> Vec<Message> {
    let mut all = Vec::new();
    let mut give = |message| {
        all.push(message);
        Ok(())
    };
    each(row, wrapped_bytes, form, &mut give).expect("a whole record");
    all
}

fn back(message: &Message) -> Event {
    let mut value: serde_json::Value = serde_json::from_str(&message.value).expect("JSON");
    let members = value.as_object_mut().expect("an object");
    assert!(members.remove("record").is_some() && members.remove("number").is_some());
    Event::from_json(&value.to_string(), 0).expect("an event")
}

#[test]
fn each_event_is_a_message_in_order() {
    let rows = rows((0..500).map(event));
    assert_eq!(rows.len(), 2);
    let mut numbers = Vec::new();
    for row in &rows {
        for (index, message) in messages(row, 0, FORM).iter().enumerate() {
            let found = back(message);
            let Value::U64(number) = found.fields[0].value else { panic!("{found:?}") };
            assert_eq!(found, event(number));
            assert_eq!((message.index, message.schema), (index, "tidewire.event/1"));
            let without = &b"scan/scan.vertical"[..];
            assert!(if found.key.is_some() { message.key.len() == 20 } else { message.key == without });
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..500));
}

#[test]
fn a_flood_is_one_message() {
    let row = &rows((0..1500).map(|number| event(number * 3)))[0];
    for form in [FORM, Form { expand_max: 0, ..FORM }] {
        let [message] = &messages(row, 0, form)[..] else { panic!("one message") };
        let value: serde_json::Value = serde_json::from_str(&message.value).expect("JSON");
        assert_eq!((value["count"].as_u64(), value["event"]["kind"].as_str()), (Some(1500), Some("scan.vertical")));
        assert!(!value["varied"].is_null());
        assert_eq!((message.key.as_slice(), message.schema), (&row.fold.to_be_bytes()[..], "tidewire.record/1"));
    }
    assert_eq!(messages(row, 0, Form { expand_max: 1500, ..FORM }).len(), 1500);
}

/// No event and no record is too long for the smallest bound.
#[test]
fn the_longest_fit() {
    let long = |number: u64| {
        let text = |at: u64| char::from((number + at) as u8 % 8 + 1).to_string().repeat(4096);
        let event = Event { excerpt: None, ..event(number * 3) };
        (0..15).fold(event, |event, at| event.with(&format!("long{at}"), Value::Text(text(at))))
    };
    let rows = rows((0..64).map(long));
    assert!(rows.iter().map(|row| row.events).sum::<u64>() == 64 && rows.len() < 64);
    for row in &rows {
        for form in [FORM, Form { expand_max: 0, ..FORM }] {
            for message in messages(row, 0, form) {
                let bytes = message.value.len() + message.key.len() + 200;
                assert!(bytes <= FORM.bytes_max, "{} of {bytes} bytes", message.schema);
            }
        }
    }
}

proptest! {
    #[test]
    fn sequences_grow_as_text(a in any::<(u64, u32)>(), b in any::<(u64, u32)>()) {
        let of = |(record, index): (u64, u32)| (record, index as usize % (1 << 20));
        let (a, b) = (of(a), of(b));
        prop_assert_eq!(a.cmp(&b), sequence(a.0, a.1).cmp(&sequence(b.0, b.1)));
    }

    #[test]
    fn parts_of_a_sealed_record_are_the_whole(bytes in 0..1_600_000_usize, wrapped in 0..60_000_usize) {
        let sealed: Vec<u8> = (0..bytes).map(|at| ((at * 31) >> 3) as u8).collect();
        let row = Row { key: Some([9; 16]), bytes: sealed, ..rows([event(0)]).remove(0) };
        let parts = messages(&row, wrapped, FORM);
        let mut text = String::new();
        for (index, part) in parts.iter().enumerate() {
            prop_assert!(part.value.len() + part.key.len() + wrapped + 200 <= FORM.bytes_max);
            let value: serde_json::Value = serde_json::from_str(&part.value).expect("JSON");
            prop_assert_eq!((part.index, part.schema), (index, "tidewire.sealed/1"));
            if parts.len() > 1 {
                prop_assert_eq!(value["part"].as_u64(), Some(index as u64));
                prop_assert_eq!(value["parts"].as_u64(), Some(parts.len() as u64));
            }
            text.push_str(value["sealed"].as_str().expect("base64"));
        }
        prop_assert!(BASE64_STANDARD.decode(text).expect("base64") == row.bytes);
    }
}

#[test]
fn what_is_not_taken_ends_it() {
    let row = &rows((0..10).map(|number| event(number * 3)))[0];
    let mut given = 0;
    let mut give = |_| {
        given += 1;
        if given == 4 { Err(Failure::new("full")) } else { Ok(()) }
    };
    let error = each(row, 0, FORM, &mut give).expect_err("it was refused");
    assert!(matches!(error, Error::Taken(failure) if failure.text == "full"));
    assert_eq!(given, 4);
    let damaged = Row { bytes: row.bytes[..row.bytes.len() / 2].to_vec(), ..row.clone() };
    let error = each(&damaged, 0, FORM, &mut |_| Ok(())).expect_err("it is not whole");
    assert!(matches!(error, Error::Damaged(error) if !error.to_string().is_empty()));
}

#[test]
fn mistakes_are_said() {
    let right = KafkaSettings { brokers: vec!["kafka:9092".into(), "[::1]:9092".into()], ..KafkaSettings::default() };
    let with = |broker: &str| KafkaSettings { brokers: vec![broker.to_owned()], ..right.clone() };
    let topic = |topic: &str| KafkaSettings { topic: topic.to_owned(), ..right.clone() };
    let wrong = [
        (KafkaSettings { brokers: Vec::new(), ..right.clone() }, "no broker"),
        (with("kafka"), "is no broker"),
        (with("kafka:0"), "is no broker"),
        (with("a:1,b:2"), "is no broker"),
        (with("SASL_SSL://kafka:9092"), "is no broker"),
        (topic(""), "is no topic"),
        (topic(".."), "is no topic"),
        (topic("a b"), "is no topic"),
        (KafkaSettings { message_bytes: 1000, ..right.clone() }, "bytes at most"),
        (KafkaSettings { compression: "zip".into(), ..right.clone() }, "zstd, lz4"),
    ];
    for (settings, words) in wrong {
        let what = settings.check().expect_err(words);
        assert!(what.contains(words), "{what}");
    }
    let answer = right.check();
    #[cfg(feature = "kafka")]
    assert_eq!(answer, Ok(()));
    #[cfg(not(feature = "kafka"))]
    assert!(answer.is_err_and(|what| what.contains("--features kafka")));
}
