//! Segments that a Linux host drops, found by sending random ones to it (`make differential`): each here by itself.

use crate::common::*;
use tidewire_core::Config;

const C: u32 = 1000;
const S: u32 = 5000;

fn client(at: u32, payload: &str) -> Seg {
    Seg::new(true, C + 1 + at, S + 1, ACK | PSH, payload.as_bytes())
}

fn server(acked: u32) -> Seg {
    Seg::new(false, S + 1, C + 1 + acked, ACK, b"")
}

fn fin(at: u32) -> Seg {
    Seg::new(true, C + 1 + at, S + 1, FIN | ACK, b"")
}

fn stamped(segment: Seg, value: u32) -> Seg {
    Seg { timestamp: Some(value), ..segment }
}

/// Everything a millisecond after what came before it.
fn timed(segments: &[Seg]) -> Vec<Seg> {
    (0..).zip(segments).map(|(time_ms, segment)| Seg { time_ms, ..segment.clone() }).collect()
}

fn one_of(config: &Config, segments: &[Seg]) -> StreamLog {
    let (streams, ledger) = run(config, &timed(segments));
    assert_eq!(streams.len(), 1, "{streams:?}");
    assert!(ledger.closes());
    streams.into_values().next().expect("one")
}

fn one(more: &[Seg]) -> StreamLog {
    one_of(&config(), &[handshake(C, S), more.to_vec()].concat())
}

fn sent(log: &StreamLog) -> &str {
    std::str::from_utf8(&log.bytes[0]).expect("test payload is text")
}

/// RFC 5961 section 5.2: no older than the largest window, and than all that was acknowledged.
#[test]
fn an_old_acknowledgment_is_doubted_from_the_first_number_that_was_never_acknowledged() {
    for behind in [1, 5, 4_600, 65_535, 1 << 20] {
        let evil = Seg { ack: (S + 1).wrapping_sub(behind), ..client(0, "EVIL") };
        let log = one(&[evil.clone(), server(0), client(0, "good"), server(4)]);
        assert_eq!((sent(&log), log.anomalies[0].as_str()), ("good", "invalid_ack"), "{behind} behind");
        // Its FIN ends nothing.
        let log = one(&[Seg { flags: FIN | ACK, ..evil }, server(0), client(0, "good"), fin(4), server(5)]);
        assert_eq!((sent(&log), log.state.as_str()), ("good", "half_closed"));
    }
    // What was acknowledged before may come again.
    let answer = Seg::new(false, S + 1, C + 1, ACK | PSH, b"some bytes");
    let acknowledged = Seg { ack: S + 11, ..client(0, "") };
    let log = one(&[answer, acknowledged, client(0, "late"), server(4)]);
    assert_eq!((sent(&log), log.anomalies.len()), ("late", 0), "{log:?}");
}

fn with_timestamps(first: u32, more: &[Seg]) -> StreamLog {
    let opened: Vec<Seg> = handshake(C, S).into_iter().map(|segment| stamped(segment, first)).collect();
    one_of(&config(), &[opened, more.to_vec()].concat())
}

#[test]
fn timestamps_move_as_the_hosts() {
    let bare = |value: u32| stamped(client(0, ""), value);
    let check = |more: &[Seg], wanted: &str| {
        let log = with_timestamps(1000, more);
        assert_eq!(sent(&log), wanted, "{log:?}");
        assert_eq!(log.anomalies.contains(&"old_timestamp".into()), wanted == "good", "{log:?}");
    };
    let rest = [server(0), stamped(client(0, "good"), 9_000), server(4)];
    // A segment without payload moves the last value.
    check(&[&[bare(2000), stamped(client(0, "EVIL"), 1500)], &rest[..]].concat(), "good");
    // Of two values in a segment the last counts.
    let option = |value: u32| [&[8, 10][..], &value.to_be_bytes(), &[0; 4]].concat();
    let twice = |first: u32, last: u32| Seg { options: [option(first), option(last)].concat(), ..client(0, "EVIL") };
    check(&[&[twice(1001, 900)], &rest[..]].concat(), "good");
    check(&[twice(900, 1001), server(4)], "EVIL");
    // A value 2^31 ahead is not older, and is the last one from then on.
    let far = 1000 + (1 << 31);
    check(&[bare(far), stamped(client(0, "EVIL"), 1002), stamped(client(0, "good"), far), server(4)], "good");
    // 0 makes nothing old.
    let log = with_timestamps(0, &[stamped(client(0, "good"), u32::MAX - 5), server(4)]);
    assert_eq!((sent(&log), log.anomalies.len()), ("good", 0), "{log:?}");
    // Not agreed on: the SYN had none.
    let log = one(&[stamped(client(0, "go"), 2000), stamped(client(2, "od"), 1000), server(4)]);
    assert_eq!((sent(&log), log.anomalies.len()), ("good", 0), "{log:?}");
}

