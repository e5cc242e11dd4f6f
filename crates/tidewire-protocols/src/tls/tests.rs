use tidewire_core::Direction::{self, ClientToServer, ServerToClient};

use crate::{
    Fields, Service, Tls, Transaction,
    testing::{Sent, packets, transactions},
};

/// A record.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 1], &(content.len() as u16).to_be_bytes()[..], content].concat()
}

/// A message of the handshake.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32).to_be_bytes()[1..], body].concat()
}

fn block16(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &block16(body)].concat()
}

fn client_hello(name: &str) -> Vec<u8> {
    let sni = [&[0][..], &block16(name.as_bytes())].concat();
    let extensions = [extension(0, &block16(&sni)), extension(16, &block16(b"\x02h2\x08http/1.1"))].concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[4, 1, 2, 3, 4],
        &block16(&[0x0a, 0x0a, 0xc0, 0x2b, 0x13, 0x01]),
        &[1, 0],
        &block16(&extensions),
    ];
    message(1, &body.concat())
}

/// A client's hello in its record.
pub(crate) fn hello(name: &str) -> Vec<u8> {
    record(22, &client_hello(name))
}

fn server_hello() -> Vec<u8> {
    let body =
        [&[3, 3][..], &[9; 32], &[0], &[0xc0, 0x2b], &[0], &block16(&extension(16, &block16(b"\x02h2")))].concat();
    message(2, &body)
}

fn certificate_message(der: &[u8]) -> Vec<u8> {
    certificates_message(&[der])
}

fn certificates_message(list: &[&[u8]]) -> Vec<u8> {
    let block24 = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes()[1..], bytes].concat();
    message(11, &block24(&list.iter().flat_map(|der| block24(der)).collect::<Vec<u8>>()))
}

fn tls(transaction: &Transaction) -> &Tls {
    match &transaction.fields {
        Fields::Tls(tls) => tls,
        other => panic!("not TLS: {other:?}"),
    }
}

/// A handshake of TLS 1.2 whose messages share a record, with a certificate across two.
fn handshake() -> Vec<(Direction, Vec<u8>)> {
    let server = [server_hello(), certificate_message(&certificate())].concat();
    let (first, second) = server.split_at(150);
    vec![
        (ClientToServer, record(22, &client_hello("www.example.org"))),
        (ServerToClient, [record(22, first), record(22, second)].concat()),
        (ClientToServer, [record(20, &[1]), record(22, &[0xe5; 40]), record(23, &[0; 50])].concat()),
        (ServerToClient, [record(20, &[1]), record(22, &[0xe5; 40])].concat()),
    ]
}

fn certificate() -> Vec<u8> {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec!["www.example.org".into(), "192.0.2.7".into()]).unwrap();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "evil\u{1b}[31m\nname");
    parameters.not_before = rcgen::date_time_ymd(1930, 1, 2);
    parameters.not_after = rcgen::date_time_ymd(2030, 1, 2);
    parameters.self_signed(&key).unwrap().der().to_vec()
}

#[test]
fn a_handshake_has_its_fields() {
    let found = transactions(&Sent::of(&handshake()), 443);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.service, one.name()), (Service::Tls, Some("www.example.org")));
    assert_eq!(packets(one), (0, 3));
    let tls = tls(one);
    assert_eq!(tls.version.as_deref(), Some("TLS 1.2"));
    assert_eq!(tls.sni.as_deref(), Some("www.example.org"));
    assert_eq!(tls.client_alpn, ["h2".into(), "http/1.1".into()]);
    assert_eq!(tls.alpn.as_deref(), Some("h2"));
    assert_eq!(tls.cipher.as_deref(), Some("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"));
    assert!(tls.ja4.as_deref().unwrap().starts_with("t12d0202h2_"));
    assert!(tls.established && tls.resumed == Some(false) && tls.alert.is_none());
    #[cfg(feature = "certificates")]
    {
        let certificate = tls.certificate.as_ref().unwrap();
        assert_eq!(certificate.san, ["www.example.org".into(), "192.0.2.7".into()]);
        assert_eq!(certificate.subject, certificate.issuer);
        assert!(certificate.subject.as_deref().unwrap().contains("evil"));
        assert_eq!((certificate.not_before, certificate.not_after), (Some(-1_262_217_600), Some(1_893_542_400)));
        assert_eq!(tls.certificates, 1);
    }
}

