//! Folding against a naive model: a list of everything that was pushed.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tidewire_events::{
    Event, FlowKey, FoldSettings, Folder, FolderSettings, Identity, Message, Output, Record, Severity, Times, Value,
    limits::RECORD_HEADER_BYTES_MAX,
};

use crate::common::{encoded, event};

/// An operation on a folder.
#[derive(Clone, Debug)]
enum Op {
    Push(Event),
    /// A run of similar events: how many, and how far apart.
    Series(Event, u16, u64),
    Tick(u64),
    Cut,
    CloseAll,
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => similar().prop_map(Op::Push),
        2 => event().prop_map(Op::Push),
        1 => (similar(), 0_u16..3000, 0_u64..100_000).prop_map(|(event, count, step)| Op::Series(event, count, step)),
        2 => (0_u64..3000).prop_map(Op::Tick),
        1 => Just(Op::Cut),
        1 => Just(Op::CloseAll),
        1 => Just(Op::Restart),
    ]
}

/// Events of two kinds that differ in few members.
fn similar() -> impl Strategy<Value = Event> {
    let port = prop_oneof![1_u16..4, any::<u16>()];
    (0_u64..1000, prop_oneof!["scan", "match"], 0_usize..2, port, 0_u64..3, "[ab]{0,2}").prop_map(
        |(time_ns, kind, severity, server_port, number, text)| {
            let key = FlowKey { protocol: 6, server_port, ..FlowKey::default() };
            let severity = Severity::ALL[severity];
            let event = Event { time_ns, analyzer: "a".into(), kind, severity, key: Some(key), ..Event::default() };
            event.with("number", Value::U64(number)).with("text", Value::Text(text))
        },
    )
}

fn identity() -> impl Strategy<Value = Identity> {
    let names = proptest::sample::subsequence(vec!["number", "text", "server_port", "unknown"], 0..4)
        .prop_map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
    prop_oneof![Just(Identity::Found), names.clone().prop_map(Identity::Members), names.prop_map(Identity::AllBut),]
}

fn settings() -> impl Strategy<Value = FolderSettings> {
    let fold = |identity| {
        (prop_oneof![Just(1000_u64), Just(u64::MAX)], prop_oneof![1_u64..20, Just(1 << 20)], Just(identity)).prop_map(
            |(age_ns, count_max, identity)| FoldSettings { age_ns, count_max, identity, ..FoldSettings::default() },
        )
    };
    let memory = prop_oneof![Just(64_usize << 20), 0_usize..30_000];
    (identity().prop_flat_map(fold), identity().prop_flat_map(fold), 1_usize..10, memory).prop_map(
        |(default, scan, folds_max, memory_bytes)| FolderSettings {
            default,
            kinds: BTreeMap::from([("scan".to_owned(), scan)]),
            folds_max,
            memory_bytes,
        },
    )
}

struct Model {
    folder: Folder,
    settings: FolderSettings,
    now_ns: u64,
    pushed: Vec<Event>,
    records: Vec<Record>,
    closed: Vec<u64>,
}

impl Model {
    fn new(settings: FolderSettings) -> Self {
        let folder = Folder::new(settings.clone(), [1, 2], 0, 0);
        Self { folder, settings, now_ns: 0, pushed: Vec::new(), records: Vec::new(), closed: Vec::new() }
    }

    fn push(&mut self, event: Event) {
        let mut out = Output::default();
        let pushed = self.folder.push_event(self.now_ns, &event, &mut out).unwrap();
        assert_eq!(pushed.number, self.pushed.len() as u64);
        self.pushed.push(event);
        self.take(out);
    }

    fn step(&mut self, op: Op) {
        let mut out = Output::default();
        match op {
            Op::Push(event) => self.push(event),
            Op::Series(mut event, count, step) => {
                for at in 0..count {
                    event.time_ns = event.time_ns.wrapping_add(step);
                    if let Some(key) = &mut event.key {
                        key.server_port = at;
                    }
                    self.push(event.clone());
                }
            }
            Op::Tick(ns) => {
                self.now_ns += ns;
                self.folder.tick(self.now_ns, &mut out).unwrap();
                assert!(self.folder.next_deadline_ns().is_none_or(|deadline| deadline > self.now_ns));
            }
            Op::Cut => self.folder.cut(&mut out).unwrap(),
            Op::CloseAll => {
                self.folder.close_all(&mut out).unwrap();
                assert_eq!(self.folder.open(), 0);
            }
            Op::Restart => {
                let state = self.folder.state(self.now_ns, &mut out).unwrap();
                let counts = self.folder.counts();
                let restored = Folder::with_state(self.settings.clone(), [3, 4], 77, &state).unwrap();
                assert_eq!(restored.counts(), counts);
                assert!(restored.open() <= self.folder.open());
                self.folder = restored;
                self.now_ns = 77;
            }
        }
        self.take(out);
    }

