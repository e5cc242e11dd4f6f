//! Output for people: columns, times, directions, and optional parts of a command line.

use tidewire_testing::InTime as _;

use crate::common::*;

/// Standard output, standard error and exit code in 80 columns and a time zone.
fn seen(zone: &str, arguments: &[&str]) -> (String, String, i32) {
    let output = command(arguments).env("COLUMNS", "80").env("TZ", zone).run_in_time().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn first_line(zone: &str, arguments: &[&str]) -> String {
    seen(zone, arguments).0.lines().next().unwrap_or_default().to_owned()
}

const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";

#[test]
fn columns_are_chosen() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let (text, _, code) = seen("UTC", &["flows", &capture, "tcp", "--columns", "server,bytes_c2s,id"]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["SERVER           BYTES>  ID", "198.51.100.2:80   218 B   1"]);
    assert!(lines.iter().all(|line| !line.starts_with(' ')), "who has chosen columns gets no others: {text}");
    let (text, ..) = seen("UTC", &["streams", &capture, "tcp", "--columns=-state,-end,-proto"]);
    assert!(text.starts_with("ID  START (UTC)"), "{text}");
    assert!(!text.contains("STATE") && !text.contains("PROTO"), "{text}");
    // A requested column is always shown, even if it is empty.
    let (text, ..) = seen("UTC", &["flows", &capture, "udp", "--columns", "+community_id,+retransmitted"]);
    assert!(text.contains("COMMUNITY ID") && text.contains("RETRANS") && text.contains("1:"), "{text}");
    let (text, ..) = seen("UTC", &["flows", &capture, "--wide"]);
    for title in ["START (UTC)", "FLAGS>", "<PACKETS", "VLAN/TUNNEL", "COMMUNITY ID"] {
        assert!(text.contains(title), "{title} in {text}");
    }
    for (command, columns, first) in [
        (&["datagrams"][..], "source,rejected", "SOURCE     REJECTED"),
        (&["match", "-e", "HTTP"], "offset,stream", "OFFSET  STREAM"),
    ] {
        let line = first_line("UTC", &[command, &[&capture, "--columns", columns]].concat());
        assert_eq!(line, first);
    }
    let (_, message, code) = seen("UTC", &["flows", &capture, "--columns", "colour"]);
    assert!(code == 2 && message.contains("unknown column 'colour'; expected id, start, duration"), "{message}");
    let (_, message, code) = seen("UTC", &["flows", &capture, "--columns", "id,+start"]);
    assert!(code == 2 && message.contains("either a list of columns, or only changes"), "{message}");
}

/// Every value of a record is a column of its table under its own name, and every number a key of the order.
#[test]
fn values_are_columns_and_numbers_are_keys() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let shown = |words: &[&str]| seen("UTC", &[words, &[&capture]].concat()).0;
    let lines =
        |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    let flows = lines(&shown(&["flows", "-F", "tcp", "--columns", "id,payload_bytes_s2c,client_port"]));
    let csv = lines(&shown(&["flows", "-F", "tcp", "--csv", "--columns", "id,payload_bytes_s2c,client_port"]));
    assert_eq!(flows[0], "ID PAYLOAD BYTES S2C CLIENT PORT");
    let plain = |line: &str| line.replace(" B ", " ");
    let values: Vec<String> = flows[1..csv.len()].iter().map(|line| plain(line).replace(' ', ",")).collect();
    assert_eq!(values, csv[1..]);
    for (command, name, title) in [
        (&["streams"][..], "delivered_bytes_c2s", "DELIVERED BYTES C2S"),
        (&["transactions"], "server_addr", "SERVER ADDR"),
        (&["match", "-e", "HTTP"], "length", "LENGTH"),
    ] {
        let first = first_line("UTC", &[command, &[&capture, "--columns", name]].concat());
        assert_eq!(first, title, "{command:?}");
    }
    let ids = |words: &[&str]| lines(&shown(&[&["flows", "--csv", "--columns", "id"], words].concat()))[1..].to_vec();
    let by = |key: &str| {
        let text = shown(&["flows", "--csv", "--columns", key]);
        text.lines()
            .skip(1)
            .map(|line| line.split(',').map(|part| part.parse::<u64>().unwrap()).sum())
            .collect::<Vec<_>>()
    };
    for (key, columns) in [("frames", "frames_c2s,frames_s2c"), ("payload_bytes_c2s", "payload_bytes_c2s")] {
        let mut expected: Vec<(u64, String)> = by(columns).into_iter().zip(ids(&[])).collect();
        expected.sort_by_key(|(number, id)| (*number, id.parse::<u64>().unwrap()));
        let expected: Vec<String> = expected.into_iter().map(|(_, id)| id).collect();
        assert_eq!(ids(&["--sort", key]), expected, "{key}");
        assert_eq!(ids(&["--top", key, "--limit", "1"]), expected[expected.len() - 1..], "{key}");
    }
    let (_, message, code) = seen("UTC", &["flows", &capture, "--sort", "colour"]);
    assert!(code == 2 && message.contains("id, start, end"), "{message}");
}

