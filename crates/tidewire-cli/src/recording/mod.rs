//! `tidewire record`: packets into an archive.

mod line;
pub mod metrics;
mod options;
mod settings;
pub mod show;
mod trigger;
mod upkeep;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use options::Commands;
pub use options::Options;
use tidewire::{Capture, Stop, live::LiveReport};
use tidewire_archive::Error;
use tidewire_files::Reader;
use tidewire_outputs::place::links::{self, Missing};
use tidewire_recorder::{Folders, OpenError, Recorder, Recording};

use crate::{
    capture_args,
    error::{self, CliError},
    interrupt::{INTERRUPTED, on_interrupt},
    live,
    output::Out,
    progress,
    units::counted,
};
use line::Line;
use trigger::Outside;

/// A nice value that leaves others a tenth of a core that both want.
const NICE: i8 = -10;

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    if let Some(Commands::Trigger(trigger)) = &options.command {
        return trigger::fire(trigger);
    }
    if let Some(named) = &options.verify {
        return upkeep::check(&upkeep::directories("--verify", named, options)?, options);
    }
    if let Some(named) = &options.index_only {
        return upkeep::index(&upkeep::directories("--index-only", named, options)?, options);
    }
    let files = files(options)?;
    if options.output.is_empty() {
        return Err(CliError::Usage("no archive: name its directory with -o, as in -o /var/packets".into()));
    }
    files.iter().flatten().try_for_each(|file| readable(file))?;
    let new: Vec<&PathBuf> = options.output.iter().filter(|path| !path.exists()).collect();
    let done = Run::open(options).and_then(|run| match files {
        Some(files) => run.of_files(&files),
        None => run.of_interfaces(),
    });
    if !matches!(done, Ok(error::OK | error::INTERRUPTED)) {
        new.into_iter().for_each(|path| remove_empty(path));
    }
    done
}

/// Removes a directory that was made for a recording of nothing.
fn remove_empty(path: &Path) {
    let is_manifest =
        |entry: &io::Result<fs::DirEntry>| entry.as_ref().is_ok_and(|entry| entry.file_name() == "manifest.jsonl");
    if fs::read_dir(path).is_ok_and(|mut entries| entries.all(|entry| is_manifest(&entry))) {
        let _ = fs::remove_file(path.join("manifest.jsonl"));
        let _ = fs::remove_dir(path);
    }
}

/// The files to be read; `None`: interfaces.
fn files(options: &Options) -> Result<Option<Vec<PathBuf>>, CliError> {
    let (files, _) = capture_args::split(&options.read)?;
    match (options.live.is_on(), files.is_empty()) {
        (true, true) => return Ok(None),
        (true, false) => {
            let what = "cannot read files (-r) and capture from interfaces (-i) in one run; name one of them";
            return Err(CliError::Usage(what.into()));
        }
        (false, true) => {
            let what =
                "nothing to record: name an interface (-i eth0) or files (-r capture.pcap; '-' is standard input)";
            return Err(CliError::Usage(what.into()));
        }
        (false, false) => {}
    }
    live::Live { snaplen: None, ..options.live.clone() }.need_none()?;
    if options.workers > 1 {
        return Err(CliError::Usage("--workers needs an interface: files have one worker".into()));
    }
    capture_args::need_files(files)?;
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(CliError::Usage("standard input ('-') is named twice; name it once".into()));
    }
    Ok(Some(files.to_vec()))
}

/// Checks a file before a directory is made. What is no regular file is read once only.
fn readable(path: &Path) -> Result<(), CliError> {
    if path.as_os_str() == "-" || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    if tidewire_archive::is_archive(path) {
        let path = path.display();
        return Err(CliError::Input(format!(
            "{path}: is an archive; record its packets again with: tidewire recall {path} | tidewire record -r - -o DIR"
        )));
    }
    match Reader::open(path) {
        // Packets before the damage are recorded.
        Ok(_) | Err(tidewire_files::Error::Empty { .. } | tidewire_files::Error::Damaged(_)) => Ok(()),
        Err(error) => Err(CliError::from(tidewire::Error::from(error))),
    }
}

/// A run of the command.
struct Run<'a> {
    options: &'a Options,
    recording: Arc<Recording>,
    filter: Option<String>,
    stop: Stop,
}

impl<'a> Run<'a> {
    /// Checks the options, and opens and repairs the directories.
    fn open(options: &'a Options) -> Result<Self, CliError> {
        let recording_options = settings::recording(options, settings::filter(options)?)?;
        let folders = Folders {
            make: |path| links::folder(path, Missing::Make),
            find: |path| links::folder(path, Missing::Refuse).map(|(handle, _)| handle),
        };
        let stop = Stop::new();
        let recording = Recording::open(&recording_options, folders, &stop, show::report).map_err(refused)?;
        Ok(Self { options, recording: Arc::new(recording), filter: recording_options.matched, stop })
    }

    /// The recorder of each worker.
    fn recorders(&self) -> Result<Vec<Option<Recorder>>, CliError> {
        let all = self.recording.recorders();
        let all = all.map_err(|error| CliError::from(tidewire::Error::from(error)))?;
        Ok(all.into_iter().map(Some).collect())
    }

