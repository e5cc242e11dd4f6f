//! Matched, followed and extracted bytes: across borders, with holes and limits.

use std::net::Ipv4Addr;

use crate::common::*;

/// One stream whose bytes arrive in pieces of the given sizes.
fn pieces(bytes: &[u8], sizes: &[usize]) -> Pcap {
    let mut pcap = Pcap::new();
    let mut talk = Talk::new(4000);
    talk.handshake(&mut pcap);
    let (mut at, mut sizes) = (0, sizes.iter().cycle());
    while at < bytes.len() {
        let end = (at + sizes.next().unwrap()).min(bytes.len());
        talk.say(&mut pcap, true, &bytes[at..end]);
        at = end;
    }
    talk.goodbye(&mut pcap);
    pcap
}

#[test]
fn matches_across_segments_chunks_and_not_across_gaps() {
    let bench = Bench::new();
    let bytes = [&[b'.'; 1000][..], b"needle", &[b'.'; 500], b"NEEDLE", &[b'.'; 3]].concat();
    for sizes in [&[1][..], &[1003], &[7, 400, 3], &[1400]] {
        let capture = bench.file("pieces.pcap", pieces(&bytes, sizes).bytes());
        for options in [&[][..], &["--chunk-size", "64"], &["--chunk-size", "300", "--overlap", "20"]] {
            // By samples, by the automaton (a short pattern), and without regard to case.
            let base = [&["match", "--json", &capture, "-e", "needle"], options].concat();
            assert_eq!(json(&base).len(), 1, "{sizes:?} {options:?}");
            assert_eq!(json(&base)[0]["offset"], 1000);
            assert_eq!(json(&[&base[..], &["-e", "!?"]].concat()).len(), 1);
            let folded = json(&[&base[..], &["-I"]].concat());
            let offsets: Vec<u64> = folded.iter().map(|one| one["offset"].as_u64().unwrap()).collect();
            assert_eq!(offsets, [1000, 1506], "{sizes:?} {options:?}");
        }
    }
    let mut pcap = Pcap::new();
    let mut talk = Talk::new(4000);
    talk.handshake(&mut pcap);
    talk.say(&mut pcap, false, b"nee");
    talk.skip(false, 1);
    talk.say(&mut pcap, false, b"dle");
    talk.say(&mut pcap, true, b"ok");
    talk.goodbye(&mut pcap);
    let capture = bench.file("gap.pcap", pcap.bytes());
    assert_eq!(text(&["match", "--json", &capture, "-e", "needle"]), (String::new(), 1));
}

#[test]
fn limits_of_matching() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for port in 1..4 {
        conversation(&mut pcap, port, &[(false, b"spam spam"), (true, b"spam spam spam")]);
    }
    let capture = bench.file("spam.pcap", pcap.bytes());
    let count = |options: &[&str]| json(&[&["match", "--json", &capture, "-e", "spam"], options].concat()).len();
    assert_eq!(count(&[]), 15);
    assert_eq!(count(&["--limit", "4"]), 4);
    assert_eq!(count(&["--stop-after", "7"]), 7);
    assert_eq!(count(&["--stop-after-stream", "2"]), 6);
    assert_eq!(count(&["--stop-after", "3", "--stop-after-stream", "2"]), 3);
    let file = bench.file("patterns", b"spam\n|73 70|am\r\n");
    let (text, _) = text(&["match", &capture, "-f", &file, "--count"]);
    assert_eq!(text, "MATCHES  PATTERN\n     15  spam\n     15  |73 70|am\n30 matches in 3 streams\n");
}

#[test]
fn datagrams_are_no_stream() {
    let bench = Bench::new();
    let (a, b) = ("192.0.2.1".parse().unwrap(), "198.51.100.2".parse().unwrap());
    let mut pcap = Pcap::new();
    pcap.frame(&ipv4(a, b, 17, 1, 0, &udp(a, b, (5000, 53), b"need")));
    pcap.frame(&ipv4(a, b, 17, 2, 0, &udp(a, b, (5000, 53), b"le and needle")));
    let capture = bench.file("udp.pcap", pcap.bytes());
    let matches = json(&["match", "--json", &capture, "-e", "needle"]);
    assert_eq!(matches.len(), 1);
    assert_eq!(matches[0]["offset"], 4 + 7);
}

