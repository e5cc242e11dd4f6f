//! Messages and JSON: what is encoded comes back, what breaks a limit or a bound is an error.

use proptest::prelude::*;
use tidewire_events::{
    DecodeError, Event, EventError, Field, FlowKey, JsonError, Message, Severity, Value,
    limits::{EXCERPT_BYTES_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, VALUE_BYTES_MAX},
};

use crate::common::{encoded, event};

proptest! {
    #[test]
    fn events_come_back_from_messages_and_json(event in event()) {
        let frame = encoded(&event);
        let (message, bytes) = Message::first(&frame).unwrap().unwrap();
        prop_assert_eq!((message.time_ns(), message.severity(), bytes), (event.time_ns, event.severity, frame.len()));
        prop_assert_eq!(message.names(), (event.analyzer.as_str(), event.kind.as_str()));
        prop_assert_eq!(message.event().unwrap(), event.clone());
        prop_assert_eq!(Event::from_json(&event.to_json(), 0).unwrap(), event);
    }

    #[test]
    fn a_message_that_is_cut_or_changed_is_an_error_or_another_event(event in event(), at: usize, bit in 0_u8..8) {
        let frame = encoded(&event);
        let cut = at % frame.len();
        prop_assert_eq!(Message::first(&frame[..cut]), Ok(None));
        prop_assert!(Message::new(&frame[4..][..cut.saturating_sub(4)]).is_err());
        let longer = [&frame[4..], &[0]].concat();
        prop_assert_eq!(Message::new(&longer), Err(DecodeError::Long(1)));
        let mut changed = frame.clone();
        changed[cut] ^= 1 << bit;
        // There is one encoding of each event: what is accepted is encoded the same again.
        if let Ok(Some((message, bytes))) = Message::first(&changed) {
            prop_assert_eq!(encoded(&message.event().unwrap()), &changed[..bytes]);
        }
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Message::first(&bytes);
        if let Ok(message) = Message::new(&bytes) {
            prop_assert_eq!(&encoded(&message.event().unwrap())[4..], bytes);
        }
    }
}

fn small() -> Event {
    Event { analyzer: "scan".into(), kind: "scan.horizontal".into(), ..Event::default() }
}

#[test]
fn what_breaks_a_limit_is_an_error_that_names_it() {
    let fails = |event: Event| {
        let mut out = b"before".to_vec();
        let error = event.encode(&mut out).unwrap_err();
        assert_eq!(out, b"before");
        error
    };
    let text = |bytes: usize| Value::Text("x".repeat(bytes));
    let error = fails(small().with("field", text(VALUE_BYTES_MAX + 1)));
    assert_eq!(error.to_string(), "the field 'field' has 4097 bytes: at most 4096 are possible");
    assert!(matches!(fails(small().with("severity", text(1))), EventError::Reserved { .. }));
    assert!(matches!(fails(small().with("a b", text(1))), EventError::Name { what: "a field", .. }));
    assert!(matches!(fails(small().with("a", text(1)).with("a", text(1))), EventError::Twice { .. }));
    assert!(matches!(
        fails(Event { analyzer: String::new(), ..small() }),
        EventError::Name { what: "an analyzer", .. }
    ));
    assert!(matches!(fails(Event { kind: "x".repeat(65), ..small() }), EventError::Name { what: "a kind", .. }));
    let many = (0..=FIELDS_MAX).map(|at| Field { name: format!("f{at}"), value: Value::Bool(true) }).collect();
    assert_eq!(fails(Event { fields: many, ..small() }), EventError::Fields { count: FIELDS_MAX + 1 });
    let excerpt = Some(vec![0; EXCERPT_BYTES_MAX + 1]);
    assert!(matches!(fails(Event { excerpt, ..small() }), EventError::Excerpt { .. }));
    let large = (0..FIELDS_MAX).fold(small(), |event, at| event.with(&format!("f{at}"), text(VALUE_BYTES_MAX)));
    assert!(matches!(fails(large), EventError::Message { bytes } if bytes > MESSAGE_BYTES_MAX));
    let key = FlowKey { client_addr: "::1".parse().unwrap(), ..FlowKey::default() };
    assert_eq!(fails(Event { key: Some(key), ..small() }), EventError::Families);
}

