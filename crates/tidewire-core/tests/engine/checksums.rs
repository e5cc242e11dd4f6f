//! Wrong checksums: the receiver's acknowledgments distinguish packets that it dropped from those whose checksum is
//! an artefact of the capture.

use crate::common::*;
use proptest::prelude::*;
use tidewire_core::{ChecksumMode, Config, Fate, Ledger, Mode};

const C: u32 = 1000;
const S: u32 = 5000;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("test payload is text")
}

fn auto() -> Config {
    config().with_checksum(ChecksumMode::Auto)
}

/// The client's bytes at an offset.
fn data(at: u32, payload: &str, sum: Sum) -> Seg {
    Seg::new(true, C + 1 + at, S + 1, ACK | PSH, payload.as_bytes()).summed(sum)
}

/// The server acknowledges so much, and says nothing.
fn answer(acked: u32) -> Seg {
    Seg::new(false, S + 1, C + 1 + acked, ACK, b"").summed(Sum::Good)
}

fn fin(at: u32, sum: Sum) -> Seg {
    Seg::new(true, C + 1 + at, S + 1, FIN | ACK, b"").summed(sum)
}

/// A handshake with right checksums; the client takes segments of up to `mss` bytes, the server as well.
fn greeting(mss: u16) -> Vec<Seg> {
    let option = [&[2, 4][..], &mss.to_be_bytes()].concat();
    let mut segments = handshake(C, S);
    for segment in &mut segments {
        if segment.flags & SYN != 0 {
            segment.options.clone_from(&option);
        }
        segment.sum = Sum::Good;
    }
    segments
}

fn one_of(config: &Config, segments: &[Seg]) -> (StreamLog, Ledger) {
    let (streams, ledger) = run(config, segments);
    assert_eq!(streams.len(), 1);
    let log = streams[&1].clone();
    (log, ledger)
}

/// After a handshake with right checksums.
fn one(more: &[Seg]) -> (StreamLog, Ledger) {
    one_of(&auto(), &[&greeting(1460), more].concat())
}

fn client_sent(more: &[Seg]) -> String {
    text(&one(more).0.bytes[0]).into()
}

const WRONG: [Sum; 2] = [Sum::Bad, Sum::Partial];

#[test]
fn an_inserted_segment_stays_out_whichever_comes_first() {
    for sum in WRONG {
        let (evil, good) = (data(2, "EVIL", sum), data(2, "good", Sum::Good));
        let before = data(0, "a ", Sum::Good);
        for more in [
            vec![before.clone(), evil.clone(), good.clone(), answer(6)],
            vec![before.clone(), good.clone(), evil.clone(), answer(6)],
            vec![before.clone(), evil.clone(), answer(2), good.clone(), answer(6)],
            // Nothing of it was right before, and the right one is longer, or in parts.
            vec![evil.clone(), data(0, "a good", Sum::Good), answer(6)],
            vec![evil.clone(), data(4, "od", Sum::Good), data(0, "a go", Sum::Good), answer(6)],
            // Three in a row teach nothing.
            vec![evil.clone(), evil.clone(), evil.clone(), data(0, "a good", Sum::Good), answer(6)],
        ] {
            let evils = more.iter().filter(|one| one.sum == sum).count() as u64;
            let (log, ledger) = one(&more);
            assert_eq!(text(&log.bytes[0]), "a good", "{more:?}");
            assert!(log.gaps[0].is_empty() && log.anomalies.contains(&"bad_checksum".into()), "{log:?}");
            assert_eq!(fate(&ledger, Fate::BadChecksum), evils, "{more:?}");
        }
    }
}

#[test]
fn what_the_receiver_acknowledged_is_delivered() {
    for sum in WRONG {
        // Right ones before and after, as where a card merges some of them.
        let more = [data(0, "go", Sum::Good), data(2, "od b", sum), answer(6), data(6, "ye", Sum::Good), answer(8)];
        let (log, ledger) = one(&more);
        assert_eq!(text(&log.bytes[0]), "good bye");
        assert_eq!(log.anomalies, ["bad_checksum"], "two readings are reported");
        assert_eq!((fate(&ledger, Fate::BadChecksum), fate(&ledger, Fate::Tracked)), (0, 8));
        // The acknowledgment is part of the answer: the question is delivered first.
        let reply = Seg::new(false, S + 1, C + 3, ACK | PSH, b"yes").summed(Sum::Good);
        let (log, _) = one(&[data(0, "ok", sum), reply]);
        assert_eq!((text(&log.bytes[0]), text(&log.bytes[1])), ("ok", "yes"));
    }
}

