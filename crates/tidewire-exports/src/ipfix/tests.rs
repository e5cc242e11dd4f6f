use std::{collections::BTreeMap, net::Ipv4Addr};
use tidewire_types::Timestamp;

use crate::{
    ipfix::{Exporter, Layout, STREAM_MESSAGE_BYTES, Settings, Statistics, UDP_MESSAGE_BYTES},
    testing::{Sample, key, key6},
};

/// Elements of a template: enterprise number, element, length.
type Elements = Vec<(u32, u16, u16)>;
type Record = BTreeMap<(u32, u16), Vec<u8>>;

/// A collector written from RFC 7011 and RFC 3954: templates are learnt, records are read with them.
#[derive(Default)]
struct Collector {
    templates: BTreeMap<u16, Elements>,
    records: Vec<Record>,
    options: Vec<Record>,
    /// Types of elements.
    types: Vec<Record>,
    sequences: Vec<u32>,
    unknown: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl Collector {
    fn message(&mut self, message: &[u8]) {
        let is_netflow = u16_at(message, 0) == 9;
        let (header, sequence) = if is_netflow { (20, 12) } else { (16, 8) };
        if !is_netflow {
            assert_eq!((u16_at(message, 0), usize::from(u16_at(message, 2))), (10, message.len()));
        }
        self.sequences.push(u32_at(message, sequence));
        let (mut at, before) = (header, self.data_records() + self.unknown);
        let mut definitions = 0;
        while at < message.len() {
            let (set, length) = (u16_at(message, at), usize::from(u16_at(message, at + 2)));
            assert!(length > 4 && at + length <= message.len(), "set {set} of {length} bytes at {at}");
            let body = &message[at + 4..at + length];
            match (set, is_netflow) {
                (2, false) | (0, true) => definitions += self.templates(body, 0),
                (3, false) => drop(self.templates(body, 2)),
                _ => self.data(set, body),
            }
            at += length;
        }
        if is_netflow {
            let records = self.data_records() + self.unknown - before;
            assert_eq!(usize::from(u16_at(message, 2)), records + definitions);
        }
    }

    fn data_records(&self) -> usize {
        self.records.len() + self.options.len() + self.types.len()
    }

    fn templates(&mut self, body: &[u8], scope_bytes: usize) -> usize {
        let (mut at, mut count) = (0, 0);
        while at + 4 <= body.len() {
            let (id, fields) = (u16_at(body, at), u16_at(body, at + 2));
            at += 4 + scope_bytes;
            let mut elements = Vec::new();
            for _ in 0..fields {
                let (element, bytes) = (u16_at(body, at), u16_at(body, at + 2));
                at += 4;
                let enterprise = if element & 0x8000 != 0 { u32_at(body, at) } else { 0 };
                at += if element & 0x8000 != 0 { 4 } else { 0 };
                elements.push((enterprise, element & 0x7fff, bytes));
            }
            self.templates.insert(id, elements);
            count += 1;
        }
        count
    }

    fn data(&mut self, set: u16, mut body: &[u8]) {
        let Some(template) = self.templates.get(&set) else {
            self.unknown += 1;
            return;
        };
        // Padding is shorter than any record.
        while body.len() >= 4 {
            let mut record = Record::new();
            for &(enterprise, element, bytes) in template {
                let mut bytes = usize::from(bytes);
                if bytes == usize::from(u16::MAX) {
                    bytes = body[0].into();
                    assert!(bytes < 255, "a length of three bytes");
                    body = &body[1..];
                }
                let (value, rest) = body.split_at(bytes);
                record.insert((enterprise, element), value.to_vec());
                body = rest;
            }
            match set {
                262 => self.options.push(record),
                263 => self.types.push(record),
                _ => self.records.push(record),
            }
        }
        assert!(body.len() < 4 && body.iter().all(|&byte| byte == 0));
    }
}

fn number(record: &Record, element: (u32, u16)) -> u64 {
    record[&element].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn exported(settings: Settings, flows: usize) -> Vec<Vec<u8>> {
    let (sample, mut exporter) = (Sample::new("x"), Exporter::new(settings));
    for index in 0..flows {
        let key = if index % 3 == 2 { key6(17) } else { key(6) };
        exporter.push(&sample.flow(key), 1_795_329_002 + index as u32);
    }
    exporter.push_statistics(&Statistics { dropped_packets: 9, ..Statistics::default() }, 1_795_400_000);
    exporter.finish_message();
    taken(&mut exporter)
}

fn taken(exporter: &mut Exporter) -> Vec<Vec<u8>> {
    exporter.take().into_iter().map(|message| message.bytes).collect()
}

/// Each message says how many records of streams are lost with it.
#[test]
fn messages_count_their_records() {
    for layout in [Layout::Biflow, Layout::Uniflow, Layout::Netflow9] {
        let (sample, mut exporter) = (Sample::new("x"), Exporter::new(Settings::of_datagrams(layout)));
        (0..100).for_each(|second| exporter.push(&sample.flow(key(6)), 1000 + second));
        exporter.push_statistics(&Statistics::default(), 1100);
        exporter.finish_message();
        let messages = exporter.take();
        assert!(messages.len() > 5 && messages.iter().filter(|message| message.flow_records == 0).count() <= 2);
        let all: u64 = messages.iter().map(|message| u64::from(message.flow_records)).sum();
        assert_eq!(all, exporter.flow_records());
    }
}

fn collected(messages: &[Vec<u8>]) -> Collector {
    let mut collector = Collector::default();
    messages.iter().for_each(|message| collector.message(message));
    collector
}

#[test]
fn biflows_have_both_directions() {
    let messages = exported(Settings::of_datagrams(Layout::Biflow), 300);
    assert!(messages.len() > 10 && messages.iter().all(|message| message.len() <= UDP_MESSAGE_BYTES));
    let found = collected(&messages);
    assert_eq!((found.records.len(), found.options.len(), found.unknown), (300, 1, 0));
    for record in &found.records {
        let counts = [(0, 2), (0, 1), (29_305, 2), (29_305, 1)].map(|element| number(record, element));
        assert_eq!(counts, [10, 1000, 20, 2000]);
        assert_eq!((number(record, (0, 152)), number(record, (0, 153))), (1_795_329_000_123, 1_795_329_002_123));
        assert_eq!((number(record, (0, 136)), number(record, (0, 239)), number(record, (0, 148))), (3, 1, 17));
    }
    assert_eq!(found.records[0][&(0, 8)], Ipv4Addr::new(192, 0, 2, 1).octets());
    assert_eq!((number(&found.options[0], (0, 135)), number(&found.options[0], (0, 42))), (9, 300));
    // A message's number is that of the records before it.
    let mut before = Collector::default();
    for (message, sequence) in messages.iter().zip(&found.sequences) {
        assert_eq!(*sequence as usize, before.data_records());
        before.message(message);
    }
}

/// The text of an element.
fn text(record: &Record, element: (u32, u16)) -> &str {
    std::str::from_utf8(&record[&element]).unwrap()
}

#[test]
fn an_enterprise_number_adds_what_streams_carried() {
    const PEN: u32 = 32_473;
    for (layout, records) in [(Layout::Biflow, 300), (Layout::Uniflow, 600)] {
        let settings = Settings { enterprise: Some(PEN), ..Settings::of_datagrams(layout) };
        let messages = exported(settings, 300);
        assert!(messages.iter().all(|message| message.len() <= UDP_MESSAGE_BYTES));
        let found = collected(&messages);
        assert_eq!((found.records.len(), found.options.len(), found.unknown), (records, 1, 0));
        let first = &found.records[0];
        assert_eq!((text(first, (0, 96)), text(first, (PEN, 3)), text(first, (PEN, 30))), ("tls", "fin", "x"));
        assert_eq!((text(first, (PEN, 34)), text(first, (PEN, 35)), number(first, (PEN, 6))), ("x", "x", 1));
        assert_eq!(text(first, (PEN, 1)), tidewire::community_id(&key(6), 0));
        // Payload of a direction, and of the other one where it is in the record.
        assert_eq!(number(first, (PEN, 20)), 600);
        assert_eq!(first.contains_key(&(PEN, 0x4000 | 20)), layout == Layout::Biflow);
        if layout == Layout::Biflow {
            assert_eq!(number(first, (PEN, 0x4000 | 20)), 1200);
        } else {
            assert_eq!(number(&found.records[1], (PEN, 20)), 1200);
        }
        let mut before = Collector::default();
        for (message, sequence) in messages.iter().zip(&found.sequences) {
            assert_eq!(*sequence as usize, before.data_records());
            before.message(message);
        }
    }
}

/// Every element of ours has a type, by which a collector can name it, and a template has no more elements than Wireshark reads.
#[test]
fn types_of_our_elements_are_exported() {
    const PEN: u32 = 7;
    let messages = exported(Settings { enterprise: Some(PEN), ..Settings::of_datagrams(Layout::Biflow) }, 10);
    let found = collected(&messages);
    let elements = &found.templates[&264];
    assert!(elements.len() <= 60, "{}", elements.len());
    let ours = elements.iter().filter(|element| element.0 == PEN);
    for &(_, element, bytes) in ours.clone() {
        let is_it = |record: &&Record| number(record, (0, 303)) == u64::from(element);
        let kind = found.types.iter().find(is_it).expect("it has a type");
        let expected = [(2, 2), (3, 4), (4, 8), (13, u16::MAX)].into_iter().find(|of| of.1 == bytes).unwrap().0;
        assert_eq!((number(kind, (0, 346)), number(kind, (0, 339))), (PEN.into(), expected));
        assert!(!text(kind, (0, 341)).is_empty());
        assert_eq!(text(kind, (0, 341)).starts_with("reverse"), element & 0x4000 != 0);
    }
    let names: std::collections::BTreeSet<&str> = found.types.iter().map(|kind| text(kind, (0, 341))).collect();
    assert_eq!((names.len(), found.types.len()), (ours.clone().count(), ours.count()));
    // A minute later they are sent again.
    let (sample, mut exporter) =
        (Sample::new("x"), Exporter::new(Settings { enterprise: Some(PEN), ..Settings::of_datagrams(Layout::Biflow) }));
    (0..200).for_each(|second| exporter.push(&sample.flow(key(6)), 1000 + second));
    assert_eq!(collected(&taken(&mut exporter)).types.len(), 4 * names.len());
    // With a connection that is made again, whose number is behind by as many records.
    let again = super::templates(Settings { enterprise: Some(PEN), ..Settings::of_streams(Layout::Biflow) });
    assert_eq!(collected(std::slice::from_ref(&again)).types.len(), names.len());
    assert_eq!(u32_at(&again, 8), (names.len() as u32).wrapping_neg());
}

proptest::proptest! {
    /// Texts of any length leave a message as long as it may be, and stay text.
    #[test]
    fn long_texts_are_shortened(lengths in (0..2000_usize, 0..2000_usize), message_bytes_max in 512..2000_usize) {
        let text_of = |bytes: usize| "é".repeat(bytes / 2);
        let mut sample = Sample::new(&text_of(lengths.0));
        if let Some(first) = &mut sample.app.first && let tidewire_protocols::Fields::Tls(tls) = &mut first.fields {
            tls.client_alpn = vec![text_of(lengths.1).into()];
        }
        let settings = Settings { enterprise: Some(7), message_bytes_max, ..Settings::of_datagrams(Layout::Biflow) };
        let mut exporter = Exporter::new(settings);
        (0..5).for_each(|second| exporter.push(&sample.flow(key6(6)), second));
        exporter.finish_message();
        let messages = taken(&mut exporter);
        proptest::prop_assert!(messages.iter().all(|message| message.len() <= message_bytes_max));
        let found = collected(&messages);
        proptest::prop_assert_eq!((found.records.len(), found.unknown), (5, 0));
        proptest::prop_assert!(text(&found.records[0], (7, 30)).len() <= 254);
    }
}

#[test]
fn directions_become_records_of_their_own() {
    for (layout, has_options) in [(Layout::Uniflow, 1), (Layout::Netflow9, 0)] {
        let found = collected(&exported(Settings::of_datagrams(layout), 30));
        assert_eq!((found.records.len(), found.options.len(), found.unknown), (60, has_options, 0));
        let [there, back] = [0, 1].map(|index| &found.records[index]);
        assert_eq!((number(there, (0, 1)), number(back, (0, 1))), (1000, 2000));
        assert_eq!((number(there, (0, 7)), number(back, (0, 7))), (40_000, 443));
        assert_eq!(there[&(0, 8)], back[&(0, 12)]);
    }
}

/// Type and code of ICMPv6 have an element of their own in IPFIX only; NetFlow v9 has one for both.
#[test]
fn type_and_code_of_icmp_have_the_element_of_their_format() {
    for (layout, elements) in [(Layout::Biflow, [32, 139]), (Layout::Uniflow, [32, 139]), (Layout::Netflow9, [32, 32])]
    {
        let (sample, mut exporter) = (Sample::new("x"), Exporter::new(Settings::of_datagrams(layout)));
        for (mut key, icmp) in [(key(1), [8, 0]), (key6(58), [128, 5])] {
            key.icmp = icmp;
            exporter.push(&sample.flow(key), 1_795_329_002);
            exporter.finish_message();
        }
        let found = collected(&taken(&mut exporter));
        for (element, expected) in elements.into_iter().zip([0x0800, 0x8005]) {
            assert!(
                found
                    .records
                    .iter()
                    .any(|record| { record.contains_key(&(0, element)) && number(record, (0, element)) == expected })
            );
        }
    }
}

/// A record of one direction has the type of its packets; types that belong to no pair are those of both directions.
#[test]
fn records_of_one_direction_have_its_type_of_icmp() {
    for (layout, element_6) in [(Layout::Uniflow, 139), (Layout::Netflow9, 32)] {
        let (sample, mut exporter) = (Sample::new("x"), Exporter::new(Settings::of_datagrams(layout)));
        let cases = [
            (key(1), [8, 0], 32, [0x0800, 0x0000]),
            (key(1), [13, 0], 32, [0x0d00, 0x0e00]),
            (key(1), [3, 3], 32, [0x0303, 0x0303]),
            (key6(58), [128, 0], element_6, [0x8000, 0x8100]),
            (key6(58), [1, 4], element_6, [0x0104, 0x0104]),
            (key(6), [0, 0], 32, [0, 0]),
        ];
        for (mut key, icmp, ..) in cases {
            key.icmp = icmp;
            exporter.push(&sample.flow(key), 1_795_329_002);
        }
        exporter.finish_message();
        let found = collected(&taken(&mut exporter));
        for (records, (key, icmp, element, expected)) in found.records.chunks(2).zip(cases) {
            let values = [0, 1].map(|side: usize| number(&records[side], (0, element)));
            assert_eq!(values, expected, "{layout:?} {} {icmp:?}", key.proto);
        }
    }
}

#[test]
fn netflow_times_are_against_the_start_of_the_exporter() {
    let messages = exported(Settings::of_datagrams(Layout::Netflow9), 1);
    let (uptime, now) = (u64::from(u32_at(&messages[0], 4)), u64::from(u32_at(&messages[0], 8)));
    let found = collected(&messages);
    let boot = now * 1000 - uptime;
    assert_eq!(boot + number(&found.records[0], (0, 22)), 1_795_329_000_123);
    assert_eq!(boot + number(&found.records[0], (0, 21)), 1_795_329_002_123);
}

/// Flows of any time in one export: each has its dates, by the message that it is in.
#[test]
fn netflow_times_of_other_days_have_a_base_of_their_own() {
    const DAY_MS: u64 = 86_400_000;
    let (sample, mut exporter) = (Sample::new("x"), Exporter::new(Settings::of_datagrams(Layout::Netflow9)));
    let now_ms = 1_795_329_000_000;
    let times = [(60, 1000), (60, 5), (0, 7), (400, 1), (1, 40 * DAY_MS), (0, 0), (90, 60 * DAY_MS)];
    for (days, lasting_ms) in times {
        let mut flow = sample.flow(key(6));
        for stats in &mut flow.stats {
            [stats.start, stats.end] = [now_ms - days * DAY_MS - lasting_ms, now_ms - days * DAY_MS]
                .map(|ms| Some(Timestamp::from_nanos(ms * 1_000_000)));
        }
        // Over files a record is exported when its flow ends.
        let export_ms = if days == 60 { now_ms - days * DAY_MS } else { now_ms };
        exporter.push(&flow, (export_ms / 1000) as u32);
    }
    exporter.finish_message();
    let mut found = Vec::new();
    let mut collector = Collector::default();
    for message in taken(&mut exporter) {
        let before = collector.records.len();
        collector.message(&message);
        let boot_ms = u64::from(u32_at(&message, 8)) * 1000 - u64::from(u32_at(&message, 4));
        let of = |record: &Record, element| boot_ms + number(record, (0, element));
        found.extend(collector.records[before..].iter().map(|record| (of(record, 22), of(record, 21))));
    }
    let expected = times.map(|(days, lasting)| (now_ms - days * DAY_MS - lasting, now_ms - days * DAY_MS));
    let (last, rest) = expected.split_last().unwrap();
    assert_eq!(found.len(), 2 * expected.len());
    assert!(found.chunks(2).zip(rest).all(|(found, expected)| found == [*expected; 2]), "{found:?}");
    // 32 bits hold 49 days: the rest is counted.
    assert!(found.last().is_some_and(|found| found.0 > last.0 && found.1 == last.1));
    assert_eq!(exporter.late_starts(), 2);
    // Behind 2106 they have no time for the seconds of a header: such records are left out, and counted.
    let mut flow = sample.flow(key(6));
    flow.stats
        .iter_mut()
        .for_each(|stats| stats.end = Some(Timestamp::from_nanos(u64::from(u32::MAX) * 1_000_000_000)));
    exporter.push(&flow, u32::MAX);
    exporter.finish_message();
    assert_eq!((taken(&mut exporter).len(), exporter.left_out()), (0, 2));
}

#[test]
fn ipfix_has_all_flags_of_tcp_and_netflow_eight() {
    for (layout, expected) in [(Layout::Uniflow, 0x1c2), (Layout::Biflow, 0x1c2), (Layout::Netflow9, 0xc2)] {
        let (sample, mut exporter) = (Sample::new("x"), Exporter::new(Settings::of_datagrams(layout)));
        let mut flow = sample.flow(key(6));
        flow.stats[0].tcp_flags = 0x1c2;
        exporter.push(&flow, 1_795_329_003);
        exporter.finish_message();
        let found = collected(&taken(&mut exporter));
        assert_eq!(number(&found.records[0], (0, 6)), expected, "{layout:?}");
    }
}

#[test]
fn templates_come_again_for_those_who_missed_them() {
    let messages = exported(Settings::of_datagrams(Layout::Biflow), 2000);
    let has_templates = |message: &&Vec<u8>| u16_at(message, 16) == 2;
    let second = messages.iter().skip(1).position(|message| has_templates(&message)).expect("they come again");
    let (late, early) = (collected(&messages[second + 2..]), collected(&messages));
    assert!(late.unknown > 0 && late.records.len() > 1000);
    assert_eq!(early.unknown, 0);
    assert!(messages.iter().filter(has_templates).count() >= messages.len() / 20);
}

#[test]
fn a_file_begins_with_templates_and_has_them_once() {
    let (sample, mut exporter) = (Sample::new("x"), Exporter::new(Settings::of_streams(Layout::Biflow)));
    let mut files = Vec::new();
    for _ in 0..2 {
        (0..1000).for_each(|_| exporter.push(&sample.flow(key(6)), 1));
        exporter.restart();
        files.push(taken(&mut exporter));
    }
    for file in &files {
        assert!(file.iter().all(|message| message.len() <= STREAM_MESSAGE_BYTES) && file.len() > 3);
        assert_eq!(collected(file).records.len(), 1000);
        assert_eq!(file.iter().filter(|message| u16_at(message, 16) == 2).count(), 1);
    }
    assert_eq!(exporter.flow_records(), 2000);
}