#[test]
fn comma_separated_values_have_chosen_columns_and_readable_times() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let csv = |options: &[&str]| seen(NEW_YORK, &[&["flows", &capture, "--csv", "--limit", "1"], options].concat()).0;
    assert_eq!(csv(&["--columns", "server_port,id,start_ns"]), "server_port,id,start_ns\n80,1,1700000000000000000\n");
    let columns = ["--columns", "start_time,end_time"];
    let with = |form: &str| csv(&[&columns[..], &["--time", form]].concat());
    let expected = |start: &str, end: &str| format!("start_time,end_time\n{start},{end}\n");
    assert_eq!(with("utc"), expected("2023-11-14 22:13:20.000000000Z", "2023-11-14 22:13:20.007000000Z"));
    assert_eq!(with("local"), expected("2023-11-14 17:13:20.000000000-05:00", "2023-11-14 17:13:20.007000000-05:00"));
    assert_eq!(with("iso"), expected("2023-11-14T17:13:20.000000000-05:00", "2023-11-14T17:13:20.007000000-05:00"));
    assert_eq!(with("epoch"), expected("1700000000.000000000", "1700000000.007000000"));
    // Without --time the names and values are those of the contract.
    assert!(csv(&[]).contains(",start_ns,end_ns,") && csv(&[]).contains(",1700000000000000000,"));
    // Names of the table stand for their values.
    assert_eq!(
        csv(&["--columns", "start,client"]),
        "start_ns,client_addr,client_port\n1700000000000000000,192.0.2.1,40000\n"
    );
    assert!(csv(&["--columns=-client,-start"]).starts_with("id,proto,server_addr"), "{}", csv(&["--columns=-client"]));
    for (command, names) in [
        (
            "flows",
            "id,start,duration,proto,client,server,packets,bytes,state,end,flags_c2s,flags_s2c,packets_c2s,packets_s2c,bytes_c2s,bytes_s2c,retransmitted,reordered,missing,tunnel,community_id",
        ),
        (
            "streams",
            "id,start,duration,proto,client,server,bytes_c2s,bytes_s2c,state,end,retransmitted,reordered,missing,tunnel",
        ),
        ("datagrams", "packet,proto,source,destination,ip_id,fragments,overlaps,bytes,policy,rejected"),
    ] {
        for name in names.split(',') {
            let (text, message, code) = seen("UTC", &[command, &capture, "--csv", "--columns", name]);
            assert!(code == 0 && text.lines().count() > 1, "{command} {name}: {message}");
        }
    }
    let patterns = seen("UTC", &["match", &capture, "--csv", "-e", "/ HTTP", "--columns", "pattern,offset"]).0;
    assert_eq!(patterns, "pattern,offset\n\"/ HTTP\",4\n");
}

#[test]
fn times_are_those_of_the_zone_and_name_it() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let (text, ..) = seen(NEW_YORK, &["flows", &capture, "--columns=-service"]);
    assert!(text.starts_with("ID  START (EST)   PROTO") && text.contains(" 1  17:13:20.000  tcp"), "{text}");
    assert!(text.contains(" from 2023-11-14 17:13:20 EST\n"), "{text}");
    let (text, ..) = seen(NEW_YORK, &["flows", &capture, "--time", "utc", "--wide"]);
    assert!(text.contains(" START (UTC) ") && text.contains(" 2023-11-14 22:13:20.000000 "), "{text}");
    let (text, ..) = seen(NEW_YORK, &["streams", &capture, "--time", "iso"]);
    assert!(text.contains(" START  ") && text.contains(" 2023-11-14T17:13:20.000000-05:00 "), "{text}");
    let (text, ..) = seen(NEW_YORK, &["streams", &capture, "--time", "epoch"]);
    assert!(text.contains("START (s since 1970)") && text.contains(" 1700000000.000000 "), "{text}");
    let (text, message, code) = seen("No/Where", &["flows", &capture, "--columns=-service"]);
    assert!(code == 0 && message.contains("TZ=No/Where: no such time zone here; times are in UTC"), "{message}");
    assert!(text.contains("START (UTC)"), "{text}");
    let (text, ..) = seen(NEW_YORK, &["follow", &capture, "1"]);
    assert!(text.starts_with("tcp 192.0.2.1:40000 > 198.51.100.2:80, 2023-11-14 17:13:20 EST\n"), "{text}");
}

