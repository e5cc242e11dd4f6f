//! One link over several: every frame leaves through the output that the evaluator names, once; conversations stay together.

use std::{
    collections::HashMap,
    net::IpAddr,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::common::{arrived, inside, made, send};
use tidewire_gen::{
    Plan, Rate,
    net::Layout,
    number,
    traffic::{Connections, FragmentSettings, Fragments, Link, Order, Replay, ReplaySettings, TcpSettings, Traffic},
};
use tidewire_live::{
    split::{Split, SplitSettings},
    sys::{bpf::XdpMode, net::PacketSocket},
};
use tidewire_steer::{Compiled, Packet, Program, Settings, State};
use tidewire_testing::InTime as _;
use tidewire_wire::LinkType;

const OUTPUTS: u32 = 3;

fn compiled(text: &str) -> Compiled {
    let mut settings = Settings::default();
    settings.wire.tunnel_depth = 0;
    Compiled::new(&Program::parse(text).unwrap(), &settings).unwrap()
}

const BY_ADDRESSES: &str = "conditional (is_ip .||. is_ip6) steer_p2p steer_link";
const BY_PORTS: &str = "conditional (is_ip .||. is_ip6) steer_flow steer_link";

fn tcp() -> Box<dyn Traffic> {
    let mut settings = TcpSettings { concurrent: 100, connections: Some(300), ..TcpSettings::new().unwrap() };
    (settings.order, settings.link) = (Order::Random, Link { ipv6: true, vlan: Some(5) });
    Box::new(Connections::new(settings).unwrap())
}

fn fragments() -> Box<dyn Traffic> {
    // A new address every 2^16 datagrams only: many datagrams of one pair of hosts, and tunnels of none.
    let settings = FragmentSettings { datagrams: Some(500), open: 7, ..FragmentSettings::default() };
    Box::new(Fragments::new(settings).unwrap())
}

/// Captures of the project's corpus, under several sets of addresses.
fn corpus() -> Vec<Box<dyn Traffic>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let cases = ["demo", "fragments-ipv4", "fragments-ipv6", "layer-triple-vlan", "layer-vlan-mpls", "layer-sctp"];
    let captures = |case: &&str| -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder.join(case)).expect("a case").flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng")).collect()
    };
    let replay = |path: PathBuf| -> Box<dyn Traffic> {
        let mut settings = ReplaySettings::new(vec![path]);
        (settings.loops, settings.frame_bytes_max) = (Some(7), 3328);
        Box::new(Replay::load(settings).unwrap())
    };
    cases.iter().flat_map(captures).map(replay).collect()
}

/// The two addresses of a frame in order; `None` where it has none.
fn pair(frame: &[u8]) -> Option<[IpAddr; 2]> {
    let settings = tidewire_wire::Settings::default().with_tunnel_depth(0);
    let decoded = tidewire_wire::decode(LinkType::ETHERNET, frame, frame.len() as u32, &settings);
    let (source, destination) = tidewire_wire::addresses(frame, &decoded);
    let ends = [source.min(destination), source.max(destination)];
    (!source.is_unspecified()).then_some(ends)
}

/// A frame as a packet socket shows it: without its outermost tag.
fn untagged(frame: &[u8]) -> Vec<u8> {
    match frame.get(12..14) {
        Some([0x81, 0] | [0x88, 0xa8]) => [&frame[..12], &frame[16..]].concat(),
        _ => frame.to_vec(),
    }
}

