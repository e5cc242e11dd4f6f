//! `-w FILE`: the packets of what is printed.

use std::{
    fs,
    io::{Cursor, Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

use tidewire_files::{Block, Reader, Source as _};
use tidewire_testing::{Ends as _, InTime as _, Lines, missing, wait_until};

use crate::common::*;

/// A packet: time, link type, length on the wire, bytes.
type Packet = (u64, u16, u32, Vec<u8>);

fn packets(mut reader: Reader) -> Vec<Packet> {
    let (mut block, mut packets) = (Block::new(), Vec::new());
    while reader.fill(&mut block).unwrap() {
        let batch = block.batch();
        let packet = |frame: &tidewire::Frame| {
            (frame.timestamp.as_nanos(), frame.link.0, frame.wire_bytes, batch.bytes(frame).to_vec())
        };
        packets.extend(batch.frames.iter().map(packet));
    }
    packets
}

fn read(path: impl AsRef<Path>) -> Vec<Packet> {
    packets(Reader::open(path).unwrap())
}

fn read_bytes(bytes: Vec<u8>) -> Vec<Packet> {
    packets(Reader::from_stream("memory", Cursor::new(bytes)).unwrap())
}

/// The numbers in `all` of the packets that were written, each of which must be there.
fn numbers(all: &[Packet], written: &[Packet]) -> Vec<usize> {
    let mut used = vec![false; all.len()];
    let mut find = |packet: &Packet| {
        let at = (0..all.len())
            .find(|&at| !used[at] && all[at] == *packet)
            .unwrap_or_else(|| panic!("a packet of the capture at {} ns, {} bytes on the wire", packet.0, packet.2));
        used[at] = true;
        at + 1
    };
    written.iter().map(&mut find).collect()
}

/// Comments in a file, which have no other place with these words.
fn comments(file: &[u8], word: &str) -> usize {
    file.windows(word.len()).filter(|window| *window == word.as_bytes()).count()
}

struct Written {
    bench: Bench,
    capture: String,
    all: Vec<Packet>,
}

impl Written {
    fn new(pcap: &Pcap) -> Self {
        let bench = Bench::new();
        let capture = bench.file("capture.pcap", pcap.bytes());
        let all = read(&capture);
        Self { bench, capture, all }
    }

    /// Runs with `-w`: numbers of the packets, and the file. The same comes from a pipe, in any order.
    fn numbers(&self, words: &[&str]) -> (Vec<usize>, Vec<u8>) {
        let path = self.bench.path("out.pcapng");
        let output = run(&[words, &[&self.capture, "-w", path.to_str().unwrap()]].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        let plain = run(&[words, &[&self.capture]].concat());
        assert_eq!(output.stdout, plain.stdout, "{words:?}: the same is printed");
        let file = fs::read(&path).unwrap();
        (numbers(&self.all, &read_bytes(file.clone())), file)
    }

    fn piped_numbers(&self, words: &[&str]) -> (Vec<usize>, Vec<u8>) {
        let output = piped(&[words, &["-", "-w", "-"]].concat(), &fs::read(&self.capture).unwrap());
        let mut numbers = numbers(&self.all, &read_bytes(output.stdout.clone()));
        numbers.sort_unstable();
        (numbers, output.stdout)
    }
}

#[test]
fn packets_of_what_is_printed_are_written() {
    let written = Written::new(&mixed());
    // All but a fragment without the rest, and a packet of ARP.
    let all = written.all.len();
    let of_streams: Vec<usize> = (1..=all - 2).collect();
    for words in [&["flows"][..], &["streams"], &["flows", "-j", "3"]] {
        let (numbers, file) = written.numbers(words);
        assert_eq!(numbers, of_streams, "{words:?}");
        assert_eq!(comments(&file, "community_id 1:"), 5);
        assert_eq!(written.piped_numbers(words).0, of_streams, "{words:?}");
    }
    let first: Vec<usize> = (1..=8).collect();
    for words in [&["flows", "--limit", "1"][..], &["match", "-e", "hello"], &["match", "-e", "o", "--limit", "1"]] {
        let (numbers, file) = written.numbers(words);
        assert_eq!((numbers, comments(&file, "stream 1: tcp")), (first.clone(), 1), "{words:?}");
    }
    let (numbers, file) = written.piped_numbers(&["match", "-e", "hello"]);
    assert_eq!((numbers, comments(&file, "match \"hello\" at s2c 19")), (first.clone(), 1));
    let follow = |id: &str| {
        let path = written.bench.path("followed.pcapng");
        let output = run(&["follow", &written.capture, id, "-w", path.to_str().unwrap()]);
        (output.status.code(), numbers_of(&written, &path))
    };
    assert_eq!(follow("1"), (Some(0), first.clone()));
    assert_eq!(follow("2"), (Some(1), Vec::new()));
    let output = piped(&["follow", "-", "1", "-w", "-"], &fs::read(&written.capture).unwrap());
    assert_eq!(self::numbers(&written.all, &read_bytes(output.stdout)), first);
    let fragments = vec![all - 3, all - 2, all - 1];
    let (numbers, file) = written.numbers(&["datagrams"]);
    assert_eq!((numbers, comments(&file, "rebuilt, 48 bytes")), (fragments.clone(), 1));
    assert_eq!(comments(&file, "rejected: end_of_input"), 1);
    assert_eq!(written.piped_numbers(&["datagrams"]).0, fragments);
    assert_eq!(written.numbers(&["datagrams", "--limit", "1"]).0, fragments[..2]);
    assert!(written.numbers(&["flows", "--limit", "0"]).0.is_empty());
    assert!(written.numbers(&["match", "-e", "nowhere"]).0.is_empty());
    assert!(written.piped_numbers(&["match", "-e", "nowhere"]).0.is_empty());
}

fn numbers_of(written: &Written, path: &Path) -> Vec<usize> {
    numbers(&written.all, &read(path))
}

/// Every packet that statistics count, of every capture: fragments, tunnels, held SYNs, several packets in a frame.
#[test]
fn each_frame_that_statistics_count_is_written_once() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let bench = Bench::new();
    let mut captures = 0;
    for folder in fs::read_dir(corpus).unwrap() {
        let files = fs::read_dir(folder.unwrap().path()).into_iter().flatten();
        for path in files.map(|file| file.unwrap().path()) {
            let name = path.to_str().unwrap();
            if !name.contains(".pcap") {
                continue;
            }
            let Ok(reader) = Reader::open(&path) else { continue };
            captures += 1;
            // A frame that a broker cut is written with the length that its packet states.
            let is_cut = name.contains("link-sliced");
            let lengths = |mut packets: Vec<Packet>| {
                packets.iter_mut().filter(|_| is_cut).for_each(|packet| packet.2 = 0);
                packets
            };
            let all = lengths(packets(reader));
            let out = bench.path("out.pcapng");
            let flows = json(&["flows", "--json", name, "-w", out.to_str().unwrap()]);
            let mut expected: u64 = flows.iter().map(|flow| flow["frames_c2s"].as_u64().unwrap()).sum();
            expected += flows.iter().map(|flow| flow["frames_s2c"].as_u64().unwrap()).sum::<u64>();
            let written = lengths(read(&out));
            let written_numbers = numbers(&all, &written);
            assert!(written_numbers.is_sorted(), "{name}: in the order of the capture");
            let piped = piped(&["flows", "--json", "-", "-w", "-"], &fs::read(&path).unwrap());
            if name.contains("aggregate") {
                // One frame has several packets, which a pipe's file has one by one.
                assert!(written.len() as u64 <= expected, "{name}");
                continue;
            }
            // A frame may be a fragment of a packet that is one inside of its tunnel: statistics count the inner ones.
            let counts_inner = name.contains("tunnel-fragments");
            assert!(written.len() as u64 == expected || counts_inner && written.len() as u64 > expected, "{name}");
            let mut from_pipe = numbers(&all, &lengths(read_bytes(piped.stdout)));
            from_pipe.sort_unstable();
            assert_eq!(from_pipe, written_numbers, "{name}");
        }
    }
    assert!(captures > 100, "{captures}");
}

#[test]
fn other_programs_open_the_file() {
    let programs = ["tshark", "tcpdump", "capinfos"];
    if let Some(reason) = missing(&programs) {
        return println!("skipped: {reason}");
    }
    let written = Written::new(&mixed());
    let path = written.bench.path("out.pcapng");
    let path = path.to_str().unwrap();
    let lines = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).run_in_time().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    run(&["match", "-e", "fine", &written.capture, "-w", path]);
    let shown = lines(&["tshark", "-r", path, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.comment"]);
    assert_eq!(shown.len(), 9);
    assert!(
        shown[0].starts_with("1700000000.008000000\tstream 9: tcp 192.0.2.1:40001 > 198.51.100.2:80; community_id 1:")
    );
    assert!(shown[0].ends_with("; match \"fine\" at s2c 0"), "{}", shown[0]);
    assert!(shown[1..].iter().all(|line| line.ends_with('\t')), "{shown:?}");
    assert_eq!(lines(&["tcpdump", "-r", path]).len(), 9);
    assert!(lines(&["capinfos", "-Tcr", path])[0].ends_with("\t9"));
    // Nothing was printed: a file without packets.
    run(&["match", "-e", "nowhere", &written.capture, "-w", path]);
    assert_eq!(lines(&["tcpdump", "-r", path]).len() + lines(&["tshark", "-r", path]).len(), 0);
}

#[test]
fn a_file_has_its_name_when_it_is_complete() {
    let written = Written::new(&mixed());
    let out = written.bench.file("out.pcapng", b"before");
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(written.bench.directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.into_iter().map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut child = command(&["flows", "-", "-w", &out]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&fs::read(&written.capture).unwrap()).unwrap();
    wait_until("a hidden file with packets", || {
        let hidden = names().into_iter().find(|name| name.starts_with(".out.pcapng."));
        hidden.is_some_and(|name| fs::metadata(written.bench.path(&name)).is_ok_and(|file| file.len() > 1_000))
    });
    assert_eq!(fs::read(&out).unwrap(), b"before");
    drop(input);
    assert!(child.wait_in_time("the command").success());
    assert_eq!(names(), ["capture.pcap", "out.pcapng"]);
    assert_eq!(read(&out).len(), written.all.len() - 2);
    // A run that cannot begin leaves nothing behind.
    let (message, code) = complaint(&["flows", &written.capture, "-F", "nonsense=", "-w", &out]);
    assert_eq!((code, names().len()), (2, 2), "{message}");
    // A link is followed, not replaced.
    std::os::unix::fs::symlink("out.pcapng", written.bench.path("link")).unwrap();
    run(&["datagrams", &written.capture, "-w", written.bench.path("link").to_str().unwrap()]);
    assert!(written.bench.path("link").is_symlink());
    assert_eq!(read(&out).len(), 3);
}

#[test]
fn patterns_in_comments_can_be_taken_apart() {
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"say \"hi\"; at all")]);
    let written = Written::new(&pcap);
    let (_, file) = written.numbers(&["match", "-e", "\"hi\"; at"]);
    assert_eq!(comments(&file, r#"match "\"hi\"; at" at c2s 4"#), 1);
}

#[test]
fn a_pipe_gets_packets_as_they_come() {
    let written = Written::new(&mixed());
    for words in [&["flows"][..], &["streams"], &["follow", "-", "1"], &["match", "-e", "hello"], &["datagrams"]] {
        let words = if words[0] == "follow" { words.to_vec() } else { [words, &["-"]].concat() };
        let mut child = command(&[&words[..], &["-w", "-"]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&fs::read(&written.capture).unwrap()).unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, received) = mpsc::channel();
        let reader = thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(bytes @ 1..) = stdout.read(&mut piece) {
                all.extend_from_slice(&piece[..bytes]);
                let _ = sender.send(all.len());
            }
        });
        // The section and the interface take less than 200 bytes.
        while received.recv_timeout(tidewire_testing::PATIENCE).expect("packets, while the input is open") < 200 {}
        assert!(child.try_wait().unwrap().is_none(), "{words:?}: the input is open");
        drop(input);
        assert!(child.wait_in_time("the command").success());
        reader.join().unwrap();
    }
}

/// As `tcpdump -U -w - | tidewire follow - 1`, of which the pipe stays open.
#[test]
fn conversations_and_datagrams_of_a_pipe_are_printed_as_they_come() {
    let mut conversation = Pcap::new();
    let mut talk = Talk::new(40_000);
    talk.handshake(&mut conversation);
    talk.say(&mut conversation, true, b"hello");
    let cases: [(&[&str], &Pcap, &str); 2] = [
        (&["follow", "-", "1", "--as", "json"], &conversation, "\"data\":\"68656c6c6f\""),
        (&["datagrams", "--json", "-"], &mixed(), "\"fragments\":2"),
    ];
    for (words, pcap, expected) in cases {
        let mut child = command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(pcap.bytes()).unwrap();
        let lines = Lines::new(child.stdout.take().unwrap());
        lines.until(expected);
        assert!(child.try_wait().unwrap().is_none(), "{words:?}: the input is open");
        drop(input);
        child.wait_in_time("the command");
    }
}

#[test]
fn a_full_disk_is_reported_and_everything_is_printed() {
    let mut pcap = Pcap::new();
    for port in 1..400 {
        conversation(&mut pcap, port, &[(false, &[b'x'; 1000]), (true, b"HTTP/1.0 200 OK")]);
    }
    let written = Written::new(&pcap);
    let (plain, _) = text(&["flows", &written.capture]);
    let output = run(&["flows", &written.capture, "-w", "/dev/full"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(4), plain.clone()));
    assert!(message.contains("/dev/full: packets cannot be written: No space left on device"), "{message}");
    let script = format!("exec {} flows {} -w - > /dev/full", env!("CARGO_BIN_EXE_tidewire"), written.capture);
    let message = String::from_utf8(Command::new("sh").args(["-c", &script]).run_in_time().unwrap().stderr).unwrap();
    assert!(message.contains("standard output: packets cannot be written: No space left on device"), "{message}");
    // A limit of file sizes: what is there ends with a whole packet, under the reported name.
    let out = written.bench.path("out.pcapng");
    let script = format!(
        "ulimit -f 600; exec {} flows {} -w {}",
        env!("CARGO_BIN_EXE_tidewire"),
        written.capture,
        out.display()
    );
    let mut limited = Command::new("sh");
    limited.args(["-c", &script]).env("TZ", "UTC").env_remove("COLUMNS").stdin(Stdio::null());
    let output = limited.run_in_time().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(4), plain), "{message}");
    let name = message.split_whitespace().find(|word| word.starts_with(".out.pcapng.")).expect("the file's name");
    let there = read(written.bench.path(name));
    assert!(there.len() > 100 && there.len() < written.all.len() && !out.exists(), "{}", there.len());
    let plain_message = message.replace(',', "");
    assert!(plain_message.contains(&format!("the first {} packets", there.len())), "{message}");
    assert_eq!(there, written.all[..there.len()]);
}

