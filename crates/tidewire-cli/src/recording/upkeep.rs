//! `--verify` and `--index-only`: archives that are there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidewire::legible::legible;
use tidewire_archive::{Directory, Error, Identities, IndexResult, Verification, is_archive, verify_with};

use super::{options::Options, settings};
use crate::{
    capture_args,
    error::{self, CliError},
    output::{Object, Out},
    times::now_ns,
    units::{Bytes, counted},
};

/// Converts an error of an archive.
pub fn failed(error: Error) -> CliError {
    match error {
        Error::Key(_) | Error::Query(_) | Error::Filter(_) => CliError::Usage(error.to_string()),
        Error::Locked { .. } => CliError::Output(error.to_string()),
        _ => CliError::Input(error.to_string()),
    }
}

/// Findings, or files that are not indexed, that are printed for people.
const SHOWN_MAX: usize = 100;

/// The directories that `option` names, or that stand elsewhere on the command line: there is nothing else to name beside it.
pub fn directories(option: &str, named: &[PathBuf], options: &Options) -> Result<Vec<PathBuf>, CliError> {
    let words: Vec<PathBuf> = named.iter().cloned().chain(options.expression.iter().map(PathBuf::from)).collect();
    let (found, behind) = capture_args::split(&words)?;
    if let Some(expression) = behind.or_else(|| options.filter.clone()) {
        return Err(CliError::Usage(format!(
            "{option} takes directories alone, and all of each: '{expression}' is a filter expression"
        )));
    }
    if found.is_empty() {
        return Err(CliError::Usage(format!(
            "{option} needs a directory, as in: tidewire record {option} /var/packets"
        )));
    }
    if let Some(file) = found.iter().find(|path| path.exists() && !path.is_dir()) {
        return Err(CliError::Usage(format!(
            "{} is not a directory; {option} takes directories alone",
            file.display()
        )));
    }
    Ok(found.to_vec())
}

/// Does something with each directory; errors of one are reported, and the next one follows. Returns the greatest exit code.
fn for_each(folders: &[PathBuf], mut each: impl FnMut(&Path) -> Result<u8, CliError>) -> Result<u8, CliError> {
    let mut code = error::OK;
    for folder in folders {
        let done = match folder.is_dir() {
            true => each(folder),
            false => Err(CliError::Input(format!("{}: no such directory", folder.display()))),
        };
        code = code.max(match done {
            Err(closed @ CliError::ClosedPipe) => return Err(closed),
            Err(problem) => problem.report(),
            Ok(code) => code,
        });
    }
    Ok(code)
}

/// Checks archives.
pub fn check(folders: &[PathBuf], options: &Options) -> Result<u8, CliError> {
    let identities = Identities::from_files(&options.identity)?;
    for_each(folders, |folder| {
        let found = verify_with(folder, &identities).map_err(failed)?;
        let mut out = Out::stdout();
        if options.json {
            push_json(&mut out, folder, &found);
        } else {
            // Of one directory it is clear which one.
            let place = if folders.len() > 1 { format!("{}: ", folder.display()) } else { String::new() };
            print(&mut out, &place, &found)?;
        }
        out.flush()?;
        Ok(if found.findings.is_empty() { error::OK } else { error::INPUT })
    })
}

fn push_json(out: &mut Out, folder: &Path, found: &Verification) {
    let mut object = Object::open(out.buffer());
    object.text("path", &folder.to_string_lossy());
    object.number("intact", found.intact);
    object.number("bytes", found.bytes);
    object.number("removed", found.removed);
    object.number("sealed", found.sealed);
    object.number("open", found.open.len() as u64);
    object.truth("recording", found.is_recorded);
    object.array("findings", &found.findings, |out, finding| {
        crate::output::push_string(out, &finding.to_string());
    });
    object.close();
    out.buffer().push(b'\n');
}

