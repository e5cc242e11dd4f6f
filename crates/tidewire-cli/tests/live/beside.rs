//! Privileges and metrics of captures from interfaces.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpStream, UdpSocket},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tidewire_testing::{Ends as _, Lines, PATIENCE, Signal, signal};

use crate::common::alone;

/// A capture with its messages on standard error.
struct Running {
    child: Child,
    said: Lines,
}

impl Running {
    fn new(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let said = Lines::new(child.stderr.take().expect("piped"));
        Self { child, said }
    }

    /// Reads until this message.
    fn until(&mut self, what: &str) -> String {
        self.said.until(what)
    }

    fn end(self) -> (i32, String) {
        let output = self.child.output_in_time("a capture of lo");
        (output.status.code().expect("by itself"), String::from_utf8(output.stdout).expect("text"))
    }
}

fn send(datagrams: usize) {
    let from = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..datagrams {
        from.send_to(b"twelve bytes", to.local_addr().expect("bound")).expect("sent");
    }
}

fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn figure(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn figures_of_a_capture_are_shown() {
    alone(|| {
        let mut running =
            Running::new(&["flows", "-i", "lo", "--duration", "4s", "--json", "--metrics", "127.0.0.1:0"]);
        let line = running.until("serving OpenMetrics at");
        let address =
            line.trim().strip_suffix("/metrics").and_then(|line| line.rsplit_once("//")).expect("an address").1;
        send(40);
        let begun = Instant::now();
        let text = loop {
            let text = scrape(address);
            // The scrapes are captured, too.
            if figure(&text, "tidewire_packets_total{fate=\"tracked\"}").is_some_and(|count| count >= 40.0) {
                break text;
            }
            assert!(begun.elapsed() < Duration::from_secs(4), "{text}");
            thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(figure(&text, "tidewire_ring_dropped_packets_total{worker=\"0\"}"), Some(0.0));
        assert!(figure(&text, "tidewire_interface_received_packets_total{interface=\"lo\"}").expect("shown") >= 40.0);
        let (code, printed) = running.end();
        assert_eq!(code, 0);
        assert!(printed.contains("\"proto\":\"udp\""), "{printed}");
    });
}

/// Capabilities of all threads of the process, as the kernel reports them.
fn statuses(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let status = |task: std::io::Result<fs::DirEntry>| fs::read_to_string(task.expect("listed").path().join("status"));
    tasks.map(|task| status(task).expect("readable")).collect()
}

fn has(status: &str, name: &str, value: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim) == Some(value)
}

#[test]
fn privileges_are_given_up_by_every_thread() {
    alone(|| {
        for workers in ["1", "3"] {
            let arguments = ["flows", "-i", "lo", "--duration", "2s", "-j", workers, "--metrics", "127.0.0.1:0"];
            let mut running = Running::new(&arguments);
            running.until("serving OpenMetrics at");
            thread::sleep(Duration::from_millis(500));
            let statuses = statuses(running.child.id());
            // Its own, that of signals, that of figures, and the workers' where there are several.
            assert!(statuses.len() >= if workers == "1" { 3 } else { 6 }, "{} threads", statuses.len());
            for status in statuses {
                for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                    assert!(has(&status, set, "0000000000000000"), "{status}");
                }
                assert!(has(&status, "NoNewPrivs", "1") && has(&status, "Seccomp", "2"), "{status}");
            }
            assert_eq!(running.end().0, 0);
        }
        let mut running = Running::new(&["flows", "-i", "lo", "--duration", "1s", "--no-sandbox"]);
        running.until("lo:");
        thread::sleep(Duration::from_millis(200));
        assert!(statuses(running.child.id()).iter().all(|status| has(status, "Seccomp", "0")));
        assert_eq!(running.end().0, 0);
    });
}

#[test]
fn files_are_written_nevertheless() {
    alone(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("out");
        let path = output.to_str().expect("text");
        let mut running = Running::new(&["extract", "-i", "lo", "--duration", "2s", "-o", path]);
        running.until("lo:");
        thread::sleep(Duration::from_millis(300));
        send(5);
        let (code, _) = running.end();
        assert_eq!(code, 0);
        let files: Vec<_> = fs::read_dir(&output).expect("made").map(|entry| entry.expect("listed").path()).collect();
        let sizes = files.iter().map(|file| fs::metadata(file).expect("readable").len());
        assert!(sizes.into_iter().any(|size| size == 60), "5 datagrams of 12 bytes in one of {files:?}");
    });
}

#[test]
fn a_signal_ends_it() {
    alone(|| {
        let mut running = Running::new(&["flows", "-i", "lo", "--json"]);
        running.until("lo:");
        thread::sleep(Duration::from_millis(300));
        send(3);
        thread::sleep(Duration::from_millis(300));
        signal(&running.child, Signal::INT);
        let (code, printed) = running.end();
        assert_eq!(code, 0);
        assert!(printed.contains("\"proto\":\"udp\""), "{printed}");
    });
}
