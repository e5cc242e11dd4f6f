//! The `tidewire` command: flows and streams from capture files and interfaces.
//!
//! | file | what |
//! |---|---|
//! | `main.rs`, `help.rs` | the subcommands, one file or folder each, and how help groups them |
//! | `options.rs`, `config_file.rs` | options that all subcommands share, turned into `Config`; a TOML file becomes the same options |
//! | `capture_args.rs` | separates captures from a filter expression behind them |
//! | `session.rs`, `progress.rs`, `interrupt.rs` | run a subcommand's `Handler`: progress bar, exit status, Ctrl-C |
//! | `record.rs`, `row.rs` | what is kept of a stream; a record that can be printed |
//! | `selection.rs` | keeps only the records that `--limit`, `--sort` and `--top` can still print |
//! | `print_rows.rs`, `shared_output.rs` | print records in the end, or as streams end: JSON, CSV or a `table.rs` with the columns of `layout.rs` |
//! | `clock.rs` | times in a time zone, which is read before privileges are given up |
//! | `manual.rs`, `completions.rs` | write manual pages and completion scripts from the definitions of the help |
//! | `live/`, `metrics/`, `top/` | captures from interfaces: their options and report, OpenMetrics, the screen |
//! | `run/` | starts instances of other programs over the drop-in libpcap |
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "live"), allow(dead_code, reason = "captures from interfaces use more of each part"))]

#[cfg(feature = "live")]
mod advice;
mod app;
mod app_cells;
#[cfg(feature = "live")]
mod archive;
mod arg_types;
#[cfg(feature = "live")]
mod attach;
mod capture_args;
mod capture_losses;
#[cfg(feature = "live")]
mod check_steering;
mod clock;
#[cfg(feature = "live")]
mod collect;
mod completions;
mod config_file;
#[cfg(feature = "live")]
mod count;
mod cut_off;
mod cut_off_records;
mod datagrams;
mod error;
#[cfg(feature = "live")]
mod events;
mod export;
mod extract;
mod file_limit;
#[cfg(not(feature = "live"))]
mod files_only;
mod flows;
mod follow;
mod follow_by_id;
#[cfg(feature = "live")]
mod generate;
mod help;
mod interrupt;
#[cfg(feature = "live")]
mod keys;
#[cfg(feature = "live")]
mod lab;
mod layout;
mod ledger;
#[cfg(feature = "live")]
mod live;
#[cfg(feature = "live")]
mod live_report;
mod manual;
mod matching;
#[cfg(feature = "live")]
mod metrics;
mod option_hints;
mod options;
mod output;
mod outputs;
mod own_input;
mod packet_file;
mod packets_outside;
mod print_rows;
mod progress;
#[cfg(feature = "live")]
mod recall;
mod record;
#[cfg(feature = "live")]
mod recording;
mod row;
#[cfg(feature = "live")]
mod run;
mod selection;
#[cfg(feature = "live")]
mod sensor;
mod session;
mod shared_output;
mod sorted;
#[cfg(feature = "live")]
mod split;
mod status_line;
mod stream_columns;
mod streams;
mod table;
mod terminal;
mod text_file;
mod times;
#[cfg(feature = "live")]
mod top;
mod transactions;
mod where_option;
mod write;

use std::{ffi::OsString, io::Write as _, path::PathBuf, process::ExitCode};

use clap::{
    ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

use error::CliError;
#[cfg(not(feature = "live"))]
use files_only as archive;
#[cfg(not(feature = "live"))]
use files_only as live;
use tidewire::legible::legible;
use tidewire_outputs::place;
use tidewire_types as units;

/// Flows and reassembled streams from capture files and interfaces
#[derive(Parser, Debug)]
#[command(name = "tidewire", version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Flows(flows::Options),
    Streams(streams::Options),
    Extract(extract::Options),
    Follow(follow::Options),
    Match(matching::Options),
    Datagrams(datagrams::Options),
    Transactions(transactions::Options),
    #[cfg(feature = "live")]
    Recall(recall::Options),
    #[cfg(feature = "live")]
    Record(Box<recording::Options>),
    #[cfg(feature = "live")]
    Count(count::Options),
    #[cfg(feature = "live")]
    Top(top::Options),
    #[cfg(feature = "live")]
    CheckSteering(check_steering::Options),
    #[cfg(feature = "live")]
    Gen(generate::Options),
    #[cfg(feature = "live")]
    Lab(lab::Options),
    #[cfg(feature = "live")]
    Attach(attach::Options),
    #[cfg(feature = "live")]
    Events(events::Options),
    #[cfg(feature = "live")]
    Event(events::emit::EventOptions),
    #[cfg(feature = "live")]
    Split(split::Options),
    #[cfg(feature = "live")]
    Run(run::Options),
    #[cfg(feature = "live")]
    #[command(hide = true)]
    RunWatchdog(run::watchdog::Options),
    #[cfg(feature = "live")]
    Sensor(sensor::Options),
    #[cfg(feature = "live")]
    Collect(collect::Options),
    #[cfg(feature = "live")]
    Keys(keys::Options),
    #[cfg(feature = "live")]
    #[command(hide = true)]
    SensorCapture(sensor::parts::CaptureOptions),
    #[cfg(feature = "live")]
    #[command(hide = true)]
    SensorEvents(sensor::parts::EventsOptions),
    #[cfg(feature = "live")]
    #[command(hide = true)]
    SensorSpool(sensor::parts::SpoolOptions),
    #[command(hide = true)]
    Man(manual::Options),
    #[command(hide = true)]
    Completions(completions::Options),
}

