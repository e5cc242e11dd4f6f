//! The kernel's programs count packets as the decoder reads them, in both builds: over random
//! frames, damaged ones, and the captures of the corpus. Needs CAP_BPF and CAP_NET_ADMIN; says so otherwise.
//!
//! `TIDEWIRE_STEER_PACKETS=1000000` is the full run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::common::{Random, packets, packets::sound};
use super::loaded::{Flow, Loaded, allowed, small};
use tidewire_core::{
    Counted,
    Direction::ClientToServer,
    Endpoint, FlowKey, Shunt, Vlans,
    wire::{self, Kind, TcpHeader, TunnelKind, tcp_flag},
};
use tidewire_files::Block;
use tidewire_wire::LinkType;

/// Longer frames do not fit into the page of a test run.
const FRAME_BYTES_MAX: usize = 3300;

/// The engine's reading of a frame: the flow whose client sent it, and its counts. `None`: it must reach the
/// engine.
fn decoded(frame: &[u8]) -> Option<(FlowKey, Counted)> {
    let settings = wire::Settings::default();
    let found = wire::decode(LinkType::ETHERNET, frame, frame.len() as u32, &settings);
    let mut tcp_flags = 0;
    let mut end = None;
    match found.kind {
        Kind::Tcp => {
            let header = TcpHeader::new(frame, &found)?;
            tcp_flags = header.flags();
            if tcp_flags & (tcp_flag::SYN | tcp_flag::FIN | tcp_flag::RST) != 0 {
                return None;
            }
            end = Some(header.sequence().wrapping_add(found.payload_bytes)).filter(|end| *end != 0);
        }
        Kind::Udp | Kind::Sctp => {}
        _ => return None,
    }
    if found.tunnel.kind != TunnelKind::None {
        return None;
    }
    let (source, destination) = wire::addresses(frame, &found);
    let (from, to) = wire::ports(frame, &found);
    let [client, server] = [(source, from), (destination, to)].map(|(address, port)| Endpoint { address, port });
    let mut key = FlowKey::new(client, server, found.proto);
    key.vlans = Vlans::from_raw(found.vlans.raw().map(|id| if id == 0xfff { 0xffff } else { id }));
    key.tunnel = found.tunnel;
    let mut counted = Counted::default();
    (counted.packets, counted.wire_bytes, counted.ip_bytes) = (1, frame.len() as u64, found.ip_bytes.into());
    (counted.payload_bytes, counted.tcp_flags, counted.end) = (found.payload_bytes.into(), tcp_flags, end);
    Some((key, counted))
}

/// How many frames the kernel could have counted, and how many it did count; checks its counts. If it counts a flow, it counts
/// the second of two equal packets.
fn agree(frames: &[Vec<u8>]) -> [u64; 2] {
    let both = Loaded::both(&small().with_is_auto(true));
    let mut shunts = [0, 1].map(|reading: usize| both[reading].kernel.shunt(0));
    let [mut possible, mut counted] = [0; 2];
    for frame in frames {
        let expected = decoded(frame);
        possible += u64::from(expected.is_some());
        let dropped = both.each_ref().map(|loaded| {
            assert!(loaded.passes(frame), "the first of its direction: {frame:x?}");
            !loaded.passes(frame)
        });
        assert_eq!(dropped[0], dropped[1], "XDP, socket filter: {frame:x?}");
        if !dropped[0] {
            continue;
        }
        counted += 1;
        let (key, expected) = expected.unwrap_or_else(|| panic!("counted what is no plain packet: {frame:x?}"));
        for shunt in &mut shunts {
            let mut found =
                shunt.retire(&key, ClientToServer).unwrap_or_else(|| panic!("another flow's: {frame:x?} {key:?}"));
            found.last = None;
            assert_eq!(found, expected, "{frame:x?}");
        }
    }
    both.iter().for_each(Loaded::conserves);
    [possible, counted]
}

