//! `--verify` and `--index-only`: archives that are there.

use std::path::Path;

use tidewire_archive::{Directory, Error, Identities, IndexResult, verify_with};

use super::{options::Options, settings, show::now_ns};
use crate::{
    error::{self, CliError},
    output::{Object, Out},
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

/// Findings that are printed for people.
const SHOWN_MAX: usize = 100;

/// Checks an archive.
pub fn check(folder: &Path, options: &Options) -> Result<u8, CliError> {
    if !folder.is_dir() {
        return Err(CliError::Input(format!("{}: no such directory", folder.display())));
    }
    let identities = Identities::from_files(&options.identity).map_err(failed)?;
    let found = verify_with(folder, &identities).map_err(failed)?;
    let mut out = Out::stdout();
    if options.json {
        let mut object = Object::open(out.buffer());
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
    } else {
        for finding in found.findings.iter().take(SHOWN_MAX) {
            out.line(&tidewire::legible::legible(&finding.to_string()))?;
        }
        if let Some(more) = found.findings.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
            out.line(&format!("and {more} more (--json has them)"))?;
        }
        let (segments, bytes) = (counted(found.intact, "segment intact", "segments intact"), Bytes(found.bytes));
        let end = match found.findings.len() as u64 {
            0 => "as they were written".to_owned(),
            count => counted(count, "finding", "findings"),
        };
        if found.sealed > 0 {
            let indexes = counted(found.sealed, "index is", "indexes are");
            out.line(&format!(
                "{indexes} encrypted: which segment was before was not compared (--identity FILE does)"
            ))?;
        }
        for path in found.open.iter().take(SHOWN_MAX) {
            let why = match found.is_recorded {
                true => "is being written",
                false => "was left by a recorder that did not end in order; the next one completes it",
            };
            let line = format!("{}: {why}, and was not compared", path.display());
            out.line(&tidewire::legible::legible(&line))?;
        }
        out.line(&format!("{segments}, {bytes}: {end}"))?;
    }
    out.flush()?;
    Ok(if found.findings.is_empty() { error::OK } else { error::INPUT })
}

/// Makes the indexes that are missing.
pub fn index(folder: &Path, options: &Options) -> Result<u8, CliError> {
    if !folder.is_dir() {
        return Err(CliError::Input(format!("{}: no such directory", folder.display())));
    }
    let identities = Identities::from_files(&options.identity).map_err(failed)?;
    let archive = settings::archive(options)?;
    let now = now_ns();
    let directory = Directory::open(folder, &archive, now).map_err(failed)?;
    directory.repair(&identities, now).map_err(failed)?.iter().for_each(error::notify);
    let (mut out, mut made, mut kept, mut refused) = (Out::stdout(), 0, 0, 0);
    let mut written = Ok(());
    directory
        .index_only(&identities, false, now, |result| match result {
            IndexResult::Made { path, packets, bytes, index_bytes, damage } => {
                made += 1;
                let (packets, bytes) = (counted(packets, "packet", "packets"), Bytes(bytes));
                let name = path.display().to_string();
                let line =
                    format!("{}: {packets}, {bytes}, index {}", tidewire::legible::legible(&name), Bytes(index_bytes));
                if let Some(damage) = damage {
                    error::notify(format_args!("{name}: damaged {damage}; what is before is indexed"));
                }
                if written.is_ok() {
                    written = out.line(&line);
                }
            }
            IndexResult::Refused { why, .. } => {
                refused += 1;
                error::notify(why);
            }
            _ => kept += 1,
        })
        .map_err(failed)?;
    written?;
    let made = counted(made, "index made", "indexes made");
    out.line(&format!("{made}, {kept} there before, {}", counted(refused, "capture refused", "captures refused")))?;
    out.flush()?;
    Ok(if refused == 0 { error::OK } else { error::INPUT })
}
