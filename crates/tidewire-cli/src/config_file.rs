//! Reads options from a TOML file: each key becomes the command line option of the same name, with the same meaning.

use std::{ffi::OsString, path::Path};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::Resettable, parser::ValueSource};
use tidewire_config::{Document, Key, Value, nearest, quoted};
use toml::de::{DeTable, DeValue};

use crate::{
    error::{CliError, notify},
    text_file,
};

/// A configuration file that is converted to options of one subcommand.
struct File<'a> {
    document: Document<'a>,
    program: &'a Command,
    command: &'a Command,
    given: &'a ArgMatches,
    /// The words of its options.
    arguments: Vec<OsString>,
}

/// The arguments that a configuration file adds for `command` of `program`. Options in `given`, the command line, override
/// them.
///
/// # Errors
/// The last mistake of the file; those before it are printed.
pub fn arguments(
    path: &Path,
    program: &Command,
    command: &Command,
    given: &ArgMatches,
) -> Result<Vec<OsString>, CliError> {
    let name = path.display().to_string();
    let text = text_file::read_text(path, text_file::CONFIG_BYTES_MAX)?;
    let mut file = File { document: Document::new(&text, &name), program, command, given, arguments: Vec::new() };
    let table = file.document.parse();
    for (key, value) in table.get_ref() {
        let of_command = program.find_subcommand(key.get_ref().as_ref());
        match (value.get_ref(), of_command) {
            (DeValue::Table(table), Some(owner)) => file.table(owner, table),
            _ => file.top(key, value),
        }
    }
    let mut mistakes = file.document.finish().mistakes;
    match mistakes.pop() {
        None => Ok(file.arguments),
        Some(last) => {
            mistakes.iter().for_each(notify);
            Err(CliError::Usage(last.to_string()))
        }
    }
}

impl File<'_> {
    /// Converts the keys of a subcommand's table.
    fn table(&mut self, owner: &Command, table: &DeTable<'_>) {
        for (key, value) in table {
            let Some(argument) = find(owner, key.get_ref()) else {
                let message = format!("'{}' has no option '{}'", owner.get_name(), quoted(key.get_ref()));
                self.document.wrong(&key.span(), message, meant(owner, key.get_ref()));
                continue;
            };
            if let Some(words) = self.words(argument, key, value)
                && owner.get_name() == self.command.get_name()
            {
                self.add(argument, words);
            }
        }
    }

    /// Converts a key outside of tables, which applies to every subcommand with that option.
    fn top(&mut self, key: &Key<'_>, value: &Value<'_>) {
        let ours = find(self.command, key.get_ref());
        let known = ours.or_else(|| self.program.get_subcommands().find_map(|other| find(other, key.get_ref())));
        let Some(argument) = known else {
            let message = format!("unknown option '{}'", quoted(key.get_ref()));
            // A table has the name of a subcommand.
            let subcommand = match value.get_ref() {
                DeValue::Table(_) => nearest(key.get_ref(), self.program.get_subcommands().map(Command::get_name)),
                _ => None,
            };
            let instead = match subcommand {
                Some(subcommand) => format!("did you mean [{subcommand}]?"),
                None => meant(self.command, key.get_ref()),
            };
            return self.document.wrong(&key.span(), message, instead);
        };
        if let (Some(words), Some(argument)) = (self.words(argument, key, value), ours) {
            self.add(argument, words);
        }
    }

    /// Adds the words of a key unless the command line has the option, or the one that undoes it.
    fn add(&mut self, argument: &Arg, words: Vec<OsString>) {
        let given = |id: &str| {
            let known = self.command.get_arguments().any(|argument| argument.get_id() == id);
            known && self.given.value_source(id) == Some(ValueSource::CommandLine)
        };
        let id = argument.get_id().as_str();
        // A filter expression alone names no captures, and `follow` takes a stream id after them: one word is that id.
        let captures =
            if id == "files" { crate::capture_args::captures(self.given.get_raw(id).into_iter().flatten()) } else { 0 };
        let names_none = id == "files" && (captures == 0 || captures == 1 && self.command.get_name() == "follow");
        // An option of the command line overrides those that it excludes, too: --csv overrides `json = true`.
        let excludes = |a: &Arg, b: &Arg| {
            self.command.get_arg_conflicts_with(a).iter().any(|excluded| excluded.get_id() == b.get_id())
        };
        let is_excluded = self
            .command
            .get_arguments()
            .any(|other| given(other.get_id().as_str()) && (excludes(argument, other) || excludes(other, argument)));
        if names_none || (!given(id) && !given(&undo(id)) && !is_excluded) {
            self.arguments.extend(words);
        }
    }

    /// Converts a key and its value to words of a command line, and parses them, so that a mistake has the position of the
    /// value. `None`: it is noted.
    fn words(&mut self, argument: &Arg, key: &Key<'_>, value: &Value<'_>) -> Option<Vec<OsString>> {
        let many = matches!(argument.get_action(), ArgAction::Append) || argument.is_positional();
        match value.get_ref() {
            DeValue::Array(items) if values_of(argument) > 1 => self.several(argument, key, value, items),
            _ if values_of(argument) > 1 => {
                let message = format!("'{}' wants an array of {} values", key.get_ref(), values_of(argument));
                self.wrong(value, message)
            }
            DeValue::Array(items) if many => {
                // Each, so that all mistakes are noted.
                let words: Vec<_> = items.iter().map(|item| self.word(argument, key, item)).collect();
                words.into_iter().collect::<Option<Vec<_>>>().map(|words| words.into_iter().flatten().collect())
            }
            _ => self.word(argument, key, value).map(|word| word.into_iter().collect()),
        }
    }

    /// Converts an option with several values: each is a separate word.
    fn several(
        &mut self,
        argument: &Arg,
        key: &Key<'_>,
        value: &Value<'_>,
        items: &[Value<'_>],
    ) -> Option<Vec<OsString>> {
        let wanted = values_of(argument);
        if items.len() != wanted {
            let message = format!("'{}' wants {wanted} values, not {}", key.get_ref(), items.len());
            return self.wrong(value, message);
        }
        let mut words = vec![format!("--{}", key.get_ref()).into()];
        for item in items {
            words.push(match item.get_ref() {
                DeValue::String(text) => text.to_string().into(),
                DeValue::Integer(number) => number.to_string().into(),
                _ => return self.wrong(item, format!("'{}' wants texts and numbers", key.get_ref())),
            });
        }
        Some(words)
    }

    /// Converts one value. A switch that is off has no word.
    fn word(&mut self, argument: &Arg, key: &Key<'_>, value: &Value<'_>) -> Option<Option<OsString>> {
        let name = key.get_ref();
        let is_switch = matches!(argument.get_action(), ArgAction::SetTrue);
        let text = match value.get_ref() {
            DeValue::Boolean(on) if is_switch => return Some(on.then(|| format!("--{name}").into())),
            _ if is_switch => return self.wrong(value, format!("'{name}' is true or false")),
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(_) => return self.wrong(value, format!("'{name}' wants a value")),
            _ => return self.wrong(value, format!("'{name}' wants one value")),
        };
        let word = if argument.is_positional() { text } else { format!("--{name}={text}") };
        // Parses a command with this option only: any error is about this value.
        let free = argument.clone().conflicts_with(Resettable::Reset).overrides_with(Resettable::Reset);
        let free = free.requires(Resettable::Reset);
        let alone = Command::new("tidewire").no_binary_name(true).arg(free);
        if let Err(error) = alone.try_get_matches_from([&word]) {
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default();
            return self.wrong(value, message.strip_prefix("error: ").unwrap_or(message));
        }
        Some(Some(word.into()))
    }

    /// Notes a mistake in a value.
    fn wrong<T>(&mut self, value: &Value<'_>, message: impl Into<String>) -> Option<T> {
        self.document.wrong(&value.span(), message, "");
        None
    }
}

