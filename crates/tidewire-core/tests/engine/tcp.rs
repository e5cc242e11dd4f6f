//! Connections, segment by segment, and the events they cause.

use crate::common::*;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tidewire_core::{
    AnomalyKind, Config, DirectionCutoff, Fate, HISTORY_NEAR_BYTES, HISTORY_WINDOW_BYTES, History, HistoryAge, Mode,
    TcpPolicy,
};

const C: u32 = 1000;
const S: u32 = 5000;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("test payload is text")
}

fn client(offset: u32, payload: &str) -> Seg {
    Seg::new(true, C.wrapping_add(1 + offset), S + 1, ACK | PSH, payload.as_bytes())
}

fn server(offset: u32, acked: u32, payload: &str) -> Seg {
    Seg::new(false, S + 1 + offset, C.wrapping_add(1 + acked), ACK | PSH, payload.as_bytes())
}

fn one(config: &Config, more: &[Seg]) -> StreamLog {
    let mut segments = handshake(C, S);
    segments.extend_from_slice(more);
    let (streams, _) = run(config, &segments);
    assert_eq!(streams.len(), 1);
    streams[&1].clone()
}

#[test]
fn in_order_both_ways_and_closed() {
    let log = one(
        &config(),
        &[
            client(0, "GET"),
            server(0, 3, "OK"),
            Seg::new(true, C + 4, S + 3, FIN | ACK, b""),
            Seg::new(false, S + 3, C + 5, FIN | ACK, b""),
            Seg::new(true, C + 5, S + 4, ACK, b""),
        ],
    );
    assert_eq!((text(&log.bytes[0]), text(&log.bytes[1])), ("GET", "OK"));
    assert_eq!(log.closed.as_deref(), Some("fin"));
    assert_eq!(log.state, "closed");
    assert!(log.anomalies.is_empty(), "{:?}", log.anomalies);
    assert!(log.gaps[0].is_empty() && log.gaps[1].is_empty());
}

#[test]
fn reordered_and_repeated() {
    let log = one(&config(), &[client(3, "def"), client(0, "abc"), client(0, "abcdef"), client(6, "g")]);
    assert_eq!(text(&log.bytes[0]), "abcdefg");
    assert_eq!(log.retransmitted[0], 6);
}

#[test]
fn a_hole_that_is_never_filled_is_a_gap() {
    let log = one(&config(), &[client(0, "ab"), client(5, "fg"), server(0, 7, "x")]);
    assert_eq!(text(&log.bytes[0]), "abfg");
    assert_eq!(log.gaps[0], [(2, 3, "not_captured".into())]);
}

#[test]
fn bytes_acknowledged_and_never_seen_are_a_gap_at_the_end() {
    let log = one(&config(), &[client(0, "ab"), server(0, 9, "x")]);
    assert_eq!(log.gaps[0], [(2, 7, "not_captured".into())]);
}

#[test]
fn fin_before_data_waits_for_it() {
    let fin = Seg::new(true, C + 5, S + 1, FIN | ACK, b"");
    let log = one(&config(), &[fin, client(0, "abcd"), Seg::new(false, S + 1, C + 6, FIN | ACK, b"")]);
    assert_eq!(text(&log.bytes[0]), "abcd");
    assert_eq!(log.state, "closed");
}

#[test]
fn fin_with_data_and_data_beyond_it() {
    let fin = Seg::new(true, C + 1, S + 1, FIN | ACK, b"abc");
    let log = one(&config(), &[fin, client(3, "evil")]);
    assert_eq!(text(&log.bytes[0]), "abc");
    assert!(log.anomalies.contains(&"data_beyond_fin".into()));
}

#[test]
fn sequence_numbers_wrap() {
    let start = u32::MAX - 3;
    let mut segments = handshake(start, S);
    let at = |offset: u32| start.wrapping_add(1 + offset);
    segments.push(Seg::new(true, at(4), S + 1, ACK, b"efgh"));
    segments.push(Seg::new(true, at(0), S + 1, ACK, b"abcd"));
    segments.push(Seg::new(true, at(8), S + 1, ACK, b"ij"));
    let (streams, _) = run(&config(), &segments);
    assert_eq!(text(&streams[&1].bytes[0]), "abcdefghij");
}

