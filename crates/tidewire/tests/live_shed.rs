//! Overload over an interface: every packet has one place, whether the engine knows its stream or not. Needs root and `ip`;
//! says so otherwise.
#![forbid(unsafe_code)]

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire::{
    Capture, Chunk, Handler, Outcome, Stop, Stream, StreamClass,
    live::{LiveEngine, LiveReport, LiveSettings},
};
use tidewire_live::sys::net::{PacketSocket, own_namespace};
use tidewire_testing::InTime as _;

/// Packets of the stream that comes when everything is shed.
const LATE: u64 = 100;

/// Takes its time with each packet for as long as the flag is set.
struct Slow(Arc<AtomicBool>);

impl Handler for Slow {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, _: Chunk<'_>) {
        if self.0.load(Relaxed) {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A datagram of 40 bytes from a port.
fn datagram(port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    // IPv4 of 68 bytes, time to live 64, UDP; its checksum is not verified.
    frame.extend([0x45, 0, 0, 68, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend(port.to_be_bytes());
    // To port 9, 48 bytes, no checksum.
    frame.extend([0, 9, 0, 48, 0, 0]);
    frame.extend([7; 40]);
    frame
}

/// Sends until the ring is full and packets are shed, then a new stream; how many there were.
fn overload(level: &AtomicU32) -> u64 {
    let wire = PacketSocket::open("tw1").expect("a socket");
    let send = |port| wire.send(&datagram(port)).expect("sent");
    let (begun, mut sent) = (Instant::now(), 0);
    while level.load(Relaxed) < 900 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the ring never was full");
        (0..100).for_each(|_| send(1000));
        sent += 100;
        thread::sleep(Duration::from_millis(2));
    }
    (0..LATE).for_each(|_| send(2000));
    sent + LATE
}

/// Ends the capture when it goes away.
struct End<'a>(&'a Stop, &'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.1.store(false, Relaxed);
        self.0.stop();
    }
}

fn run() -> (u64, Outcome<Slow>, LiveReport) {
    let (stop, slow) = (Stop::new(), Arc::new(AtomicBool::new(true)));
    let (level, began) = (AtomicU32::new(0), AtomicBool::new(false));
    let mut settings = LiveSettings::new(["tw0"]);
    settings = settings.with_engine(LiveEngine::Packet).with_ring_bytes(1 << 20);
    let (sent, outcome) = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            // Also where sending fails.
            let _end = End(&stop, &slow);
            while !began.load(Relaxed) && !stop.is_stopped() {
                thread::sleep(Duration::from_millis(5));
            }
            overload(&level)
        });
        let _end = End(&stop, &slow);
        let capture = Capture::live(settings).filter("udp port 9").stop_when(&stop);
        let capture =
            capture.class(StreamClass::matching("port 443").priority(7)).configure(|config| config.set_shed(true));
        let capture = capture.on_report(|report| {
            began.store(true, Relaxed);
            let levels = report.workers.iter().map(|worker| worker.ring_level_permille);
            level.store(levels.max().unwrap_or(0), Relaxed);
        });
        let outcome = capture.run_with(Slow(Arc::clone(&slow))).expect("captured");
        (sender.join().expect("no panic"), outcome)
    });
    let report = outcome.live.clone().expect("a report");
    (sent, outcome, report)
}

#[test]
fn packets_shed_of_an_unknown_stream_are_accounted_for() {
    let test = || {
        if tidewire_testing::privileged(own_namespace).is_err() {
            println!("skipped: network namespaces need root");
            return;
        }
        for arguments in ["link add tw0 type veth peer name tw1", "link set tw0 up", "link set tw1 up"] {
            assert!(Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip").success());
        }
        let (sent, outcome, report) = run();
        let ledger = &outcome.ledger;
        let (kernel, rings) = (report.interfaces[0].kernel.expect("programs in the kernel"), report.rings());
        let shed: u64 = kernel.shed.iter().sum();
        assert_eq!((kernel.received, kernel.delivered), (kernel.accounted(), rings.received + rings.dropped));
        assert_eq!(sent, shed + kernel.delivered, "{report:?}");
        assert_eq!(ledger.received, rings.received, "nothing is left unread");
        // The second stream never came out of the kernel.
        assert_eq!(ledger.streams_opened, 1);
        assert_eq!(report.unattributed_packets(ledger), LATE, "{report:?}");
        assert_eq!(ledger.shunted_packets + LATE, shed);
    };
    thread::spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
