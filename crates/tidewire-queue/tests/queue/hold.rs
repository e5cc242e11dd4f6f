//! Waiting for slow readers, and shedding.

use std::{collections::BTreeMap, thread, time::Duration};

use proptest::prelude::*;
use tidewire_queue::{
    Attach, Geometry, Hold, Losses, Next, Owners, Published, Publisher, QueueEnd, QueueSettings, Reader, Record,
    Server,
    records::{Close, Direction, Event, GAP_SHED, Open, RecordType, flags},
};
use tidewire_testing::join_in_time;

use crate::common::{Folder, Serving, Steps, drain};

fn settings(hold: Hold) -> QueueSettings {
    QueueSettings::default().hold(Some(hold))
}

/// Reads to the end, and pauses now and then.
fn read_slowly(mut reader: Reader, pause: Duration) -> (u64, u64, QueueEnd) {
    let (mut out, mut bytes) = (Vec::new(), 0);
    loop {
        out.clear();
        match reader.next_timeout(&mut out, Duration::from_millis(50)).unwrap() {
            Next::Record(record) => {
                assert!(out.iter().all(|byte| *byte == record.offset as u8), "bytes of another record");
                bytes += out.len() as u64;
                if record.sequence % 512 == 0 {
                    thread::sleep(pause);
                }
            }
            Next::Empty => {}
            Next::Ended(why) => return (reader.progress().read, bytes, why),
            next => panic!("{next:?} although the publisher waits"),
        }
    }
}

/// Without a limit nothing is lost, whatever is small: slots or bytes.
#[test]
fn a_publisher_that_holds_loses_nothing() {
    for (slots, bytes) in [(1 << 10, 4 << 20), (1 << 14, 1 << 16)] {
        let folder = Folder::new("hold");
        let mut publisher = Publisher::new(Geometry::new(slots, bytes), 1).unwrap();
        let mut server = Server::bind(&folder.socket()).unwrap();
        server.offer("main", publisher.offer(), settings(Hold::Unlimited)).unwrap();
        let serving = Serving::begin(server);
        let readers: Vec<_> = [0, 300]
            .map(|pause| {
                let reader = Reader::attach(&folder.socket(), &Attach::new("main", "slow")).unwrap();
                thread::spawn(move || read_slowly(reader, Duration::from_micros(pause)))
            })
            .into();
        let (mut owners, mut sum) = (Owners::default(), 0);
        for number in 0..20_000_u64 {
            let payload = vec![number as u8; (number * 7919 % 1500) as usize];
            sum += payload.len() as u64;
            let record = Record { offset: number, ..Record::new(RecordType::Packet, 1, 0) };
            publisher.needs_open(&mut owners);
            let published = publisher.publish_stream(&mut owners, 0, &record, &payload).unwrap();
            assert_eq!(published, Published::Yes);
        }
        let counts = publisher.offer().counts();
        assert_eq!((counts.records, counts.bytes, counts.shed_records), (20_000, sum, 0));
        publisher.finish();
        for reader in readers {
            assert_eq!(join_in_time("a slow reader", reader), (20_000, sum, QueueEnd::Finished));
        }
        serving.end();
    }
}

/// A reader that ends, or that sends nothing after the end of holding, delays the publisher for a bounded time only.
#[test]
fn a_wait_ends_with_its_reader_and_at_the_end_of_the_run() {
    let folder = Folder::new("end-hold");
    let mut publisher = Publisher::new(Geometry::new(1 << 10, 1 << 16), 1).unwrap();
    let mut server = Server::bind(&folder.socket()).unwrap();
    server.offer("main", publisher.offer(), settings(Hold::Unlimited)).unwrap();
    let serving = Serving::begin(server);
    let attach = || Reader::attach(&folder.socket(), &Attach::new("main", "stuck")).unwrap();
    let stuck = attach();
    let offer = publisher.offer();
    let publishing = thread::spawn(move || {
        let mut owners = Owners::default();
        for number in 0..4000 {
            publisher.needs_open(&mut owners);
            publisher.publish_stream(&mut owners, 0, &Record::new(RecordType::Packet, number, 0), b"x").unwrap();
        }
        publisher
    });
    tidewire_testing::wait_until("the publisher waits", || offer.published() == 1024);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(offer.published(), 1024, "it does not wait for the reader");
    // Another one comes while it waits, and the first one goes.
    let second = attach();
    drop(stuck);
    tidewire_testing::wait_until("the publisher goes on", || offer.published() == 2048);
    offer.end_hold(Duration::from_millis(10));
    let publisher = join_in_time("a publisher that waited", publishing);
    let counts = publisher.counts();
    // Records published at the end of a run are not shed for a reader that is stuck.
    assert!(counts.waited_ns > 0 && counts.shed_records == 0 && counts.records == 4000, "{counts:?}");
    drop((second, publisher));
    serving.end();
}

/// A reader's view of a stream: how far each direction is, and what gaps it has.
#[derive(Default)]
struct Seen {
    next: [u64; 2],
    bytes: u64,
    gaps: u64,
    is_open: bool,
    is_closed: bool,
}

fn see(seen: &mut BTreeMap<u64, Seen>, record: &Record, payload: &[u8]) {
    let seen = seen.entry(record.stream).or_default();
    match Event::new(record, payload).expect("a record of its kind") {
        Event::Open { .. } => seen.is_open = true,
        Event::Data { direction, offset, bytes, repeated_bytes, .. } => {
            assert!(seen.is_open);
            assert_eq!(offset + repeated_bytes as u64, seen.next[direction as usize], "a hole");
            seen.bytes += (bytes.len() - repeated_bytes) as u64;
            seen.next[direction as usize] = offset + bytes.len() as u64;
        }
        Event::Gap(gap) => {
            assert!(gap.cause == GAP_SHED && record.has(flags::SHED_BY_QUEUE) && gap.bytes > 0);
            assert_eq!(gap.offset, seen.next[gap.direction as usize], "a gap at another place");
            seen.gaps += gap.bytes;
            seen.next[gap.direction as usize] += gap.bytes;
        }
        Event::Close(close) => {
            assert_eq!(close.end_offset, seen.next);
            seen.is_closed = true;
        }
        event => panic!("{event:?}"),
    }
}

