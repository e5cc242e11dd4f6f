//! The kernel's programs on a veth pair, in both XDP hooks and on packet sockets: what they count, what the
//! stack still receives, and that nothing is left behind when the process is killed. Needs root; says so otherwise.

use std::{
    fs,
    net::UdpSocket,
    os::fd::AsRawFd,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::loaded::{Flow, Loaded, allowed, small};
use tidewire_core::{Direction::ClientToServer, Shunt};
use tidewire_lab::oracle::network::missing;
use tidewire_live::{
    kernel::{Jump, KernelSocketFilter, KernelXdp},
    sys::{
        bpf::{Load, Program, SOCKET_FILTER, XDP, XdpMode},
        net::{PacketSocket, own_namespace},
    },
};
use tidewire_testing::{Ends as _, InTime as _, Lines};

/// Set for the child process of the last test, which attaches a program and waits to be killed.
const CHILD: &str = "TIDEWIRE_TEST_ATTACH";

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).run_in_time().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs `test` in a network namespace with a veth pair tw0 and tw1, which has the address of host 2.
fn on_a_cable(test: impl FnOnce() + Send) {
    if let Some(reason) = missing() {
        println!("skipped: {reason}");
        return;
    }
    if !allowed() {
        return;
    }
    let run = || {
        own_namespace().unwrap();
        ip("link add tw0 type veth peer name tw1");
        for end in ["tw0", "tw1"] {
            // No unsolicited packets.
            fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1").unwrap();
        }
        ip("link set tw1 address 02:00:00:00:00:02");
        ip("link set tw0 up");
        ip("link set tw1 up");
        ip("addr add 10.77.0.2/24 dev tw1");
        thread::sleep(Duration::from_millis(100));
        test();
    };
    thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn index() -> u32 {
    let listed = ip("-o link show tw1");
    listed.split(':').next().unwrap().trim().parse().unwrap()
}

/// Waits until `is` holds.
fn soon(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Flows of each protocol and tagging, and their packets.
fn flows() -> Vec<(Flow, Vec<Vec<u8>>)> {
    let tags = [[0xffff; 2], [5, 0xffff], [5, 6]];
    let kinds = [(6, false), (17, false), (132, false), (6, true), (17, true)];
    let flow = |(proto, is_v6), vlan| Flow { proto, vlan, ..Flow::tcp(is_v6, 6000) };
    let flows = kinds.iter().flat_map(|kind| tags.map(|vlan| flow(*kind, vlan)));
    flows.map(|flow| (flow, (0..20).map(|number| flow.data(number * 9, b"something")).collect())).collect()
}

#[test]
fn xdp_drops_what_is_cut_in_the_driver_and_behind_it() {
    on_a_cable(|| {
        let wire = PacketSocket::open("tw0").unwrap();
        for mode in [XdpMode::Native, XdpMode::Generic] {
            let xdp = KernelXdp::load(&small().with_is_auto(true)).unwrap();
            let link = xdp.attach(index(), mode).unwrap();
            assert!(xdp.attach(index(), mode).unwrap_err().with_hint().to_string().contains("another XDP program"));
            let stack = PacketSocket::open("tw1").unwrap();
            let flows = flows();
            flows.iter().flat_map(|(_, frames)| frames).for_each(|frame| wire.send(frame).unwrap());
            let sent = flows.len() as u64 * 20;
            soon("all frames arrive", || xdp.counters().received >= sent);
            let counters = xdp.counters();
            assert_eq!((counters.received, counters.accounted()), (sent, sent), "{mode:?} {counters:?}");
            assert_eq!((counters.delivered, counters.cut), (flows.len() as u64, sent - flows.len() as u64));
            let mut reached = 0;
            while stack.receive(100).unwrap().is_some() {
                reached += 1;
            }
            assert_eq!(reached, flows.len(), "the stack gets the first of each, {mode:?}");
            let mut shunt = xdp.shunt(0);
            for (flow, frames) in &flows {
                let counted = shunt.retire(&flow.key(), ClientToServer).unwrap_or_else(|| panic!("{mode:?} {flow:?}"));
                let bytes: usize = frames[1..].iter().map(Vec::len).sum();
                assert_eq!((counted.packets, counted.wire_bytes), (19, bytes as u64), "{flow:?}");
            }
            drop(link);
            wire.send(&flows[0].1[0]).unwrap();
            assert!(stack.receive(1000).unwrap().is_some());
            assert_eq!(xdp.counters().received, sent, "it is attached no more");
        }
    });
}

#[test]
fn a_socket_s_filter_leaves_the_stack_alone() {
    on_a_cable(|| {
        let wire = PacketSocket::open("tw0").unwrap();
        let filter = KernelSocketFilter::load(&small().with_is_auto(true)).unwrap();
        let socket = PacketSocket::open("tw1").unwrap();
        socket.filter(Some(filter.program().unwrap().as_raw_fd())).unwrap();
        let service = UdpSocket::bind("10.77.0.2:80").unwrap();
        service.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let flows = flows();
        flows.iter().flat_map(|(_, frames)| frames).for_each(|frame| wire.send(frame).unwrap());
        let sent = flows.len() as u64 * 20;
        // The host answers unexpected packets (resets, unreachable messages): it sends these and does not receive them.
        soon("all frames arrive", || filter.counters().received >= sent);
        let counters = filter.counters();
        assert_eq!(counters.received, counters.accounted(), "{counters:?}");
        assert_eq!(counters.received, sent);
        assert_eq!(counters.cut, flows.len() as u64 * 19);
        let mut copied = 0;
        while socket.receive(100).unwrap().is_some() {
            copied += 1;
        }
        assert_eq!(copied, flows.len());
        let mut shunt = filter.shunt(0);
        for (flow, frames) in &flows {
            // The kernel removed the tag before the socket received the frame; on the wire it was present.
            let counted = shunt.retire(&flow.key(), ClientToServer).unwrap_or_else(|| panic!("{flow:?}"));
            let bytes: usize = frames[1..].iter().map(Vec::len).sum();
            assert_eq!((counted.packets, counted.wire_bytes), (19, bytes as u64), "{flow:?}");
        }
        let mut datagram = [0; 100];
        for number in 0..20 {
            let (bytes, _) = service.recv_from(&mut datagram).unwrap_or_else(|error| panic!("{number}: {error}"));
            assert_eq!(&datagram[..bytes], b"something");
        }
    });
}

/// An instruction: code, registers (destination, source << 4), offset, number.
fn op(code: u8, registers: u8, offset: i16, number: i32) -> Vec<u8> {
    let mut bytes = vec![code, registers];
    bytes.extend(offset.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes
}

/// A filter that accepts frames of more than 200 bytes.
fn long_ones(loaded: &Loaded) -> Program {
    let length = if loaded.is_xdp {
        // r4 = data_end - data
        [op(0x61, 0x14, 4, 0), op(0x61, 0x15, 0, 0), op(0x1f, 0x54, 0, 0)].concat()
    } else {
        op(0x61, 0x14, 0, 0) // r4 = len
    };
    let code = [
        length,
        op(0xb7, 0x03, 0, Jump::Refused as i32), // r3 = Refused
        op(0xb5, 0x04, 1, 200),                  // if r4 > 200: r3 = Flow
        op(0xb7, 0x03, 0, Jump::Flow as i32),
        [op(0x18, 0x12, 0, loaded.kernel.jump().number()), op(0, 0, 0, 0)].concat(),
        op(0x85, 0, 0, 12), // tail call
        op(0xb7, 0, 0, 0),
        op(0x95, 0, 0, 0),
    ]
    .concat();
    let (kind, load) =
        if loaded.is_xdp { (XDP, Load { frags: true, attach: 37 }) } else { (SOCKET_FILTER, Load::default()) };
    Program::load_with(kind, &code, load).unwrap()
}

#[test]
fn nothing_passes_a_filter_that_is_not_there_yet() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&small().with_has_filter(true).with_is_auto(true)) {
        let flow = Flow::tcp(false, 1);
        let [short, long] = [50, 500].map(|bytes| flow.data(1, &vec![0; bytes]));
        assert!(!loaded.passes(&long), "the filter's place is empty");
        let filter = long_ones(&loaded);
        loaded.kernel.set_jump(Jump::Filter, std::os::fd::AsFd::as_fd(&filter)).unwrap();
        assert!(!loaded.passes(&short), "the filter refuses it");
        assert!(loaded.passes(&long), "the first of its direction");
        assert!(!loaded.passes(&long), "which is cut");
        assert!(!loaded.passes(&short));
        loaded.conserves();
        let counters = loaded.kernel.counters();
        assert_eq!((counters.filtered, counters.cut, counters.delivered), (3, 1, 1));
        let mut shunt = loaded.kernel.shunt(0);
        assert_eq!(shunt.retire(&flow.key(), ClientToServer).unwrap().packets, 1, "what is filtered is not counted");
    }
}

#[test]
fn a_killed_process_leaves_the_interface_as_it_was() {
    if std::env::var_os(CHILD).is_some() {
        let xdp = KernelXdp::load(&small()).unwrap();
        let _link = xdp.attach(index(), XdpMode::Native).unwrap();
        println!("attached");
        thread::sleep(Duration::from_secs(60));
        return;
    }
    on_a_cable(|| {
        let attached = || ip("-d link show tw1").contains("prog/xdp");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "attached::a_killed_process_leaves_the_interface_as_it_was", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Lines::new(child.stdout.take().unwrap()).until("attached");
        assert!(attached());
        child.kill().unwrap();
        child.wait_in_time("the process");
        soon("the program goes with its process", || !attached());
    });
}
