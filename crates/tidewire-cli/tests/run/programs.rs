//! Real programs beside tcpdump: those that become daemons, change their user, give up rights, start others, or ask for
//! libpcap by name. Together the instances of each see every packet once, and the report says how many each had.

use std::{fs, net::UdpSocket, os::unix::fs::PermissionsExt as _, path::Path, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidewire_testing::{Ends as _, missing};

use super::{drop_in, frame, ip, numbers, text, wait_until};

/// Frames of UDP, from 64 ports.
const FRAMES: u32 = 640;
/// Connections that begin, for p0f.
const CONNECTIONS: u32 = 40;

/// Where instances write, and what they send.
struct RunDir<'a> {
    folder: &'a Path,
    exports: UdpSocket,
}

/// Findings of all instances about the frames: numbers of those of UDP, or of flows and the packets in them.
enum Seen {
    Frames(Vec<u32>),
    Flows(Vec<u32>),
    Connections(usize),
}

struct Program {
    needs: &'static [&'static str],
    /// Words before the program's.
    own: &'static [&'static str],
    /// `FOLDER` and `PORT` stand for the place's.
    words: &'static [&'static str],
    instances: usize,
    signal: Signal,
    /// Frames that pass its filter.
    wanted: u32,
    seen: fn(&RunDir<'_>, usize, &str) -> Seen,
}

/// The folder that softflowd is compiled to change its root to, and that no option moves. A service manager makes it where there
/// is one; where it is missing the test makes it, and takes it away again.
struct Root(bool);

impl Root {
    const PATH: &str = "/run/softflowd/chroot";

    fn new() -> Self {
        let is_ours = !Path::new(Self::PATH).exists();
        if is_ours {
            fs::create_dir_all(Self::PATH).unwrap();
        }
        Self(is_ours)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.0 {
            let _ = fs::remove_dir(Self::PATH);
            let _ = fs::remove_dir(Path::new(Self::PATH).parent().expect("it has one"));
        }
    }
}

/// Debian's Python, whose package scapy is; another one may come first in `PATH`.
/// Each instance has a file for what it prints: Python's lines are not written as one.
const SNIFF: &str = concat!(
    "exec /usr/bin/python3 '",
    env!("CARGO_MANIFEST_DIR"),
    "/../tidewire-pcap/tests/programs/sniff.py' tw1 > FOLDER/lines-%i"
);

