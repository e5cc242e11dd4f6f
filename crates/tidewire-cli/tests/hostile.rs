//! Names and files that others made: what is quoted never commands a terminal, and nothing is written through a link.

mod common;

use std::{fs, os::unix::fs::symlink};

use common::*;
use tidewire::legible::is_hidden;

/// A name with which a file, an interface, a filter, a key or a pattern could paint the screen or forge another message.
const NAME: &str = "a\u{1b}[2J\u{1b}]0;b\u{7}\rc\ntidewire: forged\u{202e}d\u{2028}\u{200b}\u{9b}31m";

/// Whether a text has lines of text only, none of them forged.
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

/// What is printed beside messages: where files were written to, and names in objects.
#[test]
fn reports_that_quote_names_cannot_upset_a_terminal() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path(NAME);
    let (report, code) = text(&["extract", &capture, "-o", out.to_str().unwrap()]);
    assert!(code == 0 && is_legible(&report) && report.contains("a\\u{1b}[2J"), "{report:?}");
    assert!(out.join("index.jsonl").exists(), "the directory has the name that was asked for");
    let pattern = serde_json::to_string(NAME).unwrap();
    let patterns = bench.file("patterns.json", format!("{{\"name\":{pattern},\"text\":\"hello\"}}\n").as_bytes());
    for form in ["--json", "--stats"] {
        let output = run(&["match", &capture, "-e", "hello", "-f", &patterns, form]);
        assert!(is_legible(&String::from_utf8(output.stdout).unwrap()), "{form}");
    }
}

#[test]
fn text_of_a_stream_shows_what_has_no_shape() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let said = "gpj.\u{202e}exe\u{2028}> forged\u{200b}\u{feff}\u{e0041}\u{2066}end\u{2069}\n";
    conversation(&mut pcap, 1, &[(false, said.as_bytes()), (true, "\u{85}\u{2029}\u{ad}plain Мир".as_bytes())]);
    let capture = bench.file("hidden.pcap", pcap.bytes());
    let (text, _) = text(&["follow", &capture, "1"]);
    assert!(text.ends_with("> gpj..exe.> forged....end.\n< ...plain Мир\n"), "{text:?}");
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
    // What an earlier run left under a name that can be foreseen is in nobody's way either.
    fs::create_dir(bench.path(".out.part")).unwrap();
    for _ in 0..2 {
        let (message, code) = complaint(&extract);
        assert!(message.contains("is a link that leads nowhere") && code == 2, "{code}: {message}");
    }
    assert!(!bench.path("nowhere").exists());
    assert_eq!(fs::read_dir(bench.directory.path()).unwrap().count(), 3, "something was left behind");
    fs::remove_file(&out).unwrap();
    assert_eq!(run(&extract).status.code(), Some(0));
    assert!(out.join("index.jsonl").exists());
}

/// Of interfaces the index is written from the beginning, under its own name.
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