    fn take(&mut self, out: Output) {
        self.records.extend(out.records);
        self.closed.extend(out.closed);
        let counts = self.folder.counts();
        assert_eq!(counts.events, self.pushed.len() as u64);
        assert_eq!(counts.given + self.folder.waiting(), counts.events, "the sum of counts is what was pushed");
        assert_eq!(counts.given, self.records.iter().map(Record::count).sum::<u64>());
        assert_eq!(counts.records, self.records.len() as u64);
        assert!(self.folder.open() <= self.settings.folds_max);
        assert!(self.folder.charged_bytes() <= self.settings.memory_bytes || self.folder.open() == 0);
    }

    /// Everything comes back: each event once, in its place.
    fn finish(mut self) -> Vec<Record> {
        self.step(Op::CloseAll);
        let mut back = BTreeMap::new();
        let mut parts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for record in &self.records {
            let record = Record::decode(record.bytes()).unwrap();
            parts.entry(record.fold()).or_default().push(record.part());
            let events = record.events().unwrap();
            assert_eq!((events.len() as u64, events[0].0), (record.count(), record.first()));
            assert!(events.is_sorted_by_key(|(number, _)| *number));
            assert_eq!(events.last().map(|last| last.0), Some(record.last()));
            let times = events.iter().map(|(_, event)| event.time_ns);
            assert_eq!((times.clone().min(), times.max()), (Some(record.first_ns()), Some(record.last_ns())));
            let bytes: usize = events.iter().map(|(_, event)| encoded(event).len()).sum();
            assert!(record.bytes().len() <= bytes + RECORD_HEADER_BYTES_MAX, "{} of {bytes}", record.bytes().len());
            self.check_identity(&events);
            for (number, event) in events {
                assert_eq!(back.insert(number, event), None, "each once");
            }
        }
        self.check_joined();
        assert!(back.into_values().eq(self.pushed), "every event comes back, in order");
        for (fold, mut parts) in parts {
            parts.sort_unstable();
            assert!(parts.iter().copied().eq(0..parts.len() as u64), "parts of fold {fold}: {parts:?}");
        }
        self.records
    }

    /// Joined records of a fold have the same events.
    fn check_joined(&self) {
        let mut folds: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
        for record in &self.records {
            folds.entry(record.fold()).or_default().push(record.clone());
        }
        for records in folds.values_mut() {
            records.sort_by_key(Record::part);
            let Some(joined) = Record::join(records).unwrap() else { continue };
            let events: Vec<_> = records.iter().flat_map(|record| record.events().unwrap()).collect();
            assert_eq!((joined.fold(), joined.part(), joined.events().unwrap()), (records[0].fold(), 0, events));
        }
    }