/// Finds an option by its long name; `files` are the captures. Options that make no sense in a file are excluded.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let fits = |argument: &&Arg| match argument.get_long() {
        Some(long) => long == name && !argument.is_hide_set(),
        None => name == "files" && argument.get_id() == "files",
    };
    command.get_arguments().find(fits).filter(|_| !matches!(name, "config" | "help" | "version"))
}

/// Number of values of an option.
fn values_of(argument: &Arg) -> usize {
    argument.get_num_args().map_or(1, |range| range.min_values()).max(1)
}

/// A suggestion for an unknown name.
fn meant(command: &Command, name: &str) -> String {
    let long = command.get_arguments().filter_map(Arg::get_long);
    match nearest(name, long.chain(["files"]).filter(|long| find(command, long).is_some())) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!("see tidewire {} --help", command.get_name()),
    }
}

/// The id of the option that undoes a switch.
fn undo(id: &str) -> String {
    format!("no-{id}")
}

/// The name of that option: `--no-json` for `--json`, and `--pin` for `--no-pin`.
fn undoing(long: &str) -> String {
    long.strip_prefix("no-").map_or_else(|| format!("no-{long}"), str::to_owned)
}

/// Adds a hidden `--no-NAME` to every subcommand for each switch, so that the command line can turn off what a file turned on.
/// Also accepts `-1` as the value of an option, so that the error is about the value.
pub fn with_undo(program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let valued = |arg: Arg| match arg.get_action() {
        ArgAction::Set | ArgAction::Append if !arg.is_positional() => arg.allow_negative_numbers(true),
        _ => arg,
    };
    let completed = |command: Command| undo_switches(command.mut_args(valued));
    names.into_iter().fold(program, |program, name| program.mut_subcommand(name, completed))
}

fn undo_switches(command: Command) -> Command {
    let switch = |argument: &&Arg| matches!(argument.get_action(), ArgAction::SetTrue) && argument.get_long().is_some();
    let switches: Vec<(String, String)> = command
        .get_arguments()
        .filter(switch)
        .map(|argument| (argument.get_id().to_string(), argument.get_long().unwrap_or_default().to_owned()))
        .collect();
    switches.into_iter().fold(command, |command, (id, long)| {
        let undo = Arg::new(undo(&id)).long(undoing(&long)).action(ArgAction::SetTrue).hide(true);
        command.arg(undo.overrides_with(id))
    })
}
