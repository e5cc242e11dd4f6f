//! Names and files from others: quoted text never controls a terminal, and nothing is written through a link.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

use crate::common::*;
use tidewire::legible::is_hidden;
use tidewire_testing::InTime as _;

/// A name with which a file, an interface, a filter, a key or a pattern could control the terminal or forge a message.
const NAME: &str = "a\u{1b}[2J\u{1b}]0;b\u{7}\rc\ntidewire: forged\u{202e}d\u{2028}\u{200b}\u{9b}31m";

/// Whether a text has only printable lines, none of them forged.
fn is_legible(text: &str) -> bool {
    !text.chars().any(|c| is_hidden(c) && c != '\n') && !text.lines().any(|line| line.starts_with("tidewire: forged"))
}

#[test]
fn messages_that_quote_names_cannot_upset_a_terminal() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let named = bench.path(&format!("{NAME}.pcap"));
    fs::write(&named, &mixed().bytes()[..100]).unwrap();
    let named = named.to_str().unwrap();
    let config = |text: String| bench.file("config.toml", text.as_bytes());
    let key = config(format!("{} = 1\n", serde_json::to_string(NAME).unwrap()));
    let cases: Vec<Vec<&str>> = vec![
        vec!["flows", named],
        vec!["flows", "-j", "2", named],
        vec!["flows", &capture, named],
        vec!["flows", NAME],
        vec!["flows", &capture, NAME],
        vec!["flows", &capture, "-F", NAME],
        vec!["flows", &capture, "--limit", NAME],
        vec!["flows", &capture, "--columns", NAME],
        vec!["flows", &capture, "--key", NAME],
        vec!["flows", &capture, "--idle", NAME],
        vec!["flows", "--config", &key, &capture],
        vec!["flows", "--config", NAME, &capture],
        vec!["flows", &capture, &format!("--{NAME}")].into_iter().map(|word| &*word.to_owned().leak()).collect(),
        vec![NAME],
        vec!["follow", &capture, NAME],
        vec!["match", &capture, "-f", NAME],
        vec!["extract", &capture, "-o", named],
        vec!["extract", &capture, "-o", "/dev/null", "--fill", NAME],
        vec!["flows", "-i", NAME],
        vec!["count", "-i", NAME],
        vec!["top", "-i", NAME],
        vec!["split", NAME, NAME],
        vec!["check-steering", &capture, "--steering", NAME],
        vec!["run", "-n", "1", NAME],
        vec!["run", "-n", "1", "--config", NAME, "true"],
        vec!["run", "-n", "1", "--report", NAME, "-f", NAME, "true"],
    ];
    for words in cases {
        let output = run(&words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{words:?}");
        assert!(!said.is_empty() && is_legible(&said), "{words:?}: {said:?}");
        assert!(is_legible(&String::from_utf8(output.stdout).unwrap()), "{words:?}");
    }
}

#[test]
fn arguments_that_are_no_text_are_said_to_be_none() {
    let name = std::ffi::OsStr::from_bytes(b"x\xff\x1b[2J");
    let output = command(&["flows", "-i"]).arg(name).run_in_time().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("not valid UTF-8") && is_legible(&said), "{said:?}");
}

/// Output in addition to messages: paths of written files, and names in objects.
#[test]
fn reports_that_quote_names_cannot_upset_a_terminal() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path(NAME);
    let (report, code) = text(&["extract", &capture, "-o", out.to_str().unwrap()]);
    assert!(code == 0 && is_legible(&report) && report.contains("a\\u{1b}[2J"), "{report:?}");
    assert!(out.join("index.jsonl").exists(), "the directory has the given name");
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, NAME.as_bytes())]);
    let said = bench.file("said.pcap", pcap.bytes());
    let line = NAME.rsplit('\n').next().unwrap();
    let patterns = bench.file("patterns", line.as_bytes());
    let match_it = ["match", &said, "-e", NAME, "-f", &patterns];
    for forms in [&[][..], &["--json"], &["--csv"], &["--count"], &["--count", "--csv"], &["--count", "--json"]] {
        let (found, code) = text(&[&match_it[..], forms].concat());
        assert!(code == 0 && found.contains("forged\\u") && is_legible(&found), "{forms:?}: {found:?}");
    }
}

#[test]
fn text_of_a_stream_shows_what_has_no_shape() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let said = "gpj.\u{202e}exe\u{2028}> forged\u{200b}\u{feff}\u{e0041}\u{2066}👨\u{200d}👩\u{200d}end\u{2069}\n";
    conversation(&mut pcap, 1, &[(false, said.as_bytes()), (true, "\u{85}\u{2029}\u{ad}plain Мир".as_bytes())]);
    let capture = bench.file("hidden.pcap", pcap.bytes());
    let (text, _) = text(&["follow", &capture, "1"]);
    assert!(text.ends_with("> gpj..exe.> forged....👨\u{200d}👩.end.\n< ...plain Мир\n"), "{text:?}");
}

