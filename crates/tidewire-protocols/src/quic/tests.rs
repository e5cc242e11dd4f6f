use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::{
    Fields, Quic, QuicEntry, QuicHistory, Service, Transaction,
    testing::{Sent, transactions},
    work,
};

/// The example of RFC 9001 appendix A: the client's identifier for the server, and its keys.
const DESTINATION: [u8; 8] = *b"\x83\x94\xc8\xf0\x3e\x51\x57\x08";
const KEYS: Keys = Keys {
    key: *b"\x1f\x36\x96\x13\xdd\x76\xd5\x46\x77\x30\xef\xcb\xe3\xb1\xa2\x2d",
    iv: *b"\xfa\x04\x4b\x2f\x42\xa3\xfd\x3b\x46\xfb\x25\x5c",
    header: *b"\x9f\x50\x44\x9e\x04\xa0\xe8\x10\x28\x3a\x1e\x99\x33\xad\xed\xd2",
};
/// Those of draft-ietf-quic-tls-27 appendix A.
const KEYS_27: Keys = Keys {
    key: *b"\xaf\x7f\xd7\xef\xeb\xd2\x18\x78\xff\x66\x81\x12\x48\x98\x36\x94",
    iv: *b"\x86\x81\x35\x94\x10\xa7\x0b\xb9\xc9\x2f\x04\x20",
    header: *b"\xa9\x80\xb8\xb4\xfb\x7d\x9f\xbc\x13\xe8\x14\xc2\x31\x64\x25\x3d",
};

/// Those of version 1 for the identifier `retry id`.
const KEYS_BEHIND_RETRY: Keys = Keys {
    key: *b"\x22\xf8\xd4\x21\x53\xe4\x29\xd2\xa8\x8b\x8b\x41\x1a\x45\xa6\xdb",
    iv: *b"\x2c\xbc\xe3\x54\xee\x35\x02\x90\x0c\x64\x9a\x33",
    header: *b"\x13\xa5\x5e\x40\x94\x01\x9d\xfa\xd6\xe2\xf0\x97\x7b\xef\x88\xb0",
};

struct Keys {
    key: [u8; 16],
    iv: [u8; 12],
    header: [u8; 16],
}

/// A datagram of 1200 bytes with an Initial packet of these frames, to this identifier.
fn initial(destination: &[u8], number: u8, frames: &[u8]) -> Vec<u8> {
    initial_of([0, 0, 0, 1], &KEYS, destination, number, frames)
}

/// The same of another version with these keys.
fn initial_of(version: [u8; 4], keys: &Keys, destination: &[u8], number: u8, frames: &[u8]) -> Vec<u8> {
    initial_as(0xc0, version, keys, destination, number, frames)
}

/// The same with this first byte.
fn initial_as(first: u8, version: [u8; 4], keys: &Keys, destination: &[u8], number: u8, frames: &[u8]) -> Vec<u8> {
    let mut header = [&[first][..], &version, &[destination.len() as u8], destination, &[0, 0]].concat();
    let rest_bytes = 1200 - header.len() - 2;
    header.extend_from_slice(&(0x4000 | rest_bytes as u16).to_be_bytes());
    let number_at = header.len();
    header.push(number);
    let mut payload = frames.to_vec();
    payload.resize(rest_bytes - 1 - 16, 0);
    let mut nonce = keys.iv;
    nonce[11] ^= number;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &keys.key).unwrap());
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&header), &mut payload).unwrap();
    let mut packet = [header, payload].concat();
    let sample: [u8; 16] = packet[number_at + 4..number_at + 20].try_into().unwrap();
    let mask = quic::HeaderProtectionKey::new(&quic::AES_128, &keys.header).unwrap().new_mask(&sample).unwrap();
    packet[0] ^= mask[0] & 0x0f;
    packet[number_at] ^= mask[1];
    packet
}

fn hello() -> Vec<u8> {
    let block16 = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    let extension = |kind: u16, body: &[u8]| [&kind.to_be_bytes()[..], &block16(body)].concat();
    let name = [&[0][..], &block16(b"quic.example.org")].concat();
    let extensions =
        [extension(0, &block16(&name)), extension(16, &block16(b"\x02h3")), extension(43, b"\x02\x03\x04")].concat();
    let body = [&[3, 3][..], &[7; 32], &[0], &block16(&[0x13, 1]), &[1, 0], &block16(&extensions)].concat();
    [&[1, 0], &block16(&body)[..]].concat()
}