/// What a host would not take for another reason is still likelier than what was damaged.
#[test]
fn a_right_checksum_wins_among_doubtful_segments() {
    let unseen = |at, payload| Seg { ack: S + 101, ..data(at, payload, Sum::Good) };
    for sum in WRONG {
        let evil = data(2, "EVIL", sum);
        for more in [
            vec![evil.clone(), unseen(2, "good"), answer(6)],
            vec![unseen(2, "good"), evil.clone(), answer(6)],
            vec![evil.clone(), unseen(4, "od"), evil.clone(), unseen(2, "go"), answer(6)],
            vec![data(2, "E", sum), data(4, "IL", sum), unseen(2, "good"), answer(6)],
        ] {
            let evils = more.iter().filter(|one| one.sum == sum).count() as u64;
            let (log, ledger) = one(&[vec![data(0, "a ", Sum::Good)], more.clone()].concat());
            assert_eq!(text(&log.bytes[0]), "a good", "{more:?}");
            assert!(log.anomalies.contains(&"overlap_conflict".into()), "{log:?}");
            assert_eq!(fate(&ledger, Fate::BadChecksum), evils, "{more:?}");
        }
    }
}

/// Its first bytes contradict what was delivered; of the others nothing is known but that they were acknowledged.
#[test]
fn a_conflict_with_delivered_bytes_does_not_decide_about_new_ones() {
    for sum in WRONG {
        let (log, ledger) = one(&[data(0, "good", Sum::Good), data(2, "XX bye", sum), answer(8)]);
        assert_eq!(text(&log.bytes[0]), "good bye");
        assert_eq!(log.anomalies, ["bad_checksum", "overlap_conflict"]);
        assert_eq!(fate(&ledger, Fate::BadChecksum), 0, "part of it was delivered");
    }
}

/// Acknowledgments of ranges that correct segments filled in part say nothing about wrong ones.
#[test]
fn a_segment_that_is_believed_in_part_teaches_nothing() {
    let small = "g".repeat(1000);
    for sum in WRONG {
        let mut more = Vec::new();
        for at in [0, 10, 20, 30] {
            more.extend([data(at, "EEEEEEEEEE", sum), data(at, "ggggggggg", Sum::Good), answer(at + 10)]);
        }
        more.push(data(40, &"E".repeat(4000), sum));
        more.extend((0..4).map(|at| data(40 + at * 1000, &small, Sum::Good)));
        more.push(answer(4040));
        let log = one(&more).0;
        assert_eq!(log.bytes[0].len(), 4040);
        assert!(log.bytes[0][40..].iter().all(|byte| *byte == b'g'), "a large one is not taken at once");
    }
}

/// Segments with wrong checksums of one byte each, `step` bytes apart; the first bytes are missing.
fn scattered(count: u32, step: u32) -> impl Iterator<Item = Seg> {
    (0..count).map(move |at| data(10 + at * step, "E", Sum::Bad))
}

/// The list of what waits for an acknowledgment has an end, and is paid for.
#[test]
fn what_waits_for_an_acknowledgment_is_bounded_and_charged() {
    const LIST_BYTES: u64 = 128 * 32;
    // Beside it: what any flow takes that is not plain.
    const OTHER_BYTES: u64 = 2000;
    let verify = config().with_checksum(ChecksumMode::Verify).with_list_max(4);
    let fill = |segments: &mut dyn Iterator<Item = Seg>| {
        let mut feed = Feed::new(&verify, InvariantChecker::default());
        feed.segments(&greeting(1460));
        let before = feed.engine.buffered_bytes();
        segments.for_each(|segment| feed.segment(&segment));
        let held = feed.engine.buffered_bytes() - before;
        let (_, ledger) = feed.finish();
        (held, fate(&ledger, Fate::BadChecksum))
    };
    let (held, left_out) = fill(&mut scattered(2000, 2));
    assert!((LIST_BYTES..LIST_BYTES + OTHER_BYTES).contains(&held), "{held}");
    assert_eq!(left_out, 2000);
    let (held, left_out) = fill(&mut scattered(2000, 0));
    assert!((32..OTHER_BYTES).contains(&held), "copies of one segment take one place: {held}");
    assert_eq!(left_out, 2000);
    // All of it together stays within the memory.
    let config = verify.clone().with_memory_bytes(200_000).with_fragment_memory_bytes(0);
    let mut feed = Feed::new(&config, InvariantChecker::default());
    for port in 1..60 {
        for segment in greeting(1460).into_iter().chain(scattered(600, 2)) {
            feed.segment(&Seg { client_port: port, ..segment });
        }
    }
    let (_, ledger) = feed.finish();
    assert!((150_000..200_000).contains(&ledger.buffered_bytes_max), "{}", ledger.buffered_bytes_max);
    assert_eq!(fate(&ledger, Fate::BadChecksum), 59 * 600);
}