fn print(out: &mut Out, place: &str, found: &Verification) -> Result<(), CliError> {
    for finding in found.findings.iter().take(SHOWN_MAX) {
        out.line(&legible(&finding.to_string()))?;
    }
    if let Some(more) = found.findings.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        out.line(&format!("and {more} more (--json has them)"))?;
    }
    if found.sealed > 0 {
        let indexes = counted(found.sealed, "index is", "indexes are");
        out.line(&format!("{indexes} encrypted: which segment was before was not compared (--identity FILE does)"))?;
    }
    for path in found.open.iter().take(SHOWN_MAX) {
        let why = match found.is_recorded {
            true => "is being written",
            false => "was left by a recorder that did not end in order; the next one completes it",
        };
        let line = format!("{}: {why}, and was not compared", path.display());
        out.line(&legible(&line))?;
    }
    let (segments, bytes) = (counted(found.intact, "segment intact", "segments intact"), Bytes(found.bytes));
    let end = match (found.findings.len() as u64, found.intact, found.removed) {
        (0, 0, 0) => "no segment yet: nothing was recorded or indexed there".to_owned(),
        (0, 0, removed) => format!("no segment: {} removed to keep within bounds", counted(removed, "was", "were")),
        (0, ..) => format!("{segments}, {bytes}: as they were written"),
        (count, ..) => format!("{segments}, {bytes}: {}", counted(count, "finding", "findings")),
    };
    out.line(&legible(&format!("{place}{end}")))
}

/// Makes the indexes that are missing.
pub fn index(folders: &[PathBuf], options: &Options) -> Result<u8, CliError> {
    let identities = Identities::from_files(&options.identity)?;
    let recording_options = settings::recording(options, None)?;
    let archive = recording_options
        .check()
        .and_then(|()| recording_options.archive())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    for_each(folders, |folder| {
        let now = now_ns();
        let manifest = folder.join("manifest.jsonl");
        let is_new = !manifest.exists() && !is_archive(folder);
        let directory = Directory::open(folder, &archive, now).map_err(failed)?;
        let done = index_one(&directory, &identities, now);
        if is_new && !done.as_ref().is_ok_and(|done| done.made > 0) {
            // It is no archive, and nothing is to say that a recorder began there.
            let _ = fs::remove_file(manifest);
        }
        let done = done?;
        Ok(if done.refused + done.damaged == 0 { error::OK } else { error::INPUT })
    })
}

/// Counts of a directory's files by result.
#[derive(Default)]
struct Indexed {
    made: u64,
    kept: u64,
    damaged: u64,
    refused: u64,
    passed_over: u64,
}

fn index_one(directory: &Directory, identities: &Identities, now: u64) -> Result<Indexed, CliError> {
    directory.repair(identities, now).map_err(failed)?.iter().for_each(error::notify);
    let (mut out, mut count, mut written) = (Out::stdout(), Indexed::default(), Ok(()));
    directory
        .index_only(identities, false, now, |result| match result {
            IndexResult::Made { path, packets, bytes, index_bytes, damage } => {
                count.made += 1;
                let (packets, bytes) = (counted(packets, "packet", "packets"), Bytes(bytes));
                let name = path.display().to_string();
                let line = format!("{}: {packets}, {bytes}, index {}", legible(&name), Bytes(index_bytes));
                if let Some(damage) = damage {
                    count.damaged += 1;
                    error::notify(format_args!("{name}: damaged {damage}; what is before is indexed"));
                }
                if written.is_ok() {
                    written = out.line(&line);
                }
            }
            IndexResult::Refused { why, .. } => {
                count.refused += 1;
                error::notify(why);
            }
            IndexResult::PassedOver { path, why } => {
                count.passed_over += 1;
                if count.passed_over <= SHOWN_MAX as u64 {
                    error::notify(format_args!("{}: not indexed: {why}", path.display()));
                }
            }
            _ => count.kept += 1,
        })
        .map_err(failed)?;
    written?;
    if let Some(more) = count.passed_over.checked_sub(SHOWN_MAX as u64).filter(|more| *more > 0) {
        error::notify(format_args!("and {more} more that are no captures"));
    }
    let (made, refused) = (
        counted(count.made, "index made", "indexes made"),
        counted(count.refused, "capture refused", "captures refused"),
    );
    let others = match count.passed_over {
        0 => String::new(),
        others => format!(", {} passed over", counted(others, "other file", "other files")),
    };
    out.line(&format!("{made}, {} there before, {refused}{others}", count.kept))?;
    out.flush()?;
    Ok(count)
}
