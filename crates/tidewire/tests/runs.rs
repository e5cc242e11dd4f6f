//! Runs of the library over the bundled conversation: one worker and several, stopping, failing, timing.

use std::{
    io::{Cursor, Write},
    time::Duration,
};

use tidewire_testing::InTime as _;

use tidewire::{
    Capture, Chunk, Clocked, Direction, EndReason, Error, Fate, Files, FinishedStream, GapCause, Handler, Mode,
    SettingError, Stop, Stream, StreamClass, Timed,
};

const HELLO: &[u8] = include_bytes!("corpus/hello/hello.pcap");

/// The conversation `copies` times, on ports that differ; checksums are wrong in all but the first.
fn many(copies: u16) -> Vec<u8> {
    let mut capture = HELLO[..24].to_vec();
    for copy in 0..copies {
        let mut at = 24;
        while at < HELLO.len() {
            let length = u32::from_le_bytes(HELLO[at + 8..at + 12].try_into().unwrap()) as usize;
            let mut record = HELLO[at..at + 16 + length].to_vec();
            let ports = 16 + 14 + 20;
            for port in [ports, ports + 2] {
                let number = u16::from_be_bytes([record[port], record[port + 1]]);
                if number == 40_000 {
                    record[port..port + 2].copy_from_slice(&(number + copy).to_be_bytes());
                }
            }
            capture.extend_from_slice(&record);
            at += 16 + length;
        }
    }
    capture
}

/// Keeps what every stream said, by id.
#[derive(Debug, Default)]
struct Said(Vec<(u64, Vec<u8>, Vec<u8>)>);

impl Handler for Said {
    type Data = [Vec<u8>; 2];

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        stream.data()[chunk.direction as usize].extend_from_slice(chunk.fresh());
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, _: EndReason) {
        let [c2s, s2c] = std::mem::take(stream.data());
        self.0.push((stream.id(), c2s, s2c));
    }
}

fn said(handlers: Vec<Said>) -> Vec<(u64, Vec<u8>, Vec<u8>)> {
    let mut all: Vec<_> = handlers.into_iter().flat_map(|handler| handler.0).collect();
    all.sort();
    all
}

#[test]
fn several_workers_give_what_one_gives() {
    let capture = many(500);
    let run = |workers: usize| {
        let capture = std::io::Cursor::new(capture.clone());
        let capture = Capture::reader(capture).checksum(tidewire::ChecksumMode::Ignore).workers(workers);
        capture.run(|_| Said::default()).unwrap()
    };
    let alone = run(1);
    assert!(alone.ledger.closes());
    assert_eq!(alone.ledger.received, 4000);
    let alone = said(alone.handlers);
    assert_eq!(alone.len(), 500);
    assert!(alone.iter().all(|(_, c2s, s2c)| c2s == b"hello" && s2c == b"good day"));
    for workers in [2, 3, 8] {
        let together = run(workers);
        assert_eq!(together.handlers.len(), workers);
        assert!(together.ledger.closes());
        assert_eq!(together.ledger.received, 4000);
        assert!(together.handlers.iter().filter(|handler| !handler.0.is_empty()).count() > 1);
        assert_eq!(said(together.handlers), alone);
    }
}

#[test]
fn files_filters_and_the_ledger() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(HELLO).unwrap();
    let outcome = Capture::files([file.path()]).filter("src host 192.0.2.1").run_with(Said::default()).unwrap();
    assert!(outcome.ledger.closes());
    assert_eq!(outcome.ledger.received, 8);
    assert_eq!(outcome.ledger.fate(Fate::Filtered), 3);
    assert_eq!(outcome.handler().0[0].1, b"hello");
}

#[test]
fn cutoffs_by_direction_and_class() {
    let run = |capture: Capture<Files<'_>>| said(capture.run_with(Said::default()).unwrap().handlers);
    let lengths = |capture: Capture<Files<'_>>| run(capture).first().map(|(_, c2s, s2c)| (c2s.len(), s2c.len()));
    assert_eq!(lengths(Capture::reader(HELLO).cutoff(3)), Some((3, 3)));
    assert_eq!(lengths(Capture::reader(HELLO).cutoff_direction(Direction::ServerToClient, 0)), Some((5, 0)));
    assert_eq!(
        lengths(Capture::reader(HELLO).cutoff(0).class(StreamClass::matching("port 80").cutoff(4))),
        Some((4, 4))
    );
    let other_class_first = Capture::reader(HELLO)
        .class(StreamClass::matching("port 81").cutoff(1))
        .class(StreamClass::matching("tcp").cutoff(2).priority(3));
    assert_eq!(lengths(other_class_first), Some((2, 2)));
}

