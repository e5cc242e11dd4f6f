//! Symbols that the library exports, and those that it needs: all of the system's symbols and one more, and no libpcap that the dynamic
//! linker would load beside it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use tidewire_testing::InTime as _;

/// Symbols that we have and libpcap has not.
const OWN: &[&str] = &["pcap_fanout"];

fn readelf(option: &str, path: &Path) -> Option<String> {
    if let Some(reason) = tidewire_testing::missing(&["readelf"]) {
        println!("skipped: {reason}");
        return None;
    }
    let output = Command::new("readelf").args(["-W", option]).arg(path).run_in_time().expect("readelf");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The system's library: what a program linked with `-lpcap` would load.
fn system_library() -> Option<PathBuf> {
    if let Some(reason) = tidewire_testing::missing(&["ldconfig"]) {
        println!("skipped: {reason}");
        return None;
    }
    let output = Command::new("ldconfig").arg("-p").run_in_time().expect("ldconfig");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| ["libpcap.so.0.8", "libpcap.so.1"].iter().any(|name| line.contains(name)))?;
    Some(line.split("=> ").nth(1)?.trim().into())
}

/// Exported symbols and their types (FUNC, OBJECT).
fn exported(path: &Path) -> Option<BTreeMap<String, String>> {
    let text = readelf("--dyn-syms", path)?;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Num: Value Size Type Bind Vis Ndx Name
        let [_, _, _, kind, bind, visibility, index, name, ..] = words[..] else { continue };
        let is_exported =
            matches!(bind, "GLOBAL" | "WEAK") && visibility == "DEFAULT" && index != "UND" && index != "ABS";
        if is_exported && ["FUNC", "OBJECT", "IFUNC", "NOTYPE", "TLS"].contains(&kind) {
            let name = name.split('@').next().unwrap_or(name);
            found.insert(name.to_owned(), kind.to_owned());
        }
    }
    Some(found)
}

fn both() -> Option<[BTreeMap<String, String>; 2]> {
    let Some(system) = system_library() else {
        println!("skipped: ldconfig finds no libpcap");
        return None;
    };
    let (theirs, ours) = (exported(&system)?, exported(crate::common::library())?);
    assert!(theirs.len() > 80 && theirs.contains_key("pcap_activate"), "{}: {theirs:?}", system.display());
    Some([theirs, ours])
}

#[test]
fn every_symbol_of_the_systems_library_is_there() {
    let Some([theirs, ours]) = both() else { return };
    let absent: Vec<&String> = theirs.keys().filter(|name| !ours.contains_key(*name)).collect();
    assert!(absent.is_empty(), "{absent:?}");
    let other: Vec<_> = theirs.iter().filter(|(name, kind)| ours.get(*name) != Some(kind)).collect();
    assert!(other.is_empty(), "of another type: {other:?}");
}

#[test]
fn nothing_else_is_exported() {
    let Some([theirs, ours]) = both() else { return };
    for name in OWN {
        assert!(ours.contains_key(*name), "{name} is not exported");
    }
    // Functions that other versions of libpcap have may be there as well: programs that ask for them find them.
    let is_meant = |name: &str| {
        theirs.contains_key(name) || OWN.contains(&name) || name.starts_with("pcap_") || name.starts_with("bpf_")
    };
    let more: Vec<&String> = ours.keys().filter(|name| !is_meant(name)).collect();
    assert!(more.is_empty(), "{more:?}");
}

#[test]
fn no_libpcap_is_needed() {
    let Some(text) = readelf("-d", crate::common::library()) else { return };
    let needed: Vec<&str> = text.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(!needed.is_empty(), "no library is needed at all? {text}");
    assert!(!needed.iter().any(|line| line.contains("pcap")), "{needed:?}");
}
