//! The rules of the house that a machine can check: who may depend on whom, where `unsafe` may stand, what the pure
//! crates may not touch, and that nothing was left half done.
#![forbid(unsafe_code)]

mod calls;
mod circles;
mod dependencies;
mod documents;
mod limits;
mod modules;
mod promises;
mod purity;
mod receivers;
mod sleeps;
mod tokens;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tidewire_testing::InTime as _;

/// Floors of the house. A crate may depend on crates of lower floors only.
const FLOORS: &[(&str, u32)] = &[
    ("tidewire-testing", 0),
    ("tidewire-config", 1),
    ("tidewire-patterns", 2),
    ("tidewire-types", 0),
    ("tidewire-outputs", 6),
    ("tidewire-sealing", 2),
    ("tidewire-queue", 2),
    ("tidewire-events", 2),
    ("tidewire-event-socket", 3),
    ("tidewire-event-store", 3),
    ("tidewire-delivery", 7),
    ("tidewire-queue-c", 4),
    ("tidewire-wire", 1),
    ("tidewire-ebpf", 1),
    ("tidewire-core", 2),
    ("tidewire-protocols", 3),
    ("tidewire-steer", 2),
    ("tidewire-filter", 2),
    ("tidewire-files", 2),
    ("tidewire-locality", 2),
    ("tidewire-live", 3),
    ("tidewire-gen", 4),
    ("tidewire-pcap-config", 4),
    ("tidewire", 4),
    ("tidewire-cli", 9),
    ("tidewire-pcap", 5),
    ("tidewire-analyzers", 5),
    ("tidewire-archive", 5),
    ("tidewire-recorder", 6),
    ("tidewire-exports", 5),
    ("tidewire-sensor", 8),
    ("tidewire-lab", 5),
    ("tidewire-bench", 9),
];

/// Crates that read no clock, no file, no environment and start no thread.
const PURE: &[&str] = &[
    "tidewire-wire",
    "tidewire-ebpf",
    "tidewire-core",
    "tidewire-steer",
    "tidewire-patterns",
    "tidewire-types",
    "tidewire-events",
    "tidewire-protocols",
    "tidewire-exports",
];

/// Where `unsafe` may stand, relative to `crates/`: system calls, C ABIs, prefetches, and vectors of the processor.
const UNSAFE: &[&str] = &[
    "tidewire-live/src/sys",
    "tidewire-core/src/prefetch.rs",
    "tidewire-outputs/src/place/streams.rs",
    "tidewire-wire/src/checksum/lanes.rs",
    "tidewire-lab/src/sys",
    "tidewire-bench/src/sys",
    "tidewire-locality/src/prefetch.rs",
    "tidewire-pcap/src",
    "tidewire-queue/src/sys",
    "tidewire-queue-c/src",
];

/// Sources of pure crates that are built only for crates that are not: behind a feature.
const NOT_PURE: &[&str] =
    &["tidewire-types/src/clock.rs", "tidewire-types/src/random.rs", "tidewire-types/src/system_time.rs"];

/// Marks of unfinished work. In pieces, so that this file does not hold them itself.
const LEFTOVERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("unimpl", "emented!"),
    concat!("to", "do!("),
    concat!("dbg", "!("),
];

/// Waits for a process without an end. Tests have `tidewire-testing` for that. (`running.wait()` of a test's own has an end.)
const ENDLESS: &[&str] = &[
    ".output()",
    ".wait_with_output()",
    ".wait().unwrap()",
    ".wait().expect(",
    ".status().unwrap()",
    ".status().expect(",
    ".status().is_",
    ".read_line(",
];

/// Paths of the machine that tests may name: what packages of `scripts/setup.sh` bring, or every Debian has. All else is found
/// by `PATH`, or made by the test.
const PATHS: &[&str] = &[
    "/bin/sh",
    "/bin/true",
    "/etc/passwd",
    "/etc/pcap.conf",        // in a message only
    "/run/softflowd/chroot", // made by the test that needs it
    "/usr/bin/env",
    "/usr/bin/python3",
    "/usr/include/nids.h",
    "/usr/include/pcap/pcap.h",
    "/usr/lib/python3/dist-packages/jsonschema/__init__.py",
    "/usr/lib/python3/dist-packages/scapy/config.py",
    "/var/lib/tidewire/events.db", // compared with a default, never opened
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace's root")
}