#[test]
fn syn_that_carries_data() {
    let segments = [
        Seg::new(true, C, 0, SYN, b"hello"),
        Seg::new(false, S, C + 6, SYN | ACK, b""),
        Seg::new(true, C + 6, S + 1, ACK, b" world"),
    ];
    let (streams, _) = run(&config(), &segments);
    assert_eq!(text(&streams[&1].bytes[0]), "hello world");
    assert!(streams[&1].anomalies.contains(&"syn_data".into()));
}

#[test]
fn simultaneous_open() {
    let segments = [
        Seg::new(true, C, 0, SYN, b""),
        Seg::new(false, S, 0, SYN, b""),
        Seg::new(true, C, S + 1, SYN | ACK, b""),
        Seg::new(false, S, C + 1, SYN | ACK, b""),
        Seg::new(true, C + 1, S + 1, ACK, b"one"),
        Seg::new(false, S + 1, C + 4, ACK, b"two"),
    ];
    let (streams, _) = run(&config(), &segments);
    assert_eq!((text(&streams[&1].bytes[0]), text(&streams[&1].bytes[1])), ("one", "two"));
    assert!(streams[&1].anomalies.contains(&"simultaneous_open".into()));
}

#[test]
fn reply_seen_before_request() {
    let segments = [
        Seg::new(false, S, C + 1, SYN | ACK, b""),
        Seg::new(true, C, 0, SYN, b""),
        Seg::new(false, S + 1, C + 4, ACK, b"OK"),
        Seg::new(true, C + 1, S + 1, ACK, b"GET"),
    ];
    let (streams, _) = run(&config(), &segments);
    assert_eq!(streams.len(), 1);
    assert_eq!((text(&streams[&1].bytes[0]), text(&streams[&1].bytes[1])), ("GET", "OK"));
    assert_eq!(streams[&1].client_port, 1000);
}

#[test]
fn joined_midway_begins_with_the_lowest_byte_seen() {
    let segments = [client(103, "def"), client(100, "abc"), server(50, 106, "OK"), client(106, "ghi")];
    let (streams, _) = run(&config(), &segments);
    assert_eq!((text(&streams[&1].bytes[0]), text(&streams[&1].bytes[1])), ("abcdefghi", "OK"));
    assert!(streams[&1].gaps[0].is_empty());
}

#[test]
fn one_side_only() {
    let (streams, _) = run(&config(), &[Seg::new(true, C, 0, SYN, b""), client(0, "ab"), client(2, "cd")]);
    assert_eq!(text(&streams[&1].bytes[0]), "abcd");
}

#[test]
fn resets() {
    let rst = |seq: u32| Seg::new(true, seq, 0, RST, b"");
    let log = one(&config(), &[client(0, "ab"), rst(C + 100), client(2, "cd")]);
    assert_eq!(text(&log.bytes[0]), "abcd", "a reset inside the window, not at the next byte, is ignored");
    assert!(log.anomalies.contains(&"blind_reset".into()));
    let log = one(&config(), &[client(0, "ab"), rst(C.wrapping_sub(70_000)), client(2, "cd")]);
    assert!(log.anomalies.contains(&"invalid_reset".into()));
    let log = one(&config(), &[client(0, "ab"), rst(C + 3)]);
    assert_eq!((log.closed.as_deref(), log.state.as_str()), (Some("rst"), "reset"));
    let segments = [Seg::new(true, C, 0, SYN, b""), Seg::new(false, 0, C + 1, RST | ACK, b"")];
    assert_eq!(run(&config(), &segments).0[&1].closed.as_deref(), Some("rst"), "refused");
}

#[test]
fn doubtful_payload_is_not_believed() {
    let mut wrong_ack = client(0, "EVIL");
    wrong_ack.ack = S.wrapping_add(5_000_000);
    let log = one(&config(), &[wrong_ack, client(0, "good"), server(0, 4, "x")]);
    assert_eq!(text(&log.bytes[0]), "good");
    assert!(log.anomalies.contains(&"invalid_ack".into()));

    let mut no_ack = client(0, "EVIL");
    no_ack.flags = PSH;
    let log = one(&config(), &[no_ack, client(0, "good")]);
    assert_eq!(text(&log.bytes[0]), "good");

    let mut far = client(70_000, "EVIL");
    far.payload = b"EVIL".to_vec();
    let log = one(&config(), &[far, client(0, "good"), server(0, 4, "x")]);
    assert_eq!(text(&log.bytes[0]), "good");
    assert!(log.anomalies.contains(&"out_of_window".into()));
}

