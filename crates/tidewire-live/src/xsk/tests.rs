use std::{
    os::fd::AsFd,
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tidewire_steer::{
    Compiled, Packet, Program as Steering, Settings, State,
    bpf::{Ending, Hook, Output},
};
use tidewire_testing::{InTime as _, wait_until};
use tidewire_wire::LinkType;
use tidewire_wire::{Frame, Parts as _};

use super::*;
use crate::{
    Error, Fanout, FanoutMode, Interface, LiveSettings, Ring, RingCounts,
    sys::{
        arena::{Arena, View, page_bytes},
        bpf::{ARRAY, Link, Load, Map, Program, XDP, XSK_MAP, XdpMode},
        net::{PacketSocket, own_namespace},
    },
};

const BOTH: [XdpMode; 2] = [XdpMode::Native, XdpMode::Generic];

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

/// Both ends of the cable; a frame sent before the kernel says that it is up would be lost.
fn switch_on(mtu: u32) {
    for interface in ["tw0", "tw1"] {
        ip(&format!("link set {interface} addrgenmode none"));
        ip(&format!("link set {interface} mtu {mtu}"));
        ip(&format!("link set {interface} up"));
    }
    for interface in ["tw0", "tw1"] {
        let is_up = || {
            let output = Command::new("ip").args(["-o", "link", "show", interface]).run_in_time().expect("ip");
            String::from_utf8_lossy(&output.stdout).contains("state UP")
        };
        wait_until("the cable is up", is_up);
    }
    thread::sleep(Duration::from_millis(20));
}

/// Runs `test` in a network namespace of its own with a cable from `tw0` to `tw1`, or says why it cannot.
fn with_cable(queues: u32, mtu: u32, test: impl FnOnce() + Send + 'static) {
    let result = thread::spawn(move || {
        let missing = tidewire_testing::privileged(own_namespace).err().or_else(|| Map::new(XSK_MAP, 4, 4, 1).err());
        if let Some(error) = missing {
            println!("skipped: needs root, and AF_XDP in the kernel: {error}");
            return;
        }
        let count = format!("numrxqueues {queues} numtxqueues {queues}");
        ip(&format!("link add tw0 {count} type veth peer name tw1 {count}"));
        switch_on(mtu);
        test();
    })
    .join();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

/// `r2 = queue * workers; redirect_map(sockets, r2, XDP_DROP)`
fn to_first(sockets: &Map, workers: u8) -> Vec<u8> {
    let [a, b, c, d] = sockets.number().to_ne_bytes();
    [
        [0x61, 0x12, 16, 0, 0, 0, 0, 0],
        [0x27, 0x02, 0, 0, workers, 0, 0, 0],
        [0x18, 0x11, 0, 0, a, b, c, d],
        [0; 8],
        [0xb7, 0x03, 0, 0, 1, 0, 0, 0],
        [0x85, 0, 0, 0, 51, 0, 0, 0],
        [0x95, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat()
}

/// The same, with the time of arrival before each frame.
fn stamped(sockets: &Map) -> Vec<u8> {
    let move_meta = [
        // r6 = context; r7 = time
        [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
        [0x85, 0, 0, 0, 5, 0, 0, 0],
        [0xbf, 0x07, 0, 0, 0, 0, 0, 0],
        // adjust_meta(context, -8), which leaves room for it or fails
        [0xbf, 0x61, 0, 0, 0, 0, 0, 0],
        [0xb7, 0x02, 0, 0, 0xf8, 0xff, 0xff, 0xff],
        [0x85, 0, 0, 0, 54, 0, 0, 0],
        // r2 = data_meta, r3 = data, r4 = r2 + 8; where that is not beyond the data, it is written
        [0x61, 0x62, 8, 0, 0, 0, 0, 0],
        [0x61, 0x63, 0, 0, 0, 0, 0, 0],
        [0xbf, 0x24, 0, 0, 0, 0, 0, 0],
        [0x07, 0x04, 0, 0, 8, 0, 0, 0],
        [0x2d, 0x34, 1, 0, 0, 0, 0, 0],
        [0x7b, 0x72, 0, 0, 0, 0, 0, 0],
        [0xbf, 0x61, 0, 0, 0, 0, 0, 0],
    ];
    [move_meta.concat(), to_first(sockets, 1)].concat()
}

/// Rings of `tw1` by worker, with the memory of each, and what keeps the program attached.
struct Opened {
    arenas: Vec<Arc<Arena>>,
    rings: Vec<Vec<XskRing>>,
    _link: Link,
    _program: Program,
    _state: Option<Map>,
    wire: PacketSocket,
    /// Frames sent, and of them those known to have arrived or been counted as lost.
    sent: u64,
}

fn settings(workers: usize, ring_bytes: usize) -> LiveSettings {
    LiveSettings { workers, ring_bytes, ..LiveSettings::new(["tw1"]) }
}

fn open(settings: &LiveSettings, mode: XdpMode) -> Opened {
    let plan = XskPlan::new(settings, &Interface::find("tw1").unwrap()).unwrap();
    open_plan(&plan, settings, mode, to_first)
}

fn open_plan(plan: &XskPlan, settings: &LiveSettings, mode: XdpMode, code: fn(&Map, u8) -> Vec<u8>) -> Opened {
    let sockets = Arc::new(Map::new(XSK_MAP, 4, 4, plan.slots()).unwrap());
    let mut state = None;
    let code = if plan.is_steered() {
        let workers = settings.workers as u32;
        let output = Output::Redirect { workers, dropped: Ending::Return(1), absent: Ending::Return(1), stamp: false };
        let code = steering(settings).code(Hook::Xdp, output).unwrap();
        let cells = Map::new(ARRAY, 4, tidewire_steer::STATE_BYTES as u32, 1).unwrap();
        let bytes = code.bytes(|map| match map {
            tidewire_steer::bpf::MapUse::Sockets => sockets.number(),
            _ => cells.number(),
        });
        state = Some(cells);
        bytes
    } else {
        code(&sockets, settings.workers as u8)
    };
    let program = Program::load_with(XDP, &code, Load { frags: true, attach: 0 }).unwrap();
    let index = Interface::find("tw1").unwrap().index;
    let link = Link::xdp(program.as_fd(), index, mode).unwrap();
    let (arenas, places) = (0..settings.workers)
        .map(|worker| {
            let bytes = plan.place_bytes();
            // Not at the beginning: offsets count from the arena's.
            let arena = Arena::reserve(page_bytes() + bytes * plan.rings(worker)).unwrap();
            drop(arena.take(page_bytes()).unwrap());
            let places = (0..plan.rings(worker)).map(|_| arena.take(bytes).unwrap());
            let places = places.collect();
            (arena, places)
        })
        .unzip();
    let rings = plan.open(3, mode, places, &sockets).unwrap_or_else(|error| panic!("{error}"));
    Opened {
        arenas,
        rings,
        _link: link,
        _program: program,
        _state: state,
        wire: PacketSocket::open("tw0").unwrap(),
        sent: 0,
    }
}

fn steering(settings: &LiveSettings) -> Compiled {
    let flow = || Compiled::new(&Steering::parse("steer_flow").unwrap(), &Settings::default()).unwrap();
    settings.steering.clone().unwrap_or_else(flow)
}

impl Opened {
    /// Collects what there is, at most `most`, and returns copies; gives the memory back.
    fn take(&mut self, worker: usize, most: usize) -> Vec<(Frame, Vec<u8>)> {
        self.settle();
        let mut taken = Vec::new();
        for ring in &mut self.rings[worker] {
            loop {
                let mut frames = Vec::new();
                ring.collect(&mut frames, 64.min(most - taken.len())).unwrap();
                if frames.is_empty() {
                    break;
                }
                let bytes = |frame: &Frame| {
                    let at = frame.at as usize;
                    View::new(&self.arenas[worker])
                        .part(at, frame.captured_bytes as usize)
                        .expect("it is held")
                        .to_vec()
                };
                taken.extend(frames.iter().map(|frame| (*frame, bytes(frame))));
                ring.give_back(frames.len());
            }
        }
        taken
    }

    /// Sends a frame, and not more at once than the cable has room for.
    fn send(&mut self, frame: &[u8]) {
        while let Err(error) = self.wire.send(frame) {
            assert!(
                matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)),
                "{error}, {} bytes",
                frame.len()
            );
            thread::yield_now();
        }
        self.sent += 1;
        if self.sent.is_multiple_of(64) {
            self.settle();
        }
    }

    /// Waits until every frame sent is received or counted as lost.
    fn settle(&mut self) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.rings.iter().all(|rings| !rings.is_empty()) {
            let counts = self.counts();
            if counts.received + counts.dropped + counts.failed == self.sent {
                return;
            }
            assert!(Instant::now() < until, "{} sent, {counts:?}", self.sent);
            thread::yield_now();
        }
    }

    fn counts(&mut self) -> RingCounts {
        let mut sum = RingCounts::default();
        self.rings.iter_mut().flatten().for_each(|ring| sum.add(&ring.counts().unwrap()));
        sum
    }
}

/// A frame of a length, different from others by its number.
fn frame(number: u32, bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
    frame.extend((0_u32..).map(|index| (index.wrapping_mul(7) ^ number ^ (number >> 8)) as u8).take(bytes - 14));
    frame[6..10].copy_from_slice(&(number | 2).to_le_bytes());
    frame
}

#[test]
fn frames_arrive_as_they_were_sent() {
    with_cable(1, 1500, || {
        for mode in BOTH {
            let settings = settings(1, 1 << 20);
            let mut opened = open(&settings, mode);
            assert!(!opened.rings[0][0].is_zero_copy().unwrap(), "a cable has no card");
            let mut latest = 0;
            for round in 0..50 {
                let sent: Vec<_> = (0..100).map(|n| frame(n + round, 14 + (n * 15) as usize)).collect();
                sent.iter().for_each(|frame| opened.send(frame));
                let got = opened.take(0, usize::MAX);
                assert_eq!(got.len(), sent.len(), "{mode:?}, round {round}");
                for ((frame, bytes), sent) in got.iter().zip(&sent) {
                    assert_eq!((bytes, frame.wire_bytes as usize, frame.interface), (sent, sent.len(), 3), "{mode:?}");
                    assert!(frame.timestamp.as_nanos() >= latest);
                    latest = frame.timestamp.as_nanos();
                }
            }
            assert!(crate::sys::wait::now_ns() - latest < 10_000_000_000);
            let counts = opened.counts();
            assert_eq!((counts.received, counts.dropped, counts.failed), (5000, 0, 0), "{mode:?}");
            assert!(opened.rings[0][0].prepare_wait().unwrap());
        }
    });
}

#[test]
fn large_frames_are_put_together() {
    for mtu in [4000, 9000, 60000] {
        with_cable(1, mtu, move || {
            for mode in BOTH {
                let mut opened = open(&settings(1, 2 << 20), mode);
                for round in 0..40 {
                    let length = |n: usize| 14 + (n * 977 + round * 131) % mtu as usize;
                    let sent: Vec<_> = (0..10).map(|n| frame(n, length(n as usize))).collect();
                    sent.iter().for_each(|frame| opened.send(frame));
                    let got: Vec<_> = opened.take(0, usize::MAX).into_iter().map(|(_, bytes)| bytes).collect();
                    let lengths = |frames: &[Vec<u8>]| frames.iter().map(Vec::len).collect::<Vec<_>>();
                    assert_eq!(lengths(&got), lengths(&sent), "{mode:?}, MTU {mtu}, round {round}");
                    assert!(got == sent, "{mode:?}, MTU {mtu}, round {round}");
                }
                let counts = opened.counts();
                assert_eq!((counts.received, counts.dropped, counts.failed), (400, 0, 0), "{mode:?}, MTU {mtu}");
            }
        });
    }
}

#[test]
fn frames_are_cut_to_the_snap_length() {
    with_cable(1, 9000, || {
        let settings = LiveSettings { snap_bytes: 5000, ..settings(1, 1 << 20) };
        let mut opened = open(&settings, XdpMode::Native);
        for length in [100, 5000, 5001, 9014] {
            let sent = frame(1, length);
            opened.send(&sent);
            let got = opened.take(0, usize::MAX);
            assert_eq!(got.len(), 1);
            assert_eq!((got[0].0.wire_bytes as usize, &got[0].1[..]), (length, &sent[..length.min(5000)]));
        }
    });
}

/// Without a collector, every frame is received, or counted as lost, and received ones arrive whole.
#[test]
fn full_rings_count_what_they_lose() {
    // Buffers and entries of the ring: what is full first differs.
    for (kib, mtu, is_ring) in [(192, 1500, true), (128, 1500, false), (512, 9000, false), (700, 9000, true)] {
        with_cable(1, mtu, move || {
            for mode in BOTH {
                let mut opened = open(&settings(1, kib << 10), mode);
                let length = mtu as usize;
                (0..1000).for_each(|n| opened.send(&frame(n, length)));
                opened.settle();
                let counts = opened.counts();
                let what = format!("{mode:?}, {kib} KiB, MTU {mtu}: {counts:?}");
                assert_eq!(counts.received + counts.dropped + counts.failed, 1000, "{what}");
                assert!(counts.received > 20, "{what}");
                assert_eq!((counts.dropped > 0, counts.failed > 0), (is_ring, !is_ring), "{what}");
                let got = opened.take(0, usize::MAX);
                assert_eq!(got.len() as u64, counts.received, "{what}");
                assert!(got.iter().enumerate().all(|(n, (_, bytes))| *bytes == frame(n as u32, length)), "{what}");
                assert!(opened.rings[0][0].level_permille() < 10);
                // And it goes on.
                opened.send(&frame(7, length));
                assert_eq!(opened.take(0, usize::MAX).len(), 1, "{what}");
                assert_eq!(opened.counts().received, counts.received + 1);
            }
        });
    }
}

/// An IPv4 UDP frame of one of many flows.
fn udp(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0];
    let [_, _, high, low] = number.to_be_bytes();
    frame.extend([10, 0, high, low, 10, 1, 0, 2, 0x30, 0x39, 0, 53, 0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

#[test]
fn workers_share_a_queue_and_one_that_sleeps_costs_only_itself() {
    with_cable(1, 1500, || {
        for mode in BOTH {
            let settings = settings(3, 256 << 10);
            let mut opened = open(&settings, mode);
            let steering = steering(&settings);
            let mut expected = vec![Vec::new(); 3];
            let mut got = vec![Vec::new(); 3];
            for n in 0..6000 {
                let frame = udp(n);
                let packet = Packet::new(LinkType::ETHERNET, &frame);
                let worker = steering.evaluate(&packet, &mut State::default()).first(3).unwrap() as usize;
                expected[worker].push(frame.clone());
                opened.send(&frame);
                if n % 50 == 0 {
                    for (worker, got) in got.iter_mut().enumerate().take(2) {
                        got.extend(opened.take(worker, usize::MAX).into_iter().map(|(_, bytes)| bytes));
                    }
                }
            }
            for (worker, got) in got.iter_mut().enumerate() {
                got.extend(opened.take(worker, usize::MAX).into_iter().map(|(_, bytes)| bytes));
                assert!(expected[worker].len() > 1000);
                if worker < 2 {
                    assert!(*got == expected[worker], "{mode:?}, worker {worker}");
                } else {
                    assert_eq!(got[..], expected[worker][..128], "{mode:?}: a ring of 128 frames");
                }
                let counts = opened.rings[worker][0].counts().unwrap();
                let lost = (expected[worker].len() - got.len()) as u64;
                assert_eq!((counts.received, counts.dropped, counts.failed), (got.len() as u64, lost, 0), "{mode:?}");
            }
            // One that goes away gives its buffers to the others; its frames are dropped.
            opened.rings[2].clear();
            (0..3000).for_each(|n| opened.send(&udp(n)));
            thread::sleep(Duration::from_millis(50));
            let rest = opened.take(0, usize::MAX).len() + opened.take(1, usize::MAX).len();
            assert_eq!(rest, 256, "{mode:?}");
        }
    });
}

#[test]
fn queues_are_shared_out_among_workers() {
    with_cable(4, 1500, || {
        let by_queue = Fanout { group: None, mode: FanoutMode::Queue, defrag: false, rollover: false };
        for (workers, fanout, rings) in [(1, None, vec![4]), (3, Some(by_queue), vec![2, 1, 1]), (2, None, vec![4, 4])]
        {
            for mode in BOTH {
                let settings = LiveSettings { fanout, ..settings(workers, 4 << 20) };
                let mut opened = open(&settings, mode);
                assert_eq!(opened.rings.iter().map(Vec::len).collect::<Vec<_>>(), rings);
                let (sent, mut got) = (2000, 0);
                for n in 0..sent {
                    opened.send(&udp(n));
                    if n % 100 == 99 {
                        got += (0..workers).map(|worker| opened.take(worker, usize::MAX).len() as u32).sum::<u32>();
                    }
                }
                assert_eq!(got, sent, "{mode:?}, {workers} workers");
                let received = |ring: &mut XskRing| ring.counts().unwrap().received;
                let busy = opened.rings.iter_mut().flatten().filter_map(|ring| (received(ring) > 100).then_some(()));
                // Without a program in the driver, a cable has one queue for all.
                let least = if mode == XdpMode::Native { workers + 1 } else { 1 };
                assert!(busy.count() >= least, "{mode:?}, {workers} workers: frames on too few queues");
            }
        }
    });
}

#[test]
fn frames_that_the_program_stamps_have_their_time_of_arrival() {
    with_cable(1, 1500, || {
        for mode in BOTH {
            let settings = settings(1, 1 << 20);
            let plan = XskPlan::new(&settings, &Interface::find("tw1").unwrap()).unwrap().stamped(true);
            let mut opened = open_plan(&plan, &settings, mode, |sockets, _| stamped(sockets));
            let mut before = Vec::new();
            for n in 0..5 {
                before.push(crate::sys::wait::now_ns());
                opened.send(&frame(n, 100));
                thread::sleep(Duration::from_millis(20));
            }
            let got = opened.take(0, usize::MAX);
            assert_eq!(got.len(), 5);
            for ((frame, _), before) in got.iter().zip(before) {
                let late = frame.timestamp.as_nanos().wrapping_sub(before);
                assert!(late < 15_000_000, "{mode:?}: {late} ns after it was sent");
            }
        }
    });
}

#[test]
fn nothing_arrives_behind_a_stop() {
    with_cable(1, 1500, || {
        let mut opened = open(&settings(1, 1 << 20), XdpMode::Native);
        (0..10).for_each(|n| opened.send(&frame(n, 100)));
        opened.settle();
        opened.rings[0][0].stop().unwrap();
        (0..10).for_each(|n| opened.send(&frame(n, 100)));
        thread::sleep(Duration::from_millis(50));
        // No ring receives those.
        opened.sent = 10;
        assert_eq!(opened.take(0, usize::MAX).len(), 10);
        assert_eq!(opened.counts().received, 10);
    });
}

#[test]
fn an_interface_that_goes_away_is_an_error_behind_its_frames() {
    with_cable(1, 1500, || {
        for mode in BOTH {
            let mut opened = open(&settings(1, 1 << 20), mode);
            (0..10).for_each(|n| opened.send(&frame(n, 100)));
            opened.settle();
            ip("link del tw0");
            let got = opened.take(0, usize::MAX);
            assert_eq!(got.len(), 10, "{mode:?}");
            let ring = &mut opened.rings[0][0];
            let until = Instant::now() + Duration::from_secs(5);
            let error = loop {
                match ring.prepare_wait() {
                    Err(error) => break error,
                    Ok(_) => assert!(Instant::now() < until, "no error"),
                }
            };
            assert!(matches!(&error, Error::Interface { interface, .. } if interface == "tw1"), "{error}");
            assert!(ring.collect(&mut Vec::new(), 10).is_err(), "and it stays one");
            assert_eq!(ring.counts().unwrap().received, 10);
            drop(opened);
            ip("link add tw0 type veth peer name tw1");
            switch_on(1500);
        }
    });
}

#[test]
fn what_is_missing_is_said_with_its_reason() {
    with_cable(1, 1500, || {
        let cable = Interface::find("tw1").unwrap();
        let support = probe(&cable);
        assert!(support.native && support.generic && !support.zero_copy, "{support:?}");
        assert!(support.reason.contains("copied"), "{support:?}");
        // Both ends of a cable hand tags on beside the frames.
        assert!(support.tags_lost && support.reason.contains("ethtool -K tw1 rxvlan off"), "{support:?}");
        let opened = open(&settings(1, 1 << 20), XdpMode::Native);
        let busy = Interface::find("tw1").unwrap();
        assert!(busy.has_xdp && !cable.has_xdp);
        let support = probe(&busy);
        assert!(!support.native && !support.generic && support.reason.contains("another XDP program"), "{support:?}");
        drop(opened);
        assert!(probe(&Interface::find("tw1").unwrap()).native);

        let support = probe(&Interface::find("lo").unwrap());
        assert!(!support.native && support.generic, "{support:?}");
        assert!(support.reason.contains("no XDP programs"), "{support:?}");
        ip("tuntap add mode tun name tun7");
        let support = probe(&Interface::find("tun7").unwrap());
        assert!(!support.native && !support.generic && support.reason.contains("Ethernet"), "{support:?}");
    });
}

/// Where frames come fast, sleeping a little gathers them; where they come slowly, or the ring is small, no worker sleeps.
#[test]
fn rests_are_for_frames_that_come_fast() {
    with_cable(1, 1500, || {
        let mut opened = open(&settings(1, 64 << 20), XdpMode::Native);
        for (frames, rests) in [(100, true), (1, false), (0, false), (4, true)] {
            (0..frames).for_each(|n| opened.send(&frame(n, 100)));
            assert_eq!(opened.take(0, usize::MAX).len(), frames as usize);
            let rest = opened.rings[0][0].rest();
            assert_eq!(rest > Duration::ZERO, rests, "{frames} frames: {rest:?}");
            assert!(rest <= Duration::from_micros(500));
        }
        drop(opened);
        let mut opened = open(&settings(1, 1 << 20), XdpMode::Native);
        (0..100).for_each(|n| opened.send(&frame(n, 100)));
        assert_eq!(opened.take(0, usize::MAX).len(), 100);
        assert_eq!(opened.rings[0][0].rest(), Duration::ZERO, "512 frames are there in 34 microseconds");
    });
}

#[test]
fn rings_are_no_larger_than_memory_and_no_smaller_than_a_driver_s_round() {
    let mut interface = Interface::find("lo").unwrap();
    (interface.mtu, interface.rx_queues) = (1500, 4);
    let refused =
        |settings: &LiveSettings| XskPlan::new(settings, &interface).expect_err("refused").with_hint().to_string();
    let error = refused(&settings(2, 1 << 42));
    assert!(error.contains("do not fit into memory"), "{error}");
    let error = refused(&settings(1, 256 << 10));
    assert!(error.contains("too small") && error.contains("512 KiB") && error.contains("4 receive queues"), "{error}");
    let random = Fanout { group: None, mode: FanoutMode::Random, defrag: false, rollover: false };
    let error = refused(&LiveSettings { fanout: Some(random), ..settings(2, 4 << 20) });
    assert!(error.contains("rnd") && error.contains("packet sockets"), "{error}");
    // The configured bytes are those of one worker, on all queues together.
    let plan = XskPlan::new(&settings(1, 64 << 20), &interface).unwrap();
    assert_eq!((plan.rings(0), plan.place_bytes() * 4, plan.slots()), (4, (64 << 20) + (64 << 20) / 4, 4));
    let plan = XskPlan::new(&settings(3, 64 << 20), &interface).unwrap();
    assert_eq!((plan.rings(2), plan.slots(), plan.is_steered()), (4, 12, true));
}
