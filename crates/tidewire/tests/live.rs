//! Streams from an interface: real connections over a cable between two network namespaces. Needs root and `ip`; says so
//! otherwise.
#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    process::Command,
    sync::{
        Arc, Barrier,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use tidewire::{
    Application, Applications, Batch, Capture, ChecksumMode, Chunk, EndReason, Fate, FrameHandler, Gap, GapCause,
    Handler, Outcome, Stop, Stream,
    live::{Interfaces, LiveEngine, LiveReport, LiveSettings, Role},
};
use tidewire_live::sys::net::{PacketSocket, own_namespace, thread_number};
use tidewire_testing::{InTime as _, PATIENCE, join_in_time, wait_until};

/// The bytes of each stream, by the client's port and protocol.
#[derive(Default)]
struct Said(BTreeMap<(u8, u16), EndedStream>);

/// The bytes of either side, their packets, and how the stream ended.
type EndedStream = ([Vec<u8>; 2], [u64; 2], &'static str);

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
    let (sender, number) = mpsc::channel();
    let ready = Arc::new(Barrier::new(2));
    let wait = Arc::clone(&ready);
    let host = thread::spawn(move || {
        own_namespace().expect("a namespace");
        sender.send(thread_number()).expect("sent");
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
fn capture_with<H: Handler + Send>(
    describe: impl FnOnce() -> Capture<Interfaces<'static>> + Send,
    make: impl FnMut(usize) -> H + Send,
    talk: impl FnOnce(),
) -> (Outcome<H>, LiveReport) {
    let stop = Stop::new();
    let (sender, ready) = mpsc::channel();
    let outcome = thread::scope(|scope| {
        let raised = stop.clone();
        let run = scope.spawn(move || {
            let mut sender = Some(sender);
            let capture = describe().stop_when(&raised).on_report(move |_| {
                if let Some(sender) = sender.take() {
                    let _ = sender.send(());
                }
            });
            capture.run(make)
        });
        // Also where what is said fails.
        let _raise = Raise(&stop);
        let began = ready.recv_timeout(PATIENCE);
        if began.is_ok() {
            talk();
            // The report of a stream that is over comes with the end, at the latest.
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

fn check(outcome: Outcome<Said>, report: &LiveReport, questions: &[(String, u16)]) {
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
    for (question, port) in questions {
        let (said, packets, reason) = &all[&(6, *port)];
        assert_eq!(said[0], question.as_bytes());
        assert_eq!(said[1], question.repeat(1000).as_bytes());
        assert!(packets.iter().all(|packets| *packets >= 3) && *reason == "fin", "{packets:?} {reason}");
    }
}

fn over_a_cable(workers: usize, settings: LiveSettings, filter: &str) {
    let host = opposite(serve(20));
    let mut questions = Vec::new();
    let (outcome, report) = capture(settings, workers, filter, u64::MAX, || {
        // Not what the filter wants. The cable goes with the host, after its last answer.
        let other = UdpSocket::bind("10.9.0.1:0").expect("a socket");
        other.send_to(b"x", "10.9.0.2:9").expect("sent");
        for number in 0..20 {
            let question = format!("what is {number}? ");
            let port = ask(&question);
            questions.push((question, port));
        }
    });
    host.join().expect("the host");
    check(outcome, &report, &questions);
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

/// Transactions of interfaces, by a closure and by handlers of two workers: each arrives when it is complete, and not at the end.
#[cfg(feature = "protocols")]
#[test]
fn transactions_come_from_an_interface() {
    use tidewire::protocols::{Conversation, Fields, Transaction, TransactionHandler};

    struct Hosts<'a>(&'a mpsc::Sender<String>);

    impl Handler for Hosts<'_> {
        type Data = Conversation;
    }

    impl TransactionHandler for Hosts<'_> {
        fn transaction(&mut self, _: &mut Stream<'_, Conversation>, transaction: Transaction) {
            if let Fields::Http(http) = &transaction.fields {
                self.0.send(format!("{:?} {:?}", http.host.as_deref(), http.status)).expect("a test");
            }
        }
    }

    alone(|| {
        let host = opposite(|| {
            let listener = TcpListener::bind("10.9.0.2:80").expect("a listener");
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
                let mut request = [0; 64];
                stream.read_exact(&mut request[..32]).expect("a request");
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("an answer");
                // Until the client ends.
                let _ = stream.read(&mut request);
            }
        });
        let get = || {
            let mut connected = None;
            wait_until("a connection", || {
                connected = TcpStream::connect("10.9.0.2:80").ok();
                connected.is_some()
            });
            let mut stream = connected.expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").expect("asked");
            stream
        };
        for workers in [1, 2] {
            let stop = Stop::new();
            let ((began, ready), (found, hosts)) = (mpsc::channel(), mpsc::channel());
            thread::scope(|scope| {
                let raised = stop.clone();
                let run = scope.spawn(move || {
                    let capture = Capture::live(LiveSettings::new(["tw0"])).workers(workers).stop_when(&raised);
                    let capture = capture.on_report(move |_| {
                        let _ = began.send(());
                    });
                    let ledger = if workers == 1 {
                        let call = |one: tidewire::protocols::StreamTransaction| {
                            let key = one.key();
                            if let Fields::Http(http) = one.fields() {
                                assert_eq!(key.server.port, 80);
                                found.send(format!("{:?} {:?}", http.host.as_deref(), http.status)).expect("a test");
                            }
                        };
                        capture.for_each_transaction(call).expect("a capture").ledger
                    } else {
                        let found = &found;
                        capture.run_transactions(|_| Hosts(found)).expect("a capture").ledger
                    };
                    assert!(ledger.closes());
                });
                let _raise = Raise(&stop);
                ready.recv_timeout(PATIENCE).expect("a report");
                let stream = get();
                assert_eq!(hosts.recv_timeout(PATIENCE).expect("a transaction"), "Some(\"a.test\") Some(204)");
                drop(stream);
                stop.stop();
                run.join().expect("no panic");
            });
        }
        host.join().expect("the host");
    });
}

#[test]
fn streams_come_from_an_interface() {
    alone(|| over_a_cable(1, LiveSettings::new(["tw0"]), "tcp port 80"));
}

#[test]
fn packets_come_from_an_interface() {
    alone(|| {
        let (done, over) = mpsc::channel::<()>();
        let host = opposite(move || over.recv_timeout(PATIENCE).is_ok());
        let stop = Stop::new();
        let capture = Capture::live(LiveSettings::new(["tw0"])).filter("udp").stop_when(&stop).duration(PATIENCE);
        let capture = capture.before_start(|_| {
            let socket = UdpSocket::bind("10.9.0.1:0").expect("a socket");
            (0..20_u8).for_each(|number| assert_eq!(socket.send_to(&[number], "10.9.0.2:9").expect("sent"), 1));
            Ok(())
        });
        let mut payloads = Vec::new();
        let outcome = capture.for_each_packet(|packet| {
            let udp = packet.udp().expect("the filter's packets");
            assert!(packet.ipv4().is_some() && packet.flow_key().is_some_and(|key| key.server.port == 9));
            assert_eq!(usize::from(udp.length()), packet.payload().len() + 8);
            payloads.extend_from_slice(packet.payload());
            if payloads.len() == 20 {
                stop.stop();
            }
        });
        drop(done);
        host.join().expect("the host");
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert!(outcome.ledger.closes() && outcome.interrupted);
        assert_eq!((outcome.ledger.received, payloads), (20, (0..20).collect()));
    });
}

/// Frames of each worker beside its engine.
struct Tap(Arc<AtomicU64>);

impl FrameHandler for Tap {
    fn frames(&mut self, batch: &Batch<'_>) {
        self.0.fetch_add(batch.frames.len() as u64, Ordering::Relaxed);
    }
}

/// A cutoff of streams takes no frame from who gets them beside the engine: the kernel drops none.
#[test]
fn frames_beside_an_engine_are_all_of_an_interface() {
    for workers in [1, 2] {
        alone(move || {
            let host = opposite(serve(3));
            let frames = Arc::new(AtomicU64::new(0));
            let seen = Arc::clone(&frames);
            let describe = move || {
                let settings = LiveSettings::new(["tw0"]).with_engine(LiveEngine::Packet);
                let capture = Capture::live(settings).filter("tcp port 80").workers(workers).cutoff(10);
                capture.frames_beside(move |_| Box::new(Tap(Arc::clone(&seen))))
            };
            let questions = || (0..3).for_each(|number| assert!(ask(&format!("what is {number}? ")) > 0));
            let (outcome, report) = capture_with(describe, |_| Said::default(), questions);
            host.join().expect("the host");
            assert_eq!(report.lost_packets(), 0, "{report:?}");
            assert_eq!(frames.load(Ordering::Relaxed), outcome.ledger.received);
            assert!(outcome.ledger.fate(Fate::BeyondCutoff) > 0 && outcome.ledger.closes(), "{:?}", outcome.ledger);
            // Streams count what the kernel drops as well.
            let streams = outcome.handlers.iter().flat_map(|handler| handler.0.values());
            let packets: u64 = streams.flat_map(|(_, packets, _)| packets).sum();
            assert_eq!(packets, frames.load(Ordering::Relaxed));
        });
    }
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

/// Packets that the ring had no room for are missing because of the capture, not of the network.
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

/// A frame of a connection from port 40000 of 10.9.0.1 to port 80 of 10.9.0.2, or back.
fn segment(is_answer: bool, (sequence, acknowledged): (u32, u32), flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut ends = [([10, 9, 0, 1], 40_000_u16), ([10, 9, 0, 2], 80)];
    if is_answer {
        ends.reverse();
    }
    let [(source, from), (destination, to)] = ends;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    frame.extend((40 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend([source, destination].concat());
    frame.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    frame.extend([sequence.to_be_bytes(), acknowledged.to_be_bytes()].concat());
    frame.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.extend(payload);
    frame
}

/// Sends a handshake and an answer of so many segments, slowly enough for the cable; returns how many frames that were.
fn send_answer(segments: u32) -> u64 {
    let wire = PacketSocket::open("tw1").expect("a socket");
    let payload = [b'x'; 1400];
    let handshake =
        [segment(false, (99, 0), 2, &[]), segment(true, (199, 100), 18, &[]), segment(false, (100, 200), 16, &[])];
    let answer = (0..segments).map(|number| segment(true, (200 + number * 1400, 100), 16, &payload));
    let mut sent = 0;
    for frame in handshake.into_iter().chain(answer) {
        wait_until("the cable has room", || wire.send(&frame).is_ok());
        sent += 1;
        if sent % 16 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    sent
}

/// The same of AF_XDP, whose counts are read beside its frames. What it captures does not reach this host: the frames are made.
#[test]
fn gaps_have_the_cause_that_an_xdp_ring_lost_packets() {
    for engine in [LiveEngine::Xdp, LiveEngine::XdpGeneric] {
        alone(move || {
            let (begin, begun) = mpsc::channel();
            let host = opposite(move || {
                begun.recv_timeout(PATIENCE).expect("a capture");
                send_answer(12_000)
            });
            let settings = LiveSettings::new(["tw0"]).with_engine(engine).with_role(Role::Tap).with_ring_bytes(1 << 20);
            let describe = move || Capture::live(settings).checksum(ChecksumMode::Ignore);
            let mut sent = 0;
            let talk = || {
                begin.send(()).expect("the host");
                sent = join_in_time("the host", host);
            };
            let (outcome, report) = capture_with(describe, |_| Slow::default(), talk);
            let rings = report.rings();
            let lost = rings.dropped + rings.failed;
            assert!(lost > 0 && outcome.ledger.closes(), "{engine:?}: {report:?}");
            let gaps = &outcome.handler().gaps;
            let by_capture = gaps.iter().filter(|cause| **cause == GapCause::LostByCapture).count();
            // On a busy machine the cable has no room at times, too: what it loses is no loss of the capture.
            assert!(2 * by_capture > gaps.len(), "{engine:?}: {gaps:?}, {sent} frames sent, {rings:?}");
        });
    }
}

/// Loopback shows every frame twice, as it leaves and as it arrives: it counts once.
#[test]
fn any_is_every_interface() {
    alone(|| {
        ip("link set lo up");
        let host = opposite(serve(2));
        let mut questions = Vec::new();
        let (outcome, report) = capture(LiveSettings::new(["any"]), 1, "tcp port 80 or udp port 9", u64::MAX, || {
            for number in 0..2 {
                let question = format!("what is {number}? ");
                let port = ask(&question);
                questions.push((question, port));
            }
            let own = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            own.send_to(b"to myself", "127.0.0.1:9").expect("sent");
        });
        host.join().expect("the host");
        assert!(report.interfaces.len() >= 2, "{report:?}");
        let own = outcome.handlers[0].0.iter().find(|(key, _)| key.0 == 17).expect("the datagram").1;
        assert_eq!((&own.0[0][..], own.1), (&b"to myself"[..], [1, 0]));
        check(outcome, &report, &questions);
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
    let mut questions = Vec::new();
    let (outcome, report) = capture(settings, workers, "", cutoff, || {
        for number in 0..20 {
            let question = format!("{number} ").repeat(200);
            questions.push((question.clone(), ask(&question)));
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
    for (question, port) in &questions {
        let (said, packets, reason) = &all[&(6, *port)];
        let wanted = |text: &str| text.as_bytes()[..text.len().min(cutoff as usize)].to_vec();
        assert_eq!(said[1], wanted(&question.repeat(1000)));
        if host {
            // Frames that the machine itself sends are seen as well.
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
    let mut questions = Vec::new();
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
            questions.push((question.clone(), ask(&question)));
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
    for (question, port) in &questions {
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
