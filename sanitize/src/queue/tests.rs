//! One process publishes while others read, come and go.

use loom::{
    model::Builder,
    sync::{Arc, atomic::AtomicU64},
    thread,
};

use super::{
    layout::{Geometry, QueueEnd, Record, SLOT_WORDS, Word},
    members::{Members, ReaderSlot, generation},
    owners::Owners,
    ring::{Cursor, Limits, Member, Next, Producer, Step, Words},
    sync::Ordering,
};

/// The smallest queue: two slots, and two payloads of a word each.
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
    fn new() -> Arc<Self> {
        let geometry = Geometry::small(2, 16);
        // The payload's second half stands for the same memory; no payload of one word reaches it.
        Arc::new(Self {
            header: zeroes(Word::Wake as usize + 1),
            index: zeroes(2 * SLOT_WORDS),
            payload: zeroes(4),
            geometry,
        })
    }

    fn words(&self) -> Words<'_> {
        Words::new(&self.header, &self.index, &self.payload, self.geometry)
    }
}

/// The bytes of a record.
fn bytes(sequence: u64) -> [u8; 2] {
    [sequence as u8 + 1; 2]
}

/// A record that shows its sequence a second time.
fn marked(sequence: u64) -> Record {
    Record { owners: sequence + 10, ..Record::default() }
}

fn publish(producer: &mut Producer, memory: &Memory, record: &Record) {
    let sequence = producer.sequence();
    assert!(producer.publish(&memory.words(), record, &bytes(sequence), Limits::NONE));
}

/// What a reader finds in so many steps; everything that it takes for a record is checked.
fn read(cursor: &mut Cursor, memory: &Memory, steps: usize) -> (Vec<Record>, Option<QueueEnd>) {
    let mut records = Vec::new();
    for _ in 0..steps {
        let (before, mut out) = (cursor.sequence(), Vec::new());
        match cursor.next(&memory.words(), &mut out).expect("the producer is sound") {
            Step::Next(Next::Record(record)) => {
                assert_eq!((record.sequence, cursor.sequence()), (before, before + 1));
                assert_eq!(out, bytes(before));
                records.push(record);
            }
            Step::Next(Next::Missed(record)) => {
                assert_eq!((record.sequence, cursor.sequence()), (before, before + 1));
            }
            Step::Next(Next::Lost { first, records, .. }) => {
                assert!(first == before && records > 0 && cursor.sequence() == before + records);
            }
            Step::Next(Next::Empty) => thread::yield_now(),
            Step::Next(Next::Ended(why)) => return (records, Some(why)),
            Step::Passed(records) => assert_eq!(cursor.sequence(), before + records),
        }
    }
    (records, None)
}

/// A reader never takes for a record what is being overwritten, while the producer goes round: whatever is copied is whole, or is
/// reported as missed or lost, and the end comes behind every record.
#[test]
fn nothing_that_is_overwritten_is_read() {
    // Published before and meanwhile, steps of the reader meanwhile, preemptions.
    for (before, during, steps, preemptions) in [(1, 1, 2, 3), (2, 1, 2, 3), (1, 2, 1, 2)] {
        let mut model = Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let memory = Memory::new();
            let mut producer = Producer::default();
            for _ in 0..before {
                let record = marked(producer.sequence());
                publish(&mut producer, &memory, &record);
            }
            let shared = Arc::clone(&memory);
            let publishing = thread::spawn(move || {
                for _ in 0..during {
                    let record = marked(producer.sequence());
                    publish(&mut producer, &shared, &record);
                }
                producer.end(&shared.words(), QueueEnd::Finished);
            });
            let mut cursor = Cursor::at(0, Some(0), None);
            let (records, ended) = read(&mut cursor, &memory, steps);
            assert!(records.iter().all(|record| record.owners == record.sequence + 10));
            assert!(ended.is_none() || cursor.sequence() == before + during);
            publishing.join().unwrap();
            let (_, ended) = read(&mut cursor, &memory, 5);
            assert_eq!((ended, cursor.sequence()), (Some(QueueEnd::Finished), before + during));
        });
    }
}

/// A member comes to the place that another one has just left, while a stream is being published: it reads exactly the records that
/// were given to it, and they are behind the first one that it was promised.
#[test]
fn a_new_member_reads_what_is_given_to_it() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memory = Memory::new();
        let members = Arc::new(Members::default());
        let place = |attached_at| Some(ReaderSlot { attached_at, group: Some(0), page: None, first: 0 });
        members.update(|table| table.places[0] = place(table.change));
        let (shared, table) = (Arc::clone(&memory), Arc::clone(&members));
        let publishing = thread::spawn(move || {
            let (mut producer, mut owners, mut turn) = (Producer::default(), Owners::default(), 0);
            let mut published = Vec::new();
            let mut known = table.table();
            for _ in 0..2 {
                if table.change() != owners.at() {
                    known = table.look().unwrap_or(known);
                    owners.update(&known, &mut turn);
                }
                let mut record = Record::default();
                owners.complete(&mut record);
                publish(&mut producer, &shared, &record);
                published.push(record.owners);
            }
            published
        });
        members.update(|table| table.places[0] = None);
        let first = memory.words().word(Word::Published).load(Ordering::Acquire);
        let attached = members.update(|table| table.places[0] = place(table.change));
        let member = Member { place: 0, generation: generation(attached) };
        let mut cursor = Cursor::at(first, None, Some(member));
        let published = publishing.join().unwrap();
        let (records, _) = read(&mut cursor, &memory, 4);
        let read: Vec<u64> = records.iter().map(|record| record.sequence).collect();
        let given = published
            .iter()
            .enumerate()
            .filter(|(_, owners)| Record { owners: **owners, ..Record::default() }.is_for(0, member.generation));
        let given: Vec<u64> = given.map(|(sequence, _)| sequence as u64).collect();
        assert_eq!(read, given, "published {published:?}, first {first}");
    });
}
