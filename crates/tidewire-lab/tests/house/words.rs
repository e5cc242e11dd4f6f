//! Words of a private language are in no document and in no source of a crate that is clean of them.
//!
//! A reader knows TCP and Rust, and has never seen this tree: comments and messages have the terms of the field. The list holds
//! words whose legitimate uses are rare; [`ALLOWED`] has the phrases that are such.

use std::{fs, path::Path};

use super::{root, sources};

/// Words and phrases with the terms to use instead.
const WORDS: &[(&str, &str)] = &[
    ("told", "reported, notified, distinguished"),
    ("tell", "report, notify, distinguish"),
    ("tells", "reports, notifies, distinguishes"),
    ("asked", "requested, required, configured"),
    ("nobody", "no reader, no client, no process"),
    ("somebody", "another process, any client"),
    ("whoever", "any client, the caller"),
    ("is none", "is invalid, is absent, is not one"),
    ("are none", "are invalid, are absent, are not any"),
    ("anew", "again, reopened, rebuilt"),
    ("odd", "anomaly, unusual"),
];

/// Phrases that hold one of the words and mean what everybody means by it.
const ALLOWED: &[&str] = &[
    "there is none",
    "There is none",
    "There are none",
    "is None", // Python
    "there are none",
    "is_none(",
    "is_none_or(",
    "Option::is_none",
    r#"\"nobody\""#,     // the user of Unix
    "user = \"nobody\"", // the same
    "an odd",            // parity
    "odd number",
    "odd offsets",
    "odd factor",
    "is_odd",
    "version: odd while",
    "is_asked", // a field of DNS records, and its names in JSON
    "dns.asked",
    "llmnr.asked",
    "mdns.asked",
    "`asked`",
    "\"asked\"",
];

/// Crates whose sources hold none of the words, and no comment that opens with "What". The list grows until it is all of them.
const CLEAN: &[&str] = &[
    "tidewire",
    "tidewire-analyzers",
    "tidewire-archive",
    "tidewire-bench",
    "tidewire-cli",
    "tidewire-config",
    "tidewire-core",
    "tidewire-delivery",
    "tidewire-ebpf",
    "tidewire-event-socket",
    "tidewire-event-store",
    "tidewire-events",
    "tidewire-exports",
    "tidewire-files",
    "tidewire-filter",
    "tidewire-gen",
    "tidewire-lab",
    "tidewire-live",
    "tidewire-locality",
    "tidewire-outputs",
    "tidewire-patterns",
    "tidewire-pcap",
    "tidewire-pcap-config",
    "tidewire-protocols",
    "tidewire-queue",
    "tidewire-queue-c",
    "tidewire-recorder",
    "tidewire-sealing",
    "tidewire-sensor",
    "tidewire-steer",
    "tidewire-testing",
    "tidewire-types",
    "tidewire-wire",
];

/// Crates whose tests hold such words yet.
const TESTS_LEFT: &[&str] = &["tidewire-core"];

/// The text in words, divided by single spaces.
fn plain(text: &str) -> String {
    let mut plain = String::from(" ");
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        plain.extend(word.chars().flat_map(char::to_lowercase));
        plain.push(' ');
    }
    plain
}

/// The word of the list that a line holds, with what to write instead.
fn private(line: &str) -> Option<(&'static str, &'static str)> {
    let mut line = line.to_owned();
    for allowed in ALLOWED {
        line = line.replace(allowed, "-");
    }
    let plain = plain(&line);
    WORDS.iter().find(|(word, _)| plain.contains(&format!(" {word} "))).copied()
}

/// Whether a line is a comment that opens with "What", which names no thing.
fn opens_with_what(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!']).trim_start());
    comment.is_some_and(|text| text.starts_with("What ") && !text.ends_with('?'))
}

/// A document's line without code: names of tests and fields are not its words.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

fn found(file: &Path, number: usize, line: &str, word: &str, instead: &str) -> String {
    let file = file.strip_prefix(root()).unwrap_or(file);
    format!("{}:{}: \"{word}\" (rather: {instead}): {}", file.display(), number + 1, line.trim())
}

#[test]
fn documents_have_the_words_of_the_field() {
    let folders = [root(), root().join("docs")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder").flatten());
    let is_document = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("CHANGELOG.md")
    };
    let documents: Vec<_> = entries.map(|entry| entry.path()).filter(is_document).collect();
    assert!(documents.len() > 20, "only {} documents found", documents.len());
    let mut private_words = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(document).expect("a document");
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            in_code ^= line.starts_with("```");
            if let Some((word, instead)) = private(&without_code(line)).filter(|_| !in_code) {
                private_words.push(found(document, number, line, word, instead));
            }
        }
    }
    assert!(private_words.is_empty(), "{} lines:\n{}", private_words.len(), private_words.join("\n"));
}

/// The private words in the sources of a folder.
fn private_words(folder: &Path, found_words: &mut Vec<String>) -> usize {
    let mut files = Vec::new();
    sources(folder, &mut files);
    for file in &files {
        let text = fs::read_to_string(file).expect("a source is UTF-8");
        let above = std::iter::once("").chain(text.lines());
        for (number, (above, line)) in above.zip(text.lines()).enumerate() {
            if let Some((word, instead)) = private(line) {
                found_words.push(found(file, number, line, word, instead));
            }
            if opens_with_what(line) && !above.trim_start().starts_with("//") {
                found_words.push(found(file, number, line, "What", "the noun that it is"));
            }
        }
    }
    files.len()
}

#[test]
fn clean_crates_have_the_words_of_the_field() {
    let mut found_words = Vec::new();
    for name in CLEAN {
        let files = private_words(&root().join("crates").join(name).join("src"), &mut found_words);
        assert!(files > 0, "{name} has no sources");
    }
    assert!(found_words.is_empty(), "{} lines:\n{}", found_words.len(), found_words.join("\n"));
}

#[test]
fn tests_have_the_words_of_the_field() {
    let (mut found_words, mut files) = (Vec::new(), 0);
    for name in CLEAN.iter().filter(|name| !TESTS_LEFT.contains(name)) {
        let folder = root().join("crates").join(name).join("tests");
        files += if folder.is_dir() { private_words(&folder, &mut found_words) } else { 0 };
    }
    // This file holds the list.
    found_words.retain(|line| !line.starts_with("crates/tidewire-lab/tests/house/words.rs:"));
    assert!(files > 200, "only {files} files of tests found");
    assert!(found_words.is_empty(), "{} lines:\n{}", found_words.len(), found_words.join("\n"));
}

#[test]
fn words_are_found_where_they_are_private() {
    let word = |line: &str| private(line).map(|(word, _)| word);
    assert_eq!(word("/// Nobody listens."), Some("nobody"));
    assert_eq!(word("    told_bytes: u64,"), Some("told"));
    assert_eq!(word("// A name that is none."), Some("is none"));
    assert_eq!(word("/// 0 where there is none, retold; an odd length; `\"asked\":true`"), None);
    assert_eq!(word(&without_code("promise | `a_full_disk_is_told` | x")), None);
    assert!(opens_with_what("    /// What it is.") && !opens_with_what("let x = 1; // What it is"));
    assert!(!opens_with_what("// What is a flow?"));
}