#[test]
fn a_full_list_of_wrong_checksums_loses_no_bytes() {
    let first = data(0, "0123456789", Sum::Good);
    // Side by side they share a place.
    let more: Vec<Seg> = scattered(2000, 1).chain([first.clone(), answer(2010)]).collect();
    let (log, ledger) = one(&more);
    assert_eq!((log.bytes[0].len(), log.gaps[0].len()), (2010, 0));
    assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
    // Apart from each other those that find none are delivered, and counted as left out.
    let between = (0..599).map(|at| data(11 + at * 2, "g", Sum::Good));
    let more: Vec<Seg> = scattered(600, 2).chain([first]).chain(between).chain([answer(1209)]).collect();
    let config = auto().with_stream_holes_max(5000);
    let (log, ledger) = one_of(&config, &[greeting(1460), more].concat());
    assert_eq!((log.bytes[0].len(), log.gaps[0].len()), (1209, 0));
    assert_eq!(log.bytes[0].iter().filter(|byte| **byte == b'E').count(), 600);
    assert_eq!(fate(&ledger, Fate::BadChecksum), 600 - 128);
}

/// The right one was lost by the capture: the bytes are delivered, and a later repetition with others is a conflict.
#[test]
fn an_acknowledged_range_that_nothing_else_filled_is_delivered_and_named() {
    let (log, _) = one(&[data(0, "EVIL", Sum::Bad), answer(4), data(0, "good", Sum::Good), answer(4)]);
    assert_eq!(text(&log.bytes[0]), "EVIL");
    assert_eq!(log.anomalies, ["bad_checksum", "overlap_conflict"]);
}

#[test]
fn segments_merged_on_receipt_are_delivered() {
    let big = "m".repeat(4000);
    for sum in WRONG {
        let mut more = vec![data(0, "go", Sum::Good)];
        for step in 0..5 {
            more.extend([data(2 + step * 4000, &big, sum), answer(2 + (step + 1) * 4000)]);
        }
        // The last one was not acknowledged any more.
        more.extend([data(20_002, &big, sum), data(24_002, "od", Sum::Good), answer(20_002)]);
        let (log, ledger) = one(&more);
        assert_eq!(log.bytes[0].len(), 24_004);
        assert!(log.gaps[0].is_empty());
        assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
    }
}

/// As large as the receiver takes from the wire, or its limits are not known: nothing else speaks for it.
#[test]
fn a_segment_that_fits_a_frame_needs_an_acknowledgment() {
    let big = "m".repeat(1460);
    let (log, ledger) = one(&[data(0, "go", Sum::Good), data(2, &big, Sum::Bad), answer(2)]);
    assert_eq!(text(&log.bytes[0]), "go");
    assert_eq!(log.gaps[0], [(2, 1460, "bad_checksum".into())]);
    assert_eq!(fate(&ledger, Fate::BadChecksum), 1);
    // The dropped packet is one of its stream: packets are in a stream or outside of all, never both.
    let in_streams: u64 = Fate::ALL.iter().filter(|one| one.is_in_stream()).map(|&one| fate(&ledger, one)).sum();
    assert_eq!((log.packets.iter().sum::<u64>(), in_streams), (ledger.received, ledger.received));
    let jumbo = "m".repeat(8000);
    let more = [data(0, "go", Sum::Good), data(2, &jumbo, Sum::Bad), answer(2)];
    let (log, _) = one_of(&auto(), &[greeting(8960), more.to_vec()].concat());
    assert_eq!(log.gaps[0], [(2, 8000, "bad_checksum".into())]);
}

#[test]
fn a_right_checksum_of_a_syn_says_nothing_about_payload() {
    for sum in WRONG {
        let mut more: Vec<Seg> = (0..20).map(|at| data(at, "x", sum)).collect();
        more.push(fin(20, sum));
        // The capture ends before anything is acknowledged.
        let (log, ledger) = one(&more);
        assert_eq!((log.bytes[0].len(), log.state.as_str()), (20, "half_closed"));
        assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
        assert_eq!(log.anomalies, ["bad_checksum"]);
        // Half of it was acknowledged when it ends.
        more.insert(15, answer(10));
        let (log, ledger) = one(&more);
        assert_eq!((log.bytes[0].len(), fate(&ledger, Fate::BadChecksum)), (20, 0));
    }
}

/// What was captured where it is sent: every segment of one side, then of both; midway, too.
#[test]
fn offloading_senders() {
    for sum in WRONG {
        for (first, acks) in [(0, sum), (0, Sum::Good), (3, sum), (3, Sum::Good)] {
            let mut segments: Vec<Seg> = greeting(1460);
            segments[0].sum = sum;
            segments[1].sum = acks;
            segments[2].sum = sum;
            for at in 0..50 {
                segments.push(data(at * 2, "ab", sum));
                segments.push(Seg::new(false, S + 1 + at, C + 3 + at * 2, ACK, b"z").summed(acks));
            }
            segments.push(fin(100, sum));
            segments.push(Seg::new(false, S + 51, C + 102, FIN | ACK, b"").summed(acks));
            segments.push(Seg::new(true, C + 102, S + 52, ACK, b"").summed(sum));
            let (log, ledger) = one_of(&auto(), &segments[first..]);
            assert_eq!((log.bytes[0].len(), log.bytes[1].len()), (100, 50), "{sum:?} {first} {acks:?}");
            assert_eq!(log.state, "closed");
            assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
        }
    }
}

