//! `tidewire record`: packets into an archive.

mod line;
mod metrics;
mod options;
mod settings;
mod show;
mod trigger;
mod upkeep;

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    sync::{Arc, OnceLock, atomic::Ordering},
    time::Duration,
};

use options::Commands;
pub use options::Options;
use tidewire::{Capture, Stop, live::LiveReport};
use tidewire_archive::{Directory, Error, Identities};
use tidewire_files::Reader;
use tidewire_outputs::place::links::{self, Missing};
use tidewire_recorder::{RecordSettings, Recorder, Status, Targets};

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
use show::now_ns;
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
    let done = Recording::open(options).and_then(|recording| match files {
        Some(files) => recording.of_files(&files),
        None => recording.of_interfaces(),
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
        // What is before the damage is recorded.
        Ok(_) | Err(tidewire_files::Error::Empty { .. } | tidewire_files::Error::Damaged(_)) => Ok(()),
        Err(error) => Err(CliError::from(tidewire::Error::from(error))),
    }
}

/// Where a directory is, or would be: of what is not there yet, names alone say that.
fn place_of(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = whole.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    let Some((part, mut place)) = there else { return whole };
    for rest in whole.strip_prefix(part).into_iter().flat_map(Path::components) {
        match rest {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    place
}

/// A recording that is about to begin.
struct Recording<'a> {
    options: &'a Options,
    filter: Option<String>,
    settings: Arc<RecordSettings>,
    targets: Arc<Targets>,
    statuses: Vec<Arc<Status>>,
    names: Arc<OnceLock<Vec<String>>>,
    stop: Stop,
}

impl<'a> Recording<'a> {
    /// Checks the options, and opens and repairs the directories.
    fn open(options: &'a Options) -> Result<Self, CliError> {
        let filter = settings::filter(options)?;
        let archive = settings::archive(options)?;
        let names = Arc::new(OnceLock::new());
        let settings = RecordSettings { interfaces: Arc::clone(&names), ..settings::record(options, filter.clone())? };
        if !(1..=64).contains(&options.workers) {
            return Err(CliError::Usage(format!("workers must be 1 to 64, got {}", options.workers)));
        }
        for (index, path) in options.output.iter().enumerate() {
            let place = place_of(path);
            if let Some(other) = options.output[..index].iter().find(|other| place_of(other) == place) {
                let (path, other) = (path.display(), other.display());
                let what = format!("-o {other} and -o {path} are the same directory, named twice; name it once");
                return Err(CliError::Usage(what));
            }
        }
        for path in &options.output {
            // Of the closest one that is there.
            let place = place_of(path);
            if let Some(there) = place.ancestors().find(|part| part.exists()) {
                if !there.is_dir() {
                    let what = format!("-o {}: {} is a file; name a directory", path.display(), there.display());
                    return Err(CliError::Usage(what));
                }
                settings::check_free(options, there)?;
            }
        }
        // Expressions are checked before a directory is made.
        settings.check().map_err(|error| CliError::from(tidewire::Error::from(error)))?;
        let identities = Identities::from_files(&options.identity)?;
        let mut directories = Vec::new();
        for path in &options.output {
            let refused = |cause: io::Error| match cause.raw_os_error() {
                Some(_) => output(Error::Io { path: path.clone(), what: "making the directory", cause }),
                None => CliError::Output(format!("{}: {cause}", path.display())),
            };
            let (_, path) = links::folder(path, Missing::Make).map_err(refused)?;
            let directory = Directory::open(&path, &archive, now_ns()).map_err(output)?;
            directory.repair(&identities, now_ns()).map_err(output)?.iter().for_each(error::notify);
            directories.push(directory);
        }
        for (place, directory) in directories.iter().enumerate() {
            let others = directories.iter().enumerate().filter(|(other, _)| *other != place);
            directory.set_companions(&others.map(|(_, other)| other.path()).collect::<Vec<_>>());
        }
        let stop = Stop::new();
        let workers = usize::from(options.workers);
        let targets = Targets::new(directories, settings::retention(options), workers, &stop, show::report);
        let statuses = (0..workers).map(|_| Arc::default()).collect();
        Ok(Self { options, filter, settings: Arc::new(settings), targets: Arc::new(targets), statuses, names, stop })
    }

    /// The recorder of each worker.
    fn recorders(&self) -> Result<Vec<Option<Recorder>>, CliError> {
        let recorder = |(worker, status): (usize, &Arc<Status>)| {
            Recorder::new(&self.settings, worker as u16, &self.targets, status).map(Some)
        };
        let all: Result<_, _> = self.statuses.iter().enumerate().map(recorder).collect();
        all.map_err(|error| CliError::from(tidewire::Error::from(error)))
    }

    fn of_files(self, files: &[PathBuf]) -> Result<u8, CliError> {
        on_interrupt(&self.stop, false)?;
        let mut recorders = self.recorders()?;
        let (statuses, targets, mut line) = (self.statuses.clone(), Arc::clone(&self.targets), Line::new());
        let capture = Capture::files(files.iter().cloned()).stop_when(&self.stop);
        let capture = capture.on_progress(move |_| line.show(&statuses, &targets));
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
            error::notify(show::failed(&show::sum(&self.statuses), read));
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
        let (cuts, counts) = (self.settings.cuts(), self.filter.is_some());
        let capture = self.options.live.capture_with(|settings| {
            let kernel = settings.kernel().clone().with_cuts(cuts).with_counts(counts);
            settings.set_kernel(kernel);
        })?;
        let mut capture = capture.workers(self.statuses.len()).stop_when(&self.stop);
        if let Some(filter) = &self.filter {
            capture = capture.filter(filter.as_str());
        }
        let writable: Vec<PathBuf> = self.targets.directories().iter().map(|found| found.path().to_owned()).collect();
        let mut is_closed = false;
        let names = Arc::clone(&self.names);
        let opened = move |found: Vec<String>| drop(names.set(found));
        let (statuses, targets, mut line) = (self.statuses.clone(), Arc::clone(&self.targets), Line::new());
        let mut outside = match &self.settings.look_back {
            Some(look_back) => Some(Outside::open(&look_back.trigger, self.options.control.as_deref())?),
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
            line.show(&statuses, &targets);
        };
        let statuses = self.statuses.clone();
        let families = move || metrics::families(&show::sum(&statuses));
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
        let figures = show::sum(&self.statuses);
        show::summary(&figures, &self.targets, elapsed, live, self.options, &mut Out::stdout())?;
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
        let failed = self.statuses.iter().any(|status| status.is_failed());
        Ok(if failed { error::OUTPUT } else { error::OK })
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

/// A directory that cannot be written to.
fn output(error: tidewire_archive::Error) -> CliError {
    match upkeep::failed(error) {
        CliError::Input(text) => CliError::Output(text),
        other => other,
    }
}