fn main() -> ExitCode {
    file_limit::fail_beyond();
    let words = join_stats(std::env::args_os().collect());
    let program = match parse(words) {
        Ok(program) => program,
        Err(StartError::Clap(error, words)) => return ExitCode::from(explain(error, words)),
        Err(StartError::CliError(failure)) => return ExitCode::from(failure.report()),
    };
    let result = match &program.command {
        Command::Flows(options) => flows::run(options),
        Command::Streams(options) => streams::run(options),
        Command::Match(options) => matching::run(options),
        Command::Extract(options) => extract::run(options),
        Command::Follow(options) => follow::run(options),
        Command::Datagrams(options) => datagrams::run(options),
        Command::Transactions(options) => transactions::run(options),
        #[cfg(feature = "live")]
        Command::Recall(options) => recall::run(options),
        #[cfg(feature = "live")]
        Command::Record(options) => recording::run(options),
        #[cfg(feature = "live")]
        Command::Count(options) => count::run(options),
        #[cfg(feature = "live")]
        Command::Top(options) => top::run(options),
        #[cfg(feature = "live")]
        Command::CheckSteering(options) => check_steering::run(options),
        #[cfg(feature = "live")]
        Command::Gen(options) => generate::run(options),
        #[cfg(feature = "live")]
        Command::Lab(options) => lab::run(options),
        #[cfg(feature = "live")]
        Command::Attach(options) => attach::run(options),
        #[cfg(feature = "live")]
        Command::Events(options) => events::run(options),
        #[cfg(feature = "live")]
        Command::Event(options) => events::emit::run(options),
        #[cfg(feature = "live")]
        Command::Split(options) => split::run(options),
        #[cfg(feature = "live")]
        // Most of what it does is starting others.
        Command::Run(options) => file_limit::without(|| run::run(options)),
        #[cfg(feature = "live")]
        Command::RunWatchdog(options) => file_limit::without(|| run::watchdog::run(options)),
        #[cfg(feature = "live")]
        Command::Sensor(options) => sensor::run(options),
        #[cfg(feature = "live")]
        Command::Collect(options) => collect::run(options),
        #[cfg(feature = "live")]
        Command::Keys(options) => keys::run(options),
        #[cfg(feature = "live")]
        Command::SensorCapture(options) => sensor::parts::capture(options),
        #[cfg(feature = "live")]
        Command::SensorEvents(options) => sensor::parts::events(options),
        #[cfg(feature = "live")]
        Command::SensorSpool(options) => sensor::parts::spool(options),
        Command::Man(options) => manual::run(options, help::with_fields(help::completed(Program::command()))),
        Command::Completions(options) => completions::run(options, &help::completed(Program::command())),
    };
    ExitCode::from(result.unwrap_or_else(|failure| failure.report()))
}

/// Why no subcommand runs: help was requested, or the arguments are invalid.
enum StartError {
    /// With the arguments that were parsed.
    Clap(clap::Error, Vec<OsString>),
    CliError(CliError),
}

