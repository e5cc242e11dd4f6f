//! Missing bytes of a connection, and subflows that end before it.

use std::time::Duration;
use tidewire_types::Timestamp;

use super::{Connection, FIRST, SECOND, bytes, of};
use crate::common::{ACK, Feed, InvariantChecker, RST, Seg, config, run};
use tidewire_core::PacketLoss;

/// A hole is given up when the receiver has acknowledged it and enough arrived behind it, and not before.
#[test]
fn a_hole_waits_as_long_as_one_of_a_subflow() {
    let config = config().with_hole_segments_strict(4).with_hole_bytes_strict(300);
    for is_acknowledged in [false, true] {
        let mut connection = Connection::new(1);
        let mut segments = connection.both();
        segments.push(connection.data(FIRST, false, 0, 100));
        for offset in [200, 300, 400, 500, 600] {
            segments.push(connection.data(FIRST, false, offset, 100));
        }
        if is_acknowledged {
            segments.push(connection.acknowledge(FIRST, true, 700));
        }
        segments.push(connection.data(SECOND, false, 100, 100));
        let (streams, _) = run(&config, &segments);
        let first = of(&streams, FIRST);
        if is_acknowledged {
            assert_eq!(first.gaps[1], [(100, 100, "not_captured".to_owned())]);
        } else {
            assert_eq!((&first.bytes[1], &first.gaps[1]), (&bytes(0, 700), &Vec::new()));
        }
    }
}

#[test]
fn what_is_missing_has_its_cause_and_another_subflow_may_have_it() {
    let plan = |again: bool| {
        let mut connection = Connection::new(1);
        let mut segments = connection.both();
        segments.push(connection.data(FIRST, false, 100, 100));
        segments.last_mut().unwrap().snapped = 40;
        if again {
            segments.push(connection.data(SECOND, false, 150, 50));
        }
        segments.push(connection.data(SECOND, false, 0, 100));
        segments.push(connection.data(SECOND, false, 200, 10));
        let (streams, _) = run(&config(), &segments);
        of(&streams, FIRST).clone()
    };
    let first = plan(false);
    assert_eq!(first.gaps[1], [(160, 40, "snapped".to_owned())]);
    assert_eq!(first.bytes[1], [bytes(0, 160), bytes(200, 10)].concat());
    let first = plan(true);
    assert_eq!((&first.bytes[1], &first.gaps[1]), (&bytes(0, 210), &Vec::new()));
}

#[test]
fn a_loss_of_the_capture_is_the_cause_of_a_hole() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.data(FIRST, false, 200, 100));
    for (at, segment) in segments.iter_mut().enumerate() {
        segment.time_ms = 10_000 * at as u64;
    }
    let mut feed = Feed::new(&config(), InvariantChecker::default());
    let loss = PacketLoss::between(0, Timestamp::from_nanos(66_000_000_000), Timestamp::from_nanos(66_000_000_000), 1)
        .with_number(8);
    feed.engine.note_past_losses(&[loss]);
    feed.segments(&segments);
    let (checker, _) = feed.finish();
    assert_eq!(of(&checker.streams, FIRST).gaps[1], [(100, 100, "lost_by_capture".to_owned())]);
}

#[test]
fn the_first_subflow_stays_open_while_others_carry_on() {
    let config = config().with_report_closed(Some(Duration::from_secs(1))).with_closed_timeout(Duration::from_secs(10));
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.extend(connection.close(FIRST));
    let mut feed = Feed::new(&config, InvariantChecker::default());
    feed.segments(&segments);
    for (seconds, offset) in [(30, 100), (60, 200)] {
        let segment = connection.data(SECOND, false, offset, 100);
        feed.segment(&Seg { time_ms: seconds * 1000, ..segment });
        assert!(feed.engine.handler().streams.is_empty(), "its stream goes on");
    }
    for segment in connection.close(SECOND) {
        feed.segment(&Seg { time_ms: 61_000, ..segment });
    }
    feed.engine.tick(Timestamp::from_nanos(65_000_000_000));
    assert_eq!(feed.engine.handler().streams.len(), 1, "the second one is reported");
    feed.engine.tick(Timestamp::from_nanos(80_000_000_000));
    assert_eq!(feed.engine.handler().streams.len(), 2, "and with it the connection");
    let (checker, _) = feed.finish();
    let first = of(&checker.streams, FIRST);
    assert_eq!((&first.bytes[1], first.closed.as_deref()), (&bytes(0, 300), Some("fin")));
}

#[test]
fn a_reset_of_the_first_subflow_leaves_the_connection() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.segment(FIRST, false, RST | ACK, Vec::new(), b""));
    segments.push(connection.data(SECOND, false, 100, 100));
    let (streams, _) = run(&config(), &segments);
    assert_eq!(of(&streams, FIRST).bytes[1], bytes(0, 200));
}
