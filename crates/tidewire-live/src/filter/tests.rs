//! Translated programs in the kernel against our own machine over the same frames.

use std::path::Path;

use super::*;
use crate::sys::bpf::{Map, PROGRAM_ARRAY, SCHED_CLS};
use tidewire_files::{Block, Reader, Source};
use tidewire_testing::filters::{EXPRESSIONS, Numbers, random_packet};
use tidewire_wire::LinkType;

/// Expressions that people use with tcpdump, beside those that use every kind of instruction.
const MORE: &[&str] = &[
    "tcp and port 443",
    "udp and dst port 53",
    "src host 10.0.0.1 and dst host 10.1.0.2",
    "src or dst net 192.168.0.0/16",
    "net 10.0.0.0 mask 255.0.0.0",
    "ip[6:2] & 0x1fff = 0",
    "ip[8] < 5",
    "ip[2:2] > 576",
    "tcp[0:2] = 80 or tcp[2:2] = 80",
    "tcp[tcpflags] & (tcp-syn|tcp-ack) == (tcp-syn|tcp-ack)",
    "tcp[tcpflags] == tcp-rst",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
    "tcp portrange 0-1023",
    "not (tcp port 22 or udp port 53 or icmp)",
    "tcp port 80 and (net 10.0.0.0/8 or net 2001:db8::/32)",
    "vlan and tcp",
    "vlan 5",
    "vlan 5 and host 10.0.0.1",
    "vlan 100 and vlan 200 and udp port 53",
    "tcp port 80 or (vlan and tcp port 80)",
    "ether proto 0x8100",
    "ether[12:2] = 0x8100 and ether[14:2] & 0xfff = 5",
    "ether[10:4] = 7",
    "ether[13:4] & 0xff00 != 0",
    "ether[15:2] = 1",
    "ether[11] + ether[12] + ether[13] + ether[14] + ether[15] + ether[16] = 180",
    "ether[ether[0] & 15 : 4] & 0x00ff00ff > 70000",
    "ether[ether[1] & 31 : 2] = 0x0800",
    "ether[ether[1] & 31] != 0",
    "mpls and tcp",
    "mpls 1000 and mpls and udp",
    "len = 60",
    "len - 14 = ip[2:2]",
    "ether[len - 1] = 0",
    "ether[5000] = 7 or ether[3600:4] != 0",
    "ether[(ether[0] << 8) + ether[1]] & 1 = 0",
    "ether[0x7fffffff] = 1",
    "ether[0:4] + 0xfffffff0 > 5",
    "arp[6:2] = 1",
    "rarp or stp or aarp or iso",
    "ip6[6] = 58 and ip6[40] = 128",
    "ip host 1.2.3.4 or ip6 host ::1",
    "ether src 02:00:00:00:00:01 and ether dst 02:00:00:00:00:02",
    "broadcast or multicast",
    "1 = 1",
];