#[derive(Clone, Debug)]
struct Step {
    stream: u64,
    to_client: bool,
    repeated: usize,
    bytes: usize,
    reads: usize,
}

fn steps_of_streams() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..6_u64, any::<bool>(), 0..50_usize, 1..4000_usize, prop_oneof![6 => Just(0), 1 => 0..60_usize])
        .prop_map(|(stream, to_client, repeated, bytes, reads)| Step { stream, to_client, repeated, bytes, reads });
    prop::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever is shed: bytes and gaps cover every direction, sums close, and the highest priority is never shed.
    #[test]
    fn what_is_shed_is_in_gaps(all in steps_of_streams()) {
        // A limit so short that waiting is over at once.
        let hold = Hold::AtMost(Duration::from_nanos(1));
        let mut steps = Steps::new("shed", Geometry::new(1 << 10, 1 << 16), settings(hold));
        let mut reader = steps.attach(&Attach::new("main", "slow")).unwrap();
        let (mut owners, mut seen): (BTreeMap<u64, Owners>, BTreeMap<u64, Seen>) = Default::default();
        let (mut produced, mut losses, mut missing) = (0, Losses::new(100), Vec::new());
        let mut take = |reader: &mut Reader, count: usize| for _ in 0..count {
            let mut payload = Vec::new();
            match reader.next(&mut payload).unwrap() {
                Next::Record(record) => {
                    losses.read(&record, &payload, &mut missing);
                    see(&mut seen, &record, &payload);
                }
                Next::Empty => break,
                next => panic!("{next:?}"),
            }
        };
        for step in all {
            let stream = step.stream;
            let owners = owners.entry(stream).or_default();
            let open = |owners: &Owners| {
                let mut payload = Vec::new();
                Open { ordinal: stream, next_offset: owners.next_offset(), ..Open::default() }.encode(&mut payload);
                payload
            };
            if steps.publisher.needs_open(owners) {
                let payload = open(owners);
                steps.publisher.publish_stream(owners, 7, &Record::new(RecordType::Open, stream, 0), &payload).unwrap();
            }
            let direction = if step.to_client { Direction::ServerToClient } else { Direction::ClientToServer };
            let next = owners.next_offset()[direction as usize];
            let repeated = (step.repeated as u64).min(next);
            let data = Record::data(stream, direction, next - repeated, repeated as u32, 0);
            let bytes = vec![1; step.bytes + repeated as usize];
            // Stream 5 has the highest priority, as long as there is room for it.
            let priority = if stream == 5 { 6 } else { stream as u8 };
            steps.publisher.publish_stream(owners, priority, &data, &bytes).unwrap();
            produced += step.bytes as u64;
            take(&mut reader, step.reads);
        }
        take(&mut reader, usize::MAX);
        for (stream, owners) in &mut owners {
            let mut payload = Vec::new();
            Close { ordinal: *stream, end_offset: owners.next_offset(), ..Close::default() }.encode(&mut payload);
            steps.publisher.publish_stream(owners, 7, &Record::new(RecordType::Close, *stream, 0), &payload).unwrap();
            take(&mut reader, usize::MAX);
        }
        let counts = steps.publisher.counts();
        let (bytes, gaps) = seen.values().fold((0, 0), |sum, seen| (sum.0 + seen.bytes, sum.1 + seen.gaps));
        prop_assert_eq!((bytes + gaps, gaps), (produced, counts.shed_bytes));
        prop_assert!(seen.values().all(|seen| seen.is_closed));
        prop_assert_eq!(missing, vec![]);
        prop_assert_eq!(reader.progress().read, counts.records);
    }
}

/// The highest priority is published although the reader loses by it; the reader knows exactly what.
#[test]
fn the_highest_priority_is_not_shed() {
    let hold = Hold::AtMost(Duration::from_nanos(1));
    let mut steps = Steps::new("highest", Geometry::new(1 << 10, 1 << 16), settings(hold));
    let mut reader = steps.attach(&Attach::new("main", "stuck")).unwrap();
    let mut owners = Owners::default();
    for number in 0..3000_u64 {
        steps.publisher.needs_open(&mut owners);
        let data = Record::data(1, Direction::ClientToServer, number * 10, 0, 0);
        assert_eq!(steps.publisher.publish_stream(&mut owners, 7, &data, &[1; 10]).unwrap(), Published::Yes);
    }
    let (mut losses, mut missing, mut read) = (Losses::new(10), Vec::new(), 0);
    loop {
        let mut payload = Vec::new();
        match reader.next(&mut payload).unwrap() {
            Next::Record(record) => {
                losses.read(&record, &payload, &mut missing);
                read += 10;
            }
            Next::Missed(record) => losses.missed(&record, &mut missing),
            Next::Lost { first, records, bytes } => assert_eq!((first, bytes), (0, records * 16)),
            Next::Empty => break,
            next => panic!("{next:?}"),
        }
    }
    let progress = reader.progress();
    assert_eq!(progress.read + progress.missed + progress.lost, 3000);
    // The lost records were before the first one that it knows of the stream.
    assert_eq!(missing, []);
    assert_eq!(read, 10 * progress.read);
    assert_eq!(progress.lost_bytes, progress.lost * 16);
    assert!(drain(&mut reader).is_empty());
}
