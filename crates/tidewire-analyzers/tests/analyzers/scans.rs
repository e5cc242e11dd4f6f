//! Generated scans, sweeps and floods; and what looks like them.

use tidewire_analyzers::Settings;

use crate::rig::{ACK, FIN, Host, Made, SYN, addresses, kinds, number, text};

const SCANNER: Host = [192, 0, 2, 66];
const CLIENT: Host = [192, 0, 2, 1];

fn host(number: u16) -> Host {
    let [high, low] = number.to_be_bytes();
    [10, 1, high, low]
}

#[test]
fn a_horizontal_scan_is_reported_at_the_threshold_as_it_grows_and_at_the_end() {
    let mut made = Made::new();
    for target in 0..190 {
        made.syn((SCANNER, 40_000 + target), (host(target), 445)).wait(10);
    }
    let events = made.found();
    assert_eq!(kinds(&events), ["scan.horizontal"; 4]);
    let figures: Vec<_> = events.iter().map(|event| (text(event, "phase"), number(event, "hosts"))).collect();
    assert_eq!(figures[..2], [("begun", 25), ("grown", 50)]);
    assert!(figures[2].0 == "grown" && (100..=130).contains(&figures[2].1), "{figures:?}");
    // The threshold doubles with each event: the last one says how many there were.
    let last = events.last().unwrap();
    assert_eq!((text(last, "phase"), number(last, "attempts")), ("over", 190));
    assert!((150..=190).contains(&number(last, "hosts")), "{figures:?}");
    let key = last.key.unwrap();
    assert_eq!((key.protocol, addresses(last)[0].octets(), key.server_port), (6, SCANNER, 445));
    assert_eq!((last.analyzer.as_str(), last.severity.name()), ("scan", "medium"));
    assert_eq!(text(last, "network"), "10.1.0.0/24");
}

#[test]
fn a_scan_of_twenty_thousand_ports_has_twenty_thousand() {
    let mut made = Made::new();
    for port in 1..=20_000 {
        made.refused((SCANNER, 55_555), (host(1), port));
    }
    let events = made.found();
    let last = events.last().unwrap();
    assert_eq!((number(last, "ports"), text(last, "port_range")), (20_000, "1-20000"));
    assert_eq!(number(last, "attempts"), 20_000);
    assert_eq!(last.key.unwrap().server_port, 0);
}

#[test]
fn a_scan_is_over_also_if_no_packet_comes_any_more() {
    let mut made = Made::new();
    for target in 0..40 {
        made.syn((SCANNER, 40_000 + target), (host(target), 445)).wait(10);
    }
    let (kept, analyzers) = made.analyze();
    let phases = || {
        let events = kept.events.lock().unwrap();
        events.iter().map(|event| text(event, "phase").to_owned()).collect::<Vec<_>>()
    };
    let window_ns = 300_000_000_000;
    analyzers.look(made.now_ns + window_ns / 2);
    assert_eq!(phases(), ["begun"]);
    analyzers.look(made.now_ns + 2 * window_ns);
    assert_eq!(phases(), ["begun", "over"]);
}

#[test]
fn a_vertical_scan_of_closed_ports_is_reported() {
    let mut made = Made::new();
    for port in 1..=1024 {
        made.refused((SCANNER, 55_555), (host(1), port));
    }
    let events = made.found();
    assert_eq!(kinds(&events)[0], "scan.vertical");
    assert!(kinds(&events).iter().all(|kind| *kind == "scan.vertical"), "{events:?}");
    assert_eq!(number(&events[0], "ports"), 15);
    let last = events.last().unwrap();
    assert_eq!((number(last, "ports"), text(last, "port_range")), (1024, "1-1024"));
    assert_eq!(addresses(last)[1].octets(), host(1));
}

