//! Cutoffs in the kernel, and exact counts there: both builds of the programs (XDP and socket filter), run by
//! `BPF_PROG_TEST_RUN`. Needs CAP_BPF and CAP_NET_ADMIN; says so otherwise.

use std::time::Duration;

use super::loaded::{Flow, Loaded, allowed, small};
use tidewire_core::{
    Direction::{ClientToServer, ServerToClient},
    Shunt,
};
use tidewire_lab::craft::{ACK, FIN, PSH, RST, SYN};

#[test]
fn after_the_verdict_packets_are_counted_and_dropped() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&small()) {
        let mut shunt = loaded.kernel.shunt(0);
        for is_v6 in [false, true] {
            let flow = Flow::tcp(is_v6, 4000);
            assert!(loaded.passes(&flow.data(1000, b"before")));
            assert_eq!(shunt.counted(&flow.key(), ClientToServer), None);
            assert!(shunt.cut(&flow.key(), ClientToServer));
            let frames = [flow.data(1006, b"first"), flow.packet(ACK | PSH, 1011, b"second"), flow.data(1000, b"late")];
            for frame in &frames {
                assert!(!loaded.passes(frame));
            }
            for flags in [SYN, SYN | ACK, FIN | ACK, RST, RST | ACK] {
                assert!(loaded.passes(&flow.packet(flags, 1017, b"")), "{flags:#x}");
            }
            assert!(loaded.passes(&Flow::tcp(is_v6, 4001).data(1, b"another")));
            let counted = shunt.counted(&flow.key(), ClientToServer).unwrap();
            let wire_bytes: usize = frames.iter().map(Vec::len).sum();
            assert_eq!(counted.packets, 3);
            assert_eq!(counted.wire_bytes, wire_bytes as u64);
            assert_eq!(counted.ip_bytes, wire_bytes as u64 - 3 * 14);
            assert_eq!(counted.payload_bytes, 15);
            assert_eq!(counted.tcp_flags, ACK | PSH);
            assert_eq!(counted.end, Some(1017));
            let now = tidewire_live::sys::wait::now_ns();
            assert!((now - 1_000_000_000..now).contains(&counted.last.unwrap().as_nanos()), "{counted:?} at {now}");
            assert_eq!(shunt.counted(&flow.key(), ServerToClient), None, "the other direction is not cut");

            assert!(!loaded.passes(&flow.data(1017, b"more")));
            let counted = shunt.retire(&flow.key(), ClientToServer).unwrap();
            assert_eq!((counted.packets, counted.payload_bytes, counted.end), (1, 4, Some(1021)));
            assert!(loaded.passes(&flow.data(1021, b"after")));
            assert_eq!(shunt.retire(&flow.key(), ClientToServer), None);
        }
        loaded.conserves();
        let counters = loaded.kernel.counters();
        assert_eq!((counters.cut, counters.kept, counters.map_full), (8, 10, 0));
        assert_eq!(loaded.kernel.occupancy().map(|table| table.entries), [0, 0]);
    }
}

#[test]
fn by_itself_after_the_first_packet_that_is_no_syn() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&small().with_is_auto(true)) {
        let mut shunt = loaded.kernel.shunt(0);
        assert!(shunt.cuts_by_itself());
        let flows = [(6, false), (6, true), (17, false), (17, true), (132, false), (132, true)];
        for (proto, is_v6) in flows {
            let flow = Flow { proto, ..Flow::tcp(is_v6, 5000) };
            if proto == 6 {
                assert!(loaded.passes(&flow.packet(SYN, 1, b"")));
                assert_eq!(shunt.counted(&flow.key(), ClientToServer), None, "a SYN makes no entry");
            }
            assert!(loaded.passes(&flow.data(2, b"first")));
            assert_eq!(shunt.counted(&flow.key(), ClientToServer).map(|counted| counted.packets), Some(0));
            for number in 0..100 {
                assert!(!loaded.passes(&flow.data(7 + number, &[7; 10])), "{flow:?}");
            }
            if proto == 6 {
                assert!(loaded.passes(&flow.packet(FIN | ACK, 200, b"")));
            }
            let counted = shunt.retire(&flow.key(), ClientToServer).unwrap();
            assert_eq!((counted.packets, counted.payload_bytes), (100, 1000), "{flow:?}");
            assert_eq!(counted.end, (proto == 6).then_some(7 + 99 + 10));
        }
        loaded.conserves();
        let counters = loaded.kernel.counters();
        assert_eq!((counters.cut, counters.kept, counters.made), (600, 4, [3, 3]));
    }
}