#[test]
fn wrong_settings_are_refused() {
    let refused = |capture: Capture<Files<'_>>| capture.run_with(Said::default()).unwrap_err();
    assert!(matches!(refused(Capture::reader(HELLO).workers(0)), Error::Setting { .. }));
    assert!(matches!(refused(Capture::reader(HELLO).chunks(8, 8)), Error::Setting { .. }));
    assert!(matches!(
        refused(Capture::reader(HELLO).class(StreamClass::matching("tcp").priority(8))),
        Error::Setting { .. }
    ));
    assert!(matches!(refused(Capture::reader(HELLO).filter("port bananas")), Error::Filter(_)));
    assert!(matches!(refused(Capture::reader(HELLO).class(StreamClass::matching("port bananas"))), Error::Filter(_)));
    assert!(matches!(refused(Capture::files(["/nonexistent.pcap"])), Error::File(_)));
    let cut = Capture::reader(&HELLO[..HELLO.len() - 1]).run_with(Said::default()).unwrap();
    assert_eq!(cut.input_errors.len(), 1);
    assert_eq!(cut.ledger.received, 7);
}

/// The bytes of finished streams, as `said` returns them.
fn finished<'a>(streams: impl IntoIterator<Item = &'a FinishedStream>) -> Vec<(u64, Vec<u8>, Vec<u8>)> {
    let bytes = |stream: &FinishedStream, direction| stream.bytes(direction).to_vec();
    let one = |stream: &FinishedStream| {
        (stream.id(), bytes(stream, Direction::ClientToServer), bytes(stream, Direction::ServerToClient))
    };
    let mut all: Vec<_> = streams.into_iter().map(one).collect();
    all.sort();
    all
}

#[test]
fn finished_streams_are_those_that_a_handler_gets() {
    let capture = || Capture::reader(std::io::Cursor::new(many(500))).checksum(tidewire::ChecksumMode::Ignore);
    let wanted = said(capture().run_with(Said::default()).unwrap().handlers);
    let mut streams = capture().streams().unwrap();
    let iterated: Vec<_> = streams.by_ref().collect();
    let ledger = streams.finish().ledger;
    assert!(ledger.closes());
    assert_eq!(ledger.received, 4000);
    assert_eq!(finished(&iterated), wanted);
    let mut called = Vec::new();
    let outcome = capture().for_each_stream(|stream| called.push(stream)).unwrap();
    assert_eq!(outcome.ledger.delivered_bytes, ledger.delivered_bytes);
    assert_eq!(finished(&called), wanted);
    let one = &called[0];
    assert_eq!((one.reason().name(), one.gaps().len(), one.dropped_bytes(Direction::ClientToServer)), ("fin", 0, 0));
    assert_eq!(one.stats(Direction::ServerToClient).payload_wire_bytes, 8);
    assert!(one.start().as_nanos() < one.end().as_nanos());
}

#[test]
fn finished_streams_keep_no_more_than_they_may() {
    let capture = || Capture::reader(std::io::Cursor::new(many(500))).checksum(tidewire::ChecksumMode::Ignore);
    for stream in capture().cutoff(3).streams().unwrap() {
        assert_eq!(stream.bytes(Direction::ServerToClient), b"goo");
        assert_eq!(stream.stats(Direction::ServerToClient).payload_wire_bytes, 8);
        assert!(stream.gaps().iter().any(|gap| gap.cause == GapCause::Cutoff && gap.bytes == 5));
    }
    // One that does not ask for more ends what is read.
    let mut streams = capture().streams().unwrap();
    assert_eq!(
        streams.next().map(|stream| stream.bytes(Direction::ClientToServer).to_vec()).as_deref(),
        Some(&b"hello"[..])
    );
    assert!(streams.finish().ledger.closes());
}

