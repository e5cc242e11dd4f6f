//! Cases below TCP: checksums, time to live, options, lengths, fragments.

use super::script::{Cut, Script, Segment, Step, data, fin, opened};

const fn cut(from: usize, to: usize) -> Cut {
    Cut { from, to, fill: None }
}

const fn forged(from: usize, to: usize) -> Cut {
    Cut { from, to, fill: Some(b'X') }
}

fn fragmented(
    name: &'static str,
    shows: &'static str,
    segments: Vec<(Segment, Vec<Cut>)>,
    rest: Vec<Segment>,
) -> Script {
    let mut steps = vec![Step::Open];
    steps.extend(segments.into_iter().map(|(segment, cuts)| Step::Fragments(segment, cuts)));
    steps.extend(rest.into_iter().map(Step::Send));
    Script { name, shows, steps, settings: &[], receive_buffer: 0 }
}

pub(super) fn scripts() -> Vec<Script> {
    let mut all = headers();
    all.extend(fragments());
    all
}

fn headers() -> Vec<Script> {
    let end = |at| fin(at);
    vec![
        opened(
            "ip-checksum",
            "a segment whose IP header checksum is wrong is inserted; no host takes it",
            vec![data(0, "EVIL").with(|s| s.bad_ip_checksum = true), data(0, "good"), end(4)],
        ),
        Script {
            settings: &[("ttl_min", 2)],
            ..opened(
                "ttl-short",
                "a segment whose time to live ends at the router behind the capture (the setting says how far hosts are)",
                vec![data(0, "EVIL").with(|s| (s.ttl, s.is_lost) = (1, true)), data(0, "good"), end(4)],
            )
        },
        opened(
            "ip-options-nop",
            "no-operation options in the IP header: the payload begins behind them",
            vec![data(0, "good").with(|s| s.ip_options = vec![1, 1, 1, 0]), end(4)],
        ),
        opened(
            "ip-options-malformed",
            "an IP option that is longer than the header: a host drops the packet",
            vec![data(0, "EVIL").with(|s| s.ip_options = vec![7, 39, 4, 0]), data(0, "good"), end(4)],
        ),
        opened(
            "ip-source-route",
            "a loose source route whose pointer is at its end: a host that forbids source routes drops it",
            vec![data(0, "EVIL").with(|s| s.ip_options = vec![131, 7, 8, 10, 77, 0, 2, 0]), data(0, "good"), end(4)],
        ),
        opened(
            "ip-version",
            "a frame of type IPv4 whose header says version 5",
            vec![data(0, "EVIL").with(|s| s.edit = Some(|frame| frame[14] = 0x55)), data(0, "good"), end(4)],
        ),
        opened(
            "ip-length-beyond-frame",
            "the IP header states more bytes than the frame has: a host drops the packet",
            vec![
                data(0, "EVIL").with(|s| {
                    s.edit = Some(|frame| {
                        frame.truncate(frame.len() - 2);
                    });
                }),
                data(0, "good"),
                end(4),
            ],
        ),
        opened(
            "ethernet-trailer",
            "bytes behind the end of the IP packet are the link layer's, not payload",
            vec![data(0, "go").with(|s| s.edit = Some(|frame| frame.extend(b"EVIL"))), data(2, "od"), end(4)],
        ),
        opened(
            "ip-protocol-zero-data",
            "segments without payload between others change nothing",
            vec![data(0, "go"), data(2, ""), data(2, "od"), end(4)],
        ),
    ]
}

fn fragments() -> Vec<Script> {
    // 20 bytes of TCP header and the payload: fragments begin at multiples of eight.
    let whole = || data(0, "goodgoodgoodgoodgoodgood"); // 44 bytes
    let rest = || vec![data(24, "!"), fin(25)];
    let again = || vec![data(0, "goodgoodgoodgoodgoodgood"), data(24, "!"), fin(25)];
    vec![
        fragmented(
            "fragments",
            "a segment in three fragments",
            vec![(whole(), vec![cut(0, 24), cut(24, 32), cut(32, 44)])],
            rest(),
        ),
        fragmented(
            "fragments-tiny",
            "fragments of eight bytes: ports, sequence number and flags come in different ones",
            vec![(whole(), vec![cut(0, 8), cut(8, 16), cut(16, 24), cut(24, 32), cut(32, 40), cut(40, 44)])],
            rest(),
        ),
        fragmented(
            "fragments-reversed",
            "the last fragment first",
            vec![(whole(), vec![cut(40, 44), cut(24, 40), cut(8, 24), cut(0, 8)])],
            rest(),
        ),
        fragmented(
            "fragments-doubled",
            "a fragment comes twice, the same",
            vec![(whole(), vec![cut(0, 24), cut(0, 24), cut(24, 44)])],
            rest(),
        ),
        fragmented(
            "fragments-overlap-before",
            "a forged fragment overlaps what comes later; Linux gives the datagram up, the segment is sent again",
            vec![(whole(), vec![cut(0, 24), forged(24, 40), cut(32, 44)])],
            again(),
        ),
        fragmented(
            "fragments-overlap-after",
            "a forged fragment overlaps what came before; Linux gives the datagram up, the segment is sent again",
            vec![(whole(), vec![cut(0, 32), forged(24, 32), cut(32, 44)])],
            again(),
        ),
        fragmented(
            "fragments-same-place",
            "a forged fragment in the very place of one that came before",
            vec![(whole(), vec![cut(0, 24), forged(0, 24), cut(24, 44)])],
            again(),
        ),
        fragmented(
            "fragments-options",
            "fragments with IP options: the payload begins behind them in each",
            vec![(whole().with(|s| s.ip_options = vec![1, 1, 1, 0]), vec![cut(0, 24), cut(24, 44)])],
            rest(),
        ),
        fragmented(
            "fragments-bad-checksum",
            "fragments of a segment whose TCP checksum is wrong",
            vec![(data(0, "EVILEVILEVIL").with(|s| s.bad_checksum = true), vec![cut(0, 24), cut(24, 32)])],
            vec![data(0, "good"), fin(4)],
        ),
        fragmented(
            "fragments-unfinished",
            "a forged last fragment never comes together; the next segment is whole",
            vec![(data(0, "EVILEVILEVIL"), vec![cut(0, 16)])],
            vec![data(0, "good"), fin(4)],
        ),
    ]
}
