//! One signal ends a command, whatever its input gives and its output takes.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    net::UdpSocket,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tidewire_testing::{Ends as _, InTime as _, Signal, signal, wait_until};

use crate::{common::*, tables::without_columns};

/// Moments of signals (Marsaglia's xorshift): every run has the same ones, unless `SEED` says otherwise.
struct Moments(u64);

/// How often all of it is done, unless `ROUNDS` says so (`make crash`).
const ROUNDS: u64 = 1;

/// All formats of `--to`, and whether a named pipe can be their place.
const FORMATS: [(&str, bool); 11] = [
    ("eve", true),
    ("zeek", false),
    ("zeek-json", false),
    ("ipfix", true),
    ("ipfix-uniflow", true),
    ("netflow9", false),
    ("json", true),
    ("csv", true),
    ("sqlite", false),
    ("parquet", false),
    ("arrow", true),
];

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

impl Moments {
    fn new() -> Self {
        Self(variable("SEED").unwrap_or(35).max(1))
    }

    fn next_ms(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % 300
    }
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status_in_time().unwrap().success());
}

/// The programs that compress, and the bytes of a capture by each.
fn compressed(plain: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let by = |program: &'static str| {
        let mut child = Command::new(program).arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let mut input = child.stdin.take()?;
        let bytes = plain.to_vec();
        let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
        let output = child.output_in_time(program);
        writer.join().unwrap();
        Some((program, output.stdout))
    };
    let all = ["gzip", "zstd", "lz4", "xz", "bzip2"].into_iter().filter_map(by);
    [("plain", plain.to_vec())].into_iter().chain(all).collect()
}

/// Bytes of standard input: none at all, or so many and then no more.
enum Given<'a> {
    Beginning(&'a [u8]),
    /// A named pipe without a writer.
    Pipe,
}

/// The receiver of the output.
#[derive(Clone, Copy, Debug)]
enum Taking {
    /// Standard output, which no process reads.
    NoReader,
    /// A named pipe that no process has opened.
    Pipe,
    File,
}

/// Starts a command; its output is `{}` in the arguments.
fn start(bench: &Bench, number: usize, arguments: &[&str], given: &Given<'_>, taking: Taking) -> Child {
    let out = bench.path(&format!("out-{number}"));
    if matches!(taking, Taking::Pipe) {
        mkfifo(&out);
    }
    let input = bench.path(&format!("in-{number}"));
    if matches!(given, Given::Pipe) {
        mkfifo(&input);
    }
    let out = out.to_str().unwrap().to_owned();
    let arguments: Vec<String> = arguments
        .iter()
        .map(|word| word.replace("{}", &out))
        .map(
            |word| if word == "IN" && matches!(given, Given::Pipe) { input.to_str().unwrap().to_owned() } else { word },
        )
        .map(|word| if word == "IN" { "-".to_owned() } else { word })
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let stdout = if matches!(taking, Taking::NoReader) { Stdio::piped() } else { Stdio::null() };
    command(&arguments).stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
}

/// Most CPU time between a signal and the end, in ticks of 10 ms: a second of a release build, as tests are hardly optimized.
const TICKS_MAX: u64 = 200;

/// Sends one signal, and requires that it is enough: otherwise the command waits for ever, or works on for more than a second.
fn ends_by_one_signal(mut child: Child, given: &Given<'_>, moment_ms: u64, case: &str) {
    // The pipe without a reader stays open until the end.
    let (input, _stdout) = (child.stdin.take(), child.stdout.take());
    let bytes = if let Given::Beginning(bytes) = given { bytes.to_vec() } else { Vec::new() };
    let writer = std::thread::spawn(move || {
        let mut input = input.unwrap();
        let _ = input.write_all(&bytes);
        input
    });
    wait_until("it handles signals", || handles_interrupts(&child) || matches!(child.try_wait(), Ok(Some(_))));
    std::thread::sleep(Duration::from_millis(moment_ms));
    let [_, before] = state_and_cpu(&child);
    signal(&child, if moment_ms.is_multiple_of(2) { Signal::INT } else { Signal::TERM });
    wait_until("it ends", || state_and_cpu(&child)[0] == u64::from(b'Z'));
    let [_, after] = state_and_cpu(&child);
    let output = child.output_in_time(case);
    drop(writer.join());
    // Whatever else runs: one that reads on, or that turns in a loop, takes more.
    assert!(after - before <= TICKS_MAX, "{case}: {} ticks of CPU time behind the signal", after - before);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{case}: {said}");
    assert!(said.contains("interrupted; ") || case.starts_with("record"), "{case}: {said}");
}

/// The state of a process that was not waited for, and its CPU time in ticks (proc_pid_stat(5)).
fn state_and_cpu(child: &Child) -> [u64; 2] {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |field: usize| fields[field - 3].parse::<u64>().unwrap();
    [u64::from(fields[0].as_bytes()[0]), ticks(14) + ticks(15)]
}

fn handles_interrupts(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (Signal::INT.as_raw() - 1) & 1 == 1
}

