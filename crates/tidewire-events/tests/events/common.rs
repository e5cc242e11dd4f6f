//! Any event, for property tests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::{collection, option, prelude::*};
use tidewire_events::{Direction, Event, Field, FlowKey, Severity, StreamPosition, Value};

pub fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from(bits))),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::I64),
        any::<u64>().prop_map(Value::U64),
        any::<u64>().prop_map(|bits| Value::F64(f64::from_bits(bits))).prop_filter(
            "a NaN's payload is no part of JSON",
            |value| !matches!(value, Value::F64(number) if number.is_nan())
        ),
        ".{0,20}".prop_map(Value::Text),
        collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
        address().prop_map(Value::Addr),
        any::<u64>().prop_map(Value::Time),
    ]
}

fn key() -> impl Strategy<Value = FlowKey> {
    (any::<u8>(), address(), any::<u16>(), address(), any::<u16>()).prop_filter_map(
        "one family",
        |(protocol, client_addr, client_port, server_addr, server_port)| {
            let one_family = client_addr.is_ipv4() == server_addr.is_ipv4();
            one_family.then_some(FlowKey { protocol, client_addr, client_port, server_addr, server_port })
        },
    )
}

fn place() -> impl Strategy<Value = StreamPosition> {
    let direction = prop_oneof![Just(Direction::ClientToServer), Just(Direction::ServerToClient)];
    (direction, any::<u64>()).prop_map(|(direction, offset)| StreamPosition { direction, offset })
}

/// Any event within the limits.
pub fn event() -> impl Strategy<Value = Event> {
    let names = ("[a-z]{1,3}", "[a-z.]{1,3}", proptest::sample::select(Severity::ALL.to_vec()));
    let flow = (option::of(key()), option::of(any::<u64>()), option::of(place()));
    let fields = collection::btree_map("f[a-z0-9_-]{0,4}", value(), 0..6);
    let excerpt = option::of(collection::vec(any::<u8>(), 0..30));
    (any::<u64>(), names, flow, fields, excerpt).prop_map(|(time_ns, names, flow, fields, excerpt)| {
        let (analyzer, kind, severity) = names;
        let (key, stream, place) = flow;
        let fields = fields.into_iter().map(|(name, value)| Field { name, value }).collect();
        Event { time_ns, analyzer, kind, severity, key, stream, place, fields, excerpt }
    })
}

/// Its frame.
pub fn encoded(event: &Event) -> Vec<u8> {
    let mut out = Vec::new();
    event.encode(&mut out).expect("an event within the limits");
    out
}