#[test]
fn scans_without_syn_are_reported() {
    let mut made = Made::new();
    for port in 1..=20 {
        made.segment((SCANNER, 55_555), (host(1), port), FIN, (1, 0), b"");
    }
    // No flags at all.
    for port in 1..=20 {
        made.segment((SCANNER, 55_555), (host(2), port), 0, (1, 0), b"");
    }
    let events = made.found();
    let targets: Vec<_> =
        events.iter().filter(|event| event.kind == "scan.vertical").map(|event| addresses(event)[1].octets()).collect();
    assert!(targets.contains(&host(1)) && targets.contains(&host(2)), "{events:?}");
}

#[test]
fn a_flood_of_half_open_connections_from_many_sources_is_reported() {
    let mut made = Made::new();
    for number in 0..5000 {
        let source = [172, 16, (number >> 8) as u8, number as u8];
        made.syn((source, 1024 + number), (host(1), 443));
        if number % 2 == 0 {
            made.segment((host(1), 443), (source, 1024 + number), SYN | ACK, (1, 1001), b"");
        }
    }
    let events = made.found();
    assert!(kinds(&events).iter().all(|kind| *kind == "scan.syn-flood"), "{:?}", kinds(&events));
    assert_eq!((number(&events[0], "attempts"), text(&events[0], "phase")), (1000, "begun"));
    let last = events.last().unwrap();
    assert_eq!((number(last, "attempts"), text(last, "phase"), last.severity.name()), (5000, "over", "high"));
    assert!((3800..=5000).contains(&number(last, "sources")), "{last:?}");
}

#[test]
fn a_flood_from_one_source_is_reported() {
    let mut made = Made::new();
    for port in 0..1500 {
        made.syn((SCANNER, 2000 + port), (host(1), 80));
    }
    let events = made.found();
    assert_eq!(kinds(&events), ["scan.syn-flood", "scan.syn-flood"]);
    assert_eq!((number(&events[1], "attempts"), number(&events[1], "sources")), (1500, 1));
}

#[test]
fn sweeps_by_udp_and_icmp_are_reported() {
    let mut made = Made::new();
    for target in 0..300 {
        made.datagram((SCANNER, 50_000), (host(target), 161), b"x").ping(SCANNER, host(target));
    }
    for port in 1..=400 {
        made.datagram((SCANNER, 50_001), (host(1), port), b"x");
    }
    let events = made.found();
    for (kind, protocol) in [("scan.udp-sweep", 17), ("scan.icmp-sweep", 1), ("scan.vertical", 17)] {
        let found = events.iter().filter(|event| event.kind == kind).collect::<Vec<_>>();
        assert!(!found.is_empty(), "{kind}");
        assert!(found.iter().all(|event| event.key.unwrap().protocol == protocol), "{found:?}");
    }
}

/// An event comes seconds after the threshold, not when connections time out.
#[test]
fn probes_without_an_answer_are_reported_within_seconds() {
    let mut made = Made::new();
    for target in 0..30 {
        made.syn((SCANNER, 40_000), (host(target), 23)).ping(SCANNER, host(target));
        // Answered, and not completed.
        made.syn((SCANNER, 40_000), (host(target), 24));
        made.segment((host(target), 24), (SCANNER, 40_000), SYN | ACK, (1, 1001), b"");
    }
    // Other traffic goes on for some seconds: no timeout of the engine has passed.
    let question = |made: &mut Made, port| {
        made.datagram((CLIENT, port), (host(9000), 53), b"q").datagram((host(9000), 53), (CLIENT, port), b"a");
    };
    for second in 0..15 {
        question(made.wait(1000), 5000 + second);
    }
    made.connection((CLIENT, 6000), (host(9001), 80), &[b"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$"]);
    question(made.wait(1000), 6000);
    let events = made.found();
    let before = kinds(&events).into_iter().take_while(|kind| *kind != "match.eicar").collect::<Vec<_>>();
    assert!(before.len() < events.len(), "{:?}", kinds(&events));
    let count = |kind| before.iter().filter(|found| **found == kind).count();
    assert_eq!((count("scan.horizontal"), count("scan.icmp-sweep")), (2, 1), "{before:?}");
    // Nothing is counted twice when the streams end.
    assert!(
        events.iter().filter(|event| event.analyzer == "scan").all(|event| number(event, "attempts") <= 30),
        "{events:?}"
    );
}