#[test]
fn a_conversation_without_colours_says_who_speaks() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let (text, ..) = seen("UTC", &["follow", &capture, "1"]);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines, ["> GET / HTTP/1.0", "> ", "< HTTP/1.0 200 OK", "< ", "< hello"]);
    // A line that continues in the next segment has one mark.
    let (text, ..) = seen("UTC", &["follow", &capture, "9"]);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines, ["> one ", "< fine", "[c2s: 4 bytes missing at 4, not captured]", "> three"]);
    let (text, ..) = seen("UTC", &["follow", &capture, "1", "--direction", "s2c"]);
    assert_eq!(text, "HTTP/1.0 200 OK\n\nhello\n");
    let (text, ..) = seen("UTC", &["follow", &capture, "1", "--as", "raw"]);
    assert_eq!(text, "GET / HTTP/1.0\r\n\r\nHTTP/1.0 200 OK\r\n\r\nhello");
}

#[test]
fn a_filter_expression_needs_no_dashes() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let config = bench.file("files.toml", format!("files = ['{capture}']\n").as_bytes());
    let expected = text(&["flows", "--json", &capture, "-F", "udp and port 53"]);
    assert_eq!(expected.0.lines().count(), 1);
    assert_eq!(text(&["flows", "--json", &capture, "udp", "and", "port", "53"]), expected);
    assert_eq!(text(&["flows", &capture, "udp and port 53", "--json"]), expected);
    assert_eq!(text(&["flows", "--json", "--config", &config, "udp", "and", "port", "53"]), expected);
    let follow = text(&["follow", &capture, "18"]);
    assert!(follow.0.contains("question") && follow.1 == 0, "{follow:?}");
    assert_eq!(text(&["follow", &capture, "18", "udp"]), follow);
    assert_eq!(text(&["follow", "--config", &config, "18", "udp"]), follow);
    let wrong: [(&[&str], &str, i32); 6] = [
        (&["tcp", "port", "80"], "no input before the filter expression 'tcp port 80'", 2),
        (&[&capture, "tcp", "prot", "80"], "tcp prot 80", 2),
        (&[&capture, "-F", "udp", "tcp"], "two filter expressions: 'udp' and 'tcp'", 2),
        (&[&capture, "tcp", &capture], "name captures before it", 2),
        (
            &[&capture, "http", "port", "80"],
            "http: no such file; to begin a filter expression with it, write -- before it",
            3,
        ),
        (&["-i", "lo", &capture, "tcp"], "cannot read a file", 2),
    ];
    for (arguments, expected, wanted) in wrong {
        let (message, code) = complaint(&[&["flows"], arguments].concat());
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert_eq!(code, wanted, "{arguments:?}: {message}");
    }
}

#[test]
fn the_closing_line_says_what_was_delivered() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"question"), (true, &[b'x'; 1000])]);
    let capture = bench.file("long.pcap", pcap.bytes());
    let last = |options: &[&str]| seen("UTC", &[&["streams", &capture], options].concat()).0;
    assert!(last(&[]).contains("\n1 stream, 8 packets, 1.0 kB reassembled in 7.0ms from "), "{}", last(&[]));
    let cut = last(&["--cutoff", "100"]);
    assert!(cut.contains("\n1 stream, 8 packets, 108 B delivered, 900 B beyond the cutoff\nin 7.0ms"), "{cut}");
    assert!(cut.contains("\n    s2c cut off at 100: 900 bytes not delivered\n") && !cut.contains("gap"), "{cut}");
    let track = last(&["--mode", "track"]);
    assert!(track.contains(", 1.0 kB not delivered (--mode track)\nin 7.0ms"), "{track}");
    let empty = bench.file("empty.pcap", Pcap::new().bytes());
    assert_eq!(seen("UTC", &["flows", &empty]).0, "0 flows, 0 packets, 0 B in 0s of traffic\n");
}

