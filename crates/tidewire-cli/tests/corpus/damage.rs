//! Captures cut short and captures with bytes changed: no panic, and everything before the damage as it was.

use crate::corpus::{self, Entry};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::Cursor,
};
use tidewire::{
    Batch, Block, Chunk, Config, Datagram, EndReason, Engine, Frame, Gap, Handler, Share, Source, Stream, StreamPacket,
};
use tidewire_files::Reader;

/// Every so many captures of the corpus are damaged.
const STEP: usize = 7;
/// Larger captures are left out: each is read many times.
const BYTES_MAX: usize = 300_000;
/// Ways of damaging each capture.
const CUTS: u64 = 6;

/// Every call a handler gets, each as a hash that takes in the one before it.
#[derive(Default)]
struct Log {
    last: u64,
    calls: u64,
}

impl Log {
    fn note(&mut self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        (self.last, what).hash(&mut hasher);
        self.last = hasher.finish();
        self.calls += 1;
    }
}

impl Handler for Log {
    type Data = ();

    const PACKETS: bool = true;
    const DATAGRAMS: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, ()>) {
        self.note(("open", stream.id(), stream.key()));
    }

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.note(("data", stream.id(), chunk.direction, chunk.offset, chunk.bytes, chunk.timestamp.as_nanos()));
    }

    fn gap(&mut self, stream: &mut Stream<'_, ()>, gap: Gap) {
        self.note(("gap", stream.id(), gap.direction, gap.offset, gap.bytes, gap.cause));
    }

    fn packet(&mut self, stream: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        self.note(("packet", stream.id(), packet.direction, packet.number, packet.bytes));
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        self.note(("close", stream.id(), reason));
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.note(("datagram", datagram.packet, datagram.payload, datagram.rejected));
    }
}

/// Result of a run: the log after each frame, where that frame ended in the file, and the error at the end.
struct Run {
    after: Vec<(Frame, u64)>,
    error: Option<String>,
    closes: bool,
}

/// Reads bytes as a capture, one frame at a time, so that the log after each frame is known.
fn run(bytes: &[u8]) -> Result<Run, String> {
    let mut reader = Reader::from_stream("(bytes)", Cursor::new(bytes.to_vec())).map_err(|error| error.to_string())?;
    let mut engine = Engine::new(Config::default(), Share::ALL, Log::default());
    let mut block = Block::new();
    let mut after = Vec::new();
    let mut error = None;
    loop {
        match reader.fill(&mut block) {
            Ok(true) => {}
            Ok(false) => break,
            Err(found) => {
                error.get_or_insert(found.to_string());
                continue;
            }
        }
        let batch = block.batch();
        for frame in batch.frames {
            engine.process(&Batch::new(batch.memory, std::slice::from_ref(frame)));
            after.push((*frame, engine.handler().last));
        }
    }
    engine.finish();
    Ok(Run { after, error, closes: engine.ledger().closes() })
}

fn sample() -> Option<Vec<Entry>> {
    let entries = corpus::entries()?;
    let plain =
        |entry: &Entry| !entry.name.ends_with(".gz") && entry.path.metadata().is_ok_and(|m| m.len() < BYTES_MAX as u64);
    Some(entries.into_iter().filter(plain).step_by(STEP).collect())
}

/// Numbers that look random and are the same in every run.
fn numbers(name: &str) -> impl FnMut(usize) -> usize {
    let mut state = name
        .bytes()
        .fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % below.max(1)
    }
}

/// Frames of both runs that are the same frame, and for which the logs must agree.
fn prefix(whole: &Run, damaged: &Run, frames: usize) -> Option<String> {
    for (index, (a, b)) in whole.after.iter().zip(&damaged.after).take(frames).enumerate() {
        if (a.0.captured_bytes, a.0.timestamp.as_nanos(), a.1) != (b.0.captured_bytes, b.0.timestamp.as_nanos(), b.1) {
            return Some(format!("frame {} is another one than in the whole file", index + 1));
        }
    }
    (damaged.after.len() < frames).then(|| format!("{} frames of {frames} before the damage", damaged.after.len()))
}

