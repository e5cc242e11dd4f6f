//! Output on a terminal: no escape sequences if `TERM` has none, and no remains of a progress bar. script(1) creates the
//! terminal.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire_testing::{Ends as _, InTime as _, wait_until as until};

use crate::common::*;

fn has_script() -> bool {
    let reason = tidewire_testing::missing_terminal(&[]);
    reason.iter().for_each(|reason| println!("skipped: {reason}: it would make a terminal"));
    reason.is_none()
}

/// All that a shell's line writes to a terminal of this kind. `press` is given the terminal's keyboard and what it shows.
fn on_terminal(
    kind: &str,
    line: &str,
    folder: &Path,
    press: impl FnOnce(&mut dyn FnMut(&[u8]), &dyn Fn() -> String),
) -> String {
    let screen = folder.join("screen");
    let program = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap().display();
    // The shell outlives Ctrl-C.
    let line = format!("trap : INT; PATH={program}:$PATH; stty cols 80 rows 24; {line}; echo ended");
    let mut command = Command::new("script");
    command.args(["-q", "-f", "-c", &line]).arg(&screen).env("TERM", kind).env("TZ", "UTC").env_remove("COLUMNS");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let shown = || String::from_utf8_lossy(&fs::read(&screen).unwrap_or_default()).into_owned();
    let mut keys = child.stdin.take().unwrap();
    press(&mut |bytes| keys.write_all(bytes).unwrap(), &shown);
    until("the end", || shown().contains("ended"));
    drop(keys);
    child.wait_in_time("the process");
    shown()
}

/// The final screen of a terminal of 80 columns, of the sequences that are used here.
fn displayed(written: &str) -> String {
    let mut lines = vec![Vec::new()];
    let mut column = 0;
    let mut characters = written.chars().peekable();
    while let Some(c) = characters.next() {
        let line = lines.last_mut().expect("there is always one");
        match c {
            '\r' => column = 0,
            '\n' => lines.push(Vec::new()),
            '\x1b' if characters.next_if_eq(&'[').is_some() => {
                let mut sequence = characters.by_ref().skip_while(|c| c.is_ascii_digit() || *c == ';');
                if sequence.next() == Some('K') {
                    line.truncate(column);
                }
            }
            c if c.is_control() => {}
            c => {
                // The next line begins with the character that has no room any more.
                if column == 80 {
                    lines.push(Vec::new());
                    column = 0;
                }
                let line = lines.last_mut().expect("there is always one");
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
    }
    lines.iter().map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// A capture that comes in pieces, slowly enough for a progress bar; then it waits, as a network does, until `ends`.
fn feed(path: &Path, ends: &Arc<AtomicBool>) -> impl FnOnce() + use<> {
    let mut pcap = Pcap::new();
    for port in 0..2000 {
        conversation(&mut pcap, 10_000 + port, &[(false, b"question"), (true, &[b'x'; 1000])]);
    }
    let (bytes, path, ends) = (pcap.bytes().to_vec(), path.to_owned(), Arc::clone(ends));
    move || {
        let Ok(mut pipe) = fs::OpenOptions::new().write(true).open(path) else { return };
        for piece in bytes.chunks(bytes.len() / 20) {
            if pipe.write_all(piece).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let begun = Instant::now();
        while !ends.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Refused before anything else: no sensor runs here.
#[cfg(feature = "live")]
#[test]
fn raw_records_are_not_for_terminals() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let line = "tidewire attach --raw --directory nowhere; echo code $?";
    let shown = on_terminal("xterm", line, folder.path(), |_, _| {});
    assert!(shown.contains("a terminal cannot show --raw; redirect it") && shown.contains("code 2"), "{shown}");
}

/// Bytes of a stream may command a terminal; so may packets.
#[test]
fn raw_bytes_of_streams_and_packets_are_not_for_terminals() {
    if !has_script() {
        return;
    }
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"\x1b]0;evil\x07\x1b[31mred")]);
    let capture = bench.file("evil.pcap", pcap.bytes());
    for line in ["follow CAPTURE 1 --as raw", "flows CAPTURE -w -"] {
        let line = format!("tidewire {}; echo code $?", line.replace("CAPTURE", &capture));
        let shown = on_terminal("xterm", &line, bench.path("").as_path(), |_, _| {});
        assert!(shown.contains("terminal") && shown.contains("code 2"), "{line}: {shown}");
        assert!(!shown.contains("evil\x07") && !shown.contains("\x1b[31m"), "{line}: {shown:?}");
    }
    let raw = run(&["follow", &capture, "1", "--as", "raw"]);
    assert_eq!(raw.stdout, b"\x1b]0;evil\x07\x1b[31mred", "elsewhere they are what they are");
}

#[test]
fn a_progress_bar_is_gone_when_the_run_is_interrupted() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status_in_time().unwrap().success());
    let ends = Arc::new(AtomicBool::new(false));
    let feeder = thread::spawn(feed(&pipe, &ends));
    // Records of a pipe are printed as they come, unless they are sorted.
    let line = format!("tidewire flows --sort id --limit 1 {}", pipe.display());
    let screen = on_terminal("xterm", &line, folder.path(), |press, shown| {
        until("a progress bar", || shown().contains("B/s, "));
        thread::sleep(Duration::from_millis(2500));
        press(&[3]);
        until("what was noticed", || shown().contains("tidewire: interrupted"));
        ends.store(true, Ordering::Relaxed);
    });
    feeder.join().unwrap();
    let shown = displayed(&screen);
    assert!(shown.contains("tidewire: interrupted"), "{shown}");
    assert!(!shown.contains("B/s, "), "the bar stays:\n{shown}");
}

