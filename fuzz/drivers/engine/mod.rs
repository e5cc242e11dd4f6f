//! Reads bytes as settings and a script of frames, and runs them through the engine with a handler that checks invariants.
//! Shared by the fuzz targets and by the tests that replay their seeds.

mod input;
mod invariants;
mod packets;
mod script;
mod settings;

use std::collections::BTreeMap;

use self::{
    input::Input,
    invariants::{InvariantChecker, KEEPS, StreamLog},
    script::Script,
    settings::Settings,
};
use tidewire_core::{
    AnomalyKind, Batch, Class, Classify, DirectionCutoff, Engine, Fate, Frame, Handler, History, HistoryAge, Ledger,
    Mode, Share,
};

/// Bytes of frames that can be read again.
struct Again(Vec<u8>);

impl History for Again {
    fn read(&mut self, origin: u64, _: HistoryAge, buffer: &mut [u8]) -> bool {
        let from = origin as usize - 1;
        let bytes = self.0.get(from..from + buffer.len());
        bytes.is_some_and(|bytes| {
            buffer.copy_from_slice(bytes);
            true
        })
    }
}

/// Priority and cutoff by the first packet's number and length.
struct Classes;

impl Classify for Classes {
    fn classify(&mut self, frame: &Frame, bytes: &[u8]) -> Class {
        let cutoff = DirectionCutoff::new(bytes.len() as u64, u64::MAX);
        Class::NONE
            .with_priority(frame.number.is_multiple_of(2).then_some(bytes.len() as u8 % 9))
            .with_cutoff(frame.number.is_multiple_of(3).then_some(cutoff))
    }
}

/// What a run came to.
struct Outcome {
    streams: BTreeMap<u64, StreamLog>,
    datagrams: Vec<(u64, u32, Vec<u8>, String)>,
    ledger: Ledger,
}

fn run_shared(settings: &Settings, script: &Script, workers: u32) -> Outcome {
    let mut outcome = Outcome { streams: BTreeMap::new(), datagrams: Vec::new(), ledger: Ledger::default() };
    for index in 0..workers {
        let config = settings.config.clone();
        let checker = InvariantChecker {
            knobs: settings.knobs,
            chunk_bytes: config.chunk_bytes(),
            list_max: config.list_max(),
            is_track: config.mode() == Mode::Track,
            streams: BTreeMap::new(),
            datagrams: Vec::new(),
        };
        let mut engine = Engine::new(config, Share::new(index, workers), checker);
        if settings.has_history {
            engine.set_history(Box::new(Again(script.memory.clone())));
        }
        if settings.knobs & 16 != 0 {
            engine.set_classifier(Box::new(Classes));
        }
        for frames in script.frames.chunks(settings.batch) {
            engine.process(&Batch::new(&script.memory, frames));
        }
        engine.finish();
        assert_eq!(engine.buffered_bytes(), 0, "everything charged is released");
        let (checker, own) = engine.into_parts();
        assert_eq!(own.streams_opened, checker.streams.len() as u64);
        check_memory(settings, script, &own);
        outcome.ledger.add(&own);
        outcome.datagrams.extend(checker.datagrams);
        for (id, log) in checker.streams {
            assert!(outcome.streams.insert(id, log).is_none(), "a stream belongs to one worker");
        }
    }
    let ledger = &outcome.ledger;
    assert_eq!(ledger.received, script.frames.len() as u64);
    assert!(ledger.closes(), "every packet has one fate: {ledger:?}");
    assert_eq!(ledger.streams_opened, ledger.streams_closed);
    outcome
}

/// Buffers are bounded, but for what one group of packets adds, and for pending chunks.
fn check_memory(settings: &Settings, script: &Script, ledger: &Ledger) {
    let (memory_bytes, chunk_bytes) = (settings.config.memory_bytes(), settings.config.chunk_bytes());
    let group = 32 * 2 * (script.packet_bytes_max as u64 + 1000);
    let chunks = ledger.streams_open_max * (2 * 2 * u64::from(chunk_bytes) + 3000);
    let bound = memory_bytes + group + chunks;
    let keeps = settings.knobs & KEEPS != 0;
    assert!(keeps || ledger.buffered_bytes_max <= bound, "{} of {bound}", ledger.buffered_bytes_max);
}

