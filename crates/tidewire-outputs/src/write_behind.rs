//! Records that are written at once, or by a thread behind the workers.
//!
//! Behind a capture from interfaces a disk that stalls must not make packets wait: records go, encoded, to a buffer with a bound, from which a
//! thread writes them. What finds no room is counted as lost, and nothing else waits for the disk. Over files the caller writes and waits, so
//! that nothing is lost. Each format says what a record is in bytes ([`RecordWriter`]); the rest is here, once for all.

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tidewire_types::counted;

use crate::{
    error::OutputError,
    locking::lock,
    room::{NoRoom, Room},
    settings::Settings,
    sink::Account,
};

/// Bytes of records that the thread passes on at once: less than the smallest file of a rotation.
const CHUNK_BYTES: usize = 32 << 10;

/// How long a disk that takes nothing is waited for at the end, and how long the completion of files may last.
const STALLED_MAX: Duration = Duration::from_secs(1);
const COMPLETION_MAX: Duration = Duration::from_secs(3);

/// Files of a format, which one thread at a time writes.
pub trait RecordWriter: Send + 'static {
    /// Writes whole records, encoded as this writer expects them.
    fn write(&mut self, records: &[u8], now_ns: u64);

    /// Writes what was gathered, and completes files whose time has come.
    fn flush(&mut self, now_ns: u64);

    /// Completes everything. `is_whole`: whether the run saw all of its input.
    ///
    /// # Errors
    /// What could not be written, and what of it is there.
    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError>;

    /// The records that were passed to it, and the rest of their account.
    fn account(&self) -> Account;

    /// Reports a failure, once; without a message where the reader went away.
    fn news(&mut self) -> Option<Option<String>>;
}

/// A writer, and the buffer before it where there is one.
pub struct WriteBehind<W> {
    writer: Arc<Mutex<W>>,
    behind: Option<Behind>,
}

/// The thread, and the buffer before it.
struct Behind {
    room: Room,
    has_thread: AtomicBool,
    /// The processors that the run may use: a worker that starts the thread may be bound to one.
    processors: Option<CpuSet>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Records that are written together.
struct Chunk {
    bytes: Vec<u8>,
    records: u64,
    now_ns: u64,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    /// Records in the chunks, and in the one that is being written.
    records: u64,
    /// Whether a record was added.
    is_begun: bool,
    /// When a flush was requested, nanoseconds since 1970.
    flush_ns: Option<u64>,
    /// Records without room, those that gave way to a higher priority, and those that came after the end.
    slow: u64,
    shed: u64,
    abandoned: u64,
    /// The writer's account, as of the last write.
    account: Account,
    failures: Vec<Option<String>>,
    /// The end was requested: its time, and whether the run saw all of its input.
    end: Option<(u64, bool)>,
    progress: Progress,
    ended: Option<Result<(), OutputError>>,
}

/// How far the end is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Writing,
    /// So many chunks are left.
    Ending(usize),
    Completing,
    /// Nothing that is written from now on counts: it was reported as lost.
    Over,
}

impl<W: RecordWriter> WriteBehind<W> {
    /// A writer with the back pressure of the settings.
    pub fn new(writer: W, settings: &Settings) -> Self {
        let behind = settings.room.clone().map(|room| Behind {
            room,
            has_thread: AtomicBool::new(false),
            processors: sched_getaffinity(None).ok(),
            shared: Arc::default(),
        });
        Self { writer: Arc::new(Mutex::new(writer)), behind }
    }

    /// The writer itself, where the caller is to write and to wait.
    pub fn direct(&self) -> Option<MutexGuard<'_, W>> {
        self.behind.is_none().then(|| lock(&self.writer))
    }

    /// Adds so many records, encoded, and reports failures of writing.
    pub fn push(&self, bytes: &[u8], records: u64, now_ns: u64, report: impl FnMut(Option<String>)) {
        let Some(behind) = &self.behind else {
            let mut writer = lock(&self.writer);
            writer.write(bytes, now_ns);
            return writer.news().into_iter().for_each(report);
        };
        behind.start(&self.writer);
        let mut state = lock(&behind.shared.state);
        state.push(bytes, records, now_ns, &behind.room);
        // The thread gathers until it is flushed, or a chunk is full.
        if state.chunks.len() > 1 {
            behind.shared.changed.notify_one();
        }
        state.failures.drain(..).for_each(report);
    }

    /// Writes what was gathered, and completes files whose time has come; reports failures of writing.
    pub fn flush(&self, now_ns: u64, report: impl FnMut(Option<String>)) {
        let Some(behind) = &self.behind else {
            let mut writer = lock(&self.writer);
            writer.flush(now_ns);
            return writer.news().into_iter().for_each(report);
        };
        // Files that have no record yet may have old ones beside them.
        behind.start(&self.writer);
        let mut state = lock(&behind.shared.state);
        state.flush_ns = Some(now_ns);
        behind.shared.changed.notify_one();
        state.failures.drain(..).for_each(report);
    }

    /// Has the thread write what waits and end, without waiting for it: several end at the same time then.
    pub fn begin_end(&self, now_ns: u64, is_whole: bool) {
        if let Some(behind) = self.running() {
            let mut state = lock(&behind.shared.state);
            state.end.get_or_insert((now_ns, is_whole));
            behind.shared.changed.notify_all();
        }
    }

    /// Completes everything ([`RecordWriter::finish`]).
    ///
    /// # Errors
    /// As there; records that a disk did not take in time.
    pub fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.begin_end(now_ns, is_whole);
        match self.running() {
            Some(behind) => behind.finish(),
            None => lock(&self.writer).finish(now_ns, is_whole),
        }
    }

    /// The records that were added, and the rest of their account.
    pub fn account(&self) -> Account {
        match self.running() {
            Some(behind) => lock(&behind.shared.state).account(),
            None => lock(&self.writer).account(),
        }
    }

    /// A fact of the writer, before the first record.
    pub fn of_writer<T>(&self, of: impl FnOnce(&W) -> T) -> T {
        of(&lock(&self.writer))
    }

    fn running(&self) -> Option<&Behind> {
        self.behind.as_ref().filter(|behind| behind.has_thread.load(Ordering::Relaxed))
    }
}