/// A CRYPTO frame with a part of the hello.
fn piece(hello: &[u8], at: usize, end: usize) -> Vec<u8> {
    [&[6, 0x40, at as u8, 0x40, (end - at) as u8], &hello[at..end]].concat()
}

fn quic(transaction: &Transaction) -> &Quic {
    match &transaction.fields {
        Fields::Quic(quic) => quic,
        other => panic!("not QUIC: {other:?}"),
    }
}

#[test]
fn a_hello_is_read_out_of_several_packets() {
    let hello = hello();
    let end = hello.len();
    let sent = [
        (ClientToServer, initial(&DESTINATION, 0, &[piece(&hello, 40, 60), piece(&hello, 0, 20)].concat())),
        (ServerToClient, vec![0xc5; 1200]),
        // To the identifier that the server chose: the keys stay.
        (
            ClientToServer,
            initial(b"server", 1, &[&[2, 0, 0, 0, 0], &piece(&hello, 20, 40)[..], &piece(&hello, 55, end)].concat()),
        ),
        (ClientToServer, vec![0x40; 50]),
    ];
    let found = transactions(&Sent::datagrams(&sent), 443);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.service, one.name()), (Service::Quic, Some("quic.example.org")));
    let fields = quic(one);
    assert_eq!((fields.version.as_deref(), fields.client_version.as_deref()), (Some("1"), Some("TLS 1.3")));
    assert_eq!(fields.client_alpn, ["h3".into()]);
    assert!(fields.ja4.as_deref().unwrap().starts_with("q13d0103h3_"));
}

#[test]
fn early_data_may_come_first() {
    let early = [&b"\xd0\0\0\0\x01\x08"[..], &DESTINATION, &[0; 90]].concat();
    let hello = hello();
    let sent = [(ClientToServer, early), (ClientToServer, initial(&DESTINATION, 0, &piece(&hello, 0, hello.len())))];
    let found = transactions(&Sent::datagrams(&sent), 443);
    assert_eq!(found.iter().map(Transaction::name).collect::<Vec<_>>(), [Some("quic.example.org")]);
}

/// A client's first flight in a version that its server does not know, and what the server answers (RFC 9000 section 6).
/// RFC 9000 section 12.2: other packets may come before the Initial in its datagram.
#[test]
fn an_initial_is_found_behind_other_packets() {
    let hello = hello();
    let whole = initial(&DESTINATION, 0, &piece(&hello, 0, hello.len()));
    // A packet of 0-RTT and one of the handshake, with their lengths; a Retry has none.
    let packet = |first: u8| [&[first, 0, 0, 0, 1, 8][..], &DESTINATION, &[0, 0x40, 20], &[0xaa; 20]].concat();
    let (early, handshake, retry) = (packet(0xd3), packet(0xe3), packet(0xf0));
    let cases = [(vec![&early[..]], true), (vec![&handshake, &early], true), (vec![&retry], false)];
    for (before, is_found) in cases {
        let sent = Sent::datagrams(&[(ClientToServer, [&before.concat()[..], &whole].concat())]);
        let names: Vec<_> = transactions(&sent, 443).iter().map(|one| one.name().map(str::to_owned)).collect();
        assert_eq!(names, if is_found { vec![Some("quic.example.org".to_owned())] } else { vec![] }, "{before:?}");
    }
}

/// RFC 9287: the fixed bit may be cleared. The keys decide.
#[test]
fn the_fixed_bit_may_be_cleared() {
    let hello = hello();
    let sent = |datagram: Vec<u8>| transactions(&Sent::datagrams(&[(ClientToServer, datagram)]), 443);
    let with_bit = |first: u8| initial_as(first, [0, 0, 0, 1], &KEYS, &DESTINATION, 0, &piece(&hello, 0, hello.len()));
    let found = sent(with_bit(0x80));
    assert_eq!(found[0].name(), Some("quic.example.org"));
    // One that was set when the packet was sealed.
    let mut changed = with_bit(0xc0);
    changed[0] &= 0xbf;
    assert_eq!(sent(changed), []);
}

