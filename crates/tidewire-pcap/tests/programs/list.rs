//! The programs.

use std::{path::PathBuf, process::Command, sync::OnceLock, time::Duration};

use tidewire_testing::InTime as _;

use crate::{
    common::{FinishedProgram, Signal},
    read,
    run::{Seat, Source},
};

/// Reads the records that a program made of its packets: from its files and its output, and from the datagrams that it exported.
pub type Records = fn(&Seat, &FinishedProgram, &[Vec<u8>]) -> Result<Vec<String>, String>;

/// A program, and how it is used here.
pub struct Program {
    pub name: &'static str,
    /// Programs that must be there.
    pub needs: &'static [&'static str],
    /// The command.
    pub words: fn(&Seat) -> Vec<String>,
    /// The signal that ends it.
    pub signal: Signal,
    /// Its records of the packets.
    pub records: Records,
    /// Whether it finds its libpcap by name, whatever is preloaded.
    pub loads_by_name: bool,
    /// Whether it can read files.
    pub reads_files: bool,
    /// Whether an instance may have nothing to say.
    pub may_be_idle: bool,
    /// Whether its records are packets in the order in which they came.
    pub keeps_order: bool,
    /// Whether its records are the frames' bytes in hexadecimal digits.
    pub prints_bytes: bool,
    /// Whether it looks at each packet alone: then no order of packets is wrong for it.
    pub looks_at_each: bool,
    /// Whether its own timeout keeps the last packets from it over the system's library: what it makes of the file is what
    /// it should make of the link.
    pub waits_for_ever: bool,
    /// Whether it reads interfaces past libpcap, by a packet socket of its own.
    pub own_socket: bool,
    /// Whether it gives up capabilities that programs in the kernel need, before it opens an interface.
    pub keeps_few_capabilities: bool,
    /// The line that shows that it listens.
    pub ready: Option<&'static str>,
    /// Whether it crashes now and then when it is ended, over the system's library as well: then it is run again.
    pub crashes: bool,
    /// An action before it is ended.
    pub before_end: Option<fn(&Seat)>,
    /// How long it takes until all that was sent is known to it.
    pub settle: Option<Duration>,
}

const PLAIN: Program = Program {
    name: "",
    needs: &[],
    words: |_| Vec::new(),
    signal: Signal::INT,
    records: |_, _, _| Ok(Vec::new()),
    loads_by_name: false,
    reads_files: true,
    may_be_idle: false,
    keeps_order: false,
    prints_bytes: false,
    looks_at_each: false,
    waits_for_ever: false,
    own_socket: false,
    keeps_few_capabilities: false,
    ready: None,
    crashes: false,
    before_end: None,
    settle: None,
};

fn command(words: &[&str], more: Vec<String>) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).chain(more).collect()
}

