//! Every bound is reached, and reaching it does what it says.

use super::*;

fn piece(offset: u32, more: bool, length: usize) -> Piece {
    Piece { offset, more, data: vec![0x55; length] }
}

fn reasons(bench: Bench) -> Vec<Rejection> {
    bench.finish().iter().map(|end| end.rejection).collect()
}

#[test]
fn time_runs_out_exactly() {
    for (late_ns, wanted) in [(30_000_000_000, true), (30_000_000_001, false)] {
        let mut bench = Bench::new(Config::default());
        assert_eq!(bench.piece(DefragPolicy::Linux, false, 1, &piece(8, false, 8)), Result::Held);
        bench.clock_ns += late_ns;
        let found = bench.piece(DefragPolicy::Linux, false, 1, &piece(0, true, 8));
        assert_eq!(matches!(found, Result::Rebuilt { .. }), wanted);
        let reasons = reasons(bench);
        assert_eq!(reasons, if wanted { vec![] } else { vec![Rejection::Timeout, Rejection::EndOfInput] });
    }
}

#[test]
fn after_an_invalid_fragment_the_rest_is_rejected_without_being_kept() {
    let cases: [(&[Piece], Rejection); 7] = [
        (&[piece(0, true, 4)], Rejection::Tiny),
        (&[piece(8, false, 0)], Rejection::Tiny),
        (&[piece(0, true, 12)], Rejection::Unaligned),
        (&[piece(65_528, false, 8)], Rejection::Oversized),
        (&[piece(8, false, 8), piece(16, false, 8)], Rejection::InconsistentEnd),
        (&[piece(0, true, 64), piece(16, true, 8)], Rejection::Teardrop),
        (&[piece(0, true, 64), piece(56, true, 16)], Rejection::Overlap),
    ];
    for (pieces, wanted) in cases {
        let mut bench = Bench::new(Config::default());
        let mut last = Result::Held;
        for piece in pieces {
            last = bench.piece(DefragPolicy::Rfc5722, false, 1, piece);
        }
        assert_eq!(last, Result::Rejected(wanted));
        let held = bench.defragmenter.charged_bytes();
        for offset in 0..1000 {
            let found = bench.piece(DefragPolicy::Rfc5722, false, 1, &piece(offset * 8, true, 64));
            assert_eq!(found, Result::Rejected(wanted));
        }
        assert_eq!(bench.defragmenter.charged_bytes(), held);
        assert_eq!(reasons(bench), [wanted]);
    }
}

#[test]
fn a_host_begins_again_after_an_overlap() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.piece(DefragPolicy::Linux, true, 1, &piece(0, true, 16)), Result::Held);
    assert_eq!(bench.piece(DefragPolicy::Linux, true, 1, &piece(0, true, 8)), Result::Held);
    let overlap = Result::Rejected(Rejection::Overlap);
    assert_eq!(bench.piece(DefragPolicy::Linux, true, 1, &piece(8, true, 16)), overlap);
    assert_eq!(bench.piece(DefragPolicy::Linux, true, 1, &piece(8, false, 8)), Result::Held);
    let rebuilt = bench.piece(DefragPolicy::Linux, true, 1, &piece(0, true, 8));
    assert_eq!(rebuilt, Result::Rebuilt { payload: vec![0x55; 16], fragments: 2 });
    let ended = bench.finish();
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].fragments, ended[0].unsettled, ended[0].overlaps), (3, 2, 2));
}

#[test]
fn too_many_fragments() {
    let mut bench = Bench::new(Config { fragments_max: 10, ..Config::default() });
    for offset in 0..10 {
        assert_eq!(bench.piece(DefragPolicy::Linux, false, 1, &piece(offset * 8, true, 8)), Result::Held);
    }
    for _ in 0..3 {
        let found = bench.piece(DefragPolicy::Linux, false, 1, &piece(80, true, 8));
        assert_eq!(found, Result::Rejected(Rejection::TooMany));
    }
    assert_eq!(reasons(bench), [Rejection::TooMany]);
}

#[test]
fn a_snapped_fragment_spoils_its_datagram_only() {
    for (policy, after) in
        [(DefragPolicy::Linux, Result::Held), (DefragPolicy::First, Result::Rejected(Rejection::Snapped))]
    {
        let mut bench = Bench::new(Config::default());
        assert_eq!(bench.piece(policy, false, 1, &piece(0, true, 64)), Result::Held);
        let (bytes, decoded) = packet(false, 0x0a00_0001, 1, 253, &piece(64, true, 64));
        let snapped = Result::Rejected(Rejection::Snapped);
        assert_eq!(bench.insert(policy, &bytes[..60], &decoded), snapped);
        assert_eq!(bench.piece(policy, false, 1, &piece(128, false, 64)), snapped);
        // The host has completed it by now, and begins a new one.
        assert_eq!(bench.piece(policy, false, 1, &piece(0, true, 64)), after);
        assert!(matches!(bench.piece(policy, false, 2, &piece(0, true, 64)), Result::Held));
        assert!(matches!(bench.piece(policy, false, 2, &piece(64, false, 64)), Result::Rebuilt { .. }));
        bench.finish();
    }
}

/// The source that fills the table loses first: a flood from one source does not push out another's datagram.
#[test]
fn eviction_prefers_those_who_fill_the_memory() {
    let config = Config { fragment_memory_bytes: 1 << 20, datagrams_max: 1000, ..Config::default() };
    let mut bench = Bench::new(config);
    assert_eq!(bench.piece(DefragPolicy::Linux, false, 1, &piece(8, false, 800)), Result::Held);
    for id in 0..60_000 {
        let (bytes, decoded) = packet(false, 0x0b00_0001, id, 17, &piece(0, true, 1400));
        bench.insert(DefragPolicy::Linux, &bytes, &decoded);
    }
    assert!(matches!(bench.piece(DefragPolicy::Linux, false, 1, &piece(0, true, 8)), Result::Rebuilt { .. }));
    let reasons = reasons(bench);
    assert!(reasons.iter().filter(|&&why| why == Rejection::Memory).count() > 59_000);
}

#[test]
fn any_order_of_arrival_rebuilds_the_largest_datagram() {
    let payload: Vec<u8> = (0..65_512_u32).map(|at| (at * 7 + at / 251) as u8).collect();
    let pieces: Vec<Piece> = payload
        .chunks(8)
        .enumerate()
        .map(|(at, data)| Piece { offset: at as u32 * 8, more: at < 8188, data: data.to_vec() })
        .collect();
    for policy in [DefragPolicy::Linux, DefragPolicy::First, DefragPolicy::BsdRight] {
        for step in [1, 8188, 3001] {
            let mut bench = Bench::new(Config::default());
            let mut found = Result::Held;
            for count in 0..pieces.len() {
                assert_eq!(found, Result::Held);
                found = bench.piece(policy, false, 9, &pieces[(count * step + 8188) % pieces.len()]);
            }
            assert_eq!(found, Result::Rebuilt { payload: payload.clone(), fragments: 8189 });
            assert!(bench.finish().is_empty());
        }
    }
}
