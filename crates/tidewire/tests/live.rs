//! Streams from an interface: real connections over a cable between two network namespaces. Needs root and `ip`; says so
//! otherwise.
#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    process::Command,
    sync::{Arc, Barrier, mpsc},
    thread,
    time::Duration,
};

use tidewire::{
    Application, Applications, Capture, ChecksumMode, Chunk, Deliver, EndReason, Fate, Gap, GapCause, Handler, Outcome,
    Stop, Stream,
    live::{Interfaces, LiveEngine, LiveReport, LiveSettings, Role},
};
use tidewire_live::sys::net::{own_namespace, thread_number};
use tidewire_testing::{InTime as _, PATIENCE};

/// What was said in each stream, by the client's port and protocol.
#[derive(Default)]
struct Said(BTreeMap<(u8, u16), Ended>);

/// What either side said, in how many packets, and how it ended.
type Ended = ([Vec<u8>; 2], [u64; 2], &'static str);

impl Handler for Said {
    type Data = [Vec<u8>; 2];

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        stream.data()[chunk.direction as usize].extend_from_slice(chunk.bytes);
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        let key = stream.key();
        let both = [tidewire::Direction::ClientToServer, tidewire::Direction::ServerToClient];
        let packets = both.map(|direction| stream.stats(direction).packets);
        let said = std::mem::take(stream.data());
        self.0.insert((key.proto, key.client.port), (said, packets, reason.name()));
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

fn may() -> bool {
    if tidewire_testing::privileged(own_namespace).is_err() {
        println!("skipped: network namespaces need root");
        return false;
    }
    true
}

/// A host at the other end of `tw0`, which this thread's namespace has: runs `serve` there once the cable is in place.
fn opposite<T: Send + 'static>(serve: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    let (tell, number) = mpsc::channel();
    let ready = Arc::new(Barrier::new(2));
    let wait = Arc::clone(&ready);
    let host = thread::spawn(move || {
        own_namespace().expect("a namespace");
        tell.send(thread_number()).expect("told");
        wait.wait();
        ip("addr add 10.9.0.2/24 dev tw1");
        ip("link set tw1 up");
        wait.wait();
        serve()
    });
    let number = number.recv().expect("its thread");
    ip("link add tw0 type veth peer name tw1");
    ip(&format!("link set tw1 netns {number}"));
    ready.wait();
    ip("addr add 10.9.0.1/24 dev tw0");
    ip("link set tw0 up");
    ready.wait();
    host
}

/// Raises a wish to stop when it goes away.
struct Raise<'a>(&'a Stop);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs a capture of `tw0` while `talk` is under way, and for a moment longer.
fn capture(
    settings: LiveSettings,
    workers: usize,
    filter: &str,
    cutoff: u64,
    talk: impl FnOnce(),
) -> (Outcome<Said>, LiveReport) {
    let filter = filter.to_owned();
    let describe = move || {
        let described = Capture::live(settings).workers(workers).cutoff(cutoff);
        if filter.is_empty() { described } else { described.filter(filter) }
    };
    capture_with(describe, |_| Said::default(), talk)
}

/// The same of any capture.
fn capture_with<H: Deliver + Send>(
    describe: impl FnOnce() -> Capture<Interfaces<'static>> + Send,
    make: impl FnMut(usize) -> H + Send,
    talk: impl FnOnce(),
) -> (Outcome<H>, LiveReport) {
    let stop = Stop::new();
    let (tell, ready) = mpsc::channel();
    let outcome = thread::scope(|scope| {
        let raised = stop.clone();
        let run = scope.spawn(move || {
            let mut tell = Some(tell);
            let capture = describe().stop_when(&raised).on_report(move |_| {
                if let Some(tell) = tell.take() {
                    let _ = tell.send(());
                }
            });
            capture.run(make)
        });
        // Also where what is said fails.
        let _raise = Raise(&stop);
        let began = ready.recv_timeout(PATIENCE);
        if began.is_ok() {
            talk();
            // What is over is told of by the end, at the latest.
            thread::sleep(Duration::from_millis(50));
        }
        stop.stop();
        run.join().expect("no panic").unwrap_or_else(|error| panic!("{error}"))
    });
    let report = outcome.live.clone().expect("a report");
    (outcome, report)
}

fn serve(connections: usize) -> impl FnOnce() + Send + 'static {
    move || {
        let listener = TcpListener::bind("10.9.0.2:80").expect("a listener");
        for _ in 0..connections {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
            let mut question = String::new();
            stream.read_to_string(&mut question).expect("a question");
            // Time for what is seen of the first half to have its effect on the second.
            let answer = question.repeat(500);
            stream.write_all(answer.as_bytes()).expect("an answer");
            thread::sleep(Duration::from_millis(30));
            stream.write_all(answer.as_bytes()).expect("an answer");
        }
    }
}

