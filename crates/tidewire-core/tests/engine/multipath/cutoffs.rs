//! Cutoffs of a connection, which count the bytes of all of its subflows.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{Connection, FIRST, Figures, SECOND, bytes, figures, nothing, of};
use crate::common::{Feed, config, run};
use tidewire_core::{Chunk, Counted, Direction, DirectionCutoff, EndReason, FlowKey, Handler, Mode, Shunt, Stream};

#[test]
fn a_cutoff_counts_the_connections_bytes() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    for (port, offset) in [(FIRST, 0), (SECOND, 100), (FIRST, 200), (SECOND, 300)] {
        segments.push(connection.data(port, false, offset, 100));
    }
    for (limit, mode) in [(250, Mode::Strict), (0, Mode::Strict), (250, Mode::Fast)] {
        let cutoff = DirectionCutoff::UNLIMITED.with(Direction::ServerToClient, limit);
        let (streams, ledger) = run(&config().with_cutoff(cutoff).with_mode(mode), &segments);
        let first = of(&streams, FIRST);
        assert_eq!(first.bytes[1], bytes(0, limit));
        assert_eq!(first.gaps[1], [(limit, 400 - limit, "cutoff".to_owned())]);
        assert!(nothing(of(&streams, SECOND)));
        assert_eq!(ledger.delivered_bytes, limit);
    }
    let chunks = config().with_chunk_bytes(130).with_overlap_bytes(10);
    let (streams, _) = run(&chunks, &segments);
    assert_eq!(of(&streams, FIRST).bytes[1], bytes(0, 400));
    let (streams, _) = run(&config().with_mode(Mode::Track), &segments);
    assert!(streams.values().all(nothing));
}

#[test]
fn bytes_out_of_order_behind_a_cutoff_are_counted_once() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    let late = connection.data(SECOND, false, 100, 100);
    // Behind the cutoff, and within the subflow before what lies before it.
    segments.push(connection.data(SECOND, false, 200, 100));
    segments.push(connection.data(SECOND, false, 300, 100));
    segments.push(late);
    segments.push(connection.data(FIRST, false, 400, 100));
    for mode in [Mode::Strict, Mode::Fast] {
        for limit in [0, 50, 150, 250] {
            let cutoff = DirectionCutoff::UNLIMITED.with(Direction::ServerToClient, limit);
            let config = config().with_cutoff(cutoff).with_mode(mode);
            let (streams, ledger) = run(&config, &segments);
            assert_eq!(of(&streams, FIRST).bytes[1], bytes(0, limit), "{mode:?} {limit}");
            assert_eq!(of(&streams, FIRST).gaps[1], [(limit, 500 - limit, "cutoff".to_owned())]);
            assert_eq!(ledger.delivered_bytes, limit);
            let figures = figures(&config, &segments);
            let stats = &figures[&FIRST].1[1];
            assert_eq!((stats.reassembled_bytes, stats.cutoff_bytes), (500, 500 - limit), "{mode:?} {limit}");
            assert!(
                figures.values().flat_map(|one| &one.1).all(|stats| stats.ignored_bytes + stats.missing_bytes == 0)
            );
        }
    }
}

/// Sets a cutoff with the first bytes of a direction.
struct Later(Figures, u64);

impl Handler for Later {
    type Data = ();

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        stream.set_cutoff(chunk.direction, self.1);
        self.0.data(stream, chunk);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        self.0.close(stream, reason);
    }
}

#[test]
fn a_cutoff_that_is_set_later_counts_the_connections_bytes() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    for (port, offset) in [(FIRST, 0), (SECOND, 100), (FIRST, 200), (SECOND, 300)] {
        segments.push(connection.data(port, false, offset, 100));
    }
    let mut feed = Feed::new(&config(), Later(Figures::default(), 250));
    feed.segments(&segments);
    let figures = feed.finish().0.0.0;
    let stats = &figures[&FIRST].1[1];
    assert_eq!((stats.reassembled_bytes, stats.delivered_bytes, stats.cutoff_bytes), (400, 250, 150));
    assert!(figures.values().flat_map(|one| &one.1).all(|stats| stats.ignored_bytes + stats.missing_bytes == 0));
}

/// What stands before the engine: it counts nothing.
struct Standing {
    by_itself: bool,
    /// How many directions it was asked to cut.
    asked: Arc<AtomicU32>,
}

impl Shunt for Standing {
    fn cut(&mut self, _: &FlowKey, _: Direction) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn counted(&mut self, _: &FlowKey, _: Direction) -> Option<Counted> {
        None
    }

    fn retire(&mut self, _: &FlowKey, _: Direction) -> Option<Counted> {
        None
    }

    fn cuts_by_itself(&self) -> bool {
        self.by_itself
    }
}

#[test]
fn where_the_kernel_cuts_by_itself_subflows_stay_apart() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    for (port, offset) in [(FIRST, 0), (SECOND, 100), (FIRST, 200), (SECOND, 300)] {
        segments.push(connection.data(port, false, offset, 100));
    }
    let cutoff = DirectionCutoff::UNLIMITED.with(Direction::ServerToClient, 50);
    for by_itself in [true, false] {
        let asked = Arc::new(AtomicU32::new(0));
        let mut feed = Feed::new(&config().with_cutoff(cutoff), Figures::default());
        feed.engine.set_shunt(Box::new(Standing { by_itself, asked: Arc::clone(&asked) }));
        feed.segments(&segments);
        let figures = feed.finish().0.0;
        assert!(figures.values().all(|one| one.0.is_together != by_itself), "{by_itself}");
        assert_eq!(figures[&FIRST].1[1].reassembled_bytes, if by_itself { 200 } else { 400 });
        // Mappings are needed of every packet.
        assert_eq!(asked.load(Ordering::Relaxed), 0, "{by_itself}");
    }
}
