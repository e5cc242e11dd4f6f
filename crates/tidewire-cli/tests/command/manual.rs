//! The manual's pages of commands in docs/man are those of today's definitions. With TIDEWIRE_BLESS=1 they are written
//! anew. Those of other sections are written by hand.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use tidewire_testing::InTime as _;

/// Pages by name.
fn pages(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let page = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path()).expect("a page"))
    };
    entries.into_iter().map(page).filter(|(name, _)| name.ends_with(".1")).collect()
}

#[test]
fn the_pages_are_fresh() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man");
    let place = tempfile::tempdir().expect("a directory");
    let output =
        Command::new(env!("CARGO_BIN_EXE_tidewire")).arg("man").arg(place.path()).run_in_time().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let fresh = pages(place.path());
    for command in ["tidewire", "tidewire-flows", "tidewire-match", "tidewire-count", "tidewire-check-steering"] {
        let page = &fresh[&format!("{command}.1")];
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{page}");
    }
    if std::env::var_os("TIDEWIRE_BLESS").is_some() {
        pages(&kept).keys().for_each(|name| fs::remove_file(kept.join(name)).expect("removed"));
        fresh.iter().for_each(|(name, page)| fs::write(kept.join(name), page).expect("written"));
    }
    let kept = pages(&kept);
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&kept), names(&fresh), "TIDEWIRE_BLESS=1 cargo test -p tidewire-cli --test command manual");
    for (name, page) in &fresh {
        assert!(
            kept[name] == *page,
            "{name} is not fresh: TIDEWIRE_BLESS=1 cargo test -p tidewire-cli --test command manual"
        );
    }
}
