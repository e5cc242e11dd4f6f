use std::{fs::File, sync::atomic::Ordering};

use super::Reader;
use crate::{
    Corrupt, Error, Next, Publisher,
    layout::{Geometry, Record, Word},
    memory::QueueMemory,
    ring::{Cursor, Limits, Member, Producer},
    sys::{memory_file, seal},
};

/// A publisher that states more records than there can be keeps no member of a group in one step for longer than a round.
#[test]
fn a_step_passes_one_round_at_most() {
    let geometry = Geometry::new(1 << 10, 1 << 16);
    let file = memory_file("test", geometry.file_bytes()).unwrap();
    let (writing, mut producer) = (QueueMemory::create(&file, geometry, 1).unwrap(), Producer::default());
    for _ in 0..geometry.slots() {
        // For another place.
        let record = Record { owners: 1 << 32 | 2, ..Record::default() };
        assert!(producer.publish(&writing.words(), &record, &[], Limits::NONE));
    }
    writing.words().word(Word::Published).store(u64::MAX, Ordering::Relaxed);
    writing.words().word(Word::SlotIntent).store(geometry.slots(), Ordering::Relaxed);
    seal(&file).unwrap();
    let member = Some(Member { place: 0, generation: 1 });
    let memory = QueueMemory::open(File::from(file)).unwrap();
    let mut reader = Reader::at(memory, 0, Cursor::at(0, Some(0), member), None);
    assert_eq!(reader.next(&mut Vec::new()).unwrap(), Next::Empty);
    assert_eq!(reader.progress().passed, geometry.slots());
    let found = reader.next(&mut Vec::new());
    assert!(matches!(found, Err(Error::Corrupt(Corrupt::Slot { expected: 1024, found: 0 }))), "{found:?}");
}

/// A reader that was overtaken while it read in place keeps the same distance as one that copies.
#[test]
fn what_is_overwritten_in_place_makes_the_reader_pass_over_more() {
    let mut publisher = Publisher::new(Geometry::new(1 << 10, 1 << 16), 1).unwrap();
    let mut reader = Reader::open(publisher.file(), None).unwrap();
    publisher.publish(&Record::default(), &[0; 4096]).unwrap();
    for _ in 0..58 {
        publisher.publish(&Record::default(), &[1; 1024]).unwrap();
    }
    assert!(matches!(reader.next_in_place().unwrap(), Next::Record(_)));
    // Overwrites the first payload, and not the second one.
    for _ in 0..3 {
        publisher.publish(&Record::default(), &[2; 1024]).unwrap();
    }
    assert!(!reader.confirm());
    let next = reader.next_in_place().unwrap();
    assert!(matches!(next, Next::Missed(Record { sequence: 1, .. })), "{next:?}");
}
