//! One output of a run: its sink, and what follows when it cannot be written.
//!
//! An output of files that is to be opened again ([`Exports::reopening`](crate::Exports::reopening)) is completed as far as possible when it
//! fails: whole files stay as they are. Its records are counted as lost until a new sink is opened in its place, after a second, then after
//! twice the time up to a minute. A disk that is full lets files be made and refuses what is written: the output counts as failed until
//! something is written.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire_types::{clock::wall_ns, counted};

use crate::{
    error::Notify,
    locking::lock,
    record::Record,
    settings::Settings,
    sink::{Account, Call, Needs, Sink},
    sinks,
    target::Target,
};

/// Pauses before an attempt: the first, and the longest.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// An output that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Since when, nanoseconds since 1970.
    pub since_ns: u64,
    /// Why, in words; absent where the reader of a pipe went away.
    pub why: Option<String>,
    /// Whether it is tried again.
    pub is_retried: bool,
}

/// The state of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputState {
    /// Why it cannot be written, if so.
    pub failing: Option<Failing>,
    /// Since when it is written again, if it has failed: nanoseconds since 1970.
    pub written_again_ns: Option<u64>,
    /// The account of its records, over all of its sinks.
    pub account: Account,
}

/// Has a sink write what it holds: the next one knows nothing of it.
fn release(sink: &dyn Sink, now_ns: u64) {
    let mut scratch = Vec::new();
    sink.write(&Record::Release { are_few: true }, &mut Call::at(now_ns, &mut scratch));
}

/// An output with its sink.
pub(crate) struct Output {
    sink: RwLock<Box<dyn Sink>>,
    /// For messages: its format and place.
    pub shown: String,
    pub needs: Needs,
    /// Whether nothing of it can be written at this moment.
    has_failed: AtomicBool,
    outage: Mutex<Outage>,
    /// How it is opened again.
    again: Option<(Target, Settings)>,
}

#[derive(Default)]
struct Outage {
    failing: Option<Failing>,
    written_again_ns: Option<u64>,
    /// Records of the sinks before this one.
    before: Account,
    pause: Duration,
    /// How often it was opened again.
    attempts: u64,
    /// When it is tried again.
    due: Option<Instant>,
    /// Whether its sink is to be completed, and the failure is to be reported then.
    is_unfinished: bool,
    is_reported: bool,
    /// Whether a thread completes it or opens it again.
    is_busy: bool,
    /// Whether its sink was opened again and has written nothing yet.
    is_trial: bool,
}

impl Output {
    pub fn new(shown: String, sink: Box<dyn Sink>) -> Self {
        let needs = sink.needs();
        let (has_failed, outage) = (AtomicBool::new(false), Mutex::default());
        Self { sink: RwLock::new(sink), shown, needs, has_failed, outage, again: None }
    }

    /// Has it opened again after a failure, if it is one of files: a pipe has a reader that went away, and collectors are connected to again
    /// by their own sinks.
    pub fn reopen(&mut self, target: Target, settings: Settings) {
        if self.sink().folder().is_some() {
            self.again = Some((target, settings));
        }
    }

    pub fn sink(&self) -> RwLockReadGuard<'_, Box<dyn Sink>> {
        self.sink.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Whether a failure of one of its files is one of all of it.
    pub fn is_reopened(&self) -> bool {
        self.again.is_some()
    }

    /// Notes that nothing of it can be written any more. Returns whether that is new.
    pub fn fail_for_good(&self, why: Option<String>) -> bool {
        let mut outage = lock(&self.outage);
        outage.failing.get_or_insert(Failing { since_ns: wall_ns(), why, is_retried: false });
        !self.has_failed.swap(true, Ordering::Relaxed)
    }

