//! Directions that were not captured, begin late or end early: what their receiver acknowledges was sent.

use crate::common::*;
use tidewire_core::{ChecksumMode, Config, Fate};

const C: u32 = 1000;
const S: u32 = 5000;

/// The client acknowledges so much of the server.
fn client(at: u32, acked: u32, flags: u8, payload: &str) -> Seg {
    Seg::new(true, C + 1 + at, S.wrapping_add(1).wrapping_add(acked), flags | ACK, payload.as_bytes())
}

fn server(at: u32, acked: u32, payload: &str) -> Seg {
    Seg::new(false, S + 1 + at, C + 1 + acked, ACK, payload.as_bytes())
}

fn syn() -> Seg {
    Seg::new(true, C, 0, SYN, b"")
}

/// The gaps of the server's direction.
fn gaps(segments: &[Seg]) -> Vec<(u64, u64)> {
    let (streams, _) = run(&config(), segments);
    assert_eq!(streams.len(), 1);
    let gaps = &streams[&1].gaps[1];
    assert!(gaps.iter().all(|gap| gap.2 == "not_captured"), "{gaps:?}");
    gaps.iter().map(|gap| (gap.0, gap.1)).collect()
}

#[test]
fn what_is_acknowledged_of_a_direction_without_packets_is_missing() {
    let talk =
        [syn(), client(0, 0, 0, ""), client(0, 0, PSH, "GET 1"), client(5, 41, 0, ""), client(5, 41, PSH, "GET 2")];
    let end = [client(10, 79, 0, ""), client(10, 79, FIN, ""), client(11, 80, 0, "")];
    assert_eq!(gaps(&[&talk[..], &end].concat()), [(0, 79)], "without its FIN");
    assert_eq!(gaps(&talk), [(0, 41)]);
    assert_eq!(gaps(&talk[..3]), []);
    // One more that stands alone may be a FIN.
    assert_eq!(gaps(&[&talk[..], &[client(10, 42, 0, "")]].concat()), [(0, 41)]);
    // Joined midway, and keep-alives.
    let probe = Seg { seq: C, ..client(0, 41, 0, "") };
    assert_eq!(gaps(&[&talk[2..], &[probe.clone(), probe]].concat()), [(0, 41)]);
    // A reset acknowledges nothing that counts.
    let reset = Seg::new(true, C + 11, S + 900, RST | ACK, b"");
    assert_eq!(gaps(&[&talk[..], &[reset]].concat()), [(0, 41)]);
}

#[test]
fn forged_acknowledgments_of_a_direction_without_packets_make_no_gigabytes() {
    let talk = [syn(), client(0, 0, 0, ""), client(0, 0, PSH, "GET"), client(3, 41, 0, "")];
    for far in [3_000_000, 400_000_000, 2_000_000_000, 3_000_000_000] {
        // Alone at the end, or contradicted by what follows.
        assert_eq!(gaps(&[&talk[..], &[client(3, far, 0, "")]].concat()), [(0, 41)], "{far}");
        let more = [client(3, far, 0, ""), client(3, far, 0, ""), client(3, 79, 0, ""), client(3, 79, 0, "")];
        assert_eq!(gaps(&[&talk[..], &more].concat()), [(0, 79)], "{far}");
    }
}

/// The numbers wrap; nothing is lost of what they count.
#[test]
fn a_long_direction_without_packets() {
    let steps = (0..9_000_u32).map(|step| client(3, step.wrapping_mul(1_000_000), 0, ""));
    let segments: Vec<Seg> = [syn(), client(0, 0, 0, ""), client(0, 0, PSH, "GET")].into_iter().chain(steps).collect();
    assert_eq!(gaps(&segments), [(0, 8_999_000_000)]);
}

/// The SYN-ACK and the first segments of the server were not captured.
#[test]
fn what_was_acknowledged_before_a_late_direction_is_missing() {
    let open = [syn(), client(0, 0, 0, ""), client(0, 0, PSH, "GET")];
    let late = [client(3, 1000, 0, ""), server(1000, 3, "rest"), client(3, 1004, 0, "")];
    assert_eq!(gaps(&[&open[..], &late].concat()), [(0, 1000)]);
    let (streams, _) = run(&config(), &[&open[..], &late].concat());
    assert_eq!((&streams[&1].bytes[1][..], streams[&1].offsets[1][0]), (&b"rest"[..], 1000));
    // Its first packets have no payload.
    assert_eq!(
        gaps(&[&open[..], &[server(1000, 3, ""), client(3, 1000, 0, ""), client(3, 1000, 0, "")]].concat()),
        [(0, 999)]
    );
    // Joined midway, what came before is not part of the stream.
    let midway = [client(0, 0, PSH, "GET"), server(1000, 3, "rest"), client(3, 1004, 0, "")];
    assert_eq!(gaps(&midway), []);
    // It ends early.
    let early = [server(0, 3, "rest"), client(3, 4, 0, ""), client(3, 500, 0, "")];
    assert_eq!(gaps(&[&handshake(C, S)[..], &open[2..], &early].concat()), [(4, 496)]);
}

/// What the snap length cut of packets with wrong checksums is no matter of the checksum.
#[test]
fn what_is_truncated_of_wrong_packets_is_snapped() {
    let auto: Config = config().with_checksum(ChecksumMode::Auto);
    let data = |at, snapped| {
        let segment = Seg { snapped, ..server(at, 3, &"x".repeat(100)) };
        segment.summed(Sum::Bad)
    };
    let open = [&handshake(C, S)[..], &[client(0, 0, PSH, "GET")]].concat();
    for answers in [&[100, 200][..], &[0, 0], &[200], &[]] {
        for captured in [0, 40] {
            let mut segments = open.clone();
            segments.iter_mut().for_each(|segment| segment.sum = Sum::Bad);
            segments.extend([data(0, 100 - captured), data(100, 100 - captured)]);
            segments.extend(answers.iter().map(|acked| client(3, *acked, 0, "").summed(Sum::Good)));
            let mut feed = Feed::new(&auto, InvariantChecker::default());
            for segment in &segments {
                // (The IPv4 header is wrong, too: the transport's checksum cannot be computed.)
                let mut bytes = segment.bytes();
                bytes[10] ^= 0x55;
                let cut = segment.snapped;
                feed.packet(tidewire_core::wire::LinkType::RAW, &bytes, cut, 1_000_000_000);
            }
            let (checker, ledger) = feed.finish();
            let gaps = &checker.streams[&1].gaps[1];
            let of = |cause: &str| gaps.iter().filter(|gap| gap.2 == cause).map(|gap| gap.1).sum::<u64>();
            let is_refused = answers == [0, 0];
            assert_eq!(of("snapped"), 200 - 2 * captured as u64, "{answers:?} {captured} {gaps:?}");
            assert_eq!(of("bad_checksum"), if is_refused { 2 * captured as u64 } else { 0 }, "{answers:?} {gaps:?}");
            let dropped = if is_refused && captured > 0 { 2 } else { 0 };
            assert_eq!(fate(&ledger, Fate::BadChecksum), dropped, "{answers:?} {captured}");
        }
    }
}