/// Every crate's name and its dependencies (development ones excluded) on crates of this workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .run_in_time()
        .expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata speaks JSON");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let edges = package["dependencies"].as_array().expect("dependencies").iter();
            let edges = edges.filter(|edge| edge["kind"] != "dev" && !edge["path"].is_null()).map(name).collect();
            (name(package), edges)
        })
        .collect()
}

/// Every Rust source below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A source without its comments and doc comments (text in strings stays).
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source is UTF-8");
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// A crate or file that is gone, or not there yet, has no rule.
#[test]
fn rules_name_what_exists() {
    let crates = root().join("crates");
    let names = FLOORS.iter().map(|(name, _)| *name).chain(PURE.iter().copied());
    for name in names.chain(UNSAFE.iter().copied()).chain(NOT_PURE.iter().copied()) {
        assert!(crates.join(name).exists(), "a rule names crates/{name}, which does not exist");
    }
}

#[test]
fn crates_depend_downwards_only() {
    let floor = |name: &str| FLOORS.iter().find(|entry| entry.0 == name).map(|entry| entry.1);
    for (name, edges) in dependencies() {
        let mine = floor(&name).unwrap_or_else(|| panic!("{name} has no floor: say in this test where it lives"));
        for edge in edges {
            let theirs = floor(&edge).unwrap_or_else(|| panic!("{edge} has no floor"));
            assert!(theirs < mine, "{name} (floor {mine}) must not depend on {edge} (floor {theirs})");
        }
    }
}

/// The crates that a package needs with these arguments, by `cargo tree`.
fn needed(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"])
        .args(arguments)
        .current_dir(root())
        .run_in_time()
        .expect("cargo tree");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.split(" v").next()).map(str::to_owned).collect()
}

/// Who takes a part of the library does not build the others (scripts/parts.sh builds it so).
#[test]
fn features_bring_what_they_need_and_no_more() {
    let of = |features: &str| needed(&["-p", "tidewire", "--no-default-features", "--features", features]);
    let has = |crates: &BTreeSet<String>, names: &[&str]| {
        names.iter().filter(|name| crates.contains(**name)).map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    let live = ["aya", "caps", "landlock", "seccompiler", "tidewire-live", "tidewire-steer"];
    let files = ["flate2", "lz4_flex", "tidewire-files"];
    let (filter, c) = (["pcap", "tidewire-filter"], ["pcap", "zstd-sys", "cc"]);
    let nothing: [&str; 0] = [];
    assert_eq!(has(&of("files"), &live), nothing);
    assert_eq!(has(&of("files"), &filter), nothing);
    assert_eq!(has(&of("files"), &c), nothing);
    assert_eq!(has(&of("zstd"), &["zstd-sys"]), ["zstd-sys"]);
    assert_eq!(has(&of("files"), &files), files);
    assert_eq!(has(&of("files,filter"), &live), nothing);
    assert_eq!(has(&of("files,filter"), &filter), filter);
    assert_eq!(has(&of("live"), &live), live);
    assert_eq!(has(&of("live"), &files), nothing);
}

/// The crates of `make demo`, whose build a newcomer waits for.
#[test]
fn the_demo_builds_few_crates() {
    let script = fs::read_to_string(root().join("scripts/demo.sh")).expect("the script");
    let what = ["-p", "tidewire-cli", "--no-default-features"];
    assert!(script.contains(&what.join(" ")), "the demo does not build {what:?}: this test looks at something else");
    let crates = needed(&what);
    assert!((10..100).contains(&crates.len()), "{} crates: {crates:#?}", crates.len());
    for live in ["aya", "landlock", "seccompiler", "ratatui", "tidewire-gen"] {
        assert!(!crates.contains(live), "{live} belongs to the feature `live`");
    }
}

fn is_test(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "tests") || file.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let crates = root().join("crates");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    assert!(files.len() > 10, "the sources were not found");
    for file in &files {
        let place = file.strip_prefix(&crates).expect("below crates/");
        if UNSAFE.iter().any(|allowed| place.starts_with(allowed)) {
            continue;
        }
        for line in code(file).lines() {
            let word = concat!("un", "safe");
            let used = [" {", " fn", " impl", " extern", "(", " trait"].iter().any(|tail| {
                line.match_indices(&format!("{word}{tail}"))
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric()))
            });
            assert!(!used, "{}: {line}", place.display());
        }
    }
}

