//! The library against the command: transactions are those that `tidewire transactions --json` prints, and serde writes streams and ledgers as
//! `tidewire streams --json --stats json` does.

use crate::corpus;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tidewire::{Capture, Mode, protocols::StreamTransaction};
use tidewire_testing::InTime as _;

/// One of so many captures of the large corpus is compared: each needs a process.
const EACH: usize = 5;
/// Captures of more bytes take longer than their content is worth here.
const BYTES_MAX: u64 = 2 << 20;

/// The project's own captures, and a part of the large corpus where it is there.
fn captures() -> Vec<PathBuf> {
    let folders = fs::read_dir(corpus::root().join("tests/corpus")).expect("the project's own corpus");
    let files = folders.flat_map(|folder| fs::read_dir(folder.expect("an entry").path()).into_iter().flatten());
    let files = files.map(|file| file.expect("an entry").path());
    let mut all: Vec<_> =
        files.filter(|path| path.file_stem().is_some_and(|stem| stem == "capture" || stem == "demo")).collect();
    assert!(all.len() > 60, "{} captures", all.len());
    all.sort();
    all.extend(corpus::entries().into_iter().flatten().step_by(EACH).map(|entry| entry.path));
    all.retain(|path| fs::metadata(path).is_ok_and(|file| file.len() <= BYTES_MAX));
    all
}

/// By time, then by stream; those of a stream with the same time stay in order. As the command orders them.
fn ordered(mut found: Vec<StreamTransaction>) -> Vec<Value> {
    found.sort_by_key(|one| (one.start().as_nanos(), one.stream()));
    found.iter().map(|one| serde_json::to_value(one).expect("JSON")).collect()
}

/// The lines that the command prints.
fn command(arguments: &[&str], capture: &Path) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    let output = command.args(arguments).arg(capture).run_in_time().expect("the command runs");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

fn transactions(capture: &Path) -> Vec<String> {
    let theirs = command(&["transactions", "--json"], capture);
    let found = match Capture::file(capture).transactions() {
        Ok(found) => ordered(found.collect()),
        Err(_) if theirs.is_empty() => return Vec::new(),
        Err(error) => return vec![format!("the library refuses what the command reads: {error}")],
    };
    let pairs = found.iter().zip(&theirs).filter(|(mine, theirs)| mine != theirs);
    let mut differences: Vec<_> = pairs.map(|(mine, theirs)| format!("library: {mine}\n  command: {theirs}")).collect();
    if found.len() != theirs.len() {
        differences.push(format!("library: {} transactions, command: {}", found.len(), theirs.len()));
    }
    differences
}

#[test]
fn transactions_of_the_library_are_those_of_the_command() {
    let captures = captures();
    corpus::each(&captures, |path| path.to_str().unwrap_or_default(), |path| transactions(path)).conclude();
}

/// Members that the command adds: of the command alone, or of both directions.
const OF_THE_COMMAND: [&str; 9] = [
    "client_known",
    "client_by",
    "community_id",
    "priority",
    "app",
    "mptcp",
    "time_back_ns",
    "time_outliers",
    "elapsed_ns",
];

/// Members that only the library has: those of `flows`.
const OF_THE_LIBRARY: [&str; 4] = ["bytes", "frames", "frame_bytes", "tcp_flags"];

fn streams(capture: &Path) -> Vec<String> {
    let arguments = ["streams", "--json", "--mode", "strict", "--cutoff", "1M", "--stats", "json"];
    let mut theirs = command(&arguments, capture);
    // The last line.
    let mut stated = theirs.pop_if(|line| line.get("detail").is_some()).unwrap_or_default();
    for stream in &mut theirs {
        let members = stream.as_object_mut().expect("an object");
        members.retain(|name, _| !OF_THE_COMMAND.contains(&name.as_str()));
    }
    let Ok(mut streams) = Capture::file(capture).mode(Mode::Strict).streams() else {
        return if theirs.is_empty() { Vec::new() } else { vec!["the library refuses what the command reads".into()] };
    };
    let mut found: Vec<_> = (&mut streams).map(|stream| (stream.start().as_nanos(), stream.id(), stream)).collect();
    found.sort_by_key(|(start_ns, id, _)| (*start_ns, *id));
    let mut found: Vec<_> = found.iter().map(|(_, _, one)| serde_json::to_value(one).expect("JSON")).collect();
    for stream in &mut found {
        for side in ["c2s", "s2c"] {
            let side = stream[side].as_object_mut().expect("an object");
            side.retain(|name, _| !OF_THE_LIBRARY.contains(&name.as_str()));
        }
    }
    let mut differences = Vec::new();
    theirs.sort_by_key(|stream| (stream["start_ns"].as_u64(), stream["id"].as_u64()));
    if found != theirs {
        let pair = found.iter().zip(&theirs).find(|(mine, theirs)| mine != theirs);
        let counts = (found.len(), theirs.len());
        differences.push(match pair {
            Some((mine, theirs)) => format!("library: {mine}\n  command: {theirs}"),
            None => format!("streams of the library and of the command: {counts:?}"),
        });
    }
    let outcome = serde_json::to_value(streams.finish()).expect("JSON");
    let mut ledger = outcome["ledger"].clone();
    for ledger in [&mut stated, &mut ledger] {
        if let Some(detail) = ledger.get_mut("detail").and_then(Value::as_object_mut) {
            detail.retain(|name, _| !["elapsed_ns", "capture_losses"].contains(&name.as_str()));
        }
    }
    if ledger != stated {
        differences.push(format!("library: {ledger}\n  command: {stated}"));
    }
    differences
}

/// Keys, statistics, gaps, anomalies and the ledger, as serde writes them.
#[test]
fn streams_and_ledgers_of_the_library_have_the_names_of_the_command() {
    let captures = captures();
    corpus::each(&captures, |path| path.to_str().unwrap_or_default(), |path| streams(path)).conclude();
}