    fn of_files(self, files: &[PathBuf]) -> Result<u8, CliError> {
        on_interrupt(&self.stop, false)?;
        let mut recorders = self.recorders()?;
        let (recording, mut line) = (Arc::clone(&self.recording), Line::new());
        let capture = Capture::files(files.iter().cloned()).stop_when(&self.stop);
        let capture = capture.on_progress(move |_| line.show(&recording));
        let outcome = capture.run_frames(|worker| taken(&mut recorders, worker));
        progress::remove();
        let outcome = outcome?;
        outcome.input_errors.iter().for_each(error::notify);
        let was_interrupted = INTERRUPTED.load(Ordering::Relaxed);
        let (is_damaged, elapsed) = (!outcome.input_errors.is_empty(), outcome.elapsed);
        let read = outcome.ledger.received;
        // Its threads end with it.
        drop(outcome);
        let code = self.finish(elapsed, None)?;
        if code == error::OUTPUT {
            error::notify(show::failed(&self.recording.snapshot(), read));
        }
        Ok(match code {
            error::OK if was_interrupted => error::INTERRUPTED,
            error::OK if is_damaged => error::INPUT,
            code => code,
        })
    }

    fn of_interfaces(self) -> Result<u8, CliError> {
        prefer(self.options.nice)?;
        let mut recorders = self.recorders()?;
        let (cuts, counts) = (self.recording.settings().cuts(), self.filter.is_some());
        let capture = self.options.live.capture_with(|settings| {
            let kernel = settings.kernel().clone().with_cuts(cuts).with_counts(counts);
            settings.set_kernel(kernel);
        })?;
        let mut capture = capture.workers(self.recording.workers()).stop_when(&self.stop);
        if let Some(filter) = &self.filter {
            capture = capture.filter(filter.as_str());
        }
        let writable = self.recording.folders();
        let mut is_closed = false;
        let recording = Arc::clone(&self.recording);
        let opened = move |found: Vec<String>| recording.set_interfaces(found);
        let (recording, mut line) = (Arc::clone(&self.recording), Line::new());
        let mut outside = match self.recording.trigger() {
            Some(trigger) => Some(Outside::open(trigger, self.options.control.as_deref())?),
            // A signal that is meant for look-back ends no recording.
            None => {
                trigger::ignore_signal();
                None
            }
        };
        let look = move |_: &LiveReport| {
            // Privileges are dropped by now.
            if let Some(outside) = outside.take() {
                outside.start();
            }
            line.show(&recording);
        };
        let recording = Arc::clone(&self.recording);
        let families = move || metrics::families(&recording.snapshot());
        let watching = live::Watching { opened, look, families, ports: Vec::new() };
        let capture = live::watched_with(capture, &self.options.live, &self.stop, watching, &mut is_closed, &writable)?;
        let outcome = capture.run_frames(|worker| taken(&mut recorders, worker));
        progress::remove();
        let mut outcome = outcome?;
        outcome.handlers.clear();
        let (live, ledger) = (outcome.live, outcome.ledger);
        let code = self.finish(outcome.elapsed, live.as_ref().map(|report| (report, &ledger)))?;
        if let Some(report) = &live {
            live::say_lost(report);
        }
        Ok(code)
    }

    /// Prints the summary.
    fn finish(&self, elapsed: Duration, live: Option<(&LiveReport, &tidewire::Ledger)>) -> Result<u8, CliError> {
        let figures = self.recording.snapshot();
        show::summary(&figures, self.recording.targets(), elapsed, live, self.options, &mut Out::stdout())?;
        let all = figures.totals.all();
        if !figures.totals.closes() {
            return Err(CliError::Output(format!("a bug in tidewire: the account does not close: {all:?}")));
        }
        // Of files, what is shed is lost to a failure alone, and that is said.
        if all.shed_packets > 0 && live.is_some() {
            let packets = counted(all.shed_packets, "packet was", "packets were");
            error::notify(format_args!(
                "{packets} shed: the disk was too slow, or refused (--buffer has more memory, --cutoff writes less)"
            ));
        }
        Ok(if self.recording.is_failed() { error::OUTPUT } else { error::OK })
    }
}

/// Threads that are started later have the nice value of the one that starts them.
fn prefer(nice: Option<i8>) -> Result<(), CliError> {
    let wanted = i32::from(nice.unwrap_or(NICE));
    // Who was started before all others stays there.
    if nice.is_none() && rustix::process::getpriority_process(None).is_ok_and(|known| known <= wanted) {
        return Ok(());
    }
    match (rustix::process::setpriority_process(None, wanted), nice) {
        (Ok(()), _) => {}
        (Err(error), Some(nice)) => {
            return Err(CliError::Usage(format!(
                "--nice {nice}: {error}: less than 0 needs root, or the capability CAP_SYS_NICE"
            )));
        }
        (Err(_), None) => error::notify(format_args!(
            "the nice value stays as it is: {NICE} needs root, or the capability CAP_SYS_NICE; where others use all processors, \
             packets may be lost (--nice 0: as it is)"
        )),
    }
    Ok(())
}

fn taken(recorders: &mut [Option<Recorder>], worker: usize) -> Recorder {
    recorders.get_mut(worker).and_then(Option::take).expect("each worker begins once")
}

/// A recording that cannot begin.
fn refused(error: OpenError) -> CliError {
    match error {
        OpenError::Filter(error) => CliError::from(tidewire::Error::from(error)),
        OpenError::Identity(error) => error.into(),
        OpenError::Folder { path, cause } if cause.raw_os_error().is_some() => {
            output(Error::Io { path, what: "making the directory", cause })
        }
        OpenError::Folder { .. } => CliError::Output(error.to_string()),
        OpenError::Archive(error) => output(error),
        error => CliError::Usage(error.to_string()),
    }
}

/// A directory that cannot be written to.
fn output(error: tidewire_archive::Error) -> CliError {
    match upkeep::failed(error) {
        CliError::Input(text) => CliError::Output(text),
        other => other,
    }
}
