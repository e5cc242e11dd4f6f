//! Hints for options of other tools.

use clap::{
    Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Commands that read capture files.
const READERS: [&str; 6] = ["flows", "streams", "follow", "match", "extract", "datagrams"];

/// The option to use instead of one that an error names, if it is one of another tool. `words`: the command line.
pub fn hint(error: &Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = words.first()?;
    let reads = READERS.contains(&command.as_str());
    match (error.kind(), argument.as_str()) {
        (ErrorKind::UnknownArgument, "-r") if reads => {
            Some(format!("name the capture file without -r: tidewire {command} capture.pcap"))
        }
        (
            ErrorKind::UnknownArgument,
            "--wide" | "--columns" | "--csv" | "--where" | "--sort" | "--top" | "--to" | "--time",
        ) if command == "recall" => {
            let pipe = "tidewire recall DIR --from TIME | tidewire flows -";
            Some(format!(
                "list what is found by another command: {pipe} {argument} ... (or: tidewire flows DIR {argument} ...)"
            ))
        }
        (ErrorKind::UnknownArgument, "-n" | "-nn") => Some("omit it: addresses are never resolved to names".into()),
        _ => None,
    }
}
