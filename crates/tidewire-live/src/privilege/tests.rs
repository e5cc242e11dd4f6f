//! Tries forbidden operations: in a process of its own, which is this test run again with one name to run and its part to
//! play in the environment.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::UdpSocket,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use caps::Capability;
use tidewire_testing::InTime as _;

use super::*;
use crate::{
    Interface, LiveEngine, LiveSettings,
    kernel::{KernelSettings, KernelSocketFilter, KernelXdp},
    open,
    sys::{
        bpf::{ARRAY, HASH, Map, Program, XDP},
        net::own_namespace,
        sandbox_probe,
    },
};

const PART: &str = "TIDEWIRE_TEST_PART";

/// Runs a test of this file in a process of its own; what it printed. `None`: not here, with the reason printed.
fn child(test: &str, folder: &Path) -> Option<String> {
    let name = format!("privilege::tests::{test}");
    let mut command = Command::new(env::current_exe().expect("this test"));
    command.args(["--exact", &name, "--nocapture", "--test-threads=1"]).env(PART, folder);
    let output = command.stdin(Stdio::null()).run_in_time().expect("the test runs again");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    if let Some(line) = said.lines().find(|line| line.contains("skipped:")) {
        println!("{line}");
        return None;
    }
    Some(said)
}

/// The folder, in the process that is to play the part.
fn part() -> Option<std::path::PathBuf> {
    env::var_os(PART).map(Into::into)
}

/// The test's own thread is not the process's first: that one waits, and is reported as missing.
fn alone(confined: &Confined) -> bool {
    confined.missing.iter().all(|missing| missing.contains("1 threads that run already"))
}

fn refused<T>(what: &str, tried: std::io::Result<T>) {
    match tried {
        Ok(_) => panic!("{what} was possible"),
        Err(error) => assert!(
            matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES)),
            "{what} failed for another reason: {error}"
        ),
    }
}

#[test]
fn what_is_forbidden_fails() {
    let Some(folder) = part() else {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child("what_is_forbidden_fails", folder.path()) {
            assert!(said.contains("all was refused"), "{said}");
            assert_eq!(fs::read_to_string(folder.path().join("new/written")).expect("it was written"), "text");
        }
        return;
    };
    let before = fs::File::open("/etc/passwd");
    fs::create_dir(folder.join("new")).expect("made");
    let confined = Confinement::new().writable(folder.join("new")).confine().expect("possible");
    assert!(alone(&confined), "{confined:?}");
    // Allowed: the writable folder.
    fs::write(folder.join("new/draft"), "text").expect("allowed");
    fs::rename(folder.join("new/draft"), folder.join("new/written")).expect("allowed");
    assert_eq!(fs::read_to_string(folder.join("new/written")).expect("allowed"), "text");
    drop(before);
    // Files.
    refused("reading a file outside", fs::read("/etc/passwd"));
    refused("reading its own program", fs::read(env::current_exe().expect("known")));
    refused("listing a folder outside", fs::read_dir("/"));
    refused("writing outside", fs::write(folder.join("beside"), "text"));
    refused("moving outside", fs::rename(folder.join("new/written"), folder.join("beside")));
    refused("a link to what is outside", std::os::unix::fs::symlink("/etc/passwd", folder.join("new/link")));
    refused("a pipe to others", std::os::unix::net::UnixListener::bind(folder.join("new/socket")));
    // Programs, other processes.
    refused("running a program", Command::new("/bin/true").status());
    refused("being traced", sandbox_probe::be_traced());
    refused("tracing the parent", sandbox_probe::trace(std::os::unix::process::parent_id()));
    refused("memory that can be run", sandbox_probe::map_executable());
    // The network.
    refused("a UDP socket", UdpSocket::bind("127.0.0.1:0"));
    refused("a TCP socket", std::net::TcpListener::bind("127.0.0.1:0"));
    refused("a packet socket", sandbox_probe::socket(libc::AF_PACKET, libc::SOCK_RAW));
    refused("an AF_XDP socket", sandbox_probe::socket(libc::AF_XDP, libc::SOCK_RAW));
    refused("a raw socket", sandbox_probe::socket(libc::AF_INET, libc::SOCK_RAW));
    // Privileges.
    refused("a program in the kernel", Map::new(HASH, 4, 4, 1));
    refused("another user", sandbox_probe::change_user());
    refused("another name for the machine", own_namespace());
    for set in [caps::CapSet::Effective, caps::CapSet::Permitted, caps::CapSet::Inheritable] {
        assert!(caps::read(None, set).expect("readable").is_empty());
        caps::set(None, set, &[Capability::CAP_NET_RAW].into()).expect_err("capabilities came back");
    }
    assert!(!caps::has_cap(None, caps::CapSet::Bounding, Capability::CAP_SYS_ADMIN).expect("readable"));
    // So do threads that begin now.
    thread::spawn(|| {
        refused("reading a file outside", fs::read("/etc/passwd"));
        refused("running a program", Command::new("/bin/true").status());
        assert!(caps::read(None, caps::CapSet::Permitted).expect("readable").is_empty());
    })
    .join()
    .expect("threads can be started");
    println!("all was refused");
}

