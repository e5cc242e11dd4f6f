//! AF_XDP with the kernel's programs on a cable: filters, steering, counts that add up, tags, and that nothing stays behind.
//! Needs root and `ip`; says so otherwise.

use std::{
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tidewire_filter::Filter;
use tidewire_live::{
    Error, Interface, LiveEngine, LiveSettings, Ring, Role, Worker,
    kernel::{KernelCounters, KernelSettings, KernelXdp},
    sys::{
        arena::Arena,
        net::{PacketSocket, own_namespace},
    },
    xsk::{XdpAttachment, XdpEngine},
};
use tidewire_testing::{Ends as _, InTime as _, Lines, missing, wait_until};
use tidewire_wire::LinkType;

const ENGINES: [LiveEngine; 2] = [LiveEngine::Xdp, LiveEngine::XdpGeneric];

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

fn shows(arguments: &str, what: &str) -> bool {
    let output = Command::new("ip").args(arguments.split(' ')).run_in_time().expect("ip");
    String::from_utf8_lossy(&output.stdout).contains(what)
}

/// Runs `test` in a network namespace of its own with a cable from `tw0` to `tw1`, or says why it cannot.
fn with_cable(queues: u32, test: impl FnOnce() + Send + 'static) {
    if let Some(reason) = missing(&["ip"]) {
        return println!("skipped: {reason}");
    }
    let result = thread::spawn(move || {
        if let Err(error) = tidewire_testing::privileged(own_namespace) {
            println!("skipped: no network namespace of our own: {error}");
            return;
        }
        let count = format!("numrxqueues {queues} numtxqueues {queues}");
        ip(&format!("link add tw0 {count} type veth peer name tw1 {count}"));
        for interface in ["tw0", "tw1"] {
            ip(&format!("link set {interface} addrgenmode none"));
            ip(&format!("link set {interface} up"));
        }
        let is_up = |name: &str| shows(&format!("-o link show {name}"), "state UP");
        wait_until("both ends of the cable are up", || is_up("tw0") && is_up("tw1"));
        thread::sleep(Duration::from_millis(20));
        test();
    })
    .join();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

fn settings(engine: LiveEngine, workers: usize) -> LiveSettings {
    LiveSettings::new(["tw1"]).with_engine(engine).with_workers(workers).with_role(Role::Tap).with_ring_bytes(4 << 20)
}

/// `tw1`, captured.
struct Capture {
    workers: Vec<Worker>,
    kernel: KernelXdp,
    _attachment: XdpAttachment,
    description: String,
    wire: PacketSocket,
    sent: u64,
}

impl Capture {
    fn open(settings: &LiveSettings) -> Result<Self, Error> {
        let engine = XdpEngine::choose(settings, &Interface::find("tw1")?)?;
        let plan = engine.plan();
        let bytes = plan.place_bytes();
        let (arenas, places): (Vec<_>, Vec<_>) = (0..settings.workers())
            .map(|worker| {
                let rings = plan.rings(worker);
                let arena = Arena::reserve(rings * bytes).unwrap();
                let places = (0..rings).map(|_| arena.take(bytes).unwrap()).collect();
                (arena, places)
            })
            .unzip();
        let opened = engine.open(KernelSettings::default(), 0, places)?;
        let count = arenas.len();
        let boxed = |rings: Vec<_>| rings.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>).collect();
        let worker = |(index, (arena, rings)): (usize, (Arc<Arena>, Vec<_>))| {
            Worker::new(arena, boxed(rings), (index, count), Duration::ZERO)
        };
        Ok(Self {
            workers: arenas.into_iter().zip(opened.rings).enumerate().map(worker).collect(),
            kernel: opened.kernel,
            _attachment: opened.attachment,
            description: opened.description,
            wire: PacketSocket::open("tw0").unwrap(),
            sent: 0,
        })
    }

    /// Sends a frame, and not more at once than the cable has room for.
    fn send(&mut self, frame: &[u8]) {
        while let Err(error) = self.wire.send(frame) {
            assert!(matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)), "{error}");
            thread::yield_now();
        }
        self.sent += 1;
        if self.sent.is_multiple_of(64) {
            self.settle();
        }
    }

    /// Waits until the programs have counted every frame.
    fn settle(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.kernel.counters().accounted() != self.sent {
            assert!(Instant::now() < until, "{} sent, {:?}", self.sent, self.kernel.counters());
            thread::yield_now();
        }
    }

    /// Frames that each worker got.
    fn take(&mut self) -> Vec<Vec<Vec<u8>>> {
        self.settle();
        let all = |worker: &mut Worker| {
            let mut frames = Vec::new();
            // Redirected frames are in the ring when the driver's round ends.
            for _ in 0..3 {
                while worker.poll(Duration::ZERO, |batch| {
                    frames.extend(batch.frames.iter().map(|frame| batch.bytes(frame).to_vec()));
                }) > 0
                {}
                thread::sleep(Duration::from_millis(2));
            }
            frames
        };
        self.workers.iter_mut().map(all).collect()
    }

    /// The counts of programs and rings add up to what was sent; returns the programs'.
    fn conserved(&mut self) -> KernelCounters {
        let counters = self.kernel.counters();
        assert_eq!((counters.received, counters.accounted()), (self.sent, self.sent), "{counters:?}");
        let mut rings = tidewire_live::RingCounts::default();
        self.workers.iter_mut().for_each(|worker| rings.add(&worker.counts().unwrap()));
        assert_eq!(counters.delivered, rings.received + rings.dropped + rings.failed, "{counters:?} {rings:?}");
        counters
    }
}