#[test]
fn tags_distinguish_flows() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&small()) {
        let mut shunt = loaded.kernel.shunt(0);
        for is_v6 in [false, true] {
            let ids = [[0xffff; 2], [5, 0xffff], [5, 6], [6, 5], [7, 0xffff], [0xffe, 1]];
            let flows = ids.map(|vlan| Flow { vlan, ..Flow::tcp(is_v6, 80) });
            for (at, flow) in flows.iter().enumerate() {
                assert!(loaded.passes(&flow.data(1, b"x")), "{flow:?}");
                assert!(shunt.cut(&flow.key(), ClientToServer));
                (0..=at).for_each(|_| assert!(!loaded.passes(&flow.data(1, b"x")), "{flow:?}"));
            }
            for (at, flow) in flows.iter().enumerate() {
                let counted = shunt.retire(&flow.key(), ClientToServer).unwrap();
                assert_eq!(counted.packets, at as u64 + 1);
                let tags = flow.vlan.iter().filter(|id| **id != 0xffff).count() as u64;
                assert_eq!(counted.wire_bytes - counted.ip_bytes, counted.packets * (14 + 4 * tags));
            }
        }
        loaded.conserves();
    }
    for loaded in Loaded::both(&small()) {
        let mut shunt = loaded.kernel.shunt(0);
        let tagged = |vlan| Flow { vlan, ..Flow::tcp(false, 80) };
        assert!(
            shunt.cut(&tagged([0xffff; 2]).key(), ClientToServer)
                && shunt.cut(&tagged([6, 0xffff]).key(), ClientToServer)
        );
        for vlan in [[0, 0xffff], [0, 0], [0, 6], [6, 0]] {
            assert!(!loaded.passes(&tagged(vlan).data(1, b"x")), "{vlan:?}: id 0 names no VLAN");
        }
    }
    for loaded in Loaded::both(&small().with_key_vlan(false)) {
        let mut shunt = loaded.kernel.shunt(0);
        shunt.cut(&Flow::tcp(false, 80).key(), ClientToServer);
        assert!(
            !loaded.passes(&Flow { vlan: [7, 8], ..Flow::tcp(false, 80) }.data(1, b"x")),
            "ids are no part of the key"
        );
    }
}

/// Inserts an extension header with this protocol number behind the IPv6 header.
fn extended(frame: &[u8], first: u8, headers: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.splice(54..54, headers.iter().copied());
    let length = u16::from_be_bytes([frame[18], frame[19]]) + headers.len() as u16;
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    frame[20] = first;
    frame
}