/// All of them.
pub static PROGRAMS: &[Program] = &[
    Program {
        name: "tcpdump",
        needs: &["tcpdump"],
        words: |seat| command(&["tcpdump", "-nn", "-t", "-e", "-v", "-S", "-xx"], seat.from("-i", "-r")),
        // It may say first that it has given up its privileges.
        records: |_, ended, _| {
            Ok(read::blocks(&ended.out)
                .into_iter()
                .filter(|block| !block.is_empty() && !block.starts_with("dropped privs"))
                .collect())
        },
        keeps_order: true,
        looks_at_each: true,
        ready: Some("listening on"),
        ..PLAIN
    },
    Program {
        name: "tcpdump -w",
        needs: &["tcpdump"],
        words: |seat| command(&["tcpdump", "-Z", "root", "-w", &seat.path("out.pcap")], seat.from("-i", "-r")),
        records: |seat, _, _| read::capture(&seat.path("out.pcap")),
        keeps_order: true,
        looks_at_each: true,
        ready: Some("listening on"),
        ..PLAIN
    },
    Program {
        name: "dumpcap",
        needs: &["dumpcap", "tcpdump"],
        words: |seat| command(&["dumpcap", "-q", "-w", &seat.path("out.pcapng")], seat.from("-i", "-r")),
        records: |seat, _, _| read::capture(&seat.path("out.pcapng")),
        reads_files: false,
        keeps_order: true,
        looks_at_each: true,
        keeps_few_capabilities: true,
        ready: Some("File: "),
        ..PLAIN
    },
    Program {
        name: "tshark",
        needs: &["tshark"],
        words: tshark,
        records: |_, ended, _| Ok(ended.out.lines().map(str::to_owned).collect()),
        reads_files: false,
        keeps_order: true,
        looks_at_each: true,
        settle: Some(Duration::from_millis(2500)),
        keeps_few_capabilities: true,
        ready: Some("Capture started"),
        ..PLAIN
    },
    Program {
        name: "softflowd",
        needs: &["softflowd"],
        words: softflowd,
        signal: Signal::TERM,
        records: |_, _, exports| read::netflow_5(exports),
        looks_at_each: true,
        // Its timeout is 0: it gets blocks of the system's library when they are full, and what is in the last one never.
        waits_for_ever: true,
        before_end: Some(|seat| {
            let _ = Command::new("softflowctl").args(["-c", &seat.path("control"), "shutdown"]).run_in_time();
            std::thread::sleep(Duration::from_millis(300));
        }),
        ..PLAIN
    },
    Program {
        name: "fprobe",
        needs: &["fprobe"],
        words: |seat| {
            let collector = format!("127.0.0.1:{}", seat.port);
            [command(&["fprobe", "-l2", "-fip", "-q20000"], seat.from("-i", "-r")), vec![collector]].concat()
        },
        signal: Signal::TERM,
        records: |_, _, exports| read::netflow_5(exports),
        reads_files: false,
        ..PLAIN
    },
    Program {
        name: "nfpcapd",
        needs: &["nfpcapd", "nfdump"],
        words: |seat| {
            command(&["nfpcapd", "-t", "300", "-w", seat.folder.to_str().expect("a path")], seat.from("-i", "-r"))
        },
        signal: Signal::TERM,
        records: nfpcapd,
        own_socket: true,
        ..PLAIN
    },
    Program {
        name: "p0f",
        needs: &["p0f"],
        words: |seat| command(&["p0f", "-o", &seat.path("log")], seat.from("-i", "-r")),
        records: |seat, _, _| {
            std::fs::read_to_string(seat.path("log")).map(|log| read::p0f(&log)).map_err(|error| error.to_string())
        },
        ..PLAIN
    },
    Program {
        name: "ngrep",
        needs: &["ngrep"],
        words: |seat| {
            [command(&["ngrep", "-q", "-l", "-W", "single"], seat.from("-d", "-I")), vec!["HTTP|tidewire".into()]]
                .concat()
        },
        records: |_, ended, _| Ok(read::ngrep(&ended.out)),
        keeps_order: true,
        looks_at_each: true,
        ..PLAIN
    },
    Program {
        name: "argus",
        needs: &["argus", "ra"],
        words: |seat| command(&["argus", "-F", "/dev/null", "-w", &seat.path("out")], seat.from("-i", "-r")),
        signal: Signal::TERM,
        records: argus,
        // 3.0.8.2: two of its threads race.
        crashes: true,
        ..PLAIN
    },
    Program {
        name: "ssldump",
        needs: &["ssldump", "stdbuf", "openssl"],
        words: |seat| command(&["stdbuf", "-oL", "ssldump", "-n"], seat.from("-i", "-r")),
        records: |_, ended, _| Ok(read::ssldump(&ended.out)),
        ..PLAIN
    },
    Program {
        name: "ndpiReader",
        needs: &["ndpiReader"],
        words: |seat| {
            let time: &[&str] = if seat.is_live() { &["-s", "60"] } else { &[] };
            [command(&["ndpiReader", "-v", "2"], seat.from("-i", "-i")), command(time, Vec::new())].concat()
        },
        records: |_, ended, _| Ok(read::ndpi(&ended.out)),
        ..PLAIN
    },
    Program {
        name: "a program over libnids",
        needs: &["cc", "/usr/include/nids.h"],
        words: |seat| [vec![nids().to_str().expect("a path").to_owned()], seat.from("-i", "-r")].concat(),
        signal: Signal::TERM,
        records: |_, ended, _| Ok(ended.out.lines().map(str::to_owned).collect()),
        ..PLAIN
    },
    Program {
        name: "scapy",
        needs: &["python3", "/usr/lib/python3/dist-packages/scapy/config.py"],
        words: |seat| {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/sniff.py");
            let Source::Device(device) = &seat.source else { return Vec::new() };
            command(&["/usr/bin/python3", script, device], Vec::new())
        },
        signal: Signal::TERM,
        records: |_, ended, _| Ok(ended.out.lines().map(str::to_owned).collect()),
        loads_by_name: true,
        reads_files: false,
        keeps_order: true,
        looks_at_each: true,
        // It is slow.
        settle: Some(Duration::from_millis(5000)),
        prints_bytes: true,
        ready: Some("listening"),
        ..PLAIN
    },
];

fn tshark(seat: &Seat) -> Vec<String> {
    let fields =
        ["frame.len", "eth.src", "ip.src", "ip.dst", "ip.id", "ipv6.src", "tcp.seq_raw", "tcp.payload", "udp.payload"];
    let fields = fields.iter().flat_map(|field| ["-e".to_owned(), (*field).to_owned()]);
    [
        command(&["tshark", "-n", "-l", "-o", "ip.defragment:FALSE", "-T", "fields"], seat.from("-i", "-r")),
        fields.collect(),
    ]
    .concat()
}

fn softflowd(seat: &Seat) -> Vec<String> {
    let (control, pid, to) = (seat.path("control"), seat.path("pid"), format!("127.0.0.1:{}", seat.port));
    // Only flows of IPv4, which this version of NetFlow can carry.
    command(&["softflowd", "-d", "-v", "5", "-c", &control, "-p", &pid, "-n", &to], seat.from("-i", "-r"))
}

fn nfpcapd(seat: &Seat, _: &FinishedProgram, _: &[Vec<u8>]) -> Result<Vec<String>, String> {
    let folder = seat.folder.to_str().ok_or("a path")?;
    let format = "fmt:%pr %sa %sp %da %dp %pkt %byt";
    let text = read::output(&["nfdump", "-R", folder, "-q", "-N", "-o", format])?;
    Ok(text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect())
}

fn argus(seat: &Seat, _: &FinishedProgram, _: &[Vec<u8>]) -> Result<Vec<String>, String> {
    let fields = ["-s", "proto", "saddr:40", "sport", "daddr:40", "dport", "spkts", "dpkts", "sbytes", "dbytes"];
    let text = read::output(&[&["ra", "-F", "/dev/null", "-nn", "-r", &seat.path("out")], &fields[..]].concat())?;
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(lines.filter(|line| !line.starts_with("man ") && !line.starts_with("Proto") && !line.is_empty()).collect())
}

/// The program over libnids, compiled once.
fn nids() -> &'static PathBuf {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("nids");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/nids.c");
        let output = Command::new("cc").args(["-O1", "-o"]).arg(&path).args([source, "-lnids", "-lpcap"]).run_in_time();
        let output = output.expect("cc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, path)
    });
    &built.1
}