impl State {
    fn push(&mut self, bytes: &[u8], records: u64, now_ns: u64, room: &Room) {
        if self.end.is_some() || self.progress == Progress::Over {
            self.abandoned += records;
            return;
        }
        match room.take(self.bytes as u64, bytes.len() as u64, !mem::replace(&mut self.is_begun, true)) {
            Err(NoRoom::Slow) => self.slow += records,
            Err(NoRoom::Shed) => self.shed += records,
            Ok(()) => {
                self.bytes += bytes.len();
                self.records += records;
                match self.chunks.back_mut() {
                    Some(chunk) if chunk.bytes.len() + bytes.len() <= CHUNK_BYTES => {
                        chunk.bytes.extend_from_slice(bytes);
                        chunk.records += records;
                    }
                    _ => self.chunks.push_back(Chunk { bytes: bytes.to_vec(), records, now_ns }),
                }
            }
        }
    }

    fn account(&self) -> Account {
        let Account { accepted, lost, .. } = self.account;
        let more = self.slow + self.shed + self.abandoned;
        Account {
            accepted: accepted + self.records + more,
            lost: lost + more,
            slow: self.slow,
            shed: self.shed,
            ..self.account
        }
    }

    /// Gives up what a disk did not take, and what the writer gathered: it counts as lost from now on, whatever becomes of it.
    fn give_up(&mut self) -> u64 {
        let left = mem::take(&mut self.records);
        self.abandoned += left;
        let account = &mut self.account;
        let gathered = account.accepted.saturating_sub(account.written + account.lost);
        account.lost += gathered;
        account.unfinished = 0;
        self.progress = Progress::Over;
        left + gathered
    }
}

impl Behind {
    /// Starts the thread, once: a capture has given up its privileges by now.
    fn start<W: RecordWriter>(&self, writer: &Arc<Mutex<W>>) {
        if self.has_thread.swap(true, Ordering::Relaxed) {
            return;
        }
        let (writer, shared, room) = (Arc::clone(writer), Arc::clone(&self.shared), self.room.clone());
        let processors = self.processors;
        let started = thread::Builder::new().name("output".into()).spawn(move || {
            if let Some(all) = processors {
                // Where it is refused the thread stays where it is.
                let _ = sched_setaffinity(None, &all);
            }
            write(&writer, &shared, &room);
        });
        if let Err(error) = started {
            let mut state = lock(&self.shared.state);
            state.failures.push(Some(format!("no thread to write with: {error}")));
            state.progress = Progress::Over;
        }
    }

