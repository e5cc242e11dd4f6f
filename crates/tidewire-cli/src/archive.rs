//! Archives of recorded packets in place of capture files: directories.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, Once, PoisonError},
};

use clap::Args;
use tidewire_archive::{Archive, Error, Figures, Identities, Note, Query, Recall};

use crate::error::{self, CliError};

/// The options of archives, and what else is looked for in them.
#[derive(Args, Clone, Debug, Default)]
pub struct ArchiveOptions {
    /// Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)
    #[arg(long, value_name = "FILE", display_order = 5, hide_short_help = true, help_heading = "Input")]
    pub identity: Vec<PathBuf>,

    /// What `tidewire recall` looks for beside the expression.
    #[arg(skip)]
    pub search: Option<Arc<Search>>,
}

/// A search, and what became of it.
#[derive(Debug, Default)]
pub struct Search {
    pub query: Query,
    pub found: Mutex<Found>,
}

/// What a search read, and what it could not use.
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

    /// Searches these captures; `None`: they are files. `expression`: what packets have to match.
    pub fn open(&self, captures: &[PathBuf], expression: Option<String>) -> Result<Option<Recall>, CliError> {
        if !Self::are(captures) {
            return match self.identity.first() {
                Some(_) => Err(CliError::Usage("--identity reads archives, and no directory is named".into())),
                None => Ok(None),
            };
        }
        if let Some(file) = captures.iter().find(|path| !path.is_dir() && (path.exists() || path.as_os_str() == "-")) {
            let file = file.display();
            return Err(CliError::Usage(format!(
                "cannot read a file ({file}) and the directory of an archive in one run; name one kind"
            )));
        }
        let identities = Identities::from_files(&self.identity)?;
        let search = self.search.clone().unwrap_or_default();
        let query = Query { filter: expression, ..search.query.clone() };
        let recall = Archive::open(captures, identities)?.recall(&query)?;
        let notes = recall.notes().to_vec();
        NOTED.call_once(|| notes.iter().for_each(error::notify));
        let found = Found { figures: recall.shared_figures(), notes };
        *search.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(Some(recall))
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