/// Whether the last frame is so far ahead of the clock that only the frame behind it shows whether its time is right.
fn is_last_in_doubt(whole: &Run, cut: &Run) -> bool {
    const CLOCK_STEP_NS: u64 = 3_600_000_000_000;
    let Some((last, _)) = cut.after.last() else { return false };
    let in_whole = whole.after.get(cut.after.len() - 1).map_or(last.clock.as_nanos(), |frame| frame.0.clock.as_nanos());
    last.clock.as_nanos() < in_whole && last.timestamp.as_nanos() > last.clock.as_nanos().saturating_add(CLOCK_STEP_NS)
}

#[test]
fn a_capture_cut_short_is_read_up_to_there() {
    let Some(entries) = sample() else { return };
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let bytes = std::fs::read(&entry.path).expect("readable");
            let Ok(whole) = run(&bytes) else { return Vec::new() };
            let mut number = numbers(&entry.name);
            let mut found = Vec::new();
            for _ in 0..CUTS {
                let at = number(bytes.len());
                let Ok(cut) = run(&bytes[..at]) else { continue };
                // All frames that lie before the cut come out, and none that does not.
                let wrong = prefix(&whole, &cut, cut.after.len() - usize::from(is_last_in_doubt(&whole, &cut)));
                found.extend(wrong.map(|wrong| format!("cut at {at}: {wrong}")));
                if !cut.closes {
                    found.push(format!("cut at {at}: the ledger does not close"));
                }
                if cut.after.len() < whole.after.len() && cut.error.is_none() && !whole_records(&bytes, at) {
                    found.push(format!("cut at {at}: nothing is said of it"));
                }
            }
            found
        },
    );
    differences.conclude();
}

/// Whether a file cut here ends with a whole record, so that no reader can notice it.
fn whole_records(bytes: &[u8], at: usize) -> bool {
    // One byte less is damage where this is not, or the other way round; both say nothing only within a block's
    // padding, which no reader needs.
    let [less, more] = [at.saturating_sub(1), at + 1]
        .map(|at| run(&bytes[..at.min(bytes.len())]).is_ok_and(|run| run.error.is_some()));
    less || more
}

#[test]
fn bytes_changed_change_nothing_before_them() {
    let Some(entries) = sample() else { return };
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let bytes = std::fs::read(&entry.path).expect("readable");
            let Ok(whole) = run(&bytes) else { return Vec::new() };
            let offsets = frame_ends(&entry.path, whole.after.len());
            let mut number = numbers(&entry.name);
            let mut found = Vec::new();
            for _ in 0..CUTS {
                let at = number(bytes.len());
                let mut changed = bytes.clone();
                for byte in changed.iter_mut().skip(at).take(1 + number(4)) {
                    *byte ^= u8::try_from(1 + number(255)).unwrap_or(1);
                }
                let Ok(changed) = run(&changed) else { continue };
                // The last of these may lie in a pcapng block whose end was changed, and then it is not handed out.
                let before = offsets.iter().take_while(|end| **end <= at as u64).count().saturating_sub(1);
                let wrong = prefix(&whole, &changed, before);
                found.extend(wrong.map(|wrong| format!("changed at {at}: {wrong}")));
                if !changed.closes {
                    found.push(format!("changed at {at}: the ledger does not close"));
                }
            }
            found
        },
    );
    differences.conclude();
}

/// Where each frame of a plain file ends.
fn frame_ends(path: &std::path::Path, frames: usize) -> Vec<u64> {
    let mut reader = Reader::open(path).expect("it was read before");
    let mut block = Block::new();
    let mut ends = Vec::with_capacity(frames);
    while let Ok(true) = reader.fill(&mut block) {
        let frames = block.batch().frames;
        ends.extend(frames.iter().map(|frame| (frame.origin.saturating_sub(1)) + u64::from(frame.captured_bytes)));
    }
    ends
}
