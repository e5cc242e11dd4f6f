//! The command line: exit codes, messages, standard input, damage, tables, workers.

use std::{
    fs,
    io::Write as _,
    process::{Child, Stdio},
    time::Duration,
};

use tidewire_testing::{Ends as _, InTime as _, Lines, Signal, signal, wait_until};
use tidewire_types::tcp_flag::RST;

use crate::common::*;

/// Parts that the command starts by itself are not suggested.
#[test]
fn hidden_commands_are_not_suggested() {
    for (word, suggested) in [("sensors", "'sensor'"), ("sensor-capturee", "'sensor'"), ("complet", "'collect'")] {
        let (said, code) = complaint(&[word]);
        let is_as_expected = said.contains(&format!("a similar subcommand exists: {suggested}"));
        let is_hidden = ["sensor-capture", "sensor-events", "sensor-spool", "completions"];
        let is_hidden = is_hidden.iter().any(|hidden| said.contains(&format!("'{hidden}'")));
        assert!(code == 2 && is_as_expected && !is_hidden, "{word}: {said}");
    }
}

#[test]
fn exit_codes() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let code = |arguments: &[&str]| run(arguments).status.code().unwrap();
    assert_eq!(code(&["--help"]), 0);
    assert_eq!(code(&["flows", "--help"]), 0);
    assert_eq!(code(&["--version"]), 0);
    assert_eq!(code(&["flows", &capture]), 0);
    assert_eq!(code(&["match", &capture, "-e", "hello"]), 0);
    assert_eq!(code(&["match", &capture, "-e", "no such thing"]), 1);
    assert_eq!(code(&["follow", &capture, "1"]), 0);
    assert_eq!(code(&["follow", &capture, "2"]), 1);
    assert_eq!(code(&["flows"]), 2);
    assert_eq!(code(&["flows", &capture, "--no-such-option"]), 2);
    assert_eq!(code(&["flows", &capture, "-F", "port bananas"]), 2);
    assert_eq!(code(&["flows", &capture, "-j", "0"]), 2);
    assert_eq!(code(&["match", &capture]), 2);
    assert_eq!(code(&["follow", &capture]), 2);
    assert_eq!(code(&["extract", &capture]), 2);
    assert_eq!(code(&["flows", "/nonexistent/file.pcap"]), 3);
    assert_eq!(code(&["flows", bench.directory.path().to_str().unwrap()]), 3);
    assert_eq!(code(&["flows", &bench.file("empty.pcap", b"")]), 3);
    assert_eq!(code(&["flows", &bench.file("text.txt", b"no capture, just words, many of them\n")]), 3);
}

#[test]
fn output_that_cannot_be_written() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let status = command(&["flows", &capture]).stdout(full).stderr(Stdio::null()).status_in_time().unwrap();
        assert_eq!(status.code(), Some(4));
    }
    let silent: [(&[&str], i32); 3] = [
        (&["flows", "/nonexistent"], 3),
        (&["flows", "--no-such-option"], 2),
        (&["flows", &capture, "--limit", "0", "--stats"], 4),
    ];
    for (arguments, expected) in silent {
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            let status = command(arguments).stdout(Stdio::null()).stderr(full).status_in_time().unwrap();
            assert_eq!(status.code(), Some(expected), "{arguments:?}");
        }
    }
    for help in ["--help", "--version"] {
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            let status = command(&[help]).stdout(full).stderr(Stdio::null()).status_in_time().unwrap();
            assert_eq!(status.code(), Some(4), "{help}");
        }
    }
    let (message, code) = complaint(&["extract", &capture, "-o", "/proc/none/of/this"]);
    assert_eq!(code, 4, "{message}");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for port in 0..3000 {
        conversation(&mut pcap, 10_000 + port, &[(false, b"question"), (true, b"answer")]);
    }
    let capture = bench.file("many.pcap", pcap.bytes());
    let mut child =
        command(&["flows", "--json", &capture]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.output_in_time("the command");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

/// Ctrl-C while a pipe says nothing: the input so far is processed. Of a compressed one it is unknown whether there is
/// something to read: the message names the wait.
#[test]
fn an_interrupt_is_noticed_while_the_input_waits() {
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"question"), (true, b"answer")]);
    let mut gzip =
        std::process::Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
    gzip.stdin.take().unwrap().write_all(pcap.bytes()).unwrap();
    let compressed = gzip.output_in_time("gzip").stdout;
    // The beginning of a packet whose end does not come.
    let half = [pcap.bytes(), &pcap.bytes()[24..24 + 20]].concat();
    for (bytes, arguments, said) in [
        (pcap.bytes(), &["flows", "--json", "-"][..], "packets read so far"),
        (&half, &["flows", "--json", "-"], "packets read so far"),
        (pcap.bytes(), &["flows", "--json", "--sort", "id", "-j", "2", "-"], "packets read so far"),
        (&compressed[..], &["flows", "--json", "-"], "packets read so far"),
    ] {
        let mut child =
            command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(bytes).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, Signal::INT);
        let line = Lines::new(child.stderr.take().unwrap()).next("it says what the interrupt does").unwrap();
        assert!(line.starts_with(&format!("tidewire: interrupted; {said}")), "{line}");
        drop(input);
        let output = child.output_in_time("the command");
        assert_eq!(output.status.code(), Some(130));
        assert_eq!(lines(&output.stdout).len(), 1);
    }
}

