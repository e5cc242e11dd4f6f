//! No packet is lost when an entry is ended while packets are counted into it: programs run on one thread (or two), entries
//! are cut, read, ended and swept on others, and every packet is accounted for. Needs CAP_BPF and CAP_NET_ADMIN; says so
//! otherwise.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use super::loaded::{Flow, Loaded, allowed, small};
use tidewire_core::{Direction::ClientToServer, Shunt};
use tidewire_live::kernel::KernelSettings;

/// Packets per system call, in the fastest possible succession.
const REPEATED: u32 = 2000;
const LASTS: Duration = Duration::from_millis(1500);

/// Runs programs over the flows' packets on `writers` threads, while `ends` ends entries on this one and returns how many
/// packets it found. Checks that every packet is counted once, and that some were counted.
fn race(settings: &KernelSettings, writers: usize, flows: &[Flow], mut ends: impl FnMut(&Loaded) -> u64) {
    for loaded in Loaded::both(settings) {
        let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut found = 0;
        thread::scope(|scope| {
            for _ in 0..writers {
                scope.spawn(|| {
                    while !over.load(Relaxed) {
                        for flow in flows {
                            let frame = flow.data(1, b"payload");
                            let before: &[u8] = if loaded.is_xdp { &[] } else { &[0; 14] };
                            loaded.program.time(&[before, &frame].concat(), REPEATED).unwrap();
                            sent.fetch_add(REPEATED.into(), Relaxed);
                        }
                    }
                });
            }
            let begun = Instant::now();
            while begun.elapsed() < LASTS {
                found += ends(&loaded);
            }
            over.store(true, Relaxed);
        });
        let mut shunt = loaded.kernel.shunt(0);
        for flow in flows {
            found += shunt.retire(&flow.key(), ClientToServer).map_or(0, |counted| counted.packets);
        }
        shunt.sweep(Duration::ZERO, u32::MAX, |_, counted| found += counted.packets);
        loaded.conserves();
        let counters = loaded.kernel.counters();
        assert_eq!(counters.received, sent.load(Relaxed));
        assert!(counters.cut > 0 && counters.delivered > 0, "{counters:?}");
        assert_eq!(found, counters.cut, "found, of those counted; xdp: {}", loaded.is_xdp);
        assert_eq!(loaded.kernel.occupancy().map(|table| table.entries), [0, 0]);
        println!("xdp {}: {} packets, {} counted", loaded.is_xdp, counters.received, counters.cut);
    }
}

fn flows(count: u16) -> Vec<Flow> {
    (0..count).map(|port| Flow { proto: 17, ..Flow::tcp(port.is_multiple_of(3), 3000 + port) }).collect()
}

/// Ends every flow's entry and creates it again.
fn again(loaded: &Loaded, flows: &[Flow]) -> u64 {
    let mut shunt = loaded.kernel.shunt(0);
    let mut found = 0;
    for flow in flows {
        found += shunt.counted(&flow.key(), ClientToServer).map_or(0, |counted| counted.packets);
        found += shunt.retire(&flow.key(), ClientToServer).map_or(0, |counted| counted.packets);
        shunt.cut(&flow.key(), ClientToServer);
    }
    found
}

#[test]
fn one_writer() {
    if allowed() {
        let flows = flows(3);
        race(&small().with_is_shared(false), 1, &flows, |loaded| again(loaded, &flows));
    }
}

#[test]
fn several_writers() {
    if allowed() {
        let flows = flows(2);
        race(&small(), 2, &flows, |loaded| again(loaded, &flows));
    }
}

#[test]
fn entries_that_make_themselves_in_a_crowded_table() {
    if allowed() {
        // Slots are freed and reused all the time.
        let flows = flows(24);
        let settings = small().with_is_auto(true).with_flows_v4(4).with_flows_v6(2);
        race(&settings, 2, &flows, |loaded| {
            let mut shunt = loaded.kernel.shunt(0);
            let retire = |flow: &Flow| shunt.retire(&flow.key(), ClientToServer).map_or(0, |counted| counted.packets);
            flows.iter().map(retire).sum()
        });
    }
}

#[test]
fn a_sweep_beside_engines_that_end_their_own() {
    if allowed() {
        let flows = flows(6);
        race(&small().with_is_auto(true), 1, &flows, |loaded| {
            let swept = AtomicU64::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut shunt = loaded.kernel.shunt(1);
                    for _ in 0..50 {
                        shunt.sweep(Duration::ZERO, u32::MAX, |_, counted| {
                            swept.fetch_add(counted.packets, Relaxed);
                        });
                    }
                });
                let mut shunt = loaded.kernel.shunt(0);
                for flow in flows.iter().cycle().take(600) {
                    let counted = shunt.retire(&flow.key(), ClientToServer);
                    swept.fetch_add(counted.map_or(0, |counted| counted.packets), Relaxed);
                }
            });
            swept.into_inner()
        });
    }
}