#[test]
fn what_is_not_plain_passes_uncounted() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&small()) {
        let mut shunt = loaded.kernel.shunt(0);
        let [four, six] = [false, true].map(|is_v6| Flow::tcp(is_v6, 80));
        let tunnel = Flow { proto: 17, ports: (5000, 4789), ..Flow::tcp(false, 0) };
        assert!(!shunt.cut(&tunnel.key(), ClientToServer), "VXLAN's port");
        [four, six].iter().for_each(|flow| assert!(shunt.cut(&flow.key(), ClientToServer)));
        let plain = six.data(1, &[1; 40]);
        let mut passing = vec![tunnel.data(0, b"anything")];
        for patch in [(14, 0x46), (20, 0x20), (21, 1), (17, 200), (46, 0x40), (46, 0xf0), (23, 47), (12, 9)] {
            let mut frame = four.data(1, b"x");
            frame[patch.0] = patch.1;
            passing.push(frame);
        }
        passing.push(extended(&plain, 44, &[6, 0, 0, 1, 0, 0, 0, 9])); // a first fragment
        passing.push(extended(&plain, 51, &[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0])); // authenticated
        passing.push(extended(&plain, 0, &[6, 0, 0xc2, 4, 0, 0, 0, 90])); // jumbo payload option
        passing.push(extended(&plain, 60, &[6, 9, 1, 4, 0, 0, 0, 0])); // longer than the packet
        passing.push(extended(&plain, 43, &[[6, 2, 0, 1].as_slice(), &[0; 20]].concat())); // another final destination
        passing.push(vec![0xff; 14]);
        passing.push([&[2; 12], &[8, 0][..], &[0x45; 10]].concat());
        for frame in &passing {
            assert!(loaded.passes(frame), "{frame:x?}");
        }
        assert_eq!(loaded.kernel.counters().unparsed, passing.len() as u64);
        let options = [60, 0, 1, 4, 0, 0, 0, 0];
        let routing = [6, 0, 0, 0, 0, 0, 0, 0];
        // No segments are left.
        let long = [[6, 1, 0, 0].as_slice(), &[0; 12]].concat();
        for (first, headers) in [(60, &routing[..]), (0, &routing), (43, &long), (0, &[options, routing].concat())] {
            assert!(!loaded.passes(&extended(&plain, first, headers)), "{first} {headers:?}");
        }
        let counted = shunt.retire(&six.key(), ClientToServer).unwrap();
        assert_eq!((counted.packets, counted.payload_bytes, counted.end), (4, 160, Some(41)));
        assert_eq!(shunt.retire(&four.key(), ClientToServer).unwrap().packets, 0);
        loaded.conserves();
    }
}

#[test]
fn a_full_table_lets_packets_through() {
    if !allowed() {
        return;
    }
    let tiny = small().with_is_auto(true).with_flows_v4(16).with_flows_v6(16);
    for loaded in Loaded::both(&tiny) {
        let mut shunt = loaded.kernel.shunt(0);
        let flows: Vec<_> =
            (0..100).map(|port: u16| Flow { proto: 17, ..Flow::tcp(port.is_multiple_of(2), 1000 + port) }).collect();
        for flow in &flows {
            for _ in 0..3 {
                loaded.passes(&flow.data(0, b"x"));
            }
        }
        loaded.conserves();
        let counters = loaded.kernel.counters();
        // All 32 slots of each table are used.
        assert_eq!((counters.made, counters.cut), ([32, 32], 64 * 2));
        assert_eq!((counters.map_full, counters.delivered), (36 * 3, 64 + 36 * 3));
        assert!(shunt.is_crowded());
        let late = Flow::tcp(false, 999);
        assert!(!shunt.cut(&late.key(), ClientToServer), "there is no room");
        assert_eq!(loaded.kernel.full(), 1);
        let retired: Vec<_> = flows.iter().filter_map(|flow| shunt.retire(&flow.key(), ClientToServer)).collect();
        assert_eq!(retired.iter().map(|counted| counted.packets).sum::<u64>(), counters.cut);
        assert_eq!(retired.len(), 64);
        assert!(shunt.cut(&late.key(), ClientToServer), "there is room again");
        assert!(!loaded.passes(&late.data(0, b"x")));
    }
}

#[test]
fn unread_entries_are_swept_up() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&small().with_is_auto(true)) {
        let mut shunt = loaded.kernel.shunt(0);
        let flows: Vec<_> = (0..50)
            .map(|port: u16| Flow { proto: 17, vlan: [port, 0xffff], ..Flow::tcp(port.is_multiple_of(2), port) })
            .collect();
        for (at, flow) in flows.iter().enumerate() {
            for _ in 0..=at {
                loaded.passes(&flow.data(0, b"x"));
            }
        }
        shunt.sweep(Duration::from_secs(60), 10_000, |key, counted| panic!("not idle: {key:?} {counted:?}"));
        std::thread::sleep(std::time::Duration::from_millis(60));
        let mut swept = Vec::new();
        for _ in 0..21 {
            shunt.sweep(Duration::from_millis(20), 100, |key, counted| swept.push((key, counted.packets)));
        }
        swept.sort_by_key(|swept| swept.1);
        let expected: Vec<_> = flows.iter().enumerate().skip(1).map(|(at, flow)| (flow.key(), at as u64)).collect();
        assert_eq!(swept, expected);
        assert_eq!(loaded.kernel.occupancy().map(|table| table.entries), [0, 0]);
    }
}