#[test]
fn a_plain_terminal_gets_no_escape_sequences() {
    if !has_script() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("mixed.pcap");
    fs::write(&capture, mixed().bytes()).unwrap();
    let capture = capture.display();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status_in_time().unwrap().success());
    let lines = [
        format!("tidewire flows {capture}"),
        format!("tidewire follow {capture} 1"),
        "tidewire flows --bogus; tidewire flows -h; tidewire --help".to_owned(),
        format!("tidewire flows --sort id --limit 1 {}", pipe.display()),
    ];
    let feeder = thread::spawn(feed(&pipe, &Arc::new(AtomicBool::new(true))));
    for line in &lines {
        let screen = on_terminal("dumb", line, folder.path(), |_, _| {});
        // Lines of script(1) about itself are the first and the last one.
        assert!(screen.lines().count() > 3, "{screen}");
        assert!(!screen.contains('\x1b'), "{line}: {screen:?}");
    }
    feeder.join().unwrap();
    let bold = on_terminal("xterm", &lines[0], folder.path(), |_, _| {});
    assert!(bold.contains("\x1b[1mID"), "{bold:?}");
    let coloured = on_terminal("xterm", &lines[1], folder.path(), |_, _| {});
    assert!(coloured.contains("\x1b[31m> GET / HTTP") && coloured.contains("< hello"), "{coloured:?}");
    let plain = on_terminal("xterm", &format!("NO_COLOR=1 {}", lines[1]), folder.path(), |_, _| {});
    assert!(plain.contains("> GET / HTTP") && plain.contains("< hello"), "{plain:?}");
}

/// The command that the recorder prints works where it is printed.
#[test]
fn the_command_that_finds_packets_works_on_a_terminal() {
    if !has_script() {
        return;
    }
    let bench = Bench::new();
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");
    let recorded = text(&["record", "-r", demo, "-o", place]).0;
    let (_, printed) = recorded.split_once("find packets:\n  ").unwrap();
    let shown = on_terminal("xterm", printed.trim_end(), bench.path("").as_path(), |_, _| {});
    assert!(shown.contains("packets     155 packets") && shown.contains("recall"), "{shown}");
}
