//! Several applications over one input get, call for call, what each gets alone.
//!
//! The project's own captures, generated traffic (lossy, hostile, many at once) and, if present, the shared corpus
//! (`../shared/corpus` beside the checkout, or `TIDEWIRE_CORPUS`).

use std::{
    collections::{BTreeSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    time::Duration,
};

use tidewire::{
    Application, Applications, Block, Capture, Chunk, Datagram, Direction, EndReason, Fate, Files, Gap, Handler,
    Ledger, Stream, StreamClass, StreamPacket,
};
use tidewire_filter::Filter;
use tidewire_lab::generate::{Worst, concurrent, impair, worst};

const BOTH: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];
const KEY: [u64; 2] = [1, 2];

/// An application's use of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Watches,
    /// Keeps every third chunk.
    Keeps,
    /// Discards a stream after this many chunks.
    Discards(u32),
    /// Lowers the cutoff of both directions to this many bytes at the first chunk.
    Lowers(u64),
    /// Raises it by this many bytes at each chunk.
    Raises(u64),
}

#[derive(Clone, Copy, Debug)]
struct Wants {
    filter: Option<&'static str>,
    cutoff: [u64; 2],
    class: Option<(&'static str, Option<u64>, Option<u8>)>,
    chunks: (u32, u32),
    flush: Duration,
    habit: Habit,
}

const PLAIN: Wants = Wants {
    filter: None,
    cutoff: [u64::MAX; 2],
    class: None,
    chunks: (0, 0),
    flush: Duration::ZERO,
    habit: Habit::Watches,
};

/// All settings, in combination.
const WANTS: &[Wants] = &[
    PLAIN,
    Wants { cutoff: [1000, 100], ..PLAIN },
    Wants { cutoff: [0, 0], class: Some(("tcp", Some(700), Some(3))), ..PLAIN },
    Wants { chunks: (4096, 0), ..PLAIN },
    Wants { chunks: (512, 100), cutoff: [3000, u64::MAX], habit: Habit::Keeps, ..PLAIN },
    Wants { chunks: (100_000, 0), flush: Duration::from_millis(5), ..PLAIN },
    Wants { chunks: (2048, 7), flush: Duration::from_millis(40), cutoff: [u64::MAX, 10_000], ..PLAIN },
    Wants { habit: Habit::Discards(3), ..PLAIN },
    Wants { habit: Habit::Lowers(2000), chunks: (256, 0), ..PLAIN },
    Wants { filter: Some("udp or icmp"), chunks: (64, 0), ..PLAIN },
    Wants { filter: Some("tcp port 80"), cutoff: [5000, 5000], habit: Habit::Discards(9), ..PLAIN },
    Wants { filter: Some("tcp"), class: Some(("port 443", Some(10), None)), ..PLAIN },
];

/// Records every call with all of its data.
struct Recorder<const PACKETS: bool = false> {
    habit: Habit,
    /// Whether it wants all bytes: then it has the anomalies of all, whatever others want.
    wants_all: bool,
    calls: Vec<(u64, String)>,
    /// Numbers of the fragments that ended a datagram.
    rebuilt: BTreeSet<u64>,
}

fn recorder<const PACKETS: bool>(wants: &Wants) -> Recorder<PACKETS> {
    let Wants { habit, cutoff, class, .. } = *wants;
    let wants_all = cutoff == [u64::MAX; 2] && class.is_none() && matches!(habit, Habit::Watches | Habit::Keeps);
    Recorder { habit, wants_all, calls: Vec::new(), rebuilt: BTreeSet::new() }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl<const PACKETS: bool> Recorder<PACKETS> {
    fn note<D>(&mut self, stream: &Stream<'_, D>, call: String) {
        self.calls.push((stream.id(), format!("{call}; {:?} {}", stream.state(), stream.priority())));
    }
}

impl<const PACKETS: bool> Handler for Recorder<PACKETS> {
    type Data = u32;
    const PACKETS: bool = PACKETS;
    const DATAGRAMS: bool = true;

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.rebuilt.insert(datagram.packet);
    }

    fn open(&mut self, stream: &mut Stream<'_, u32>) {
        self.note(stream, format!("open {:?} at {}", stream.key(), stream.start().as_nanos()));
    }

    fn data(&mut self, stream: &mut Stream<'_, u32>, chunk: Chunk<'_>) {
        let Chunk { direction, offset, bytes, repeated_bytes, timestamp, is_datagram, .. } = chunk;
        let (length, digest, stats) = (bytes.len(), digest(bytes), stream.stats(direction));
        let figures = (stats.packets, stats.delivered_bytes, stats.chunks, stream.gaps().len());
        self.note(
            stream,
            format!(
                "data {direction:?} {offset}+{length} {digest:x} {repeated_bytes} {timestamp} {is_datagram} {figures:?}"
            ),
        );
        *stream.data() += 1;
        let count = *stream.data();
        match self.habit {
            Habit::Watches => {}
            Habit::Keeps if count % 3 == 0 => stream.keep_chunk(),
            Habit::Keeps => {}
            Habit::Discards(after) if count == after => stream.discard(),
            Habit::Discards(_) => {}
            Habit::Lowers(to) if count == 1 => BOTH.into_iter().for_each(|direction| stream.set_cutoff(direction, to)),
            Habit::Lowers(_) => {}
            Habit::Raises(by) => stream.set_cutoff(direction, offset + length as u64 + by),
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, u32>, gap: Gap) {
        self.note(stream, format!("gap {gap:?} {}", stream.gaps().len()));
    }

    fn packet(&mut self, stream: &mut Stream<'_, u32>, packet: StreamPacket<'_>) {
        self.note(stream, format!("packet {} {:?} {:x}", packet.number, packet.direction, digest(packet.bytes)));
    }

    fn close(&mut self, stream: &mut Stream<'_, u32>, reason: EndReason) {
        let stats = BOTH.map(|direction| stream.stats(direction));
        let anomalies = if self.wants_all { stream.anomalies() } else { &[] };
        let (end_ns, gaps) = (stream.end().as_nanos(), stream.gaps());
        self.note(stream, format!("close {reason:?} {end_ns} {stats:?} {gaps:?} {anomalies:?}"));
    }
}

fn stream_class((expression, cutoff, priority): (&str, Option<u64>, Option<u8>)) -> StreamClass {
    let class = cutoff.into_iter().fold(StreamClass::matching(expression), StreamClass::cutoff);
    priority.into_iter().fold(class, StreamClass::priority)
}

fn application<H>(wants: &Wants, handler: H) -> Application<H> {
    let mut application = Application::new(handler)
        .cutoff_direction(BOTH[0], wants.cutoff[0])
        .cutoff_direction(BOTH[1], wants.cutoff[1])
        .chunks(wants.chunks.0, wants.chunks.1)
        .flush_timeout((!wants.flush.is_zero()).then_some(wants.flush));
    if let Some(filter) = wants.filter {
        application = application.filter(filter);
    }
    if let Some(class) = wants.class {
        application = application.class(stream_class(class));
    }
    application
}

/// Limits that are never reached, because limits are shared.
fn unbounded(capture: Capture<Files<'_>>) -> Capture<Files<'_>> {
    capture.hash_key(KEY).memory(1 << 40).configure(|config| {
        config.set_stream_buffer_bytes(1 << 40);
        config.set_stream_holes_max(u32::MAX);
        config.set_holes_max(u32::MAX);
    })
}

/// Records of one application without the others; without its filter.
fn alone<const PACKETS: bool>(input: &Path, wants: &Wants) -> (Recorder<PACKETS>, Ledger) {
    let mut capture = unbounded(Capture::files([input]))
        .cutoff_direction(BOTH[0], wants.cutoff[0])
        .cutoff_direction(BOTH[1], wants.cutoff[1])
        .chunks(wants.chunks.0, wants.chunks.1)
        .flush_timeout((!wants.flush.is_zero()).then_some(wants.flush));
    if let Some(class) = wants.class {
        capture = capture.class(stream_class(class));
    }
    let mut outcome = capture.run_with(recorder(wants)).expect("settings are valid");
    (outcome.handlers.remove(0), outcome.ledger)
}

type Calls = Vec<(u64, String)>;

fn together(input: &Path, all: &[Wants]) -> (Vec<Calls>, Ledger) {
    let mut applications = Applications::new();
    let ids = all.iter().map(|wants| applications.add(application(wants, recorder::<false>(wants))));
    let ids: Vec<_> = ids.map(|id| id.expect("settings are valid")).collect();
    let outcome = unbounded(Capture::files([input])).run_with(applications).expect("settings are valid");
    assert!(outcome.ledger.closes());
    (ids.iter().map(|id| outcome.handler().get(*id).calls.clone()).collect(), outcome.ledger)
}

/// Numbers of the packets that an expression matches.
fn matching(input: &Path, expression: &str) -> BTreeSet<u64> {
    let mut filter = Filter::new(expression).expect("an expression");
    let mut source = tidewire_files::open(&[input.to_path_buf()]).expect("a capture");
    let (mut block, mut found) = (Block::new(), BTreeSet::new());
    while source.fill(&mut block).is_ok_and(|more| more) {
        for frame in block.batch().frames {
            if filter.matches(frame.link, block.batch().bytes(frame), frame.wire_bytes).unwrap_or(false) {
                found.insert(frame.number);
            }
        }
    }
    found
}

fn first_difference(a: &[(u64, String)], b: &[(u64, String)]) -> String {
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    format!("call {at} of {} and {}:\nalone    {:?}\ntogether {:?}", a.len(), b.len(), a.get(at), b.get(at))
}

/// Compares what each application gets; returns the number of calls.
fn compare(input: &Path, all: &[Wants]) -> usize {
    let (together, ledger) = together(input, all);
    let mut calls = 0;
    for (wants, mut together) in all.iter().zip(together) {
        let (Recorder { calls: mut alone, rebuilt, .. }, alone_ledger) = alone::<false>(input, wants);
        assert_eq!(ledger.received, alone_ledger.received);
        assert_eq!(ledger.streams_opened, alone_ledger.streams_opened);
        if let Some(filter) = wants.filter {
            // A stream's id is the number of its first packet. For fragments the filter sees the whole datagram, not the last one.
            let wanted = matching(input, filter);
            alone.retain(|(id, _)| wanted.contains(id) && !rebuilt.contains(id));
            together.retain(|(id, _)| !rebuilt.contains(id));
        }
        let input = input.display();
        assert!(alone == together, "{input}\n{wants:?}\n{}", first_difference(&alone, &together));
        calls += alone.len();
    }
    calls
}

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().contains(".pcap")) {
            found.push(path);
        }
    }
}

