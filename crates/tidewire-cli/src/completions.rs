//! `tidewire completions`: completion scripts for shells, from the same definitions as `--help`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate_to};

use crate::error::{self, CliError};

/// Shells that have a script.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

/// Write completion scripts for bash, fish and zsh to a directory that exists
#[derive(Args, Debug)]
pub struct Options {
    /// The directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the subcommand.
pub fn run(options: &Options, program: &Command) -> Result<u8, CliError> {
    let name = options.directory.display();
    let mut program = without_hidden(program);
    for shell in SHELLS {
        generate_to(shell, &mut program, "tidewire", &options.directory)
            .map_err(|error| CliError::Output(format!("cannot write to {name}: {error}")))?;
    }
    Ok(error::OK)
}

/// The program without its hidden subcommands, which nobody types: clap cannot remove one.
fn without_hidden(program: &Command) -> Command {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("tidewire").version(env!("CARGO_PKG_VERSION")).subcommands(shown)
}
