//! The project's own captures: what the command prints for each, line by line. These run without the large corpus.
//!
//! A case is a folder of `tests/corpus/` with a `capture.*`, a `README.md` and the expected lines of `streams.jsonl`,
//! `flows.jsonl` and `datagrams.jsonl`; where protocol fields matter, also of `transactions.jsonl`. `TIDEWIRE_BLESS=1`
//! rewrites the expectations: read the difference before it is committed.

use crate::corpus;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tidewire_testing::InTime as _;

/// The command of each case, and the file that has its output.
const RUNS: [(&str, &[&str]); 4] = [
    ("streams.jsonl", &["streams", "--json", "--digest", "sha256"]),
    ("flows.jsonl", &["flows", "--json"]),
    ("datagrams.jsonl", &["datagrams", "--json"]),
    (TRANSACTIONS, &["transactions", "--json"]),
];

/// Expected of the cases that have it.
const TRANSACTIONS: &str = "transactions.jsonl";

/// Fewer cases than this: some were lost.
const CASES_MIN: usize = 25;

/// The folders that have a capture and expectations of this kind.
fn cases() -> Vec<(PathBuf, PathBuf)> {
    let folders = fs::read_dir(corpus::root().join("tests/corpus")).expect("the project's own corpus");
    let mut cases = Vec::new();
    for folder in folders.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()) {
        let capture = ["capture.pcap", "capture.pcapng", "capture.pcap.gz"].map(|name| folder.join(name));
        // The folders of other tests have no expectations of this kind.
        let is_case = bless() && is_third_party(&folder) || folder.join("streams.jsonl").is_file();
        if let Some(capture) = capture.into_iter().find(|path| is_case && path.is_file()) {
            cases.push((folder, capture));
        }
    }
    cases.sort();
    cases
}

fn bless() -> bool {
    std::env::var_os("TIDEWIRE_BLESS").is_some()
}

/// Taken from another project: its README says from where.
fn is_third_party(folder: &Path) -> bool {
    fs::read_to_string(folder.join("README.md")).is_ok_and(|text| text.contains("- Licence: "))
}

fn output(capture: &Path, arguments: &[&str], workers: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    command.args(arguments).args(["-j", workers]).arg(capture);
    let output = command.run_in_time().expect("the command runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

#[test]
fn own_captures_come_out_as_expected() {
    let cases = cases();
    assert!(cases.len() >= CASES_MIN, "{} cases", cases.len());
    let differences = corpus::each(
        &cases,
        |(folder, _)| folder.to_str().unwrap_or_default(),
        |(folder, capture)| {
            let mut differences = Vec::new();
            let runs = RUNS.into_iter().filter(|(file, _)| *file != TRANSACTIONS || folder.join(file).is_file());
            for (file, arguments) in runs {
                let found = output(capture, arguments, "1");
                let path = folder.join(file);
                if bless() {
                    fs::write(&path, &found).expect("writable");
                }
                let expected = fs::read_to_string(&path).unwrap_or_default();
                let (found, expected) = (lines(&found), lines(&expected));
                if found.len() != expected.len() {
                    differences.push(format!("{file}: {} lines, expected {}", found.len(), expected.len()));
                }
                for (found, expected) in found.iter().zip(&expected).filter(|(found, expected)| found != expected) {
                    differences.push(format!("{file}: {found}\n  expected {expected}"));
                }
                if output(capture, arguments, "3") != output(capture, arguments, "1") {
                    differences.push(format!("{file}: other lines with three workers"));
                }
            }
            differences
        },
    );
    differences.conclude();
}