#[test]
fn random_and_damaged_frames() {
    if !allowed() {
        return;
    }
    let mut random = Random(31);
    let mut frames = Vec::new();
    for _ in 0..packets(20_000) / 2 {
        let frame = sound(&mut random);
        if frame.len() > FRAME_BYTES_MAX || frame.len() < 14 {
            continue;
        }
        let mut damaged = frame.clone();
        for _ in 0..random.below(3) {
            let at = random.below(damaged.len().min(80) as u64) as usize;
            damaged[at] = random.next() as u8;
        }
        if random.once_in(4) {
            damaged.truncate(14 + random.below(damaged.len() as u64 - 13) as usize);
        }
        frames.extend([frame, damaged]);
    }
    let [possible, counted] = agree(&frames);
    println!("{} frames, {possible} of flows, {counted} counted", frames.len());
    assert!(counted > 100, "{counted} of {possible}");
}

#[test]
fn plain_packets_of_every_shape_are_counted() {
    if !allowed() {
        return;
    }
    let mut random = Random(32);
    let mut frames = Vec::new();
    for number in 0..packets(20_000).min(100_000) as u32 {
        let proto = random.pick(&[6, 17, 132]);
        let ids: [u16; 2] = random.pick(&[[0xffff; 2], [1, 0xffff], [7, 4000]]);
        // Not a port of a tunnel protocol.
        let ports = (10_000 + random.below(1000) as u16, 100 + random.below(900) as u16);
        let flow = Flow { is_v6: random.once_in(2), proto, ports, vlan: ids };
        let payload = vec![7; random.below(1400) as usize];
        let flags = random.pick(&[0x10, 0x18, 0, 0x30, 0x50, 0xd0]);
        let mut frame = flow.packet(flags, number.wrapping_mul(0x0123_4567), &payload);
        let padding = random.pick(&[0, 0, 6, 30]);
        frame.extend(std::iter::repeat_n(0, padding));
        frames.push(frame);
    }
    let [possible, counted] = agree(&frames);
    assert_eq!([possible, counted], [frames.len() as u64; 2]);
}

#[test]
fn frames_of_every_protocol() {
    if !allowed() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/decode");
    let mut frames = Vec::new();
    for entry in fs::read_dir(folder).expect("seeds").map(Result::unwrap) {
        let seed = fs::read(entry.path()).unwrap();
        let (link, frame, _, _) = wire::fuzz_input(&seed).expect("a link type and a frame");
        let ether_type = match (link, frame.first().map(|first| first >> 4)) {
            (LinkType::ETHERNET, _) => &[][..],
            (LinkType::RAW | LinkType::IPV6, Some(4)) => &[8, 0],
            (LinkType::RAW | LinkType::IPV6, Some(6)) => &[0x86, 0xdd],
            _ => continue,
        };
        let addresses: &[u8] = if ether_type.is_empty() { &[] } else { &[2; 12] };
        frames.push([addresses, ether_type, frame].concat());
    }
    let [possible, counted] = agree(&frames);
    println!("{} frames, {possible} could be counted, {counted} were", frames.len());
    assert!(frames.len() > 60 && counted > 0);
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { gather(&path, found) } else { found.push(path) }
    }
}

#[test]
fn frames_of_the_corpus() {
    if !allowed() {
        return;
    }
    let mut paths = Vec::new();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    gather(&project.join("tests/corpus"), &mut paths);
    // The large corpus as well, if it exists beside the checkout.
    let beside = || project.join("../shared/corpus");
    gather(&std::env::var_os("TIDEWIRE_CORPUS").map_or_else(beside, PathBuf::from).join("captures"), &mut paths);
    paths.sort();
    let mut frames = Vec::new();
    for path in &paths {
        let Ok(mut source) = tidewire_files::open(std::slice::from_ref(path)) else { continue };
        let (mut block, mut from_here) = (Block::new(), 0);
        while from_here < 400 && source.fill(&mut block).unwrap_or(false) {
            let batch = block.batch();
            for frame in batch.frames.iter().filter(|frame| frame.link == LinkType::ETHERNET) {
                let bytes = batch.bytes(frame);
                // For the kernel a frame truncated by a snap length is complete.
                if (14..FRAME_BYTES_MAX).contains(&bytes.len()) {
                    frames.push(bytes.to_vec());
                    from_here += 1;
                }
            }
        }
    }
    let [possible, counted] = agree(&frames);
    println!("{} frames of {} captures, {possible} of flows, {counted} counted", frames.len(), paths.len());
    assert!(counted * 10 > possible * 9, "{counted} of {possible}");
}