/// Whether bpf(2) is allowed here; else the tests have nothing to do.
fn allowed() -> bool {
    let map = Map::new(PROGRAM_ARRAY, 4, 4, 1);
    if let Err(error) = &map {
        println!("skipped: bpf(2) is not allowed here ({error}); needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
    }
    map.is_ok()
}

const ANSWER: FilterEnding = FilterEnding::Return { matched: 7, refused: 3 };

/// A filter in the kernel, at each hook.
struct Kernel {
    socket: Program,
    tagged: Program,
    xdp: Program,
}

impl Kernel {
    fn load(filter: &Filter) -> Self {
        let load = |hook| load_expression(filter, hook, ANSWER).unwrap_or_else(|error| panic!("{error}"));
        // Only here can a test have the kernel take a tag out: mark and priority say which. r6 = context;
        // r2 = mark; if it is 0, on; r3 = priority; vlan_push(context, r2, r3); r1 = context.
        let mut code = [
            [0xbf_u8, 0x16, 0, 0, 0, 0, 0, 0],
            [0x61, 0x12, 8, 0, 0, 0, 0, 0],
            [0x15, 0x02, 2, 0, 0, 0, 0, 0],
            [0x61, 0x13, 32, 0, 0, 0, 0, 0],
            [0x85, 0, 0, 0, 18, 0, 0, 0],
            [0xbf, 0x61, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        code.extend(filter.ebpf(FilterHook::Socket, ANSWER).unwrap());
        let tagged = Program::load(SCHED_CLS, &code).unwrap_or_else(|error| panic!("{}: {error}", filter.expression()));
        Self { socket: load(FilterHook::Socket), tagged, xdp: load(FilterHook::Xdp) }
    }

    /// The verdict of each hook on a frame.
    fn run(&self, frame: &[u8]) -> Vec<(&'static str, bool)> {
        let answer = |number| match number {
            7 => true,
            3 => false,
            other => panic!("{other}"),
        };
        let mut answers = Vec::new();
        if frame.len() >= 14 {
            answers.push(("XDP", answer(self.xdp.run(frame).unwrap())));
        }
        if frame.len() > 3000 || frame.is_empty() {
            return answers;
        }
        // A socket's filter is run with the data behind the Ethernet header: here that is the frame.
        let behind = [&[2; 12][..], &[0x88, 0xb5], frame].concat();
        answers.push(("socket", answer(self.socket.run(&behind).unwrap())));
        if frame.len() >= 18 && matches!(frame[12..14], [0x81, 0] | [0x88, 0xa8]) {
            let rest = [&frame[..12], &frame[16..]].concat();
            // struct __sk_buff: mark is its third word, priority its ninth.
            let mut context = [0_u8; 192];
            context[8..12].copy_from_slice(&[frame[12], frame[13], 0, 0]);
            let tag = u32::from(u16::from_be_bytes([frame[14], frame[15]]));
            context[32..36].copy_from_slice(&tag.to_ne_bytes());
            let outcome = match self.tagged.run_with(&rest, &mut context, 1) {
                Ok(outcome) => outcome,
                // The test run wants an IP header behind an IP packet's type, which a wire does not.
                Err(_) if rest.len() < 54 => return answers,
                Err(error) => panic!("{} bytes: {error}", rest.len()),
            };
            answers.push(("socket, tag taken out", answer(outcome.returned)));
        }
        answers
    }
}

/// How many frames were refused and how many matched, and how many of all had their tag taken out.
fn agrees(expressions: &[&str], frames: &[Vec<u8>]) -> [usize; 3] {
    let mut seen = [0; 3];
    for expression in expressions.iter().filter(|expression| !expression.contains("protochain")) {
        let mut filter = Filter::new(expression).unwrap();
        let kernel = Kernel::load(&filter);
        for frame in frames {
            let expected = filter.matches(LinkType::ETHERNET, frame, frame.len() as u32).unwrap();
            for (hook, answer) in kernel.run(frame) {
                assert_eq!(answer, expected, "{expression}, {hook}: {frame:02x?}");
                seen[usize::from(answer)] += 1;
                seen[2] += usize::from(hook.contains("taken out"));
            }
        }
    }
    seen
}

#[test]
fn the_kernel_says_of_random_frames_what_our_machine_says() {
    if !allowed() {
        return;
    }
    let mut numbers = Numbers(17);
    let frames: Vec<Vec<u8>> = (0..600)
        .map(|number| {
            let mut frame = random_packet(&mut numbers);
            // A tag before what was made, for every fourth.
            if number % 4 == 0 && frame.len() >= 14 {
                let kind = [[0x81, 0], [0x88, 0xa8]][numbers.below(2) as usize];
                let tag = [numbers.below(256) as u8 & 0xf0, [5, 100][numbers.below(2) as usize]];
                frame.splice(12..12, [kind, tag].concat());
            }
            // Some in several buffers.
            if number % 16 == 3 {
                let length = 3000 + numbers.below(6000) as usize;
                let more = numbers.bytes(length);
                frame.extend(more);
            }
            frame
        })
        .collect();
    for expressions in [EXPRESSIONS, MORE] {
        let [refused, matched, tags] = agrees(expressions, &frames);
        assert!(
            refused > 10_000 && matched > 5_000 && tags > 5_000,
            "{refused} refused, {matched} matched, {tags} tags"
        );
    }
}

#[test]
fn the_kernel_says_of_captured_frames_what_our_machine_says() {
    if !allowed() {
        return;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut frames = Vec::new();
    for case in std::fs::read_dir(corpus).unwrap() {
        let files = std::fs::read_dir(case.unwrap().path()).into_iter().flatten().flatten().map(|file| file.path());
        for file in files.filter(|file| file.extension().is_some_and(|end| end == "pcap" || end == "pcapng")) {
            let Ok(mut source) = Reader::open(&file) else { continue };
            let mut block = Block::new();
            while source.fill(&mut block).unwrap_or(false) {
                let batch = block.batch();
                let mut mine: Vec<Vec<u8>> = batch
                    .frames
                    .iter()
                    .filter(|f| f.link == LinkType::ETHERNET)
                    .map(|f| batch.bytes(f).to_vec())
                    .collect();
                mine.retain(|frame| frame.len() < 40_000);
                mine.truncate(40);
                frames.extend(mine);
            }
        }
    }
    assert!(frames.len() > 500, "{} frames in the corpus", frames.len());
    let [refused, matched, _] = agrees(MORE, &frames);
    assert!(refused > 10_000 && matched > 5_000, "{refused} refused, {matched} matched");
}

/// Filters that continue in other programs: one for frames that match, one for the others.
#[test]
fn filters_go_on_in_other_programs() {
    if !allowed() {
        return;
    }
    let returns = |number: u8| [[0xb7, 0, 0, 0, number, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]].concat();
    let filter = Filter::new("udp port 53").unwrap();
    let mut frame = vec![0; 60];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[23] = 17;
    frame[37] = 53;
    let other = vec![0; 60];
    for (hook, kind, attach) in [(FilterHook::Xdp, XDP, ATTACH_XDP), (FilterHook::Socket, SOCKET_FILTER, 0)] {
        let frames = match hook {
            FilterHook::Xdp => [frame.clone(), other.clone()],
            FilterHook::Socket => [&frame, &other].map(|frame| [&[0; 14][..], frame].concat()),
        };
        let map = Map::new(PROGRAM_ARRAY, 4, 4, 4).unwrap();
        let ending = FilterEnding::Jump { programs: map.number(), matched: 1, refused: 2, otherwise: 9 };
        let program = load_expression(&filter, hook, ending).unwrap();
        assert_eq!(frames.each_ref().map(|frame| program.run(frame).unwrap()), [9, 9], "nothing is there yet");
        let frags = hook == FilterHook::Xdp;
        let load = |number| Program::load_with(kind, &returns(number), Load { frags, attach }).unwrap();
        let (yes, no) = (load(4), load(5));
        map.set(1, yes.number()).unwrap();
        map.set(2, no.number()).unwrap();
        assert_eq!(frames.each_ref().map(|frame| program.run(frame).unwrap()), [4, 5], "{hook:?}");
    }
}

#[test]
fn long_expressions_are_taken() {
    if !allowed() {
        return;
    }
    let hosts: Vec<String> = (0..200).map(|n| format!("host 10.0.{}.{}", n / 7, n)).collect();
    let mut filter = Filter::new(&hosts.join(" or ")).unwrap();
    let kernel = Kernel::load(&filter);
    for (a, b) in [(0, 3), (1, 7), (1, 8), (28, 199), (29, 199)] {
        let mut frame = vec![0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[30..34].copy_from_slice(&[10, 0, a, b]);
        let expected = filter.matches(LinkType::ETHERNET, &frame, 60).unwrap();
        assert!(kernel.run(&frame).iter().all(|(_, answer)| *answer == expected));
    }
    println!("{} instructions looked at for XDP, {} for sockets", kernel.xdp.verified, kernel.socket.verified);
}

#[test]
fn what_cannot_run_in_the_kernel_is_said() {
    let error = load_expression(&Filter::new("ip6 protochain 6").unwrap(), FilterHook::Xdp, ANSWER).unwrap_err();
    assert!(error.to_string().contains("protochain"), "{error}");
    let error = load_expression(&Filter::new("wlan type mgt").unwrap(), FilterHook::Socket, ANSWER).unwrap_err();
    assert!(matches!(error, Error::Filter(_)), "{error}");
}