/// The handshake's last segment may not be a tick older than the SYN.
#[test]
fn an_older_segment_ends_no_handshake() {
    let mut opened: Vec<Seg> = handshake(C, S).into_iter().map(|segment| stamped(segment, 1000)).collect();
    opened.truncate(2);
    let log = one_of(&config(), &[opened, vec![stamped(client(0, "EVIL"), 999), server(0)]].concat());
    assert_eq!((sent(&log), log.anomalies[0].as_str()), ("", "old_timestamp"), "{log:?}");
}

fn echoing(segment: Seg, value: u32, echo: u32) -> Seg {
    let options = [&[1, 1, 8, 10], &value.to_be_bytes()[..], &echo.to_be_bytes()].concat();
    Seg { options, ..segment }
}

/// The handshake's last segment echoes a SYN-ACK's timestamp, not that of what the host said when it refused another.
#[test]
fn an_echo_of_no_syn_ack_ends_no_handshake() {
    let [syn, answer, _] = handshake(C, S).try_into().expect("three segments");
    let opened = [echoing(syn.clone(), 1000, 0), echoing(answer.clone(), 7000, 1000)];
    let evil = |echo| echoing(client(0, "EVIL"), 1001, echo);
    let good = |echo| echoing(client(0, "good"), 1001, echo);
    let says = |acked, value| echoing(server(acked), value, 1000);
    for echo in [1, 6999, 7001] {
        let log = one_of(&config(), &[&opened[..], &[evil(echo), says(0, 7003), good(7000), says(4, 7004)]].concat());
        assert_eq!((sent(&log), log.anomalies[0].as_str()), ("good", "old_timestamp"), "{echo}: {log:?}");
        // What the host said when it refused that begins nothing, and its timestamp is no SYN-ACK's.
        let log = one_of(&config(), &[&opened[..], &[evil(echo), says(0, 7003), evil(7003), says(0, 7003)]].concat());
        assert_eq!((sent(&log), log.anomalies.len()), ("", 2), "{echo}: {log:?}");
        // Another host takes it.
        let log = one_of(&config(), &[&opened[..], &[evil(echo), says(4, 7003)]].concat());
        assert_eq!((sent(&log), log.anomalies.len()), ("EVIL", 1), "{echo}: {log:?}");
    }
    // Of SYN-ACKs that came again each may be echoed, and what lies between; 0 is no echo.
    let again = [&opened[..], &[echoing(answer.clone(), 7500, 1000)]].concat();
    for echo in [7000, 7200, 7500, 0] {
        let log = one_of(&config(), &[&again[..], &[good(echo), says(4, 7501)]].concat());
        assert_eq!((sent(&log), log.anomalies.len()), ("good", 0), "{echo}: {log:?}");
    }
    let log = one_of(&config(), &[&again[..], &[evil(7501), says(0, 7501)]].concat());
    assert_eq!((sent(&log), log.anomalies.len()), ("", 1), "{log:?}");
    // What lies outside of the window ends no handshake, nor what does not acknowledge the answer: the next one is judged.
    let bare = |at: u32, ack| Seg::new(true, C.wrapping_add(1 + at), ack, ACK, b"");
    for refused in
        [bare(u32::MAX - 7, S + 1), bare(100_000, S + 1), bare(0, S), Seg { flags: PSH, ..client(0, "EVIL") }]
    {
        let log = one_of(&config(), &[&opened[..], &[refused.clone(), evil(7003), says(0, 7003)]].concat());
        assert_eq!(sent(&log), "", "{refused:?}: {log:?}");
        assert!(log.anomalies.contains(&"old_timestamp".into()), "{refused:?}: {log:?}");
    }
    // Timestamps that were not negotiated are ignored.
    let log = one_of(&config(), &[vec![syn, answer], vec![good(1), says(4, 7501)]].concat());
    assert_eq!((sent(&log), log.anomalies.len()), ("good", 0), "{log:?}");
}