    /// Gives up what cannot be written, so that it is opened again: by the next [`retry`](Self::retry), as a worker must not wait for a disk.
    pub fn fail(&self, why: Option<String>) {
        let mut outage = lock(&self.outage);
        if outage.due.is_some() {
            return;
        }
        outage.pause = if outage.is_trial { (outage.pause * 2).min(PAUSE_MAX) } else { PAUSE_FIRST };
        outage.due = Some(Instant::now() + outage.pause);
        let is_first = outage.failing.is_none();
        (outage.is_unfinished, outage.is_reported) = (true, is_first || !outage.is_trial);
        let failing =
            outage.failing.get_or_insert_with(|| Failing { since_ns: wall_ns(), why: None, is_retried: true });
        failing.why = why.or_else(|| failing.why.take());
        (outage.is_trial, outage.written_again_ns) = (false, None);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Completes what can be completed of an output that failed, and reports where the rest is.
    fn complete(&self, now_ns: u64, notify: &Notify) {
        let finished = {
            let sink = self.sink();
            release(&**sink, now_ns);
            sink.finish(now_ns, false)
        };
        let mut outage = lock(&self.outage);
        let why = outage.failing.as_mut().and_then(|failing| failing.why.take());
        let said = finished.err().map(|error| error.to_string()).or(why);
        let said = said.unwrap_or_else(|| format!("{}: cannot be written", self.shown));
        if outage.is_reported {
            notify(format_args!("{said}; it is opened again after {} s", outage.pause.as_secs()));
        }
        if let Some(failing) = &mut outage.failing {
            failing.why = Some(said);
        }
    }

    /// Completes and opens it again where that is due, and notes whether it works: called after each flush. A disk that stalls is waited for
    /// by a thread, of which there is one at a time.
    pub fn retry(self: &Arc<Self>, now_ns: u64, notify: &Notify) {
        if !self.has_failed() || self.again.is_none() {
            return;
        }
        let step = {
            let mut outage = lock(&self.outage);
            if outage.is_trial {
                return self.confirm(&mut outage, notify);
            }
            if outage.is_busy {
                return;
            }
            let is_due = outage.due.is_some_and(|due| Instant::now() >= due);
            let step = match std::mem::take(&mut outage.is_unfinished) {
                true => Self::complete,
                false if is_due => {
                    outage.pause = (outage.pause * 2).min(PAUSE_MAX);
                    outage.due = Some(Instant::now() + outage.pause);
                    Self::open_again
                }
                false => return,
            };
            outage.is_busy = true;
            step
        };
        let (output, notify) = (Arc::clone(self), Arc::clone(notify));
        let started = thread::Builder::new().name("reopen".into()).spawn(move || {
            step(&output, now_ns, &notify);
            lock(&output.outage).is_busy = false;
        });
        if started.is_err() {
            // Records that it holds are counted as lost when it is opened again.
            lock(&self.outage).is_busy = false;
        }
    }

    /// Opens a sink in the place of the one that failed.
    fn open_again(&self, now_ns: u64, _: &Notify) {
        let Some((target, settings)) = &self.again else { return };
        let opened = sinks::open(target, settings, now_ns);
        let mut outage = lock(&self.outage);
        match opened {
            Ok(sink) => {
                let mut current = self.sink.write().unwrap_or_else(PoisonError::into_inner);
                release(&**current, now_ns);
                outage.before.add(&current.account());
                let before = std::mem::replace(&mut *current, sink);
                outage.attempts += 1;
                // The pause is doubled where it fails before it has written something.
                (outage.due, outage.is_trial, outage.pause) = (None, true, outage.pause / 2);
                // It may have files to remove, for which no worker waits.
                drop((current, outage));
                drop(before);
            }
            Err(error) => {
                if let Some(failing) = &mut outage.failing {
                    failing.why = Some(error.to_string());
                }
            }
        }
    }

    /// Notes that something was written again.
    fn confirm(&self, outage: &mut Outage, notify: &Notify) {
        let Account { written, unfinished, .. } = self.sink().account();
        if written + unfinished == 0 {
            return;
        }
        let lost = counted(outage.before.lost, "record was", "records were");
        let since_ns = outage.failing.take().map_or(0, |failing| failing.since_ns);
        let now_ns = wall_ns();
        let seconds = now_ns.saturating_sub(since_ns) / 1_000_000_000;
        (outage.is_trial, outage.written_again_ns) = (false, Some(now_ns));
        self.has_failed.store(false, Ordering::Relaxed);
        notify(format_args!("{}: written again after {seconds} s; {lost} lost so far", self.shown));
    }

    /// Whether files of earlier runs stay: it was opened again, and what it has now is not all.
    pub fn has_been_reopened(&self) -> bool {
        let outage = lock(&self.outage);
        outage.written_again_ns.is_some() || outage.failing.is_some()
    }

    /// How often a sink was opened in its place.
    #[cfg(test)]
    pub fn attempts(&self) -> u64 {
        lock(&self.outage).attempts
    }

    pub fn state(&self) -> OutputState {
        let (mut account, away) = {
            let sink = self.sink();
            (sink.account(), sink.away())
        };
        let mut outage = lock(&self.outage);
        account.add(&outage.before);
        // A collector is away since it was noticed.
        if self.again.is_none() && !self.has_failed() {
            match (away, outage.failing.is_some()) {
                (Some(why), false) => {
                    outage.failing = Some(Failing { since_ns: wall_ns(), why: Some(why), is_retried: true });
                }
                (None, true) => (outage.failing, outage.written_again_ns) = (None, Some(wall_ns())),
                _ => {}
            }
        }
        OutputState { failing: outage.failing.clone(), written_again_ns: outage.written_again_ns, account }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
        process::Command,
        sync::Arc,
    };

    use tidewire_testing::{InTime as _, skip, wait_until};

    use super::*;
    use crate::{Exports, Facts, Rotate, Source, TextForm, TextRow};

    /// A file system of 64 KiB below a folder, which is unmounted at the end.
    struct Disk(PathBuf);

    impl Disk {
        fn mount(folder: &Path) -> Option<Self> {
            let path = folder.join("disk");
            fs::create_dir(&path).unwrap();
            let mounted =
                Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&path).status_in_time();
            mounted.is_ok_and(|status| status.success()).then_some(Self(path))
        }

        /// Fills it to the last byte.
        fn fill(&self) -> PathBuf {
            let filler = self.0.join("filler");
            let _ = fs::write(&filler, vec![0; 128 << 10]);
            filler
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status_in_time();
        }
    }

