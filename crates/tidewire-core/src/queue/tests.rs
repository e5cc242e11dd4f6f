//! The queue against a naive model, and against published vectors.

mod model;
mod vectors;

use proptest::prelude::*;

use super::{tree::Tree, *};

/// Inserts into and removes from a tree alone.
#[test]
fn tree_keeps_its_order_and_colours() {
    let mut random = 1_u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..200 {
        let mut tree = Tree::default();
        let mut starts = std::collections::BTreeMap::new();
        for _ in 0..200 {
            let start = next(100);
            if let std::collections::btree_map::Entry::Vacant(entry) = starts.entry(start) {
                let (parent, side) = tree.place(start);
                let segment = Segment::new(start, start + 1 + next(20), &[], false);
                entry.insert((u64::from(segment.length), tree.link(segment, parent, side)));
            } else if next(100) < 50 + round / 4 {
                let (_, node) = starts[&start];
                assert_eq!(tree.unlink(node).start, start);
                starts.remove(&start);
            }
            tree.check();
            if next(8) == 0 {
                tree.shrink();
                tree.check();
                let mut node = tree.first();
                while node != tree::NIL {
                    starts.get_mut(&tree.segment(node).start).unwrap().1 = node;
                    node = tree.next(node);
                }
            }
            let at = next(120);
            let reach = starts.iter().filter(|entry| *entry.0 <= at).map(|entry| entry.0 + entry.1.0).max();
            assert_eq!(tree.reach_from(at), reach.unwrap_or(0));
            assert_eq!(tree.start_after(at), starts.range(at + 1..).next().map(|entry| *entry.0));
            let beyond = starts.iter().find(|entry| entry.0 + entry.1.0 > at).map(|entry| *entry.0);
            let found = tree.first_beyond(at);
            assert_eq!((found != tree::NIL).then(|| tree.segment(found).start), beyond);
        }
        assert_eq!(tree.count() as usize, starts.len());
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert { start: u64, length: u64, byte: u8, unconfirmed: bool },
    Take { limit: u64, unconfirmed_limit: u64 },
    Jump,
    DropLast,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0_u64..40, 1_u64..16, any::<u8>(), prop::bool::weighted(0.1))
            .prop_map(|(start, length, byte, unconfirmed)| Op::Insert { start, length, byte, unconfirmed }),
        2 => (0_u64..60, 0_u64..30).prop_map(|(limit, unconfirmed_limit)| Op::Take { limit, unconfirmed_limit }),
        1 => Just(Op::Take { limit: 100, unconfirmed_limit: 0 }),
        1 => Just(Op::Jump),
        1 => Just(Op::DropLast),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_the_model(policy in prop::sample::select(TcpPolicy::ALL), ops in prop::collection::vec(op(), 1..40)) {
        run(policy, &ops);
    }
}

fn run(policy: TcpPolicy, ops: &[Op]) {
    let (mut queue, mut model) = (Queue::default(), model::Model::new(policy));
    let mut expected = 0;
    for op in ops {
        match *op {
            Op::Insert { start, length, byte, unconfirmed } => {
                // Offsets are relative to what was delivered; some lie before it.
                let start = (start + expected).saturating_sub(6);
                if start <= expected && policy == TcpPolicy::Linux && start + length > expected && !unconfirmed {
                    // The engine takes what is due at once.
                    take_all(&mut queue, &mut model, &mut expected, u64::MAX, 0);
                }
                let bytes: Vec<u8> = (0..length).map(|i| byte.wrapping_add((i / 3) as u8)).collect();
                let incoming = Incoming { start, bytes: &bytes, length, unconfirmed, is_wrong: false };
                let mut conflicts = Vec::new();
                let inserted = queue.insert(policy, expected, &incoming, &mut |at, count| conflicts.push((at, count)));
                let wanted = model.insert(expected, start, &bytes, unconfirmed);
                assert_eq!(inserted.fresh_bytes, wanted.fresh, "fresh bytes of {start}+{length}");
                assert_eq!(inserted.repeated_bytes, length - wanted.fresh);
                let reported = conflicts.iter().flat_map(|&(at, count)| at..at + count);
                let reported: std::collections::BTreeSet<u64> = reported.collect();
                assert_eq!(reported, wanted.conflicts);
                if start <= expected && !unconfirmed {
                    take_all(&mut queue, &mut model, &mut expected, u64::MAX, 0);
                }
            }
            Op::Take { limit, unconfirmed_limit } => {
                let (limit, unconfirmed_limit) = (limit.saturating_add(expected), unconfirmed_limit + expected);
                take_all(&mut queue, &mut model, &mut expected, limit, unconfirmed_limit);
            }
            Op::Jump => {
                if let Some(start) = queue.first_start() {
                    assert!(start >= expected);
                    expected = start;
                    take_all(&mut queue, &mut model, &mut expected, u64::MAX, u64::MAX);
                }
            }
            Op::DropLast => {
                // (`Last` writes into old pieces; the model cuts them. Linux: see its own test.)
                if !matches!(policy, TcpPolicy::Linux | TcpPolicy::Last) {
                    let wanted = model.drop_last(expected);
                    assert_eq!(queue.drop_last(), wanted);
                }
            }
        }
        queue.confirmed.tree.check();
        assert_eq!(queue.holes(), model.holes(expected), "holes at {expected}");
        assert_eq!(queue.is_empty() && model.is_empty(expected), queue.is_empty());
    }
    queue.clear();
    assert!(queue.is_empty() && queue.charged_bytes() == 0);
}

