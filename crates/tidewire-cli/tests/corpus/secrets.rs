//! Secrets of captures: tshark decrypts what was recorded and written of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tidewire_testing::{InTime as _, missing};

use crate::{common::*, corpus};

fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "pcapng")).collect()
}

/// Data that tshark decrypts of a capture.
fn decrypted(path: &Path) -> Vec<String> {
    let words = ["-r", path.to_str().unwrap(), "-Y", "data", "-T", "fields", "-e", "frame.number", "-e", "data"];
    let said = Command::new("tshark").args(words).run_in_time().unwrap();
    String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect()
}

/// Datagrams of DTLS 1.2, and the secrets that decrypt them.
#[test]
fn tshark_decrypts_what_was_recorded() {
    let Some(corpus) = corpus::find() else { return };
    if missing(&["tshark"]).is_some() {
        return;
    }
    let capture = corpus.join("captures/wireshark-4.0.17/test/captures/dtls12-aes128ccm8-dsb.pcapng");
    let expected = decrypted(&capture);
    assert!(expected.len() > 1, "{expected:?}");
    let bench = Bench::new();
    let identity = bench.path("identity");
    let identity = identity.to_str().unwrap();
    let made = String::from_utf8(run(&["keys", "identity", "-o", identity]).stdout).unwrap();
    let recipient = made.split_whitespace().find(|word| word.starts_with("age1")).expect("a recipient");
    for (number, options) in [&[][..], &["--compress", "zstd"], &["--encrypt-to", recipient]].into_iter().enumerate() {
        let archive = bench.path(&format!("archive{number}"));
        let (place, out) = (archive.to_str().unwrap(), bench.path("out.pcapng"));
        let words = [&["record", "-r", capture.to_str().unwrap(), "-o", place], options].concat();
        let said = complaint(&words);
        assert_eq!(said.1, 0, "{words:?}: {}", said.0);
        let secret: &[&str] = if options.contains(&recipient) { &["--identity", identity] } else { &[] };
        let recall = [&["recall", place, "udp", "-w", out.to_str().unwrap()], secret].concat();
        assert_eq!(complaint(&recall).1, 0);
        assert_eq!(decrypted(&out), expected, "{words:?}");
        if options.is_empty() {
            assert_eq!(decrypted(&segments(&archive)[0]), expected);
        }
        let flows = [&["flows", place, "-w", out.to_str().unwrap()], secret].concat();
        assert_eq!(complaint(&flows).1, 0);
        assert_eq!(decrypted(&out), expected);
    }
}