#[test]
fn old_timestamps_are_not_believed() {
    let stamped = |mut segment: Seg, value: u32| {
        segment.timestamp = Some(value);
        segment
    };
    // The SYNs agree on them.
    let mut segments: Vec<Seg> = handshake(C, S).into_iter().map(|segment| stamped(segment, 999)).collect();
    segments.extend([
        stamped(client(0, "ab"), 1000),
        stamped(client(2, "EVIL"), 10),
        stamped(client(2, "good"), 1001),
        server(0, 6, "x"),
    ]);
    let (streams, _) = run(&config(), &segments);
    let log = &streams[&1];
    assert_eq!(text(&log.bytes[0]), "abgood");
    assert!(log.anomalies.contains(&"old_timestamp".into()));
}

#[test]
fn a_new_connection_on_the_same_ports() {
    let mut segments = handshake(C, S);
    segments.push(client(0, "one"));
    segments.push(Seg::new(true, C + 4, S + 1, FIN | ACK, b""));
    segments.push(Seg::new(false, S + 1, C + 5, FIN | ACK, b""));
    segments.extend(handshake(90_000, 70_000));
    segments.push(Seg::new(true, 90_001, 70_001, ACK, b"two"));
    let (streams, _) = run(&config(), &segments);
    assert_eq!(streams.len(), 2);
    assert_eq!((text(&streams[&1].bytes[0]), text(&streams[&7].bytes[0])), ("one", "two"));
}

#[test]
fn a_syn_in_an_open_connection_is_believed_when_it_is_answered() {
    let blind = Seg::new(true, 90_000, 0, SYN, b"");
    let log = one(&config(), &[client(0, "ab"), blind.clone(), client(2, "cd")]);
    assert_eq!(text(&log.bytes[0]), "abcd");
    assert!(log.anomalies.contains(&"blind_syn".into()));
    let mut segments = handshake(C, S);
    segments.extend([client(0, "ab"), blind, Seg::new(false, 70_000, 90_001, SYN | ACK, b"")]);
    segments.push(Seg::new(true, 90_001, 70_001, ACK, b"new"));
    let (streams, _) = run(&config(), &segments);
    assert_eq!((text(&streams[&1].bytes[0]), text(&streams[&5].bytes[0])), ("ab", "new"));
    assert_eq!(streams[&1].closed.as_deref(), Some("reused"));
}

#[test]
fn cutoff_is_exact_and_statistics_go_on() {
    let config = config().with_cutoff(DirectionCutoff::new(4, u64::MAX));
    let mut segments = handshake(C, S);
    segments.extend([client(0, "abc"), client(3, "def"), client(6, "ghi"), server(0, 9, "OK")]);
    let (streams, ledger) = run(&config, &segments);
    let log = &streams[&1];
    assert_eq!((text(&log.bytes[0]), text(&log.bytes[1])), ("abcd", "OK"));
    assert_eq!(log.gaps[0], [(4, 5, "cutoff".into())]);
    assert_eq!((log.wire[0], log.packets[0]), (9, 5));
    assert_eq!(fate(&ledger, Fate::BeyondCutoff), 1);
}

#[test]
fn chunks_and_overlap() {
    let config = config().with_chunk_bytes(4).with_overlap_bytes(1);
    let log = one(&config, &[client(0, "abcdefgh"), client(8, "ij")]);
    assert_eq!(text(&log.bytes[0]), "abcdefghij");
}

#[test]
fn snapped_payload_is_a_gap_with_its_cause() {
    let mut cut = client(0, "abcdef");
    cut.snapped = 4;
    let log = one(&config(), &[cut, client(6, "gh")]);
    assert_eq!(text(&log.bytes[0]), "abgh");
    assert_eq!(log.gaps[0], [(2, 4, "snapped".into())]);
}

/// What is known to be missing is not waited for, also where it came before its turn.
#[test]
fn snapped_payload_out_of_order_is_a_gap_at_once() {
    let cut = |offset: u32, payload: &str| Seg { snapped: payload.len() - 2, ..client(offset, payload) };
    let fin = Seg::new(true, C + 20, S + 1, FIN | ACK, b"");
    let end = Seg::new(false, S + 1, C + 21, FIN | ACK, b"");
    let log = one(&config(), &[cut(6, "ghijkl"), cut(0, "abcdef"), cut(12, "mnopqrs"), fin, end]);
    assert_eq!(text(&log.bytes[0]), "abghmn");
    let gap = |offset, bytes| (offset, bytes, "snapped".to_owned());
    assert_eq!(log.gaps[0], [gap(2, 4), gap(8, 4), gap(14, 5)]);
    assert_eq!((log.state.as_str(), log.anomalies.len()), ("closed", 0), "{:?}", log.anomalies);
    // A whole copy may have come, too.
    let log = one(&config(), &[cut(6, "ghijkl"), client(6, "ghijkl"), client(0, "abcdef"), client(12, "m")]);
    assert_eq!((text(&log.bytes[0]), log.gaps[0].len()), ("abcdefghijklm", 0));
}

