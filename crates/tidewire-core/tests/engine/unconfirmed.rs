//! Segments that a host drops, and captures that lost what would make them right: which of the two it was is for the
//! receiver's acknowledgments to say.

use crate::common::*;
use tidewire_core::Mode;

const C: u32 = 1000;
const S: u32 = 5000;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("test payload is text")
}

/// The client's bytes at an offset; `beyond`: how much more than the server sent is acknowledged.
fn data(at: u32, payload: &str, beyond: u32) -> Seg {
    Seg::new(true, C + 1 + at, S + 1 + beyond, ACK | PSH, payload.as_bytes())
}

/// The server acknowledges so much, and says nothing.
fn answer(acked: u32) -> Seg {
    Seg::new(false, S + 1, C + 1 + acked, ACK, b"")
}

fn fin(at: u32) -> Seg {
    Seg::new(true, C + 1 + at, S + 1, FIN | ACK, b"")
}

fn one(more: &[Seg]) -> StreamLog {
    let mut segments = handshake(C, S);
    segments.extend_from_slice(more);
    let (streams, _) = run(&config(), &segments);
    assert_eq!(streams.len(), 1);
    streams[&1].clone()
}

fn client_sent(more: &[Seg]) -> String {
    text(&one(more).bytes[0]).into()
}

/// The same without payload: nothing waits then, and the answers look like any others.
#[test]
fn bare_acknowledgments_of_what_was_never_sent_do_not_become_true_by_number() {
    let bare = |beyond: u32| Seg::new(true, C + 3, S + 1 + beyond, ACK, b"");
    let mut more = vec![data(0, "go", 0), answer(2)];
    for step in 0..3 {
        more.extend([bare(100_000 + step), answer(2)]);
    }
    more.extend([data(2, "od", 0), answer(4), fin(4), Seg::new(false, S + 1, C + 6, FIN | ACK, b"")]);
    let log = one(&more);
    assert_eq!(text(&log.bytes[0]), "good");
    assert!(log.gaps[1].is_empty() && !log.anomalies.contains(&"acked_unseen".into()), "{log:?}");
}

/// A host drops every one of them, which its own sequence number shows: it continues as if nothing had been lost.
#[test]
fn acknowledgments_of_what_was_never_sent_do_not_become_true_by_number() {
    let mut more = vec![data(0, "go", 0), answer(2)];
    for step in 0..3 {
        more.extend([data(2, "EVIL", 100_000 + step), answer(2)]);
    }
    more.extend([data(2, "od", 0), answer(4), fin(4), Seg::new(false, S + 1, C + 6, FIN | ACK, b"")]);
    let log = one(&more);
    assert_eq!(text(&log.bytes[0]), "good");
    assert_eq!(log.state, "closed");
    assert!(log.gaps[1].is_empty(), "the server lost nothing: {:?}", log.gaps[1]);
    assert!(log.anomalies.contains(&"invalid_ack".into()));
    // The host answers only the first of them (it limits how often): its last acknowledgment decides.
    let mut more = vec![data(0, "go", 0), answer(2), data(2, "EVIL", 100_000), answer(2)];
    more.extend((1..6).map(|step| data(2, "EVIL", 100_000 + step)));
    more.extend([data(2, "od", 0), answer(4)]);
    assert_eq!(client_sent(&more), "good");
}

/// The same acknowledgments, and a receiver that takes the bytes: the capture lost what the server sent.
#[test]
fn acknowledgments_far_beyond_what_was_captured_are_believed_when_the_receiver_takes_the_bytes() {
    let mut more = vec![data(0, "go", 0), answer(2)];
    more.extend((0..3).map(|step| data(2 + step, "o", 100_000 + step)));
    let mut server = answer(5);
    server.seq += 100_002;
    more.push(server);
    assert_eq!(client_sent(&more), "goooo");
}

