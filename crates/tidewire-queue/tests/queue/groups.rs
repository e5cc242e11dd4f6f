//! Groups: each stream goes to exactly one member, while members come and go; opens for readers that came later.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;
use tidewire_queue::{
    Attach, Geometry, Next, Owners, QueueSettings, Reader, Record,
    records::{Direction, Event, Open, RecordType, flags},
};
use tidewire_testing::wait_until;

use crate::common::{Steps, drain};

fn steps(name: &str) -> Steps {
    Steps::new(name, Geometry::new(1 << 14, 4 << 20), QueueSettings::default())
}

/// Publishes a record of a stream, and its OPEN where a reader requests it.
fn publish(steps: &mut Steps, owners: &mut Owners, stream: u64) {
    if steps.publisher.needs_open(owners) {
        let mut payload = Vec::new();
        Open { ordinal: stream, next_offset: owners.next_offset(), ..Open::default() }.encode(&mut payload);
        steps.publisher.publish_stream(owners, 7, &Record::new(RecordType::Open, stream, 0), &payload).unwrap();
    }
    let data = Record::data(stream, Direction::ClientToServer, owners.next_offset()[0], 0, 0);
    steps.publisher.publish_stream(owners, 0, &data, b"x").unwrap();
}

#[derive(Clone, Debug)]
enum Op {
    Attach(Option<u8>),
    Detach(usize),
    Publish(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        1 => proptest::option::weighted(0.8, 0..3_u8).prop_map(Op::Attach),
        1 => (0..8_usize).prop_map(Op::Detach),
        16 => (0..12_u64).prop_map(Op::Publish),
    ];
    prop::collection::vec(op, 1..120)
}

/// A reader, and what the model knows of it.
struct Attached {
    reader: Reader,
    group: Option<u8>,
    /// Number of the reader, never used again.
    number: usize,
    /// Streams of which it has the OPEN.
    opened: Vec<u64>,
}

/// Which readers got each record, and who owned which stream of which group.
#[derive(Default)]
struct Model {
    owners: BTreeMap<(u8, u64), usize>,
}

