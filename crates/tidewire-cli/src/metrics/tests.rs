use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use tidewire::{
    Fate,
    live::{
        CaptureMethod, InterfaceCounts, InterfaceReport, InterfaceState, KernelCounters, LiveReport, RingCounts,
        WorkerReport,
    },
};

use super::*;

fn report() -> LiveReport {
    let mut counts = InterfaceCounts::default();
    (counts.rx_packets, counts.rx_bytes, counts.rx_dropped) = (1_000_000_007, 64_000, 3);
    let mut kernel = KernelCounters::default();
    (kernel.received, kernel.filtered, kernel.cut, kernel.delivered) = (1000, 500, 300, 190);
    (kernel.shed[2], kernel.absent) = (9, 1);
    let interface = |name: &str, counts: Option<InterfaceCounts>| {
        let mut interface = InterfaceReport::default();
        interface.name = name.into();
        interface.state = if counts.is_some() { InterfaceState::Up } else { InterfaceState::Gone };
        interface.description = "packet socket, TPACKET_V3 (AF_XDP would take frames away)".into();
        (interface.kernel, interface.counts, interface.steered_out) = (counts.map(|_| kernel), counts, 6);
        interface
    };
    let mut rings = RingCounts::default();
    (rings.received, rings.dropped, rings.calls) = (90, 7, 11);
    let mut worker = WorkerReport::default();
    (worker.rings, worker.frames, worker.ring_level_permille) = (rings, 90, 250);
    (worker.buffered_bytes, worker.memory_bytes) = (4096, 64 << 20);
    (worker.ledger.received, worker.ledger.delivered_bytes) = (90, 12_345);
    worker.ledger.settle_many(Fate::Tracked, 80);
    worker.ledger.settle_many(Fate::BeyondCutoff, 10);
    (worker.ledger.streams_opened, worker.ledger.streams_closed) = (9, 4);
    let mut other = worker.clone();
    other.frames = 1;
    let interfaces = vec![interface("eth0", Some(counts)), interface("bad\"\\\u{1b}[2J\n\u{202e}", None)];
    LiveReport::new(Duration::from_millis(1500), interfaces, vec![worker, other])
}

/// A server with that report.
fn started() -> Metrics {
    let mut metrics = Metrics::bind("127.0.0.1:0").unwrap_or_else(|_| panic!("no free port"));
    metrics.publish(&report(), Vec::new());
    assert!(metrics.start().is_ok());
    metrics
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn scrape(address: SocketAddr) -> String {
    ask(address, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
}

/// Parses OpenMetrics: families with contiguous lines, each sample once, `# EOF` at the end.
fn parse(body: &str) -> BTreeMap<String, f64> {
    let (mut figures, mut family, mut kind) = (BTreeMap::new(), String::new(), String::new());
    let lines: Vec<_> = body.lines().collect();
    assert_eq!(lines.last(), Some(&"# EOF"));
    for line in &lines[..lines.len() - 1] {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split(' ').next().expect("a name").to_owned();
            assert!(help.len() > family.len() + 8, "{line}");
        } else if let Some(form) = line.strip_prefix("# TYPE ") {
            kind = form.strip_prefix(&format!("{family} ")).expect("its family's").to_owned();
            assert!(["counter", "gauge"].contains(&kind.as_str()), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let bare = name.split('{').next().expect("a name");
            let expected = if kind == "counter" { format!("{family}_total") } else { family.clone() };
            assert_eq!(bare, expected, "{line}");
            assert!(figures.insert(name.to_owned(), value.parse().expect("a number")).is_none(), "{line} twice");
        }
    }
    figures
}

#[test]
fn a_scrape_says_what_the_report_says() {
    let metrics = started();
    let answer = scrape(metrics.address());
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("application/openmetrics-text; version=1.0.0"));
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
    let figures = parse(body);
    for (name, value) in [
        ("tidewire_elapsed_seconds", 1.5),
        ("tidewire_interface_present{interface=\"eth0\",engine=\"packet\"}", 1.0),
        ("tidewire_interface_present{interface=\"bad\\\"\\\\\\\\u{1b}[2J\\\\n\\\\u{202e}\",engine=\"packet\"}", 0.0),
        ("tidewire_interface_received_packets_total{interface=\"eth0\"}", 1_000_000_007.0),
        ("tidewire_interface_dropped_packets_total{interface=\"eth0\"}", 3.0),
        ("tidewire_kernel_received_packets_total{interface=\"eth0\"}", 1000.0),
        ("tidewire_kernel_packets_total{interface=\"eth0\",place=\"cut\"}", 300.0),
        ("tidewire_kernel_shed_packets_total{interface=\"eth0\",priority=\"2\"}", 9.0),
        ("tidewire_steered_out_packets_total{interface=\"eth0\"}", 6.0),
        ("tidewire_ring_dropped_packets_total{worker=\"0\"}", 7.0),
        ("tidewire_ring_level_ratio{worker=\"1\"}", 0.25),
        ("tidewire_worker_packets_total{worker=\"0\"}", 90.0),
        ("tidewire_worker_packets_total{worker=\"1\"}", 1.0),
        ("tidewire_worker_buffered_bytes{worker=\"0\"}", 4096.0),
        ("tidewire_packets_received_total", 180.0),
        ("tidewire_packets_total{fate=\"tracked\"}", 160.0),
        ("tidewire_packets_total{fate=\"beyond_cutoff\"}", 20.0),
        ("tidewire_streams_open", 10.0),
        ("tidewire_delivered_bytes_total", 24_690.0),
    ] {
        assert_eq!(figures.get(name), Some(&value), "{name} in\n{body}");
    }
    let fates: f64 =
        figures.iter().filter(|(name, _)| name.starts_with("tidewire_packets_total{")).map(|one| one.1).sum();
    assert_eq!(fates, 180.0, "every packet has one fate");
    let places = figures.iter().filter(|(name, _)| name.starts_with("tidewire_kernel_packets_total{"));
    assert_eq!(places.map(|one| one.1).sum::<f64>(), 1000.0, "and one place in the kernel");
    let received = figures.keys().filter(|name| name.starts_with("tidewire_interface_received_packets_total{"));
    assert_eq!(received.count(), 1, "the other interface has gone");
}

#[test]
fn only_requests_for_metrics_are_answered() {
    let metrics = started();
    let status = |request: &[u8]| ask(metrics.address(), request)[9..12].to_owned();
    assert_eq!(status(b"GET /metrics?x=y HTTP/1.0\r\n\r\n"), "200");
    assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status(b"GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n"), "405");
    assert_eq!(status(b"GET /metrics\r\n\r\n"), "400");
    assert_eq!(status(b"GET /metrics HTTP/9 or so\r\n\r\n"), "400");
    assert_eq!(status(b"\xff\xfe\x00\r\n\r\n"), "400");
    assert_eq!(status(&[b'x'; 8300]), "431");
}

