//! `tidewire man`: the manual pages, from the same definitions as `--help`.

use std::{fs, path::PathBuf};

use clap::{Arg, Args, Command};

use crate::error::{self, CliError};

/// Write the manual pages (man(7)) to a directory that exists
#[derive(Args, Debug)]
pub struct Options {
    /// The directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the subcommand.
pub fn run(options: &Options, program: Command) -> Result<u8, CliError> {
    let name = options.directory.display();
    let cannot = |error| CliError::Output(format!("cannot write to {name}: {error}"));
    // The command `help` needs no page.
    let mut program = with_texts(program.disable_help_subcommand(true));
    program.build();
    pages(&program, "tidewire").into_iter().try_for_each(|(name, command)| {
        let mut page = Vec::new();
        // The version, not the date: pages must not differ between two runs.
        let source = format!("tidewire {}", env!("CARGO_PKG_VERSION"));
        let man = clap_mangen::Man::new(command).title(name.to_uppercase()).date("").source(source).manual("Tidewire");
        man.render(&mut page)
            .map(|()| page = with_examples(&page))
            .and_then(|()| fs::write(options.directory.join(format!("{name}.1")), page))
            .map_err(cannot)
    })?;
    Ok(error::OK)
}

/// Gives options that the short help omits their text as a long one: a page has no other of them.
fn with_texts(command: Command) -> Command {
    let texted = |arg: Arg| match (arg.get_long_help(), arg.get_help().cloned()) {
        (None, Some(help)) if arg.is_hide_short_help_set() => arg.long_help(help),
        _ => arg,
    };
    command.mut_args(texted).mut_subcommands(with_texts)
}

/// Names the section after the options as manual pages do.
fn with_examples(page: &[u8]) -> Vec<u8> {
    let page = String::from_utf8_lossy(page);
    let named = page.replacen(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n", 1);
    named.into_bytes()
}

/// A page for each command and nested command, with names as `tidewire-gen-udp`.
fn pages(command: &Command, name: &str) -> Vec<(String, Command)> {
    let mut all = vec![(name.to_owned(), command.clone().name(name.to_owned()).version(env!("CARGO_PKG_VERSION")))];
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        all.extend(pages(inner, &format!("{name}-{}", inner.get_name())));
    }
    all
}