/// Larger captures take time and show nothing new.
const BYTES_MAX: u64 = 4 << 20;

fn compare_all(folder: &Path, at_least: usize) {
    let mut found = Vec::new();
    captures(folder, &mut found);
    found.retain(|path| path.metadata().is_ok_and(|file| file.len() <= BYTES_MAX));
    // A filter sees the frame of an aggregate, the filters of several applications its packets.
    found.retain(|path| !path.to_string_lossy().contains("link-802.11-aggregate"));
    found.sort();
    assert!(found.len() >= at_least, "{} captures in {}", found.len(), folder.display());
    let mut calls = 0;
    for input in &found {
        if Capture::files([input]).run_with(recorder::<false>(&PLAIN)).is_ok() {
            calls += compare(input, WANTS);
        }
    }
    eprintln!("{} captures, {calls} calls compared", found.len());
    assert!(calls > 1000);
}

#[test]
fn own_captures() {
    compare_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"), 100);
}

#[test]
fn shared_captures() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("TIDEWIRE_CORPUS").map_or_else(beside, PathBuf::from).join("captures");
    if !corpus.is_dir() {
        eprintln!("skipped: no corpus at ../shared/corpus or in TIDEWIRE_CORPUS");
        return;
    }
    compare_all(&corpus, 100);
}