/// Connections to named ports and to sockets of packets; none to a socket through which root could act.
#[test]
fn what_may_connect_connects_to_that_only() {
    let Some(folder) = part() else {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child("what_may_connect_connects_to_that_only", folder.path()) {
            assert!(said.contains("it connected"), "{said}");
        }
        return;
    };
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, listen, socket};
    let listener = || std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (right, wrong) = (listener(), listener());
    let at = |name: &str| SocketAddrUnix::new(folder.join(name)).expect("a path");
    let unix = |kind, name: &str| {
        let made = socket(AddressFamily::UNIX, kind, None).expect("a socket");
        bind(&made, &at(name)).expect("a name");
        listen(&made, 4).expect("it listens");
        made
    };
    let (_packets, _stream) = (unix(SocketType::SEQPACKET, "packets"), unix(SocketType::STREAM, "stream"));
    let port = |listener: &std::net::TcpListener| listener.local_addr().expect("bound").port();
    let is_named = folder.join("named").exists();
    let ports = Some(vec![port(&right)]);
    let confined = Confinement::new().connect(Connections::To { ports, names: is_named }).confine().expect("possible");
    let connect_to = |listener: &std::net::TcpListener| std::net::TcpStream::connect(("127.0.0.1", port(listener)));
    connect_to(&right).expect("allowed");
    if alone(&confined) {
        refused("another port", connect_to(&wrong));
    }
    let packets = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("allowed");
    connect(&packets, &at("packets")).expect("allowed");
    refused("a stream to a local service", std::os::unix::net::UnixStream::connect(folder.join("stream")));
    refused("datagrams", UdpSocket::bind("127.0.0.1:0"));
    refused("a raw socket", sandbox_probe::socket(libc::AF_INET, libc::SOCK_RAW));
    refused("listening", std::net::TcpListener::bind("127.0.0.1:0"));
    refused("running a program", Command::new("/bin/true").status());
    refused("reading a file", fs::read("/etc/passwd"));
    println!("it connected");
}

/// A capture that is under way goes on: rings, counters, interfaces, maps, files.
#[test]
fn a_capture_goes_on() {
    let Some(folder) = part() else {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child("a_capture_goes_on", folder.path()) {
            assert!(said.contains("it went on"), "{said}");
        }
        return;
    };
    if let Err(error) = tidewire_testing::privileged(own_namespace) {
        println!("skipped: no network namespace of our own: {error}");
        return;
    }
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status_in_time().is_ok_and(|status| status.success()));
    let from = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    from.connect(to.local_addr().expect("bound")).expect("connected");
    let maps = [HASH, ARRAY].map(|kind| Map::new(kind, 4, 8, 4).expect("a map"));
    let mut settings = LiveSettings::new(["lo"]);
    settings.ring_bytes = 4 << 20;
    let mut live = open(&settings).expect("rings");
    let confined = Confinement::new().writable(&folder).confine().expect("possible");
    assert!(alone(&confined), "{confined:?}");
    let mut worker = live.workers.pop().expect("a worker");
    let path = folder.join("frames");
    let count = thread::spawn(move || {
        let (begun, mut count) = (Instant::now(), 0);
        while count < 20 && begun.elapsed() < Duration::from_secs(20) {
            if count < 20 {
                from.send(b"to be captured").expect("sent");
            }
            count += worker.poll(Duration::from_millis(20), |batch| {
                let bytes: Vec<u8> = batch.frames.iter().flat_map(|frame| batch.bytes(frame).to_vec()).collect();
                fs::write(&path, bytes).expect("written");
            });
        }
        assert!(worker.counts().is_ok() && worker.troubles().is_empty());
        count
    });
    assert!(count.join().expect("it ends") >= 20);
    let report = live.monitor.report().expect("interfaces can be looked at");
    assert!(report[0].counts.expect("it is there").rx_packets >= 20);
    for map in &maps {
        map.update(&[0; 4], &[5; 8], 0).expect("updated");
        assert_eq!(map.lookup(&[0; 4]).expect("looked up"), Some(vec![5; 8]));
    }
    assert!(maps[0].delete(&[0; 4]).expect("deleted"));
    assert_eq!(maps[0].next_key(None).expect("listed"), None);
    assert!(fs::metadata(folder.join("frames")).expect("a file").len() > 42);
    println!("it went on");
}