/// The key is not known: bytes wait for the receiver's word, and what has no signature is not looked at.
#[test]
fn of_a_signed_connection_the_receiver_says_what_is_right() {
    let signed = |segment: Seg| Seg { options: [&[19, 18][..], &[7; 16], &[1, 1]].concat(), ..segment };
    let open: Vec<Seg> = handshake(C, S).into_iter().map(signed).collect();
    let log = one_of(&config(), &[&open[..], &[signed(client(0, "good")), signed(server(4))]].concat());
    assert_eq!((sent(&log), log.anomalies.len()), ("good", 0), "{log:?}");
    let log = one_of(&config(), &[&open[..], &[signed(client(0, "EVIL")), signed(server(0))]].concat());
    assert_eq!((sent(&log), log.anomalies[0].as_str()), ("", "unexpected_signature"), "{log:?}");
    // The receiver sends nothing more: it may have dropped a wrong one silently.
    let log = one_of(&config(), &[&open[..], &[signed(client(0, "good"))]].concat());
    assert_eq!((sent(&log), log.anomalies[0].as_str()), ("good", "unacknowledged"), "{log:?}");
    // Without a signature, a reset included.
    let reset = Seg::new(true, C + 1, 0, RST, b"");
    for evil in [client(0, "EVIL"), fin(0), reset] {
        let more = [evil.clone(), signed(server(0)), signed(client(0, "good")), signed(server(4))];
        let log = one_of(&config(), &[&open[..], &more].concat());
        assert_eq!((sent(&log), log.state.as_str()), ("good", "established"), "{evil:?}: {log:?}");
        assert_eq!(log.anomalies[0], "unexpected_signature");
    }
}

/// The number after a host's FIN, which its next empty segment has, is not one more that it sent.
#[test]
fn beyond_a_fin_nothing_was_sent() {
    let shut = Seg { flags: FIN | ACK, ..server(4) };
    let says = |acked| Seg { seq: S + 2, ..server(acked) };
    let evil = Seg { ack: S + 3, ..client(5, "EVIL") };
    let log = one(&[client(0, "good"), shut, client(4, "!"), says(5), evil, says(5)]);
    assert_eq!(sent(&log), "good!", "{log:?}");
    assert!(log.anomalies.contains(&"acked_unseen".into()), "{log:?}");
}

/// RFC 5961 section 4: the host challenges a SYN, whether its side is still open or not.
#[test]
fn a_syn_behind_one_fin_begins_nothing() {
    let syn = |at: u32| Seg::new(true, C + 1 + at, 0, SYN, b"");
    for at in [4, 5, 100_004] {
        let log = one(&[client(0, "good"), fin(4), server(5), syn(at), server(5), client(at + 1, "EVIL"), server(5)]);
        assert_eq!((sent(&log), log.anomalies[0].as_str()), ("good", "blind_syn"), "{log:?}");
        // The host's own FIN instead.
        let shut = Seg { flags: FIN | ACK, ..server(4) };
        let next = Seg { seq: S + 2, ..server(4) };
        let log = one(&[client(0, "good"), shut, syn(at), next.clone(), client(at + 1, "EVIL"), next]);
        assert_eq!(log.anomalies[0], "blind_syn");
        assert!(sent(&log) == "good" || log.anomalies.len() > 1, "{log:?}");
    }
}

#[test]
fn of_two_fins_the_one_that_is_reached_counts() {
    for fins in [[fin(4), fin(1)], [fin(1), fin(4)]] {
        let log = one(&[&fins[..], &[client(0, "A"), server(2), client(1, "BCD"), server(2)]].concat());
        assert_eq!((sent(&log), log.state.as_str()), ("A", "half_closed"), "{log:?}");
        assert!(log.anomalies.contains(&"data_beyond_fin".into()));
    }
    // One before the FIN that was reached: a host without room for the other's bytes ends there.
    let log = one(&[client(0, "ABC"), client(3, "D"), fin(4), fin(3), server(4)]);
    assert_eq!((sent(&log), log.anomalies[0].as_str()), ("ABCD", "data_beyond_fin"), "{log:?}");
    // What waits behind a FIN that comes in order is thrown away.
    let last = Seg { flags: FIN | ACK, ..client(0, "A") };
    let log = one(&[client(1, "B"), last, server(2)]);
    assert_eq!((sent(&log), log.anomalies[0].as_str()), ("A", "data_beyond_fin"), "{log:?}");
}

/// Linux looks for a signature where 18 bytes of options are left.
#[test]
fn options_in_which_no_signature_can_be_found() {
    let with = |options: &[u8]| Seg { options: options.to_vec(), ..client(0, "EVIL") };
    let padded = |first: &[u8]| with(&[first, &[1; 20]].concat()[..20]);
    let dropped = [padded(&[19, 17]), padded(&[254, 0]), padded(&[254, 1]), padded(&[254, 200]), padded(&[29, 4])];
    // TCP-AO where none was agreed on, and two signatures.
    let more = [padded(&[29, 16]), with(&[&[29, 6, 0, 0, 0, 0, 19, 18][..], &[0; 16]].concat())];
    for segment in dropped.into_iter().chain(more) {
        let log = one(&[segment.clone(), server(0), client(0, "good"), server(4)]);
        assert_eq!((sent(&log), log.anomalies[0].as_str()), ("good", "unexpected_signature"), "{segment:?}");
    }
    for segment in [padded(&[254, 18]), padded(&[0, 19, 17]), with(&[19, 2, 1, 1]), with(&[254, 0, 0, 0])] {
        let log = one(&[segment.clone(), server(4)]);
        assert_eq!((sent(&log), log.anomalies.len()), ("EVIL", 0), "{segment:?}");
    }
}

