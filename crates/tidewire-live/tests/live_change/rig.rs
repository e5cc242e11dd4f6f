//! A namespace with a cable, and a capture of one of its ends by one worker.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tidewire_filter::Filter;
use tidewire_live::{
    ClassicInstruction, Error, Interface, Live, LiveEngine, LiveSettings, Role, open,
    sys::net::{PacketSocket, own_namespace},
};
use tidewire_testing::{InTime as _, missing};
use tidewire_wire::LinkType;

/// Where frames go in, and where they are captured.
pub const NEAR: &str = "tw0";
pub const FAR: &str = "tw1";

/// What is waited for at most, where something must come.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How often one looks and finds nothing, a millisecond apart, when nothing comes any more: blocks are handed over after 5 ms.
pub const LOOKS: u32 = 50;

pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).run_in_time().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs `work` in a namespace with a cable, which go away with it; or says why it cannot.
pub fn inside(work: impl FnOnce() + Send + 'static) {
    if let Some(reason) = missing(&["ip"]) {
        return println!("skipped: {reason}");
    }
    let thread = thread::spawn(|| match tidewire_testing::privileged(own_namespace) {
        Ok(()) => {
            cable();
            work();
        }
        Err(error) => println!("skipped: no network namespace of our own: {error}"),
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn cable() {
    ip(&format!("link add {NEAR} type veth peer name {FAR}"));
    for interface in [NEAR, FAR] {
        ip(&format!("link set {interface} addrgenmode none up"));
    }
    let start = Instant::now();
    while !Interface::find(FAR).unwrap().carrier {
        assert!(start.elapsed() < PATIENCE, "no carrier");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Settings of a handle on the far end.
pub fn settings(engine: LiveEngine) -> LiveSettings {
    let role = if engine == LiveEngine::Packet { Role::Host } else { Role::Tap };
    let ring_bytes = 4 << 20;
    LiveSettings::new([FAR])
        .with_engine(engine)
        .with_role(role)
        .with_ring_bytes(ring_bytes)
        .with_pin(false)
        .with_refilter(true)
}

/// A capture, its wire, and what else it takes.
pub struct Rig {
    pub live: Live,
    pub wire: PacketSocket,
    pub back: PacketSocket,
}

impl Rig {
    pub fn open(settings: &LiveSettings) -> Result<Self, Error> {
        let live = open(settings)?;
        Ok(Self { live, wire: PacketSocket::open(NEAR).unwrap(), back: PacketSocket::open(FAR).unwrap() })
    }

    pub fn send(&self, frames: &[Vec<u8>]) {
        frames.iter().for_each(|frame| self.wire.send(frame).unwrap());
    }

    /// So many frames at least, and until nothing more comes.
    pub fn take(&mut self, wanted: usize) -> Vec<Vec<u8>> {
        let worker = &mut self.live.workers[0];
        let (start, mut looks, mut got) = (Instant::now(), 0, Vec::new());
        while (got.len() < wanted || looks < LOOKS) && start.elapsed() < PATIENCE {
            if worker.gather(256) > 0 {
                looks = 0;
            } else {
                looks += 1;
                thread::sleep(Duration::from_millis(1));
            }
            let batch = worker.batch();
            got.extend(batch.frames.iter().map(|frame| batch.bytes(frame).to_vec()));
            worker.release();
        }
        got
    }
}

/// An Ethernet frame of this EtherType, with its number in it.
pub fn frame(ethertype: u16, number: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(64, 7);
    frame
}

/// With a tag put in behind the addresses.
pub fn tagged(frame: &[u8], tci: u16) -> Vec<u8> {
    [&frame[..12], &[0x81, 0], &tci.to_be_bytes(), &frame[12..]].concat()
}

pub fn compiled(expression: &str) -> Vec<ClassicInstruction> {
    Filter::new(expression).unwrap().classic(LinkType::ETHERNET).unwrap()
}

pub fn step(code: u16, k: u32) -> ClassicInstruction {
    ClassicInstruction { code, jump_true: 0, jump_false: 0, k }
}

/// A datagram of UDP over IPv4 between two of 250 hosts.
pub fn udp(from: u8, to: u8, ports: (u16, u16), number: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0];
    frame.extend([10, 0, 0, from, 10, 0, 0, to]);
    frame.extend([ports.0.to_be_bytes(), ports.1.to_be_bytes(), [0, 26], [0, 0], number.to_be_bytes()].concat());
    frame.resize(64, 0);
    frame
}
