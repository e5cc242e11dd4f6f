//! A recording whose directories are open: what its recorders share, and its figures.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use thiserror::Error;
use tidewire::{FilterError, Stop};
use tidewire_archive::{Directory, Error as ArchiveError, Find, Identities, KeyError};
use tidewire_types::clock::wall_ns;

use crate::{Notice, OptionError, RecordSettings, Recorder, RecordingOptions, Snapshot, Status, Targets, Trigger};

/// How folders are opened.
#[derive(Clone, Copy, Debug)]
pub struct Folders {
    /// One that is made if it is not there, with its path without links.
    pub make: fn(&Path) -> io::Result<(OwnedFd, PathBuf)>,
    /// One that is there.
    pub find: Find,
}

/// Why a recording cannot begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An option that is not possible.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// An expression that has no meaning.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Identities that cannot be read.
    #[error(transparent)]
    Identity(#[from] KeyError),
    /// A folder that cannot be opened or made.
    #[error("{}: {cause}", path.display())]
    Folder {
        /// Its path.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// An archive that cannot be continued.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// A recording that is about to begin, or that goes on.
#[derive(Debug)]
pub struct Recording {
    settings: Arc<RecordSettings>,
    targets: Arc<Targets>,
    statuses: Vec<Arc<Status>>,
    names: Arc<OnceLock<Vec<String>>>,
}

impl Recording {
    /// Checks options, and opens and repairs the directories. `stop` ends the run where the recording cannot go on. What was repaired, and what
    /// fails later, goes to `notify`.
    ///
    /// # Errors
    /// See [`OpenError`]. Settings and expressions are checked before a directory is made.
    pub fn open(
        options: &RecordingOptions,
        folders: Folders,
        stop: &Stop,
        notify: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        options.check()?;
        let archive = options.archive()?;
        let names = Arc::new(OnceLock::new());
        let settings = RecordSettings { interfaces: Arc::clone(&names), ..options.record() };
        settings.check()?;
        let identities = Identities::from_files(&options.identities)?;
        let mut directories = Vec::new();
        for path in &options.directories {
            let opened = (folders.make)(path);
            let (handle, path) = opened.map_err(|cause| OpenError::Folder { path: path.clone(), cause })?;
            let now_ns = wall_ns();
            let directory = Directory::open_found(handle, &path, &archive, now_ns, folders.find)?;
            let repaired = directory.repair(&identities, now_ns)?;
            repaired.into_iter().for_each(|repaired| notify(Notice::Repaired { repaired }));
            directories.push(directory);
        }
        for (place, directory) in directories.iter().enumerate() {
            let others = directories.iter().enumerate().filter(|(other, _)| *other != place);
            directory.set_companions(&others.map(|(_, other)| other.path()).collect::<Vec<_>>());
        }
        let workers = usize::from(options.workers);
        let targets = Targets::new(directories, options.retention(), workers, stop, notify);
        let statuses = (0..workers).map(|_| Arc::default()).collect();
        Ok(Self { settings: Arc::new(settings), targets: Arc::new(targets), statuses, names })
    }

    /// The recorder of each worker.
    ///
    /// # Errors
    /// An expression that has no meaning.
    pub fn recorders(&self) -> Result<Vec<Recorder>, FilterError> {
        let recorder = |(worker, status): (usize, &Arc<Status>)| {
            Recorder::new(&self.settings, worker as u16, &self.targets, status)
        };
        self.statuses.iter().enumerate().map(recorder).collect()
    }

    /// Which packets are recorded.
    #[must_use]
    pub fn settings(&self) -> &RecordSettings {
        &self.settings
    }

    /// Where they go.
    #[must_use]
    pub fn targets(&self) -> &Arc<Targets> {
        &self.targets
    }

    /// The paths of the directories, without links.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        self.targets.directories().iter().map(|found| found.path().to_owned()).collect()
    }

    /// States the interfaces, once they are known: before the first packet.
    pub fn set_interfaces(&self, names: Vec<String>) {
        drop(self.names.set(names));
    }

    /// The trigger that other processes fire; `None`: packets are recorded at once.
    #[must_use]
    pub fn trigger(&self) -> Option<&Arc<Trigger>> {
        self.settings.look_back.as_ref().map(|look_back| &look_back.trigger)
    }

    /// How many workers it has.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.statuses.len()
    }

    /// The figures of all workers.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut sum = Snapshot::default();
        self.statuses.iter().for_each(|status| sum.add(&status.snapshot()));
        sum
    }

    /// Whether it cannot go on.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.statuses.iter().any(|status| status.is_failed())
    }
}
