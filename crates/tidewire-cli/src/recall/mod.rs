//! `tidewire recall`: finds packets in archives.

mod options;
mod overview;
mod shown;
mod summary;
mod written;

pub use options::Options;

use std::sync::{Arc, PoisonError};

use crate::{
    archive::{ArchiveOptions, Search},
    capture_args,
    error::{self, CliError},
    interrupt::on_interrupt,
    times,
};
use options::Output;
use summary::{Summary, Times};
use tidewire_archive::{Figures, Note};

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let (directories, words) = capture_args::split(&options.directories)?;
    let directories = directories.to_vec();
    if directories.is_empty() {
        return Err(CliError::Usage(
            "no archive: name the directory of one, as in: tidewire recall DIR port 53".into(),
        ));
    }
    capture_args::refuse_display_filters(&directories)?;
    if let Some((path, problem)) = directories.iter().find_map(|path| Some((path, path.try_exists().err()?))) {
        return Err(CliError::Input(format!("{}: {problem}", path.display())));
    }
    if let Some(missing) = directories.first().filter(|path| !path.exists()) {
        return Err(CliError::Input(format!("{}: no such directory; check the name", missing.display())));
    }
    if let Some(file) = directories.iter().find(|path| path.exists() && !path.is_dir()) {
        let file = file.display();
        return Err(CliError::Usage(format!(
            "{file} is a file; recall reads archives (directories), tidewire flows reads files"
        )));
    }
    capture_args::need_files(&directories)?;
    let given = (!options.expression.is_empty()).then(|| options.expression.join(" "));
    let expression = match (words, given) {
        (Some(words), Some(given)) => {
            return Err(CliError::Usage(format!(
                "two filter expressions: '{given}' and '{words}'; join them with 'and' or 'or'"
            )));
        }
        (words, given) => words.or(given),
    };
    let output = options.output(expression.is_some())?;
    if let Output::Overview = output {
        return overview::print(&directories, &options.identity, options.json);
    }
    if let Some(expression) = &expression {
        capture_args::refuse_display_filter(expression)?;
    }
    let search = Arc::new(Search { query: options.query(times::now_ns())?, ..Search::default() });
    let archive =
        ArchiveOptions { identity: options.identity.clone(), search: Some(Arc::clone(&search)), ..Default::default() };
    let found = || search.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match output {
        Output::Packets(path) => {
            crate::own_input::refuse_over(&directories, &path)?;
            let stop = tidewire::Stop::new();
            on_interrupt(&stop, false)?;
            let Some(recall) = archive.open(&directories, expression)? else {
                return Err(CliError::Usage("no archive is named".into()));
            };
            let (times, figures, losses, code) = written::write(recall, &path, &stop)?;
            let summary = Summary { times, figures, losses, notes: found().notes };
            summary.print(options.json, path.as_os_str() == "-")?;
            say_empty(&summary, options, code);
            Ok(ended(&summary, code))
        }
        shown => {
            let code = shown::show(&shown, options, directories, expression, archive)?;
            let found = found();
            let figures = *found.figures.lock().unwrap_or_else(PoisonError::into_inner);
            let (times, losses) = (Times::default(), Vec::new());
            let summary = Summary { times, figures, losses, notes: found.notes };
            summary.print(options.json, false)?;
            if !options.follow {
                say_empty(&summary, options, code);
            }
            Ok(ended(&summary, code))
        }
    }
}

/// The exit code of a search that came to `code`: what is missing was not searched, whatever was found in the rest.
fn ended(summary: &Summary, code: u8) -> u8 {
    let lacks = summary.notes.iter().any(|note| matches!(note, Note::Missing { .. }));
    match code {
        error::OK if lacks => error::INPUT,
        error::OK if summary.figures.packets == 0 => error::NOT_FOUND,
        code => code,
    }
}

/// Says why nothing was found, where that is known: not of an archive that could not be read.
fn say_empty(summary: &Summary, options: &Options, code: u8) {
    match (summary.figures, options.stream) {
        (Figures { captures: 0, .. }, _) if code != error::OK => {}
        (Figures { captures: 0, .. }, _) => {
            error::notify("the archive has no segment yet: nothing was recorded or indexed there");
        }
        (Figures { packets: 0, .. }, Some(id)) => {
            error::notify(format_args!("no stream with id {id} has such packets; `tidewire flows DIR` lists the ids"));
        }
        (Figures { packets: 0, .. }, None) => error::notify("nothing found"),
        _ => {}
    }
}