/// Whether a process has a handler for a signal.
fn catches(child: &Child, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

/// Nor does an input of which nothing is wanted have to be read to its end: here it has none that would be reached.
#[test]
fn an_interrupt_is_noticed_while_nothing_is_wanted() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"question"), (true, b"answer")]);
    let capture = bench.file("sparse.pcap", pcap.bytes());
    fs::OpenOptions::new().write(true).open(&capture).unwrap().set_len(1 << 40).unwrap();
    for expression in ["tcp", "udp"] {
        let mut command = command(&["flows", &capture, "-F", expression]);
        let mut child = Killed(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        wait_until("it handles signals", || catches(&child.0, Signal::INT));
        signal(&child.0, Signal::INT);
        let line = Lines::new(child.0.stderr.take().unwrap()).next("it says what the interrupt does").unwrap();
        assert!(line.starts_with("tidewire: interrupted; packets read so far"), "{expression}: {line}");
        assert_eq!(child.0.wait_in_time("the command").code(), Some(130));
    }
}

/// A command that is killed with the value, if it still runs when the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn wrong_values_are_explained() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let cases: [(&[&str], &str); 22] = [
        (&["--limit", "-1"], "expected a whole number"),
        (&["--limit", "1.5"], "expected a whole number"),
        (&["--limit", "99999999999999999999"], "must be at most"),
        (&["--memory", "-1"], "expected a size"),
        (&["--ttl-min", "256"], "must be at most 255"),
        (&["--limt", "1"], "a similar argument exists: '--limit'"),
        (&["--cutoff", "10x"], "unknown unit 'x'"),
        (&["--flush-timeout", "10"], "did you mean 10s?"),
        (&["--flush-timeout", "1s"], "needs --chunk-size"),
        (&["--chunk-size", "1K", "--overlap", "1K"], "needs chunks that are larger"),
        (&["--cutoff-direction", "up=1K"], "unknown direction 'up'"),
        (&["--cutoff-class", "port 80"], "expected EXPR=SIZE"),
        (&["--cutoff-class", "port bananas=1K"], "port bananas"),
        (&["--priority-class", "port 80=9"], "priority must be 0"),
        (&["--base-threshold", "50"], "expected a share"),
        (&["--policy", "beos"], "unknown policy"),
        (&["--target-policy", "10.0.0.0/33=linux"], "prefix length must be"),
        (&["--target-policy", "10.0.0.0/8=beos"], "unknown policy"),
        (&["--key", "vlan,teid"], "unknown part of a key 'teid': expected 5tuple, vlan, tunnel, or vlan,tunnel"),
        (&["--key", ""], "unknown part of a key ''"),
        (&["--workers", "65"], "1 to 64"),
        (&["--sort", "color"], "invalid value"),
    ];
    for (options, expected) in cases {
        let (message, code) = complaint(&[&["streams", &capture], options].concat());
        assert!(message.contains(expected), "{options:?}: {message}");
        assert_eq!(code, 2, "{options:?}");
    }
    // The words behind `--` are a filter expression: nothing to send a misspelt option to.
    assert!(!complaint(&["flows", &capture, "--bogus"]).0.contains("-- --bogus"));
    for (options, expected) in [
        (&["match", "-e", "a", "--mode", "track"][..], "--mode track delivers no data, which match needs"),
        (&["follow", "--stream", "1", "--mode", "track"], "delivers no data"),
        (&["extract", "-o", "/tmp/never", "--mode", "track"], "delivers no data"),
        (&["extract", "-o", &capture], "is a file; -o needs a directory"),
        (&["flows", "-", "-"], "('-') is named twice"),
        (&["match", "-x", "-e", "4"], "hexadecimal digits"),
        (&["match", "-e", ""], "empty pattern"),
        (&["match", "-e", "|zz|"], "'zz' is not hexadecimal"),
        (&["match", "-f", "/nonexistent"], "cannot read /nonexistent"),
        (&["match", "-e", "a", "--stop-after", "0"], "--stop-after must be at least 1"),
        (&["extract", "-o", "/tmp/never", "--fill", "zeroes"], "expected skip, zero, marker"),
    ] {
        let (message, code) = complaint(&[options, &[&capture]].concat());
        assert!(message.contains(expected), "{options:?}: {message}");
        assert_eq!(code, 2, "{options:?}");
    }
}