    /// The identifying fields are the same in all events of a record.
    fn check_identity(&self, events: &[(u64, Event)]) {
        let first = &events[0].1;
        let settings = self.settings.kinds.get(&first.kind).unwrap_or(&self.settings.default);
        let names: Vec<&str> = first.fields.iter().map(|field| field.name.as_str()).collect();
        let identifies = |name: &str| match &settings.identity {
            Identity::Found => false,
            Identity::Members(members) => members.iter().any(|of| of == name),
            Identity::AllBut(members) => members.iter().all(|of| of != name),
        };
        for (_, event) in events {
            assert_eq!((&event.analyzer, &event.kind, event.severity), (&first.analyzer, &first.kind, first.severity));
            assert!(event.fields.iter().map(|field| field.name.as_str()).eq(names.iter().copied()));
            for (one, other) in event.fields.iter().zip(&first.fields).filter(|(field, _)| identifies(&field.name)) {
                assert_eq!(one, other);
            }
            if identifies("server_port") {
                assert_eq!(event.key.map(|key| key.server_port), first.key.map(|key| key.server_port));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn every_event_comes_back_whatever_is_done(settings in settings(), ops in proptest::collection::vec(op(), 0..60)) {
        let mut model = Model::new(settings);
        ops.into_iter().for_each(|op| model.step(op));
        model.finish();
    }

    #[test]
    fn unlike_events_do_not_grow(events in proptest::collection::vec(event(), 1..8), repeated in 1_usize..4) {
        let fold = FoldSettings { identity: Identity::Members(Vec::new()), ..FoldSettings::default() };
        let mut model = Model::new(FolderSettings { default: fold, ..FolderSettings::default() });
        for event in events.iter().flat_map(|event| std::iter::repeat_n(event, repeated)) {
            model.push(event.clone());
        }
        model.finish();
    }
}

fn probe(time_ns: u64, host: u32, port: u16) -> Event {
    let key = FlowKey {
        protocol: 6,
        client_addr: [192, 0, 2, 1].into(),
        client_port: 40_000,
        server_addr: (0x0a00_0000 + host).to_be_bytes().into(),
        server_port: port,
    };
    Event { time_ns, analyzer: "scan".into(), kind: "scan.probe".into(), key: Some(key), ..Event::default() }
}

#[test]
fn a_scan_becomes_one_record_by_itself() {
    let mut model = Model::new(FolderSettings::default());
    for at in 0..20_000_u32 {
        model.push(probe(u64::from(at) * 1000, at / 1000, at as u16 + 1));
    }
    let records = model.finish();
    assert!(records.len() < 20, "{}", records.len());
    let bytes: usize = records.iter().map(|record| record.bytes().len()).sum();
    assert!(bytes < 4000, "{bytes} bytes for 20,000 probes");
}

#[test]
fn scanners_are_distinguished_and_forged_sources_are_folded() {
    let mut model = Model::new(FolderSettings::default());
    for at in 0..6000_u32 {
        let mut event = probe(at.into(), 0, at as u16);
        let key = event.key.as_mut().unwrap();
        key.client_addr = [192, 0, 2, (at % 3) as u8].into();
        model.push(event);
    }
    let sources = |records: &[Record]| -> usize {
        let large = records.iter().filter(|record| record.count() > 1000);
        large
            .map(|record| record.message().unwrap().event().unwrap().key.unwrap().client_addr)
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    };
    assert_eq!(sources(&model.finish()), 3, "a fold each");
    let mut model = Model::new(FolderSettings::default());
    for at in 0..6000_u32 {
        let mut event = probe(at.into(), 0, 80);
        event.key.as_mut().unwrap().client_addr = at.wrapping_mul(0x9e37_79b9).to_be_bytes().into();
        model.push(event);
    }
    let records = model.finish();
    assert!(records.iter().any(|record| record.count() > 5900), "one fold for the flood");
}

#[test]
fn identical_events_take_no_space_where_times_are_left_out() {
    let fold = FoldSettings { times: Times::FirstAndLast, ..FoldSettings::default() };
    let settings = FolderSettings { default: fold, ..FolderSettings::default() };
    let mut folder = Folder::new(settings, [0; 2], 0, 0);
    let mut out = Output::default();
    let mut random = tidewire_testing::filters::Numbers(3);
    let mut time_ns = 0;
    for _ in 0..10_000 {
        time_ns += random.below(1 << 30);
        folder.push_event(0, &probe(time_ns, 1, 1), &mut out).unwrap();
    }
    folder.close_all(&mut out).unwrap();
    let [record] = out.records.as_slice() else { panic!("one record") };
    assert!(!record.has_times() && record.bytes().len() < 120, "{}", record.bytes().len());
    assert_eq!((record.count(), record.last_ns()), (10_000, time_ns));
    let events = record.events().unwrap();
    assert_eq!((events.len(), events[9999].1.time_ns), (10_000, time_ns));
    // Where something else varies, each time is kept.
    let mut out = Output::default();
    for at in 0..100 {
        folder.push_event(0, &probe(at * at, 1, 50 + at as u16), &mut out).unwrap();
    }
    folder.close_all(&mut out).unwrap();
    let large = out.records.iter().max_by_key(|record| record.count()).unwrap();
    assert!(large.has_times());
    assert!(large.events().unwrap().iter().all(|(_, event)| event.time_ns.isqrt().pow(2) == event.time_ns));
}

#[test]
fn the_first_event_of_a_fold_is_reported() {
    let mut folder = Folder::new(FolderSettings::default(), [0; 2], 100, 7);
    let mut out = Output::default();
    let first = folder.push_event(0, &probe(1, 1, 1), &mut out).unwrap();
    let second = folder.push_event(0, &probe(2, 1, 1), &mut out).unwrap();
    assert!(first.is_first && !second.is_first && first.fold == second.fold);
    assert_eq!((first.number, second.number, first.fold), (100, 101, 7));
    assert!(out.records.is_empty());
    folder.cut(&mut out).unwrap();
    folder.cut(&mut out).unwrap();
    assert_eq!(out.records.len(), 1);
    assert!(!folder.push_event(0, &probe(3, 1, 1), &mut out).unwrap().is_first, "a cut leaves folds open");
    folder.close_all(&mut out).unwrap();
    assert_eq!((out.records.len(), out.closed.as_slice()), (2, &[7][..]));
}

#[test]
fn a_broken_event_is_an_error_and_counts_nothing() {
    let mut folder = Folder::new(FolderSettings::default(), [0; 2], 0, 0);
    let mut out = Output::default();
    let broken = Event { kind: "no name".into(), ..probe(1, 1, 1) };
    assert!(folder.push_event(0, &broken, &mut out).is_err());
    assert_eq!((folder.counts().events, folder.open()), (0, 0));
}

#[test]
fn shapes_without_end_take_no_memory_without_end() {
    let mut folder = Folder::new(FolderSettings { folds_max: 8, ..FolderSettings::default() }, [0; 2], 0, 0);
    let mut out = Output::default();
    for at in 0..5000 {
        let event = probe(at, 1, 1).with(&format!("name-{at}"), Value::U64(at));
        let frame = encoded(&event);
        folder.push(0, &Message::new(&frame[4..]).unwrap(), &mut out).unwrap();
        assert!(folder.charged_bytes() < 4 << 20, "{}", folder.charged_bytes());
    }
    folder.close_all(&mut out).unwrap();
    assert_eq!(out.records.iter().map(Record::count).sum::<u64>(), 5000);
}
