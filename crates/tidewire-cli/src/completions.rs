//! `tidewire completions`: completion scripts for shells, from the same definitions as `--help`.

use std::{fs, path::PathBuf};

use clap::{Args, Command};
use clap_complete::{Generator as _, Shell, generate};

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
        let mut script = Vec::new();
        generate(shell, &mut program, "tidewire", &mut script);
        let script = with_interfaces(shell, &String::from_utf8_lossy(&script));
        fs::write(options.directory.join(shell.file_name("tidewire")), script)
            .map_err(|error| CliError::Output(format!("cannot write to {name}: {error}")))?;
    }
    Ok(error::OK)
}

/// Names of the interfaces, in a shell.
const NAMES: &str = "command ls /sys/class/net 2>/dev/null";

/// Offers interfaces as values of `-i`: clap knows no such values, and its scripts offer files.
fn with_interfaces(shell: Shell, script: &str) -> String {
    let mut lines = script.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let mut is_interface = false;
    for line in &mut lines {
        match shell {
            Shell::Bash => {
                if is_interface {
                    *line = line.replace("compgen -f \"", &format!("compgen -W \"any $({NAMES})\" -- \""));
                }
                is_interface = matches!(line.trim(), "--interface)" | "-i)");
            }
            Shell::Fish if line.contains(" -l interface ") => {
                *line = line.replace("' -r\n", &format!("' -r -f -a \"(echo any; {NAMES})\"\n"));
            }
            Shell::Zsh if line.contains("-i+[") || line.contains("--interface=[") => {
                *line = line.replace("]:NAME:_default'", "]:NAME:{ compadd any; _net_interfaces }'");
            }
            _ => {}
        }
    }
    lines.concat()
}

/// The program without its hidden subcommands, which are not typed: clap cannot remove one.
fn without_hidden(program: &Command) -> Command {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("tidewire").version(env!("CARGO_PKG_VERSION")).subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_offered() {
        let program = Command::new("tidewire").subcommand(
            Command::new("flows")
                .arg(clap::Arg::new("interface").short('i').long("interface").value_name("NAME").help("Capture"))
                .arg(clap::Arg::new("write").short('w').value_name("FILE").help("Write")),
        );
        for (shell, offered) in [
            (Shell::Bash, "compgen -W \"any $(command ls /sys/class/net"),
            (Shell::Fish, "-l interface -d 'Capture' -r -f -a \"(echo any; command ls /sys/class/net"),
            (Shell::Zsh, "[Capture]:NAME:{ compadd any; _net_interfaces }'"),
        ] {
            let mut script = Vec::new();
            generate(shell, &mut program.clone(), "tidewire", &mut script);
            let script = with_interfaces(shell, &String::from_utf8(script).unwrap());
            assert!(script.contains(offered), "{script}");
            // The file's option is as it was.
            assert!(
                ["compgen -f", "'Write' -r\n", ":FILE:_default"].iter().any(|old| script.contains(old)),
                "{script}"
            );
        }
    }
}
