//! The manual pages in docs/man and the completion scripts in docs/completions are those of today's definitions. With
//! TIDEWIRE_BLESS=1 they are rewritten. Manual pages of other sections are written by hand.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use tidewire_testing::InTime as _;

/// Files of a folder by name, those of which the name ends with `ending`.
fn files(folder: &Path, ending: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let file = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path()).expect("text"))
    };
    entries.into_iter().map(file).filter(|(name, _)| name.ends_with(ending)).collect()
}

/// The files that a hidden subcommand writes, after they were compared with those of `folder`.
fn fresh(subcommand: &str, folder: &str, ending: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(folder);
    let place = tempfile::tempdir().expect("a directory");
    let output =
        Command::new(env!("CARGO_BIN_EXE_tidewire")).arg(subcommand).arg(place.path()).run_in_time().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let fresh = files(place.path(), ending);
    if std::env::var_os("TIDEWIRE_BLESS").is_some() {
        fs::create_dir_all(&folder).expect("a directory");
        files(&folder, ending).keys().for_each(|name| fs::remove_file(folder.join(name)).expect("removed"));
        fresh.iter().for_each(|(name, text)| fs::write(folder.join(name), text).expect("written"));
    }
    let committed = files(&folder, ending);
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&fresh), "run make generated");
    for (name, text) in &fresh {
        assert!(committed[name] == *text, "{name} is not fresh: run make generated");
    }
    fresh
}

#[test]
fn the_pages_are_fresh() {
    let pages = fresh("man", "man", ".1");
    for command in ["tidewire", "tidewire-flows", "tidewire-match", "tidewire-count", "tidewire-check-steering"] {
        let page = &pages[&format!("{command}.1")];
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{page}");
    }
}

/// Each option of a page has a text below it.
#[test]
fn options_have_texts() {
    for (name, page) in &files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man"), ".1") {
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            if line == ".TP" {
                let option = lines.next().unwrap_or_default();
                let is_bare = lines
                    .peek()
                    .is_none_or(|next| next.starts_with('.') && !next.starts_with(".br") || next.is_empty());
                assert!(!is_bare, "{name}: {option} has no text");
            }
        }
    }
}

#[test]
fn the_completions_are_fresh() {
    let scripts = fresh("completions", "completions", "");
    assert_eq!(scripts.keys().collect::<Vec<_>>(), ["_tidewire", "tidewire.bash", "tidewire.fish"]);
    for (name, script) in &scripts {
        assert!(script.contains("check-steering") && script.contains("stop-after"), "{name}");
        assert!(!script.contains("run-watchdog"), "{name} has a hidden command");
    }
}