const PROGRAMS: &[Program] = &[
    // Gives up all rights but those to capture.
    Program {
        needs: &["dumpcap"],
        own: &["--fanout", "lb"],
        words: &["dumpcap", "-q", "-P", "-i", "tw1", "-w", "FOLDER/out-%i.pcap"],
        instances: 3,
        signal: Signal::TERM,
        wanted: FRAMES + CONNECTIONS,
        seen: |place, instances, _| {
            let files = (0..instances).map(|i| numbers(&place.folder.join(format!("out-{i}.pcap"))).0);
            Seen::Frames(files.flatten().filter(|number| *number < FRAMES).collect())
        },
    },
    // Starts dumpcap, which captures.
    Program {
        needs: &["tshark", "dumpcap"],
        own: &["--locality", "flow"],
        words: &["tshark", "-l", "-i", "tw1", "-f", "udp", "-T", "fields", "-e", "udp.payload"],
        instances: 2,
        signal: Signal::INT,
        wanted: FRAMES,
        seen: |_, _, out| Seen::Frames(out.lines().filter_map(|line| hexadecimal(line, 0)).collect()),
    },
    // A daemon of another user.
    Program {
        needs: &["softflowd"],
        own: &[],
        words: &[
            "softflowd",
            "-v5",
            "-i",
            "tw1",
            "-n",
            "127.0.0.1:PORT",
            "-c",
            "FOLDER/c-%i",
            "-p",
            "FOLDER/p-%i",
            "udp",
        ],
        instances: 2,
        signal: Signal::TERM,
        wanted: FRAMES,
        seen: |place, _, _| Seen::Flows(flows(&place.exports)),
    },
    // A daemon that opens the interface after it became one, and ends without closing it.
    Program {
        needs: &["fprobe"],
        own: &[],
        words: &["fprobe", "-fudp", "-q20000", "-i", "tw1", "127.0.0.1:PORT"],
        instances: 2,
        signal: Signal::TERM,
        wanted: FRAMES,
        seen: |place, _, _| Seen::Flows(flows(&place.exports)),
    },
    // Ends inside a signal handler.
    Program {
        needs: &["ngrep"],
        own: &["--steer", "udp >-> steer_flow"],
        words: &["ngrep", "-q", "-l", "-W", "single", "-d", "tw1", "tide[0-9]", "udp"],
        instances: 2,
        signal: Signal::INT,
        wanted: FRAMES,
        seen: |_, _, out| {
            let number = |line: &str| line.rsplit_once("tide")?.1.get(..5)?.parse().ok();
            Seen::Frames(out.lines().filter_map(number).collect())
        },
    },
    // A daemon that opened the interface before it became one, and waits by poll(2).
    Program {
        needs: &["p0f"],
        own: &["--engine", "packet"],
        words: &["p0f", "-d", "-o", "FOLDER/log-%i", "-i", "tw1", "tcp"],
        instances: 2,
        signal: Signal::TERM,
        wanted: CONNECTIONS,
        seen: |place, instances, _| {
            let logs = (0..instances).map(|i| text(&place.folder.join(format!("log-{i}"))).matches("mod=syn|").count());
            Seen::Connections(logs.sum())
        },
    },
    // Asks for libpcap by name.
    Program {
        needs: &["/usr/bin/python3", "/usr/lib/python3/dist-packages/scapy/config.py"],
        own: &[],
        words: &["sh", "-c", SNIFF],
        instances: 2,
        signal: Signal::TERM,
        wanted: FRAMES + CONNECTIONS,
        seen: |place, instances, _| {
            let files = (0..instances).map(|i| text(&place.folder.join(format!("lines-{i}"))));
            let lines = files.flat_map(|lines| lines.lines().map(str::to_owned).collect::<Vec<_>>());
            let frames = lines.filter_map(|line| hexadecimal(&line, 84));
            Seen::Frames(frames.filter(|number| *number < FRAMES).collect())
        },
    },
];

/// The number that stands there in hexadecimal digits.
fn hexadecimal(line: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(line.get(at..at + 8)?, 16).ok()
}

/// Packets of each flow that was exported, in NetFlow of version 5; parts of one are put together.
fn flows(exports: &UdpSocket) -> Vec<u32> {
    let (mut packets, mut datagram) = (std::collections::BTreeMap::<Vec<u8>, u32>::new(), [0; 65_536]);
    while let Ok(bytes) = exports.recv(&mut datagram) {
        assert_eq!(datagram[..2], [0, 5]);
        for record in datagram[24..bytes].chunks_exact(48) {
            *packets.entry(record[32..36].to_vec()).or_default() +=
                u32::from_be_bytes(record[16..20].try_into().unwrap());
        }
    }
    packets.into_values().collect()
}

/// The first packet of a connection.
fn syn(number: u32) -> Vec<u8> {
    let mut frame = frame(FRAMES + number);
    frame[16..18].copy_from_slice(&40_u16.to_be_bytes());
    frame[23] = 6;
    frame[34..54].copy_from_slice(&[0, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0]);
    frame[34..36].copy_from_slice(&(2000 + number as u16).to_be_bytes());
    // Where the others have their number.
    frame[42..46].copy_from_slice(&u32::MAX.to_be_bytes());
    frame
}

/// Packet sockets in this thread's namespace.
fn sockets() -> usize {
    text(Path::new("/proc/thread-self/net/packet")).lines().count().saturating_sub(1)
}

/// The link, without any packet but the test's.
fn link() {
    for what in ["default", "all"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{what}/disable_ipv6"), "1");
    }
    for words in ["link set lo up", "link add tw0 type veth peer name tw1", "link set tw0 up", "link set tw1 up"] {
        ip(words);
    }
    let carries = |name: &str| text(Path::new("/proc/thread-self/net/dev")).contains(name);
    wait_until("the link is up", || carries("tw0") && carries("tw1"));
    thread::sleep(Duration::from_millis(100));
}