fn ask(question: &str) -> u16 {
    let connect = || TcpStream::connect("10.9.0.2:80");
    let mut stream = (0..100).find_map(|_| connect().map_err(|_| thread::sleep(Duration::from_millis(20))).ok());
    let stream = stream.as_mut().expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
    stream.write_all(question.as_bytes()).expect("asked");
    stream.shutdown(std::net::Shutdown::Write).expect("a FIN");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, question.repeat(1000));
    stream.local_addr().expect("an address").port()
}

fn check(outcome: Outcome<Said>, report: &LiveReport, asked: &[(String, u16)]) {
    assert!(outcome.ledger.closes());
    let rings = report.rings();
    assert_eq!((rings.dropped, rings.received), (0, report.frames()), "{report:?}");
    assert_eq!(outcome.ledger.received, report.frames());
    let mut all = BTreeMap::new();
    for handler in outcome.handlers {
        for (key, value) in handler.0 {
            assert!(all.insert(key, value).is_none(), "a stream has one worker");
        }
    }
    for (question, port) in asked {
        let (said, packets, reason) = &all[&(6, *port)];
        assert_eq!(said[0], question.as_bytes());
        assert_eq!(said[1], question.repeat(1000).as_bytes());
        assert!(packets.iter().all(|packets| *packets >= 3) && *reason == "fin", "{packets:?} {reason}");
    }
}

fn over_a_cable(workers: usize, settings: LiveSettings, filter: &str) {
    let host = opposite(serve(20));
    let mut asked = Vec::new();
    let (outcome, report) = capture(settings, workers, filter, u64::MAX, || {
        for number in 0..20 {
            let question = format!("what is {number}? ");
            let port = ask(&question);
            asked.push((question, port));
        }
        // Not what the filter wants.
        let other = UdpSocket::bind("10.9.0.1:0").expect("a socket");
        other.send_to(b"x", "10.9.0.2:9").expect("sent");
    });
    host.join().expect("the host");
    check(outcome, &report, &asked);
}

/// Runs a test in a namespace of its own, which goes away with the thread.
fn alone(test: impl FnOnce() + Send + 'static) {
    let run = || {
        if may() {
            test();
        }
    };
    thread::spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn streams_come_from_an_interface() {
    alone(|| over_a_cable(1, LiveSettings::new(["tw0"]), "tcp port 80"));
}

/// The anomalies of all streams.
#[derive(Default)]
struct Anomalies(Vec<&'static str>, u64);

impl Handler for Anomalies {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        self.0.extend(stream.anomalies().iter().map(|anomaly| anomaly.kind.name()));
        self.1 += 1;
    }
}

/// The kernel leaves checksums of both hosts to a card that a cable of this kind does not have.
#[test]
fn checksums_that_are_not_computed_yet_are_no_anomaly() {
    for mode in [ChecksumMode::Auto, ChecksumMode::Verify] {
        alone(move || {
            let host = opposite(serve(3));
            let settings = LiveSettings::new(["tw0"]).with_engine(LiveEngine::Packet);
            let describe = move || Capture::live(settings).filter("tcp port 80").checksum(mode);
            let (outcome, _) = capture_with(
                describe,
                |_| Anomalies::default(),
                || {
                    for number in 0..3 {
                        ask(&format!("what is {number}? "));
                    }
                },
            );
            host.join().expect("the host");
            assert_eq!(outcome.handler().0, Vec::<&str>::new(), "{mode:?}");
            assert!(outcome.handler().1 >= 3 && outcome.ledger.closes());
            assert_eq!(outcome.ledger.fate(Fate::BadChecksum), 0, "{mode:?}");
        });
    }
}

/// A handler that is too slow for its ring, and the gaps that follow.
#[derive(Default)]
struct Slow {
    bytes: u64,
    gaps: Vec<GapCause>,
}

impl Handler for Slow {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        let before = self.bytes >> 20;
        self.bytes += chunk.bytes.len() as u64;
        if self.bytes >> 20 > before {
            thread::sleep(Duration::from_millis(40));
        }
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        self.gaps.push(gap.cause);
    }
}

