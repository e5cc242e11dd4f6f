//! Events for anomalies that the engine flags.

use tidewire_analyzers::Settings;
use tidewire_events::{Direction, Severity};

use crate::rig::{ACK, Host, Made, SYN, kinds, number, text};

const CLIENT: (Host, u16) = ([192, 0, 2, 1], 4000);
const SERVER: (Host, u16) = ([198, 51, 100, 1], 80);

#[test]
fn a_conflict_says_where_and_how_much() {
    let mut made = Made::new();
    made.handshake(CLIENT, SERVER);
    made.segment(CLIENT, SERVER, ACK, (1001, 5001), b"harmless");
    made.segment(CLIENT, SERVER, ACK, (1005, 5001), b"full");
    made.segment(CLIENT, SERVER, ACK, (1009, 5001), b" and more");
    let events = made.found();
    assert_eq!(kinds(&events), ["anomaly.overlap_conflict"]);
    let (event, place) = (&events[0], events[0].place.unwrap());
    assert_eq!((place.direction, place.offset, number(event, "bytes")), (Direction::ClientToServer, 4, 4));
    assert_eq!((number(event, "packet"), event.stream, event.severity), (5, Some(1), Severity::Medium));
}

#[test]
fn a_stream_full_of_anomalies_is_two_events_of_each_kind() {
    let mut made = Made::new();
    made.handshake(CLIENT, SERVER);
    made.segment(CLIENT, SERVER, ACK, (1001, 5001), b"harmless");
    for _ in 0..100 {
        made.segment(CLIENT, SERVER, SYN, (90_000, 0), b"");
    }
    made.segment(CLIENT, SERVER, ACK, (1009, 5001), b" and more");
    let events = made.found();
    let reported: Vec<_> = events.iter().filter(|event| event.kind == "anomaly.blind_syn").collect();
    assert!((1..=2).contains(&reported.len()), "{events:?}");
    assert!(events.len() <= 4, "{:?}", kinds(&events));
}

#[test]
fn malformed_packets_are_an_event_a_second_with_a_count() {
    let mut made = Made::new();
    // A header length beyond the packet.
    let wrong = [0x4f, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    for _ in 0..1000 {
        made.packet(&wrong).wait(4);
    }
    for workers in [1, 2] {
        let events = made.analyzed(&Settings::default(), workers);
        assert!(kinds(&events).iter().all(|kind| *kind == "anomaly.malformed"), "{events:?}");
        assert!((4..=6).contains(&events.len()), "{} events", events.len());
        let more = |event: &tidewire_events::Event| {
            let is_there = event.fields.iter().any(|field| field.name == "more");
            if is_there { number(event, "more") } else { 0 }
        };
        // Each packet is an event or is counted; the last event is of none.
        let is_of_packet = |event: &&tidewire_events::Event| event.fields.iter().any(|field| field.name == "packet");
        let packets = events.iter().filter(is_of_packet).count() as u64;
        assert_eq!(packets + events.iter().map(more).sum::<u64>(), 1000, "{events:?}");
        assert!(!text(&events[0], "reason").is_empty());
    }
}

#[test]
fn fragments_that_contradict_each_other_are_reported() {
    let mut made = Made::new();
    let fragment = |offset: u16, is_last: bool, bytes: &[u8]| {
        let mut header =
            etherparse::Ipv4Header::new(bytes.len() as u16, 64, etherparse::IpNumber::UDP, CLIENT.0, SERVER.0).unwrap();
        header.identification = 7;
        header.more_fragments = !is_last;
        header.fragment_offset = etherparse::IpFragOffset::try_new(offset / 8).unwrap();
        let mut packet = Vec::new();
        header.header_checksum = header.calc_header_checksum();
        header.write(&mut packet).unwrap();
        packet.extend_from_slice(bytes);
        packet
    };
    // The second begins within the first.
    made.packet(&fragment(0, false, &[1; 64]))
        .packet(&fragment(56, false, &[2; 16]))
        .packet(&fragment(72, true, &[3; 8]));
    let events = made.found();
    assert_eq!(kinds(&events), ["anomaly.fragments"], "{events:?}");
    assert_eq!(events[0].key.unwrap().server_addr, std::net::IpAddr::from(SERVER.0));
}

#[test]
fn what_is_below_the_severity_is_no_event() {
    let mut made = Made::new();
    made.handshake(CLIENT, SERVER).segment(CLIENT, SERVER, ACK, (1001, 5001), b"one");
    made.segment(SERVER, CLIENT, ACK, (5001, 2001), b"acknowledges what was not captured");
    assert_eq!(made.found(), []);
    let mut settings = Settings::default();
    settings.anomaly.severity = Severity::Info;
    assert!(kinds(&made.analyzed(&settings, 1)).contains(&"anomaly.acked_unseen"));
}

#[test]
fn refusals_are_counted() {
    let mut made = Made::new();
    made.connection(CLIENT, SERVER, &[b"${jndi:ldap: ${jndi:rmi:"]);
    let (kept, counts) = made.run(&Settings::default(), 1, true);
    assert!(kept.events.lock().unwrap().is_empty());
    let [anomaly, matching, scan] = counts;
    assert_eq!((matching.0, matching.1.emitted, matching.1.refused), ("match", 0, 2));
    assert_eq!((anomaly.1.refused, scan.1.refused), (0, 0));
}

/// Checksums that the sender's card fills in: one event for all streams of all workers, of none of them, with their number.
#[test]
fn checksum_offload_is_an_event_once() {
    let mut made = Made::new();
    for port in 4000_u16..4050 {
        let datagram = [&port.to_be_bytes()[..], &[0, 9, 0, 12, 0x12, 0x34], b"data"].concat();
        let length = datagram.len() as u16;
        let mut header =
            etherparse::Ipv4Header::new(length, 64, etherparse::IpNumber::UDP, CLIENT.0, SERVER.0).unwrap();
        header.header_checksum = header.calc_header_checksum();
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend_from_slice(&datagram);
        made.packet(&packet);
    }
    let mut settings = Settings::default();
    settings.anomaly.severity = Severity::Info;
    let expected = made.analyzed(&settings, 1);
    let [event] = &expected[..] else { panic!("{expected:?}") };
    assert_eq!(event.kind, "anomaly.bad_checksum");
    assert_eq!((event.stream, event.severity, text(event, "reason")), (None, Severity::Info, "checksum_offload"));
    assert_eq!(number(event, "streams"), 50);
    for workers in [2, 4] {
        assert_eq!(made.analyzed(&settings, workers), expected, "{workers} workers");
    }
}
