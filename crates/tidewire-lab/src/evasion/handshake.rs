//! Cases of the handshake.

use super::script::{Script, Segment, Step, data, fin, opened, rst, segment, syn};
use crate::craft::{ACK, FIN, PSH, RST, SYN};

fn raw(name: &'static str, shows: &'static str, steps: Vec<Step>) -> Script {
    Script { name, shows, steps, settings: &[], receive_buffer: 0 }
}

fn send(segment: Segment) -> Step {
    Step::Send(segment)
}

pub(super) fn scripts() -> Vec<Script> {
    let handshake = || [send(syn()), Step::Answer, send(segment(0, ACK, b""))];
    let ending = || [send(data(0, "good")), send(fin(4))];
    let with_before = |before: Vec<Step>| before.into_iter().chain(handshake()).chain(ending()).collect::<Vec<_>>();
    vec![
        raw(
            "syn-data",
            "payload on the SYN: Linux does not take it without a cookie, and the client sends other bytes",
            vec![
                send(segment(-1, SYN, b"EVIL")),
                Step::Answer,
                send(segment(0, ACK, b"")),
                send(data(0, "good")),
                send(fin(4)),
            ],
        ),
        raw(
            "syn-bad-checksum",
            "a SYN with another initial number and a wrong checksum comes first",
            with_before(vec![
                Step::NewIsn(7_000_000),
                send(syn().with(|s| s.bad_checksum = true)),
                Step::NewIsn(1_000_000),
            ]),
        ),
        raw(
            "syn-second",
            "before the SYN-ACK is acknowledged, a SYN with another initial number comes; the first one holds",
            vec![
                send(syn()),
                Step::Answer,
                Step::NewIsn(9_000_000),
                send(syn()),
                Step::NewIsn(1_000_000),
                send(segment(0, ACK, b"")),
                send(data(0, "good")),
                send(fin(4)),
            ],
        ),
        opened(
            "syn-established",
            "a SYN inside an open connection (RFC 5961): answered with an acknowledgement, otherwise ignored",
            vec![data(0, "go"), segment(2_000, SYN, b""), data(2, "od"), fin(4)],
        ),
        raw(
            "syn-fin",
            "SYN and FIN together do not open a connection",
            with_before(vec![send(segment(-1, SYN | FIN, b""))]),
        ),
        raw(
            "syn-rst",
            "SYN and RST together do not open a connection",
            with_before(vec![send(segment(-1, SYN | RST, b""))]),
        ),
        raw(
            "rst-wrong-handshake",
            "a reset with a wrong sequence number during the handshake",
            vec![
                send(syn()),
                Step::Answer,
                send(rst(50_000_000)),
                send(segment(0, ACK, b"")),
                send(data(0, "good")),
                send(fin(4)),
            ],
        ),
        raw(
            "handshake-wrong-ack",
            "the handshake's last segment acknowledges another number, with payload: refused; then the right one",
            vec![
                send(syn()),
                Step::Answer,
                send(data(0, "EVIL").with(|s| s.ack = 4_000)),
                send(segment(0, ACK, b"")),
                send(data(0, "good")),
                send(fin(4)),
            ],
        ),
        raw(
            "handshake-data",
            "the handshake's last segment carries data",
            vec![send(syn()), Step::Answer, send(data(0, "good")), send(fin(4))],
        ),
        raw(
            "data-before-syn",
            "a segment of a connection that does not exist yet: the host answers with a reset",
            with_before(vec![send(data(0, "EVIL").with(|s| s.ack = 77))]),
        ),
        raw(
            "syn-doubled",
            "the SYN comes twice, the same",
            vec![send(syn()), send(syn()), Step::Answer, send(segment(0, ACK | PSH, b"good")), send(fin(4))],
        ),
    ]
}
