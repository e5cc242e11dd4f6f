//! When the end of a connection is reported, and what becomes of packets that come after that.

use std::time::Duration;
use tidewire_types::Timestamp;

use crate::common::{ACK, FIN, Feed, InvariantChecker, RST, SYN, Seg, StreamLog, config, fate, handshake, run_shared};
use tidewire_core::{Config, Fate, Mode};

/// Reported after a second of silence, forgotten after ten.
fn closing() -> Config {
    config().with_report_closed(Some(Duration::from_secs(1))).with_closed_timeout(Duration::from_secs(10))
}

fn at(time_ms: u64, segment: Seg) -> Seg {
    Seg { time_ms, ..segment }
}

fn server_fin() -> Seg {
    Seg::new(false, 501, 102, FIN | ACK, b"")
}

fn last_ack() -> Seg {
    Seg::new(true, 102, 502, ACK, b"")
}

/// A connection that is closed by both sides at 0 ms.
fn closed() -> Vec<Seg> {
    let mut segments = handshake(100, 500);
    segments.extend([Seg::new(true, 101, 501, FIN | ACK, b""), server_fin(), last_ack()]);
    segments
}

fn feed(config: &Config, segments: &[Seg]) -> Feed<InvariantChecker> {
    let mut feed = Feed::new(config, InvariantChecker::default());
    feed.segments(segments);
    feed
}

/// Lets the clock, which begins at a second, go to so many milliseconds of the segments'.
fn tick(feed: &mut Feed<InvariantChecker>, time_ms: u64) -> usize {
    feed.engine.tick(Timestamp::from_nanos(1_000_000_000 + time_ms * 1_000_000));
    feed.engine.handler().streams.len()
}

#[test]
fn an_end_is_reported_a_second_after_the_last_packet() {
    let mut feed = feed(&closing(), &closed());
    assert_eq!([tick(&mut feed, 999), tick(&mut feed, 1000), tick(&mut feed, 1001)], [0, 0, 1]);
    let (checker, ledger) = feed.finish();
    let log = &checker.streams[&1];
    assert_eq!((log.closed.as_deref(), log.packets), (Some("fin"), [4, 2]));
    assert_eq!((ledger.streams_opened, ledger.streams_closed), (1, 1));
}

/// The last acknowledgment has the number behind the FIN: nothing was lost there, and nothing has to be remembered.
#[test]
fn a_connection_that_closes_in_order_holds_no_memory() {
    let feed = feed(&closing(), &closed());
    assert_eq!(feed.engine.buffered_bytes(), 0);
}

#[test]
fn what_comes_within_the_second_counts_and_begins_it_again() {
    let mut feed = feed(&closing(), &closed());
    feed.segments(&[at(700, server_fin()), at(700, last_ack())]);
    assert_eq!([tick(&mut feed, 1500), tick(&mut feed, 1701)], [0, 1]);
    let (checker, ledger) = feed.finish();
    assert_eq!(checker.streams[&1].packets, [5, 3]);
    assert_eq!(fate(&ledger, Fate::AfterClose), 0);
}

#[test]
fn silence_reports_ends_and_lets_no_time_pass() {
    let tight = closing()
        .with_inactivity_timeout(Some(Duration::from_millis(500)))
        .with_half_open_timeout(Duration::from_millis(500));
    let of = |client_port, segment| Seg { client_port, ..segment };
    let mut segments = closed();
    let [open, half_open] = [segments.len() as u64 + 1, segments.len() as u64 + 4];
    segments.extend(handshake(100, 500).into_iter().map(|segment| of(2000, segment)));
    segments.push(of(2001, Seg::new(true, 7, 0, SYN, b"")));
    let mut feed = feed(&tight, &segments);
    feed.engine.report_silent_closes(Timestamp::from_nanos(2_000_000_000));
    assert_eq!(feed.engine.handler().streams.len(), 0, "not yet silent for more than a second");
    feed.engine.report_silent_closes(Timestamp::from_nanos(2_000_000_001));
    assert_eq!(feed.engine.handler().streams.keys().copied().collect::<Vec<_>>(), [1]);
    // Streams that wait are not affected.
    feed.segment(&at(1, of(2000, Seg::new(true, 101, 501, ACK, b"goes on"))));
    feed.segment(&at(1, of(2001, Seg::new(false, 70, 8, SYN | ACK, b""))));
    feed.segment(&at(1, last_ack()));
    let (checker, ledger) = feed.finish();
    assert_eq!(checker.streams.len(), 3);
    assert_eq!((&checker.streams[&open].bytes[0][..], checker.streams[&open].packets), (&b"goes on"[..], [3, 1]));
    assert_eq!(checker.streams[&half_open].packets, [1, 1]);
    assert_eq!(fate(&ledger, Fate::AfterClose), 1);
}