fn take_all(queue: &mut Queue, model: &mut model::Model, expected: &mut u64, limit: u64, unconfirmed_limit: u64) {
    while let Some(piece) = queue.take(*expected, limit, unconfirmed_limit) {
        assert_eq!((piece.start, piece.length), (*expected, piece.bytes().len() as u64));
        assert!(piece.length > 0 && piece.start + piece.length <= limit);
        for (offset, byte) in (piece.start..).zip(piece.bytes()) {
            assert_eq!(model.deliver(offset), Some((*byte, piece.unconfirmed)), "byte at {offset}");
            assert!(!piece.unconfirmed || offset < unconfirmed_limit);
        }
        *expected += piece.length;
    }
    model.settle(*expected);
    let more = model.deliverable(*expected, limit, unconfirmed_limit);
    assert!(!more, "the model has more at {expected}");
}

/// Thousands of one-byte segments in reverse order: each costs as little as in order.
#[test]
fn reverse_order_costs_no_more() {
    const COUNT: u64 = 100_000;
    for policy in [TcpPolicy::Linux, TcpPolicy::First, TcpPolicy::Bsd, TcpPolicy::Last] {
        let mut queue = Queue::default();
        for start in (1..COUNT).rev() {
            let bytes = [start as u8];
            let incoming = Incoming { start, bytes: &bytes, length: 1, ..Incoming::default() };
            queue.insert(policy, 0, &incoming, &mut |_, _| unreachable!());
            assert_eq!(queue.holes(), 1);
        }
        assert!(queue.charged_bytes() < COUNT * 200, "{}", queue.charged_bytes());
        let mut expected = 1;
        while let Some(piece) = queue.take(expected, u64::MAX, 0) {
            expected += piece.length;
        }
        assert_eq!(expected, COUNT);
        assert_eq!(queue.charged_bytes(), 0);
    }
}

/// Bytes that are only counted, or snapped, are covered all the same.
#[test]
fn lengths_without_bytes() {
    let mut queue = Queue::default();
    let insert = |queue: &mut Queue, start, length, bytes: &[u8]| {
        let incoming = Incoming { start, bytes, length, ..Incoming::default() };
        queue.insert(TcpPolicy::Linux, 0, &incoming, &mut |_, _| unreachable!())
    };
    insert(&mut queue, 10, 10, b"");
    assert_eq!(insert(&mut queue, 20, 10, b"").fresh_bytes, 10);
    assert_eq!(queue.pieces(), 1);
    assert_eq!(insert(&mut queue, 5, 10, b"").fresh_bytes, 5);
    assert_eq!(insert(&mut queue, 40, 10, b"abc").fresh_bytes, 10);
    assert_eq!(insert(&mut queue, 50, 10, b"abc").fresh_bytes, 10);
    assert_eq!((queue.holes(), queue.end()), (2, 60));
    let mut expected = 0;
    let lengths = std::iter::from_fn(|| {
        let start = queue.first_start()?.max(expected);
        let piece = queue.take(start, u64::MAX, 0)?;
        expected = piece.start + piece.length;
        Some((piece.start, piece.length, piece.bytes().len()))
    });
    assert_eq!(lengths.collect::<Vec<_>>(), [(5, 10, 0), (15, 15, 0), (40, 10, 3), (50, 10, 3)]);
}