#[test]
fn packets_of_no_flow_are_accounted_for() {
    let bench = Bench::new();
    let last = |name: &str, pcap: &Pcap, options: &[&str]| {
        let capture = bench.file(name, pcap.bytes());
        let (text, ..) = seen("UTC", &[&["flows", &capture], options].concat());
        text.lines().last().unwrap_or_default().to_owned()
    };
    let pcap = mixed();
    let (text, ..) = seen("UTC", &["streams", &bench.file("mixed.pcap", pcap.bytes())]);
    let joined = text.replace('\n', " ");
    let expected = format!(
        "{} packets read, among them 2 fragments of 1 datagram, 1 fragment of incomplete datagrams, 1 of ARP ",
        pcap.packets
    );
    assert!(joined.ends_with(&expected), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let mut malformed = Pcap::new();
    (0..6).for_each(|_| malformed.frame(&[&[0; 12][..], &[8, 0, 0x45, 0]].concat()));
    assert_eq!(last("malformed.pcap", &malformed, &[]), "6 packets read: 6 malformed");
    let mut plain = Pcap::new();
    conversation(&mut plain, 40_000, &[(false, b"question")]);
    assert!(last("plain.pcap", &plain, &[]).starts_with("1 flow, 7 packets"));
    // Filtered packets are not reported, unless all were filtered.
    assert!(last("mixed.pcap", &pcap, &["-F", "port 53"]).starts_with("1 flow, 2 packets"));
    assert_eq!(last("plain.pcap", &plain, &["-F", "udp"]), "the filter accepted none of 7 packets");
    let mut tagged = Pcap::new();
    Talk::new(40_000).vlan(7).handshake(&mut tagged);
    let expected = "the filter accepted none of 3 packets ('vlan and (tcp)' reaches tagged frames)";
    assert_eq!(last("tagged.pcap", &tagged, &["tcp"]), expected);
    assert_eq!(last("tagged.pcap", &tagged, &["udp"]), "the filter accepted none of 3 packets");
    let capture = bench.file("tagged.pcap", tagged.bytes());
    let (text, ..) = seen("UTC", &["match", "-e", "x", &capture, "-F", "tcp"]);
    assert_eq!(text, format!("0 matches in 0 streams\n{expected}\n"));
    let (text, ..) = seen("UTC", &["flows", "--json", &capture, "tcp"]);
    assert!(text.is_empty(), "{text}");
}

#[test]
fn habits_of_other_tools_are_answered() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let cases: [(&[&str], &str); 7] = [
        (&["flows", "-r", &capture], "name the capture file without -r: tidewire flows capture.pcap"),
        (&["flows", "-n", &capture], "addresses are never resolved"),
        (&["flows", &capture, "ip.addr==192.0.2.1"], "as in: host 192.0.2.1"),
        (&["flows", &capture, "tcp.port", "==", "80"], "as in: tcp port 80"),
        (&["flows", &capture, "-F", "tcp.port == 80"], "as in: tcp port 80"),
        (&["follow", &capture, "1", "ip.addr==192.0.2.1"], "as in: host 192.0.2.1"),
        (&["flows", "-i", "none0,none1"], "-i none0:none1"),
    ];
    for (arguments, expected) in cases {
        let (message, code) = complaint(arguments);
        assert!(message.contains(expected) && code == 2, "{arguments:?}: {message}");
    }
    let follow = |direction: &str| text(&["follow", &capture, "1", "--direction", direction]);
    assert_eq!(follow("client"), follow("c2s"));
    assert_eq!(follow("server"), follow("s2c"));
}

#[test]
fn many_gaps_are_counted() {
    let bench = Bench::new();
    let gaps = |count: usize| {
        let mut pcap = Pcap::new();
        let mut talk = Talk::new(40_000);
        talk.handshake(&mut pcap);
        for _ in 0..count {
            talk.skip(false, 100);
            talk.say(&mut pcap, false, b"here");
            talk.say(&mut pcap, true, b"got it");
        }
        talk.goodbye(&mut pcap);
        seen("UTC", &["streams", &bench.file("gaps.pcap", pcap.bytes()), "--digest", "sha256"]).0
    };
    let many = gaps(18);
    assert_eq!(many.matches("c2s gap at").count(), 3, "{many}");
    assert!(many.contains("\n    and 15 more gaps, 1.5 kB (--json lists all)\n"), "{many}");
    assert!(many.contains(", c2s 1.8 kB missing\n"), "{many}");
    // A single other entry takes the line of the count.
    let few = gaps(4);
    assert!(few.matches("c2s gap at").count() == 4 && !few.contains("more gaps"), "{few}");
}

#[test]
fn the_help_is_short_or_long() {
    let help = |arguments: &[&str]| text(arguments).0;
    let (short, long) = (help(&["flows", "-h"]), help(&["flows", "--help"]));
    assert!(short.lines().count() * 3 < long.lines().count(), "{short}");
    assert!(
        short.contains("\nExamples:\n  tidewire flows capture.pcap\n") && long.contains("\nExamples:\n"),
        "{short}"
    );
    assert!(!short.contains("--fragment-min") && long.contains("--fragment-min"), "{short}");
    for help in [help(&["-h"]), help(&["--help"])] {
        let places: Vec<Option<usize>> = [
            "Look at traffic",
            "  flows ",
            "Capture:",
            "  count ",
            "Existing programs:",
            "  run ",
            "Make traffic:",
            "  gen ",
        ]
        .map(|part| help.find(part))
        .to_vec();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{help}");
        assert!(help.contains("  tidewire follow capture.pcap 6  "), "{help}");
    }
    assert!(!help(&["-h"]).contains("Exit status:") && help(&["--help"]).contains("Exit status:"));
}
