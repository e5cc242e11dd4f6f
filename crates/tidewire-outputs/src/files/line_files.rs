//! A file of lines that workers share, written at once or by a thread behind them.
//!
//! Behind a capture from interfaces a disk that stalls must not make packets wait: lines go to a buffer with a bound, from which a thread
//! writes them. Lines that find no room are counted as lost, and nothing else waits for the disk.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use tidewire_types::counted;

use super::{Accounts, Files, current, locking::lock};
use crate::{
    error::OutputError,
    settings::Settings,
    sink::{Account, Call},
};

/// Bytes of lines that the thread passes on at once: less than the smallest file of a rotation.
const CHUNK_BYTES: usize = 32 << 10;

/// How long a disk that stalls is waited for at the end.
const END: Duration = Duration::from_secs(1);

/// The file.
pub struct LineFiles {
    files: Arc<Mutex<Files>>,
    begun: AtomicBool,
    behind: Option<Behind>,
}

/// The thread, and the buffer before it.
struct Behind {
    bytes_max: usize,
    has_thread: AtomicBool,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<(Vec<u8>, u64)>,
    bytes: usize,
    /// Lines in the chunks, and in the one that is being written.
    lines: u64,
    /// When a flush was requested, nanoseconds since 1970.
    flush_ns: Option<u64>,
    /// Lines without room, and those that came after the end of a disk that stalls.
    slow: u64,
    abandoned: u64,
    /// The files' account, as of the last write.
    account: Account,
    failures: Vec<Option<String>>,
    /// The end was requested: its time, and whether the run saw all of its input.
    end: Option<(u64, bool)>,
    ended: Option<Result<(), OutputError>>,
    has_ended: bool,
}

impl LineFiles {
    /// A file with the back pressure of the settings.
    pub fn new(files: Files, settings: &Settings) -> Self {
        let behind = settings.waiting_bytes.map(|bytes| Behind {
            bytes_max: usize::try_from(bytes).unwrap_or(usize::MAX),
            has_thread: AtomicBool::new(false),
            shared: Arc::default(),
        });
        Self { files: Arc::new(Mutex::new(files)), begun: AtomicBool::new(false), behind }
    }

    /// Adds whole lines.
    pub fn push(&self, accounts: &Accounts, lines: &[u8], call: &mut Call<'_>) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            accounts.begin();
        }
        let Some(behind) = &self.behind else {
            let mut files = lock(&self.files);
            files.push_lines(lines, call.now_ns);
            return accounts.note(files.news(), call);
        };
        behind.start(&self.files);
        let mut state = lock(&behind.shared.state);
        state.push(lines, call.now_ns, behind.bytes_max);
        // The thread gathers until it is flushed, or a chunk is full.
        if state.chunks.len() > 1 {
            behind.shared.changed.notify_one();
        }
        state.note(accounts, call);
    }

    /// Writes what was gathered, or completes the file where its time has come.
    pub fn flush(&self, accounts: &Accounts, call: &mut Call<'_>) {
        let Some(behind) = &self.behind else {
            let mut files = lock(&self.files);
            files.flush_or_complete(call.now_ns);
            return accounts.note(files.news(), call);
        };
        // A file that has no record yet may have old ones beside it.
        behind.start(&self.files);
        let mut state = lock(&behind.shared.state);
        state.flush_ns = Some(call.now_ns);
        behind.shared.changed.notify_one();
        state.note(accounts, call);
    }

    /// Writes the lines that were gathered.
    pub fn flush_lines(&self, accounts: &Accounts, call: &mut Call<'_>) {
        if self.behind.is_some() {
            return self.flush(accounts, call);
        }
        let mut files = lock(&self.files);
        files.flush_lines();
        accounts.note(files.news(), call);
    }

    /// Completes the last file ([`Files::finish_and_settle`]).
    ///
    /// # Errors
    /// As there; lines that a disk did not take in time.
    pub fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        match self.behind.as_ref().filter(|behind| behind.has_thread.load(Ordering::Relaxed)) {
            Some(behind) => behind.finish(now_ns, is_whole),
            None => lock(&self.files).finish_and_settle(now_ns, is_whole),
        }
    }

    /// The records that were added, and the rest of their account.
    pub fn account(&self) -> Account {
        match self.behind.as_ref().filter(|behind| behind.has_thread.load(Ordering::Relaxed)) {
            Some(behind) => lock(&behind.shared.state).account(),
            None => lock(&self.files).account(),
        }
    }

    /// The folder that files are made in, before the first line.
    pub fn folder(&self) -> Option<PathBuf> {
        lock(&self.files).folder()
    }

    /// As [`Files::check_free`].
    ///
    /// # Errors
    /// As there.
    pub fn check_free(&self) -> Result<(), OutputError> {
        lock(&self.files).check_free()
    }
}

impl State {
    fn push(&mut self, lines: &[u8], now_ns: u64, bytes_max: usize) {
        let count = current::lines(lines);
        if self.has_ended || self.end.is_some() {
            self.abandoned += count;
        } else if self.bytes + lines.len() > bytes_max {
            self.slow += count;
        } else {
            self.bytes += lines.len();
            self.lines += count;
            match self.chunks.back_mut() {
                Some((chunk, _)) if chunk.len() + lines.len() <= CHUNK_BYTES => chunk.extend_from_slice(lines),
                _ => self.chunks.push_back((lines.to_vec(), now_ns)),
            }
        }
    }

