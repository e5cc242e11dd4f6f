//! Prioritized loss before user space: the watermark rule by the level that engines publish. Needs CAP_BPF and
//! CAP_NET_ADMIN; says so otherwise.

use super::loaded::{Flow, Loaded, allowed, small};
use tidewire_core::{Direction::ClientToServer, Shunt};
use tidewire_lab::craft::{ACK, FIN, SYN};
use tidewire_live::kernel::{KernelSettings, Shed};

fn settings(shed: Shed) -> KernelSettings {
    small().with_shed(Some(shed))
}

/// Three priorities above a base of 400: watermarks at 600, 800 and 1000.
fn three(overload_cutoff_bytes: u64) -> Shed {
    let mut shed = Shed::new(400, 3);
    shed.overload_cutoff_bytes = Some(overload_cutoff_bytes);
    shed
}

#[test]
fn above_its_watermark_a_priority_is_shed() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&settings(three(u64::MAX))) {
        let mut shunt = loaded.kernel.shunt(0);
        let flows = [0, 1, 2, 7]
            .map(|priority: u8| (Flow::tcp(priority.is_multiple_of(2), 2000 + u16::from(priority)), priority));
        for (flow, priority) in &flows {
            if *priority > 0 {
                shunt.prioritize(&flow.key(), ClientToServer, *priority);
            }
        }
        let mut shed = [0; 8];
        for level in [0, 400, 401, 599, 600, 601, 800, 801, 999, 1000] {
            shunt.level(level);
            for (flow, priority) in &flows {
                let rank = u32::from(*priority).min(2);
                let is_shed = level > 400 + 200 * (rank + 1);
                assert_eq!(loaded.passes(&flow.data(1, b"payload")), !is_shed, "level {level}, priority {priority}");
                shed[usize::from(*priority)] += u64::from(is_shed);
                for flags in [SYN, FIN | ACK] {
                    assert!(loaded.passes(&flow.packet(flags, 1, b"")), "the beginning and the end are not shed");
                }
            }
        }
        assert_eq!(shed, [5, 3, 0, 0, 0, 0, 0, 0]);
        loaded.conserves();
        assert_eq!(loaded.kernel.counters().shed, shed);
        for (flow, priority) in &flows {
            // Shed packets are counted for their direction.
            let counted = shunt.retire(&flow.key(), ClientToServer).unwrap();
            let shed = shed[usize::from(*priority)];
            assert_eq!((counted.packets, counted.payload_bytes), (shed, 7 * shed));
        }
    }
}

#[test]
fn the_highest_of_the_engines_levels_counts() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&settings(three(u64::MAX))) {
        let mut shunts = [0, 1].map(|engine| loaded.kernel.shunt(engine));
        let packet = Flow::tcp(false, 1).data(1, b"x");
        shunts[0].level(900);
        shunts[1].level(100);
        assert!(!loaded.passes(&packet));
        shunts[0].level(100);
        assert!(loaded.passes(&packet));
    }
}

#[test]
fn in_the_region_below_the_watermark_long_streams_are_shed() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&settings(three(1000))) {
        let mut shunt = loaded.kernel.shunt(0);
        assert!(shunt.counts_by_itself());
        for is_v6 in [false, true] {
            let flow = Flow::tcp(is_v6, 1);
            shunt.level(0);
            assert!(loaded.passes(&flow.data(1, &[1; 600])));
            shunt.level(500);
            assert!(loaded.passes(&flow.data(601, &[1; 400])), "600 bytes so far");
            assert!(!loaded.passes(&flow.data(1001, &[1; 400])), "1000 bytes");
            shunt.level(400);
            assert!(loaded.passes(&flow.data(1401, &[1; 400])), "nothing is shed below the base");
            let counted = shunt.retire(&flow.key(), ClientToServer).unwrap();
            assert_eq!((counted.packets, counted.payload_bytes, counted.end), (1, 400, Some(1401)));
        }
        loaded.conserves();
        assert_eq!(loaded.kernel.counters().shed[0], 2);
    }
}

#[test]
fn first_packets_go_by_their_ports() {
    if !allowed() {
        return;
    }
    let ports = vec![(22, 2), (53, 1), (443, 1)];
    let mut shed = three(u64::MAX);
    shed.ports = ports;
    for loaded in Loaded::both(&settings(shed)) {
        let mut shunt = loaded.kernel.shunt(0);
        shunt.level(1000);
        let flow = |source, destination| Flow { proto: 17, ports: (source, destination), ..Flow::tcp(false, 0) };
        for (source, destination, passes) in
            [(22, 9, true), (9, 22, true), (53, 22, true), (53, 443, false), (9, 9, false)]
        {
            assert_eq!(loaded.passes(&flow(source, destination).data(0, b"x")), passes, "{source} {destination}");
        }
        assert_eq!(loaded.kernel.counters().shed, [1, 1, 0, 0, 0, 0, 0, 0]);
        // An entry keeps its initial priority until it is changed.
        shunt.prioritize(&flow(9, 9).key(), ClientToServer, 2);
        assert!(loaded.passes(&flow(9, 9).data(0, b"x")));
        loaded.conserves();
    }
}

#[test]
fn a_direction_that_is_cut_is_counted_as_cut() {
    if !allowed() {
        return;
    }
    for loaded in Loaded::both(&settings(three(u64::MAX))) {
        let mut shunt = loaded.kernel.shunt(0);
        let flow = Flow::tcp(false, 1);
        shunt.level(1000);
        shunt.prioritize(&flow.key(), ClientToServer, 1);
        assert!(!loaded.passes(&flow.data(1, b"shed")));
        assert!(shunt.cut(&flow.key(), ClientToServer));
        assert!(!loaded.passes(&flow.data(5, b"cut")));
        let counters = loaded.kernel.counters();
        assert_eq!((counters.cut, counters.shed[1]), (1, 1));
        assert_eq!(shunt.retire(&flow.key(), ClientToServer).unwrap().packets, 2);
        assert_eq!(loaded.kernel.occupancy()[0].entries, 0, "one entry for both");
    }
}