/// Who takes over a capture does not get to speak: neither through its sockets, nor through a copy of one.
#[test]
fn nothing_is_sent_through_a_capture() {
    if part().is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child("nothing_is_sent_through_a_capture", folder.path()) {
            assert!(said.contains("it stayed silent"), "{said}");
        }
        return;
    }
    if let Err(error) = tidewire_testing::privileged(own_namespace) {
        println!("skipped: no network namespace of our own: {error}");
        return;
    }
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status_in_time().is_ok_and(|status| status.success()));
    let sent = || Interface::find("lo").expect("it is there").counts.tx_packets;
    let mut settings = LiveSettings::new(["lo"]);
    (settings.engine, settings.ring_bytes, settings.workers) = (LiveEngine::Packet, 4 << 20, 3);
    let live = open(&settings).expect("rings");
    let sockets = sends::capturing().expect("there is /proc");
    assert!(sockets.len() >= 3, "{sockets:?}");
    let frame = [[0_u8; 12].as_slice(), &[0x88, 0xb5], &[0; 50]].concat();
    let before = sent();
    assert!(
        sockets.iter().all(|socket| !sandbox_probe::send_through(*socket, &frame).is_empty()),
        "it was not possible before"
    );
    assert!(sent() > before, "the frames went nowhere");
    let sockets = sends::capturing().expect("there is /proc");
    assert!(alone(&Confinement::new().confine().expect("possible")));
    let before = sent();
    for socket in sockets {
        assert_eq!(sandbox_probe::send_through(socket, &frame), Vec::<&str>::new(), "{socket}");
    }
    assert_eq!(sent(), before);
    // Descriptors that are opened when they are gone may be written to.
    drop(live);
    let (_reader, mut writer) = std::io::pipe().expect("descriptors");
    std::io::Write::write_all(&mut writer, b"output").expect("it has a number of its own");
    assert!(Interface::find("lo").is_ok(), "netlink answers");
    println!("it stayed silent");
}

/// A process that serves queues may pass memory on, and still cannot get its packet socket under another number.
#[test]
fn memory_can_be_passed_on_and_nothing_received() {
    if part().is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child("memory_can_be_passed_on_and_nothing_received", folder.path()) {
            assert!(said.contains("it was passed on"), "{said}");
        }
        return;
    }
    let (here, there) = std::os::unix::net::UnixDatagram::pair().expect("sockets");
    assert!(alone(&Confinement::new().pass_descriptors(true).confine().expect("possible")));
    assert_eq!(sandbox_probe::pass_memory(&here).expect("allowed"), 1);
    refused("receiving a descriptor", sandbox_probe::receive_message(&there));
    let mut byte = [0];
    assert_eq!(there.recv(&mut byte).expect("bytes alone can be received"), 1);
    refused("reading a file outside", fs::read("/etc/passwd"));
    println!("it was passed on");
}

/// Preparations for an interface that comes back are made before.
#[test]
fn an_interface_may_come_back() {
    comes_back("an_interface_may_come_back", 1);
}

/// Sockets of a group cannot be bound again: others were opened for them.
#[test]
fn an_interface_may_come_back_to_a_group() {
    comes_back("an_interface_may_come_back_to_a_group", 2);
}