    /// Waits for the end as long as something is written.
    fn finish(&self) -> Result<(), OutputError> {
        let mut state = lock(&self.shared.state);
        loop {
            if let Some(ended) = state.ended.take() {
                state.progress = Progress::Over;
                return ended;
            }
            let seen = state.progress;
            if seen == Progress::Over {
                return Ok(());
            }
            let most = if seen == Progress::Completing { COMPLETION_MAX } else { STALLED_MAX };
            let is_as_before = |state: &mut State| state.ended.is_none() && state.progress == seen;
            let waited = self.shared.changed.wait_timeout_while(state, most, is_as_before);
            let (now, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = now;
            if waited.timed_out() {
                let records = counted(state.give_up(), "record", "records");
                return Err(OutputError::Write(format!("a disk or reader did not take {records} in time")));
            }
        }
    }
}

/// Writes chunks until the end.
fn write<W: RecordWriter>(writer: &Mutex<W>, shared: &Shared, room: &Room) {
    loop {
        let (chunk, flush_ns, end) = {
            let is_idle =
                |state: &mut State| state.chunks.is_empty() && state.flush_ns.is_none() && state.end.is_none();
            let waited = shared.changed.wait_while(lock(&shared.state), is_idle);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            let chunk = state.chunks.pop_front();
            let is_last = state.chunks.is_empty();
            let flush_ns = if is_last { state.flush_ns.take() } else { None };
            if state.end.is_some() && state.progress != Progress::Over {
                state.progress = Progress::Ending(state.chunks.len());
                shared.changed.notify_all();
            }
            (chunk, flush_ns, state.end.filter(|_| is_last))
        };
        let mut writer = lock(writer);
        let mut records = 0;
        if let Some(chunk) = &chunk {
            records = chunk.records;
            writer.write(&chunk.bytes, chunk.now_ns);
        }
        if let Some(now_ns) = flush_ns {
            writer.flush(now_ns);
        }
        let ended = end.map(|(now_ns, is_whole)| {
            let mut state = lock(&shared.state);
            if state.progress != Progress::Over {
                state.progress = Progress::Completing;
                shared.changed.notify_all();
            }
            drop(state);
            writer.finish(now_ns, is_whole)
        });
        let (news, account) = (writer.news(), writer.account());
        drop(writer);
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.bytes.len());
        room.release(bytes as u64);
        let mut state = lock(&shared.state);
        state.bytes -= bytes;
        if state.progress != Progress::Over {
            state.records -= records;
            state.account = account;
            state.failures.extend(news);
        }
        if ended.is_some() {
            if state.progress != Progress::Over {
                state.ended = ended;
                shared.changed.notify_all();
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tidewire_testing::wait_until;

    use super::*;

    /// Keeps what it is passed.
    #[derive(Default)]
    struct Kept {
        bytes: Vec<u8>,
        flushes: u32,
        ended: Option<bool>,
        /// Records that it gathered before.
        gathered: u64,
    }

    impl RecordWriter for Kept {
        fn write(&mut self, records: &[u8], _: u64) {
            self.bytes.extend_from_slice(records);
        }

        fn flush(&mut self, _: u64) {
            self.flushes += 1;
        }

        fn finish(&mut self, _: u64, is_whole: bool) -> Result<(), OutputError> {
            self.ended = Some(is_whole);
            Ok(())
        }

        fn account(&self) -> Account {
            let written = self.bytes.len() as u64 / 10;
            Account { accepted: written + self.gathered, written, ..Account::default() }
        }

        fn news(&mut self) -> Option<Option<String>> {
            None
        }
    }

    fn behind() -> WriteBehind<Kept> {
        WriteBehind::new(Kept::default(), &Settings { room: Some(Room::alone(1000)), ..Settings::default() })
    }

    fn push(writer: &WriteBehind<Kept>, count: u64) {
        (0..count).for_each(|_| writer.push(b"123456789\n", 1, 1, |_| ()));
    }

    /// While a write stalls, workers go on at once; records that find no room are counted, and the others are written later.
    #[test]
    fn a_disk_that_stalls_makes_no_worker_wait() {
        let writer = behind();
        // As a write that does not return.
        let stalled = lock(&writer.writer);
        push(&writer, 500);
        let account = writer.account();
        assert_eq!((account.accepted, account.written, account.lost, account.slow), (500, 0, 400, 400));
        drop(stalled);
        writer.flush(1, |_| ());
        wait_until("all is written", || writer.account().written == 100);
        push(&writer, 10);
        writer.finish(2, true).unwrap();
        push(&writer, 1);
        let account = writer.account();
        assert_eq!((account.accepted, account.written, account.lost, account.slow), (511, 110, 401, 400));
        writer.of_writer(|kept| {
            assert_eq!((kept.bytes.len(), kept.ended, kept.flushes > 0), (1100, Some(true), true));
        });
    }

    /// Records that were reported as lost stay lost, even if the disk takes them later.
    #[test]
    fn a_disk_that_stalls_to_the_end_is_not_waited_for() {
        let writer = behind();
        let stalled = lock(&writer.writer);
        push(&writer, 3);
        let said = writer.finish(2, true).unwrap_err().to_string();
        assert!(said.contains("did not take 3 records in time"), "{said}");
        let account = writer.account();
        assert_eq!((account.accepted, account.written, account.lost), (3, 0, 3));
        drop(stalled);
        wait_until("the thread has ended", || Arc::strong_count(&writer.writer) == 1);
        assert_eq!((writer.account(), writer.of_writer(|kept| kept.bytes.len())), (account, 30));
    }

    /// Records that the writer has in memory when the end is given up are lost, too.
    #[test]
    fn what_was_gathered_is_lost_with_a_stalled_disk() {
        let writer = behind();
        lock(&writer.writer).gathered = 2;
        push(&writer, 1);
        writer.flush(1, |_| ());
        wait_until("a record is written", || writer.account().written == 1);
        let stalled = lock(&writer.writer);
        push(&writer, 3);
        let said = writer.finish(2, true).unwrap_err().to_string();
        assert!(said.contains("did not take 5 records in time"), "{said}");
        let account = writer.account();
        assert_eq!((account.accepted, account.written, account.lost, account.unfinished), (6, 1, 5, 0));
        drop(stalled);
    }

    #[test]
    fn without_a_buffer_the_caller_writes() {
        let writer = WriteBehind::new(Kept::default(), &Settings::default());
        push(&writer, 7);
        assert_eq!(writer.account().written, 7);
        writer.finish(2, false).unwrap();
        writer.of_writer(|kept| assert_eq!(kept.ended, Some(false)));
    }
}