#[test]
fn of_all_finished_streams_no_more_is_kept_than_the_memory_says() {
    // 3,000 streams of 8,000 bytes that end with the input only.
    let source = std::io::Cursor::new(datagrams(3000, 8000));
    let memory = 4 << 20;
    let streams = Capture::reader(source).memory(memory).streams().unwrap();
    let (mut kept, mut dropped, mut count) = (0, 0, 0);
    for stream in streams {
        count += 1;
        kept += stream.bytes(Direction::ClientToServer).len() as u64;
        dropped += stream.dropped_bytes(Direction::ClientToServer);
    }
    assert_eq!((count, kept + dropped), (3000, 3000 * 8000));
    assert!(kept <= memory && kept > memory / 2, "{kept} bytes kept");
}

/// The record of a UDP datagram.
fn datagram(port: u16, seconds: u32, payload: &[u8]) -> Vec<u8> {
    let bytes = payload.len() as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    frame.extend((28 + bytes).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([port.to_be_bytes(), 53_u16.to_be_bytes(), (8 + bytes).to_be_bytes(), [0, 0]].concat());
    frame.extend(payload);
    let length = (frame.len() as u32).to_le_bytes();
    [&seconds.to_le_bytes()[..], &[0; 4], &length, &length, &frame].concat()
}

/// So many streams of one UDP datagram each.
fn datagrams(count: u16, bytes: u16) -> Vec<u8> {
    let records = (0..count).map(|port| datagram(10_000 + port, 0, &vec![7; bytes.into()]));
    [HELLO[..24].to_vec(), records.collect::<Vec<_>>().concat()].concat()
}

/// Memory that returns in the middle of a stream does not make a hole in its bytes that nothing reports.
#[test]
fn bytes_that_are_kept_are_the_beginning_of_a_stream() {
    let begun = u32::from_le_bytes(HELLO[24..28].try_into().unwrap());
    let mut capture = HELLO.to_vec();
    let mut sent = Vec::new();
    for number in 0..700_u32 {
        let payload: Vec<u8> = (0..8000_u32).map(|at| (at ^ number) as u8).collect();
        // The conversation before it is closed, and its memory released, when 600 datagrams have used all of it up.
        capture.extend(datagram(9000, begun + if number < 600 { 0 } else { 10 }, &payload));
        sent.extend(payload);
    }
    let streams = Capture::reader(std::io::Cursor::new(capture)).memory(2 << 20).cutoff(u64::MAX);
    let streams: Vec<_> = streams.report_closed(std::time::Duration::from_secs(1)).streams().unwrap().collect();
    assert_eq!(streams[0].key().proto, 6, "the conversation was closed first");
    let stream = &streams[1];
    let kept = stream.bytes(Direction::ClientToServer);
    assert!(kept.len() > 1 << 20 && sent.starts_with(kept), "{} bytes are not a beginning", kept.len());
    assert_eq!(kept.len() as u64 + stream.dropped_bytes(Direction::ClientToServer), sent.len() as u64);
}

#[test]
fn a_cutoff_without_limit_is_one() {
    let payload = vec![7; 60_000];
    let records = (0..30).map(|_| datagram(9000, 0, &payload));
    let capture = [HELLO[..24].to_vec(), records.collect::<Vec<_>>().concat()].concat();
    let kept = |capture: Capture<Files<'_>>| {
        let stream = capture.streams().unwrap().next().unwrap();
        stream.bytes(Direction::ClientToServer).len()
    };
    let capture = || Capture::reader(std::io::Cursor::new(capture.clone()));
    assert_eq!(kept(capture()), 1 << 20);
    assert_eq!(kept(capture().cutoff(u64::MAX)), 30 * 60_000);
    assert_eq!(kept(capture().configure(|config| config.set_chunk_bytes(4096))), 1 << 20);
}

#[test]
fn calls_for_one_worker_refuse_several() {
    let capture = || Capture::reader(HELLO).workers(2);
    let refused = |error: Error| matches!(error, Error::Setting(SettingError::OneWorker { given: 2 }));
    assert!(refused(capture().run_with(Said::default()).unwrap_err()));
    assert!(refused(capture().streams().unwrap_err()));
    assert!(refused(capture().for_each_stream(drop).unwrap_err()));
    assert!(refused(capture().on_gap(|_, _| ()).run().unwrap_err()));
}

#[derive(Debug)]
struct Panics(usize);

impl Handler for Panics {
    type Data = ();

    fn open(&mut self, _: &mut Stream<'_, ()>) {
        assert_ne!(self.0, 1, "worker one gives up");
    }
}

