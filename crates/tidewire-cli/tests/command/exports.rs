//! Records in formats of other programs: what tshark, nfcapd and Python read back, and what becomes of files.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, UdpSocket},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;
use tidewire_testing::{Ends as _, InTime as _, Lines, join_in_time, missing, signal, wait_until};

use crate::common::*;

/// Flows, packets, and bytes from the network layer on.
type Totals = [u64; 3];

/// Totals of `flows --json` for a capture.
pub fn totals(capture: &str) -> Totals {
    let flows = json(&["flows", "--json", capture]);
    let sum = |names: [&str; 2]| {
        flows.iter().map(|flow| names.iter().map(|name| flow[*name].as_u64().unwrap()).sum::<u64>()).sum()
    };
    [flows.len() as u64, sum(["packets_c2s", "packets_s2c"]), sum(["bytes_c2s", "bytes_s2c"])]
}

/// A capture with several connections, of which some have requests, and other things.
pub fn capture(bench: &Bench) -> String {
    capture_of(bench, 200)
}

pub fn capture_of(bench: &Bench, connections: u16) -> String {
    let mut pcap = mixed();
    for port in 41_000..41_000 + connections {
        let said: [(bool, &[u8]); 2] = [
            (false, b"GET /a HTTP/1.1\r\nHost: one.example\r\nUser-Agent: x\ty\r\n\r\n"),
            (true, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=x\r\nContent-Length: 2\r\n\r\nhi"),
        ];
        conversation(&mut pcap, port, &said);
    }
    bench.file("many.pcap", pcap.bytes())
}

pub fn ok(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of a Zeek log by its header.
fn log(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.lines().last().unwrap().starts_with("#close\t"), "{}", path.display());
    let fields = text.lines().find_map(|line| line.strip_prefix("#fields\t")).unwrap();
    let names: Vec<&str> = fields.split('\t').collect();
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let values: Vec<&str> = line.split('\t').collect();
        assert_eq!(values.len(), names.len(), "{line}");
        names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect()
    });
    rows.collect()
}

pub fn visible(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

#[test]
fn every_format_has_the_totals_of_the_ledger() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let expected = totals(&capture);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let [eve, zeek, both, single] =
        [("eve", "eve.json"), ("zeek", "logs"), ("ipfix", "b.ipfix"), ("ipfix-uniflow", "u.ipfix")]
            .map(|(format, name)| place(format, name));
    let words = ["flows", "--to", &eve, "--to", &zeek, "--to", &both, "--to", &single, "-j", "3", &capture];
    let said = ok(&words);
    assert!(said.starts_with(&format!("{} flows and 201 transactions written", expected[0])), "{said}");
    let records = file_lines(&bench.path("eve.json"));
    let flows: Vec<&Value> = records.iter().filter(|record| record["event_type"] == "flow").collect();
    let sum = |of: &dyn Fn(&Value) -> [&Value; 2]| {
        flows.iter().flat_map(|flow| of(flow).map(|value| value.as_u64().unwrap())).sum::<u64>()
    };
    let packets = sum(&|flow| [&flow["flow"]["pkts_toserver"], &flow["flow"]["pkts_toclient"]]);
    let own = |flow: &'_ Value| flow["tidewire"].clone();
    let bytes: u64 = flows
        .iter()
        .map(|flow| ["toserver", "toclient"].map(|side| own(flow)[side]["ip_bytes"].as_u64().unwrap()))
        .map(|[there, back]| there + back)
        .sum();
    assert_eq!([flows.len() as u64, packets, bytes], expected);
    assert_eq!(records.iter().filter(|record| record["event_type"] == "http").count(), 201);
    let stats = records.last().unwrap();
    assert_eq!(stats["stats"]["flow"]["total"], expected[0]);
    // Of all types; the counters of the run are the last one.
    assert_eq!(stats["tidewire"]["records"], records.len() - 1);
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
    let conn = log(&bench.path("logs/conn.log"));
    let of = |names: [&str; 2]| conn.iter().map(|row| number(row, names[0]) + number(row, names[1])).sum::<u64>();
    assert_eq!([conn.len() as u64, of(["orig_pkts", "resp_pkts"]), of(["orig_ip_bytes", "resp_ip_bytes"])], expected);
    let http = log(&bench.path("logs/http.log"));
    assert_eq!(http.len(), 201);
    assert!(http.iter().all(|row| conn.iter().any(|conn| conn["uid"] == row["uid"])));
    assert_eq!(http.iter().filter(|row| row["user_agent"] == "x\\x09y").count(), 200);
    if let Some(reason) = missing(&["tshark"]) {
        return println!("skipped: {reason}");
    }
    for (name, is_biflow) in [("b.ipfix", true), ("u.ipfix", false)] {
        let found = tsharks(&bench.path(name));
        assert_eq!(found[1..], expected[1..], "{name}");
        // A record without a direction back has it all the same, with nothing in it.
        assert!(!is_biflow || found[0] == 2 * expected[0], "{name}: {found:?}");
    }
}