/// From the fourth acknowledged one on nothing is kept back: so the memory of a fast sender is no bound to it.
#[test]
fn a_sender_that_is_known_to_offload_is_not_waited_for() {
    let config = auto().with_stream_buffer_bytes(20_000).with_memory_bytes(1 << 20);
    let block = "y".repeat(1000);
    let mut segments = greeting(1460);
    for at in 0..4 {
        segments.extend([data(at * 1000, &block, Sum::Partial), answer((at + 1) * 1000)]);
    }
    segments.extend((4..60).map(|at| data(at * 1000, &block, Sum::Partial)));
    let (log, ledger) = one_of(&config, &segments);
    assert_eq!((log.bytes[0].len(), fate(&ledger, Fate::BadChecksum)), (60_000, 0));
    assert!(log.gaps[0].is_empty());
    // One right checksum, and it may have been the sender's doing.
    segments.insert(7, data(3000, &block, Sum::Good));
    segments.push(data(4000, &"n".repeat(1000), Sum::Good));
    let (log, _) = one_of(&auto(), &segments);
    assert!(log.bytes[0][4000..5000].iter().all(|byte| *byte == b'n'), "the right one wins");
}

/// The receiver's packets are in no capture: bytes that nothing else fills are believed, after a while or at the end.
#[test]
fn one_sided_traffic() {
    for sum in WRONG {
        for mode in [Mode::Strict, Mode::Fast] {
            for first in [0, 1] {
                let config = auto().with_mode(mode);
                // All wrong.
                let mut segments = vec![Seg::new(true, C, 0, SYN, b"").summed(Sum::Good)];
                segments.extend((0..200).map(|at| data(at * 1000, &"x".repeat(1000), sum)));
                segments.push(fin(200_000, sum));
                let (log, ledger) = one_of(&config, &segments[first..]);
                assert_eq!((log.bytes[0].len(), fate(&ledger, Fate::BadChecksum)), (200_000, 0));
                assert_eq!(log.state, "half_closed");
                // Some wrong, small and large.
                for (at, segment) in segments.iter_mut().enumerate() {
                    if at % 7 != 3 {
                        segment.sum = Sum::Good;
                    }
                }
                let (log, ledger) = one_of(&config, &segments[first..]);
                assert_eq!((log.bytes[0].len(), fate(&ledger, Fate::BadChecksum)), (200_000, 0));
                assert!(log.gaps[0].is_empty());
                // One that is inserted stays out.
                segments.insert(9, Seg { payload: vec![b'E'; 1000], ..segments[9].clone().summed(sum) });
                let (log, ledger) = one_of(&config, &segments[first..]);
                assert_eq!((log.bytes[0].len(), fate(&ledger, Fate::BadChecksum)), (200_000, 1), "{mode:?} {first}");
                assert!(!log.bytes[0].contains(&b'E'));
            }
        }
    }
}

#[test]
fn a_fin_with_a_wrong_checksum_ends_what_it_was_acknowledged_for() {
    for sum in WRONG {
        let forged = [data(0, "go", Sum::Good), fin(2, sum), answer(2), data(2, "od", Sum::Good), answer(4)];
        let (log, ledger) = one(&forged);
        assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "established"));
        assert_eq!(fate(&ledger, Fate::BadChecksum), 1);
        let (log, ledger) = one(&[data(0, "good", Sum::Good), fin(4, sum), answer(5)]);
        assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "half_closed"));
        assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
        let with_data = Seg { flags: FIN | ACK, ..data(2, "od", sum) };
        let (log, ledger) = one(&[data(0, "go", Sum::Good), with_data.clone(), answer(5)]);
        assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "half_closed"));
        assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
        let (log, _) = one(&[data(0, "go", Sum::Good), with_data, answer(2), data(2, "od bye", Sum::Good), answer(8)]);
        assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good bye", "established"));
    }
}