    fn note(&mut self, accounts: &Accounts, call: &mut Call<'_>) {
        self.failures.drain(..).for_each(|failure| accounts.note(Some(failure), call));
    }

    fn account(&self) -> Account {
        let Account { accepted, lost, .. } = self.account;
        let more = self.slow + self.abandoned;
        // A disk that stalls to the end has none of the lines that wait.
        let waiting = if self.has_ended { self.lines } else { 0 };
        Account { accepted: accepted + self.lines + more, lost: lost + more + waiting, slow: self.slow, ..self.account }
    }
}

impl Behind {
    /// Starts the thread, once: a capture has given up its privileges by now.
    fn start(&self, files: &Arc<Mutex<Files>>) {
        if self.has_thread.swap(true, Ordering::Relaxed) {
            return;
        }
        let (files, shared) = (Arc::clone(files), Arc::clone(&self.shared));
        let started = thread::Builder::new().name("output".into()).spawn(move || write(&files, &shared));
        if let Err(error) = started {
            let mut state = lock(&self.shared.state);
            state.failures.push(Some(format!("no thread to write with: {error}")));
            state.has_ended = true;
        }
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        let mut state = lock(&self.shared.state);
        if state.has_ended {
            return Ok(());
        }
        state.end.get_or_insert((now_ns, is_whole));
        self.shared.changed.notify_all();
        let waited = self.shared.changed.wait_timeout_while(state, END, |state| state.ended.is_none());
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.has_ended = true;
        state.ended.take().unwrap_or_else(|| {
            let records = counted(state.lines, "record", "records");
            Err(OutputError::Write(format!("a disk or reader did not take {records} in time")))
        })
    }
}

/// Writes chunks until the end.
fn write(files: &Mutex<Files>, shared: &Shared) {
    loop {
        let (chunk, flush_ns, end) = {
            let is_idle =
                |state: &mut State| state.chunks.is_empty() && state.flush_ns.is_none() && state.end.is_none();
            let waited = shared.changed.wait_while(lock(&shared.state), is_idle);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            let chunk = state.chunks.pop_front();
            state.bytes -= chunk.as_ref().map_or(0, |(lines, _)| lines.len());
            let is_last = state.chunks.is_empty();
            let flush_ns = if is_last { state.flush_ns.take() } else { None };
            (chunk, flush_ns, state.end.filter(|_| is_last))
        };
        let mut files = lock(files);
        let mut count = 0;
        if let Some((lines, now_ns)) = &chunk {
            count = current::lines(lines);
            files.push_lines(lines, *now_ns);
        }
        if let Some(now_ns) = flush_ns {
            files.flush_or_complete(now_ns);
        }
        let ended = end.map(|(now_ns, is_whole)| files.finish_and_settle(now_ns, is_whole));
        let (news, account) = (files.news(), files.account());
        drop(files);
        let mut state = lock(&shared.state);
        state.lines -= count;
        state.account = account;
        state.failures.extend(news);
        if ended.is_some() {
            state.ended = ended;
            shared.changed.notify_all();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tidewire_testing::wait_until;

    use super::*;
    use crate::files::Frame;

    /// While a write stalls, workers go on at once; lines that find no room are counted, and the others are written later.
    #[test]
    fn a_disk_that_stalls_makes_no_worker_wait() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("flows.json");
        let settings = Settings { waiting_bytes: Some(1000), ..Settings::default() };
        let files = LineFiles::new(Files::open(&path, Frame::Lines, &settings, 0).unwrap(), &settings);
        let (accounts, mut scratch) = (Accounts::default(), Vec::new());
        let mut call = Call::at(1, &mut scratch);
        let mut push = |count: u64| (0..count).for_each(|_| files.push(&accounts, b"123456789\n", &mut call));
        // As a write that does not return.
        let stalled = lock(&files.files);
        push(500);
        let account = files.account();
        assert_eq!((account.accepted, account.written, account.lost), (500, 0, account.slow));
        assert!((300..=400).contains(&account.slow), "{account:?}");
        drop(stalled);
        files.flush(&accounts, &mut Call::at(1, &mut Vec::new()));
        wait_until("all is written", || files.account().written == 500 - files.account().slow);
        push(10);
        files.finish(2, true).unwrap();
        push(1);
        let account = files.account();
        assert_eq!((account.accepted, account.written + account.lost), (511, 511), "{account:?}");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count() as u64, account.written);
    }

    #[test]
    fn a_disk_that_stalls_to_the_end_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let settings = Settings { waiting_bytes: Some(1000), ..Settings::default() };
        let files = Files::open(&place.path().join("flows.json"), Frame::Lines, &settings, 0).unwrap();
        let files = LineFiles::new(files, &settings);
        let stalled = lock(&files.files);
        files.push(&Accounts::default(), b"line\n", &mut Call::at(1, &mut Vec::new()));
        let said = files.finish(2, true).unwrap_err().to_string();
        assert!(said.contains("did not take 1 record in time"), "{said}");
        let account = files.account();
        assert_eq!((account.accepted, account.written, account.lost), (1, 0, 1));
        drop(stalled);
    }
}