/// An IPv4 frame of TCP or UDP between one of many hosts and a port.
fn packet(number: u32, protocol: u8, port: u8) -> Vec<u8> {
    let [_, _, high, low] = number.to_be_bytes();
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, protocol, 0, 0];
    frame.extend([10, 0, high, low, 10, 1, 0, 2, 0x30, 0x39, 0, port, 0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

#[test]
fn filters_run_in_the_program_and_every_frame_is_counted() {
    with_cable(1, || {
        for engine in ENGINES {
            let mut settings = settings(engine, 1);
            settings.set_filter("udp port 53 and not net 10.0.1.0/24".to_owned());
            let mut capture = Capture::open(&settings).unwrap_or_else(|error| panic!("{error}"));
            let kind = if engine == LiveEngine::Xdp { "native" } else { "generic" };
            assert!(capture.description.starts_with(&format!("AF_XDP, {kind}, copied")), "{}", capture.description);
            let mut filter = Filter::new(settings.filter().unwrap()).unwrap();
            let frames: Vec<_> =
                (0..2000).map(|n| packet(n, [6, 17][n as usize % 2], [53, 80][n as usize / 2 % 2])).collect();
            frames.iter().for_each(|frame| capture.send(frame));
            let got = capture.take().concat();
            let wanted = |frame: &&Vec<u8>| filter.matches(LinkType::ETHERNET, frame, 60).unwrap();
            let expected: Vec<_> = frames.iter().filter(wanted).cloned().collect();
            assert!(expected.len() > 100 && got == expected, "{engine:?}: {} of {}", got.len(), expected.len());
            let counters = capture.conserved();
            assert_eq!(counters.filtered as usize, frames.len() - expected.len());
        }
    });
}

#[test]
fn a_flow_s_two_directions_are_one_worker_s() {
    with_cable(4, || {
        for engine in ENGINES {
            let mut capture = Capture::open(&settings(engine, 3)).unwrap_or_else(|error| panic!("{error}"));
            let turned = |frame: &[u8]| {
                let mut turned = frame.to_vec();
                turned[26..34].copy_from_slice(&[&frame[30..34], &frame[26..30]].concat());
                turned[34..38].copy_from_slice(&[&frame[36..38], &frame[34..36]].concat());
                turned
            };
            for n in 0..500 {
                let frame = packet(n, 17, 80);
                capture.send(&frame);
                capture.send(&turned(&frame));
            }
            let got = capture.take();
            assert_eq!(got.iter().map(Vec::len).sum::<usize>(), 1000, "{engine:?}");
            for frames in &got {
                assert!(frames.len() > 100, "{engine:?}");
                assert!(frames.iter().all(|frame| frames.contains(&turned(frame))), "{engine:?}");
            }
            assert_eq!(capture.conserved().delivered, 1000);
        }
    });
}

#[test]
fn what_a_steering_program_drops_is_counted() {
    with_cable(2, || {
        use tidewire_steer::{Compiled, Program, Settings};
        for engine in ENGINES {
            let program = Program::parse("udp >-> steer_to 1").unwrap();
            let steering = Some(Compiled::new(&program, &Settings::default()).unwrap());
            let settings = settings(engine, 2).with_steering(steering);
            let mut capture = Capture::open(&settings).unwrap_or_else(|error| panic!("{error}"));
            (0..300).for_each(|n| capture.send(&packet(n, [17, 17, 6][n as usize % 3], 80)));
            assert_eq!(capture.take().iter().map(Vec::len).collect::<Vec<_>>(), [0, 200], "{engine:?}");
            assert_eq!(capture.conserved().unsteered, 100);
            let program = Program::parse("double_steer_ip").unwrap();
            let steering = Some(Compiled::new(&program, &Settings::default()).unwrap());
            let settings = settings.with_steering(steering);
            let Err(error) = Capture::open(&settings) else { panic!("two workers for a frame") };
            assert!(matches!(error, Error::Steering(_)), "{error}");
        }
    });
}

/// Without a collector, rings overflow, and the counts still add up.
#[test]
fn overload_is_conserved() {
    with_cable(2, || {
        for engine in ENGINES {
            let settings = settings(engine, 2).with_ring_bytes(300 << 10);
            let mut capture = Capture::open(&settings).unwrap_or_else(|error| panic!("{error}"));
            (0..5000).for_each(|n| capture.send(&packet(n, 17, 80)));
            let counters = capture.conserved();
            let got = capture.take().concat().len();
            assert!(got > 100 && got < 1000 && counters.delivered == 5000, "{got} {counters:?}");
        }
    });
}

/// Tags that stand in the frame stay there, and filters see them.
#[test]
fn tags_in_frames_are_seen() {
    with_cable(1, || {
        for engine in ENGINES {
            let settings = settings(engine, 1).with_filter("vlan 5 and udp");
            let mut capture = Capture::open(&settings).unwrap_or_else(|error| panic!("{error}"));
            let mut expected = Vec::new();
            for n in 0..30 {
                let mut frame = packet(n, 17, 80);
                if n % 3 > 0 {
                    frame.splice(12..12, [0x81, 0, 0x20, 4 + (n % 3) as u8]);
                }
                if n % 3 == 1 {
                    expected.push(frame.clone());
                }
                capture.send(&frame);
            }
            assert!(capture.take().concat() == expected, "{engine:?}");
            assert_eq!(capture.conserved().filtered, 20);
        }
    });
}

/// The machine's own traffic is not taken away, and no other program is pushed aside.
#[test]
fn what_cannot_be_is_said_and_changes_nothing() {
    with_cable(1, || {
        let host = settings(LiveEngine::Xdp, 1).with_role(Role::Host);
        let error = Capture::open(&host).err().expect("it is the host's").with_hint().to_string();
        assert!(error.contains("`Role::Tap`"), "{error}");
        let mut first = Capture::open(&settings(LiveEngine::Xdp, 1)).unwrap();
        let error = Capture::open(&settings(LiveEngine::Xdp, 1)).err().expect("it is taken").with_hint().to_string();
        assert!(error.contains("another XDP program"), "{error}");
        first.send(&packet(1, 17, 53));
        assert_eq!(first.take().concat().len(), 1, "the first one goes on");
        drop(first);
        let wrong = settings(LiveEngine::Xdp, 1).with_filter("udp prot 1");
        assert!(matches!(Capture::open(&wrong), Err(Error::Filter { .. })));
        assert!(!shows("-d link show tw1", "prog/xdp"), "nothing stays");
    });
}

/// Without the setting, AF_XDP is used where it shows whole frames.
#[test]
fn auto_takes_no_engine_that_loses_tags() {
    with_cable(1, || {
        let auto = settings(LiveEngine::Auto, 1);
        let error = Capture::open(&auto).err().expect("tags would be lost").with_hint().to_string();
        assert!(error.contains("ethtool -K tw1 rxvlan off"), "{error}");
        if let Some(reason) = missing(&["ethtool"]) {
            return println!("skipped: {reason}");
        }
        let done = Command::new("ethtool").args(["-K", "tw1", "rxvlan", "off"]).status_in_time().expect("ethtool");
        assert!(done.success());
        let capture = Capture::open(&auto).unwrap_or_else(|error| panic!("{error}"));
        assert!(capture.description.starts_with("AF_XDP, native"), "{}", capture.description);
    });
}

/// Not a test by itself: the process that is killed.
#[test]
#[ignore = "run by a_killed_process_leaves_no_program"]
fn child() {
    let _capture = Capture::open(&settings(LiveEngine::Xdp, 2)).unwrap_or_else(|error| panic!("{error}"));
    println!("attached");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_no_program() {
    with_cable(2, || {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Lines::new(child.stdout.take().unwrap()).until("attached");
        assert!(shows("-d link show tw1", "prog/xdp"));
        assert!(shows("-d link show tw1", "promiscuity 1"));
        child.kill().unwrap();
        child.wait_in_time("the process");
        assert!(!shows("-d link show tw1", "prog/xdp"), "the program is still there");
        assert!(shows("-d link show tw1", "promiscuity 0"));
        // And all of it can be had again.
        Capture::open(&settings(LiveEngine::Xdp, 2)).unwrap_or_else(|error| panic!("{error}"));
    });
}

/// Through the front door: two interfaces, two workers, and which engine was taken is said.
#[test]
fn several_interfaces_are_captured_together() {
    with_cable(1, || {
        ip("link add tw2 type veth peer name tw3");
        for interface in ["tw2", "tw3"] {
            ip(&format!("link set {interface} addrgenmode none up"));
        }
        let is_up = |name: &str| shows(&format!("-o link show {name}"), "state UP");
        wait_until("the other cable is up", || is_up("tw2") && is_up("tw3"));
        for engine in ENGINES {
            let settings = settings(engine, 2).with_interfaces(["tw1", "tw3"]);
            let mut live = tidewire_live::open(&settings).unwrap_or_else(|error| panic!("{error}"));
            let report = live.monitor.report().unwrap();
            assert!(report.iter().all(|interface| interface.description.starts_with("AF_XDP")), "{report:?}");
            let wires = ["tw0", "tw2"].map(|name| PacketSocket::open(name).unwrap());
            (0..100).for_each(|n| wires[n as usize % 2].send(&packet(n, 17, 80)).unwrap());
            let mut seen = vec![Vec::new(); 2];
            let until = Instant::now() + Duration::from_secs(10);
            while seen.iter().map(Vec::len).sum::<usize>() < 100 && Instant::now() < until {
                for worker in &mut live.workers {
                    worker.poll(Duration::from_millis(5), |batch| {
                        for frame in batch.frames {
                            seen[usize::from(frame.interface)].push(batch.bytes(frame).to_vec());
                        }
                    });
                }
            }
            for (number, frames) in (0..).zip(&mut seen) {
                frames.sort();
                let mut expected: Vec<_> = (0..100).filter(|n| n % 2 == number).map(|n| packet(n, 17, 80)).collect();
                expected.sort();
                assert!(*frames == expected, "{engine:?}: {} frames of interface {number}", frames.len());
            }
            let report = live.monitor.report().unwrap();
            let mut counters = report[0].kernel.unwrap();
            counters.add(&report[1].kernel.unwrap());
            assert_eq!((counters.received, counters.delivered), (100, 100), "{counters:?}");
        }
        assert!(!shows("-d link", "prog/xdp"), "nothing stays");
        let mut live = tidewire_live::open(&settings(LiveEngine::Auto, 1)).unwrap();
        let report = live.monitor.report().unwrap();
        assert!(
            report[0].description.starts_with("packet socket") && report[0].description.contains("rxvlan off"),
            "{report:?}"
        );
    });
}

/// Frames are timed where they arrive, not where they are collected.
#[test]
fn timestamps_are_those_of_arrival() {
    with_cable(4, || {
        for (engine, workers) in [(LiveEngine::Xdp, 1), (LiveEngine::XdpGeneric, 1), (LiveEngine::Xdp, 2)] {
            let mut capture = Capture::open(&settings(engine, workers)).unwrap_or_else(|error| panic!("{error}"));
            let mut sent = Vec::new();
            for n in 0..20 {
                sent.push((tidewire_live::sys::wait::now_ns(), packet(n, 17, 80)));
                let frame = packet(n, 17, 80);
                capture.send(&frame);
                thread::sleep(Duration::from_millis(5));
            }
            capture.settle();
            thread::sleep(Duration::from_millis(20));
            let collected = tidewire_live::sys::wait::now_ns();
            let mut got = 0;
            for worker in &mut capture.workers {
                let mut latest = 0;
                while worker.poll(Duration::ZERO, |batch| {
                    for frame in batch.frames {
                        let bytes = batch.bytes(frame);
                        let (before, _) = sent.iter().find(|(_, sent)| sent == bytes).expect("it was sent");
                        let times = *before..collected;
                        assert!(
                            times.contains(&frame.timestamp.as_nanos()),
                            "{engine:?}: {} of {times:?}",
                            frame.timestamp.as_nanos()
                        );
                        assert!(frame.timestamp.as_nanos() >= latest, "several queues, one order");
                        latest = frame.timestamp.as_nanos();
                        got += 1;
                    }
                }) > 0
                {}
            }
            assert_eq!(got, 20, "{engine:?}");
        }
    });
}

/// Switched off and on again, and under another name, it goes on.
#[test]
fn an_interface_that_comes_back_is_captured_again() {
    with_cable(1, || {
        for engine in ENGINES {
            let mut capture = Capture::open(&settings(engine, 1)).unwrap_or_else(|error| panic!("{error}"));
            capture.send(&packet(1, 17, 80));
            assert_eq!(capture.take().concat().len(), 1);
            ip("link set tw1 down");
            assert_eq!(capture.take().concat().len(), 0);
            ip("link set tw1 name other");
            ip("link set other up");
            let is_up = |name: &str| shows(&format!("-o link show {name}"), "state UP");
            wait_until("both ends are up", || is_up("tw0") && is_up("other"));
            thread::sleep(Duration::from_millis(20));
            capture.send(&packet(2, 17, 80));
            assert_eq!(capture.take().concat(), [packet(2, 17, 80)], "{engine:?}");
            assert!(capture.workers[0].troubles().is_empty());
            drop(capture);
            ip("link set other down");
            ip("link set other name tw1");
            ip("link set tw1 up");
            wait_until("both ends are up again", || is_up("tw0") && is_up("tw1"));
        }
    });
}

/// The worker's own calls run the driver; nothing is lost or double.
#[test]
fn busy_polling_delivers_the_same() {
    with_cable(2, || {
        for workers in [1, 2] {
            let settings = settings(LiveEngine::Xdp, workers).with_busy_poll_us(50);
            let mut capture = Capture::open(&settings).unwrap_or_else(|error| panic!("{error}"));
            let mut got = Vec::new();
            for n in 0..1000 {
                capture.send(&packet(n, 17, 80));
                if n % 100 == 99 {
                    got.extend(capture.take().concat());
                }
            }
            got.sort();
            let mut expected: Vec<_> = (0..1000).map(|n| packet(n, 17, 80)).collect();
            expected.sort();
            assert!(got == expected, "{} frames", got.len());
            assert_eq!(capture.conserved().delivered, 1000);
        }
    });
}
