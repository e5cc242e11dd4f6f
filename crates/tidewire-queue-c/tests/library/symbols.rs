//! Exports of the shared library, and its name.

use std::{fs, process::Command};

use tidewire_testing::{InTime as _, missing};

use crate::programs::{built, code_of, compile, declared, declared_in, source};

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

/// The manual pages name every function, have the headers' prototypes, and their examples compile.
#[test]
fn the_manual_page_is_that_of_the_header() {
    for header in ["queue", "event"] {
        has_the_manual_page(header);
    }
}

fn has_the_manual_page(header: &str) {
    let names = declared_in(header);
    let page = fs::read_to_string(source(&format!("../../docs/man/tidewire_{header}.3"))).unwrap();
    let page = page.replace("\\-", "-").replace("\\e", "\\");
    let header = fs::read_to_string(source(&format!("include/tidewire/{header}.h"))).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (header, synopsis) = (words(&code_of(&header)), words(page.split(".SH DESCRIPTION").next().unwrap()));
    for name in names {
        let at = header.rfind(&format!("{name}(")).unwrap();
        let prototype = header[at..].split_once(';').unwrap().0;
        assert!(synopsis.contains(prototype), "{prototype} is not in the manual page");
    }
    let example = page.split(".SH EXAMPLES").nth(1).and_then(|text| text.split(".nf\n").nth(1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("example.c");
    fs::write(&file, example.split(".fi").next().unwrap()).unwrap();
    compile(&file, false);
}