/// Counts, packets and octets that tshark finds in a file of messages (RFC 5655).
pub fn tsharks(file: &Path) -> Totals {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-T", "fields", "-e", "cflow.packets", "-e", "cflow.octets"]);
    command.args(["-E", "occurrence=a", "-E", "separator=;"]);
    let output = command.run_in_time().unwrap();
    let mut totals = [0; 3];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (packets, octets) = line.split_once(';').unwrap();
        for (list, total) in [(packets, 1), (octets, 2)] {
            let values: Vec<u64> = list.split(',').filter_map(|value| value.parse().ok()).collect();
            totals[total] += values.iter().sum::<u64>();
            totals[0] += if total == 1 { values.len() as u64 } else { 0 };
        }
    }
    totals
}

/// Zeek's own program, which no package of Debian 12 has: `TIDEWIRE_ZEEK_CUT` names it.
#[test]
fn zeek_cut_reads_every_log() {
    let Some(program) = std::env::var_os("TIDEWIRE_ZEEK_CUT") else {
        return println!("skipped: TIDEWIRE_ZEEK_CUT names no zeek-cut");
    };
    let bench = Bench::new();
    let capture = capture(&bench);
    ok(&["flows", "--to", &format!("zeek:{}", bench.path("logs").display()), &capture]);
    let cut = |log: &str, names: &[&str]| -> Vec<Vec<String>> {
        let mut command = Command::new("sh");
        command.args(["-c", "log=$1; shift; exec \"$@\" < \"$log\"", "sh"]).arg(bench.path("logs").join(log));
        let output = command.arg(&program).args(names).run_in_time().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };
    let rows = cut("conn.log", &["orig_pkts", "resp_pkts", "orig_ip_bytes", "resp_ip_bytes"]);
    let sum = |columns: [usize; 2]| -> u64 {
        rows.iter().map(|row| columns.map(|column| row[column].parse::<u64>().unwrap()).iter().sum::<u64>()).sum()
    };
    assert_eq!([rows.len() as u64, sum([0, 1]), sum([2, 3])], totals(&capture));
    let agents = cut("http.log", &["host", "user_agent"]);
    assert_eq!(agents.iter().filter(|row| row[0] == "one.example" && row[1] == "x\\x09y").count(), 200);
}

