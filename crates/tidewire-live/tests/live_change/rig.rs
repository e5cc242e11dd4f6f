//! A namespace with a cable, and a capture of one of its ends by one worker.

use std::{
    thread,
    time::{Duration, Instant},
};

use tidewire_filter::Filter;
use tidewire_live::{ClassicInstruction, Error, Live, LiveEngine, LiveSettings, Role, open, sys::net::PacketSocket};
use tidewire_wire::LinkType;

use crate::common;
pub use crate::common::{FAR, NEAR, PATIENCE, ip};

/// Polls, a millisecond apart, that find nothing before a capture counts as idle: blocks are handed over after 5 ms.
pub const LOOKS: u32 = 50;

/// Runs `work` in a network namespace with a cable, or says why it cannot.
pub fn inside(work: impl FnOnce() + Send + 'static) {
    common::inside(|| {
        common::cable_between(NEAR, FAR, 1500);
        work();
    });
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
        .with_replaceable_filter(true)
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