#[test]
fn a_worker_that_panics_ends_the_run() {
    // Enough for more blocks than the queues hold.
    let capture = std::io::Cursor::new(many(20_000));
    let error = Capture::reader(capture).workers(3).mode(Mode::Track).run(Panics).unwrap_err();
    let Error::Worker { index: 1, message } = error else { panic!("{error}") };
    assert!(message.contains("worker one gives up"));
}

#[test]
fn progress_and_stopping() {
    let stop = Stop::new();
    let mut seen = Vec::new();
    let capture = std::io::Cursor::new(many(20_000));
    let outcome = Capture::reader(capture)
        .on_progress(|progress| {
            seen.push(progress.packets);
            stop.stop();
        })
        .stop_when(&stop)
        .run_with(Said::default())
        .unwrap();
    assert!(outcome.interrupted);
    assert_eq!(seen.len(), 1);
    assert_eq!(outcome.ledger.received, seen[0]);
    assert!(outcome.ledger.closes());
    assert_eq!(outcome.ledger.streams_opened, outcome.ledger.streams_closed);
}

/// Counters of a capture are known while it lasts, packets that the filter rejects included.
#[test]
fn a_ledger_is_reported_while_files_are_read() {
    for workers in [1, 3] {
        let mut seen = Vec::new();
        let capture = std::io::Cursor::new(many(20_000));
        let outcome = Capture::reader(capture)
            .workers(workers)
            .filter("tcp")
            .on_ledger(|ledger, clock| seen.push((ledger.received, clock)))
            .run(|_| Said::default())
            .unwrap();
        assert!(seen.is_sorted_by_key(|(received, _)| *received), "{seen:?}");
        assert!(seen.iter().all(|(received, _)| *received <= outcome.ledger.received), "{seen:?}");
        assert!(
            seen.last().is_some_and(|(received, clock)| (workers > 1 || *received > 0) && clock.is_some()),
            "{seen:?}"
        );
    }
}

#[derive(Default)]
struct Clock(Duration);

impl Clocked for Clock {
    fn spend(&mut self, time: Duration) {
        self.0 += time;
    }
}

#[derive(Default)]
struct Sleepy(Vec<Duration>);

impl Handler for Sleepy {
    type Data = Clock;

    fn data(&mut self, _: &mut Stream<'_, Clock>, _: Chunk<'_>) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }

    fn close(&mut self, stream: &mut Stream<'_, Clock>, _: EndReason) {
        self.0.push(stream.data().0);
    }
}

/// S1: time spent in callbacks.
#[test]
fn time_in_callbacks_is_measured() {
    let outcome = Capture::reader(HELLO).run_with(Timed::new(Sleepy::default())).unwrap();
    let timed = outcome.handler();
    assert!(timed.inner.0[0] >= Duration::from_millis(4));
    assert!(timed.total >= timed.inner.0[0]);
}

/// A capture is set up on one thread and can run on another.
#[test]
fn a_capture_can_be_sent_to_a_thread() {
    let capture = Capture::reader(HELLO).on_progress(|_| ());
    let outcome = std::thread::spawn(move || capture.run_with(Said::default()).unwrap()).join().unwrap();
    assert_eq!(outcome.into_handler().0.len(), 1);
}

/// Opening a pipe again whose writer has gone would wait for another writer.
#[test]
fn a_named_pipe_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status_in_time().unwrap();
    assert!(made.success());
    let writing = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, HELLO).unwrap())
    };
    let reading = std::thread::spawn(move || Capture::file(pipe).run_with(Said::default()).unwrap().ledger.received);
    let received = tidewire_testing::join_in_time("the reader of a pipe", reading);
    tidewire_testing::join_in_time("the writer of a pipe", writing);
    assert_eq!(received, 8);
}

/// The default is what the same number set by hand is.
#[test]
fn the_default_memory_is_the_one_documented() {
    let capture = || Capture::reader(std::io::Cursor::new(datagrams(1, 1)));
    let mut bytes = Vec::new();
    for capture in [capture(), capture().memory(1 << 30)] {
        let _ = capture.configure(|config| bytes.push(config.memory_bytes()));
    }
    assert_eq!(bytes, [1 << 30; 2]);
}

#[test]
fn a_panic_is_an_error_for_one_worker_too() {
    let error = Capture::reader(HELLO).run(|_| Panics(1)).unwrap_err();
    let Error::Worker { index: 0, message } = error else { panic!("{error}") };
    assert!(message.contains("worker one gives up"));
}