#[test]
fn another_version_may_come_first() {
    let first = |version: &[u8], ids: &[u8]| [&b"\xc0"[..], version, ids, &[0; 1200]].concat();
    let hello = hello();
    let whole = || (ClientToServer, initial(&DESTINATION, 0, &piece(&hello, 0, hello.len())));
    let names = |sent: &[(tidewire_core::Direction, Vec<u8>)]| {
        let found = transactions(&Sent::datagrams(sent), 443);
        found.iter().map(|one| one.name().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let negotiation = (ServerToClient, b"\x80\0\0\0\0\x04SCID\x08DESTINAT\0\0\0\x01".to_vec());
    for (version, ids) in [(b"\x1a\x2a\x3a\x4a", &b"\x08DESTINAT\x04SCID"[..]), (b"Q046", b"\x50DESTINAT")] {
        let unknown = || (ClientToServer, first(version, ids));
        assert_eq!(names(&[unknown(), whole()]), ["quic.example.org"]);
        assert_eq!(names(&[unknown(), unknown(), negotiation.clone(), whole()]), ["quic.example.org"]);
        // The wait has a bound.
        let many: Vec<_> = (0..16).map(|_| unknown()).chain([whole()]).collect();
        assert!(names(&many).is_empty());
    }
    assert_eq!(names(&[negotiation, whole()]), ["quic.example.org"]);
    // Anything else is given up at once.
    for other in
        [first(b"\x1a\x2a\x3a\x4a", b"\x15"), b"\x80\0\0\0\0\xff".to_vec(), b"\xc0\x1a\x2a\x3a\x4a\0\0".to_vec()]
    {
        assert!(names(&[(ClientToServer, other), whole()]).is_empty());
    }
}

/// Drafts 33 and 34 have the salt of version 1 (draft-ietf-quic-tls-33 section 5.2).
#[test]
fn the_last_drafts_have_the_keys_of_version_1() {
    let hello = hello();
    for draft in [33, 34] {
        let packet = initial_of([0xff, 0, 0, draft], &KEYS, &DESTINATION, 0, &piece(&hello, 0, hello.len()));
        let found = transactions(&Sent::datagrams(&[(ClientToServer, packet)]), 443);
        assert_eq!(found.iter().map(Transaction::name).collect::<Vec<_>>(), [Some("quic.example.org")]);
        assert_eq!(quic(&found[0]).version, Some(format!("draft {draft}").into()));
    }
}

/// Clients of mvfst number draft 27 themselves.
#[test]
fn mvfst_has_the_keys_of_its_draft() {
    let hello = hello();
    for number in [0x02, 0x0e] {
        let packet = initial_of([0xfa, 0xce, 0xb0, number], &KEYS_27, &DESTINATION, 0, &piece(&hello, 0, hello.len()));
        let found = transactions(&Sent::datagrams(&[(ClientToServer, packet)]), 443);
        assert_eq!(found.iter().map(Transaction::name).collect::<Vec<_>>(), [Some("quic.example.org")]);
        assert_eq!(quic(&found[0]).version, Some(format!("0xfaceb0{number:02x}").into()));
    }
}

/// A server's Retry and what it says of versions give no identifier; its first packet does, and ends the waiting.
#[test]
fn the_servers_identifier_is_in_its_first_packet() {
    let hello = hello();
    let whole = || (ClientToServer, initial(&DESTINATION, 0, &piece(&hello, 0, hello.len())));
    let server = |first: u8, version: u8, id: &[u8]| {
        let head = [first, 0, 0, 0, version, 0, id.len() as u8];
        (ServerToClient, [&head[..], id, &[0; 40]].concat())
    };
    let found_in = |sent: &[(tidewire_core::Direction, Vec<u8>)]| {
        let found = transactions(&Sent::datagrams(sent), 443);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.name(), Some("quic.example.org"));
        let fields = quic(one);
        assert_eq!(
            (fields.client_dcid.as_deref(), fields.client_scid.as_deref()),
            (Some("8394c8f03e515708"), Some(""))
        );
        fields.server_scid.clone()
    };
    let short = (ServerToClient, vec![0x40; 60]);
    let cases = [
        (vec![whole(), server(0xc0, 1, b"\xab\xcd"), server(0xc0, 1, b"late")], Some("abcd")),
        (vec![whole(), server(0xf0, 1, b"retry"), server(0x80, 0, b"versions"), server(0xe0, 1, b"\x01")], Some("01")),
        (vec![whole(), server(0xc0, 1, &[7; 21]), short.clone(), server(0xc0, 1, b"late")], None),
        (vec![whole()], None),
    ];
    for (sent, expected) in cases {
        assert_eq!(found_in(&sent).as_deref(), expected);
    }
    // Behind a Retry the server's choice is no choice of the client.
    let behind = initial_of([0, 0, 0, 1], &KEYS_BEHIND_RETRY, b"retry id", 1, &piece(&hello, 0, hello.len()));
    let part = (ClientToServer, initial(&DESTINATION, 0, &piece(&hello, 0, 20)));
    let retried = [part, server(0xf0, 1, b"retry id"), (ClientToServer, behind), server(0xc0, 1, b"own")];
    assert_eq!(found_in(&retried).as_deref(), Some("6f776e"));
    // A hello in two datagrams, the first of which was answered.
    let end = hello.len();
    let parts = [
        (ClientToServer, initial(&DESTINATION, 0, &piece(&hello, 0, 20))),
        server(0xc0, 1, b"\xef"),
        (ClientToServer, initial(&DESTINATION, 1, &piece(&hello, 20, end))),
    ];
    assert_eq!(found_in(&parts).as_deref(), Some("ef"));
}

proptest::proptest! {
    #[test]
    fn any_frames_are_harmless(
        frames in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60), 1..6),
        begins_with_crypto: bool,
    ) {
        let datagrams: Vec<_> = frames.iter().enumerate().map(|(number, frames)| {
            let first: &[u8] = if begins_with_crypto { &[6, 0x40, 0, 9, 1, 0, 0, 30, 3, 3] } else { &[] };
            (ClientToServer, initial(&DESTINATION, number as u8, &[first, frames].concat()))
        }).collect();
        proptest::prop_assert!(transactions(&Sent::datagrams(&datagrams), 443).len() == 1);
    }
}