/// A port on which nothing listens.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn nfcapd_collects_what_is_sent() {
    if let Some(reason) = missing(&["nfcapd", "nfdump"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let capture = capture(&bench);
    let expected = totals(&capture);
    let cases: [(&str, &[&str]); 5] = [
        ("ipfix", &[]),
        ("ipfix", &["--ipfix-enterprise", "32473"]),
        ("ipfix-uniflow", &[]),
        ("ipfix-uniflow", &["--ipfix-enterprise", "32473"]),
        ("netflow9", &[]),
    ];
    for (format, more) in cases {
        let collector = Collector::start(bench.path(&format!("{format}{}", more.len())));
        ok(&[&["flows", "--to", &format!("{format}:{}", collector.place), &capture], more].concat());
        let [flows, packets, bytes] = collector.totals();
        assert_eq!([packets, bytes], expected[1..], "{format}");
        assert!(format != "ipfix" || flows == expected[0], "{flows}");
    }
}

/// A capture file is read faster than any collector reads: sending waits for it, as losses would go unnoticed.
#[test]
fn a_collector_gets_all_of_a_large_file() {
    if let Some(reason) = missing(&["nfcapd", "nfdump"]) {
        return println!("skipped: {reason}");
    }
    const FLOWS: u32 = 200_000;
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for flow in 0..FLOWS {
        let [_, a, b, c] = flow.to_be_bytes();
        let (from, to) = (Ipv4Addr::new(10, a, b, c), Ipv4Addr::new(192, 0, 2, 1));
        pcap.frame(&ipv4(from, to, 17, 1, 0, &udp(from, to, (40_000, 7), b"x")));
    }
    let capture = bench.file("large.pcap", pcap.bytes());
    // A collector that other tests keep from running for 75 ms loses some all the same; one that is not waited for, each time.
    let whole = |name: &&str| {
        let collector = Collector::start(bench.path(name));
        ok(&["flows", "--to", &format!("ipfix:{}", collector.place), &capture]);
        collector.totals()[..2] == [u64::from(FLOWS); 2]
    };
    assert!(["large", "again", "once more"].iter().any(whole));
}

/// A peer can begin an entry of QUIC's history with each datagram: beyond a limit of memory they are written before their streams end.
#[test]
fn histories_of_quic_are_bounded() {
    const STREAMS: u32 = 32_000;
    let bench = Bench::new();
    // Retry packets of version 1 (RFC 9000 section 17.2.5), with identifiers of 20 bytes.
    let retry = [&[0xf0, 0, 0, 0, 1, 20][..], &[b'd'; 20], &[20], &[b's'; 20], &[b't'; 16]].concat();
    let mut pcap = Pcap::new();
    for stream in 0..STREAMS {
        let [_, a, b, c] = stream.to_be_bytes();
        let (from, to) = (Ipv4Addr::new(10, a, b, c), Ipv4Addr::new(192, 0, 2, 1));
        let frame = ipv4(from, to, 17, 1, 0, &udp(from, to, (40_000, 443), &retry));
        // Within seconds: all are open at once.
        (0..16).for_each(|_| pcap.frame_at(1_700_000_000_000_000 + u64::from(stream), &frame));
    }
    let capture = bench.file("retries.pcap", pcap.bytes());
    drop(pcap);
    let place = format!("zeek:{}", bench.path("retries").display());
    let output = run(&["flows", "--memory", "256M", "--to", &place, &capture]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && message.contains("memory limit of QUIC's history"), "{message}");
    // Each stream has a line nonetheless.
    let lines = log(&bench.path("retries/quic.log"));
    let streams: std::collections::BTreeSet<&String> = lines.iter().map(|line| &line["uid"]).collect();
    assert_eq!(streams.len(), STREAMS as usize);
}

/// nfcapd, which writes to a folder.
pub struct Collector {
    child: std::process::Child,
    folder: std::path::PathBuf,
    pub place: String,
    /// The port in lines of the kernel's list of sockets.
    bound: String,
}

impl Collector {
    pub fn start(folder: std::path::PathBuf) -> Self {
        let port = free_port();
        fs::create_dir(&folder).unwrap();
        let mut command = Command::new("nfcapd");
        command.arg("-l").arg(&folder).args(["-b", "127.0.0.1", "-t", "3600", "-p", &port.to_string()]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A line for each socket that is bound: the port in hexadecimal.
        let bound = format!(":{port:04X} ");
        wait_until("nfcapd listens", || fs::read_to_string("/proc/net/udp").unwrap().contains(&bound));
        Self { child, folder, place: format!("udp://127.0.0.1:{port}"), bound }
    }

    /// Flows, packets and bytes that it got.
    pub fn totals(mut self) -> Totals {
        wait_until("nfcapd has read everything", || {
            let sockets = fs::read_to_string("/proc/net/udp").unwrap();
            let line = sockets.lines().find(|line| line.contains(&self.bound)).expect("it still listens");
            line.split_whitespace().nth(4).is_some_and(|queues| queues.ends_with(":00000000"))
        });
        signal(&self.child, Signal::TERM);
        assert!(self.child.wait_in_time("nfcapd").success());
        let files = visible(&self.folder);
        assert_eq!(files.len(), 1, "{files:?}");
        let mut command = Command::new("nfdump");
        let output = command.arg("-r").arg(self.folder.join(&files[0])).args(["-o", "csv"]).run_in_time();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        // The last line: flows, bytes, packets.
        let last: Vec<u64> = text.lines().last().unwrap().split(',').filter_map(|part| part.parse().ok()).collect();
        [last[0], last[2], last[1]]
    }
}

/// tshark reads elements of ours: IANA's by name, the others with their number, and their types.
#[test]
fn elements_of_ours_are_read_under_an_enterprise_number() {
    if let Some(reason) = missing(&["tshark"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let capture = capture(&bench);
    let path = bench.path("own.ipfix");
    ok(&["flows", "--to", &format!("ipfix:{}", path.display()), "--ipfix-enterprise", "32473", &capture]);
    assert_eq!(tsharks(&path)[1..], totals(&capture)[1..]);
    let output = Command::new("tshark").arg("-V").arg("-r").arg(&path).run_in_time().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for complaint in ["Malformed", "Expert Info (Warning", "Expert Info (Error"] {
        assert!(!text.contains(complaint), "{complaint}");
    }
    let count = |part: &str| text.lines().filter(|line| line.trim().starts_with(part)).count();
    assert_eq!(count("HTTP Request Host: one.example"), 200);
    assert_eq!(count("HTTP Statuscode: 200"), 201);
    assert_eq!(count("ApplicationName: http"), 201);
    assert_eq!(count("Information Element Name: communityId"), 1);
    // The name of the stream, as bytes.
    let name = "one.example".bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let own = text.lines().filter(|line| line.contains("Type 10: Value (hex bytes): ") && line.ends_with(&name));
    assert_eq!(own.count(), 200);
}

#[test]
fn messages_go_over_tcp_whole() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("ipfix:tcp://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let collector = thread::spawn(move || {
        let mut bytes = Vec::new();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let file = format!("ipfix:{}", bench.path("same.ipfix").display());
    ok(&["flows", "--to", &place, "--to", &file, &capture]);
    let bytes = join_in_time("the collector", collector);
    assert_eq!(bytes, fs::read(bench.path("same.ipfix")).unwrap());
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        assert_eq!(rest[..2], [0, 10]);
        rest = &rest[usize::from(u16::from_be_bytes([rest[2], rest[3]]))..];
    }
}

/// A collector that resets the connection midway: it is connected to again, templates come first there, and what may be lost is said.
#[test]
fn records_that_a_reset_loses_are_said() {
    let bench = Bench::new();
    let packets = fs::read(capture_of(&bench, 2000)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("ipfix:tcp://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let (say, is_reset) = std::sync::mpsc::channel();
    let collector = thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // With the rest of a message unread.
        first.read_exact(&mut [0; 16]).unwrap();
        drop(first);
        say.send(()).unwrap();
        let (mut second, _) = listener.accept().unwrap();
        second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut bytes = Vec::new();
        second.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut run = command(&["flows", "--to", &place, "-"]);
    let mut child = run.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (begin, rest) = packets.split_at(packets.len() / 2);
    input.write_all(begin).unwrap();
    is_reset.recv_timeout(Duration::from_secs(60)).unwrap();
    input.write_all(rest).unwrap();
    drop(input);
    let status = child.wait_in_time("the command");
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(status.code(), Some(4), "{message}");
    assert!(message.contains("connected again") && message.contains("lost with connections"), "{message}");
    let bytes = join_in_time("the collector", collector);
    // A set of templates behind the header.
    assert_eq!((&bytes[..2], &bytes[16..18]), (&[0, 10][..], &[0, 2][..]));
    assert!(bytes.len() > 16_384, "{}", bytes.len());
}

#[test]
fn python_reads_every_line() {
    if let Some(reason) = missing(&["python3"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let capture = capture(&bench);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let places = [place("eve", "eve.json"), place("zeek-json", "logs")];
    ok(&["streams", "--to", &places[0], "--to", &places[1], &capture]);
    let program = "import json, sys\nfor name in sys.argv[1:]:\n rows = [json.loads(line) for line in open(name)]\n \
         print(len(rows), sum(row.get('orig_pkts', 0) + row.get('resp_pkts', 0) for row in rows))";
    let files = ["eve.json", "logs/conn.log", "logs/http.log"].map(|name| bench.path(name));
    let output = Command::new("python3").args(["-c", program]).args(&files).run_in_time().unwrap();
    let lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    let expected = totals(&capture);
    assert_eq!(lines[1..], [format!("{} {}", expected[0], expected[1]), "201 0".into()]);
    assert_eq!(lines[0], format!("{} 0", file_lines(&bench.path("eve.json")).len()));
}

#[test]
fn rotation_loses_no_record() {
    let bench = Bench::new();
    let capture = capture_of(&bench, 2000);
    let expected = totals(&capture);
    for name in ["eve", "ipfix", "logs"] {
        fs::create_dir(bench.path(name)).unwrap();
    }
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let [eve, ipfix, logs] = [place("eve", "eve/eve.json"), place("ipfix", "ipfix/flows.ipfix"), place("zeek", "logs")];
    // Packets are a millisecond apart: a time that ends files, and sizes that end others.
    let words = ["flows", "--to", &eve, "--to", &ipfix, "--to", &logs, "--rotate", "64K,1s", "-j", "2", &capture];
    ok(&words);
    let of = |folder: &str| -> Vec<std::path::PathBuf> {
        let names = visible(&bench.path(folder));
        names.into_iter().map(|name| bench.path(folder).join(name)).collect()
    };
    let eves = of("eve");
    assert!(eves.len() > 2 && eves.iter().all(|path| fs::metadata(path).unwrap().len() <= 64 << 10), "{eves:?}");
    let flows = eves.iter().flat_map(|path| file_lines(path)).filter(|record| record["event_type"] == "flow");
    assert_eq!(flows.count() as u64, expected[0]);
    let conns: Vec<_> = of("logs").into_iter().filter(|path| path.to_string_lossy().contains("/conn.")).collect();
    assert!(conns.len() > 1, "{conns:?}");
    assert_eq!(conns.iter().map(|path| log(path).len() as u64).sum::<u64>(), expected[0]);
    if missing(&["tshark"]).is_none() {
        let files = of("ipfix");
        assert!(files.len() > 1);
        let all = files.iter().map(|path| tsharks(path)).fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
        assert_eq!(all[1..], expected[1..]);
    }
}

/// A packet with payload has a time that is decades ahead: no record has it, and no file begins or ends for it.
#[test]
fn a_time_decades_ahead_rotates_nothing() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for number in 0..8_u16 {
        let mut whole = Pcap::new();
        conversation(
            &mut whole,
            43_000 + number,
            &[(false, b"GET / HTTP/1.1\r\n\r\n"), (true, b"HTTP/1.1 204 No\r\n\r\n")],
        );
        let (mut rest, mut place) = (&whole.bytes()[24..], 0);
        let begun = 1_700_000_000_000_000 + u64::from(number) * 1_000_000;
        while let Some(&[a, b, c, d]) = rest.get(8..12).and_then(|length| length.first_chunk()) {
            let (packet, behind) = rest[16..].split_at(u32::from_le_bytes([a, b, c, d]) as usize);
            let is_ahead = number == 3 && packet.ends_with(b"204 No\r\n\r\n");
            let ahead = if is_ahead { 50 * 365 * 86_400 * 1_000_000 } else { 0 };
            pcap.frame_at(begun + place * 1000 + ahead, packet);
            (rest, place) = (behind, place + 1);
        }
    }
    let capture = bench.file("ahead.pcap", pcap.bytes());
    let transactions = json(&["transactions", "--json", &capture]);
    assert_eq!(transactions.len(), 8);
    for one in &transactions {
        let took = one["end_ns"].as_u64().unwrap() - one["start_ns"].as_u64().unwrap();
        assert!(took < 1_000_000_000, "{one}");
    }
    for name in ["eve", "logs"] {
        fs::create_dir(bench.path(name)).unwrap();
    }
    let (eve, logs) = (bench.path("eve/eve.json"), bench.path("logs"));
    let [to_eve, to_logs] = [format!("eve:{}", eve.display()), format!("zeek:{}", logs.display())];
    ok(&["flows", "--to", &to_eve, "--to", &to_logs, "--rotate", "3s", &capture]);
    for folder in ["eve", "logs"] {
        let names = visible(&bench.path(folder));
        assert!(names.len() > 1, "{names:?}");
        assert!(names.iter().all(|name| !name.contains(".207")), "{names:?}");
    }
}

/// As `tcpdump -w - | tidewire flows - --to eve:…`: counters come while the pipe is silent, with the time of its packets.
#[test]
fn counters_of_a_pipe_come_while_it_is_open() {
    let mut pcap = mixed();
    conversation(&mut pcap, 40_000, &[(false, b"hello"), (true, b"good day")]);
    for words in [["-j", "1"], ["-j", "2"]] {
        let words = [&["flows", "--format", "eve", "--eve-types", "stats", "-"], words.as_slice()].concat();
        let mut child = command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = Lines::new(child.stdout.take().unwrap());
        let mut input = child.stdin.take().unwrap();
        input.write_all(pcap.bytes()).unwrap();
        let line: Value = serde_json::from_str(&lines.until("stats")).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "the pipe is open");
        drop(input);
        assert_eq!(child.wait_in_time("the command").code(), Some(0));
        let last: Value = serde_json::from_str(&lines.until("stats")).unwrap();
        let packets = |record: &Value| record["stats"]["decoder"]["pkts"].as_u64().unwrap();
        assert!(packets(&line) > 8 && packets(&line) == packets(&last), "{line} {last}");
        assert!(line["stats"]["capture"].is_null(), "the losses of a pipe are unknown: {line}");
        let year = |record: &Value| record["timestamp"].as_str().unwrap()[..4].to_owned();
        assert_eq!(year(&line), year(&last), "{line} {last}");
    }
}

#[test]
fn standard_output_has_one_format_and_nothing_else() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let records = json(&["flows", "--format", "eve", &capture]);
    assert!(records.iter().all(|record| record["event_type"].is_string() && record["timestamp"].is_string()));
    let requests = json(&["transactions", "--to", "eve:-", "--service", "http", &capture]);
    // Each with its body, and the counters of the run.
    assert_eq!(requests.len(), 403);
    let (complaint, code) = complaint(&["flows", "--format", "eve", "--to", "ipfix:-", &capture]);
    assert!(code == 2 && complaint.contains("only one format"), "{complaint}");
}

#[test]
fn what_cannot_be_written_is_said() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let cases = [
        (vec!["--to", "evil:x"], 2, "unknown format 'evil'"),
        (vec!["--to", "eve:udp://127.0.0.1:1"], 2, "only ipfix"),
        (vec!["--to", "zeek:-"], 2, "name a folder"),
        (vec!["--format", "zeek"], 2, "name a folder"),
        (vec!["--to", "netflow9:x"], 2, "netflow9 is sent"),
        (vec!["--rotate", "1h"], 2, "--to"),
        (vec!["--to", "eve:-", "--rotate", "x"], 2, "as in 100M,1h"),
        (vec!["--to", "eve:-", "--ipfix-enterprise", "32473"], 2, "--ipfix-enterprise is for IPFIX"),
        (vec!["--to", "ipfix:tcp://127.0.0.1:1", "--udp-rate", "5"], 2, "--udp-rate is for UDP"),
        (vec!["--ipfix-enterprise", "32473"], 2, "--ipfix-enterprise is for IPFIX"),
        (vec!["--to", "ipfix:-", "--ipfix-enterprise", "0"], 2, "IANA's own"),
        (vec!["--to", "ipfix:-", "--ipfix-enterprise", "29305"], 2, "RFC 5103"),
        (vec!["--to", "eve:-", "--json"], 2, "cannot be used with"),
        (vec!["--to", "eve:-", "--top", "bytes"], 2, "--top is for records that are printed"),
        (vec!["--to", "eve:-", "-w", "out.pcapng"], 2, "--write is for records that are printed"),
        (vec!["--to", "eve:/nowhere/eve.json"], 4, "/nowhere/eve.json: cannot be written: its folder does not exist"),
        (vec!["--to", "zeek:/proc/version"], 2, "/proc/version is a file; Zeek's logs are several: name a folder"),
        (vec!["--to", "ipfix:tcp://127.0.0.1:1"], 4, "tcp://127.0.0.1:1: cannot be reached"),
    ];
    for (words, expected, part) in cases {
        let (message, code) = complaint(&[&["flows"][..], &words, &[&capture]].concat());
        assert!(code == expected && message.contains(part), "{words:?}: {code} {message}");
    }
}

/// A file of another program stays; one of an earlier run of this program is replaced, or named.
#[test]
fn what_is_there_is_not_lost_or_taken_for_new() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    if missing(&["python3"]).is_none() && !cfg!(not(feature = "sqlite")) {
        let database = bench.path("mine.db");
        let program = "import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute('create table hosts (name)')
db.commit()";
        let made = Command::new("python3").args(["-c", program]).arg(&database).run_in_time().unwrap();
        assert!(made.status.success());
        let before = fs::read(&database).unwrap();
        let (message, code) = complaint(&["flows", "--to", &place("sqlite", "mine.db"), &capture]);
        assert!(code == 2 && message.contains("has a table 'hosts' of another program"), "{message}");
        assert_eq!(fs::read(&database).unwrap(), before);
        fs::write(bench.path("text.db"), "text").unwrap();
        let (message, code) = complaint(&["flows", "--to", &place("sqlite", "text.db"), &capture]);
        assert!(code == 2 && message.contains("is there, and is no database"), "{message}");
        for _ in 0..2 {
            ok(&["flows", "--to", &place("sqlite", "own.db"), &capture]);
        }
    }
    let logs = place("zeek", "logs");
    let notes = |arguments: &[&str]| String::from_utf8(run(arguments).stderr).unwrap();
    assert!(!notes(&["flows", "--to", &logs, &capture]).contains("earlier"));
    let again = notes(&["transactions", "--service", "dns", "--to", &logs, &capture]);
    assert!(again.contains("logs/conn.log is of an earlier run") && !again.contains("dns.log"), "{again}");
    let selected = ok(&["flows", "--where", "service = http", "--to", &logs, &capture]);
    assert!(selected.contains("tidewire transactions --where selects them"), "{selected}");
}

/// Checksums that the sender's card fills in behind the capture: one record for each protocol, with the number of streams. A packet with a
/// wrong checksum that the receiver did not take is its stream's.
#[test]
fn checksum_offload_is_reported_once() {
    const FLOWS: u16 = 40;
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let (client, server) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
    for port in 41_000..41_000 + FLOWS {
        let mut whole = Pcap::new();
        conversation(&mut whole, port, &[(false, b"GET / HTTP/1.1\r\n\r\n"), (true, b"HTTP/1.1 204 No\r\n\r\n")]);
        let mut rest = &whole.bytes()[24..];
        while let Some(&[a, b, c, d]) = rest.get(8..12).and_then(|length| length.first_chunk()) {
            let (packet, behind) = rest[16..].split_at(u32::from_le_bytes([a, b, c, d]) as usize);
            let mut frame = packet.to_vec();
            if frame[26..30] == client.octets() {
                frame[14 + 20 + 16] ^= 0x55;
            }
            pcap.frame(&frame);
            rest = behind;
        }
        let mut datagram = udp(client, server, (port, 9), b"hello");
        datagram[6] ^= 0x55;
        pcap.frame(&ipv4(client, server, 17, port, 0, &datagram));
    }
    let capture = bench.file("offload.pcap", pcap.bytes());
    let (eve, zeek) = (bench.path("eve.json"), bench.path("zeek"));
    ok(&["flows", "--to", &format!("eve:{}", eve.display()), "--to", &format!("zeek:{}", zeek.display()), &capture]);
    let records = file_lines(&eve);
    let anomalies: Vec<_> = records.iter().filter(|record| record["event_type"] == "anomaly").collect();
    let mut found: Vec<_> = anomalies
        .iter()
        .map(|record| {
            (record["proto"].as_str().unwrap(), &record["tidewire"]["explanation"], &record["tidewire"]["streams"])
        })
        .collect();
    found.sort_unstable_by_key(|(proto, ..)| *proto);
    let (offload, flows) = (Value::from("checksum_offload"), Value::from(FLOWS));
    assert_eq!(found, [("TCP", &offload, &flows), ("UDP", &offload, &flows)]);
    let mut names: Vec<_> = log(&zeek.join("weird.log"))
        .iter()
        .map(|row| (row["name"].clone(), row["addl"].clone(), row["uid"].clone()))
        .collect();
    names.sort();
    let row = |name: &str| (name.to_owned(), format!("{FLOWS} connections: checksum_offload"), "-".to_owned());
    assert_eq!(names, [row("bad_TCP_checksum"), row("bad_UDP_checksum")]);
}

/// Few streams on several paths have records of their own, many have one record together: whichever ended first, with any number of workers.
#[test]
fn streams_on_several_paths_are_distinguished_without_their_order() {
    for (flows, own) in [(5, 5), (40, 0)] {
        let bench = Bench::new();
        let mut pcap = Pcap::new();
        for port in 41_000..41_000 + flows {
            let mut whole = Pcap::new();
            conversation(&mut whole, port, &[(false, b"GET / HTTP/1.1\r\n\r\n"), (true, b"HTTP/1.1 204 No\r\n\r\n")]);
            let (mut rest, mut number) = (&whole.bytes()[24..], 0);
            while let Some(&[a, b, c, d]) = rest.get(8..12).and_then(|length| length.first_chunk()) {
                let (packet, behind) = rest[16..].split_at(u32::from_le_bytes([a, b, c, d]) as usize);
                let mut frame = packet.to_vec();
                // From the request on by another router.
                frame[5] ^= u8::from(number > 2);
                pcap.frame(&frame);
                (rest, number) = (behind, number + 1);
            }
        }
        let capture = bench.file("paths.pcap", pcap.bytes());
        let written = |workers: &str| {
            let (eve, zeek) = (bench.path(&format!("eve{workers}.json")), bench.path(&format!("zeek{workers}")));
            let tos = [format!("eve:{}", eve.display()), format!("zeek:{}", zeek.display())];
            ok(&["flows", "-j", workers, "--to", &tos[0], "--to", &tos[1], &capture]);
            let is_of_paths = |record: &Value| record["tidewire"]["anomaly"] == "link_mismatch";
            let records = file_lines(&eve).into_iter().filter(is_of_paths);
            let weirds = log(&zeek.join("weird.log")).into_iter().map(|row| (row["name"].clone(), row["uid"].clone()));
            (records.collect::<Vec<_>>(), weirds.filter(|(name, _)| name.contains("link_mismatch")).collect::<Vec<_>>())
        };
        let (records, weirds) = written("1");
        assert_eq!(records.iter().filter(|record| record.get("flow_id").is_some()).count(), own, "{records:?}");
        assert_eq!(weirds.iter().filter(|(_, uid)| uid != "-").count(), own, "{weirds:?}");
        if own == 0 {
            let streams: Vec<_> = records.iter().map(|record| &record["tidewire"]["streams"]).collect();
            assert_eq!((streams, weirds.len()), (vec![&Value::from(flows)], 1));
        }
        assert_eq!((records, weirds), written("4"));
    }
}