fn comes_back(test: &str, workers: usize) {
    const CHANGES: &str = "ip link add tw0 type veth peer tw1 && ip link set tw0 up && ip link set tw1 up && echo made \
        && read go && ip link del tw0 && sleep 0.3 && ip link add tw0 type veth peer tw1 && ip link set tw0 up \
        && ip link set tw1 up && ip addr add 192.0.2.1/24 dev tw1 \
        && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo > /dev/udp/192.0.2.2/9; sleep 0.3; done";
    let Some(_) = part() else {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child(test, folder.path()) {
            assert!(said.contains("it came back"), "{said}");
        }
        return;
    };
    if let Err(error) = tidewire_testing::privileged(own_namespace) {
        println!("skipped: no network namespace of our own: {error}");
        return;
    }
    // The sender of frames: bash sends them by the name of a file. No thread may read its output, and no wait for it is without end.
    let mut other = Command::new("timeout");
    other.args(["60", "bash", "-c", CHANGES]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut other = other.spawn().expect("a shell");
    let mut line = [0; 5];
    other.stdout.as_mut().expect("piped").read_exact(&mut line).expect("the interface was made");
    let mut settings = LiveSettings::new(["tw0"]);
    (settings.engine, settings.ring_bytes) = (LiveEngine::Packet, 4 << 20);
    settings.workers = workers;
    let mut workers = open(&settings).expect("rings").workers;
    assert!(alone(&Confinement::new().confine().expect("possible")));
    other.stdin.as_mut().expect("piped").write_all(b"go\n").expect("written");
    let (begun, mut gone, mut back) = (Instant::now(), false, 0);
    while back == 0 && begun.elapsed() < Duration::from_secs(20) {
        for worker in &mut workers {
            let frames = worker.poll(Duration::from_millis(20), |_| {});
            let troubles = worker.troubles();
            // Down, or gone, whichever is seen first.
            back += if gone { frames } else { 0 };
            gone |= !troubles.is_empty();
        }
    }
    assert!(gone && back > 0, "{gone} {back}");
    // Waiting for it is refused by now: it goes by itself.
    drop(other);
    println!("it came back");
}

/// In threads of their own: capabilities are a thread's.
#[test]
fn what_is_said_to_be_needed_is_enough_and_is_needed() {
    let with = |kept: &[Capability], run: fn() -> Option<&'static str>| {
        let kept: caps::CapsHashSet = kept.iter().copied().collect();
        let run = move || {
            if let Err(error) = tidewire_testing::privileged(own_namespace) {
                println!("skipped: no network namespace of our own: {error}");
                return None;
            }
            caps::set(None, caps::CapSet::Effective, &kept).expect("giving up is always allowed");
            run()
        };
        thread::spawn(run).join().expect("it ends")
    };
    let packet = || {
        let mut settings = LiveSettings::new(["lo"]);
        (settings.engine, settings.ring_bytes) = (LiveEngine::Packet, 1 << 20);
        Some(if open(&settings).is_ok() { "opened" } else { "refused" })
    };
    // r0 = 2; exit
    let program = || {
        let instructions = [0xb7, 0, 0, 0, 2, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        Some(if Program::load(XDP, &instructions).is_ok() { "loaded" } else { "refused" })
    };
    let map = || Some(if Map::new(HASH, 4, 4, 1).is_ok() { "made" } else { "refused" });
    if with(&[], map).is_none() {
        return;
    }
    assert_eq!(with(&[Capability::CAP_NET_RAW], packet), Some("opened"));
    assert_eq!(with(&[Capability::CAP_NET_ADMIN], packet), Some("refused"));
    assert_eq!(with(&[Capability::CAP_BPF], map), Some("made"));
    assert_eq!(with(&[Capability::CAP_BPF, Capability::CAP_NET_ADMIN], program), Some("loaded"));
    assert_eq!(with(&[Capability::CAP_BPF], program), Some("refused"));
    fn settings() -> KernelSettings {
        KernelSettings { flows_v4: 64, flows_v6: 64, ..KernelSettings::default() }
    }
    let xdp = || Some(KernelXdp::load(&settings()).map_or_else(|_| "refused", |_| "loaded"));
    let filter = || Some(KernelSocketFilter::load(&settings()).map_or_else(|_| "refused", |_| "loaded"));
    let [bpf, perfmon] = [Capability::CAP_BPF, Capability::CAP_PERFMON];
    assert_eq!(with(&[bpf, perfmon, Capability::CAP_NET_ADMIN], xdp), Some("loaded"));
    assert_eq!(with(&[bpf, perfmon], xdp), Some("refused"));
    assert_eq!(with(&[bpf, perfmon], filter), Some("loaded"));
    assert_eq!(with(&[perfmon, Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN], filter), Some("refused"));
    assert_eq!(with(&[Capability::CAP_NET_ADMIN], program), Some("refused"));
}

#[test]
fn a_capability_can_be_kept() {
    let Some(folder) = part() else {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(said) = child("a_capability_can_be_kept", folder.path()) {
            assert!(said.contains("it was kept"), "{said}");
        }
        return;
    };
    if !caps::has_cap(None, caps::CapSet::Permitted, Capability::CAP_NET_ADMIN).expect("readable") {
        println!("skipped: there is no CAP_NET_ADMIN to be kept");
        return;
    }
    let confined = Confinement::new().readable(&folder).keep(super::Capability::NetAdmin).confine().expect("possible");
    assert!(alone(&confined), "{confined:?}");
    let left = caps::read(None, caps::CapSet::Permitted).expect("readable");
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [Capability::CAP_NET_ADMIN]);
    fs::read_dir(&folder).expect("readable");
    refused("writing where only reading is allowed", fs::write(folder.join("file"), ""));
    println!("it was kept");
}

/// The harness has threads of its own, so that a confinement that must be whole is refused here.
#[test]
fn what_must_be_whole_is_refused_where_it_is_not() {
    if part().is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        child("what_must_be_whole_is_refused_where_it_is_not", folder.path());
        return;
    }
    let error = Confinement::new().required(true).confine().expect_err("another thread runs").with_hint().to_string();
    assert!(error.contains("1 threads that run already") && error.contains("without confinement"), "{error}");
}
