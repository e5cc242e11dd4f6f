//! `tidewire man`: the manual's pages, from the same definitions as `--help`.

use std::{fs, path::PathBuf};

use clap::{Args, Command};

use crate::error::{self, CliError};

/// Write the manual's pages (man(7)) to a directory that exists
#[derive(Args, Debug)]
pub struct Options {
    /// Where to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the subcommand.
pub fn run(options: &Options, program: Command) -> Result<u8, CliError> {
    let name = options.directory.display();
    let cannot = |error| CliError::Output(format!("{name}: cannot be written: {error}"));
    // That every command has --help, and that there is a command `help`, needs no page of its own.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    pages(&program, "tidewire").into_iter().try_for_each(|(name, command)| {
        let mut page = Vec::new();
        // The version of the program, not the day on which the page was made: that would never be the same twice.
        let source = format!("tidewire {}", env!("CARGO_PKG_VERSION"));
        let man = clap_mangen::Man::new(command).title(name.to_uppercase()).date("").source(source).manual("Tidewire");
        man.render(&mut page)
            .map(|()| page = with_examples(&page))
            .and_then(|()| fs::write(options.directory.join(format!("{name}.1")), page))
            .map_err(cannot)
    })?;
    Ok(error::OK)
}

/// A page in which the section behind the options has the name that manuals give it.
fn with_examples(page: &[u8]) -> Vec<u8> {
    let page = String::from_utf8_lossy(page);
    let named = page.replacen(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n", 1);
    named.into_bytes()
}

/// A page for each command, those within commands included, under names as `tidewire-gen-udp`.
fn pages(command: &Command, name: &str) -> Vec<(String, Command)> {
    let mut all = vec![(name.to_owned(), command.clone().name(name.to_owned()).version(env!("CARGO_PKG_VERSION")))];
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        all.extend(pages(inner, &format!("{name}-{}", inner.get_name())));
    }
    all
}