#[test]
fn a_frame_beyond_the_limit_is_refused_before_it_arrives() {
    let stated = (MESSAGE_BYTES_MAX as u32 + 1).to_le_bytes();
    assert_eq!(Message::first(&stated), Err(DecodeError::TooLong(MESSAGE_BYTES_MAX as u64 + 1)));
}

#[test]
fn names_in_json_are_those_of_the_contract() {
    let key = FlowKey {
        protocol: 6,
        client_addr: "192.0.2.10".parse().unwrap(),
        client_port: 40000,
        server_addr: "198.51.100.80".parse().unwrap(),
        server_port: 80,
    };
    let event = Event {
        time_ns: 1_795_233_648_885_962_000,
        severity: Severity::High,
        key: Some(key),
        stream: Some(6),
        ..small()
    };
    let event = event.with("count", Value::U64(3)).with("to", Value::Addr("::1".parse().unwrap()));
    let json = r#"{"time_ns":1795233648885962000,"analyzer":"scan","kind":"scan.horizontal","severity":"high","proto":"tcp","client":{"addr":"192.0.2.10","port":40000},"server":{"addr":"198.51.100.80","port":80},"stream":6,"community_id":"1:7FIwDOzudpzW5v0t/Em/NDpd23w=","fields":{"count":3,"to":"::1"},"types":{"to":"addr"}}"#;
    assert_eq!(event.to_json(), json);
    let short = Event::from_json(r#"{"analyzer":"a","kind":"k","fields":{"n":-1,"x":1.5}}"#, 7).unwrap();
    assert_eq!((short.time_ns, short.severity), (7, Severity::Info));
    assert_eq!(short.fields[0].value, Value::I64(-1));
}

#[test]
fn json_that_is_no_event_says_why() {
    let error = |text: &str| Event::from_json(text, 0).unwrap_err();
    assert!(error(r#"{"analyzer":"a","kind":"k","surprise":1}"#).to_string().contains("unknown field `surprise`"));
    assert!(error("[]").to_string().contains("expected an object"));
    assert!(error(r#"{"kind":"k"}"#).to_string().contains("missing field `analyzer`"));
    let of = |text: &str| Event::from_json_of(text, "known", 7).map(|event| event.analyzer);
    assert_eq!(of(r#"{"kind":"k"}"#).as_deref(), Ok("known"));
    assert_eq!(of(r#"{"kind":"k","analyzer":"stated"}"#).as_deref(), Ok("stated"));
    assert!(of("{}").unwrap_err().to_string().contains("missing field `kind`"));
    for (text, name) in [
        (r#"{"analyzer":"a","kind":"k","severity":"bad"}"#, "severity"),
        (r#"{"analyzer":"a","kind":"k","offset":1}"#, "offset"),
        (r#"{"analyzer":"a","kind":"k","excerpt":"abc"}"#, "excerpt"),
        (r#"{"analyzer":"a","kind":"k","proto":"tcp"}"#, "client"),
        (r#"{"analyzer":"a","kind":"k","fields":{"f":[]}}"#, "f"),
        (r#"{"analyzer":"a","kind":"k","types":{"f":"addr"}}"#, "f"),
        (r#"{"analyzer":"a","kind":"k","fields":{"f":"x"},"types":{"f":"addr"}}"#, "f"),
    ] {
        assert!(matches!(error(text), JsonError::Member { name: found, .. } if found == name), "{text}");
    }
    assert!(matches!(error(r#"{"analyzer":"a b","kind":"k"}"#), JsonError::Event(EventError::Name { .. })));
}