#[test]
fn resets_and_acknowledgments_with_wrong_checksums() {
    for sum in WRONG {
        let reset = Seg::new(true, C + 3, 0, RST, b"").summed(sum);
        let (log, ledger) = one(&[data(0, "go", Sum::Good), reset.clone(), data(2, "od", Sum::Good), answer(4)]);
        assert_eq!((text(&log.bytes[0]), log.state.as_str()), ("good", "established"));
        assert_eq!(fate(&ledger, Fate::BadChecksum), 1);
        // A side none of whose checksums was ever right.
        let mut segments = greeting(1460);
        segments.retain(|segment| segment.flags & SYN != 0);
        segments.push(reset.clone());
        let reset_at_once = Seg { seq: C + 1, ..reset };
        segments[2] = reset_at_once;
        assert_eq!(one_of(&auto(), &segments).0.state, "reset");
    }
    // An acknowledgment damaged on its way confirms nothing; right ones follow.
    let damaged = answer(6).summed(Sum::Bad);
    let more = [data(0, "go", Sum::Good), answer(2), data(2, "EVIL", Sum::Bad), damaged, data(2, "good", Sum::Good)];
    assert_eq!(client_sent(&more), "gogood");
}

#[test]
fn a_second_beginning_with_a_wrong_checksum_changes_nothing() {
    let syn = |isn: u32, sum: Sum| Seg::new(true, isn, 0, SYN, b"").summed(sum);
    for sum in WRONG {
        let mut segments = greeting(1460);
        segments.insert(1, syn(C + 5000, sum));
        segments.extend([data(0, "good", Sum::Good), answer(4)]);
        let (log, _) = one_of(&auto(), &segments);
        assert_eq!(text(&log.bytes[0]), "good");
        assert_eq!(log.anomalies, ["bad_checksum", "blind_syn"]);
        // The one that is answered: the other was made by another program of that host.
        let mut segments = greeting(1460);
        segments.insert(0, syn(C + 5000, Sum::Good));
        segments[1].sum = sum;
        segments.push(data(0, "good", sum));
        segments.push(answer(4));
        let (streams, _) = run(&auto(), &segments);
        assert_eq!((streams.len(), text(&streams[&2].bytes[0])), (2, "good"));
        // And a second answer.
        let mut segments = greeting(1460);
        segments.insert(2, Seg::new(false, S + 900, C + 1, SYN | ACK, b"").summed(sum));
        segments.push(Seg::new(false, S + 1, C + 1, ACK | PSH, b"hello").summed(Sum::Good));
        let (log, _) = one_of(&auto(), &segments);
        assert_eq!(text(&log.bytes[1]), "hello");
    }
}

#[test]
fn the_other_modes() {
    let more = [data(0, "go", Sum::Good), data(2, "EV", Sum::Bad), data(4, "od", Sum::Good), answer(6)];
    let segments = [greeting(1460), more.to_vec()].concat();
    let verify = config().with_checksum(ChecksumMode::Verify);
    let (log, ledger) = one_of(&verify, &segments);
    assert_eq!(text(&log.bytes[0]), "good");
    assert_eq!(log.gaps[0], [(2, 2, "bad_checksum".into())], "and not as if it had not been captured");
    assert_eq!(fate(&ledger, Fate::BadChecksum), 1);
    assert_eq!(text(&one_of(&config(), &segments).0.bytes[0]), "goEVod");
    // What was really lost keeps its own cause.
    let more = [data(0, "go", Sum::Good), data(4, "EV", Sum::Bad), data(8, "od", Sum::Good), answer(10)];
    let (log, _) = one_of(&verify, &[greeting(1460), more.to_vec()].concat());
    let cause = |name: &str| name.to_owned();
    assert_eq!(
        log.gaps[0],
        [(2, 2, cause("not_captured")), (4, 2, cause("bad_checksum")), (6, 2, cause("not_captured"))]
    );
}

/// Silence says nothing about segments that are dropped without an answer, whatever other anomalies they have.
#[test]
fn silence_confirms_no_wrong_checksum() {
    for sum in WRONG {
        for is_beyond_window in [false, true] {
            let mut more = Vec::new();
            for at in 0..240_u64 {
                let mut evil = data(at as u32 * 4, "EVIL", sum);
                evil.time_ms = 40 * at.min(60);
                evil.ack += u32::from(!is_beyond_window);
                more.push(evil);
            }
            let late = |segment: Seg| Seg { time_ms: 3000, ..segment };
            more.extend([late(data(0, "good", Sum::Good)), late(answer(4))]);
            let mut segments = [greeting(1460), more].concat();
            if is_beyond_window {
                segments[1].window = 100;
            }
            let (log, _) = one_of(&auto(), &segments);
            assert_eq!(text(&log.bytes[0]), "good", "{sum:?} {is_beyond_window}");
            assert!(log.anomalies.contains(&"overlap_conflict".into()), "{:?}", log.anomalies);
        }
    }
}