/// Probes ask for an answer: their byte, if they have one, is none of the stream's.
#[test]
fn probes_are_named_and_change_nothing() {
    let probe = |seq: u32, payload: &[u8]| Seg::new(true, seq, S + 1, ACK, payload);
    for garbage in [&b""[..], b"?"] {
        let log = one(
            &config(),
            &[client(0, "abc"), server(0, 3, ""), probe(C + 3, garbage), server(0, 3, ""), client(3, "def")],
        );
        assert_eq!((text(&log.bytes[0]), log.conflicts[0]), ("abcdef", 0));
        assert_eq!(log.anomalies, ["keep_alive"], "{garbage:?}");
    }
    // Room for three bytes, and then none. A probe is not taken, nor is its byte lost.
    let [syn, mut answer, last] = <[Seg; 3]>::try_from(handshake(C, S)).expect("three segments");
    answer.window = 3;
    let closed = Seg { window: 0, ..server(0, 3, "") };
    let full = [syn, answer, last, client(0, "abc"), closed.clone()];
    for next in [probe(C + 3, b""), probe(C + 4, b"d")] {
        let probed = [next.clone(), closed.clone(), next, closed.clone(), server(0, 3, ""), client(3, "def")];
        let log = run(&config(), &[&full[..], &probed].concat()).0[&1].clone();
        assert_eq!(log.anomalies, ["zero_window_probe", "zero_window_probe"]);
        assert_eq!((text(&log.bytes[0]), log.conflicts[0]), ("abcdef", 0));
    }
    // A byte that the receiver takes after all is part of the stream.
    let taken = [probe(C + 4, b"d"), server(0, 4, ""), client(4, "ef")];
    let log = run(&config(), &[&full[..], &taken].concat()).0[&1].clone();
    assert_eq!((text(&log.bytes[0]), log.anomalies.len()), ("abcdef", 1));
}

#[test]
fn urgent_byte_by_setting() {
    let mut urgent = client(0, "abXcd");
    urgent.flags |= URG;
    urgent.urgent = 3;
    assert_eq!(text(&one(&config(), &[urgent.clone()]).bytes[0]), "abXcd");
    let out = config().with_urgent_inline(false);
    let log = one(&out, &[urgent]);
    assert_eq!(text(&log.bytes[0]), "abcd");
    assert_eq!(log.gaps[0], [(2, 1, "urgent".into())]);
}

#[test]
fn fast_mode_does_not_wait_for_loss() {
    let config = config().with_mode(Mode::Fast).with_hole_segments_fast(2);
    let mut more = vec![client(0, "ab")];
    more.extend((0..5).map(|i| client(10 + i * 2, "xy")));
    let log = one(&config, &more);
    assert_eq!(log.gaps[0], [(2, 8, "not_captured".into())]);
    assert_eq!(log.bytes[0].len(), 12);
}

#[test]
fn policies_that_rewrite_wait_for_the_acknowledgment() {
    let config = config().with_tcp_policy(TcpPolicy::Last);
    let log = one(&config, &[client(0, "AAAA"), client(1, "BB"), server(0, 4, "x"), client(4, "C")]);
    assert_eq!(text(&log.bytes[0]), "ABBAC");
    assert_eq!(log.conflicts[0], 2);
}

#[test]
fn half_open_flood_does_not_push_out_connections() {
    let config = config().with_half_open_max(16).with_flows_max(Some(64));
    let mut segments = handshake(C, S);
    segments.push(client(0, "ab"));
    for port in 0..5000_u32 {
        let mut syn = Seg::new(true, port, 0, SYN, b"");
        syn.client_port = 2000 + (port % 60_000) as u16;
        segments.push(syn);
    }
    segments.push(client(2, "cd"));
    let (streams, ledger) = run(&config, &segments);
    assert_eq!(text(&streams[&1].bytes[0]), "abcd");
    assert_eq!(ledger.evicted_half_open, 5000 - 16);
    assert_eq!(streams.len(), 5001);
}