impl Model {
    /// Reads everything from everybody, and checks the data records of one step: `stream` was published once.
    fn check(&mut self, readers: &mut [Attached], stream: u64) {
        let mut of_group: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for attached in readers {
            let mut got = 0;
            for (record, payload) in drain(&mut attached.reader) {
                match Event::new(&record, &payload).expect("a record of its kind") {
                    Event::Open { is_repeated, open } => {
                        assert_eq!((record.stream, record.has(flags::REPEATED)), (open.ordinal, is_repeated));
                        attached.opened.push(record.stream);
                    }
                    Event::Data { .. } => {
                        assert!(attached.opened.contains(&record.stream) || attached.group.is_none(), "no OPEN");
                        assert_eq!(record.stream, stream);
                        got += 1;
                    }
                    event => panic!("{event:?}"),
                }
            }
            match attached.group {
                None => assert_eq!(got, 1, "a reader without a group reads everything"),
                Some(group) => {
                    of_group.entry(group).or_default().extend((0..got).map(|_| attached.number));
                }
            }
            let progress = attached.reader.progress();
            let sum = attached.reader.first() + progress.read + progress.passed + progress.missed + progress.lost;
            assert_eq!(sum, attached.reader.published());
        }
        for (group, got) in of_group {
            let [owner] = got[..] else { panic!("group {group} got stream {stream} by {got:?}") };
            let before = self.owners.insert((group, stream), owner);
            assert!(before.is_none_or(|before| before == owner), "{before:?} is there, and {owner} got its stream");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Each record goes to every reader without a group and to exactly one member of each group; members keep their streams; and who
    /// gets a stream that another one had gets its OPEN first.
    #[test]
    fn each_stream_goes_to_one_member_of_each_group(ops in ops()) {
        let mut steps = steps("groups");
        let (mut readers, mut streams): (Vec<Attached>, BTreeMap<u64, Owners>) = Default::default();
        let (mut model, mut number) = (Model::default(), 0);
        for op in ops {
            match op {
                Op::Attach(group) if readers.len() < 8 => {
                    let mut request = Attach::new("main", "reader");
                    request.group = group.map(|group| format!("group-{group}"));
                    let reader = steps.attach(&request).unwrap();
                    number += 1;
                    readers.push(Attached { reader, group, number, opened: Vec::new() });
                }
                Op::Detach(at) if at < readers.len() => {
                    let gone = readers.remove(at).number;
                    model.owners.retain(|_, owner| *owner != gone);
                    steps.until_readers(readers.len());
                }
                Op::Publish(stream) => {
                    publish(&mut steps, streams.entry(stream).or_default(), stream);
                    model.check(&mut readers, stream);
                }
                _ => {}
            }
        }
    }
}

/// A reader that comes later gets the OPEN of every stream that it gets a record of.
#[test]
fn who_comes_later_gets_opens() {
    let mut steps = steps("opens");
    let mut owners = [Owners::default(), Owners::default()];
    let mut first = steps.attach(&Attach::new("main", "first")).unwrap();
    publish(&mut steps, &mut owners[0], 0);
    publish(&mut steps, &mut owners[1], 1);
    let mut second = steps.attach(&Attach::new("main", "second")).unwrap();
    // At most ten times a second.
    let mut is_open = false;
    for _ in 0..500 {
        steps.server.turn(Duration::from_millis(1)).unwrap();
        publish(&mut steps, &mut owners[0], 0);
        let read = drain(&mut second);
        is_open = read.iter().any(|(record, _)| record.kind == RecordType::Open as u16 && record.has(flags::REPEATED));
        if is_open {
            break;
        }
    }
    assert!(is_open, "no OPEN for a reader that came later");
    let count = |records: &[(Record, Vec<u8>)], kind: RecordType| {
        records.iter().filter(|(record, _)| record.kind == kind as u16).count()
    };
    let all = drain(&mut first);
    assert!(count(&all, RecordType::Open) <= 4, "each reader's coming is one more at most");
    publish(&mut steps, &mut owners[1], 1);
    let read = drain(&mut second);
    let Event::Open { open, .. } = Event::new(&read[0].0, &read[0].1).unwrap() else { panic!("{read:?}") };
    assert_eq!((open.ordinal, open.next_offset), (1, [1, 0]));
}

/// A member that passes many records of others does not starve, and says that it passed them.
#[test]
fn records_of_others_are_passed() {
    let mut steps = steps("passed");
    let mut members: Vec<Reader> =
        (0..2).map(|_| steps.attach(&Attach::new("main", "member").in_group("g")).unwrap()).collect();
    let mut owners = Owners::default();
    for _ in 0..1000 {
        publish(&mut steps, &mut owners, 3);
    }
    let read: Vec<usize> = members.iter_mut().map(|member| drain(member).len()).collect();
    assert!(read.contains(&1001) && read.contains(&0), "{read:?}");
    let passed: Vec<u64> = members.iter().map(|member| member.progress().passed).collect();
    assert!(passed.contains(&1001) && passed.contains(&0), "{passed:?}");
    let status = &steps.server.status()[0];
    assert!(status.readers.iter().all(|reader| reader.progress.sequence == 1001), "{status:?}");
}

/// A reader that never sleeps and loses records again and again gets opens again each time.
#[test]
fn a_busy_reader_that_loses_gets_opens_again() {
    let mut steps = Steps::new("busy", Geometry::new(1 << 10, 1 << 16), QueueSettings::default());
    let mut reader = steps.attach(&Attach::new("main", "busy")).unwrap();
    let mut owners = Owners::default();
    for round in 0..3 {
        // First those for its coming.
        wait_until("opens are requested", || {
            steps.server.turn(Duration::from_millis(1)).unwrap();
            steps.publisher.needs_open(&mut owners)
        });
        for _ in 0..2000 {
            steps.publisher.publish(&Record::default(), b"").unwrap();
        }
        let mut has_lost = false;
        loop {
            match reader.next(&mut Vec::new()).unwrap() {
                Next::Lost { .. } => has_lost = true,
                Next::Empty => break,
                _ => {}
            }
        }
        assert!(has_lost, "round {round}");
        // There is always something that it has not read.
        steps.publisher.publish(&Record::default(), b"").unwrap();
    }
}