#[test]
fn an_acknowledgment_of_one_byte_too_many_is_doubted() {
    for beyond in [1, 2, 1_000] {
        assert_eq!(client_sent(&[data(0, "go", 0), data(2, "EVIL", beyond), answer(2), data(2, "od", 0)]), "good");
        // What the capture lost is acknowledged, and then so are the bytes that came with it.
        assert_eq!(client_sent(&[data(0, "go", 0), data(2, "od", beyond), answer(4), data(4, "!", beyond)]), "good!");
    }
    assert_eq!(client_sent(&[data(0, "good", 0), data(4, "EVIL", 1), answer(4)]), "good", "answered, and refused");
    assert_eq!(client_sent(&[data(0, "go", 0), answer(2), data(2, "od", 1)]), "good", "no host refused it");
}

/// Where only one side was captured after the handshake, nothing is ever answered.
#[test]
fn a_receiver_that_is_not_heard_refuses_nothing() {
    let sent: Vec<Seg> = (0..100).map(|at| Seg { time_ms: at, ..data(at as u32, "x", 1 + at as u32) }).collect();
    assert_eq!(client_sent(&sent).len(), 100);
    // Forged within a moment, while Linux leaves all but the first unanswered: the next word of the host decides.
    let mut forged = vec![data(0, "EVIL", 1), answer(0)];
    forged.extend((0..100).map(|at| data(at, "X", 1)));
    forged.extend([data(0, "good", 0), answer(4)]);
    assert_eq!(client_sent(&forged), "good");
    // Over seconds it is answered twice a second, if there is anyone.
    let late: Vec<Seg> = (0..100).map(|at| Seg { time_ms: at * 20, ..data(at as u32, "x", 1) }).collect();
    assert_eq!(client_sent(&[late, vec![answer(0)]].concat()).len(), 100);
}

#[test]
fn a_fin_that_acknowledges_too_much_ends_nothing_until_it_is_acknowledged() {
    let forged = Seg::new(true, C + 3, S + 1_001, FIN | ACK, b"");
    let log = one(&[data(0, "go", 0), forged.clone(), answer(2), data(2, "od", 0), answer(4)]);
    assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "established"));
    let log = one(&[data(0, "go", 0), forged.clone(), answer(3)]);
    assert_eq!(log.state, "half_closed");
    // One byte in its place is as many numbers.
    let log = one(&[data(0, "go", 0), forged, data(2, "o", 0), answer(3)]);
    assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("goo", "established"));
}

fn signed(mut segment: Seg) -> Seg {
    segment.options = [&[19, 18][..], &[0; 16], &[1, 1]].concat();
    segment
}

#[test]
fn signatures_are_agreed_on_with_the_syn() {
    let log = one(&[data(0, "go", 0), signed(data(2, "EVIL", 0)), answer(2), data(2, "od", 0), answer(4)]);
    assert_eq!(text(&log.bytes[0]), "good");
    assert_eq!(log.anomalies, ["unexpected_signature", "overlap_conflict"]);
    let rst = signed(Seg::new(true, C + 3, 0, RST, b""));
    assert_eq!(client_sent(&[data(0, "go", 0), rst, data(2, "od", 0)]), "good");
    assert_eq!(client_sent(&[data(0, "go", 0), signed(fin(2)), data(2, "od", 0)]), "good");
    let forged = signed(Seg::new(true, C + 3, S + 900, ACK, b""));
    assert!(one(&[data(0, "go", 0), forged]).gaps[1].is_empty(), "nor is its acknowledgment taken");

    let mut agreed: Vec<Seg> = handshake(C, S).into_iter().map(signed).collect();
    agreed.push(signed(data(0, "good", 0)));
    agreed.push(signed(answer(4)));
    let (streams, _) = run(&config(), &agreed);
    assert_eq!((text(&streams[&1].bytes[0]), streams[&1].anomalies.len()), ("good", 0));
    let midway = [signed(data(0, "go", 0)), signed(data(2, "od", 0))];
    assert_eq!(text(&run(&config(), &midway).0[&1].bytes[0]), "good", "what was agreed on is not known");
}

