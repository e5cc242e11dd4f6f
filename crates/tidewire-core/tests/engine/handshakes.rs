//! Handshakes with two possible readings: SYN-ACKs with different numbers, acknowledgments of what was never sent,
//! split handshakes.

use crate::common::*;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("test payload is text")
}

const C: u32 = 1000;
const S: u32 = 9000;
/// The number of another SYN-ACK: more than half of the sequence space away, and close.
const OTHERS: [u32; 3] = [3_000_000_000, S + 40, S - 7000];

fn syn() -> Seg {
    Seg::new(true, C, 0, SYN, b"")
}

fn answer(isn: u32) -> Seg {
    Seg::new(false, isn, C + 1, SYN | ACK, b"")
}

fn ack(of: u32) -> Seg {
    Seg::new(true, C + 1, of, ACK, b"")
}

fn data(isn: u32, text: &str) -> Seg {
    Seg::new(false, isn + 1, C + 1, ACK | PSH, text.as_bytes())
}

fn one(segments: &[Seg]) -> StreamLog {
    let segments: Vec<Seg> = (0..).zip(segments).map(|(time_ms, one)| Seg { time_ms, ..one.clone() }).collect();
    let (streams, _) = run(&config(), &segments);
    assert_eq!(streams.len(), 1, "{streams:?}");
    streams.into_values().next().unwrap()
}

fn received(log: &StreamLog) -> &str {
    std::str::from_utf8(&log.bytes[1]).unwrap()
}

fn check(segments: &[Seg], wanted: &str, anomalies: &[&str]) {
    let log = one(segments);
    assert_eq!(
        (received(&log), log.anomalies.as_slice()),
        (wanted, &anomalies.iter().map(|one| (*one).into()).collect::<Vec<String>>()[..]),
        "{log:?}"
    );
    assert!(log.gaps[1].is_empty() && log.state == "established", "{log:?}");
}

#[test]
fn the_client_decides_between_syn_acks_with_different_numbers() {
    for other in OTHERS {
        for (first, second) in [(S, other), (other, S)] {
            let both = [syn(), answer(first), answer(second)];
            for chosen in [first, second] {
                let rest = [ack(chosen + 1), data(chosen, "welcome"), ack(chosen + 8)];
                check(&[&both[..], &rest].concat(), "welcome", &["changed_isn"]);
                // Data that comes before the decision waits for it.
                let rest = [data(chosen, "welcome"), ack(chosen + 1), ack(chosen + 8)];
                check(&[&both[..], &rest].concat(), "welcome", &["changed_isn"]);
                let rest = [data(chosen, "welcome"), ack(chosen + 8)];
                check(&[&both[..], &rest].concat(), "welcome", &["changed_isn"]);
                // A repeated SYN-ACK changes nothing.
                let rest = [answer(first), ack(chosen + 1), answer(chosen), data(chosen, "welcome")];
                check(&[&both[..], &rest].concat(), "welcome", &["changed_isn"]);
            }
        }
    }
}

#[test]
fn forged_data_before_the_decision_is_not_delivered() {
    for other in OTHERS {
        let forged = [syn(), answer(other), data(other, "forged!"), answer(S)];
        let log = one(&[&forged[..], &[ack(S + 1), data(S, "welcome"), ack(S + 8)]].concat());
        // Before the second SYN-ACK nothing contradicts the first.
        assert!(log.anomalies.contains(&"changed_isn".into()), "{log:?}");
        let forged = [syn(), answer(S), answer(other), data(other, "forged!")];
        check(&[&forged[..], &[ack(S + 1), data(S, "welcome"), ack(S + 8)]].concat(), "welcome", &["changed_isn"]);
    }
}

#[test]
fn a_syn_ack_behind_the_decision_or_with_a_wrong_acknowledgment_is_ignored() {
    for other in OTHERS {
        let opened = [syn(), answer(S), ack(S + 1)];
        check(&[&opened[..], &[answer(other), data(S, "welcome"), ack(S + 8)]].concat(), "welcome", &["changed_isn"]);
        let wrong = Seg { ack: C + 77, ..answer(other) };
        check(&[syn(), wrong.clone(), answer(S), ack(S + 1), data(S, "welcome")], "welcome", &["invalid_ack"]);
        check(&[syn(), answer(S), wrong, ack(other + 1), ack(S + 1), data(S, "welcome")], "welcome", &["changed_isn"]);
    }
}

#[test]
fn without_the_client_the_data_decides() {
    for other in OTHERS {
        check(&[answer(other), answer(S), data(S, "welcome")], "welcome", &["changed_isn"]);
        check(&[answer(S), answer(other), data(S, "welcome")], "welcome", &["changed_isn"]);
        // A client that is silent behind its SYN.
        let log = one(&[syn(), answer(other), answer(S), data(S, "welcome")]);
        assert_eq!((received(&log), log.state.as_str()), ("welcome", "syn_received"));
    }
    let mut long = vec![syn(), answer(OTHERS[0]), answer(S)];
    long.extend((0..60).map(|at| Seg { seq: S + 1 + at * 4, ..data(S, "data") }));
    assert_eq!(one(&long).bytes[1].len(), 240);
}