/// The first that is seen of a connection: where it begins has to be known before its bytes are placed.
#[test]
fn a_connection_that_begins_with_a_segment_that_is_dropped() {
    let first = Seg { options: [&[254, 0][..], &[1; 18]].concat(), ..client(100, "EVIL") };
    let log = one_of(&config(), &[first.clone(), client(104, "good"), server(108)]);
    assert_eq!((sent(&log), log.anomalies[0].as_str()), ("EVILgood", "unexpected_signature"), "{log:?}");
    assert!(log.gaps[0].is_empty() && log.offsets[0][0] == 0, "{log:?}");
    let log = one_of(&config(), &[first]);
    assert!(log.gaps[0].is_empty(), "{log:?}");
}

#[test]
fn a_host_has_one_urgent_pointer() {
    let out = config().with_urgent_inline(false);
    let urgent =
        |at: u32, payload: &str, pointer: u16| Seg { flags: ACK | PSH | URG, urgent: pointer, ..client(at, payload) };
    let check = |more: &[Seg], wanted: &str, notes: usize| {
        let log = one_of(&out, &[handshake(C, S), more.to_vec()].concat());
        assert_eq!(sent(&log), wanted, "{log:?}");
        assert_eq!(log.anomalies.iter().filter(|kind| *kind == "urgent").count(), notes, "{log:?}");
    };
    // It may lie behind its segment, and come without payload; 0 is the first byte.
    check(&[urgent(0, "a", 3), client(1, "bcd"), server(4)], "abd", 1);
    check(&[urgent(0, "", 2), client(0, "abcd"), server(4)], "acd", 1);
    check(&[urgent(0, "abcd", 0), server(4)], "bcd", 1);
    // A second one, before the first byte came: the first is an ordinary byte.
    check(&[urgent(0, "a", 3), urgent(1, "b", 3), client(2, "cd"), server(4)], "abc", 1);
    check(&[urgent(0, "a", 4), urgent(1, "bcd", 1), server(4)], "abc", 1);
    // After it: whether the application had read it by then is not known.
    check(&[urgent(0, "ab", 2), urgent(2, "cd", 2), server(4)], "ac", 2);
}

/// Whatever made the host drop a segment: it did not acknowledge it, and said something after it.
#[test]
fn what_was_not_acknowledged_is_named_at_the_end() {
    let log = one(&[client(0, "good"), server(4), client(4, "EVIL"), server(4)]);
    assert_eq!((sent(&log), log.anomalies.as_slice()), ("goodEVIL", &["unacknowledged".to_owned()][..]));
    // In flight, as far as the capture shows.
    let log = one(&[client(0, "good"), server(4), client(4, "late")]);
    assert_eq!((sent(&log), log.anomalies.len()), ("goodlate", 0));
    // Behind the host's FIN it may have closed altogether.
    let shut = Seg { flags: FIN | ACK, ..server(4) };
    let log = one(&[client(0, "good"), shut, client(4, "late")]);
    assert_eq!((sent(&log), log.anomalies.as_slice()), ("goodlate", &["unacknowledged".to_owned()][..]));
}

/// What came before a refusal is none of the connection's that the same SYN opens afterwards.
#[test]
fn bytes_of_a_refused_attempt_are_not_the_next_ones() {
    let open = handshake(C, S);
    let refusal = Seg::new(false, 0, 0, RST, b"");
    let early = Seg { ack: 0, ..client(0, "EVIL") };
    let all = [&[open[0].clone(), early, refusal], &open[..], &[client(0, "good"), server(4)]].concat();
    let (streams, _) = run(&config(), &timed(&all));
    let found: Vec<_> = streams.values().map(|log| (sent(log), log.state.as_str())).collect();
    assert_eq!(found, [("EVIL", "reset"), ("good", "established")], "{streams:?}");
    assert!(streams[&1].anomalies.contains(&"unacknowledged".into()), "{streams:?}");
}

/// A host challenges twice a second at most: after one its silence confirms nothing.
#[test]
fn silence_after_a_challenge_says_nothing() {
    let unseen = |at: u32, payload: &str| Seg { ack: S + 2, ..client(at, payload) };
    let log = one(&[client(0, "good"), server(4), unseen(4, "EVIL"), server(4), unseen(4, "EVIL")]);
    assert_eq!(sent(&log), "good");
    // Without one the last bytes are believed.
    let log = one(&[client(0, "go"), server(2), unseen(2, "od")]);
    assert_eq!(sent(&log), "good");
}
