//! The insertion and evasion cases of Ptacek and Newsham: with default settings the engine delivers what the application on
//! a Linux host received from the same packets.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidewire::{Capture, Chunk, Direction, EndReason, Handler, Stream};
use tidewire_lab::evasion::{Expected, scripts};

/// Cases where the engine does not do what the host did, and why.
const OPEN: &[(&str, &str)] = &[];

/// Bytes delivered from the client of each connection with a handshake.
#[derive(Default)]
struct Delivered(Vec<u8>);

impl Handler for Delivered {
    type Data = Vec<u8>;

    fn data(&mut self, stream: &mut Stream<'_, Vec<u8>>, chunk: Chunk<'_>) {
        if chunk.direction == Direction::ClientToServer {
            stream.data().extend_from_slice(chunk.bytes);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, Vec<u8>>, _: EndReason) {
        // A stream without a handshake is joined midway and marked so; no host has such a connection.
        if stream.client_known() {
            self.0.append(stream.data());
        }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")
}

fn delivered(folder: &Path, expected: &Expected) -> Vec<u8> {
    let mut capture = Capture::files([folder.join("case.pcap")]);
    for (name, &value) in &expected.settings {
        capture = capture.configure(|config| match name.as_str() {
            "ttl_min" => config.set_ttl_min(value as u8),
            "urgent_inline" => config.set_urgent_inline(value != 0),
            other => panic!("{}: no setting is called {other}", folder.display()),
        });
    }
    let outcome = capture.run_with(Delivered::default()).expect("a case is readable");
    assert!(outcome.ledger.closes(), "{}: the ledger does not close", folder.display());
    outcome.handler().0.clone()
}

#[test]
fn the_engine_delivers_what_a_linux_host_received() {
    let mut wrong = Vec::new();
    for script in scripts() {
        let folder = corpus().join(format!("pn-{}", script.name));
        let json = fs::read_to_string(folder.join("expected.json")).unwrap_or_else(|error| {
            panic!("{}: {error}; made by `tidewire-lab evasion tests/corpus`", folder.display())
        });
        let expected: Expected = serde_json::from_str(&json).expect("expected.json is valid");
        let got = delivered(&folder, &expected);
        let open = OPEN.iter().find(|open| open.0 == script.name);
        if got == expected.c2s.as_bytes() {
            if let Some((name, _)) = open {
                println!("{name} agrees now: it can leave the list");
            }
        } else if let Some((name, why)) = open {
            println!("{name} differs: {why}");
        } else {
            let text: String = String::from_utf8_lossy(&got).chars().take(60).collect();
            let wanted: String = expected.c2s.chars().take(60).collect();
            wrong.push(format!(
                "{}: delivered {text:?} ({}), the host got {wanted:?} ({})",
                script.name,
                got.len(),
                expected.c2s.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_case_is_left_without_its_script() {
    for entry in fs::read_dir(corpus()).expect("the corpus").flatten() {
        let name = entry.file_name().into_string().expect("an ASCII name");
        if let Some(name) = name.strip_prefix("pn-") {
            assert!(scripts().iter().any(|script| script.name == name), "pn-{name} has no script");
        }
    }
}