/// Both formats have the same samples under the same names.
#[test]
fn plain_text_is_answered_when_it_is_preferred() {
    let metrics = started();
    let plain = ask(metrics.address(), b"GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n\r\n");
    assert!(plain.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{plain}");
    assert!(!plain.contains("# EOF"));
    assert!(plain.contains("# TYPE tidewire_packets_total counter\n"), "{plain}");
    let samples = |text: &str| {
        let body = text.split("\r\n\r\n").nth(1).expect("a body").to_owned();
        let line = |line: &str| {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            (name.to_owned(), value.parse::<f64>().expect("a number"))
        };
        body.lines().filter(|line| !line.starts_with('#')).map(line).collect::<BTreeMap<_, _>>()
    };
    let open = ask(metrics.address(), b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
    assert_eq!(samples(&plain), samples(&open));
}

/// Labels distinguish samples: they are words, not sentences.
#[test]
fn labels_are_short() {
    for family in live(&report()) {
        for (label, value) in family.samples.iter().flat_map(|sample| &sample.labels) {
            assert!(value.len() <= 24 && !value.contains(' '), "{} {label}={value}", family.name);
        }
    }
    let engines = [CaptureMethod::Xdp, CaptureMethod::XdpGeneric, CaptureMethod::Packet].map(CaptureMethod::name);
    assert_eq!(engines, ["af_xdp", "af_xdp_generic", "packet"]);
}

#[test]
fn rude_clients_delay_no_others() {
    let metrics = started();
    // Clients that send nothing, or half a request, or do not read the answer.
    let mut rude = Vec::new();
    for number in 0..100 {
        let mut stream = TcpStream::connect(metrics.address()).expect("it listens");
        let _ = match number % 3 {
            0 => Ok(()),
            1 => stream.write_all(b"GET /met"),
            _ => stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n"),
        };
        rude.push(stream);
    }
    let begun = Instant::now();
    for _ in 0..5 {
        assert!(scrape(metrics.address()).ends_with("# EOF\n"));
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // Its time limit has expired.
    let mut slow = TcpStream::connect(metrics.address()).expect("it listens");
    slow.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    slow.write_all(b"GET").expect("sent");
    let begun = Instant::now();
    let _ = slow.read(&mut [0; 16]);
    assert!((4..9).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    drop(rude);
    let begun = Instant::now();
    drop(metrics);
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn addresses_that_are_not_free_are_named() {
    let taken = started();
    let message = |address: &str| match Metrics::bind(address) {
        Err(CliError::Usage(text)) => text,
        _ => panic!("{address} was taken"),
    };
    assert!(message(&taken.address().to_string()).contains(&taken.address().to_string()));
    assert!(message("nonsense").contains("--metrics 'nonsense'"));
    assert!(Metrics::bind(":0").is_ok());
}
