//! Readers beside each other, attached to a server.

use std::{path::Path, process::Command, thread};

use tidewire_queue::{Attach, Geometry, Reader};
use tidewire_testing::{InTime as _, join_in_time, missing, skip};

use crate::{
    common::{Sensor, conversation},
    programs::{Other, assert_same, by_rust, program, python},
};

fn geometry() -> Geometry {
    Geometry::new(1 << 14, 1 << 22)
}

/// Runs the reader in Python, with its first argument.
fn started_python(script: &Path, words: &[&str]) -> Other {
    Other::start(Path::new("python3"), &[&[script.to_str().unwrap()], words].concat())
}

#[test]
fn readers_in_c_python_and_rust_agree_on_every_record() {
    let Some(program) = program("tests/c/reader.c", false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 7);
    let socket = sensor.socket.to_str().unwrap().to_owned();
    let mut others: Vec<(&str, Other)> = ["copy", "wait", "poll", "place"]
        .into_iter()
        .map(|how| (how, Other::start(&program, &[how, &socket, "streams"])))
        .collect();
    others.extend(python().map(|script| ("python", started_python(&script, &["attach", &socket, "streams"]))));
    let mut reader = Reader::attach(&sensor.socket, &Attach::new("streams", "rust")).unwrap();
    let rust = thread::spawn(move || by_rust(&mut reader));
    for (_, other) in &others {
        other.lines.until("attached");
    }
    sensor.wait_for_readers(others.len() + 1);
    for id in 1..=400 {
        conversation(&mut sensor, id);
        if id % 20 == 0 {
            thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    sensor.finish();
    let expected = join_in_time("the Rust reader", rust);
    assert!(expected.last().unwrap().ends_with(" 4400 4400 4400 0 0 0"), "{:?}", expected.last());
    for (name, other) in others {
        assert_same(name, &other.rest(), &expected);
    }
}

/// A member in Rust, one in C and one in Python: together they read everything once.
#[test]
fn members_of_a_group_in_three_languages_share_the_streams() {
    let (Some(program), Some(script)) = (program("tests/c/reader.c", true), python()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 7);
    let socket = sensor.socket.to_str().unwrap().to_owned();
    let others = [
        Other::start(&program, &["wait", &socket, "streams", "all"]),
        started_python(&script, &["attach", &socket, "streams", "all"]),
    ];
    let mut member = Reader::attach(&sensor.socket, &Attach::new("streams", "rust").in_group("all")).unwrap();
    let mut every = Reader::attach(&sensor.socket, &Attach::new("streams", "every")).unwrap();
    for other in &others {
        other.lines.until("attached");
    }
    sensor.wait_for_readers(4);
    (1..=300).for_each(|id| conversation(&mut sensor, id));
    sensor.finish();
    let is_of_stream = |line: &String| line.starts_with("record") && !line.starts_with("record packet");
    let mut shares: Vec<Vec<String>> = others.into_iter().map(Other::rest).collect();
    shares.push(by_rust(&mut member));
    let mut all: Vec<String> = Vec::new();
    for share in shares {
        let own: Vec<String> = share.into_iter().filter(is_of_stream).collect();
        assert!(own.len() > 300, "a member with {} records", own.len());
        all.extend(own);
    }
    let mut expected: Vec<String> = by_rust(&mut every).into_iter().filter(is_of_stream).collect();
    all.sort();
    expected.sort();
    assert_same("the group", &all, &expected);
}

#[test]
fn wrong_arguments_are_errors() {
    let Some(program) = program("tests/c/wrong.c", false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let sensor = Sensor::new(folder.path(), geometry(), 7);
    let mut command = Command::new(program);
    command.arg(&sensor.socket).arg("streams");
    let output = command.run_in_time().unwrap();
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// Under valgrind, where it is installed: no access out of bounds, nothing that is not freed.
#[test]
fn nothing_leaks() {
    let Some(program) = program("tests/c/reader.c", false) else { return };
    if let Some(reason) = missing(&["valgrind"]) {
        return skip(reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 7);
    let socket = sensor.socket.to_str().unwrap().to_owned();
    let words = ["-q", "--error-exitcode=9", "--leak-check=full", program.to_str().unwrap()];
    let others = ["track", "place", "poll"].map(|how| {
        let other = Other::start(Path::new("valgrind"), &[&words[..], &[how, &socket, "streams"]].concat());
        other.lines.until("attached");
        other
    });
    (1..=20).for_each(|id| conversation(&mut sensor, id));
    sensor.finish();
    for other in others {
        assert_eq!(other.rest().pop().unwrap(), "figures 0 220 220 220 0 0 0");
    }
}

#[test]
fn a_program_goes_on_with_the_successor() {
    let Some(program) = program("tests/c/successor.c", false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), geometry(), 1);
    let other = Other::start(&program, &[sensor.socket.to_str().unwrap(), "streams"]);
    other.lines.until("epoch 1");
    conversation(&mut sensor, 1);
    sensor.abort();
    assert_eq!(other.lines.next("an end").unwrap(), "ended aborted after 11");
    drop(sensor);
    let mut sensor = Sensor::new(folder.path(), geometry(), 2);
    other.lines.until("epoch 2");
    conversation(&mut sensor, 1);
    sensor.finish();
    assert_eq!(other.rest(), ["ended finished after 11"]);
}
