//! The walk agrees with the decoder, and both directions of a conversation go to one worker.

use crate::common::packets::{address6, sound};
use crate::common::{Random, packets};
use crate::decode;
use tidewire_steer::{Compiled, Packet, Program, Settings, State, TUNNELS_MAX, Target};
use tidewire_wire::LinkType;

#[test]
fn the_walk_finds_what_the_decoder_finds() {
    let mut random = Random(21);
    for depth in 0..=TUNNELS_MAX {
        let mut settings = Settings::default();
        settings.wire.tunnel_depth = depth;
        let compiled = decode::whole_walk(&settings);
        let mut compared = 0;
        for _ in 0..packets(20_000) {
            let frame = sound(&mut random);
            match decode::difference(LinkType::ETHERNET, &frame, &settings, &compiled) {
                Ok(agreed) => compared += u32::from(agreed),
                Err(difference) => panic!("depth {depth}: {difference}"),
            }
        }
        println!("depth {depth}: {compared} compared");
        assert!(compared > packets(20_000) as u32 / 4);
    }
}

/// A frame between two ends, and the answer to it.
fn pair(random: &mut Random) -> [Vec<u8>; 2] {
    let macs = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
    let ports = [random.below(65536) as u16, random.below(65536) as u16].map(u16::to_be_bytes);
    let six = random.once_in(2);
    let proto = random.pick(&[6_u8, 17, 132, 50]);
    let addresses: [Vec<u8>; 2] = [(); 2].map(|()| {
        if six {
            [&address6(random)[..8], &random.next().to_be_bytes()[..]].concat()
        } else {
            vec![10, random.next() as u8, random.next() as u8, 1]
        }
    });
    [(0, 1), (1, 0)].map(|(from, to)| {
        let mut frame = [macs[to], macs[from]].concat();
        if six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, proto, 64]);
        } else {
            frame.extend([8, 0, 0x45, 0, 0, 40, 0, 1, 0, 0, 64, proto, 0, 0]);
        }
        frame.extend(
            [&addresses[from][..], &addresses[to][..], &ports[from], &ports[to], &[0, 20, 0, 0], &[0x50; 12]].concat(),
        );
        frame
    })
}

#[test]
fn both_directions_have_one_verdict() {
    let mut random = Random(22);
    for text in [
        "steer_flow",
        "steer_p2p",
        "steer_link",
        "steer_local_ip 10.0.0.0/8",
        "steer_local_net 10.0.0.0 8 16",
        "steer_local_link 02:00:00:00:00:01",
        "steer_local_link 02:00:00:00:00:07",
        "double_steer_ip",
        "double_steer_mac",
        "steer_key key_5tuple",
        "steer_key key_3tuple",
        "steer_key [key_eth_src, key_eth_dst, key_ip_dscp]",
        "steer_field_symmetric 0 6 6",
        "port 53",
        "unit",
    ] {
        for seed in [0, 77] {
            let mut settings = Settings::default();
            settings.seed = seed;
            let compiled = Compiled::new(&Program::parse(text).unwrap(), &settings).unwrap();
            for _ in 0..packets(2000) {
                let frames = pair(&mut random);
                let [there, back] = frames.each_ref().map(|frame| {
                    match compiled.evaluate(&Packet::new(LinkType::ETHERNET, frame), &mut State::default()).target {
                        Target::Both(a, b) => Target::Both(a.min(b), a.max(b)),
                        other => other,
                    }
                });
                assert_eq!(there, back, "{text}: {frames:x?}");
            }
        }
    }
}

#[test]
fn flows_spread_evenly() {
    let mut random = Random(23);
    for text in ["steer_flow", "steer_p2p", "steer_key key_5tuple", "steer_field 26 8", "steer_vlan"] {
        let compiled = Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap();
        for workers in [2_u32, 3, 8] {
            let mut counts = vec![0_u32; workers as usize];
            for _ in 0..4000 {
                let [mut frame, _] = pair(&mut random);
                if text == "steer_vlan" {
                    let id = (2 * (1 + random.below(2000)) as u16).to_be_bytes();
                    frame.splice(12..12, [0x81, 0, id[0], id[1]]);
                }
                let verdict = compiled.evaluate(&Packet::new(LinkType::ETHERNET, &frame), &mut State::default());
                // ESP has no ports, and a key with ports drops it.
                if let Some(worker) = verdict.first(workers) {
                    counts[worker as usize] += 1;
                }
            }
            let even = counts.iter().sum::<u32>() / workers;
            assert!(counts.iter().all(|count| count.abs_diff(even) < even / 4), "{text} {counts:?}");
        }
    }
}

#[test]
fn fragments_of_a_datagram_stay_together() {
    use tidewire_steer::Fragments::{Addresses, FollowFirst};
    let fragment = |place: u16, ports: [u8; 4]| {
        let mut frame = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]].concat();
        frame.extend([8, 0, 0x45, 0, 0, 36, 0, 9]);
        frame.extend(place.to_be_bytes());
        frame.extend([64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(ports);
        frame.extend([0; 12]);
        frame
    };
    for fragments in [Addresses, FollowFirst] {
        let mut settings = Settings::default();
        settings.fragments = fragments;
        let compiled = Compiled::new(&Program::parse("steer_flow").unwrap(), &settings).unwrap();
        let mut state = State::default();
        let mut target =
            |frame: Vec<u8>| compiled.evaluate(&Packet::new(LinkType::ETHERNET, &frame), &mut state).target;
        let whole = target(fragment(0, [0, 53, 0, 80]));
        let first = target(fragment(0x2000, [0, 53, 0, 80]));
        let later = target(fragment(0x0002, [9, 9, 9, 9]));
        assert_eq!(first, later, "what stands where ports would be does not matter");
        assert_eq!(whole == first, fragments == FollowFirst);
    }
}

#[test]
fn every_name_is_in_the_manual() {
    let manual = include_str!("../../../../docs/steering.md");
    for builtin in tidewire_steer::language::BUILTINS {
        assert!(
            manual.contains(&format!("`{}", builtin.name)) || manual.contains(&format!(" {} ", builtin.name)),
            "{}",
            builtin.name
        );
    }
    for (key, _) in tidewire_steer::language::key::NAMES {
        assert!(manual.contains(key), "{key}");
    }
    // Its examples are programs.
    for example in manual.split("```haskell\n").skip(1) {
        let text = example.split("```").next().unwrap();
        Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
    }
}
