//! Cases in which one field makes the host doubt a segment of an open connection: acknowledgments of data that it never
//! sent, signatures that were not agreed on, all flags at once, and FINs within data.

use super::script::{Script, Segment, data, fin, opened, rst, segment};
use crate::craft::{ACK, FIN, PSH, RST, SYN, URG};

const ALL_FLAGS: u8 = SYN | FIN | RST | PSH | ACK | URG;

pub(super) fn scripts() -> Vec<Script> {
    let mut all = acknowledgments();
    all.extend(signatures());
    all.extend(flags());
    all.extend(ends());
    all
}

/// "go", the segments of the case, "od", and a FIN.
fn around(name: &'static str, shows: &'static str, evil: Vec<Segment>) -> Script {
    let segments = [data(0, "go")].into_iter().chain(evil).chain([data(2, "od"), fin(4)]).collect();
    opened(name, shows, segments)
}

fn acknowledgments() -> Vec<Script> {
    let acking = |segment: Segment, ack: i64| segment.with(|s| s.ack = ack);
    vec![
        around(
            "ack-one-too-new",
            "data that acknowledges one byte more than the host sent",
            vec![acking(data(2, "EVIL"), 1)],
        ),
        around(
            "ack-within-window",
            "data that acknowledges bytes the host may send, and did not",
            vec![acking(data(2, "EVIL"), 1_000)],
        ),
        around(
            "ack-too-new-in-a-row",
            "several segments that acknowledge what the host never sent, each a little beyond the last",
            (0..4).map(|more| acking(data(2, "EVIL"), 100_000 + more)).collect(),
        ),
        around(
            "ack-too-new-empty",
            "acknowledgments without data of what the host never sent, then data that acknowledges the same",
            (0..4)
                .map(|more| acking(segment(2, ACK, b""), 100_000 + more))
                .chain([acking(data(2, "EVIL"), 100_003)])
                .collect(),
        ),
        opened(
            "ack-too-new-last",
            "the last word is data that acknowledges what the host never sent; it answers, and no more is heard",
            vec![data(0, "good"), acking(data(4, "EVIL"), 1)],
        ),
        around("fin-ack-too-new", "a FIN that acknowledges what the host never sent", vec![acking(fin(2), 1_000)]),
    ]
}

fn signatures() -> Vec<Script> {
    let signed = |segment: Segment, kind: u8, bytes: u8| {
        segment.with(|s| {
            s.options = vec![kind, bytes];
            s.options.resize(usize::from(bytes).next_multiple_of(4), 0);
            s.options[usize::from(bytes)..].fill(1);
        })
    };
    vec![
        around(
            "md5-not-agreed",
            "data with a TCP MD5 signature (RFC 2385) where none was agreed on",
            vec![signed(data(2, "EVIL"), 19, 18)],
        ),
        around(
            "rst-md5-not-agreed",
            "a reset with a TCP MD5 signature where none was agreed on",
            vec![signed(rst(2), 19, 18)],
        ),
        around(
            "fin-md5-not-agreed",
            "a FIN with a TCP MD5 signature where none was agreed on",
            vec![signed(fin(2), 19, 18)],
        ),
    ]
}

fn flags() -> Vec<Script> {
    vec![
        around(
            "flags-all",
            "every flag at once, with data at the next byte: RST is looked at first and resets",
            vec![segment(2, ALL_FLAGS, b"EVIL")],
        ),
        around(
            "flags-all-in-window",
            "every flag at once, inside the window but not at the next byte: a reset that is not obeyed",
            vec![segment(3, ALL_FLAGS, b"EVIL")],
        ),
        around("flags-syn-rst", "SYN and RST at the next byte: a reset", vec![segment(2, SYN | RST, b"")]),
        around("flags-fin-rst", "FIN and RST at the next byte: a reset", vec![segment(2, FIN | RST | ACK, b"")]),
        around("flags-syn-fin", "SYN and FIN in an open connection", vec![segment(2, SYN | FIN | ACK, b"EVIL")]),
    ]
}

fn ends() -> Vec<Script> {
    vec![
        opened(
            "fin-inside-data",
            "a FIN that waits behind a hole, and data over it that fills the hole: that FIN is dropped",
            vec![data(0, "go"), fin(3), data(2, "od!!"), fin(6)],
        ),
        opened(
            "fin-at-last-byte",
            "a FIN that waits behind a hole, and data that ends with its number",
            vec![data(0, "go"), fin(3), data(2, "od"), fin(4)],
        ),
        opened(
            "fin-inside-waiting-data",
            "a FIN at the first byte of data that waits: that FIN is dropped",
            vec![data(0, "go"), data(4, "!!"), fin(4), data(2, "od"), fin(6)],
        ),
        opened(
            "fin-under-waiting-data",
            "a FIN that waits, and data over it that waits too: that FIN is dropped",
            vec![data(0, "go"), fin(5), data(4, "!!!"), data(2, "od"), fin(7)],
        ),
        opened(
            "fin-with-data-under-data",
            "data with a FIN that waits, and data that begins inside of it and goes on beyond: the FIN holds",
            vec![data(0, "go"), segment(4, FIN | ACK | PSH, b"!!"), data(5, "XXXX"), data(2, "od")],
        ),
        opened(
            "fin-with-data-inside-data",
            "data with a FIN that waits, and data all over it: the FIN is dropped",
            vec![data(0, "go"), segment(4, FIN | ACK | PSH, b"!!"), data(3, "dXXXX"), data(2, "o"), fin(8)],
        ),
        opened("fin-before", "a FIN at a byte that was received", vec![data(0, "good"), fin(2), data(4, "!!"), fin(6)]),
        opened(
            "fin-just-before",
            "a FIN at the last byte that was received",
            vec![data(0, "good"), fin(3), data(4, "!!"), fin(6)],
        ),
    ]
}
