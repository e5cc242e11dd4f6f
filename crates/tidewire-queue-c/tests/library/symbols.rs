//! What the shared library exports, and its name.

use std::process::Command;

use tidewire_testing::{InTime as _, missing};

use crate::programs::{built, declared};

fn readelf(option: &str) -> Option<String> {
    if let Some(reason) = missing(&["readelf"]) {
        println!("skipped: {reason}");
        return None;
    }
    let library = built().join("libtidewire_queue_c.so");
    let output = Command::new("readelf").args(["-W", option]).arg(library).run_in_time().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn what_the_header_declares_is_exported_and_nothing_else() {
    let Some(text) = readelf("--dyn-syms") else { return };
    let mut exported = Vec::new();
    for line in text.lines() {
        // Num: Value Size Type Bind Vis Ndx Name
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, kind, bind, visibility, index, name, ..] = words[..] else { continue };
        if kind == "FUNC" && bind == "GLOBAL" && visibility == "DEFAULT" && index != "UND" {
            exported.push(name.split('@').next().unwrap().to_owned());
        }
    }
    exported.sort();
    assert_eq!(exported, declared());
    assert!(exported.len() > 15, "{exported:?}");
}

#[test]
fn it_has_the_name_that_programs_ask_for() {
    let Some(text) = readelf("-d") else { return };
    assert!(text.contains("[libtidewire_queue.so.0]"), "{text}");
}
