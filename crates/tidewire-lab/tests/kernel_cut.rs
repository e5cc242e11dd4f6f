//! Directions are cut off in the kernel, and what is counted there is exact: both readings of the programs, over frames by
//! `BPF_PROG_TEST_RUN`. Needs CAP_BPF and CAP_NET_ADMIN; says so otherwise.
#![forbid(unsafe_code)]

mod kernel;

use kernel::{Flow, Loaded, allowed, small};
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
            let now = tidewire_capture::sys::wait::now_ns();
            assert!((now - 1_000_000_000..now).contains(&counted.last_ns), "{counted:?} at {now}");
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
