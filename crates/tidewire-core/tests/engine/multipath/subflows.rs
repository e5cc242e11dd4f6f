//! Subflows that join, their mappings, and connections that are put together or not.

use super::{CLIENT_KEY, Connection, FIRST, Form, SECOND, SERVER_KEY, bytes, figures, nothing, of, option, token};
use crate::common::{ACK, config, run, run_shared};

#[test]
fn bytes_of_two_subflows_are_one_stream() {
    for (version, form) in [
        (1, Form::default()),
        (1, Form { is_short: true, has_checksum: false }),
        (0, Form { is_short: false, has_checksum: true }),
        (0, Form { is_short: true, has_checksum: true }),
    ] {
        let mut connection = Connection { form, ..Connection::new(version) };
        let mut segments = connection.both();
        segments.push(connection.data(FIRST, true, 0, 30));
        for (port, offset) in [(FIRST, 0), (SECOND, 100), (SECOND, 200), (FIRST, 300), (SECOND, 400)] {
            segments.push(connection.data(port, false, offset, 100));
        }
        segments.push(connection.data(SECOND, true, 30, 5));
        segments.push(connection.end(FIRST, false, 500));
        segments.extend(connection.close(FIRST));
        segments.extend(connection.close(SECOND));
        for workers in [1, 2, 3, 8] {
            let (streams, ledger) = run_shared(&config(), &segments, workers);
            let first = of(&streams, FIRST);
            assert_eq!(first.bytes, [bytes(0, 35), bytes(0, 500)], "version {version}, {form:?}, {workers} workers");
            assert!(first.gaps.iter().all(Vec::is_empty));
            assert!(nothing(of(&streams, SECOND)), "its bytes are the connection's");
            assert_eq!(ledger.delivered_bytes, 535);
            assert_eq!([first, of(&streams, SECOND)].map(|log| log.wire), [[30, 200], [5, 300]]);
        }
        let figures = figures(&config(), &segments);
        let token = Some(token(version, SERVER_KEY));
        let (mptcp, stats, _) = &figures[&FIRST];
        assert_eq!((mptcp.is_together, mptcp.subflows, mptcp.token, mptcp.is_joined), (true, 2, token, false));
        assert_eq!(
            (stats[1].reassembled_bytes, stats[1].delivered_bytes, stats[1].payload_wire_bytes),
            (500, 500, 200)
        );
        let (mptcp, stats, _) = &figures[&SECOND];
        assert_eq!((mptcp.is_together, mptcp.subflows, mptcp.token, mptcp.is_joined), (true, 0, token, true));
        assert_eq!((stats[1].reassembled_bytes, stats[1].delivered_bytes, stats[1].cutoff_bytes), (300, 0, 0));
        assert!(figures.values().flat_map(|one| &one.1).all(|stats| stats.ignored_bytes + stats.missing_bytes == 0));
    }
}

#[test]
fn a_subflow_that_the_server_opens_runs_the_other_way() {
    let mut connection = Connection::new(1);
    let mut segments = connection.open();
    // The opener of the second subflow is the connection's server: it sends what is `from_client` there.
    segments.extend(connection.join(SECOND, token(1, CLIENT_KEY)));
    segments.push(connection.data(FIRST, true, 0, 10));
    segments.push(connection.data(FIRST, false, 0, 50));
    let from_server = connection.signal(false, None, Some((50, 1, 40)), false);
    segments.push(connection.segment(SECOND, true, ACK, from_server, &bytes(50, 40)));
    for workers in [1, 2, 4, 8] {
        let (streams, _) = run_shared(&config(), &segments, workers);
        assert_eq!(of(&streams, FIRST).bytes, [bytes(0, 10), bytes(0, 90)], "{workers} workers");
        assert!(nothing(of(&streams, SECOND)));
    }
}

#[test]
fn bytes_sent_again_on_another_subflow_count_once() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.data(SECOND, false, 0, 100));
    segments.push(connection.data(SECOND, false, 150, 100));
    segments.push(connection.data(FIRST, false, 200, 100));
    segments.push(connection.data(FIRST, false, 50, 150));
    let (streams, ledger) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!((&first.bytes[1], first.conflicts, ledger.delivered_bytes), (&bytes(0, 300), [0, 0], 300));
    // Other bytes for waiting ones: there are two readings, and the first one counts.
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 100, 100));
    segments.push(connection.data_of(SECOND, false, 100, 100, &[0xee; 100], true));
    segments.push(connection.data(SECOND, false, 0, 100));
    let (streams, _) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!(first.bytes[1], bytes(0, 200));
    assert!(first.conflicts[1] > 0 && first.anomalies.contains(&"overlap_conflict".to_owned()), "{first:?}");
}