#[test]
fn standard_input() {
    let bench = Bench::new();
    let pcap = mixed();
    let capture = bench.file("mixed.pcap", pcap.bytes());
    let (expected, _) = text(&["streams", "--json", &capture]);
    let output = piped(&["streams", "--json", "-"], pcap.bytes());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(output.status.code(), Some(0));
}

/// As `tcpdump -w - | tidewire flows -`: a record comes soon after its connection has ended, while the pipe is open.
#[test]
fn records_of_a_pipe_come_as_streams_end() {
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"hello"), (true, b"good day")]);
    let forms: [&[&str]; 4] = [
        &["flows", "--json", "-"],
        &["streams", "--csv", "-", "-j", "2"],
        &["flows", "-"],
        &["match", "-e", "good", "--json", "-"],
    ];
    for arguments in forms {
        let mut child = command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(pcap.bytes()).unwrap();
        // A line with the client's port, not that of names.
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let (sender, received) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            while std::io::BufRead::read_line(&mut out, &mut text).is_ok_and(|bytes| bytes > 0) {
                if text.contains("40000") {
                    let _ = sender.send(());
                }
            }
            text
        });
        let came = received.recv_timeout(Duration::from_secs(20));
        assert!(child.try_wait().unwrap().is_none(), "the pipe is open");
        drop(input);
        assert_eq!(child.wait_in_time("the process").code(), Some(0));
        let text = reader.join().unwrap();
        assert!(came.is_ok(), "{arguments:?}: nothing came before the end: {text}");
        assert_eq!(text.matches("40000").count(), 1, "{text}");
    }
}

#[test]
fn damage_is_reported_and_the_packets_before_are_processed() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"before"), (true, b"the damage")]);
    let whole = pcap.bytes().len();
    conversation(&mut pcap, 40_001, &[(false, b"after")]);
    let capture = bench.file("cut.pcap", &pcap.bytes()[..whole + 7]);
    let output = run(&["streams", "--json", "--stats", "json", &capture]);
    assert_eq!(output.status.code(), Some(3));
    let lines = lines(&output.stdout);
    assert_eq!(lines[0]["s2c"]["reassembled_bytes"], 10);
    assert_eq!(lines[1]["received"], 8);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("cut.pcap") && message.contains(&format!("byte {whole}")), "{message}");
}