/// What the ring had no room for is missing because of the capture, not of the network.
#[test]
fn gaps_have_the_cause_that_the_ring_lost_packets() {
    alone(|| {
        const BYTES: usize = 32 << 20;
        let host = opposite(|| {
            let listener = TcpListener::bind("10.9.0.2:80").expect("a listener");
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
            let mut question = [0; 1];
            stream.read_exact(&mut question).expect("a question");
            for _ in 0..32 {
                stream.write_all(&vec![b'x'; BYTES / 32]).expect("an answer");
                thread::sleep(Duration::from_millis(5));
            }
        });
        let settings = LiveSettings::new(["tw0"]).with_engine(LiveEngine::Packet).with_ring_bytes(1 << 20);
        let describe = move || Capture::live(settings).filter("tcp port 80");
        let (outcome, report) = capture_with(
            describe,
            |_| Slow::default(),
            || {
                let connect = || TcpStream::connect("10.9.0.2:80");
                let stream =
                    (0..100).find_map(|_| connect().map_err(|_| thread::sleep(Duration::from_millis(20))).ok());
                let mut stream = stream.expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
                stream.write_all(b"?").expect("asked");
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).expect("an answer");
                assert_eq!(answer.len(), BYTES);
            },
        );
        host.join().expect("the host");
        assert!(report.rings().dropped > 0 && outcome.ledger.closes(), "{report:?}");
        let gaps = &outcome.handler().gaps;
        assert!(!gaps.is_empty() && gaps.iter().all(|cause| *cause == GapCause::LostByCapture), "{gaps:?}");
    });
}

/// Loopback shows every frame twice, as it leaves and as it arrives: it counts once.
#[test]
fn any_is_every_interface() {
    alone(|| {
        ip("link set lo up");
        let host = opposite(serve(2));
        let mut asked = Vec::new();
        let (outcome, report) = capture(LiveSettings::new(["any"]), 1, "tcp port 80 or udp port 9", u64::MAX, || {
            for number in 0..2 {
                let question = format!("what is {number}? ");
                let port = ask(&question);
                asked.push((question, port));
            }
            let own = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            own.send_to(b"to myself", "127.0.0.1:9").expect("sent");
        });
        host.join().expect("the host");
        assert!(report.interfaces.len() >= 2, "{report:?}");
        let own = outcome.handlers[0].0.iter().find(|(key, _)| key.0 == 17).expect("the datagram").1;
        assert_eq!((&own.0[0][..], own.1), (&b"to myself"[..], [1, 0]));
        check(outcome, &report, &asked);
    });
}

#[test]
fn several_workers_share_the_streams() {
    alone(|| over_a_cable(3, LiveSettings::new(["tw0"]), "tcp port 80"));
}

/// The figures are the same whether packets beyond the cutoff come to us or not.
fn cut_off(host: bool, workers: usize, cutoff: u64) {
    let (settings, served) = (LiveSettings::new(["tw0"]), opposite(serve(20)));
    // With a filter of their own; what they cut off is counted in the kernel.
    let role = if host { Role::Host } else { Role::Tap };
    let settings = settings.with_role(role).with_engine(LiveEngine::Packet);
    let mut asked = Vec::new();
    let (outcome, report) = capture(settings, workers, "", cutoff, || {
        for number in 0..20 {
            let question = format!("{number} ").repeat(200);
            asked.push((question.clone(), ask(&question)));
        }
    });
    served.join().expect("the host");
    assert!(outcome.ledger.closes());
    let kernel = report.interfaces[0].kernel.expect("programs in the kernel");
    assert_eq!(kernel.received, kernel.accounted(), "{kernel:?}");
    assert!(kernel.cut > 0, "{kernel:?}");
    assert_eq!(outcome.ledger.shunted_packets, kernel.cut, "every packet that was cut off is some stream's");
    let mut all = BTreeMap::new();
    outcome.handlers.into_iter().for_each(|handler| all.extend(handler.0));
    for (question, port) in &asked {
        let (said, packets, reason) = &all[&(6, *port)];
        let wanted = |text: &str| text.as_bytes()[..text.len().min(cutoff as usize)].to_vec();
        assert_eq!(said[1], wanted(&question.repeat(1000)));
        if host {
            // What the machine itself sends is seen as well.
            assert_eq!(said[0], wanted(question));
            assert_eq!(*reason, "fin");
            assert!(packets[0] >= 4, "{packets:?}");
        }
        // 800 KB and more, in segments of 64 KB at most.
        assert!(packets[1] >= 12, "{packets:?}");
    }
}

#[test]
fn packet_sockets_are_spared_what_is_cut_off() {
    for (workers, cutoff) in [(1, 0), (2, 0), (1, 10_000), (2, 1)] {
        alone(move || cut_off(true, workers, cutoff));
    }
}