fn check(traffic: &mut dyn Traffic, program: &str, mode: Option<XdpMode>) {
    let steering = compiled(program);
    let outputs = (1..=OUTPUTS).map(|number| format!("tx{number}")).collect();
    let settings = SplitSettings { input: "rx0".into(), outputs, steering: steering.clone(), mode };
    let split = Split::start(&settings).expect("splitting");
    let sockets: Vec<_> = (1..=OUTPUTS).map(|number| PacketSocket::open(&format!("rx{number}")).unwrap()).collect();
    let mut plan = Plan::new(["tx0"]);
    plan.rate = Rate::Packets(50_000.0);
    let report = send(traffic, &plan);
    println!("{program} {mode:?}: {} frames by {}, {:?}", report.packets, report.sender.name(), report.fallback);
    thread::sleep(Duration::from_millis(50));
    let got: Vec<Vec<Vec<u8>>> = sockets.iter().map(arrived).collect();
    let counts = split.counts().unwrap();
    assert_eq!((counts.received.packets, counts.lost()), (report.packets, 0), "{program}: {counts:?}");
    let each: Vec<u64> = counts.outputs.iter().map(|count| count.packets).collect();
    assert_eq!(each, got.iter().map(|frames| frames.len() as u64).collect::<Vec<_>>(), "{program}");
    assert_eq!(each.iter().sum::<u64>() + counts.unsteered.packets, report.packets);

    traffic.rewind();
    let sent = made(traffic, u64::MAX);
    let mut state = State::default();
    let mut wanted = vec![Vec::new(); OUTPUTS as usize];
    let mut place_of: HashMap<[IpAddr; 2], u32> = HashMap::new();
    for frame in &sent {
        let verdict = steering.evaluate(&Packet::new(LinkType::ETHERNET, frame), &mut state);
        let place = verdict.first(OUTPUTS).expect("everything goes somewhere");
        wanted[place as usize].push(untagged(frame));
        if program == BY_ADDRESSES
            && let Some(pair) = pair(frame)
        {
            assert_eq!(*place_of.entry(pair).or_insert(place), place, "{pair:?} is divided");
        }
    }
    for (output, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
        let mut got: Vec<Vec<u8>> = got.iter().map(|frame| untagged_again(frame, wanted)).collect();
        // GRO delays frames to merge them while others pass.
        got.sort_by_key(|frame| number::of(frame));
        assert_eq!(got.len(), wanted.len(), "output {output} of {program}");
        let differs = got.iter().zip(wanted).find(|(got, wanted)| got != wanted);
        assert!(differs.is_none(), "output {output} of {program}: {differs:x?}");
    }
}

/// The generic hook removes a tag and restores it; sockets deliver the frame without it, like others.
fn untagged_again(frame: &[u8], wanted: &[Vec<u8>]) -> Vec<u8> {
    let number = number::of(frame);
    let same = wanted.iter().find(|other| number::of(other) == number);
    match same {
        Some(same) if same.len() + 4 == frame.len() => untagged(frame),
        _ => frame.to_vec(),
    }
}

#[test]
fn every_frame_leaves_where_the_evaluator_says() {
    inside(&Layout { cables: 1 + OUTPUTS, mtu: 3400, ..Layout::default() }, |_| {
        for mode in [None, Some(XdpMode::Generic)] {
            for program in [BY_ADDRESSES, BY_PORTS] {
                check(&mut *tcp(), program, mode);
                check(&mut *fragments(), program, mode);
            }
        }
        for mut traffic in corpus() {
            check(&mut *traffic, BY_ADDRESSES, None);
        }
    });
}

#[test]
fn nothing_stays_behind() {
    inside(&Layout { cables: 2, ..Layout::default() }, |_| {
        let attached = || {
            let output = std::process::Command::new("ip").args(["-d", "link", "show", "rx0"]).run_in_time().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            (text.contains("prog/xdp"), text.contains("promiscuity 1"))
        };
        let settings = SplitSettings {
            input: "rx0".into(),
            outputs: vec!["tx1".into()],
            steering: compiled(BY_PORTS),
            mode: None,
        };
        let split = Split::start(&settings).unwrap();
        assert_eq!(attached(), (true, true));
        let again = Split::start(&settings).expect_err("one is attached").with_hint().to_string();
        assert!(again.contains("ip link set rx0 xdp off"), "{again}");
        drop(split);
        assert_eq!(attached(), (false, false));
    });
}

#[test]
fn what_cannot_be_split_is_said() {
    inside(&Layout { cables: 2, ..Layout::default() }, |_| {
        let message = |input: &str, outputs: &[&str], program: &str| {
            let outputs = outputs.iter().map(|name| (*name).into()).collect();
            let steering = compiled(program);
            let settings = SplitSettings { input: input.into(), outputs, steering, mode: None };
            Split::start(&settings).expect_err("refused").with_hint().to_string()
        };
        assert!(message("nowhere", &["tx1"], BY_PORTS).contains("no interface nowhere"));
        assert!(message("rx0", &["rx0"], BY_PORTS).contains("named twice"));
        assert!(message("rx0", &["tx1", "tx1"], BY_PORTS).contains("named twice"));
        assert!(message("rx0", &[], BY_PORTS).contains("1 to 64"));
        assert!(message("rx0", &["tx1"], "double_steer_ip").contains("cannot run on XDP"));
        assert!(message("rx0", &["tx1"], "steer_to 3").contains("worker 3"));
        let run = |line: &str| {
            assert!(std::process::Command::new("sh").args(["-c", line]).status_in_time().unwrap().success())
        };
        run("ip link set tx1 mtu 1400");
        assert!(message("rx0", &["tx1"], BY_PORTS).contains("ip link set tx1 mtu 1500"));
        run("ip link set tx1 mtu 1500; ip link set tx1 down");
        assert!(message("rx0", &["tx1"], BY_PORTS).contains("ip link set tx1 up"));
    });
}