#[test]
fn several_files_are_merged_by_time() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"question"), (true, b"answer")]);
    let all = pcap.bytes().to_vec();
    let (mut even, mut uneven) = (all[..24].to_vec(), all[..24].to_vec());
    let (mut at, mut index) = (24, 0);
    while at < all.len() {
        let length = 16 + u32::from_le_bytes(all[at + 8..at + 12].try_into().unwrap()) as usize;
        let part = if index % 2 == 0 { &mut even } else { &mut uneven };
        part.extend_from_slice(&all[at..at + length]);
        (at, index) = (at + length, index + 1);
    }
    let whole = bench.file("whole.pcap", &all);
    let (even, uneven) = (bench.file("even.pcap", &even), bench.file("uneven.pcap", &uneven));
    assert_eq!(text(&["streams", "--json", &uneven, &even]), text(&["streams", "--json", &whole]));
}

#[test]
fn filters_in_all_three_places() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let config = bench.file("filter.toml", b"filter = 'udp'\n");
    let expected = text(&["flows", "--json", &capture, "-F", "udp"]);
    assert!(expected.0.lines().count() > 0 && expected.0.lines().all(|line| line.contains("\"proto\":\"udp\"")));
    assert_eq!(text(&["flows", "--json", &capture, "--", "udp"]), expected);
    assert_eq!(text(&["flows", "--json", &capture, "--config", &config]), expected);
    let (message, code) = complaint(&["flows", &capture, "-F", "udp", "--", "udp"]);
    assert_eq!(code, 2, "{message}");
}