#[test]
fn generated_traffic() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.pcap");
    concurrent(&whole, 40, 60, 0, 7).expect("written");
    assert!(compare(&whole, WANTS) > 10_000);
    // Without out-of-order bytes a cutoff may be raised as well.
    let raises = Wants { cutoff: [100, 2000], habit: Habit::Raises(1500), ..PLAIN };
    assert!(compare(&whole, &[raises, PLAIN, Wants { chunks: (700, 0), ..raises }]) > 1000);
    let lossy = folder.path().join("lossy.pcap");
    for seed in 0..5 {
        concurrent(&whole, 15, 200, 0, seed).expect("written");
        impair(&whole, &lossy, seed).expect("written");
        compare(&lossy, WANTS);
    }
    let hostile = folder.path().join("hostile.pcap");
    for kind in Worst::ALL {
        worst(&hostile, *kind, 20_000, 3).expect("written");
        compare(&hostile, WANTS);
    }
}

/// With packets every stream is opened by its first, so those that want none are compared with such as do.
#[test]
fn packets_beside_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, lossy) = (folder.path().join("whole.pcap"), folder.path().join("lossy.pcap"));
    concurrent(&whole, 15, 200, 0, 11).expect("written");
    impair(&whole, &lossy, 11).expect("written");
    let mut applications = Applications::with_packets();
    let (some, rest) = (&WANTS[1], &WANTS[4]);
    let with = applications.add(application(some, recorder::<true>(some))).expect("valid");
    let without = applications.add(application(rest, recorder::<false>(rest))).expect("valid");
    let outcome = unbounded(Capture::files([&lossy])).run_with(applications).expect("valid");
    let expected = alone::<true>(&lossy, some).0.calls;
    assert!(expected.iter().any(|call| call.1.starts_with("packet")));
    assert_eq!(first_difference(&expected, &outcome.handler().get(with).calls), equal(expected.len()));
    let mut expected = alone::<true>(&lossy, rest).0.calls;
    expected.retain(|call| !call.1.starts_with("packet"));
    assert_eq!(first_difference(&expected, &outcome.handler().get(without).calls), equal(expected.len()));
}

