//! Cases inside an open connection.

use super::script::{Script, Segment, Step, data, fin, opened, rst, segment, syn, timestamp};
use crate::craft::{ACK, FIN, PSH, RST, SYN, URG};

pub(super) fn scripts() -> Vec<Script> {
    let mut all = refused();
    all.extend(resets());
    all.extend(ends());
    all.extend(overlaps());
    all.extend(timestamps());
    all.extend(windows());
    all
}

fn opened_with(name: &'static str, shows: &'static str, evil: Segment) -> Script {
    opened(name, shows, vec![data(0, "go"), evil, data(2, "od"), fin(4)])
}

fn refused() -> Vec<Script> {
    vec![
        opened_with(
            "tcp-checksum",
            "a segment whose TCP checksum is wrong is inserted",
            data(2, "EVIL").with(|s| s.bad_checksum = true),
        ),
        opened_with("no-ack", "data without the ACK flag: a host drops it", segment(2, PSH, b"EVIL")),
        opened_with("no-flags", "data without any flag: a host drops it", segment(2, 0, b"EVIL")),
        opened_with(
            "ack-too-new",
            "data that acknowledges what the host never sent (RFC 5961 section 5)",
            data(2, "EVIL").with(|s| s.ack = 100_000),
        ),
        opened_with(
            "ack-too-old",
            "data whose acknowledgement is older than any window (RFC 5961 section 5)",
            // A window that differs from the last one; otherwise Linux' header prediction accepts the segment without further checks.
            data(2, "EVIL").with(|s| (s.ack, s.window) = (-2_000_000, 0x7000)),
        ),
        opened_with(
            "header-too-short",
            "a TCP header that says it has 16 bytes",
            data(2, "EVIL").with(|s| s.edit = Some(|frame| frame[46] = 0x40)),
        ),
        opened_with(
            "header-too-long",
            "a TCP header that says it is longer than its segment",
            data(2, "EVIL").with(|s| s.edit = Some(|frame| frame[46] = 0xf0)),
        ),
        opened_with("flags-syn-ack", "data with SYN and ACK", segment(2, SYN | ACK, b"EVIL")),
        opened_with("sequence-far", "data a billion bytes ahead", data(1_000_000_000, "EVIL")),
        opened_with("sequence-before", "data from before the beginning", data(-5_000, "EVIL")),
        Script {
            settings: &[("urgent_inline", 0)],
            ..opened(
                "urgent",
                "the urgent byte is not part of the stream where the application did not ask for it inline",
                vec![segment(0, ACK | PSH | URG, b"goXod").with(|s| s.urgent = 3), fin(5)],
            )
        },
        opened(
            "reserved-flags",
            "ECN flags and reserved bits do not matter",
            vec![data(0, "good").with(|s| s.flags |= 0xc0), fin(4)],
        ),
        opened(
            "options-unknown",
            "an unknown TCP option is skipped",
            vec![data(0, "good").with(|s| s.options = vec![254, 4, 1, 2]), fin(4)],
        ),
        opened(
            "options-malformed",
            "a TCP option of length 0 ends the options; the segment counts",
            vec![data(0, "good").with(|s| s.options = vec![254, 0, 1, 2]), fin(4)],
        ),
    ]
}

fn resets() -> Vec<Script> {
    vec![
        opened_with("rst-checksum", "a reset whose checksum is wrong", rst(2).with(|s| s.bad_checksum = true)),
        opened_with("rst-out-of-window", "a reset outside of the window is ignored", rst(50_000_000)),
        opened_with("rst-before", "a reset with an old sequence number is ignored", rst(0)),
        opened_with(
            "rst-in-window",
            "a reset inside the window, but not at the next byte: a challenge, no end (RFC 5961 section 3)",
            rst(1_000),
        ),
        Script {
            settings: &[("ttl_min", 2)],
            ..opened_with(
                "rst-ttl",
                "a reset that does not reach the host",
                rst(2).with(|s| (s.ttl, s.is_lost) = (1, true)),
            )
        },
        opened(
            "rst",
            "a reset at the next byte ends the connection; later bytes belong to no connection",
            vec![data(0, "good"), rst(4), data(4, "EVIL"), fin(8)],
        ),
        opened(
            "rst-data",
            "a reset that carries bytes: they are not data (RFC 9293 section 3.5.2)",
            vec![data(0, "good"), segment(4, RST | ACK, b"EVIL")],
        ),
    ]
}

