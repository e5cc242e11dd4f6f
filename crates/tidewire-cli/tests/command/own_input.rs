//! What is read is not written over, by whatever name and option.

use std::{fs, process::Command};

use tidewire_testing::InTime as _;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");

#[test]
fn an_output_that_is_read_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (capture, link, archive) = (path("a.pcap"), path("b.pcap"), path("archive"));
    fs::copy(DEMO, &capture).unwrap();
    std::os::unix::fs::symlink(&capture, &link).unwrap();
    let run = |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_tidewire")).args(words).run_in_time().unwrap();
    assert!(run(&["record", "-q", "-r", &capture, "-o", &archive]).status.success());
    let inside = format!("{archive}/new.pcapng");
    let [to_json, to_link] = [&capture, &link].map(|place| format!("json:{place}"));
    for words in [
        vec!["flows", &capture, "-w", &link],
        vec!["flows", &capture, "--to", &to_json],
        vec!["streams", &link, "--to", &to_json],
        vec!["transactions", &capture, "--to", &to_link],
        vec!["recall", &archive, "-w", &inside],
        vec!["flows", &archive, "-w", &inside],
    ] {
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("that is read"), "{words:?}: {said}");
        assert!(fs::read(&capture).unwrap() == fs::read(DEMO).unwrap(), "{words:?}");
        assert!(!fs::exists(&inside).unwrap(), "{words:?}");
    }
}