#[test]
fn one_signal_ends_every_command_whatever_it_reads_and_writes() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for port in 20_000..22_000 {
        conversation(&mut pcap, port, &[(false, b"GET / HTTP/1.1\r\n\r\n"), (true, b"HTTP/1.1 404 No\r\n\r\n")]);
    }
    let compressed = compressed(pcap.bytes());
    let commands: [&[&str]; 11] = [
        &["follow", "IN", "99999"],
        &["flows", "--json", "IN"],
        &["flows", "--json", "-j", "2", "IN"],
        &["streams", "--json", "IN"],
        &["transactions", "--json", "IN"],
        &["match", "-e", "HTTP", "--json", "IN"],
        &["datagrams", "--json", "IN"],
        &["extract", "-o", "{}", "IN"],
        &["streams", "--to", "csv:{}", "--to", "json:-", "IN"],
        &["flows", "--json", "-w", "{}", "IN"],
        &["record", "-o", "{}", "-r", "IN"],
    ];
    let probe = bench.file("probe.pcap", pcap.bytes());
    let columns = without_columns(&bench, &probe).is_none();
    let formats = FORMATS.iter().filter(|(format, _)| columns || !["parquet", "arrow"].contains(format));
    let collector = UdpSocket::bind("127.0.0.1:0").unwrap();
    let place = |format: &str| match format {
        "netflow9" => format!("netflow9:udp://{}", collector.local_addr().unwrap()),
        format => format!("{format}:{{}}"),
    };
    let places: Vec<String> = formats.map(|(format, _)| place(format)).collect();
    let outputs: Vec<[&str; 4]> = places.iter().map(|place| ["flows", "--to", place, "IN"]).collect();
    let commands: Vec<&[&str]> = commands.into_iter().chain(outputs.iter().map(|words| &words[..])).collect();
    let has_pipe = |words: &[&str]| match words {
        ["extract" | "record", ..] => false,
        ["flows", "--to", place, ..] => {
            FORMATS.iter().any(|(format, fits)| *fits && place.split(':').next() == Some(*format))
        }
        words => words.iter().any(|word| word.ends_with("{}")),
    };
    let mut moments = Moments::new();
    let mut number = 0;
    let (bench, compressed) = (&bench, &compressed);
    for words in (0..variable("ROUNDS").unwrap_or(ROUNDS)).flat_map(|_| commands.clone()) {
        // The commands of one kind run side by side.
        std::thread::scope(|scope| {
            let beginnings =
                compressed.iter().map(|(name, bytes)| (*name, Given::Beginning(&bytes[..bytes.len() * 9 / 10])));
            let others = [("nothing", Given::Beginning(&[])), ("pipe", Given::Pipe)];
            for (name, given) in beginnings.chain(others) {
                let taking = match number % 3 {
                    0 => Taking::NoReader,
                    1 if has_pipe(words) => Taking::Pipe,
                    _ => Taking::File,
                };
                let (at, moment_ms) = (number, moments.next_ms());
                number += 1;
                scope.spawn(move || {
                    let case = format!("{} of {name}, {taking:?}, after {moment_ms} ms", words.join(" "));
                    let child = start(bench, at, words, &given, taking);
                    ends_by_one_signal(child, &given, moment_ms, &case);
                });
            }
        });
    }
}

/// Lines of events are read into a store that goes with the command, whether they come or not.
#[test]
fn a_signal_ends_the_reading_of_lines_and_leaves_no_store_of_them() {
    let bench = Bench::new();
    for comes in [false, true] {
        let (tmp, lines) = (bench.path(&format!("tmp-{comes}")), bench.path(&format!("{comes}.jsonl")));
        fs::create_dir(&tmp).unwrap();
        mkfifo(&lines);
        let mut command = command(&["events", "--store", lines.to_str().unwrap(), "--json"]);
        let mut child = command.env("TMPDIR", &tmp).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let is_empty = || fs::read_dir(&tmp).unwrap().next().is_none();
        wait_until("its store", || !is_empty() || child.try_wait().unwrap().is_some());
        let writer = comes.then(|| {
            let mut pipe = fs::File::options().write(true).open(&lines).unwrap();
            let line = br#"{"time_ns":1,"analyzer":"a","kind":"k.k","severity":"low"}"#;
            let some = [&line[..], b"\n"].concat().repeat(100);
            pipe.write_all(&some).unwrap();
            std::thread::spawn(move || while pipe.write_all(&some).is_ok() {})
        });
        signal(&child, Signal::INT);
        let output = child.output_in_time("events");
        writer.into_iter().for_each(|writer| writer.join().unwrap());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(130) && said.contains("interrupted; "), "{comes}: {said}");
        assert!(is_empty(), "{comes}: its store stays");
    }
}