fn ends() -> Vec<Script> {
    vec![
        opened_with("fin-checksum", "a FIN whose checksum is wrong", fin(2).with(|s| s.bad_checksum = true)),
        opened_with("fin-out-of-window", "a FIN outside of the window", fin(50_000_000)),
        opened_with("fin-no-ack", "a FIN without the ACK flag", segment(2, FIN, b"")),
        opened("fin-data", "a FIN that carries data", vec![data(0, "go"), segment(2, FIN | ACK | PSH, b"od")]),
        opened("data-after-fin", "data behind the FIN", vec![data(0, "good"), fin(4), data(5, "EVIL")]),
        opened(
            "data-over-fin",
            "data that reaches beyond a FIN that was taken",
            vec![data(0, "good"), fin(4), data(2, "EVIL")],
        ),
        opened(
            "fin-early",
            "a FIN ahead of data that is still missing: it counts when the hole is filled",
            vec![data(0, "go"), fin(4), data(2, "od")],
        ),
    ]
}

fn overlaps() -> Vec<Script> {
    vec![
        opened(
            "retransmission-other-bytes",
            "bytes that were delivered are sent again, with others in their place",
            vec![data(0, "good"), data(0, "EVIL"), data(4, "!"), fin(5)],
        ),
        opened(
            "overlap-delivered",
            "a segment begins with other bytes for what was delivered, and ends with new ones",
            vec![data(0, "good"), data(0, "EVIL!"), fin(5)],
        ),
        opened(
            "overlap-same-place",
            "behind a hole, two versions of the same bytes",
            vec![data(4, "good"), data(4, "EVIL"), data(0, "all "), fin(8)],
        ),
        opened(
            "overlap-longer",
            "behind a hole, a longer version around a shorter one",
            vec![data(4, "od"), data(2, "XXXXXX"), data(0, "go"), fin(8)],
        ),
        opened(
            "overlap-left",
            "behind a hole, a segment that reaches into the beginning of another",
            vec![data(6, "aaaa"), data(4, "bbbb"), data(0, "good"), fin(10)],
        ),
        opened(
            "overlap-right",
            "behind a hole, a segment that begins within another",
            vec![data(4, "aaaa"), data(6, "bbbb"), data(0, "good"), fin(10)],
        ),
        opened(
            "one-byte-segments",
            "one byte a segment, backwards",
            vec![data(3, "d"), data(2, "o"), data(1, "o"), data(0, "g"), fin(4)],
        ),
    ]
}

fn timestamps() -> Vec<Script> {
    let stamped = |segment: Segment, value: u32| segment.with(|s| s.options = timestamp(value));
    let script = |name, shows, segments: Vec<Segment>| {
        let start = [Step::Send(stamped(syn(), 5_000)), Step::Answer, Step::Send(stamped(segment(0, ACK, b""), 5_001))];
        let steps = start.into_iter().chain(segments.into_iter().map(Step::Send)).collect();
        Script { name, shows, steps, settings: &[], receive_buffer: 0 }
    };
    vec![
        script(
            "paws-old-timestamp",
            "data with an older timestamp than the connection has seen (RFC 7323 section 5)",
            vec![
                stamped(data(0, "go"), 6_000),
                stamped(data(2, "EVIL"), 5_500),
                stamped(data(2, "od"), 6_001),
                stamped(fin(4), 6_002),
            ],
        ),
        script(
            "paws-no-timestamp",
            "data without a timestamp where both sides use them: Linux takes it",
            vec![stamped(data(0, "go"), 6_000), data(2, "od"), stamped(fin(4), 6_002)],
        ),
        script(
            "paws-old-rst",
            "a reset with an old timestamp at the next byte: resets are not checked for age",
            vec![stamped(data(0, "good"), 6_000), stamped(rst(4), 5_500), stamped(data(4, "EVIL"), 6_001)],
        ),
        opened(
            "timestamp-not-agreed",
            "timestamps that were never agreed on are not looked at",
            vec![stamped(data(0, "go"), 6_000), stamped(data(2, "od"), 5_000), fin(4)],
        ),
    ]
}

fn windows() -> Vec<Script> {
    let evil = "EVIL".repeat(4);
    let steps = [Step::Open]
        .into_iter()
        .chain([Step::Send(data(0, &"good".repeat(100))), Step::Send(data(40_000, &evil)), Step::Read])
        .chain((0..42).flat_map(|piece| [Step::Send(data(400 + piece * 1_000, &"good".repeat(250))), Step::Read]))
        .chain([Step::Send(fin(42_400))])
        .collect();
    vec![
        Script {
            receive_buffer: 8_192,
            ..Script {
                name: "window-beyond",
                shows: "data beyond a small window; later the true bytes come for the same place",
                steps,
                settings: &[],
                receive_buffer: 0,
            }
        },
        opened(
            "window-far-then-fin",
            "data far beyond the window, and the stream ends before it",
            vec![data(0, "good"), data(200_000, "EVIL"), fin(4)],
        ),
    ]
}