#[test]
fn what_ordinary_hosts_do_is_no_scan() {
    let mut made = Made::new();
    for number in 0..500 {
        // A browser, a resolver, a monitor, and who announces himself.
        made.connection((CLIENT, 10_000 + number), (host(number), 443), &[b"hello"]);
        made.datagram((CLIENT, 20_000 + number), (host(number), 53), b"q");
        made.datagram((host(number), 53), (CLIENT, 20_000 + number), b"a");
        made.ping(CLIENT, host(number)).pong(host(number), CLIENT);
        made.datagram((CLIENT, 1900), ([239, 255, (number >> 8) as u8, number as u8], 1900), b"x");
        // Answers whose questions were not captured.
        made.datagram(([198, 51, 100, 1], 53), (CLIENT, 30_000 + number), b"a");
    }
    // A server that is down: 900 clients in a minute; one of them tries for hours.
    for number in 0..900 {
        made.syn(([172, 16, (number >> 8) as u8, number as u8], 5000), (host(600), 8080));
    }
    for number in 0..200 {
        made.wait(60_000).refused((CLIENT, 40_000), (host(number), 9999));
        made.refused((CLIENT, 40_000), (host(700), 20_000 + number / 10));
    }
    assert_eq!(kinds(&made.found()), Vec::<&str>::new());
}

#[test]
fn a_window_of_silence_ends_a_scan() {
    let mut made = Made::new();
    for target in 0..40 {
        made.refused((SCANNER, 40_000), (host(target), 22));
    }
    made.wait(400_000);
    for target in 0..30 {
        made.refused((SCANNER, 40_000), (host(1000 + target), 22));
    }
    let events = made.found();
    let phases: Vec<_> = events.iter().map(|event| (text(event, "phase"), number(event, "attempts"))).collect();
    assert_eq!(phases, [("begun", 25), ("over", 40), ("begun", 25), ("over", 30)]);
}

#[test]
fn thresholds_are_settings() {
    let mut made = Made::new();
    for target in 0..10 {
        made.syn((SCANNER, 40_000), (host(target), 22));
    }
    assert_eq!(made.found(), []);
    let mut settings = Settings::default();
    settings.scan.hosts = 5;
    assert_eq!(kinds(&made.analyzed(&settings, 1)), ["scan.horizontal"; 2]);
    settings.scan.enabled = false;
    assert_eq!(made.analyzed(&settings, 1), []);
}

/// A source's streams belong to all workers: what they see is counted together.
#[test]
fn workers_count_together() {
    let mut made = Made::new();
    for target in 0..500 {
        made.syn((SCANNER, 40_000), (host(target), 445));
    }
    for workers in [1, 2, 4] {
        let events = made.analyzed(&Settings::default(), workers);
        let begun = events.iter().filter(|event| text(event, "phase") == "begun").collect::<Vec<_>>();
        assert_eq!((begun.len(), number(begun[0], "hosts")), (1, 25), "{workers} workers: {events:?}");
        assert_eq!(number(events.last().unwrap(), "attempts"), 500, "{workers} workers");
    }
}

/// Sources that are forged by the thousand do not hide who scans at the same time.
#[test]
fn a_flood_of_sources_does_not_hide_a_scan() {
    let mut made = Made::new();
    let mut settings = Settings::default();
    settings.scan.entries = 256;
    for target in 0..60_u16 {
        for forged in 0..20_u16 {
            let number = target * 20 + forged;
            made.syn(([172, 16, (number >> 8) as u8, number as u8], 5000), (host(5000), 80));
        }
        made.syn((SCANNER, 40_000), (host(target), 22)).syn((SCANNER, 40_000), (host(target + 1000), 22));
    }
    let events = made.analyzed(&settings, 1);
    assert!(events.iter().any(|event| event.kind == "scan.horizontal"), "{:?}", kinds(&events));
}
