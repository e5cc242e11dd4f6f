//! Archives of recorded packets in place of capture files: directories.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    sync::{Arc, Mutex, Once, PoisonError},
};

use clap::Args;
use tidewire_archive::{Archive, Error, Figures, Identities, KeyError, Note, Query, Recall};
use tidewire_outputs::CutOffs;

use crate::{
    cut_off::Amount,
    error::{self, CliError},
    own_input, times,
    units::counted,
};

/// The options of archives, and what else is looked for in them.
#[derive(Args, Clone, Debug, Default)]
pub struct ArchiveOptions {
    /// Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)
    #[arg(long, value_name = "FILE", value_parser = own_input::noted(), display_order = 5, hide_short_help = true, help_heading = "Input")]
    pub identity: Vec<PathBuf>,

    /// Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970
    #[arg(long, value_name = "TIME", display_order = 6, hide_short_help = true, help_heading = "Input")]
    pub from: Option<String>,

    /// Of archives: only packets before this time
    #[arg(long, value_name = "TIME", display_order = 7, hide_short_help = true, help_heading = "Input")]
    pub until: Option<String>,

    /// The search of `tidewire recall`, beside the expression.
    #[arg(skip)]
    pub search: Option<Arc<Search>>,
}

/// A search, and what became of it.
#[derive(Debug, Default)]
pub struct Search {
    pub query: Query,
    pub found: Mutex<Found>,
}

/// Figures of a search, and notes on what it could not use.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub figures: Arc<Mutex<Figures>>,
    pub notes: Vec<Note>,
}

/// Says once what a command could not use: some open their input more than once.
static NOTED: Once = Once::new();

impl ArchiveOptions {
    /// Whether the captures are archives.
    pub fn are(captures: &[PathBuf]) -> bool {
        captures.iter().any(|path| path.is_dir())
    }

    /// Refuses the options for inputs that are no archive.
    pub fn need_none(&self) -> Result<(), CliError> {
        if !self.identity.is_empty() {
            return Err(CliError::Usage("--identity reads archives, and no directory is named".into()));
        }
        if self.from.is_some() || self.until.is_some() {
            return Err(CliError::Usage(
                "--from and --until search archives, and no directory is named; the captures of a directory become one with: tidewire \
                 record --index-only DIR"
                    .into(),
            ));
        }
        Ok(())
    }

    /// The query without the expression.
    fn query(&self) -> Result<Query, CliError> {
        let mut query = self.search.as_ref().map(|search| search.query.clone()).unwrap_or_default();
        let now_ns = times::now_ns();
        for (option, text, place) in
            [("--from", &self.from, &mut query.from_ns), ("--until", &self.until, &mut query.to_ns)]
        {
            if let Some(text) = text {
                *place =
                    Some(times::parse(text, now_ns).map_err(|error| CliError::Usage(format!("{option}: {error}")))?);
            }
        }
        query.check()?;
        Ok(query)
    }

    /// Searches these captures; `None`: they are files. `expression`: what packets have to match.
    pub fn open(&self, captures: &[PathBuf], expression: Option<String>) -> Result<Option<Recall>, CliError> {
        if !Self::are(captures) {
            return self.need_none().map(|()| None);
        }
        if let Some(file) = captures.iter().find(|path| !path.is_dir() && (path.exists() || path.as_os_str() == "-")) {
            let file = file.display();
            return Err(CliError::Usage(format!(
                "cannot read a file ({file}) and the directory of an archive in one run; name one kind"
            )));
        }
        refuse_twice(captures)?;
        let identities = Identities::from_files(&self.identity)?;
        let search = self.search.clone().unwrap_or_default();
        let query = Query { filter: expression, ..self.query()? };
        let recall = Archive::open(captures, identities)?.recall(&query)?;
        let notes = recall.notes().to_vec();
        NOTED.call_once(|| notes.iter().for_each(error::notify));
        let found = Found { figures: recall.shared_figures(), notes };
        *search.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(Some(recall))
    }
}

impl ArchiveOptions {
    /// Parts of the streams in these archives that were cut off when they were recorded; `None`: no part, or they are files.
    pub fn cut_off(&self, captures: &[PathBuf]) -> Result<Option<CutOffs>, CliError> {
        // Files beside archives are refused where they are read.
        if !captures.iter().all(|path| path.is_dir()) {
            return Ok(None);
        }
        let identities = Identities::from_files(&self.identity)?;
        let query = self.query()?;
        let (streams, is_all) = Archive::open(captures, identities)?.cut_off(&query, tidewire_outputs::STREAMS_MAX)?;
        if !is_all {
            let most = counted(tidewire_outputs::STREAMS_MAX as u64, "stream", "streams");
            error::notify(format_args!("what was cut off is shown of {most} only; search for fewer (tidewire recall)"));
        }
        let mut found = CutOffs::default();
        for stream in &streams {
            let amounts = stream.amounts.map(|amount| Amount::new(amount.packets, amount.bytes));
            found.add(&stream.key, [stream.first_ns, stream.last_ns], amounts);
        }
        Ok((!streams.is_empty()).then_some(found))
    }
}

/// Refuses a directory that is named twice, by whatever names: each of its packets would be found twice.
fn refuse_twice(folders: &[PathBuf]) -> Result<(), CliError> {
    let mut known: Vec<((u64, u64), &PathBuf)> = Vec::new();
    for path in folders {
        let Ok(found) = fs::metadata(path) else { continue };
        let place = (found.dev(), found.ino());
        if let Some((_, other)) = known.iter().find(|(known, _)| *known == place) {
            let (path, other) = (path.display(), other.display());
            return Err(CliError::Usage(format!(
                "{other} and {path} are the same directory, named twice; name it once"
            )));
        }
        known.push((place, path));
    }
    Ok(())
}

impl From<KeyError> for CliError {
    fn from(error: KeyError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Query(_) | Error::Filter(_) | Error::Key(_) => Self::Usage(text),
            _ => Self::Input(text),
        }
    }
}