#[test]
fn what_is_not_complete_has_its_version() {
    let sent = [(ServerToClient, initial(&DESTINATION, 3, &piece(&hello(), 0, 20)))];
    let found = transactions(&Sent::datagrams(&sent), 443);
    assert_eq!((quic(&found[0]).version.as_deref(), found[0].name()), (Some("1"), None));
}

#[test]
fn what_only_looks_like_an_initial_is_not() {
    let whole = initial(&DESTINATION, 0, &piece(&hello(), 0, 20));
    for at in [1, 7, 20, 600, 1199] {
        let mut datagram = whole.clone();
        datagram[at] ^= 1;
        assert_eq!(transactions(&Sent::datagrams(&[(ClientToServer, datagram)]), 443), [], "byte {at}");
    }
    for length in [0, 5, 20, 1199] {
        assert_eq!(transactions(&Sent::datagrams(&[(ClientToServer, whole[..length].to_vec())]), 443), []);
    }
}

/// The entries of these datagrams: `0` of the client or `1`.
fn history(sent: &[(usize, Vec<u8>)]) -> Vec<QuicEntry> {
    let mut history = QuicHistory::default();
    for (index, (side, datagram)) in sent.iter().enumerate() {
        history.datagram(*side, datagram, index as u64);
        assert!(history.memory_bytes() < 64 << 10);
    }
    history.finish()
}

fn letters(sent: &[(usize, Vec<u8>)]) -> Vec<String> {
    history(sent).into_iter().map(|entry| entry.history).collect()
}

/// A packet with a long header of this type, without identifiers of the client.
fn long(kind: u8, source: &[u8]) -> Vec<u8> {
    [&[0xc0 | kind << 4][..], &[0, 0, 0, 1, 0, source.len() as u8], source, &[20], &[7; 20]].concat()
}

#[test]
fn a_history_has_a_letter_for_each_packet() {
    let hello = hello();
    let first = initial(&DESTINATION, 0, &piece(&hello, 0, 40));
    let second = initial(&DESTINATION, 1, &piece(&hello, 40, hello.len()));
    let handshake = [long(2, b"server"), long(2, b"server"), vec![0x40; 30]].concat();
    // The filling of a datagram behind its packets is not a packet.
    let mut sent = vec![(0, first), (0, [second, vec![0; 9]].concat()), (1, handshake), (0, long(1, b""))];
    sent.extend((0..9).map(|_| (0, vec![0x40; 50])));
    let entries = history(&sent);
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!(entry.history, "IISXhhoZOOOO");
    assert_eq!(
        (entry.server_name.as_deref(), entry.client_protocol.as_deref()),
        (Some("quic.example.org"), Some("h3"))
    );
    assert_eq!(entry.client_dcid.as_deref(), Some(&DESTINATION[..]));
    assert_eq!((entry.client_scid.as_deref(), entry.server_scid.as_deref()), (Some(&b""[..]), Some(&b"server"[..])));
    assert_eq!((entry.start.as_nanos(), entry.version), (0, 1));
}