#[test]
fn reset_is_looked_at_before_other_flags() {
    for flags in [FIN | SYN | RST | PSH | ACK | URG, SYN | RST, FIN | RST | ACK] {
        let log = one(&[data(0, "go", 0), Seg::new(true, C + 3, S + 1, flags, b"EVIL"), data(2, "od", 0)]);
        assert_eq!((text(&log.bytes[0]), log.closed.as_deref()), ("go", Some("rst")), "{flags:#x}");
        let log = one(&[data(0, "go", 0), Seg::new(true, C + 4, S + 1, flags, b"EVIL"), data(2, "od", 0)]);
        assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "established"), "{flags:#x}");
        assert!(log.anomalies.contains(&"blind_reset".into()));
    }
    // Where no connection is, SYN and RST together open none and refuse none.
    let opening = [Seg::new(true, C, 0, SYN, b""), Seg::new(true, C, 0, SYN | RST, b"")];
    let opening = [&opening[..], &handshake(C, S)[1..], &[data(0, "good", 0)]].concat();
    assert_eq!(text(&run(&config(), &opening).0[&1].bytes[0]), "good");
}

#[test]
fn a_fin_inside_of_data_is_dropped() {
    let with_data = |at: u32, payload: &str| Seg::new(true, C + 1 + at, S + 1, FIN | ACK, payload.as_bytes());
    let go = data(0, "go", 0);
    let cases: &[(&[Seg], &str, bool)] = &[
        (&[fin(3), data(2, "od!!", 0), fin(6)], "good!!", true),
        (&[fin(3), data(2, "od!!", 0)], "good!!", false),
        (&[fin(3), data(2, "od", 0)], "good", false),
        (&[data(4, "!!", 0), fin(4), data(2, "od", 0)], "good!!", false),
        (&[fin(5), data(4, "!!!", 0), data(2, "od", 0), fin(7)], "good!!!", true),
        (&[with_data(4, "!!"), data(5, "XXXX", 0), data(2, "od", 0)], "good!!", true),
        (&[with_data(4, "!!"), data(3, "dXXXX", 0), data(2, "o", 0)], "goodXXXX", false),
        // Everything that waits beyond a FIN is thrown away when it is reached.
        (&[data(8, "XX", 0), fin(4), data(2, "od", 0)], "good", true),
        (&[fin(1), data(2, "od", 0)], "good", false),
        (&[fin(0), data(2, "od", 0)], "good", false),
        (&[fin(4), data(2, "od", 0)], "good", true),
    ];
    for (more, delivered, ends) in cases {
        let log = one(&[std::slice::from_ref(&go), *more, &[answer(delivered.len() as u32)]].concat());
        assert_eq!(text(&log.bytes[0]), *delivered, "{more:?}");
        assert_eq!(log.state == "half_closed", *ends, "{more:?}: {}", log.state);
        assert!(log.gaps[0].is_empty(), "{more:?}: {:?}", log.gaps[0]);
    }
}

#[test]
fn nothing_is_beyond_a_cutoff_that_is_no_cutoff() {
    let config = config().with_mode(Mode::Track);
    let mut segments = handshake(C, S);
    segments.extend([data(0, "go", 0), data(2, "od", 0), data(6, "!", 0)]);
    let (streams, ledger) = run(&config, &segments);
    assert!(streams[&1].bytes[0].is_empty());
    assert_eq!(fate(&ledger, tidewire_core::Fate::Tracked), 6);
}

/// The last segment acknowledges uncaptured data, with bytes and a FIN: no host refused it.
#[test]
fn what_nobody_refused_ends_the_stream_with_its_fin() {
    let last = Seg::new(true, C + 3, S + 101, FIN | ACK, b"od");
    let log = one(&[data(0, "go", 0), answer(2), last.clone()]);
    assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "half_closed"));
    let log = one(&[data(0, "go", 0), answer(2), last, answer(2)]);
    assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("go", "established"));
    let ended = Seg::new(false, S + 1, C + 3, FIN | ACK, b"");
    let log = one(&[data(0, "go", 0), ended, Seg::new(true, C + 3, S + 101, FIN | ACK, b"")]);
    assert_eq!((log.state.as_str(), log.closed.as_deref()), ("closed", Some("fin")));
}