#[test]
fn late_packets_are_no_streams_of_their_own() {
    for mode in [Mode::Strict, Mode::Track] {
        let late = [at(1500, server_fin()), at(1500, last_ack()), at(9999, last_ack())];
        let data = at(3000, Seg::new(true, 101, 501, ACK, b"retransmitted"));
        let mut feed = feed(&closing().with_mode(mode), &closed());
        feed.segments(&late[..2]);
        feed.segment(&data);
        feed.segment(&late[2]);
        let (checker, ledger) = feed.finish();
        assert_eq!(checker.streams.len(), 1);
        assert_eq!(checker.streams[&1].packets, [4, 2]);
        assert_eq!(fate(&ledger, Fate::AfterClose), 4);
    }
}

#[test]
fn a_reset_is_reported_in_the_same_time() {
    let mut segments = handshake(100, 500);
    segments.push(Seg::new(false, 501, 101, RST | ACK, b""));
    let mut feed = feed(&closing(), &segments);
    feed.segment(&at(500, Seg::new(true, 101, 501, ACK, b"")));
    assert_eq!([tick(&mut feed, 1400), tick(&mut feed, 1501)], [0, 1]);
    feed.segment(&at(1600, Seg::new(true, 101, 501, ACK, b"late")));
    let (checker, ledger) = feed.finish();
    assert_eq!(checker.streams[&1].closed.as_deref(), Some("rst"));
    assert_eq!(fate(&ledger, Fate::AfterClose), 1);
}

#[test]
fn another_connection_on_the_same_ports_is_another_stream() {
    for (time_ms, reset) in [(2000, false), (2000, true), (11_000, false)] {
        let mut segments = closed();
        if reset {
            segments = handshake(100, 500);
            segments.push(Seg::new(false, 501, 101, RST | ACK, b""));
        }
        // With the same number, too: a refused attempt that is made again much later.
        let isn = if reset { 100 } else { 90_000 };
        let first = segments.len() as u64 + 1;
        let more = handshake(isn, 70_000).into_iter().map(|segment| at(time_ms, segment));
        segments.extend(more);
        segments.push(at(time_ms, Seg::new(true, isn + 1, 70_001, ACK, b"new")));
        let (checker, ledger) = feed(&closing(), &segments).finish();
        assert_eq!(checker.streams.len(), 2);
        assert_eq!(checker.streams[&first].bytes[0], b"new");
        assert_eq!(fate(&ledger, Fate::AfterClose), 0);
    }
    // Packets after the removal are another stream, as without the report.
    let mut segments = closed();
    segments.push(at(10_001, Seg::new(true, 102, 502, ACK, b"x")));
    assert_eq!(feed(&closing(), &segments).finish().0.streams.len(), 2);
}

#[test]
fn a_full_table_gives_up_reported_ones_first() {
    let tight = closing().with_flows_max(Some(3));
    let mut feed = feed(&tight, &closed());
    for (number, port) in (2000..2040).enumerate() {
        for segment in closed() {
            feed.segment(&Seg { client_port: port, time_ms: 1100 * (number as u64 + 1), ..segment });
        }
    }
    let (checker, ledger) = feed.finish();
    assert_eq!((checker.streams.len(), ledger.evicted), (41, 0));
    assert!(checker.streams.values().all(|log| log.closed.as_deref() == Some("fin")));
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let mut segments = Vec::new();
    for (number, port) in (2000..2030_u16).enumerate() {
        let begin_ms = number as u64 * 150;
        let late =
            [(900, server_fin()), (1950, server_fin()), (2000, last_ack()), (2300, Seg::new(true, 7, 0, SYN, b""))];
        let late = late.into_iter().map(|(time_ms, segment)| at(begin_ms + time_ms, segment));
        let all = closed().into_iter().map(|segment| at(begin_ms, segment)).chain(late);
        segments.extend(all.map(|segment| Seg { client_port: port, ..segment }));
    }
    segments.sort_by_key(|segment| segment.time_ms);
    let (alone, ledger) = run_shared(&closing(), &segments, 1);
    assert_eq!(fate(&ledger, Fate::AfterClose), 60);
    for workers in [2, 3, 8] {
        let (together, shared) = run_shared(&closing(), &segments, workers);
        let figures = |log: &StreamLog| (log.packets, log.closed.clone());
        assert!(
            alone.iter().map(|(id, log)| (id, figures(log))).eq(together.iter().map(|(id, log)| (id, figures(log))))
        );
        assert!(ledger.fates().eq(shared.fates()));
    }
}