#[test]
fn every_cut_gives_the_same_fields() {
    let sent = handshake();
    let expected = transactions(&Sent::of(&sent), 443);
    for (index, (_, bytes)) in sent.iter().enumerate() {
        for at in 1..bytes.len() {
            assert_eq!(transactions(&Sent::of(&sent).cut(index, at), 443), expected, "piece {index} cut at {at}");
        }
    }
    assert_eq!(transactions(&Sent::of(&sent).bytewise(), 443), expected);
}

#[test]
fn a_client_behind_the_server_is_found() {
    let sent = handshake();
    let swapped: Vec<_> = sent.iter().map(|(direction, bytes)| (direction.opposite(), bytes.clone())).collect();
    assert_eq!(transactions(&Sent::of(&swapped), 9), transactions(&Sent::of(&sent), 9));
}

/// RFC 8446 section 4.1.4: the server asks for another hello, which follows a change of the cipher.
#[test]
fn a_second_hello_is_read_past_a_change_of_the_cipher() {
    let retry = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2,
        0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
    ];
    let hello = |random: &[u8], cipher: &[u8]| {
        let versions = block16(&extension(43, &[3, 4]));
        record(22, &message(2, &[&[3, 3][..], random, &[0], cipher, &[0], &versions].concat()))
    };
    let sent = vec![
        (ClientToServer, record(22, &client_hello("a.example"))),
        (ServerToClient, [hello(&retry, &[0x13, 1]), record(20, &[1])].concat()),
        (ClientToServer, [record(20, &[1]), record(22, &client_hello("a.example"))].concat()),
        (ServerToClient, [hello(&[1; 32], &[0x13, 3]), record(23, &[0; 90])].concat()),
        (ClientToServer, record(23, &[0; 60])),
    ];
    let found = transactions(&Sent::of(&sent), 443);
    let tls = tls(&found[0]);
    assert_eq!(
        (tls.version.as_deref(), tls.cipher.as_deref()),
        (Some("TLS 1.3"), Some("TLS_CHACHA20_POLY1305_SHA256"))
    );
    assert!(found.len() == 1 && tls.established);
}

#[test]
fn a_refused_handshake_has_its_alert() {
    let sent = vec![(ClientToServer, record(22, &client_hello("a.example"))), (ServerToClient, record(21, &[2, 40]))];
    let found = transactions(&Sent::of(&sent), 443);
    assert_eq!((tls(&found[0]).alert, tls(&found[0]).established), (Some(40), false));
}

#[test]
fn what_a_gap_leaves_is_reported() {
    let sent = handshake();
    let found = transactions(&Sent::of(&sent).gap_before(1), 443);
    assert_eq!(found[0].name(), Some("www.example.org"));
    assert_eq!(tls(&found[0]).version, None);
}

/// A client's hello of SSL 2.0 that offers a version, with one suite of TLS and one of SSL 2.0.
fn old_client_hello(version: [u8; 2]) -> Vec<u8> {
    let body = [&[1][..], &version, &[0, 6, 0, 0, 0, 16], &[0, 0, 0x2f, 7, 0, 0xc0], &[9; 16]].concat();
    [&(0x8000 | body.len() as u16).to_be_bytes()[..], &body].concat()
}

