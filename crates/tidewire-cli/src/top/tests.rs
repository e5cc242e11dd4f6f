use std::{
    collections::HashMap,
    fs,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::Duration,
};

use ratatui::{Terminal, backend::TestBackend};
use tidewire::{
    Capture, Endpoint, Fate, FlowKey, Stop,
    live::{InterfaceCounts, InterfaceReport, RingCounts, WorkerReport},
};
use tidewire_testing::InTime as _;

use super::{
    flows::Noted,
    snapshot::{Flow, Loss, Rates, Snapshot, Sort, Worker},
    *,
};

/// A busy capture.
fn busy() -> Snapshot {
    let flow = |name: &str, proto: &str, packets: f64, bits: f64, bytes: u64| Flow {
        name: name.into(),
        proto: proto.into(),
        now: Rates { packets, bits },
        bytes,
    };
    let worker = |cpu, packets, bits, lost, ring_permille, memory_permille| Worker {
        cpu,
        now: Rates { packets, bits },
        lost,
        ring_permille,
        memory_permille,
    };
    let loss = |place, rate, total| Loss { place, rate, total };
    Snapshot {
        interfaces: "eth1 eth3".into(),
        elapsed: Duration::from_secs(3725),
        now: Rates { packets: 1_234_567.4, bits: 9.87e9 },
        packets: 4_600_000_123,
        bytes: 3_700_000_000_000,
        losses: vec![
            loss("missed by the card", 0.0, 17),
            loss("no room in a ring", 1234.0, 20_000),
            loss("shed by priority", 0.0, 2),
        ],
        workers: vec![
            worker(Some(0), 617_283.0, 4.9e9, 1234.0, 998, 412),
            worker(Some(1), 617_284.0, 4.97e9, 0.0, 31, 20),
            worker(None, 0.0, 0.0, 0.0, 0, 0),
        ],
        memory: Memory { used: 80_000_000, limit: 134_217_728, watermarks: model::watermarks(500, 4) },
        flows: vec![
            flow("192.0.2.1:40000 > 198.51.100.7:443", "tcp", 400_000.0, 4.1e9, 9_000_000_000),
            flow("[2001:db8:1:2:3:4:5:6]:53211 > [2001:db8:ffff:2:3:4:5:7]:8443", "tcp", 1000.0, 2.5e6, 70_000),
            flow("192.0.2.9 > 198.51.100.7", "icmp", 1.0, 784.0, 1960),
        ],
        open: 120_345,
        ..Snapshot::default()
    }
}

/// The text of a snapshot on a screen of this size.
fn drawn(snapshot: &Snapshot, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal of memory");
    terminal.draw(|frame| view::draw(frame, snapshot)).expect("drawn");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width));
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned() + "\n").collect()
}

/// Compares with the text in `golden/`; `TIDEWIRE_BLESS=1` rewrites it: read the difference.
fn is_golden(name: &str, snapshot: &Snapshot, width: u16, height: u16) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/top/golden").join(name);
    let now = drawn(snapshot, width, height);
    assert!(now.lines().all(|line| line.chars().count() <= usize::from(width)));
    if std::env::var_os("TIDEWIRE_BLESS").is_some() {
        fs::write(&path, &now).expect("written");
    }
    assert_eq!(now, fs::read_to_string(&path).expect("a golden text"), "{name}");
}

#[test]
fn a_busy_capture_on_screens_of_several_sizes() {
    is_golden("busy-80x24.txt", &busy(), 80, 24);
    is_golden("busy-40x12.txt", &busy(), 40, 12);
}

#[test]
fn a_quiet_capture() {
    let memory = Memory { used: 0, limit: 67_108_864, watermarks: Vec::new() };
    let workers = vec![Worker::default()];
    let snapshot = Snapshot { interfaces: "lo".into(), memory, workers, paused: true, ..Snapshot::default() };
    is_golden("quiet-80x24.txt", &snapshot, 80, 24);
}

