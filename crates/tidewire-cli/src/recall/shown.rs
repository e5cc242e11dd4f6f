//! Found packets, shown as other commands show captures.

use std::path::PathBuf;

use clap::{Args, Parser};

use super::options::{Options, Output};
use crate::{archive::ArchiveOptions, error::CliError, extract, flows, follow, options::Common};

/// A subcommand's options alone.
#[derive(Parser)]
struct Alone<T: Args> {
    #[command(flatten)]
    options: T,
}

/// The options that these words are.
fn parsed<T: Args>(words: &[&str]) -> Result<T, CliError> {
    let words = std::iter::once("tidewire").chain(words.iter().copied());
    let alone = Alone::<T>::try_parse_from(words).map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(alone.options)
}

/// Runs the command that shows it.
pub fn show(
    output: &Output,
    options: &Options,
    directories: Vec<PathBuf>,
    expression: Option<String>,
    archive: ArchiveOptions,
) -> Result<u8, CliError> {
    let found = |common: &mut Common| {
        common.files = directories;
        common.filter = expression;
        common.archive = archive;
    };
    let json: &[&str] = if options.json { &["--json"] } else { &[] };
    match output {
        Output::Follow => {
            let form: &[&str] = if options.json { &["--as", "json"] } else { &[] };
            let mut follow: follow::Options = parsed(form)?;
            found(&mut follow.common);
            follow.stream = options.stream;
            follow.any = true;
            follow::run(&follow)
        }
        Output::Extract(path) => {
            let mut extract: extract::Options = parsed(json)?;
            found(&mut extract.common);
            extract.output = Some(path.clone());
            extract::run(&extract)
        }
        Output::Flows | Output::Overview | Output::Packets(_) => {
            let mut flows: flows::Options = parsed(json)?;
            found(&mut flows.common);
            flows::run(&flows)
        }
    }
}
