//! The floods: event number so and so of an analyzer, written over the one before.

use tidewire_events::{Event, FlowKey, Value};

/// A flood.
#[derive(Clone, Copy)]
pub struct Flood {
    pub name: &'static str,
    /// Whether each event is a fold of its own.
    pub is_different: bool,
    change: fn(&mut Event, u64, u64),
}

fn target(event: &mut Event, host: u64, port: u64) {
    if let Some(key) = &mut event.key {
        key.server_addr = (0x0a00_0000 | host as u32).to_be_bytes().into();
        key.server_port = port as u16;
    }
}

pub const FLOODS: [Flood; 6] = [
    Flood { name: "identical", is_different: false, change: |_, _, _| () },
    // Each analyzer scans 64 of the 256 hosts.
    Flood {
        name: "scan, port by port",
        is_different: false,
        change: |event, analyzer, at| target(event, analyzer * 64 + (at >> 16) % 64, at),
    },
    Flood {
        name: "scan, host by host",
        is_different: false,
        change: |event, analyzer, at| target(event, analyzer * 64 + at % 64, at >> 6),
    },
    Flood {
        name: "scan, in random order",
        is_different: false,
        change: |event, analyzer, at| {
            // A permutation of 22 bits: each port of each of the 64 hosts once.
            let mixed = (at as u32).wrapping_mul(0x001e_3779) & 0x3f_ffff;
            let mixed = u64::from((mixed ^ mixed >> 11).wrapping_mul(0x0002_b2ad) & 0x3f_ffff);
            target(event, analyzer * 64 + (mixed >> 16), mixed);
        },
    },
    // As much memory as open folds can be made to take: more keys than there may be folds, each with texts of its own.
    Flood {
        name: "long texts, 8,192 keys",
        is_different: false,
        change: |event, analyzer, at| {
            let mixed = (analyzer << 40 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            target(event, analyzer * 2048 + (mixed >> 30) % 2048, 80);
            event.kind.replace_range(.., "texts");
            if let Some(Value::Text(text)) = event.fields.get_mut(1).map(|field| &mut field.value) {
                *text = format!("{mixed:016x}").repeat(60);
            }
        },
    },
    Flood {
        name: "all different, durable",
        is_different: true,
        change: |event, analyzer, at| {
            let mixed = (analyzer << 40 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            target(event, mixed >> 40, mixed >> 20);
            if let Some(Value::Text(text)) = event.fields.get_mut(1).map(|field| &mut field.value) {
                use std::fmt::Write as _;
                text.clear();
                let _ = write!(text, "{mixed:016x}");
            }
        },
    },
];

impl Flood {
    pub fn by_name(name: &str) -> Option<Self> {
        FLOODS.into_iter().find(|flood| flood.name == name)
    }

    /// The event that an analyzer begins with.
    pub fn first(&self, analyzer: &str) -> Event {
        let key = FlowKey {
            protocol: 6,
            client_addr: [192, 0, 2, 1].into(),
            client_port: 54_321,
            server_addr: [10, 0, 0, 1].into(),
            server_port: 80,
        };
        let kind = if self.is_different { "different" } else { "scan.probe" };
        let event = Event { analyzer: analyzer.into(), kind: kind.into(), key: Some(key), ..Event::default() };
        event.with("flags", Value::U64(2)).with("reply", Value::Text("none".into()))
    }

    pub fn change(&self, event: &mut Event, analyzer: u64, at: u64) {
        (self.change)(event, analyzer, at);
    }
}