#[test]
fn no_screen_is_too_small() {
    let flows: Vec<_> = busy().flows.into_iter().cycle().take(1500).collect();
    let many = Snapshot { flows, workers: busy().workers.repeat(30), ..busy() };
    for (width, height) in (1..90).flat_map(|width| [1, 2, 3, 4, 5, 8, 13, 40].map(|height| (width, height))) {
        drawn(&many, width, height);
    }
    let trouble = Snapshot { trouble: Some("eth1: the interface is down".into()), ..busy() };
    assert!(drawn(&trouble, 80, 24).trim_end().ends_with("eth1: the interface is down"));
    let scrolled = Snapshot { scrolled: 2, ..busy() };
    assert!(!drawn(&scrolled, 80, 24).contains("192.0.2.1:40000"));
}

/// Interface names may contain almost any character.
#[test]
fn names_on_the_screen_are_legible() {
    let name = "a\u{1b}[2J\u{202e}b\u{9b}c";
    let trouble = Some(format!("{name} is gone"));
    for snapshot in [Snapshot { interfaces: name.into(), ..busy() }, Snapshot { trouble, ..busy() }] {
        let text = drawn(&snapshot, 100, 24);
        assert!(text.contains("a\\u{1b}[2J\\u{202e}b\\u{9b}c"), "{text}");
        assert!(!text.chars().any(|c| c != '\n' && tidewire::legible::is_hidden(c)), "{text}");
    }
}

fn noted(port: u16, packets: u64, bytes: u64) -> Noted {
    let end = |host, port| Endpoint { address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), port };
    Noted { key: FlowKey::new(end(1, port), end(2, 80), 6), packets, bytes }
}

fn report(seconds: u64, packets: u64, dropped: u64) -> LiveReport {
    let mut counts = InterfaceCounts::default();
    counts.rx_missed = 5;
    let mut interface = InterfaceReport::default();
    (interface.name, interface.counts) = ("lo".into(), Some(counts));
    let mut rings = RingCounts::default();
    (rings.received, rings.dropped, rings.calls) = (packets, dropped, 1);
    let mut worker = WorkerReport::default();
    (worker.rings, worker.ring_level_permille) = (rings, 300);
    (worker.buffered_bytes, worker.memory_bytes) = (1 << 20, 64 << 20);
    (worker.ledger.received, worker.ledger.received_bytes) = (packets, packets * 100);
    worker.ledger.settle_many(Fate::Shed, seconds);
    LiveReport::new(Duration::from_secs(seconds), vec![interface], vec![worker])
}

#[test]
fn rates_are_what_came_between_two_reports() {
    let mut model = Model::default();
    model.take(&report(1, 1000, 0), || HashMap::from([(1, noted(1000, 10, 1000)), (2, noted(2000, 5, 50_000))]));
    // No update is due yet.
    let mut early = report(1, 9999, 9);
    early.elapsed = Duration::from_millis(1500);
    model.take(&early, HashMap::new);
    assert_eq!(model.snapshot.packets, 1000);
    let flows = [(1, noted(1000, 30, 3000)), (2, noted(2000, 5, 50_000)), (3, noted(3000, 4, 16_000))];
    model.take(&report(3, 5000, 60), || HashMap::from(flows));
    let snapshot = &model.snapshot;
    assert_eq!(snapshot.now, Rates { packets: 2000.0, bits: 1_600_000.0 });
    assert_eq!((snapshot.workers[0].lost, snapshot.workers[0].memory_permille), (30.0, 15));
    let loss = |place, rate, total| Loss { place, rate, total };
    let expected =
        [loss("missed by the card", 0.0, 5), loss("no room in a ring", 30.0, 60), loss("shed by priority", 1.0, 3)];
    assert_eq!(snapshot.losses, expected);
    // The idle flow is omitted.
    let names = |snapshot: &Snapshot| snapshot.flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(snapshot), ["192.0.2.1:3000 > 192.0.2.2:80", "192.0.2.1:1000 > 192.0.2.2:80"]);
    assert_eq!(snapshot.flows[1].now, Rates { packets: 10.0, bits: 8000.0 });
    let stop = Stop::new();
    press(&mut model, Key::Sort, &stop);
    assert_eq!(names(&model.snapshot)[0], "192.0.2.1:1000 > 192.0.2.2:80", "by packets");
    press(&mut model, Key::Reverse, &stop);
    assert_eq!(names(&model.snapshot)[0], "192.0.2.1:3000 > 192.0.2.2:80", "reversed");
    press(&mut model, Key::Sort, &stop);
    assert_eq!(model.snapshot.sort, Sort::Total);
    for (key, scrolled) in
        [(Key::Scroll(10), 1), (Key::Scroll(-1), 0), (Key::Scroll(-1), 0), (Key::Scroll(isize::MIN), 0)]
    {
        press(&mut model, key, &stop);
        assert_eq!(model.snapshot.scrolled, scrolled);
    }
    press(&mut model, Key::Pause, &stop);
    model.take(&report(9, 9000, 60), HashMap::new);
    assert_eq!(model.snapshot.packets, 5000, "paused");
    assert!(!stop.is_stopped());
    press(&mut model, Key::Quit, &stop);
    assert!(stop.is_stopped());
}