/// Every test's source by its path below `crates/`: whole files, and what stands behind `#[cfg(test)]` in others.
fn tests() -> Vec<(PathBuf, String)> {
    let crates = root().join("crates");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    let of = |file: PathBuf| {
        let code = code(&file);
        let text = if is_test(&file) { code } else { code.split_once("#[cfg(test)]\nmod tests {")?.1.to_owned() };
        Some((file.strip_prefix(&crates).expect("below crates/").to_owned(), text))
    };
    files.into_iter().filter_map(of).filter(|(file, _)| !file.ends_with("tidewire-lab/tests/house/main.rs")).collect()
}

/// A program that is missing, or a signal that was never sent, must not make a test wait for ever.
#[test]
fn every_wait_for_a_process_has_an_end() {
    let tests = tests();
    assert!(tests.len() > 100, "the tests were not found");
    for (file, text) in tests.iter().filter(|(file, _)| !file.starts_with("tidewire-testing")) {
        if let Some(line) = endless(text) {
            panic!("{}: {line}: wait by tidewire-testing", file.display());
        }
    }
    let broken = "    let status = command\n        .status()\n        // in time\n        .expect(\"a status\");\n";
    assert!(endless(broken).is_some() && endless("command.status_in_time().expect()").is_none());
    assert!(endless("let mut stream = TcpStream::connect(place)?;\nstream\n    .read_to_end(&mut all)?;").is_some());
}

/// A statement that may wait for ever, in a text that may break lines before dots.
fn endless(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let joined = lines.fold(String::new(), |mut joined, line| {
        if !line.starts_with('.') {
            joined.push('\n');
        }
        joined + line
    });
    // By the part of a test that runs as another process, until its parent says so, or goes.
    let is_part = |line: &str| line.contains("std::io::stdin().read_line(");
    let is_endless = |line: &&str| ENDLESS.iter().any(|wait| line.contains(wait)) && !is_part(line);
    // The wait for a silent peer of a socket.
    let has_end = !joined.contains("TcpStream") || joined.contains("set_read_timeout");
    let is_read =
        |line: &&str| !has_end && ["stream.read_to_", "stream.read_exact("].iter().any(|read| line.contains(read));
    joined.lines().find(|line| is_endless(line) || is_read(line)).map(str::to_owned)
}

/// A test that names a place of this machine is right on this machine.
#[test]
fn tests_name_no_place_of_the_machine() {
    for (file, text) in tests() {
        for quoted in text.split('"').filter(|text| {
            ["/usr/", "/bin/", "/sbin/", "/opt/", "/var/", "/run/", "/etc/", "/home/"]
                .iter()
                .any(|place| text.starts_with(place))
        }) {
            assert!(PATHS.contains(&quoted) || quoted.contains(char::is_whitespace), "{}: {quoted}", file.display());
        }
    }
}

#[test]
fn nothing_is_left_half_done() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("fuzz"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is UTF-8");
        for word in LEFTOVERS {
            assert!(!text.contains(word), "{} holds {word}", file.display());
        }
    }
}

/// Code that two crates need stands in a crate that both depend on. (Tests may share files, and `sanitize` builds some with loom.)
#[test]
fn no_source_is_taken_from_elsewhere() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    for file in files.iter().filter(|file| file.components().any(|part| part.as_os_str() == "src")) {
        let by_path = code(file).lines().any(|line| line.trim_start().starts_with(concat!("#[", "path")));
        assert!(!by_path, "{} takes a module by its path", file.display());
    }
}