#[test]
fn what_lies_too_far_back_to_be_compared_is_counted() {
    let mut feed = Feed::new(&config(), InvariantChecker::default());
    feed.segments(&handshake(C, S));
    feed.segments(&(0..200).map(|at| client(at, "a")).collect::<Vec<_>>());
    // Of 200 segments the last 128 are looked at.
    feed.segments(&[client(75, "b"), client(198, "b")]);
    assert_eq!(feed.engine.ledger().uncompared_bytes, 0);
    feed.segments(&[client(70, "bbbb")]);
    assert_eq!(feed.engine.ledger().uncompared_bytes, 2);
    let (checker, _) = feed.finish();
    assert_eq!(checker.streams[&1].conflicts[0], 4);
}

/// An input whose bytes are all the same, that counts the windows which it was asked for.
#[derive(Clone, Default)]
struct CountingHistory(Arc<AtomicU64>);

impl History for CountingHistory {
    fn read(&mut self, _: u64, age: HistoryAge, buffer: &mut [u8]) -> bool {
        self.0.fetch_add(u64::from(age == HistoryAge::Distant), Ordering::Relaxed);
        buffer.fill(b'a');
        true
    }
}

/// Small segments lie far from each other in the input. One retransmission over all of them is compared; were it repeated, each of
/// them would make 128 reads.
#[test]
fn retransmissions_over_scattered_segments_read_few_windows() {
    let mut feed = Feed::new(&config().with_history_segments(4096), InvariantChecker::default());
    let reads = CountingHistory::default();
    feed.engine.set_history(Box::new(reads.clone()));
    feed.segments(&handshake(C, S));
    for at in 0..128 {
        feed.origin = 1 + u64::from(at) * HISTORY_WINDOW_BYTES * 2;
        feed.segment(&client(at, "a"));
    }
    // Enough of another conversation that they are far behind.
    let other = vec![0; 1400];
    for _ in 0..HISTORY_NEAR_BYTES / 1400 + 1 {
        feed.ip(&udp(7, &other), 1_000_000_000);
    }
    let whole = client(0, &"b".repeat(128));
    feed.segment(&whole);
    assert_eq!((reads.0.load(Ordering::Relaxed), feed.engine.ledger().uncompared_bytes), (128, 0));
    let repeats = 1000;
    feed.segments(std::iter::repeat_n(&whole, repeats));
    let packets = 129 + 1 + repeats as u64 + 2;
    let read = reads.0.load(Ordering::Relaxed);
    assert!((packets..=2 * packets).contains(&read), "{read} windows for {packets} packets");
    assert_eq!(feed.engine.ledger().uncompared_bytes, repeats as u64 * 128 - (read - 128));
    feed.finish();
}

/// Each segment overlaps 128 others of eight bytes. The first ones are compared with all of them, then 32 a packet are.
#[test]
fn retransmissions_over_small_segments_compare_few_runs() {
    let compared = |packets: u32| {
        let config = config().with_history_segments(4096).with_history_copy_bytes(8 << 20);
        let mut feed = Feed::new(&config, InvariantChecker::default());
        feed.segments(&handshake(C, S));
        feed.segments(&(0..128).map(|at| client(8 * at, "aaaaaaaa")).collect::<Vec<_>>());
        let whole = client(0, &"b".repeat(1024));
        feed.segments(std::iter::repeat_n(&whole, packets as usize));
        let ledger = feed.engine.ledger();
        let runs = ledger.anomaly(AnomalyKind::OverlapConflict);
        assert_eq!(u64::from(packets) * 1024 - ledger.uncompared_bytes, 8 * runs, "compared or counted");
        feed.finish();
        runs
    };
    assert_eq!((compared(1), compared(20)), (128, 20 * 128));
    // What 129 packets before them, and they themselves, have earned.
    let (runs, earned) = (compared(1000), 32 * (130 + 1000));
    assert!((earned - 128..=earned + 128).contains(&runs), "{runs} runs of {earned}");
}

#[test]
fn a_retransmission_with_other_bytes_is_a_conflict() {
    let log =
        one(&config(), &[client(0, "abcdef"), client(6, "gh"), client(2, "cXeY"), client(0, "abcdef"), client(8, "i")]);
    assert_eq!(text(&log.bytes[0]), "abcdefghi");
    assert_eq!(log.conflicts[0], 2, "{:?}", log.anomalies);
}