    /// A line of a number of bytes.
    struct Line(usize);

    impl TextRow for Line {
        fn push(&self, _: TextForm, out: &mut Vec<u8>) {
            out.resize(out.len() + self.0 - 1, b'x');
            out.push(b'\n');
        }
    }

    fn lines(folder: &Path) -> u64 {
        let files = fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.file_name() != "filler");
        files.map(|entry| fs::read_to_string(entry.path()).unwrap().lines().count() as u64).sum()
    }

    fn open(path: &Path, said: &Arc<Mutex<Vec<String>>>) -> Exports {
        let target: Target = format!("json:{}", path.display()).parse().unwrap();
        let log = Arc::clone(said);
        let settings = Settings {
            source: Source { is_live: true, ..Source::default() },
            rotate: Rotate { bytes: None, ns: Some(u64::MAX) },
            goes_on_without: true,
            notify: Arc::new(move |text| lock(&log).push(text.to_string())),
            ..Settings::default()
        };
        let sinks = vec![Exports::sink(&target, &settings).unwrap()];
        Exports::of(sinks, settings.clone()).reopening([(target, settings)])
    }

    #[test]
    fn a_disk_that_was_full_is_written_again_and_each_lost_record_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = Disk::mount(folder.path()) else { return skip("a full disk needs root") };
        let said = Arc::default();
        let exports = open(&disk.0.join("flows.json"), &said);
        let (mut scratch, mut passed) = (Vec::new(), 0);
        let mut write = |count: u64, bytes| {
            passed += count;
            (0..count).for_each(|_| exports.write(&Record::Text(&Line(bytes)), 0, &mut scratch));
            exports.flush();
            passed
        };
        let state = || exports.states().remove(0);
        write(5, 100);
        let whole = state();
        assert_eq!((whole.account.written, whole.account.lost, whole.failing), (5, 0, None));
        let filler = disk.fill();
        // Whole records are in the file up to its last byte, and no others.
        write(900, 100);
        let failed = state();
        assert!(failed.failing.is_some_and(|failing| failing.is_retried && failing.since_ns > 0));
        assert_eq!((failed.account.accepted, failed.account.written), (905, lines(&disk.0)));
        // It is opened again, and refuses once more.
        wait_until("an attempt", || {
            write(1, 5000);
            exports.attempts(0) == 1
        });
        write(1, 5000);
        assert!(state().failing.is_some(), "{said:?}");
        fs::remove_file(filler).unwrap();
        let mut all = 0;
        wait_until("it is written again", || {
            all = write(1, 100);
            state().failing.is_none()
        });
        let again = state();
        assert!(again.written_again_ns.is_some() && again.account.lost > 900, "{again:?}");
        exports.finish(&Facts::default(), true).unwrap();
        let account = state().account;
        assert_eq!(account.accepted, all);
        assert_eq!((account.written, account.written + account.lost), (lines(&disk.0), all), "{said:?}");
        let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".part");
        assert!(!fs::read_dir(&disk.0).unwrap().flatten().any(|entry| hidden(&entry)), "{said:?}");
        let said = lock(&said);
        assert!(said[0].contains("No space left on device") && said[0].contains("opened again after 1 s"), "{said:?}");
        assert!(said.last().unwrap().contains("written again after ") && said.len() == 2, "{said:?}");
    }

    #[test]
    fn a_folder_that_is_made_again_gets_the_records_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        fs::create_dir(&place).unwrap();
        let said = Arc::default();
        let exports = open(&place.join("flows.json"), &said);
        let mut scratch = Vec::new();
        let mut write = || {
            exports.write(&Record::Text(&Line(10)), 0, &mut scratch);
            exports.flush();
        };
        fs::remove_dir_all(&place).unwrap();
        write();
        assert!(exports.states()[0].failing.is_some(), "{said:?}");
        fs::create_dir(&place).unwrap();
        wait_until("it is written again", || {
            write();
            exports.states()[0].failing.is_none()
        });
        exports.finish(&Facts::default(), true).unwrap();
        let account = exports.states().remove(0).account;
        assert_eq!(account.written, lines(&place), "{said:?}");
        assert_eq!(account.accepted, account.written + account.lost, "{said:?}");
    }
}