#[test]
fn a_retry_and_a_close_begin_another_entry() {
    let hello = hello();
    let whole = || (0, initial(&DESTINATION, 0, &piece(&hello, 0, hello.len())));
    let retry = || (1, [&b"\xf0\0\0\0\x01\0\x04SCID"[..], &[9; 40]].concat());
    assert_eq!(letters(&[whole(), retry(), whole(), (1, long(2, b""))]), ["ISr", "ISh"]);
    let close = (0, initial(&DESTINATION, 1, &[&piece(&hello, 0, 9)[..], b"\x1c\x41\x00\x06\x03bye"].concat()));
    assert_eq!(letters(&[close, (0, vec![0x40; 40]), (1, long(2, b""))]), ["IC", "h"]);
    // Without an end.
    let many: Vec<_> = (0..1000).map(|_| retry()).collect();
    assert_eq!(letters(&many), ["r"; 16]);
    let many: Vec<_> = (0..1000).map(|_| (1, long(2, b""))).collect();
    assert_eq!(letters(&many), ["h".repeat(100)]);
}

#[test]
fn what_cannot_be_read_ends_a_history() {
    let hello = hello();
    let whole = || (0, initial(&DESTINATION, 0, &piece(&hello, 0, hello.len())));
    let unknown = (0, [&b"\xc0\x1a\x2a\x3a\x4a\x01D\x01S"[..], &[0; 30]].concat());
    assert_eq!(letters(&[unknown, whole()]), ["U"]);
    // Other keys, a frame that does not belong there, a packet that is cut.
    let mut damaged = whole().1;
    damaged[600] ^= 1;
    assert_eq!(letters(&[(0, damaged), whole()]), ["I"]);
    assert_eq!(letters(&[(0, initial(&DESTINATION, 0, b"\x1e")), whole()]), ["I"]);
    assert_eq!(letters(&[whole(), (1, long(2, b"")[..20].to_vec()), whole()]), ["IS"]);
    // Identifiers of known versions have a bound (RFC 9000 section 17.2).
    for long in [
        [&b"\xf0\0\0\0\x01\x15"[..], &[7; 21], b"\0", &[0; 40]],
        [&b"\xf0\0\0\0\x01\0\x15"[..], &[7; 21], b"", &[0; 40]],
    ] {
        assert!(letters(&[(1, long.concat())]).concat().is_empty());
    }
    // Before the first long packet nothing is.
    assert!(letters(&[(0, vec![0x40; 40]), (0, vec![0; 40])]).is_empty());
    assert!(QuicHistory::begins(&long(1, b""), 443) && !QuicHistory::begins(&long(1, b""), 53));
    assert!(QuicHistory::begins(&whole().1, 53) && !QuicHistory::begins(&[0x40; 1200], 443));
    // Where memory is short the letters of hellos are left out.
    let mut short = QuicHistory::default();
    short.datagram(0, &initial(&DESTINATION, 0, &piece(&hello, 0, 40)), 1);
    short.release();
    short.datagram(0, &initial(&DESTINATION, 1, &piece(&hello, 40, hello.len())), 2);
    assert_eq!(short.finish()[0].history, "II");
}

/// Packets that can be opened, of frames with a byte each: in order, backwards, with holes, the same ones again and again, and far ahead.
#[test]
fn work_of_frames_is_bounded_by_their_bytes() {
    let frame = |at: usize| [&[6, 0x40 | (at >> 8) as u8, at as u8, 1], &b"x"[..]].concat();
    let orders: [fn(usize) -> usize; 5] =
        [|index| index, |index| 1000 - 4 * index, |index| 4 * index, |_| 9, |index| 0x3fff - 4 * index];
    for order in orders {
        let frames: Vec<u8> = (0..220).flat_map(|index| frame(order(index))).collect();
        for count in 1..20_u8 {
            let datagrams: Vec<_> = (0..count).map(|number| initial(&DESTINATION, number, &frames)).collect();
            let sent: Vec<_> = datagrams.iter().map(|datagram| (ClientToServer, datagram.clone())).collect();
            let (_, steps) = work::of(|| transactions(&Sent::datagrams(&sent), 443));
            // Read twice: once for each kind of report.
            let allowed = 2 * 16 * 1200 * u64::from(count);
            assert!(steps > 1200 && steps <= allowed, "{steps} steps of {allowed} for {count} datagrams");
            let mut history = QuicHistory::default();
            let ((), steps) = work::of(|| datagrams.iter().for_each(|datagram| history.datagram(0, datagram, 1)));
            assert!(steps > 1200 && steps <= allowed / 2, "{steps} steps of {allowed} for {count} datagrams");
        }
    }
}
