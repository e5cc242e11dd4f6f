//! The line below the records of a capture: on a terminal only, and gone at the end. script(1) makes a terminal.

use std::{
    fs,
    io::Write as _,
    net::UdpSocket,
    path::Path,
    process::{Command, Stdio},
};

use tidewire_testing::{Ends as _, missing_terminal, wait_until};

use crate::common::alone;

/// All that a shell's line with a capture from `lo` writes to a terminal of 80 columns. It is interrupted once it shows `seen`.
fn screen_of(line: &str, seen: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let screen = folder.path().join("screen");
    let program = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().expect("a folder").display();
    // The shell outlives Ctrl-C.
    let line = format!("trap : INT; PATH={program}:$PATH; stty cols 80 rows 24; {line}; echo ended");
    let mut command = Command::new("script");
    command.args(["-q", "-f", "-c", &line]).arg(&screen).env("TERM", "xterm").env("TZ", "UTC").env_remove("COLUMNS");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("script runs");
    let shown = || String::from_utf8_lossy(&fs::read(&screen).unwrap_or_default()).into_owned();
    wait_until("the capture runs", || shown().contains("lo: packet socket"));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    wait_until("it is shown", || {
        socket.send_to(b"open", "127.0.0.1:9").expect("sent");
        shown().contains(seen)
    });
    let mut keys = child.stdin.take().expect("piped");
    keys.write_all(b"\x03").expect("pressed");
    wait_until("the end", || shown().contains("ended"));
    drop(keys);
    child.wait_in_time("script");
    shown()
}

#[test]
fn a_line_says_what_is_open_and_is_gone_at_the_end() {
    if let Some(reason) = missing_terminal(&["stty"]) {
        return println!("skipped: {reason}: it would make a terminal");
    }
    alone(|| {
        let screen = screen_of("tidewire flows -i lo", "2 flows open");
        // Erased text is not there any more: that of each line begins behind the last return of the carriage.
        let left: Vec<&str> =
            screen.lines().filter_map(|line| line.trim_end_matches('\r').rsplit('\r').next()).collect();
        assert!(!left.iter().any(|line| line.contains("open") || line.contains("^C")), "{screen:?}");
        let row =
            left.iter().find(|line| line.contains("127.0.0.1:9")).unwrap_or_else(|| panic!("a row in {screen:?}"));
        // The first column is right-aligned to seven characters.
        assert!(row.trim_start_matches("\x1b[K").starts_with("      1  udp"), "{row:?}");
        assert!(left.iter().any(|line| line.contains("2 flows, ")), "{screen:?}");
        let drawn = screen.split('\r').filter(|line| line.contains("open"));
        assert!(
            drawn.map(|line| line.trim_end_matches("\x1b[K").chars().count()).all(|length| length <= 74),
            "{screen:?}"
        );
        // Nothing of it where the records go elsewhere.
        let piped = screen_of("tidewire flows -i lo --json --packets 9 | cat", "\"proto\"");
        assert!(!piped.contains("flows open") && !piped.contains("\x1b["), "{piped:?}");
    });
}