#[test]
fn forms_of_following() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let follow = |options: &[&str], id: &str| text(&[&["follow", &capture], options, &[id]].concat()).0;
    let ends = "tcp 192.0.2.1:40000 > 198.51.100.2:80, 2023-11-14 22:13:20 UTC";
    assert_eq!(follow(&[], "1"), format!("{ends}\n> GET / HTTP/1.0\n> \n< HTTP/1.0 200 OK\n< \n< hello\n"));
    assert_eq!(follow(&["--as", "raw", "--direction", "s2c"], "1"), "HTTP/1.0 200 OK\r\n\r\nhello");
    assert_eq!(follow(&["--as", "raw", "--limit", "1"], "1"), "GET / HTTP/1.0\r\n\r\n");
    assert!(follow(&["--direction", "c2s"], "9").contains("[c2s: 4 bytes missing at 4, not captured]"));
    let hex = follow(&["--as", "hex"], "1");
    let first = "c2s 00000000  47 45 54 20 2f 20 48 54  54 50 2f 31 2e 30 0d 0a  GET / HTTP/1.0..";
    assert_eq!(hex.lines().take(2).collect::<Vec<_>>(), [ends, first]);
    assert_eq!(text(&["follow", &capture, "--stream", "1", "--as", "raw"]).0.len(), 42);
}

#[test]
fn text_of_a_stream_cannot_upset_a_terminal() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 1, &[(false, b"\x1b[31mred\xff\x07\xc3\xa9\n< forged\n"), (true, b"plain")]);
    let capture = bench.file("escape.pcap", pcap.bytes());
    assert_eq!(text(&["follow", &capture, "1", "--direction", "c2s"]).0, ".[31mred..\u{e9}\n< forged\n");
    // One side's bytes cannot imitate the other's: every line has its mark.
    let (text, _) = text(&["follow", &capture, "1"]);
    assert!(text.ends_with(" UTC\n> .[31mred..\u{e9}\n> < forged\n< plain\n"), "{text}");
}

#[test]
fn what_is_written_for_missing_bytes() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let cases: [(&str, &[u8]); 6] = [
        ("skip", b"one three"),
        ("zero", b"one \0\0\0\0three"),
        ("?", b"one ????three"),
        ("0x2e", b"one ....three"),
        ("marker", b"one \n[4 bytes missing at 4: not captured]\nthree"),
        ("0", b"one 0000three"),
    ];
    for (index, (fill, expected)) in cases.into_iter().enumerate() {
        let out = bench.path(&index.to_string());
        let (_, code) = text(&["extract", &capture, "-o", out.to_str().unwrap(), "--fill", fill]);
        assert_eq!(code, 0);
        let name = "00000009-tcp-192.0.2.1.40001-198.51.100.2.80.c2s";
        assert_eq!(std::fs::read(out.join(name)).unwrap(), expected, "{fill}");
    }
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path("out");
    let extract = ["extract", &capture, "-o", out.to_str().unwrap()];
    assert_eq!(run(&extract).status.code(), Some(0));
    let (message, code) = complaint(&extract);
    assert!(message.contains("is not empty") && code == 2);
    assert_eq!(run(&[&extract[..], &["--force", "--max-open", "1"]].concat()).status.code(), Some(0));
    let hidden = std::fs::read_dir(&out)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn cutoffs_reach_the_files() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path("out");
    let (_, code) =
        text(&["extract", &capture, "-o", out.to_str().unwrap(), "--cutoff", "5", "--fill", "zero", "-F", "tcp"]);
    assert_eq!(code, 0);
    let name = "00000001-tcp-192.0.2.1.40000-198.51.100.2.80.s2c";
    assert_eq!(std::fs::read(out.join(name)).unwrap(), b"HTTP/");
}

/// A full list is not reported as complete, nor as available in JSON.
#[test]
fn lists_that_are_full_are_said_to_be() {
    let bench = Bench::new();
    for (gaps, wanted) in [(200, "and 197 more gaps, 197 B (--json lists all)"), (300, "and at least 253 more gaps")] {
        let mut pcap = Pcap::new();
        let mut talk = Talk::new(40_000);
        talk.handshake(&mut pcap);
        for _ in 0..gaps {
            talk.say(&mut pcap, false, b"said");
            talk.skip(false, 1);
            talk.say(&mut pcap, true, b"heard");
        }
        talk.say(&mut pcap, false, b"end");
        talk.goodbye(&mut pcap);
        let capture = bench.file("gaps.pcap", pcap.bytes());
        let (text, _) = text(&["streams", &capture]);
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains(&format!("{gaps} B missing")), "sums go on: {text}");
        let listed = json(&["streams", &capture, "--json"])[0]["c2s"]["gaps"].as_array().unwrap().len();
        assert_eq!(listed, gaps.min(256));
    }
}

/// Evicted flows are always reported.
#[test]
fn too_little_memory_is_refused() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    for port in 0..20_000_u16 {
        let (client, server) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
        pcap.frame(&ipv4(client, server, 17, port, 0, &udp(client, server, (20_000 + port, 53), b"question")));
    }
    let capture = bench.file("many.pcap", pcap.bytes());
    let said = |memory: &str| {
        let output = run(&["flows", &capture, "--limit", "1", "--memory", memory]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let little = said("2M");
    assert!(little.contains("flows and 0 half-open connections were evicted"), "{little}");
    assert!(little.contains("raise --memory"), "{little}");
    assert!(!said("64M").contains("were evicted"));
}
