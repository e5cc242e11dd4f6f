//! Honest connections among an attacker's packets: figures of `make attack` that depend on the packets alone, not on the machine.

use tidewire_lab::attack::{Crowd, Flood, Load, One, one};

/// The percentage of intact honest connections while an attacker sends half the packets.
fn whole_percent(flood: Flood, memory_mib: u64, crowd: Crowd, load: Load) -> f64 {
    let what = One { flood, crowd, memory_bytes: memory_mib << 20, packets: 300_000, share: 50, load };
    let figures = one(&what).expect("it runs");
    assert!(figures.honest > 2000, "{figures:?}");
    figures.whole as f64 * 100.0 / figures.honest as f64
}

/// Holes with eight full segments behind each hold most memory. The attacker's flows must release memory, not the honest
/// connection with one late segment.
#[test]
fn honest_connections_are_whole_beside_full_holes() {
    let one_server = Crowd { sources: 1_000_000, destinations: 1, is_v6: false };
    let many_servers = Crowd { sources: 1_000_000, destinations: 10_000, is_v6: true };
    // Bytes delivered because of the source's limit count for a flow no more than those delivered for lack of memory.
    let one_source = Crowd { sources: 1, ..one_server };
    let cases = [(16, one_server, 98.0), (16, many_servers, 98.0), (16, one_source, 98.0), (64, many_servers, 99.5)];
    for (memory_mib, crowd, least) in cases {
        let whole = whole_percent(Flood::FullHoles, memory_mib, crowd, Load::USUAL);
        assert!(whole >= least, "{memory_mib} MiB, {crowd:?}: {whole} %");
    }
}

/// Segments that are up to 30 segments late let honest connections hold as much as the attacker's do. What the attacker's
/// hold without progress goes first.
#[test]
fn honest_connections_that_wait_long_are_whole_beside_holes() {
    let crowd = Crowd { sources: 1_000_000, destinations: 1, is_v6: false };
    for flood in [Flood::FullHoles, Flood::ByteHoles] {
        let whole = whole_percent(flood, 64, crowd, Load { at_once: 1000, late_max: 30 });
        assert!(whole >= 99.5, "{}: {whole} %", flood.name());
    }
}