fn equal(calls: usize) -> String {
    format!("call {calls} of {calls} and {calls}:\nalone    None\ntogether None")
}

/// The same calls for every stream, whatever the number of workers.
#[test]
fn several_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, lossy) = (folder.path().join("whole.pcap"), folder.path().join("lossy.pcap"));
    concurrent(&whole, 60, 40, 0, 5).expect("written");
    impair(&whole, &lossy, 5).expect("written");
    let run = |workers: usize| {
        let mut ids = Vec::new();
        let make = |_| {
            let mut applications = Applications::new();
            // Chunks are flushed by time when a group of packets begins; with several workers the groups differ.
            let timeless = WANTS.iter().filter(|wants| wants.flush.is_zero());
            ids = timeless
                .map(|wants| applications.add(application(wants, recorder::<false>(wants))).expect("valid"))
                .collect();
            applications
        };
        let outcome = unbounded(Capture::files([&lossy])).workers(workers).run(make).expect("valid");
        assert!(outcome.ledger.closes());
        let of = |id: tidewire::ApplicationId<Recorder>| {
            let calls = outcome.handlers.iter().flat_map(|handler| handler.get(id).calls.iter().cloned());
            let mut calls: Calls = calls.collect();
            calls.sort_by_key(|call| call.0);
            calls
        };
        ids.iter().map(|id| of(*id)).collect::<Vec<_>>()
    };
    let alone = run(1);
    assert!(alone.iter().map(Vec::len).sum::<usize>() > 10_000);
    assert!(run(3) == alone);
}