#[test]
fn watermarks_are_scap_s() {
    assert_eq!(model::watermarks(500, 4), [625, 750, 875, 1000]);
    assert_eq!(model::watermarks(1000, 2), [1000, 1000]);
}

/// In a separate process, on a terminal of script(1): runs this test again, with its part in the environment.
#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    const PART: &str = "TIDEWIRE_TEST_PANICS";
    if std::env::var_os(PART).is_some() {
        let mut screen = Screen::take().expect("a terminal");
        screen.show(&busy()).expect("drawn");
        // In another thread, as a worker's would be; the screen is still taken.
        let panicked = std::thread::spawn(|| panic!("a worker gives up")).join();
        assert!(panicked.is_err());
        screen.show(&busy()).expect("what is the message's is left alone");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display();
    let test = std::env::current_exe().expect("this test");
    let name = "top::tests::a_panic_leaves_the_terminal_as_it_was";
    let shell = format!(
        "stty cols 80 rows 24; stty -a > {place}/before; {} --exact {name} --nocapture; stty -a > {place}/after",
        test.display()
    );
    let mut command = std::process::Command::new("script");
    command.args(["-q", "-c", &shell, &format!("{place}/screen")]).env(PART, "").env("TERM", "xterm");
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    if let Some(reason) = tidewire_testing::missing_terminal(&["stty"]) {
        println!("skipped: {reason}: it would make a terminal");
        return;
    }
    command.status_in_time().expect("script runs");
    let file = |name: &str| String::from_utf8_lossy(&fs::read(folder.path().join(name)).expect("written")).into_owned();
    assert_eq!(file("before"), file("after"));
    let screen = file("screen");
    let at = |what: &str| screen.rfind(what).unwrap_or_else(|| panic!("{what:?} in {screen:?}"));
    assert!(at("\x1b[?1049h") < at("\x1b[?1049l") && at("\x1b[?1049l") < at("a worker gives up"), "{screen:?}");
    assert!(!screen[at("a worker gives up")..].contains("tidewire top"), "nothing is drawn over the message");
}

/// An ended flow is reported a last time, however short it was.
#[test]
fn flows_that_end_are_reported_once_more() {
    let shared = Shared::default();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/demo/demo.pcap");
    let outcome = Capture::files([demo]).run(|_| Flows { shared: shared.clone() }).unwrap();
    assert!(outcome.input_errors.is_empty());
    let flows = shared.look();
    // The largest flow has 58 packets within a tenth of a second (`tidewire flows` shows it).
    let largest = &flows[&54];
    assert_eq!((flows.len(), largest.packets), (9, 58));
    assert!(shared.look().is_empty());
}