/// S10: the kernel cuts off what none of several applications wants, and all of them have the whole figures.
fn applications(workers: usize, others: Option<u64>) {
    let served = opposite(serve(10));
    let settings = LiveSettings::new(["tw0"]).with_engine(LiveEngine::Packet);
    let mut asked = Vec::new();
    let make = |_| {
        let mut applications = Applications::new();
        let mut add = |application| applications.add(application).expect("settings are valid");
        add(Application::new(Said::default()).cutoff(0));
        add(Application::new(Said::default()).filter("tcp port 80").cutoff(1000));
        add(Application::new(Said::default()).filter("udp"));
        if let Some(cutoff) = others {
            add(Application::new(Said::default()).filter("tcp").cutoff(cutoff));
        }
        applications
    };
    let describe = move || Capture::live(settings).workers(workers);
    let (outcome, report) = capture_with(describe, make, || {
        for number in 0..10 {
            let question = format!("{number} ").repeat(200);
            asked.push((question.clone(), ask(&question)));
        }
    });
    served.join().expect("the host");
    assert!(outcome.ledger.closes());
    let kernel = report.interfaces[0].kernel.expect("programs in the kernel");
    assert_eq!(outcome.ledger.shunted_packets, kernel.cut);
    assert_eq!(kernel.cut > 0, others.is_none(), "what one of them wants is not cut off: {kernel:?}");
    let said = |index: usize| {
        let of = |handler: &Applications| handler.handlers::<Said>().nth(index).map(|said| said.0.clone());
        outcome.handlers.iter().filter_map(of).flatten().collect::<BTreeMap<_, _>>()
    };
    let (figures, beginnings, datagrams) = (said(0), said(1), said(2));
    assert!(datagrams.keys().all(|key| key.0 == 17));
    for (question, port) in &asked {
        let answer = question.repeat(1000);
        let key = (6, *port);
        assert!(figures[&key].0.iter().all(Vec::is_empty));
        assert_eq!(figures[&key].1, beginnings[&key].1, "the same packets");
        assert!(figures[&key].1[1] >= 12 && figures[&key].2 == "fin");
        assert_eq!(beginnings[&key].0, [question.as_bytes()[..400].to_vec(), answer.as_bytes()[..1000].to_vec()]);
        if others.is_some() {
            assert_eq!(said(3)[&key].0[1], answer.as_bytes());
        }
    }
}

#[test]
fn several_applications_over_an_interface() {
    for (workers, others) in [(1, None), (2, None), (1, Some(u64::MAX))] {
        alone(move || applications(workers, others));
    }
}

#[test]
fn a_tap_drops_what_is_cut_off() {
    // The interface is the host's own as well: its connections work because acknowledgments have no payload to cut. With
    // everything dropped there would be none: XDP is for what only mirrors.
    let refused =
        |settings: LiveSettings| Capture::live(settings).cutoff(0).duration(Duration::ZERO).run_with(Said::default());
    alone(move || {
        ip("link add tw0 type veth peer name tw1");
        ip("link set tw0 up");
        ip("link set tw1 up");
        for engine in [LiveEngine::Packet, LiveEngine::Xdp, LiveEngine::XdpGeneric, LiveEngine::Auto] {
            let settings = LiveSettings::new(["tw0"]).with_role(Role::Tap).with_engine(engine);
            let outcome = refused(settings).unwrap_or_else(|error| panic!("{engine:?}: {error}"));
            let report = outcome.live.expect("a report");
            assert!(report.interfaces[0].kernel.is_some(), "{report:?}");
        }
    });
}

#[test]
fn what_cannot_be_opened_is_said() {
    let error = |settings| Capture::live(settings).run_with(Said::default()).err().map(|error| error.to_string());
    let text = error(LiveSettings::new(["no-such0"])).expect("an error");
    assert!(text.contains("no-such0") && text.contains("lo"), "{text}");
    let text = error(LiveSettings::new(["lo", "lo"])).expect("an error");
    assert!(text.contains("twice"), "{text}");
    let none: [&str; 0] = [];
    assert!(error(LiveSettings::new(none)).is_some());
}

/// A callback that panics ends the workers as well, instead of leaving this thread waiting for them.
#[test]
fn a_callback_that_panics_ends_the_run() {
    alone(|| {
        ip("link set lo up");
        for workers in [1, 2] {
            let run = move || {
                let capture =
                    Capture::live(LiveSettings::new(["lo"])).workers(workers).on_report(|_| panic!("a report"));
                capture.duration(Duration::from_secs(20)).run(|_| Said::default()).map(|_| ())
            };
            // One worker runs on the calling thread: its callbacks' panics are caught with its handler's.
            let ended = move || match std::panic::catch_unwind(run) {
                Ok(result) => workers == 1 && matches!(result, Err(tidewire::Error::Worker { index: 0, .. })),
                Err(_) => workers == 2,
            };
            let thread = thread::spawn(ended);
            assert!(tidewire_testing::join_in_time("a run whose callback panics", thread), "{workers} workers");
        }
    });
}