/// Every option is accepted from the command line and does something or is refused: none is silently unknown.
#[test]
fn every_option_can_be_given() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let options = [
        "-F",
        "ip",
        "-j",
        "2",
        "--mode",
        "fast",
        "--policy",
        "bsd-right",
        "--policy-ipv6",
        "first",
        "--target-policy",
        "198.51.100.0/24=windows",
        "--target-policy",
        "2001:db8::1=solaris",
        "--checksum",
        "verify",
        "--ttl-min",
        "3",
        "--urgent",
        "out",
        "--inactivity-timeout",
        "1m30s",
        "--outer",
        "--tunnel-depth",
        "2",
        "--key",
        "vlan,tunnel",
        "--fragment-min",
        "16",
        "--fragments-max",
        "100",
        "--datagram-max",
        "10K",
        "--fragment-timeout",
        "5s",
        "--cutoff",
        "1M",
        "--cutoff-direction",
        "s2c=2K",
        "--cutoff-class",
        "tcp[13] = 2=16K",
        "--chunk-size",
        "16K",
        "--overlap",
        "100",
        "--flush-timeout",
        "2s",
        "--memory",
        "1G",
        "--history",
        "1K",
        "--priority-class",
        "port 53=3",
        "--base-threshold",
        "25%",
        "--overload-cutoff",
        "1M",
        "--limit",
        "3",
        "--stats",
    ];
    for command in ["flows", "streams", "datagrams"] {
        let output = run(&[&[command, &capture], &options[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let bench = Bench::new();
    let mut pcap = mixed();
    for port in 0..200 {
        let said: Vec<u8> = (0..3000_u32).map(|index| (index * u32::from(port)) as u8).collect();
        conversation(&mut pcap, 20_000 + port, &[(false, b"GET / HTTP/1.0"), (true, &said)]);
    }
    let capture = bench.file("many.pcap", pcap.bytes());
    let commands: [&[&str]; 10] = [
        &["flows"],
        &["flows", "--json"],
        &["flows", "--top", "bytes"],
        &["streams", "--json", "--digest", "sha256"],
        &["streams", "--csv", "--limit", "7"],
        &["streams", "--sort", "bytes", "--cutoff", "100"],
        &["match", "-e", "GET", "-e", "hex:0102030405", "--json"],
        &["match", "-e", "HTTP/1.0", "--count"],
        &["match", "-e", "GET /", "--stop-after", "5"],
        &["datagrams", "--json"],
    ];
    for command in commands {
        let alone = text(&[command, &[&capture]].concat());
        for workers in ["2", "3"] {
            assert_eq!(text(&[command, &[&capture, "-j", workers]].concat()), alone, "{command:?} -j {workers}");
        }
    }
    let extract = |workers: &str| {
        let out = bench.path(workers);
        let (_, code) = text(&["extract", &capture, "-j", workers, "-o", out.to_str().unwrap()]);
        assert_eq!(code, 0);
        let mut files: Vec<_> = std::fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    assert_eq!(extract("1"), extract("3"));
}

#[test]
fn tables_keep_to_eighty_columns() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    for command in [&["flows"][..], &["streams", "--digest", "sha256"], &["datagrams"], &["match", "-e", "HTTP"]] {
        let narrow = run_in_columns("80", &[command, &[&capture]].concat());
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(!narrow.contains('\x1b'));
        if !command.contains(&"--digest") {
            let narrow = run_in_columns("40", &[command, &[&capture]].concat());
            assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        }
    }
    let wide = run_in_columns("400", &["flows", &capture]);
    assert!(wide.contains("COMMUNITY ID") && wide.contains("FLAGS>"));
}

/// Anomalies are reported at any width: in a column, or beneath the line where the column has no room.
#[test]
fn anomalies_are_reported_in_narrow_tables_too() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let mut talk = Talk::new(40_000).vlan(100);
    talk.handshake(&mut pcap);
    let first = talk.sequence(false);
    talk.say(&mut pcap, false, &[b'a'; 1000]);
    talk.skip(false, 500);
    talk.say(&mut pcap, false, &[b'c'; 1000]);
    talk.segment(&mut pcap, false, first, PSH | ACK, &[b'a'; 1000]);
    talk.segment(&mut pcap, false, first.wrapping_add(1000), PSH | ACK, &[b'b'; 500]);
    talk.segment(&mut pcap, false, talk.sequence(false), RST | ACK, b"");
    let capture = bench.file("unusual.pcap", pcap.bytes());
    for command in ["flows", "streams"] {
        let narrow = run_in_columns("60", &[command, &capture]);
        assert!(narrow.contains("\n    state: reset, c2s 1.0 kB retransmitted\n"), "{narrow}");
        assert!(narrow.contains("\n    c2s 1 packet out of order, vlan 100\n"), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        let wide = run_in_columns("400", &[command, &capture]);
        assert!(wide.contains("RETRANS  REORDERED") && !wide.contains("retransmitted"), "{wide}");
    }
}

fn run_in_columns(columns: &str, arguments: &[&str]) -> String {
    let output = command(arguments).env("COLUMNS", columns).run_in_time().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn sorting_and_the_largest() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for (port, bytes) in [(1, 10), (2, 1000), (3, 100)] {
        conversation(&mut pcap, port, &[(false, &vec![b'x'; bytes])]);
    }
    let capture = bench.file("three.pcap", pcap.bytes());
    let ports = |options: &[&str]| -> Vec<u64> {
        let flows = json(&[&["flows", "--json", &capture], options].concat());
        flows.iter().map(|flow| flow["client"]["port"].as_u64().unwrap()).collect()
    };
    assert_eq!(ports(&[]), [1, 2, 3]);
    assert_eq!(ports(&["--sort", "bytes"]), [1, 3, 2]);
    assert_eq!(ports(&["--sort", "bytes", "--limit", "2"]), [1, 3]);
    assert_eq!(ports(&["--top", "bytes"]), [2, 3, 1]);
    assert_eq!(ports(&["--top", "bytes", "--limit", "1"]), [2]);
    // The column of the order is shown, however narrow the terminal is.
    for (key, title) in [("missing", "MISSING"), ("duration", "DURATION"), ("retransmitted", "RETRANS")] {
        let narrow = run_in_columns("80", &["flows", "--top", key, &capture]);
        assert!(narrow.lines().next().unwrap().contains(title), "{narrow}");
    }
    let without = run_in_columns("80", &["flows", "--top", "missing", "--columns=-missing", &capture]);
    assert!(!without.contains("MISSING"), "{without}");
}