#[test]
fn nothing_is_written_through_a_link() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let (out, victim) = (bench.path("out"), bench.path("victim"));
    let extract = ["extract", &capture, "-o", out.to_str().unwrap()];
    assert_eq!(run(&extract).status.code(), Some(0));
    let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.len() > 3);
    fs::write(&victim, "precious").unwrap();
    for name in &names {
        let name = name.to_str().unwrap();
        fs::remove_file(out.join(name)).unwrap();
        for link in [name.to_owned(), format!(".{name}.part")] {
            symlink(&victim, out.join(link)).unwrap();
        }
    }
    let again = run(&[&extract[..], &["--force", "--max-open", "1"]].concat());
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    for name in names {
        assert!(out.join(&name).symlink_metadata().unwrap().is_file(), "{name:?}");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_refused_and_blocks_no_later_run() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path("out");
    let extract = ["extract", &capture, "-o", out.to_str().unwrap()];
    symlink(bench.path("nowhere"), &out).unwrap();
    // A predictable name that an earlier run left does not matter.
    fs::create_dir(bench.path(".out.part")).unwrap();
    for _ in 0..2 {
        let (message, code) = complaint(&extract);
        assert!(message.contains("is a symbolic link to nothing") && code == 2, "{code}: {message}");
    }
    assert!(!bench.path("nowhere").exists());
    assert_eq!(fs::read_dir(bench.directory.path()).unwrap().count(), 3, "something was left behind");
    fs::remove_file(&out).unwrap();
    assert_eq!(run(&extract).status.code(), Some(0));
    assert!(out.join("index.jsonl").exists());
}

/// For interfaces the index is written from the start, under its final name.
#[test]
fn the_index_of_a_live_capture_is_not_written_through_a_link() {
    alone(|| {
        let bench = Bench::new();
        let (out, victim) = (bench.path("out"), bench.path("victim"));
        fs::create_dir(&out).unwrap();
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, out.join("index.jsonl")).unwrap();
        let words = ["extract", "-i", "lo", "--duration", "200ms", "--force", "-o", out.to_str().unwrap()];
        let (message, code) = complaint(&words);
        assert_eq!(code, 0, "{message}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(out.join("index.jsonl").symlink_metadata().unwrap().is_file());
    });
}

/// A failed write or read is an error with its reason, and complete files are kept.
#[test]
fn what_is_whole_is_kept_where_the_index_is_not() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path("out");
    fs::create_dir_all(out.join("index.jsonl")).unwrap();
    let (message, code) = complaint(&["extract", &capture, "--force", "-o", out.to_str().unwrap()]);
    assert_eq!(code, 4, "{message}");
    let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let whole = format!("; {} files are whole, and not in index.jsonl", names.len() - 1);
    assert!(names.len() > 3 && message.trim_end().ends_with(&whole), "{message}: {names:?}");
    assert!(!names.iter().any(|name| name.to_str().unwrap().ends_with(".part")), "{names:?}");
    let longest = bench.path(&"n".repeat(255));
    assert_eq!(run(&["extract", &capture, "-o", longest.to_str().unwrap()]).status.code(), Some(0));
    assert!(longest.join("index.jsonl").exists());
}

#[test]
fn limits_of_the_process_are_said() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for port in 0..20 {
        conversation(&mut pcap, 40_000 + port, &[(false, &[b'x'; 1400])]);
    }
    let capture = bench.file("long.pcap", pcap.bytes());
    for (limit, words, said) in
        [("-f 1", "extract -o NEW --fill marker", "File too large"), ("-n 6", "extract -j 8 -o NEW", "ulimit -n")]
    {
        let new = bench.path(&limit.replace(' ', ""));
        let words = words.replace("NEW", new.to_str().unwrap());
        let line = format!("ulimit {limit}; exec \"$0\" {words} \"$1\"");
        let program = env!("CARGO_BIN_EXE_tidewire");
        let output = std::process::Command::new("sh").args(["-c", &line, program, &capture]).run_in_time().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(3 | 4)), "{limit}: {:?} {message}", output.status);
        assert!(message.contains(said), "{limit}: {message}");
    }
}

#[test]
fn files_of_text_have_an_end() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let steering = "@/dev/zero";
    for words in [
        &["flows", "--config", "/dev/zero", &capture][..],
        &["match", "-f", "/dev/zero", &capture],
        &["check-steering", &capture, steering],
    ] {
        let (message, code) = complaint(words);
        assert!(message.contains("/dev/zero is longer than") && code == 2, "{words:?}: {code}: {message}");
    }
    for zone in [":/dev/zero", "/dev/zero"] {
        let output = command(&["flows", &capture]).env("TZ", zone).run_in_time().unwrap();
        assert!(String::from_utf8(output.stderr).unwrap().contains("no such time zone"), "{zone}");
    }
    let (message, _) = complaint(&["flows", "--config", &bench.file("not.toml", b"a = \"\xff\""), &capture]);
    assert!(message.contains("invalid UTF-8 at byte 5"), "{message}");
}