/// Prints the help or the error, and returns the exit code.
fn explain(error: clap::Error, words: Vec<OsString>) -> u8 {
    let mut error = without_commands(error, words);
    if error.kind() == ErrorKind::UnknownArgument {
        // clap suggests to put the argument after `--`, which here begins a filter expression.
        error.remove(ContextKind::Suggested);
    }
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| legible(&word.to_string_lossy()).into_owned()).collect();
    #[cfg(not(feature = "live"))]
    if let (ErrorKind::InvalidSubcommand, Some(name)) = (error.kind(), words.first())
        && help::is_command(name)
    {
        return files_only::without(&format!("the command {name}")).report();
    }
    if let Some(ContextValue::Strings(mut names)) = error.remove(ContextKind::SuggestedSubcommand) {
        let program = Program::command();
        names.retain(|name| program.find_subcommand(name).is_some_and(|command| !command.is_hide_set()));
        if !names.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
        }
    }
    if let Some(hint) = option_hints::hint(&error, &words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    let code = if error.use_stderr() { error::USAGE } else { error::OK };
    let there = if error.use_stderr() { Ok(()) } else { output::Stdout::check() };
    match there.and_then(|()| error.print()).and_then(|()| std::io::stdout().flush()) {
        Ok(()) => code,
        Err(_) if code == error::USAGE => code,
        Err(error) => CliError::from_output(error).report(),
    }
}

/// Makes the arguments that an error quotes [`legible`]: they may be file names that another user chose.
fn without_commands(error: clap::Error, words: Vec<OsString>) -> clap::Error {
    let shown: Vec<OsString> = words.iter().map(|word| legible(&word.to_string_lossy()).into_owned().into()).collect();
    if shown == words || !error.use_stderr() {
        return error;
    }
    match definition(&shown).try_get_matches_from(&shown).and_then(|matches| Program::from_arg_matches(&matches)) {
        Err(same) if same.kind() == error.kind() => same,
        _ if error.kind() == ErrorKind::InvalidUtf8 => definition(&shown)
            .error(error.kind(), "an argument is not valid UTF-8; only file names may be in another encoding"),
        _ => definition(&shown).error(error.kind(), "an argument that contains control characters is invalid"),
    }
}

/// The definition that parses these words. Hiding the rarely used options costs more than all the rest, so that it is done only where
/// `-h` or `help` may ask for the short help.
fn definition(words: &[OsString]) -> clap::Command {
    let is_short_help = |word: &OsString| {
        let bytes = word.as_encoded_bytes();
        bytes == b"help" || bytes.starts_with(b"-") && !bytes.starts_with(b"--") && bytes.contains(&b'h')
    };
    let complete = help::completed(Program::command());
    let is_long_help = |word: &OsString| word == "--help" || word == "help";
    let complete = if words.iter().any(is_long_help) { help::with_fields(complete) } else { complete };
    let command = if words.iter().any(is_short_help) { help::shortened(complete) } else { complete };
    config_file::with_undo(command)
}

/// Parses the command line together with the options of a configuration file.
fn parse(words: Vec<OsString>) -> Result<Program, StartError> {
    let matches = match definition(&words).try_get_matches_from(&words) {
        Ok(matches) => matches,
        Err(error) => return Err(StartError::Clap(error, words)),
    };
    let (matches, words) = match configured(&matches, &words).map_err(StartError::CliError)? {
        Some(words) => match definition(&words).try_get_matches_from(&words) {
            Ok(matches) => (matches, words),
            Err(error) => return Err(StartError::Clap(error, words)),
        },
        None => (matches, words),
    };
    Program::from_arg_matches(&matches).map_err(|error| StartError::Clap(error, words))
}

/// The command line with the options of `--config` inserted; `None` without that option.
fn configured(matches: &ArgMatches, words: &[OsString]) -> Result<Option<Vec<OsString>>, CliError> {
    let Some((name, given)) = matches.subcommand() else { return Ok(None) };
    let Some(path) = given.try_get_one::<PathBuf>("config").ok().flatten() else { return Ok(None) };
    let program = definition(words);
    let Some(command) = program.find_subcommand(name) else { return Ok(None) };
    let added = config_file::arguments(path, &program, command, given)?;
    // The subcommand is the first word that is its name: the program itself has no options with values.
    let at = words.iter().position(|word| word == name).map_or(words.len(), |at| at + 1);
    let (head, tail) = words.split_at(at);
    Ok(Some(head.iter().cloned().chain(added).chain(tail.iter().cloned()).collect()))
}

/// Makes `--stats json` one word, so that `--stats` alone can stand before a file's name.
fn join_stats(words: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            joined.push(word);
            joined.extend(words);
            break;
        }
        let format = words.next_if(|next| word == "--stats" && (next == "json" || next == "text"));
        joined.push(match format {
            Some(format) => format!("--stats={}", format.to_string_lossy()).into(),
            None => word,
        });
    }
    joined
}