/// Frames as they are, in order: what a recorder needs.
#[test]
fn frames_without_an_engine_are_those_of_the_file() {
    #[derive(Default)]
    struct Frames(Vec<(u64, usize)>, bool);

    impl tidewire::FrameHandler for Frames {
        fn frames(&mut self, batch: &tidewire::Batch<'_>) {
            self.0.extend(batch.frames.iter().map(|frame| (frame.number, batch.bytes(frame).len())));
        }

        fn finish(&mut self) {
            self.1 = true;
        }
    }

    let capture: &[u8] = include_bytes!("corpus/hello/hello.pcap");
    let outcome = Capture::reader(capture).run_frames(|_| Frames::default()).expect("it runs");
    let Frames(frames, is_finished) = outcome.handler();
    assert_eq!(frames.iter().map(|frame| frame.0).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    assert!(*is_finished && frames.iter().all(|frame| frame.1 >= 54));
    assert_eq!(outcome.ledger.received, 8);
    let several = Capture::reader(capture).workers(2).run_frames(|_| Frames::default());
    assert!(several.is_err(), "files have one worker");
}

/// The frames that a handler got, for the test to read when the run is over.
#[derive(Clone, Default)]
struct Seen(std::sync::Arc<std::sync::Mutex<(Vec<u64>, u32)>>);

impl tidewire::FrameHandler for Seen {
    fn frames(&mut self, batch: &tidewire::Batch<'_>) {
        self.0.lock().unwrap().0.extend(batch.frames.iter().map(|frame| frame.number));
    }

    fn finish(&mut self) {
        self.0.lock().unwrap().1 += 1;
    }
}

/// A recorder and streams share a run: each has what it has alone.
#[test]
fn frames_beside_an_engine_are_those_of_the_file() {
    let capture = many(300);
    let alone = said(Capture::reader(Cursor::new(capture.clone())).run(|_| Said::default()).unwrap().handlers);
    for workers in [1, 3] {
        let seen = Seen::default();
        let tap = seen.clone();
        let run = Capture::reader(Cursor::new(capture.clone())).workers(workers);
        let outcome = run.frames_beside(move |_| Box::new(tap.clone())).run(|_| Said::default()).unwrap();
        let (frames, finished) = seen.0.lock().unwrap().clone();
        assert_eq!((frames, finished), ((1..=outcome.ledger.received).collect(), 1), "{workers} workers");
        assert_eq!(outcome.ledger.received, 2400);
        assert_eq!(said(outcome.handlers), alone, "{workers} workers");
    }
}

/// A setting of a capture.
type Setting = fn(Capture<Files<'static>>) -> Capture<Files<'static>>;

#[test]
fn the_order_of_settings_does_not_matter() {
    let settings: [Setting; 5] = [
        |capture| capture.cutoff(4),
        |capture| capture.cutoff_direction(Direction::ServerToClient, 2),
        |capture| capture.config(tidewire::Config::default().with_cutoff(tidewire::DirectionCutoff::both(1))),
        |capture| capture.mode(Mode::Fast).memory(64 << 20),
        |capture| capture.filter("tcp").chunks(3, 0),
    ];
    let mut orders = vec![vec![]];
    for _ in 0..settings.len() {
        let longer = |order: &Vec<usize>| {
            let free = (0..settings.len()).filter(|at| !order.contains(at));
            free.map(|at| [&order[..], &[at]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    assert_eq!(orders.len(), 120);
    for order in orders {
        let capture = order.iter().fold(Capture::reader(HELLO), |capture, &at| settings[at](capture));
        let said = said(capture.run_with(Said::default()).unwrap().handlers);
        assert_eq!((said[0].1.len(), said[0].2.len()), (4, 2), "{order:?}");
    }
    let mut chunks = 0;
    let capture = Capture::reader(HELLO).on_data(|_, _| chunks += 1).cutoff(0).on_progress(|_| ());
    assert_eq!(capture.run().unwrap().ledger.received, 8);
    assert_eq!(chunks, 0, "a setting after a closure");
    let capture = Capture::reader(HELLO).cutoff(3).configure(|config| config.set_ttl_min(1));
    let lost =
        capture.config(tidewire::Config::default()).run_with(Said::default()).expect_err("changes would be lost");
    assert!(matches!(lost, Error::Setting(SettingError::ConfigLast)), "{lost}");
}