/// Whether a bound was reached that workers share out among them: then results may differ with their number.
fn reached_bound(settings: &Settings, ledger: &Ledger) -> bool {
    let config = &settings.config;
    let source = config.source_buffer_bytes().unwrap_or(config.memory_bytes() / 4);
    let odd = |kind: AnomalyKind| ledger.anomaly(kind) > 0;
    ledger.evicted + ledger.evicted_half_open > 0
        || ledger.fate(Fate::NoRoom) + ledger.fate(Fate::Shed) > 0
        || ledger.buffered_bytes_max > (config.memory_bytes() - config.memory_bytes() / 8).min(source)
        || odd(AnomalyKind::BufferLimit)
        || odd(AnomalyKind::HoleLimit)
        || ledger.shed_by_priority().any(|(_, count)| count > 0)
}

fn read(bytes: &[u8]) -> (Settings, Script) {
    let mut input = Input(bytes);
    let settings = settings::read(&mut input);
    let mut script = Script::read(&mut input);
    if !settings.has_history {
        script.frames.iter_mut().for_each(|frame| frame.origin = 0);
    }
    (settings, script)
}

/// Allocates nothing.
struct Silent;

impl Handler for Silent {
    type Data = ();
}

/// Runs one input before a handler that keeps nothing. After each batch nothing is allocated that the engine does not say it
/// has taken, and what it says is there. `allocated_bytes`: what the process has allocated.
#[allow(dead_code, reason = "each user of this module calls one of two")]
pub fn run_counted(bytes: &[u8], allocated_bytes: fn() -> u64) {
    /// What an engine takes that has seen nothing, and scratch.
    const FIXED_BYTES: u64 = 64 << 10;
    let (settings, script) = read(bytes);
    let mut engine = Engine::new(settings.config.clone(), Share::ALL, Silent);
    if settings.has_history {
        engine.set_history(Box::new(Again(script.memory.clone())));
    }
    if settings.knobs & 16 != 0 {
        engine.set_classifier(Box::new(Classes));
    }
    let before = allocated_bytes() - engine.charged_bytes();
    for (number, frames) in script.frames.chunks(settings.batch).enumerate() {
        engine.process(&Batch::new(&script.memory, frames));
        let (charged, allocated) = (engine.charged_bytes(), allocated_bytes() - before);
        assert!(allocated <= charged + FIXED_BYTES, "batch {number}: {allocated} bytes allocated, {charged} charged");
        let most = allocated + allocated / 4 + FIXED_BYTES;
        assert!(charged <= most, "batch {number}: {charged} bytes charged, {allocated} allocated");
    }
    engine.finish();
    assert_eq!(engine.buffered_bytes(), 0, "everything charged is released");
}

/// Runs one input. The number of workers must not change the streams.
#[allow(dead_code, reason = "each user of this module calls one of two")]
pub fn run(bytes: &[u8]) {
    let (settings, script) = read(bytes);
    let alone = run_shared(&settings, &script, 1);
    if reached_bound(&settings, &alone.ledger) {
        run_shared(&settings, &script, 3);
        return;
    }
    let shared = run_shared(&settings, &script, 3);
    for (id, log) in &alone.streams {
        assert_eq!(Some(log), shared.streams.get(id), "stream {id} is the same for any number of workers");
    }
    assert_eq!(alone.streams.len(), shared.streams.len());
    assert_eq!(alone.datagrams, shared.datagrams);
    let figures = |mut ledger: Ledger| {
        (ledger.streams_open_max, ledger.buffered_bytes_max) = (0, 0);
        ledger
    };
    assert_eq!(figures(alone.ledger), figures(shared.ledger));
}