/// The input is read a second time for `-w`: what is interrupted there is not complete, and replaces no file of an earlier run.
#[test]
fn packets_of_an_interrupted_second_reading_keep_a_hidden_name() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for port in 20_000..32_000 {
        conversation(&mut pcap, port, &[(false, &[b'x'; 1000]), (true, &[b'y'; 1000])]);
    }
    let capture = bench.file("a.pcap", pcap.bytes());
    let out = bench.file("out.pcapng", b"an earlier one");
    let hidden = || {
        let entries = fs::read_dir(bench.path("")).unwrap().flatten();
        let is_hidden = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with('.') && name.contains("out"));
        entries.filter(|entry| is_hidden(&entry.file_name())).find_map(|entry| entry.metadata().ok())
    };
    for _ in 0..10 {
        let mut command = command(&["flows", "--limit", "1000000", &capture, "-w", &out]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while hidden().is_none_or(|file| file.len() == 0) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        signal(&child, Signal::TERM);
        let output = child.output_in_time("the command");
        if output.status.success() {
            // It was faster than this test; another attempt.
            fs::write(&out, b"an earlier one").unwrap();
            continue;
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(
            said.contains("out.pcapng: interrupted; ") && said.contains("stays as an earlier run wrote it"),
            "{said}"
        );
        assert_eq!(fs::read(&out).unwrap(), b"an earlier one");
        assert!(hidden().is_some(), "what was copied stays");
        return;
    }
    panic!("the second reading was never interrupted");
}

/// Of a run that was interrupted: its input is a pipe that gives `capture` and stays open.
fn interrupted(words: &[&str], capture: &[u8], is_written: impl Fn() -> bool) -> String {
    let mut child = command(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(capture).unwrap();
    wait_until("something is written", || is_written() || child.try_wait().unwrap().is_some());
    signal(&child, Signal::INT);
    let output = child.output_in_time("the command");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{words:?}: {said}");
    said
}

/// A name is given to what is whole, and to what is not where no file has it.
#[test]
fn an_interrupted_run_replaces_no_packets_of_an_earlier_one() {
    for words in [&["flows", "-"][..], &["streams", "-"], &["match", "-e", "hello", "-"], &["follow", "-", "1"]] {
        for is_there in [false, true] {
            let bench = Bench::new();
            let out = bench.path("out.pcapng");
            if is_there {
                fs::write(&out, "an earlier one").unwrap();
            }
            let hidden = || {
                let mut entries = fs::read_dir(bench.path("")).unwrap().flatten();
                entries.find(|entry| entry.file_name().to_str().is_some_and(|name| name.ends_with(".part")))
            };
            let mut pcap = Pcap::new();
            let mut talk = Talk::new(40_000);
            talk.handshake(&mut pcap);
            talk.say(&mut pcap, true, b"hello");
            let words = [words, &["-w", out.to_str().unwrap()]].concat();
            // The section and the interface alone take less.
            let is_written = || hidden().is_some_and(|file| file.metadata().unwrap().len() > 400);
            let said = interrupted(&words, pcap.bytes(), is_written);
            let there = fs::read(&out).unwrap();
            if is_there {
                assert_eq!(there, b"an earlier one", "{words:?}: {said}");
                let name = hidden().expect("what was written").file_name().into_string().unwrap();
                let expected =
                    "out.pcapng stays as an earlier run wrote it: 4 packets of this one, which is not all, is in ";
                assert!(said.contains(expected) && said.contains(&name), "{words:?}: {said}");
            } else {
                assert!(hidden().is_none() && there.len() > 400, "{words:?}: {said}");
                assert!(said.contains("out.pcapng is not whole: 4 packets are in it"), "{words:?}: {said}");
            }
        }
    }
}

#[test]
fn an_interrupted_extract_replaces_nothing() {
    let bench = Bench::new();
    let (mut whole, mut part) = (Pcap::new(), Pcap::new());
    conversation(&mut whole, 40_000, &[(true, b"all of it")]);
    let mut talk = Talk::new(40_000);
    talk.handshake(&mut part);
    // So much that it is written before the stream ends.
    (0..3000).for_each(|_| talk.say(&mut part, true, &[b'x'; 1000]));
    let is_written = |folder: &str| {
        let folders = fs::read_dir(bench.path("")).unwrap().flatten().map(|entry| entry.path());
        let mut folders = folders.filter(|path| path.to_str().unwrap().contains(folder));
        let is_part = |entry: fs::DirEntry| entry.metadata().unwrap().len() > 10_000;
        folders.any(|path| fs::read_dir(path).unwrap().flatten().any(is_part))
    };
    let (out, new) = (bench.path("out"), bench.path("new"));
    let extract = ["extract", "-", "--force", "-o", out.to_str().unwrap()];
    assert_eq!(piped(&extract, whole.bytes()).status.code(), Some(0));
    let earlier = files(&out);
    assert_eq!(earlier.len(), 2);
    let said = interrupted(&extract, part.bytes(), || is_written("out"));
    let now = files(&out);
    assert!(earlier.iter().all(|file| now.contains(file)) && now.len() == 4, "{said}");
    assert!(said.contains("out is not whole: 1 file was written; 1 of these hidden, "), "{said}");
    assert!(said.contains("out/index.jsonl stays as an earlier run wrote it: "), "{said}");
    let said = interrupted(&["extract", "-", "-o", new.to_str().unwrap()], part.bytes(), || is_written("new"));
    assert!(said.contains("new is not whole: 1 file was written\n") && files(&new).len() == 2, "{said}");
}

/// Names and contents.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}
