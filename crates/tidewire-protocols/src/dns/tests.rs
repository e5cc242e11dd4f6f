use std::time::Duration;

use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::{
    Dns, Fields, Service, Transaction,
    testing::{STEP_NS, Sent, packets, transactions},
};

fn dns(transaction: &Transaction) -> &Dns {
    match &transaction.fields {
        Fields::Dns(dns) => dns,
        other => panic!("not DNS: {other:?}"),
    }
}

/// A query for www.example with this type.
fn query(id: u16, kind: u8) -> Vec<u8> {
    [&id.to_be_bytes()[..], b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x00\x00", &[kind, 0, 1]]
        .concat()
}

/// Its answer: an alias and an address, and an OPT record with the upper bits of the code.
fn response(id: u16) -> Vec<u8> {
    let answers = [
        &b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x04\x01a\xc0\x10"[..],
        b"\x01a\xc0\x10\x00\x01\x00\x01\x00\x00\x00\x78\x00\x04\xc0\x00\x02\x05",
        b"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00",
    ];
    let header = b"\x85\x80\x00\x01\x00\x02\x00\x00\x00\x01\x03WWW\x07example\x00\x00\x01\x00\x01";
    [&id.to_be_bytes()[..], header, &answers.concat()].concat()
}

fn over_tcp(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

#[test]
fn a_query_has_its_answer() {
    let sent = [(ClientToServer, query(7, 1)), (ServerToClient, response(7))];
    // On any port.
    for port in [53, 4000] {
        let found = transactions(&Sent::datagrams(&sent), port);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.service, one.name(), one.response()), (Service::Dns, Some("www.example"), "192.0.2.5".into()));
        assert_eq!(packets(one), (0, 1));
        let dns = dns(one);
        assert_eq!((dns.id, dns.kind.as_deref(), dns.rcode.as_deref()), (7, Some("A"), Some("NOERROR")));
        assert_eq!((dns.authoritative, dns.truncated, dns.recursion), (true, false, [true, true]));
        assert_eq!((dns.latency, dns.counts, dns.class), (Some(Duration::from_nanos(STEP_NS)), [2, 0, 1], None));
        let answers: Vec<_> = dns.answers.iter().map(|one| (&*one.name, &*one.kind, one.ttl, &*one.data)).collect();
        assert_eq!(answers, [("WWW.example", "CNAME", 60, "a.example"), ("a.example", "A", 120, "192.0.2.5")]);
    }
}

#[test]
fn answers_find_their_queries() {
    let sent = [
        (ClientToServer, query(1, 28)),
        (ClientToServer, query(2, 1)),
        (ClientToServer, query(2, 1)),
        (ServerToClient, response(2)),
        (ServerToClient, response(3)),
    ];
    let found = transactions(&Sent::datagrams(&sent), 53);
    let facts: Vec<_> = found
        .iter()
        .map(dns)
        .map(|dns| (dns.id, dns.kind.as_deref().unwrap(), dns.is_asked, dns.is_answered))
        .collect();
    // A repeated query is the same; one without an answer is reported at the end.
    assert_eq!(facts, [(2, "A", true, true), (3, "A", false, true), (1, "AAAA", true, false)]);
}

#[test]
fn messages_over_tcp_may_be_cut_anywhere() {
    let sent = vec![
        (ClientToServer, [over_tcp(&query(1, 1)), over_tcp(&query(2, 1))].concat()),
        (ServerToClient, [over_tcp(&response(2)), over_tcp(&response(1))].concat()),
    ];
    let expected = transactions(&Sent::of(&sent), 53);
    assert_eq!(expected.iter().map(|one| dns(one).id).collect::<Vec<_>>(), [2, 1]);
    for (index, (_, bytes)) in sent.iter().enumerate() {
        for at in 1..bytes.len() {
            assert_eq!(transactions(&Sent::of(&sent).cut(index, at), 53), expected, "piece {index} cut at {at}");
        }
    }
    assert_eq!(transactions(&Sent::of(&sent).bytewise(), 53), expected);
}

/// RFC 4795 section 2.5.
#[test]
fn llmnr_over_tcp_has_its_name() {
    let sent = Sent::of(&[(ClientToServer, over_tcp(&query(1, 1))), (ServerToClient, over_tcp(&response(1)))]);
    let bytewise = sent.clone().bytewise();
    for pieces in [&sent, &bytewise] {
        let found = transactions(pieces, 5355);
        assert_eq!(found.iter().map(|one| (one.service, dns(one).id)).collect::<Vec<_>>(), [(Service::Llmnr, 1)]);
    }
}