#[test]
fn what_an_unseen_subflow_carried_is_a_gap_of_the_connection() {
    // The join of the second subflow was not captured: its packets are a stream joined midway, with bytes of its own.
    let mut connection = Connection::new(1);
    let mut segments = connection.open();
    connection.join(SECOND, token(1, SERVER_KEY));
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.data(SECOND, false, 100, 100));
    segments.push(connection.data(FIRST, false, 200, 100));
    segments.push(connection.acknowledge(FIRST, true, 300));
    segments.push(connection.end(FIRST, false, 400));
    let (streams, _) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!(first.bytes[1], [bytes(0, 100), bytes(200, 100)].concat());
    let missing = |offset| (offset, 100, "not_captured".to_owned());
    assert_eq!(first.gaps[1], [missing(100), missing(300)], "in its place; and what the end announced");
    assert_eq!(of(&streams, SECOND).bytes[1], bytes(100, 100), "nothing is guessed of it");
    segments.remove(4);
    let figures = figures(&config(), &segments);
    let (mptcp, stats, _) = &figures[&FIRST];
    assert_eq!((mptcp.subflows, stats[1].missing_bytes, stats[1].reassembled_bytes), (1, 200, 200));
}

#[test]
fn a_token_that_names_nothing_joins_nothing() {
    let mut connection = Connection::new(1);
    let mut segments = connection.open();
    segments.extend(connection.join(SECOND, token(1, SERVER_KEY) ^ 1));
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.data(SECOND, false, 100, 100));
    for workers in [1, 2, 8] {
        let (streams, _) = run_shared(&config(), &segments, workers);
        assert_eq!(of(&streams, FIRST).bytes[1], bytes(0, 100));
        assert_eq!(of(&streams, SECOND).bytes[1], bytes(100, 100), "as a connection of its own");
    }
    assert!(!figures(&config(), &segments)[&SECOND].0.is_together);
}

#[test]
fn without_both_keys_nothing_is_put_together() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments[2].options.clear();
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.data(SECOND, false, 100, 100));
    let figures = figures(&config(), &segments);
    assert!(!figures[&FIRST].0.is_together, "the client's key was not captured");
    let (streams, _) = run(&config(), &segments);
    assert_eq!(of(&streams, FIRST).bytes[1], bytes(0, 100));
}

#[test]
fn a_mapping_covers_many_segments_and_bytes_without_one_have_no_place() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    // One mapping for three segments; the first of the next two is not captured, so its mapping is unknown.
    let mapping = connection.signal(false, None, Some((0, 1, 300)), false);
    segments.push(connection.data_of(FIRST, false, 0, 100, &bytes(0, 100), false));
    segments.last_mut().unwrap().options = mapping;
    segments.push(connection.data_of(FIRST, false, 100, 100, &bytes(100, 100), false));
    segments.push(connection.data_of(FIRST, false, 200, 100, &bytes(200, 100), false));
    connection.data(FIRST, false, 300, 100);
    segments.push(connection.data_of(FIRST, false, 400, 50, &bytes(400, 50), false));
    segments.push(connection.data(SECOND, false, 450, 50));
    segments.push(connection.data(FIRST, false, 500, 50));
    let (streams, _) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!(first.bytes[1], [bytes(0, 300), bytes(450, 100)].concat());
    assert_eq!(first.gaps[1], [(300, 150, "not_captured".to_owned())]);
}

#[test]
fn keys_with_the_first_bytes_map_them() {
    let mut connection = Connection::new(1);
    let mut segments = connection.open();
    let keys = segments.pop().unwrap();
    let body = [&[1, 0x81][..], &CLIENT_KEY.to_be_bytes(), &SERVER_KEY.to_be_bytes(), &60_u16.to_be_bytes()].concat();
    segments.push(connection.data_of(FIRST, true, 0, 60, &bytes(0, 60), false));
    segments.last_mut().unwrap().options = option(&body);
    segments.extend(connection.join(SECOND, token(1, SERVER_KEY)));
    segments.push(connection.data(SECOND, true, 60, 40));
    assert_eq!(keys.payload, b"");
    let (streams, _) = run(&config(), &segments);
    assert_eq!(of(&streams, FIRST).bytes[0], bytes(0, 100));
}

#[test]
fn a_connection_that_falls_back_is_one_of_tcp() {
    // No mapping at all (section 3.7), and an infinite one after a failure.
    let mut connection = Connection::new(1);
    let mut segments = connection.open();
    segments.push(connection.data_of(FIRST, true, 0, 40, &bytes(0, 40), false));
    segments.push(connection.data(FIRST, false, 0, 100));
    let infinite = connection.signal(false, None, Some((100, 101, 0)), false);
    for offset in [100, 200, 300] {
        segments.push(connection.data_of(FIRST, false, offset, 100, &bytes(offset, 100), false));
    }
    segments[5].options = infinite;
    let (streams, _) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!(first.bytes, [bytes(0, 40), bytes(0, 400)]);
    assert!(first.gaps.iter().all(Vec::is_empty), "{first:?}");
}

#[test]
fn numbers_wrap_and_bytes_beyond_the_end_or_out_of_reach_are_none() {
    let mut connection = Connection { form: Form { is_short: true, has_checksum: false }, ..Connection::new(1) };
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    segments.push(connection.end(FIRST, false, 200));
    segments.push(connection.data(SECOND, false, 150, 100));
    connection.form.is_short = false;
    segments.push(connection.data(SECOND, false, 1 << 40, 100));
    segments.push(connection.data_of(SECOND, false, 0_u64.wrapping_sub(50), 100, &[0; 100], true));
    segments.push(connection.data(FIRST, false, 100, 50));
    let (streams, ledger) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!((&first.bytes[1], &first.gaps[1]), (&bytes(0, 200), &Vec::new()));
    assert_eq!(ledger.delivered_bytes, 200);
}