/// What the receiver acknowledges less than, after it came, it has dropped: also where nothing else was ever right, where
/// its acknowledgments carry data, and where the bytes would be those of a merged segment.
#[test]
fn what_the_receiver_denied_is_not_believed_at_the_end() {
    let replies =
        |at: u32| (0..3).map(move |n| Seg::new(false, S + 1 + n, C + 1 + at, ACK | PSH, b"r").summed(Sum::Good));
    for sum in WRONG {
        for evil in ["EVIL".to_owned(), "EVIL".repeat(600)] {
            // A right one before.
            let mut more = vec![data(0, "good", Sum::Good), answer(4), data(4, &evil, sum)];
            more.extend(replies(4));
            assert_eq!(client_sent(&more), "good", "{sum:?}");
            // None.
            let mut more = vec![data(0, &evil, sum)];
            more.extend(replies(0));
            assert_eq!(client_sent(&more), "", "{sum:?}");
            let (log, ledger) = one(&[data(0, &evil, sum), answer(0), answer(0)]);
            assert_eq!((text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)), ("", 1), "{sum:?}");
        }
    }
}

/// A receiver that accepted a part of the bytes with wrong checksums does not deny the rest; nor does its first packet.
#[test]
fn an_acknowledgment_of_a_part_denies_nothing() {
    for sum in WRONG {
        assert_eq!(client_sent(&[data(0, "good", sum), answer(2), data(4, "bye", sum), answer(5)]), "goodbye");
        assert_eq!(client_sent(&[data(0, "good", sum), data(4, "bye", sum), answer(4), answer(4)]), "goodbye");
        assert_eq!(text(&one_of(&auto(), &[data(0, "good", sum), answer(0)]).0.bytes[0]), "good");
    }
}

/// A wrong sequence number makes no gigabytes.
#[test]
fn a_wrong_place_is_not_believed_at_the_end() {
    for sum in WRONG {
        for first in [0, 3] {
            for jump in [400_000_000_u32, 0_u32.wrapping_sub(400_000_000)] {
                let mut segments = greeting(1460);
                segments.extend([data(0, "good", sum), answer(4), data(4u32.wrapping_add(jump), "EVIL", sum)]);
                segments.extend([data(4, "bye", sum), answer(7), data(7, "!", sum)]);
                // Shifted by 14 where the scale was not captured, as far as it goes.
                segments.iter_mut().for_each(|segment| segment.window = 500);
                let (log, _) = one_of(&auto(), &segments[first..]);
                assert_eq!(text(&log.bytes[0]), "goodbye!", "{sum:?} {first} {jump}");
                assert!(log.gaps[0].iter().all(|gap| gap.1 < 1000), "{:?}", log.gaps[0]);
            }
        }
        // Nothing of the receiver is seen at all.
        let more = [data(0, "good", sum), data(400_000_000, "EVIL", sum), data(4, "bye", sum)];
        let (log, _) = one_of(&auto(), &[&greeting(1460)[..1], &more].concat());
        assert_eq!(text(&log.bytes[0]), "goodbye", "{:?}", log.gaps[0]);
        assert!(log.gaps[0].iter().all(|gap| gap.1 < 1000), "{:?}", log.gaps[0]);
    }
}

/// A UDP datagram with a checksum.
fn datagram(payload: &[u8], sum: Sum) -> Vec<u8> {
    let mut packet = udp(7, payload);
    seal(&mut packet, 6, sum);
    packet
}

fn datagrams(config: &Config, packets: &[Vec<u8>]) -> (StreamLog, Ledger) {
    let mut feed = Feed::new(config, InvariantChecker::default());
    for (at, packet) in packets.iter().enumerate() {
        feed.ip(packet, 1_000_000 * at as u64);
    }
    let (checker, ledger) = feed.finish();
    (checker.streams[&1].clone(), ledger)
}

#[test]
fn datagrams_with_wrong_checksums() {
    let cause = || "bad_checksum".to_owned();
    for sum in WRONG {
        // Never right: they are left to the card.
        let (log, ledger) = datagrams(&auto(), &[datagram(b"one", sum), datagram(b"two", sum)]);
        assert_eq!((text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)), ("onetwo", 0));
        // Larger than a frame: several, merged or not yet split.
        let packets = [datagram(b"one", Sum::Good), datagram(&[b'x'; 3000], sum)];
        assert_eq!(datagrams(&auto(), &packets).0.bytes[0].len(), 3003);
        let verify = config().with_checksum(ChecksumMode::Verify);
        assert_eq!(datagrams(&verify, &packets).0.gaps[0], [(3, 3000, cause())]);
        // Right before, or none, as a sender without checksums does not offload them: a damaged one was dropped, and
        // what is missing is named. The sum of the pseudo-header alone is the mark of offloading for itself.
        for right in [Sum::Good, Sum::Zero] {
            let packets = [datagram(b"one", right), datagram(b"EVIL", sum), datagram(b"two", right)];
            let (log, ledger) = datagrams(&auto(), &packets);
            let is_bad = sum == Sum::Bad;
            let wanted = (if is_bad { "onetwo" } else { "oneEVILtwo" }, u64::from(is_bad));
            assert_eq!((text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)), wanted);
            assert_eq!(log.gaps[0], if is_bad { vec![(3, 4, cause())] } else { Vec::new() });
            assert_eq!(log.anomalies, ["bad_checksum"]);
        }
    }
}