#[test]
fn hellos_of_ssl_2_lead_into_tls() {
    let mut sent = handshake();
    sent[0].1 = old_client_hello([3, 1]);
    let found = transactions(&Sent::of(&sent), 443);
    let [one] = &found[..] else { panic!("{found:?}") };
    let fields = tls(one);
    assert_eq!((fields.client_version.as_deref(), fields.version.as_deref()), (Some("TLS 1.0"), Some("TLS 1.2")));
    assert_eq!((&fields.ja3, &fields.ja4, &fields.sni), (&None, &None, &None));
    assert_eq!(transactions(&Sent::of(&sent).bytewise(), 443), found);
    // SSL 2.0 itself: an unknown session, a certificate of three bytes, one suite, an identifier.
    let answer = [&[4, 0, 1, 0, 2, 0, 3, 0, 3, 0, 16][..], b"der", &[7, 0, 0xc0], &[8; 16]].concat();
    let answer = [&(0x8000 | answer.len() as u16).to_be_bytes()[..], &answer].concat();
    let sent = [(Direction::ClientToServer, old_client_hello([0, 2])), (Direction::ServerToClient, answer)];
    let found = transactions(&Sent::of(&sent), 443);
    assert_eq!(tls(&found[0]).version.as_deref(), Some("SSL 2.0"));
    assert_eq!(transactions(&Sent::of(&sent).bytewise(), 443), found);
}

#[cfg(feature = "certificates")]
#[test]
fn further_certificates_are_counted() {
    let mut sent = handshake();
    let messages = [certificates_message(&[b"first"]), certificates_message(&[b"a", b"b"]).repeat(500)].concat();
    sent[1].1 =
        [record(22, &server_hello()), messages.chunks(10_000).flat_map(|part| record(22, part)).collect()].concat();
    let found = transactions(&Sent::of(&sent), 443);
    let tls = tls(&found[0]);
    assert_eq!((tls.certificates, tls.certificates_repeated, tls.chains[1].len()), (1, 500, 1));
}

#[cfg(feature = "certificates")]
#[test]
fn certificates_of_both_sides_have_digests() {
    let mut sent = handshake();
    let chain: Vec<Vec<u8>> = (0..20).map(|number| vec![number; 9]).collect();
    let chain: Vec<&[u8]> = chain.iter().map(|der| &**der).collect();
    sent[1].1 = record(22, &[server_hello(), certificates_message(&chain)].concat());
    sent[2].1 = [record(22, &certificates_message(&[b"own", b"issuer"])), std::mem::take(&mut sent[2].1)].concat();
    let found = transactions(&Sent::of(&sent), 443);
    let tls = tls(&found[0]);
    // The first ones of those that are counted. `printf own | sha256sum` and so on.
    let digests = tls.chains.each_ref().map(|chain| chain.iter().map(|one| crate::text::hex(one)).collect::<Vec<_>>());
    assert_eq!((tls.certificates, digests[1].len()), (20, 16));
    assert_eq!(digests[1][0], tls.certificate.as_ref().unwrap().sha256.as_ref());
    assert_eq!(digests[0].len(), 2);
    assert_eq!(digests[0][0], "5b3975651c3cab92d044c096dc30a1c2d9525497457472de48c51ecb363d1f4a");
    assert_eq!(digests[0][1], "535c6f8eb511f5d966a1b0725df92ebf27514faba945cbbd698e23ac72c41757");
}

#[cfg(feature = "certificates")]
#[test]
fn alternative_names_of_other_kinds_are_counted() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec!["www.example.org".to_owned()]).unwrap();
    let value = rcgen::OtherNameValue::Utf8String("alice@example.org".into());
    // As certificates of Active Directory name users.
    parameters.subject_alt_names.push(rcgen::SanType::OtherName((vec![1, 3, 6, 1, 4, 1, 311, 20, 2, 3], value)));
    let der = parameters.self_signed(&key).unwrap().der().to_vec();
    let mut sent = handshake();
    sent[1].1 = [record(22, &server_hello()), record(22, &certificate_message(&der))].concat();
    let found = transactions(&Sent::of(&sent), 443);
    let certificate = tls(&found[0]).certificate.as_ref().unwrap();
    assert_eq!((&*certificate.san, certificate.san_left_out), (&["www.example.org".into()][..], 1));
}