#[test]
fn other_datagrams_are_not_messages() {
    for bytes in
        [b"GET / HTTP/1.1".as_slice(), &[0; 12], &[0xff; 40], b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"]
    {
        assert_eq!(transactions(&Sent::datagrams(&[(ClientToServer, bytes.to_vec())]), 4000), []);
    }
}

#[test]
fn records_have_their_presentation() {
    let of = |kind: u8, data: &[u8]| {
        let header = b"\x00\x07\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00\x01x\x00\x00\xff\x00\x01\xc0\x0c\x00";
        let length = (data.len() as u16).to_be_bytes();
        let message = [&header[..], &[kind, 0, 1, 0, 0, 0, 9], &length, data].concat();
        let found = transactions(&Sent::datagrams(&[(ServerToClient, message)]), 53);
        dns(&found[0]).answers[0].data.to_string()
    };
    assert_eq!(of(15, b"\x00\x0a\x01m\xc0\x0c"), "10 m.x");
    assert_eq!(of(16, b"\x03a\"b\x02\x1b["), "\"a\\\"b\" \"\\027[\"");
    assert_eq!(of(28, &[0; 16]), "::");
    assert_eq!(of(33, b"\x00\x01\x00\x02\x01\xbb\x00"), "1 2 443 .");
    assert_eq!(of(6, b"\xc0\x0c\x00\x00\x00\x00\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05"), "x . 1 2 3 4 5");
    assert_eq!(of(65, b"\x00\x01\x00\x00\x01\x00\x06\x02h2\x02h3\x00\x03\x00\x02\x01\xbb"), "1 . alpn=h2,h3 port=443");
    assert_eq!(of(64, b"\x00\x00\xc0\x0c"), "0 x");
    assert_eq!(of(65, b"\x00\x01\x00\x00"), "\\# 4 00010000");
    assert_eq!(of(44, b"\x02\x01\xa6\xb9"), "2 1 a6b9");
    assert_eq!(of(43, b"\x48\x1f\x05\x01\x0c\x45"), "18463 5 1 0c45");
    assert_eq!(of(48, b"\x01\x01\x03\x05\x00\x02\xfe\x0d"), "257 3 5 AAL+DQ==");
    assert_eq!(
        of(46, b"\x00\x30\x05\x02\0\0\0\x3c\0\0\0\x02\0\0\0\x01\xc0\x8b\xc0\x0c\x00"),
        "DNSKEY 5 2 60 2 1 49291 x AA=="
    );
    assert_eq!(of(47, b"\xc0\x0c\x00\x02\x40\x01\x01\x01\x40"), "x A MX CAA");
    assert_eq!(of(46, b"\x00\x30\x05"), "\\# 3 003005");
    assert_eq!(of(43, b"\xab\xcd"), "\\# 2 abcd");
    // An address of the wrong length, a name that points at itself.
    assert_eq!(of(1, b"\x01"), "\\# 1 01");
    assert_eq!(of(5, b"\xc0\x1f"), "\\# 2 c01f");
}

#[test]
fn each_question_of_a_multicast_query_is_a_transaction() {
    let questions = [
        &b"\x01a\x05local\x00\x00\x0c\x80\x01"[..],
        b"\x01b\xc0\x0e\x00\x21\x00\x01",
        b"\x01c\xc0\x0e\x00\x10\x00\x01",
    ];
    let header = b"\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00";
    let sent = [(ClientToServer, [&header[..], &questions.concat()].concat())];
    let found = transactions(&Sent::datagrams(&sent), 5353);
    let questions: Vec<_> = found.iter().map(|one| (one.name().unwrap_or_default(), one.request())).collect();
    assert_eq!(questions, [("a.local", "PTR".into()), ("b.local", "SRV".into()), ("c.local", "TXT".into())]);
    assert!(found.iter().all(|one| one.service == Service::Mdns && dns(one).questions == 3));
    // In other protocols, servers answer the first one only.
    assert_eq!(transactions(&Sent::datagrams(&sent), 53).len(), 1);
}

/// RFC 5936 section 2.2: many messages are one answer, and only the first repeats the question.
#[test]
fn a_transfer_is_one_transaction() {
    let name = b"\x01z\x00";
    let soa = [&name[..], b"\x00\x06\x00\x01\x00\x00\x00\x01\x00\x16\x00\x00", &[0; 20]].concat();
    let a = [&name[..], b"\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04\xc0\x00\x02\x01"].concat();
    let message = |flags: u8, question: Option<u8>, records: &[&[u8]]| {
        let counts = [0, u8::from(question.is_some()), 0, records.len() as u8, 0, 0, 0, 0];
        let question = question.map(|kind| [&name[..], &[0, kind, 0, 1]].concat()).unwrap_or_default();
        over_tcp(&[&[0, 9, flags, 0][..], &counts, &question, &records.concat()].concat())
    };
    let ask = |kind| (ClientToServer, message(0, Some(kind), &[]));
    let say = |question, records: &[&[u8]]| (ServerToClient, message(0x84, question, records));
    let facts = |sent: &[(tidewire_core::Direction, Vec<u8>)]| {
        let found = transactions(&Sent::of(sent), 53);
        assert_eq!(transactions(&Sent::of(sent).bytewise(), 53), found);
        let fact = |one| {
            (dns(one).query.clone().unwrap_or_default().into_string(), dns(one).counts[0], dns(one).answers.len())
        };
        found.iter().map(fact).collect::<Vec<_>>()
    };
    let (whole, many) = (say(None, &[&a, &soa]), vec![&*a; 40]);
    assert_eq!(facts(&[ask(252), say(Some(252), &[&soa, &a]), say(None, &[&a]), whole.clone()]), [("z".into(), 5, 5)]);
    assert_eq!(
        facts(&[ask(252), say(Some(252), &[&soa, &soa]), ask(1), say(Some(1), &[&a])]),
        [("z".into(), 2, 2), ("z".into(), 1, 1)]
    );
    assert_eq!(facts(&[ask(252), say(Some(252), &[&soa]), say(None, &many), say(None, &many)]), [("z".into(), 81, 32)]);
    // Changes since a serial number, of which only the connection's end is the end.
    assert_eq!(facts(&[ask(251), say(Some(251), &[&soa, &soa, &soa]), whole.clone()]), [("z".into(), 5, 5)]);
    assert_eq!(
        facts(&[
            ask(252),
            (
                ServerToClient,
                message(0x84, Some(252), &[])
                    .into_iter()
                    .enumerate()
                    .map(|(at, byte)| if at == 5 { 5 } else { byte })
                    .collect()
            )
        ]),
        [("z".into(), 0, 0)]
    );
    // A response without a query has no question.
    assert_eq!(facts(&[whole]), [(String::new(), 2, 2)]);
}

/// RFC 2136 section 2.4: what must hold before an update is in the place of answers.
#[test]
fn prerequisites_of_an_update_are_no_answers() {
    let message = b"\x00\x07\xa8\x00\x00\x01\x00\x01\x00\x00\x00\x00\x01z\x00\x00\x06\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\xc0\x00\x02\x01";
    let found = transactions(&Sent::datagrams(&[(ServerToClient, message.to_vec())]), 53);
    assert_eq!((dns(&found[0]).opcode, dns(&found[0]).counts, dns(&found[0]).answers.len()), (5, [1, 0, 0], 0));
}

/// Three questions of one message, and their answer.
#[test]
fn all_questions_of_a_message_are_read() {
    let header = |flags: &[u8]| [b"\x00\x03", flags, b"\x00\x03\x00\x00\x00\x00\x00\x00"].concat();
    let questions = b"\x03foo\x00\x00\x01\x00\x01\x03bar\x00\x00\x1c\x00\x03\x03baz\x00\x00\x0c\x00\x01";
    let sent = [(ClientToServer, [&header(b"\x01\x00")[..], questions].concat())];
    let found = transactions(&Sent::datagrams(&sent), 53);
    let first = dns(&found[0]);
    assert_eq!((first.query.as_deref(), first.kind.as_deref(), first.questions), (Some("foo"), Some("A"), 3));
    let more: Vec<_> = first.more.iter().map(|one| (&*one.name, &*one.kind, one.class)).collect();
    assert_eq!(more, [("bar", "AAAA", Some(3)), ("baz", "PTR", None)]);
    let alone = [(ServerToClient, [&header(b"\x81\x00")[..], questions].concat())];
    assert_eq!(dns(&transactions(&Sent::datagrams(&alone), 53)[0]).more, first.more);
}

/// An answer with an address of this last byte.
fn address(id: u16, last: u8) -> Vec<u8> {
    let header = b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01";
    let record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x78\x00\x04\xc0\x00\x02";
    [&id.to_be_bytes()[..], header, record, &[last]].concat()
}

#[test]
fn answers_that_contradict_are_marked() {
    let (ask, say) = (|id| (ClientToServer, query(id, 1)), |id, last| (ServerToClient, address(id, last)));
    let truncated = |id: u16| {
        let mut message = address(id, 3);
        message[2] |= 2;
        (ServerToClient, message)
    };
    let cases = [
        // A forged answer before the true one.
        (vec![ask(1), say(1, 66), say(1, 5)], vec![false, true]),
        // The same again.
        (vec![ask(1), say(1, 5), say(1, 5)], vec![false, false]),
        // A question that was repeated has two answers, and no third one.
        (vec![ask(1), ask(1), say(1, 5), say(1, 6), say(1, 7)], vec![false, false, true]),
        (vec![ask(1), say(1, 5), ask(1), say(1, 6), say(1, 5)], vec![false, false, true]),
        // Of other questions, of none that was seen, and where one is cut short.
        (vec![ask(1), say(1, 5), say(2, 6)], vec![false, false]),
        (vec![say(1, 5), say(1, 6)], vec![false, false]),
        (vec![ask(1), truncated(1), say(1, 5)], vec![false, false]),
    ];
    for (sent, expected) in cases {
        let found = transactions(&Sent::datagrams(&sent), 53);
        assert_eq!(found.iter().map(|one| dns(one).conflicting).collect::<Vec<_>>(), expected, "{sent:?}");
        for one in found.iter().filter(|one| dns(one).conflicting) {
            assert!(one.response().ends_with(" (contradicts an earlier answer)"), "{}", one.response());
        }
    }
    // Beyond so many questions the oldest is forgotten.
    let flood: Vec<_> = (0..40).flat_map(|id| [ask(id), say(id, 5)]).chain([say(0, 6), say(39, 6)]).collect();
    let marked = transactions(&Sent::datagrams(&flood), 53);
    assert_eq!(marked[40..].iter().map(|one| dns(one).conflicting).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn truncated_answers_say_so() {
    let of = |message: &[u8]| {
        let found =
            transactions(&Sent::datagrams(&[(ClientToServer, query(3, 1)), (ServerToClient, message.to_vec())]), 53);
        found[0].response()
    };
    let empty = |flags: u8| [b"\x00\x03", &[flags, 0x80][..], &query(3, 1)[4..]].concat();
    assert_eq!([of(&empty(0x81)), of(&empty(0x83))], ["no records", "truncated"]);
    let mut cut = address(3, 5);
    cut[2] |= 2;
    assert_eq!(of(&cut), "192.0.2.5 (truncated)");
}

/// Records beyond the bounds are counted; over TCP, too, where a transfer has several messages.
#[test]
fn text_of_an_answer_is_bounded() {
    let label = [&[63][..], &[0xff; 63]].concat();
    let message = |kind: u8, records: u8| {
        let header = [&b"\0\x07\x81\x80\0\x01\0"[..], &[records], b"\0\0\0\0"].concat();
        let question = [&label.repeat(3)[..], &[0, 0, kind, 0, 1]].concat();
        let record = b"\xc0\x0c\0\x05\0\x01\0\0\0\x3c\0\x02\xc0\x0c";
        [&header[..], &question, &record.repeat(records.into())].concat()
    };
    for records in [1, 5, 6, 32, 200] {
        let found = transactions(&Sent::datagrams(&[(ServerToClient, message(5, records))]), 53);
        let dns = dns(&found[0]);
        let text: usize = dns.answers.iter().map(|answer| answer.name.len() + answer.data.len()).sum();
        assert_eq!(dns.answers.len() + usize::from(dns.answers_left_out), records.into());
        assert_eq!(dns.answers.len(), usize::from(records).min(6), "each has 2 x 758 bytes");
        assert!(text < (8 << 10) + 2 * 758 && dns.answers[0].name.starts_with("\\255\\255"));
    }
    let query = [&b"\0\x07\x01\0\0\x01\0\0\0\0\0\0"[..], &label.repeat(3), &[0, 0, 252, 0, 1]].concat();
    let parts = over_tcp(&message(252, 4)).repeat(3);
    let found = transactions(&Sent::of(&[(ClientToServer, over_tcp(&query)), (ServerToClient, parts)]), 53);
    assert_eq!((dns(&found[0]).answers.len(), dns(&found[0]).answers_left_out), (6, 6));
}