fn shares(program: &Program, library: &Path) {
    link();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let exports = UdpSocket::bind("127.0.0.1:0").unwrap();
    exports.set_nonblocking(true).unwrap();
    let place = RunDir { folder: folder.path(), exports };
    let port = place.exports.local_addr().unwrap().port().to_string();
    let path = |name: &str| folder.path().join(name);
    let words =
        program.words.iter().map(|word| word.replace("FOLDER", folder.path().to_str().unwrap()).replace("PORT", &port));
    let words: Vec<_> = words.collect();
    let (count, report) = (program.instances.to_string(), path("report"));
    let own = ["-n", &count, "--json", "--every", "100ms", "--report", report.to_str().unwrap()];
    let name = &words[0];
    let mut command = super::command(&[&own, program.own, &["--"]].concat());
    command.args(&words).env("TIDEWIRE_PCAP_LIBRARY", library);
    command.stdout(fs::File::create(path("out")).unwrap()).stderr(fs::File::create(path("said")).unwrap());
    let mut child = command.spawn().unwrap();
    let trouble = |child: &mut std::process::Child| {
        child.try_wait().unwrap().map(|status| panic!("{name}: {status}: {}", text(&path("said"))))
    };
    let report = || serde_json::from_str::<Value>(&text(&report)).unwrap_or_default();
    wait_until(&format!("{name} listens"), || {
        let _ = trouble(&mut child);
        report()["instances"].as_array().is_some_and(|all| all.iter().all(|instance| instance["handles"] == 1))
    });
    // Until each has its filter and reads.
    thread::sleep(Duration::from_millis(1000));
    let wire = tidewire_live::sys::net::PacketSocket::open("tw0").unwrap();
    (0..FRAMES).map(frame).chain((0..CONNECTIONS).map(syn)).for_each(|frame| wire.send(&frame).unwrap());
    drop(wire);
    wait_until(&format!("{name} gets its packets"), || {
        report()["all"]["delivered"].as_u64() >= Some(program.wanted.into())
    });
    kill_process(Pid::from_child(&child), program.signal).unwrap();
    let status = child.wait_in_time("the process");
    assert!(status.success(), "{name}: {status}: {}", text(&path("said")));
    assert_eq!(sockets(), 0, "{name}: something still listens");
    let report = report();
    for counted in ["received", "delivered"] {
        assert_eq!(report["all"][counted], program.wanted, "{name}: {report}");
    }
    let instances = report["instances"].as_array().unwrap();
    assert!(instances.iter().all(|instance| instance["handles"] == 1 && instance["code"] == 0), "{name}: {report}");
    assert!(instances.iter().filter(|instance| instance["received"] != 0).count() >= 2, "{name}: {report}");
    match (program.seen)(&place, program.instances, &text(&path("out"))) {
        Seen::Frames(mut numbers) => {
            numbers.sort_unstable();
            let missing: Vec<_> = (0..FRAMES).filter(|number| !numbers.contains(number)).collect();
            assert!(missing.is_empty(), "{name}: without {missing:?} of {}", text(&path("out")).lines().count());
            assert_eq!(numbers.len(), FRAMES as usize, "{name}: some came twice");
        }
        Seen::Flows(packets) => assert_eq!(packets, [FRAMES / 64; 64], "{name}"),
        Seen::Connections(count) => assert_eq!(count, CONNECTIONS as usize, "{name}"),
    }
}

#[test]
fn programs_share() {
    if let Some(reason) = tidewire_gen::net::missing() {
        return println!("skipped: {reason}");
    }
    let library = drop_in();
    let _root = Root::new();
    let start = |program: &'static Program| {
        if let Some(reason) = missing(program.needs) {
            println!("{}: skipped: {reason}", program.words[0]);
            return None;
        }
        let library = library.clone();
        Some(thread::spawn(move || {
            tidewire_live::sys::net::own_namespace().unwrap();
            shares(program, &library);
        }))
    };
    // At once: each waits most of the time.
    let threads: Vec<_> = PROGRAMS.iter().filter_map(start).collect();
    let failed = threads.into_iter().filter_map(|thread| thread.join().err()).next();
    if let Some(panic) = failed {
        std::panic::resume_unwind(panic);
    }
}