#[test]
fn many_syn_acks_are_bounded() {
    let mut many = vec![syn()];
    many.extend((0..10_000).map(|at| answer(S + 100_000 * at)));
    many.extend([ack(S + 1), data(S, "welcome"), ack(S + 8)]);
    let log = one(&many);
    assert_eq!((received(&log), log.gaps[1].len()), ("welcome", 0));
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_completes_no_handshake() {
    let reset = Seg::new(false, 2_004_318_071, 0, RST, b"");
    for forged in [2_004_318_071, S + 3, S - 5000, S] {
        let log = one(&[syn(), answer(S), ack(forged), reset.clone(), answer(S)]);
        assert_eq!(log.state, "syn_received", "{forged}: {log:?}");
        // The handshake may still complete.
        let log = one(&[syn(), answer(S), ack(forged), ack(S + 1), data(S, "welcome")]);
        assert_eq!((log.state.as_str(), received(&log)), ("established", "welcome"), "{forged}");
    }
    // Where the client's SYN was not captured, more may be lost, but not more than a window.
    let log = one(&[answer(S), ack(2_004_318_071)]);
    assert_eq!(log.state, "syn_received");
    assert_eq!(one(&[answer(S), ack(S + 400)]).state, "established");
}

#[test]
fn a_split_handshake_is_one_conversation() {
    // Linux, as every host that waits for an answer to its SYN, drops a bare ACK, and completes a simultaneous open.
    for bare in [Some(305_419_896), Some(S), None] {
        let mut segments = vec![syn()];
        segments.extend(bare.map(|seq| Seg::new(false, seq, C + 1, ACK, b"")));
        segments.extend([
            Seg::new(false, S, 0, SYN, b""),
            Seg::new(true, C, S + 1, SYN | ACK, b""),
            Seg::new(false, S + 1, C + 1, ACK, b""),
        ]);
        let opened = one(&segments);
        assert_eq!((opened.state.as_str(), opened.client_port), ("established", 1000), "{opened:?}");
        segments.extend([
            Seg::new(true, C + 1, S + 1, ACK | PSH, b"request"),
            Seg::new(false, S + 1, C + 8, ACK | PSH, b"response"),
            Seg::new(true, C + 8, S + 9, ACK | FIN, b""),
            Seg::new(false, S + 9, C + 9, ACK | FIN, b""),
            Seg::new(true, C + 9, S + 10, ACK, b""),
        ]);
        let log = one(&segments);
        assert_eq!((text(&log.bytes[0]), text(&log.bytes[1])), ("request", "response"));
        assert_eq!((log.state.as_str(), log.client_port), ("closed", 1000), "{log:?}");
        assert_eq!(log.anomalies, ["simultaneous_open"]);
    }
}

#[test]
fn an_acknowledgment_without_a_syn_ack_opens_nothing() {
    assert_eq!(one(&[syn(), Seg::new(false, 77, C + 1, ACK, b"")]).state, "syn_sent");
    // It acknowledges more than the SYN: the capture lost packets.
    assert_eq!(one(&[syn(), Seg::new(false, 77, C + 20, ACK, b"")]).state, "established");
    // So does data, which a host would drop behind no SYN-ACK: the client decides.
    let early = [syn(), Seg::new(false, S + 1, C + 1, ACK, b"data")];
    let log = one(&early);
    assert_eq!((received(&log), log.anomalies.as_slice()), ("data", &["acked_unseen".to_owned()][..]));
    let log = one(&[&early[..], &[answer(S), ack(S + 1), data(S, "true")]].concat());
    assert_eq!(received(&log), "true", "{log:?}");
    let log = one(&[&early[..], &[ack(S + 5)]].concat());
    assert_eq!((received(&log), log.state.as_str()), ("data", "established"));
    let fin = Seg::new(false, S + 1, C + 1, FIN | ACK, b"");
    assert_eq!(one(&[syn(), fin]).anomalies, ["acked_unseen"]);
}

#[test]
fn crossed_syns_open_a_connection_when_the_server_acknowledges() {
    let crossed = [syn(), Seg::new(false, S, 0, SYN, b""), Seg::new(true, C, S + 1, SYN | ACK, b"")];
    let state = |more: &[Seg]| one(&[&crossed[..], more].concat()).state;
    let from_server = |seq: u32, of: u32| Seg::new(false, seq, of, ACK, b"");
    assert_eq!(state(&[]), "syn_received");
    assert_eq!(state(&[from_server(S + 1, C + 1)]), "established");
    assert_eq!(state(&[answer(S), ack(S + 1)]), "established");
    // Linux accepts the number before the SYN's, too.
    assert_eq!(state(&[from_server(S + 3, C)]), "established");
    // Outside the window, or of another number: the client answers, and keeps waiting.
    for wrong in [from_server(S - 4000, C + 1), from_server(S + 1, C - 1), from_server(S + 1, C + 2000)] {
        assert_eq!(state(&[wrong.clone(), ack(S + 1)]), "syn_received");
        assert_eq!(state(&[wrong, ack(S + 1), from_server(S + 1, C + 1)]), "established");
    }
    // The SYN again, and a SYN-ACK that is too old.
    assert_eq!(state(&[crossed[1].clone(), ack(S + 1)]), "syn_received");
    let stamped = |seg: &Seg, value: u32| Seg { timestamp: Some(value), ..seg.clone() };
    let old = [stamped(&crossed[0], 5), stamped(&crossed[1], 9000), stamped(&crossed[2], 6), stamped(&answer(S), 100)];
    assert_eq!(one(&[&old[..], &[stamped(&ack(S + 1), 7)]].concat()).state, "syn_received");
}

#[test]
fn a_fin_behind_a_hole_closes_at_the_end() {
    let fin = Seg::new(true, C + 9, S + 1, FIN | ACK, b"end");
    let answer = Seg::new(false, S + 1, C + 13, FIN | ACK, b"");
    for segments in
        [vec![fin.clone(), answer.clone()], vec![answer.clone(), fin.clone()], vec![fin, Seg { seq: S + 3, ..answer }]]
    {
        let log = one(&[handshake(C, S), segments].concat());
        assert_eq!((log.state.as_str(), log.closed.as_deref()), ("closed", Some("fin")), "{log:?}");
        assert_eq!((text(&log.bytes[0]), log.gaps[0].len()), ("end", 1));
    }
}