#[cfg(feature = "certificates")]
#[test]
fn a_hostile_certificate_is_bounded() {
    let key = rcgen::KeyPair::generate().unwrap();
    let names: Vec<String> = (0..1000).map(|number| format!("n{number}.example.org")).collect();
    let mut parameters = rcgen::CertificateParams::new(names).unwrap();
    parameters.distinguished_name.push(rcgen::DnType::OrganizationName, "\u{202e}\u{1b}[2J".repeat(1000));
    let der = parameters.self_signed(&key).unwrap().der().to_vec();
    let mut sent = handshake();
    // One record holds 16 KiB: the message takes several.
    let message = certificate_message(&der);
    assert!(message.len() > 20_000);
    sent[1].1 =
        [record(22, &server_hello()), message.chunks(10_000).flat_map(|part| record(22, part)).collect()].concat();
    let found = transactions(&Sent::of(&sent), 443);
    let certificate = tls(&found[0]).certificate.as_ref().unwrap();
    assert_eq!((certificate.san.len(), &*certificate.san[63]), (64, "n63.example.org"));
    assert_eq!(certificate.san_left_out, 1000 - 64);
    assert!(certificate.subject.as_deref().unwrap().len() <= 1024);
    assert!(found[0].memory_bytes() < 10_000, "{} bytes", found[0].memory_bytes());
}

/// RFC 5246 section 7.3, RFC 5077 section 3.1: the messages show it, and not the session's number alone.
#[test]
fn an_abbreviated_handshake_is_a_resumed_session() {
    let hello = |session: &[u8]| {
        let session = [&[session.len() as u8][..], session].concat();
        message(2, &[&[3, 3][..], &[9; 32], &session, &[0xc0, 0x2b], &[0], &[0, 0]].concat())
    };
    let client = |session: &[u8]| {
        let session = [&[session.len() as u8][..], session].concat();
        message(1, &[&[3, 3][..], &[9; 32], &session, &[0, 2, 0xc0, 0x2b], &[1, 0], &[0, 0]].concat())
    };
    let (certificate, done, ticket) = (message(11, &[0, 0, 0]), message(14, &[]), message(4, &[0; 6]));
    let change = [record(20, &[1]), record(22, &[0xe5; 40])].concat();
    // Numbers of the client and the server, messages, whether the end was seen, whether it is resumed.
    type Case<'a> = (&'a [u8], &'a [u8], Vec<u8>, bool, bool);
    let cases: [Case<'_>; 7] = [
        // A full handshake; one by number; one by ticket, with an empty number and another ticket.
        (&[], &[7; 32], [&certificate[..], &done].concat(), true, false),
        (&[7; 32], &[7; 32], vec![], true, true),
        (&[7; 32], &[], ticket, true, true),
        // The number is repeated, and a certificate sent all the same; a key that both have (RFC 4279).
        (&[7; 32], &[7; 32], [&certificate[..], &done].concat(), true, false),
        (&[], &[], done.clone(), true, false),
        // The end was not seen.
        (&[7; 32], &[7; 32], vec![], false, true),
        (&[7; 32], &[], vec![], false, false),
    ];
    for (offered, chosen, more, has_end, expected) in cases {
        let server = record(22, &[hello(chosen), more].concat());
        let end = if has_end { &change[..] } else { &[] };
        let sent = [(ClientToServer, record(22, &client(offered))), (ServerToClient, [&server[..], end].concat())];
        let found = transactions(&Sent::of(&sent), 443);
        assert_eq!(tls(&found[0]).resumed, Some(expected), "{offered:?} {chosen:?} {has_end}");
        assert_eq!(transactions(&Sent::of(&sent).bytewise(), 443), found);
    }
}
