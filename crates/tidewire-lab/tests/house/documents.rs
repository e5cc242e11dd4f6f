//! Files that documents name are there: a rename that forgets ARCHITECTURE.md is an error of the tests.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use tidewire_testing::InTime as _;

use super::root;

/// Names of files that are meant as examples, or that users write themselves.
const EXAMPLES: [&str; 2] = ["foo/tests.rs", "crates/tidewire-cli/src/NAME.rs"];
/// Endings of files of this repository that documents name.
const ENDINGS: [&str; 5] = [".rs", ".sh", ".py", ".bpf.c", ".md"];

/// Every tracked file, or every file where there is no repository (a packaged copy).
fn files() -> Vec<String> {
    let output = Command::new("git").args(["ls-files"]).current_dir(root()).run_in_time();
    let listed = output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    String::from_utf8(listed).expect("names of files are UTF-8").lines().map(str::to_owned).collect()
}

/// Code spans of a text that look like a file's name: no spaces, and one of our endings.
fn named(text: &str) -> BTreeSet<&str> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_file = |span: &&str| {
        let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
        plain
            && !["/", ".", "target/"].iter().any(|start| span.starts_with(start))
            && ENDINGS.iter().any(|ending| span.len() > ending.len() && span.ends_with(ending))
    };
    spans.filter(is_file).collect()
}

/// Documents give the end of a path: what is missing at its beginning is the crate or folder that the section is about.
fn is_end_of_one(name: &str, files: &[String]) -> bool {
    files.iter().any(|file| Path::new(file).ends_with(name))
}

#[test]
fn files_that_documents_name_exist() {
    let files = files();
    if files.is_empty() {
        eprintln!("skipped: no list of files (git ls-files)");
        return;
    }
    let mut missing = Vec::new();
    let mut found = 0;
    for document in files.iter().filter(|file| file.ends_with(".md") && !file.ends_with("CHANGELOG.md")) {
        let text = fs::read_to_string(root().join(document)).expect("a document");
        for name in named(&text) {
            found += 1;
            if !is_end_of_one(name, &files) && !EXAMPLES.contains(&name) {
                missing.push(format!("{document}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "documents name files that are not there:\n{}", missing.join("\n"));
    assert!(found > 60, "only {found} names of files found");
}

#[test]
fn names_of_files_are_told_from_other_code() {
    let text = "`tcp/queue.rs` and `Engine`, `a b.rs`, `/etc/x.md`, `cargo run --x.rs`, `.rs`; `scripts/lint.sh`";
    assert_eq!(named(text).into_iter().collect::<Vec<_>>(), ["scripts/lint.sh", "tcp/queue.rs"]);
    let files = ["crates/a/src/tcp/queue.rs".to_owned()];
    assert!(is_end_of_one("tcp/queue.rs", &files) && !is_end_of_one("ueue.rs", &files));
}
