use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};

use proptest::prelude::*;

use super::{Corrupt, Cursor, Limits, Next, Producer, Step, Words};
use crate::layout::{Geometry, HEADER_WORDS, QueueEnd, Record, SLOT_WORDS, Word};

/// A queue's memory on the heap. The payload is not mapped twice, so the second half is copied from the first and back.
struct Memory {
    header: Vec<AtomicU64>,
    index: Vec<AtomicU64>,
    payload: Vec<AtomicU64>,
    geometry: Geometry,
}

fn zeroes(words: usize) -> Vec<AtomicU64> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

impl Memory {
    fn new(geometry: Geometry) -> Self {
        Self {
            header: zeroes(HEADER_WORDS),
            index: zeroes(geometry.slots() as usize * SLOT_WORDS),
            payload: zeroes(geometry.payload_bytes() as usize / 4),
            geometry,
        }
    }

    fn words(&self) -> Words<'_> {
        Words::new(&self.header, &self.index, &self.payload, self.geometry)
    }

    /// Makes both halves of the payload the same again after a record was written.
    fn mirror(&self, position: u64, bytes: u64) {
        let words = self.payload.len() / 2;
        let begin = (position % self.geometry.payload_bytes()) as usize / 8;
        for at in begin..begin + bytes.div_ceil(8) as usize {
            let value = self.payload[at].load(Ordering::Relaxed);
            self.payload[(at + words) % (2 * words)].store(value, Ordering::Relaxed);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Publish(usize),
    Read(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let bytes = prop_oneof![0..20_usize, 0..2000_usize, 7000..8193_usize];
    prop::collection::vec(prop_oneof![3 => bytes.prop_map(Op::Publish), 2 => (1..40_usize).prop_map(Op::Read)], 1..400)
}

/// Naive model of the records that a queue of this size still holds.
struct Model {
    geometry: Geometry,
    records: VecDeque<(Record, Vec<u8>)>,
    position: u64,
}

/// Whether something is still there: the producer announces that it will overwrite a little before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    There,
    Doubtful,
    Gone,
}

fn is(behind: u64, room: u64, ahead: u64) -> Is {
    match behind {
        behind if behind > room => Is::Gone,
        behind if behind > room - ahead => Is::Doubtful,
        _ => Is::There,
    }
}

impl Model {
    /// The record, its payload, and whether slot and payload are there; `None`: it was not published.
    fn expected(&self, sequence: u64) -> Option<(&Record, &[u8], Is, Is)> {
        let (record, bytes) = self.records.get(sequence as usize)?;
        let geometry = self.geometry;
        let slot = is(self.records.len() as u64 - sequence, geometry.slots(), geometry.slots_ahead());
        let payload = match bytes.is_empty() {
            true => Is::There,
            false => is(self.position - record.position, geometry.payload_bytes(), geometry.payload_ahead()),
        };
        Some((record, bytes, slot, payload))
    }

    fn position(&self, sequence: u64) -> u64 {
        self.records.get(sequence as usize).map_or(self.position, |(record, _)| record.position)
    }
}

proptest! {
    /// Every record is read, missed or lost, in order, exactly once; what is read is what was published.
    #[test]
    fn behaves_as_the_model(ops in ops()) {
        let memory = Memory::new(Geometry::small(128, 1 << 16));
        let words = memory.words();
        let mut producer = Producer::default();
        let mut model = Model { geometry: memory.geometry, records: VecDeque::new(), position: 0 };
        let mut cursor = Cursor::at(0, Some(0), None);
        let (mut read, mut missed, mut lost, mut has_missed) = (0, 0, 0, false);
        for op in ops {
            match op {
                Op::Publish(bytes) => {
                    let number = producer.sequence();
                    let payload: Vec<u8> = (0..bytes).map(|at| (at as u64 ^ number) as u8).collect();
                    let record = Record { stream: number * 3, offset: number * 5, kind: 2, flags: 7, owners: 1, detail: number, ..Record::default() };
                    let position = producer.position();
                    prop_assert!(producer.publish(&words, &record, &payload, Limits::NONE));
                    memory.mirror(position, bytes as u64);
                    let record = Record { sequence: number, position, bytes: bytes as u32, ..record };
                    model.position = producer.position();
                    model.records.push_back((record, payload));
                }
                Op::Read(count) => for _ in 0..count {
                    let (before, mut out) = (cursor.sequence(), vec![9]);
                    let Step::Next(next) = cursor.next(&words, &mut out).unwrap() else { panic!() };
                    let Some((expected, payload, slot, bytes)) = model.expected(before) else {
                        prop_assert_eq!((next, before), (Next::Empty, model.records.len() as u64));
                        break;
                    };
                    match next {
                        Next::Lost { first, records, bytes } => {
                            prop_assert!(slot != Is::There && first == before && records > 0);
                            prop_assert_eq!(cursor.sequence(), before + records);
                            prop_assert_eq!(bytes, model.position(before + records) - model.position(before));
                            lost += records;
                        }
                        Next::Record(record) => {
                            prop_assert!(slot != Is::Gone && bytes != Is::Gone);
                            prop_assert_eq!(&record, expected);
                            prop_assert_eq!(&out[1..], payload);
                            read += 1;
                            has_missed &= expected.bytes == 0;
                        }
                        Next::Missed(record) => {
                            // Behind a missed record, an eighth more is passed over.
                            let is_near = model.position - expected.position > (1 << 16) - (1 << 13) - (1 << 10);
                            prop_assert!(slot != Is::Gone && (bytes != Is::There || has_missed && is_near));
                            prop_assert_eq!(&record, expected);
                            prop_assert_eq!(out.len(), 1);
                            missed += 1;
                            has_missed = true;
                        }
                        next => prop_assert!(false, "{next:?} where {expected:?} was expected"),
                    }
                }
            }
        }
        prop_assert_eq!(read + missed + lost, cursor.sequence());
        producer.end(&words, QueueEnd::Finished);
        loop {
            match cursor.next(&words, &mut Vec::new()).unwrap() {
                Step::Next(Next::Ended(why)) => { prop_assert_eq!(why, QueueEnd::Finished); break }
                Step::Next(Next::Empty) => prop_assert!(false, "empty after the end"),
                _ => {}
            }
        }
        prop_assert_eq!(cursor.sequence(), producer.sequence());
    }

    /// Whatever a hostile producer writes: no panic, a bounded number of steps, and a cursor that does not go back.
    #[test]
    fn any_words_are_survived(
        header in prop::collection::vec((0..72_usize, prop_oneof![any::<u64>(), 0..100_u64, Just(u64::MAX)]), 0..8),
        slots in prop::collection::vec((0..128_usize, prop_oneof![any::<u64>(), 0..100_u64]), 0..40),
        begin in prop_oneof![any::<u64>(), 0..40_u64, Just(u64::MAX)],
    ) {
        let memory = Memory::new(Geometry::small(16, 1 << 16));
        for (at, value) in header { memory.header[at].store(value, Ordering::Relaxed); }
        for (at, value) in slots { memory.index[at].store(value, Ordering::Relaxed); }
        let mut cursor = Cursor::at(begin, None, None);
        let mut out = Vec::new();
        for _ in 0..50 {
            let before = cursor.sequence();
            match cursor.next(&memory.words(), &mut out) {
                Err(_) | Ok(Step::Next(Next::Empty | Next::Ended(_))) => { prop_assert_eq!(cursor.sequence(), before); break }
                Ok(_) => prop_assert!(cursor.sequence() > before),
            }
            prop_assert!(out.len() <= 50 * (1 << 13));
        }
    }
}

#[test]
fn a_payload_that_is_too_long_is_refused() {
    let memory = Memory::new(Geometry::small(16, 1 << 16));
    let mut producer = Producer::default();
    assert!(producer.publish(&memory.words(), &Record::default(), &[0; 1 << 13], Limits::NONE));
    assert!(!producer.publish(&memory.words(), &Record::default(), &[0; (1 << 13) + 1], Limits::NONE));
    assert_eq!(producer.sequence(), 1);
}

#[test]
fn a_slot_that_names_another_record_is_corrupt() {
    let memory = Memory::new(Geometry::small(16, 1 << 16));
    let words = memory.words();
    let mut producer = Producer::default();
    producer.publish(&words, &Record::default(), b"x", Limits::NONE);
    memory.index[0].store(5, Ordering::Relaxed);
    let error = Cursor::at(0, Some(0), None).next(&words, &mut Vec::new());
    assert_eq!(error, Err(Corrupt::Slot { expected: 0, found: 5 }));
    memory.header[Word::Published as usize].store(0, Ordering::Relaxed);
    let error = Cursor::at(3, None, None).next(&words, &mut Vec::new());
    assert_eq!(error, Err(Corrupt::Sequence { published: 0, read: 3 }));
}

/// A header and slots that change all the time while they are read: nothing but errors and nonsense, and always an end.
#[test]
fn words_that_change_while_they_are_read_are_survived() {
    let memory = Memory::new(Geometry::small(16, 1 << 16));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 1_u64;
            while !stop.load(Ordering::Relaxed) {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let value = if number >> 40 & 1 == 0 { number } else { number >> 58 };
                memory.header[(number >> 20) as usize % 64].store(value, Ordering::Relaxed);
                memory.index[(number >> 30) as usize % 128].store(value, Ordering::Relaxed);
            }
        });
        let mut out = Vec::new();
        for begin in 0..20_000_u64 {
            let mut cursor = Cursor::at(begin % 64, None, None);
            for _ in 0..20 {
                out.clear();
                let before = cursor.sequence();
                match cursor.next(&memory.words(), &mut out) {
                    Err(_) | Ok(Step::Next(Next::Empty | Next::Ended(_))) => break,
                    Ok(_) => assert!(cursor.sequence() > before),
                }
                assert!(out.len() <= 1 << 13);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
