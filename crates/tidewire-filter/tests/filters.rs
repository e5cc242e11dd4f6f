//! Filters over several link types, and what is said of expressions that are wrong.

use tidewire_filter::{Error, Filter};
use tidewire_wire::LinkType;

#[test]
fn every_link_type_has_its_own_program() {
    let raw = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[0, 53, 0, 53, 0, 8, 0, 0]];
    let raw = raw.concat();
    let ethernet = [&[0; 12][..], &[8, 0], &raw].concat();
    let cooked = [&[0; 14][..], &[8, 0], &raw].concat();
    let null = [&[2, 0, 0, 0][..], &raw].concat();
    let mut filter = Filter::new("udp port 53 and host 10.0.0.2").unwrap();
    let mut matches = |link: u16, bytes: &[u8]| filter.matches(LinkType(link), bytes, bytes.len() as u32).unwrap();
    for _ in 0..2 {
        assert!(matches(1, &ethernet) && matches(113, &cooked) && matches(0, &null));
        for link in [12, 14, 101, 228] {
            assert!(matches(link, &raw), "{link}");
            assert!(!matches(link, &ethernet), "{link}");
        }
    }
}

#[test]
fn lengths_are_those_on_the_wire() {
    let mut filter = Filter::new("greater 1000").unwrap();
    assert!(filter.matches(LinkType::ETHERNET, &[0; 60], 1514).unwrap());
    assert!(!filter.matches(LinkType::ETHERNET, &[0; 60], 60).unwrap());
}

#[test]
fn what_is_wrong_is_said_with_the_expression_and_the_link_type() {
    let error = Filter::new("tcp prot 80").unwrap_err();
    assert!(matches!(error, Error::Expression { .. }));
    let text = error.to_string();
    assert!(text.contains("\"tcp prot 80\"") && text.contains("EN10MB (1)"), "{text}");
    assert!(text.contains("syntax error") || text.contains("can't parse"), "{text}");
    assert!(Filter::new("ip\0tcp").is_err());
    // Of 802.11 only: well formed, but not for Ethernet.
    let mut filter = Filter::new("wlan type mgt").unwrap();
    assert!(filter.prepare(LinkType(127)).is_ok());
    let text = filter.prepare(LinkType::ETHERNET).unwrap_err().to_string();
    assert!(text.contains("EN10MB (1)"), "{text}");
}