/// Runs in a shell where files may have 300 KiB: what was said.
fn limited(words: &str) -> String {
    let script = format!("ulimit -f 300; exec {} {words}", env!("CARGO_BIN_EXE_tidewire"));
    let output = Command::new("bash").args(["-c", &script]).stdin(Stdio::null()).run_in_time();
    let output = output.unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{message}");
    message.replace(',', "")
}

/// A failed write counts the packets that are whole, to the last one; and it is said whatever else fails.
#[test]
fn packets_of_a_failed_write_are_counted_beside_other_failures() {
    let mut pcap = Pcap::new();
    for port in 1..400 {
        conversation(&mut pcap, port, &[(false, &[b'x'; 1000]), (true, b"HTTP/1.0 200 OK")]);
    }
    let written = Written::new(&pcap);
    let (capture, out) = (&written.capture, written.bench.path("out.pcapng"));
    let message = limited(&format!("flows {capture} -w - > {}", out.display()));
    let bytes = fs::read(&out).unwrap();
    assert_eq!(bytes.len(), 300 << 10);
    let count = message.split("the first ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let whole = packets_until_the_cut(&bytes);
    assert_eq!(count, whole.to_string(), "{message}");
    fs::remove_file(&out).unwrap();
    for command in ["flows", "streams", "match -e HTTP"] {
        let message = limited(&format!("{command} {capture} -w {} > /dev/full", out.display()));
        assert!(message.contains("cannot write the output: No space left"), "{command}: {message}");
        assert!(message.contains("out.pcapng: packets cannot be written: File too large"), "{command}: {message}");
        let name = message.split_whitespace().find(|word| word.starts_with(".out.pcapng.")).expect("the file's name");
        let there = read(written.bench.path(name));
        assert!(message.contains(&format!("the first {} packets are", there.len())), "{command}: {message}");
    }
}

fn packets_until_the_cut(bytes: &[u8]) -> usize {
    let mut reader = Reader::from_stream("memory", Cursor::new(bytes.to_vec())).unwrap();
    let (mut block, mut count) = (Block::new(), 0);
    while let Ok(true) = reader.fill(&mut block) {
        count += block.batch().frames.len();
    }
    count
}

/// It is no device: a file there has a hidden name until it is complete, too.
#[test]
fn a_file_in_shared_memory_is_a_file() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return println!("skipped: /dev/shm is closed") };
    let written = Written::new(&mixed());
    let path = folder.path().join("new.pcapng");
    let output = run(&["flows", &written.capture, "-w", path.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert!(!fs::read(path).unwrap().is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let written = Written::new(&mixed());
    let (message, code) = complaint(&["flows", &written.capture, "-w", "4"]);
    assert!(code == 2 && message.contains("the number of workers is -j 4"), "{message}");
    let (message, code) =
        complaint(&["flows", &written.capture, "-w", written.bench.directory.path().to_str().unwrap()]);
    assert!(code == 4 && message.contains("cannot be written: is a directory"), "{message}");
    let (message, code) = complaint(&["flows", &written.capture, "-w", "/nowhere/out.pcapng"]);
    assert!(code == 4 && message.contains("its folder does not exist"), "{message}");
    for words in [&["flows", "--top", "bytes"][..], &["streams", "--sort", "bytes", "--limit", "3"]] {
        let output = piped(&[words, &["-", "-w", "-"]].concat(), b"");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains("files that can be read twice"), "{message}");
    }
}

/// Packets of an undecided stream that have no room are left out from the oldest on, and counted.
#[test]
fn a_pipe_keeps_the_last_megabyte_of_a_stream_until_it_matches() {
    let mut pcap = Pcap::new();
    let mut talk = Talk::new(40_000);
    talk.handshake(&mut pcap);
    for _ in 0..2_000 {
        talk.say(&mut pcap, true, &[b'x'; 1_000]);
    }
    talk.say(&mut pcap, true, b"here it is");
    talk.goodbye(&mut pcap);
    let written = Written::new(&pcap);
    assert_eq!(written.numbers(&["match", "-e", "here it is"]).0.len(), written.all.len());
    let output = piped(&["match", "-e", "here it is", "-", "-w", "-"], pcap.bytes());
    let message = String::from_utf8(output.stderr).unwrap().replace(',', "");
    let left_out = written.all.len() - numbers(&written.all, &read_bytes(output.stdout.clone())).len();
    assert_eq!(comments(&output.stdout, &format!("packets before that had no room: {left_out}")), 1);
    assert!((900..1_100).contains(&left_out), "{left_out}");
    assert!(message.contains(&format!("{left_out} packets of what was printed had no room")), "{message}");
}