/// One checksum that is right by chance, or absent, says nothing about a sender all of whose others are wrong.
#[test]
fn one_right_datagram_drops_no_others() {
    for sum in WRONG {
        for right in [Sum::Good, Sum::Zero] {
            let mut packets: Vec<Vec<u8>> = (0..100).map(|_| datagram(b"data", sum)).collect();
            packets[50] = datagram(b"data", right);
            let (log, ledger) = datagrams(&auto(), &packets);
            assert_eq!((log.bytes[0].len(), fate(&ledger, Fate::BadChecksum)), (400, 0), "{sum:?} {right:?}");
        }
    }
}

/// Silence of the receiver after a segment is no evidence that the receiver refused it, whatever was right before.
#[test]
fn what_nothing_was_said_about_is_delivered_at_the_end() {
    for sum in WRONG {
        let more = [data(0, "go", Sum::Good), data(2, "od", sum), data(4, " b", sum), answer(4)];
        let (log, ledger) = one(&more);
        assert_eq!((text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)), ("good b", 0));
        assert_eq!(log.anomalies, ["bad_checksum"]);
        // The same number again denies the rest.
        let (log, ledger) = one(&[&more[..], &[answer(4)]].concat());
        assert_eq!((text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)), ("good", 1));
    }
}

/// The server acknowledges so much, and with SACK blocks what lies behind it.
fn sack(acked: u32, blocks: &[(u32, u32)]) -> Seg {
    let mut options = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
    for (left, right) in blocks {
        options.extend((C + 1).wrapping_add(*left).to_be_bytes());
        options.extend((C + 1).wrapping_add(*right).to_be_bytes());
    }
    Seg { options, ..answer(acked) }
}

#[test]
fn a_sack_block_is_an_acknowledgment() {
    for sum in WRONG {
        let lost = [data(0, "good", Sum::Good), data(8, "more", sum), data(12, "rest", sum)];
        // Of all that came behind the hole, of a part of it, and twice (RFC 2883).
        for (blocks, wanted, dropped) in [
            (&[(8, 16)][..], "goodmorerest", 0),
            (&[(8, 12)], "goodmore", 1),
            (&[(8, 12), (8, 16)], "goodmorerest", 0),
            (&[(12, 16)], "goodrest", 1),
        ] {
            let (log, ledger) = one(&[&lost[..], &[answer(4), sack(4, blocks), sack(4, blocks)]].concat());
            assert_eq!(
                (text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)),
                (wanted, dropped),
                "{sum:?} {blocks:?}"
            );
        }
        // Absurd ones confirm nothing: before the acknowledgment, empty, reversed, beyond the window.
        for blocks in [&[(0, 4)][..], &[(8, 8)], &[(16, 8)], &[(8, 1 << 20)], &[(0_u32.wrapping_sub(9), 16)]] {
            let (log, ledger) = one(&[&lost[..], &[answer(4), sack(4, blocks), answer(4)]].concat());
            assert_eq!((text(&log.bytes[0]), fate(&ledger, Fate::BadChecksum)), ("good", 2), "{sum:?} {blocks:?}");
        }
        // A right copy wins, before and after.
        let right = data(8, "MORE", Sum::Good);
        for at in [1, 3] {
            let mut more = lost.to_vec();
            more.insert(at, right.clone());
            more.extend([sack(4, &[(8, 16)]), data(4, "----", Sum::Good), answer(16)]);
            assert_eq!(client_sent(&more), "good----MORErest", "{sum:?} {at}");
        }
    }
}

/// Bytes that a SACK block covers, and that were not captured, were received: they are missing.
#[test]
fn what_only_a_sack_block_covers_is_missing() {
    let (log, _) = one(&[data(0, "good", Sum::Good), answer(4), sack(4, &[(8, 12)])]);
    assert_eq!((text(&log.bytes[0]), &log.gaps[0][..]), ("good", &[(4, 8, "not_captured".into())][..]));
}

