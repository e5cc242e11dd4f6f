//! `tidewire top` on a terminal: script(1) makes one.

use std::{
    fs,
    io::Write,
    net::UdpSocket,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, kill_process};
use tidewire_testing::{Ends as _, InTime as _, Signal, missing_terminal, wait_until};

use crate::common::alone;

/// As [`alone`], where script(1) can make a terminal.
fn on_terminal(test: fn()) {
    if let Some(reason) = missing_terminal(&["stty"]) {
        println!("skipped: {reason}: it would make a terminal");
        return;
    }
    alone(test);
}

/// A terminal of 80 × 24 on which `top` runs, between two looks at the terminal's settings.
struct Running {
    child: Child,
    folder: tempfile::TempDir,
}

impl Running {
    fn new(arguments: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().display();
        let program = env!("CARGO_BIN_EXE_tidewire");
        let shell = format!(
            "stty cols 80 rows 24; stty -a > {place}/before; \
             sh -c 'echo $$ > {place}/pid; exec {program} top {arguments}'; echo $? > {place}/code; \
             stty -a > {place}/after"
        );
        let mut command = Command::new("script");
        command.args(["-q", "-f", "-c", &shell, &format!("{place}/screen")]).env("TERM", "xterm");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self { child: child.expect("script runs"), folder }
    }

    fn file(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join(name)).unwrap_or_default()).into_owned()
    }

    /// The text drawn so far, without the sequences that place and colour it.
    fn until(&self, what: &str) {
        wait_until(&format!("{what} on the screen"), || self.file("screen").contains(what));
    }

    fn press(&mut self, keys: &[u8]) {
        self.child.stdin.as_mut().expect("piped").write_all(keys).expect("pressed");
    }

    /// It ended with this code, and left the terminal as it was.
    fn ends_with(mut self, code: &str) {
        wait_until("its end", || !self.file("after").is_empty());
        // Output that is still on its way to the file comes first.
        drop(self.child.stdin.take());
        self.child.wait_in_time("script");
        assert_eq!(self.file("code").trim(), code);
        assert_eq!(self.file("before"), self.file("after"), "the terminal's settings");
        let screen = self.file("screen");
        let (left, entered) = (screen.rfind("\x1b[?1049l"), screen.rfind("\x1b[?1049h"));
        assert!(entered.is_some() && left > entered, "the other screen was left");
        assert!(screen.rfind("\x1b[?25h") > screen.rfind("\x1b[?25l"), "the cursor is there");
    }
}

fn send() {
    let from = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = UdpSocket::bind("127.0.0.1:5353").expect("a socket");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        from.send_to(&[0; 500], to.local_addr().expect("bound")).expect("sent");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn flows_are_shown_and_q_leaves_the_terminal_as_it_was() {
    on_terminal(|| {
        let mut running = Running::new("-i lo");
        running.until("packets/s");
        send();
        running.until("127.0.0.1:5353");
        running.press(b"sp");
        running.until("paused");
        running.press(b"q");
        running.ends_with("0");
    });
}

#[test]
fn control_c_and_signals_leave_it_as_well() {
    on_terminal(|| {
        let mut running = Running::new("-i lo -j 2");
        running.until("packets/s");
        running.press(&[3]);
        running.ends_with("0");
        let running = Running::new("-i lo");
        running.until("packets/s");
        let process = running.file("pid");
        let process = process.trim().parse().ok().and_then(Pid::from_raw).expect("a number");
        kill_process(process, Signal::TERM).expect("it runs");
        running.ends_with("0");
    });
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let output = Command::new(env!("CARGO_BIN_EXE_tidewire")).args(["top", "-i", "lo"]).run_in_time().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("tidewire count -i lo"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_tidewire")).arg("top").run_in_time().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("tidewire top -i eth0"));
}