/// The cost is that of the most demanding application: others cost no memory, and memory stays within its bound
/// however many of them gather chunks.
#[test]
fn union_of_what_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("whole.pcap");
    concurrent(&input, 200, 100, 0, 3).expect("written");
    let run = |all: &[Wants], memory: u64| {
        let mut applications = Applications::new();
        for wants in all {
            applications.add(application(wants, recorder::<false>(wants)).name("one")).expect("valid");
        }
        let capture = Capture::files([&input]).hash_key(KEY).memory(memory);
        let mut outcome = capture.run_with(applications).expect("valid");
        assert!(outcome.ledger.closes());
        let delivered: Vec<_> = outcome.handlers[0].delivered().map(|(_, delivered)| delivered).collect();
        (outcome.handlers.remove(0), outcome.ledger, delivered)
    };
    let cut = Wants { cutoff: [10, 20], ..PLAIN };
    let (_, ledger, delivered) = run(&[cut, Wants { cutoff: [30, 5], ..PLAIN }], 64 << 20);
    assert_eq!(ledger.delivered_bytes, 200 * (30 + 20));
    assert_eq!([delivered[0].bytes, delivered[1].bytes], [200 * 30, 200 * 35]);
    assert!(delivered.iter().all(|one| one.streams_opened == 200 && one.streams_closed == 200));
    assert!(ledger.fate(Fate::BeyondCutoff) > 200 * 90);
    let discards = Wants { habit: Habit::Discards(1), ..PLAIN };
    let (_, ledger, _) = run(&[discards, discards], 64 << 20);
    assert!(ledger.fate(Fate::Discarded) > 200 * 90);
    let (_, ledger, _) = run(&[discards, PLAIN], 64 << 20);
    assert_eq!(ledger.fate(Fate::Discarded), 0);
    let (_, ledger, delivered) = run(&[Wants { filter: Some("udp"), ..PLAIN }], 64 << 20);
    assert_eq!((ledger.delivered_bytes, delivered[0].streams_opened, ledger.streams_opened), (0, 0, 200));
    // 200 streams of 100,000 bytes would take 20 MB for each application.
    let gathers = Wants { chunks: (100_000, 0), ..PLAIN };
    let (_, ledger, _) = run(&[gathers; 3], 16 << 20);
    assert!((4 << 20..=16 << 20).contains(&ledger.buffered_bytes_max), "{}", ledger.buffered_bytes_max);
}

#[test]
fn wrong_settings_are_refused() {
    let mut applications = Applications::new();
    let mut refused = |change: &dyn Fn(Application<Recorder>) -> Application<Recorder>| {
        let application = change(Application::new(recorder(&PLAIN)));
        applications.add(application).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(refused(&|one| one.filter("port bananas")).contains("bananas"));
    assert!(refused(&|one| one.class(StreamClass::matching("port bananas"))).contains("bananas"));
    assert!(refused(&|one| one.chunks(8, 8)).contains("overlap of 8"));
    assert!(refused(&|one| one.chunks(1 << 30, 0)).contains("the limit is"));
    assert!(refused(&|one| one.priority(8)).contains("priority 8"));
    assert!(refused(&|one| one.priorities(9)).contains("priorities must be 1 to 8, got 9"));
    for port in 0..64 {
        assert_eq!(refused(&|one| one.filter(format!("port {port}"))), "");
    }
    assert!(refused(&|one| one.filter("port 64")).contains("64 different expressions"));
    assert_eq!(refused(&|one| one.filter("port 63")), "");
    assert_eq!(applications.len(), 65);
}