/// What happens to a stretch of the client's bytes, in units of four.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Sent with this checksum; `forged`: with other bytes.
    Send { at: u8, units: u8, sum: Sum, forged: bool },
    /// Sent with a right checksum, but doubtful: it acknowledges what the server was not seen to send.
    Doubtful { at: u8, units: u8 },
    /// The server acknowledges what it has, and so much more that was not captured.
    Answer(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let sum = prop::sample::select(&[Sum::Good, Sum::Good, Sum::Bad, Sum::Partial][..]);
    let send = (0..30_u8, 1..8_u8, sum, any::<bool>()).prop_map(|(at, units, sum, forged)| Op::Send {
        at,
        units,
        sum,
        // Right ones have one version: overlaps of these are for other tests.
        forged: forged && sum != Sum::Good,
    });
    let doubtful = (0..30_u8, 1..8_u8).prop_map(|(at, units)| Op::Doubtful { at, units });
    prop::collection::vec(prop_oneof![6 => send, 1 => doubtful, 2 => (0..4_u8).prop_map(Op::Answer)], 1..40)
}

fn unit(at: usize, forged: bool) -> [u8; 4] {
    let byte = (at as u8).wrapping_mul(37) & 0x7f;
    [if forged { byte | 0x80 } else { byte }; 4]
}

/// The conversation, and by unit: whether a right version came, and whether any did, before it was acknowledged; and
/// whether any came before the first right checksum. How far the server has acknowledged in the end, which it says last.
fn plan(ops: &[Op]) -> (Vec<Seg>, Vec<[bool; 3]>, usize) {
    let (mut segments, mut seen, mut acked) = (greeting(1460), vec![[false; 3]; 40], 0_usize);
    let mut is_right_before = false;
    for op in ops {
        match *op {
            Op::Doubtful { at, units } => {
                let range = usize::from(at)..usize::from(at + units);
                let payload: Vec<u8> = range.clone().flat_map(|at| unit(at, false)).collect();
                let seq = C + 1 + 4 * u32::from(at);
                segments.push(Seg::new(true, seq, S + 101, ACK, &payload).summed(Sum::Good));
                is_right_before = true;
                for at in range.filter(|at| *at >= acked) {
                    (seen[at][0], seen[at][1]) = (true, true);
                }
            }
            Op::Send { at, units, sum, forged } => {
                is_right_before |= sum == Sum::Good;
                let range = usize::from(at)..usize::from(at + units);
                let payload: Vec<u8> = range.clone().flat_map(|at| unit(at, forged)).collect();
                let seq = C + 1 + 4 * u32::from(at);
                segments.push(Seg::new(true, seq, S + 1, ACK, &payload).summed(sum));
                for at in range {
                    let is_in_time = at >= acked;
                    seen[at][0] |= sum == Sum::Good && is_in_time;
                    seen[at][1] |= is_in_time;
                    seen[at][2] |= !is_right_before;
                }
            }
            Op::Answer(more) => {
                // What a host has, and a few bytes whose right version the capture lost.
                let has = (acked..40).take_while(|at| seen[*at][0]).count();
                let lost = (acked + has..40).take_while(|at| seen[*at][1]).count().min(usize::from(more));
                acked += has + lost;
                segments.push(answer(4 * acked as u32));
            }
        }
    }
    segments.push(answer(4 * acked as u32));
    (segments, seen, acked)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_segments_with_wrong_checksums(ops in ops(), chunk in 0..20_u32, mode in 0..2_usize, small in any::<bool>()) {
        let (segments, seen, acked) = plan(&ops);
        let bound = if small { 3000 } else { 1 << 20 };
        let config = auto().with_chunk_bytes(chunk).with_mode([Mode::Strict, Mode::Track][mode]).with_memory_bytes(2 * bound).with_stream_buffer_bytes(bound).with_hole_segments_strict(if small { 3 } else { 64 });
        // The checker and the ledger check themselves: every packet has one fate, bytes and gaps cover the stream.
        let (alone, ledger) = run(&config, &segments);
        let (shared, other) = run_shared(&config, &segments, 3);
        prop_assert_eq!(&alone, &shared);
        prop_assert!(ledger.fates().eq(other.fates()));
        let (long, _) = run(&config.clone().with_ttl_min(1), &segments);
        prop_assert_eq!(&alone, &long, "the slow path says the same");
        if mode == 0 && !small {
            let log = &alone[&1];
            let got: std::collections::BTreeMap<u64, u8> = log.offsets[0].iter().copied().zip(log.bytes[0].iter().copied()).collect();
            for (at, seen) in seen.iter().enumerate().take(acked) {
                let byte = got.get(&(4 * at as u64)).copied();
                prop_assert!(byte.is_some(), "acknowledged and captured: {} of {:?}", at, seen);
                prop_assert!(!seen[0] || byte == Some(unit(at, false)[0]), "a right one wins: {}", at);
            }
            // Where a right checksum showed that the sender computes them, nothing else speaks for a wrong one.
            let is_telling = seen.iter().any(|seen| seen[0]);
            for at in (acked..40).filter(|at| is_telling && !seen[*at][0] && !seen[*at][2]) {
                prop_assert_eq!(got.get(&(4 * at as u64)), None, "neither right nor acknowledged: {}", at);
            }
        }
    }
}