/// The capture lost what the client said next; the client's own number shows that it was said, so that the server's
/// acknowledgment of it is none of what was never sent. The last answer was never acknowledged.
#[test]
fn what_the_senders_own_number_shows_to_be_sent_may_be_acknowledged() {
    let server = |at: u32, acked: u32, payload: &str| {
        let seq = S + 1 + at;
        Seg::new(false, seq, C + 1 + acked, ACK, payload.as_bytes())
    };
    let client = |at: u32, acked: u32| Seg::new(true, C + 1 + at, S + 1 + acked, ACK, b"");
    let more = [
        data(0, "ask", 0),
        server(0, 3, "ok"),
        server(2, 103, ""),
        server(6, 103, "rd"),
        server(2, 103, "last"),
        client(103, 2),
        client(103, 8),
        server(8, 103, "more"),
        client(103, 10),
        server(12, 103, "end"),
    ];
    let log = one(&more);
    assert_eq!(text(&log.bytes[1]), "oklastrdmoreend");
    assert_eq!(log.gaps[0], [(3, 100, "not_captured".into())]);
    assert_eq!(log.ignored, [0, 0]);
}

/// A FIN that came before its data, both with an acknowledgment of what was not captured, and no answer but a reset.
#[test]
fn a_doubtful_fin_before_its_data_is_believed_with_it() {
    let more = [
        data(0, "one", 0),
        Seg::new(true, C + 1 + 6, S + 1 + 9, FIN | ACK, b""),
        data(3, "two", 9),
        Seg::new(false, S + 1 + 9, 0, RST, b""),
    ];
    let log = one(&more);
    assert_eq!(text(&log.bytes[0]), "onetwo");
}

/// Payload that no receiver took is in the figures, with its reason among the anomalies.
#[test]
fn what_was_ignored_is_counted() {
    // After a reset, without any answer.
    let log = one(&[data(0, "go", 0), answer(2), Seg::new(true, C + 3, 0, RST, b""), data(2, "after", 0)]);
    assert_eq!((text(&log.bytes[0]), log.ignored), ("go", [5, 0]));
    assert!(log.anomalies.contains(&"after_reset".into()));
    // Within one: RFC 9293 section 3.5.3.
    let log = one(&[data(0, "go", 0), answer(2), Seg::new(true, C + 3, 0, RST, b"reason")]);
    assert_eq!((text(&log.bytes[0]), log.ignored), ("go", [6, 0]));
    assert!(log.anomalies.contains(&"reset_data".into()));
    // Refused by the receiver.
    let log = one(&[data(0, "go", 0), data(2, "EVIL", 2), answer(2), data(2, "od", 0)]);
    assert_eq!((text(&log.bytes[0]), log.ignored[0] + log.retransmitted[0]), ("good", 4));
    // Waiting beyond a FIN that turns out to lie before it.
    let log = one(&[data(0, "go", 0), data(4, "beyond", 0), fin(2), answer(3)]);
    assert_eq!((text(&log.bytes[0]), log.ignored), ("go", [6, 0]));
    assert!(log.anomalies.contains(&"data_beyond_fin".into()));
    // Without flags that such a segment has to have, and far outside of the window.
    let log = one(&[data(0, "go", 0), Seg::new(true, C + 3, 0, PSH, b"no ack"), answer(2)]);
    assert_eq!((log.ignored, log.anomalies.contains(&"invalid_flags".into())), ([6, 0], true));
    let log = one(&[data(0, "go", 0), answer(2), data(1 << 20, "far", 0), answer(2)]);
    assert_eq!((log.ignored, log.anomalies.contains(&"out_of_window".into())), ([3, 0], true));
}
