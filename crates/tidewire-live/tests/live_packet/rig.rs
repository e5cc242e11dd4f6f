//! A namespace with a cable, and workers that read one of its ends.

use std::time::{Duration, Instant};

use tidewire_live::{
    Error, Interface, LiveSettings, Worker,
    packet::{Filters, Plan, SteeredOut},
    sys::{arena::Arena, net::PacketSocket},
};
use tidewire_wire::Frame;

use crate::common;
pub use crate::common::{FAR, NEAR, PATIENCE, inside, ip};

/// Makes a cable that carries nothing but the test's frames.
pub fn cable() {
    cable_between(NEAR, FAR);
}

pub fn cable_between(near: &str, far: &str) {
    common::cable_between(near, far, 9000);
}

pub fn wire() -> PacketSocket {
    PacketSocket::open(NEAR).expect("a socket")
}

/// A frame as it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub frame: Frame,
    pub bytes: Vec<u8>,
}

pub struct Rig {
    pub workers: Vec<Worker>,
    pub steered_out: Vec<SteeredOut>,
    /// The groups' numbers, by interface.
    pub groups: Vec<Option<u16>>,
}

impl Rig {
    pub fn open(settings: &LiveSettings) -> Result<Self, Error> {
        Self::filtered(settings, &Filters::default())
    }

    pub fn filtered(settings: &LiveSettings, filters: &Filters) -> Result<Self, Error> {
        let plan = Plan::new(settings)?;
        let bytes = plan.place_bytes();
        let count = plan.rings() * settings.interfaces().len();
        let arenas: Vec<_> = (0..plan.workers()).map(|_| Arena::reserve(bytes * count).unwrap()).collect();
        let mut rings: Vec<Vec<Box<dyn tidewire_live::Ring>>> = arenas.iter().map(|_| Vec::new()).collect();
        let (mut steered_out, mut groups) = (Vec::new(), Vec::new());
        for (number, name) in settings.interfaces().iter().enumerate() {
            let place = |arena: &std::sync::Arc<Arena>| (0..plan.rings()).map(|_| arena.take(bytes).unwrap()).collect();
            let places = arenas.iter().map(place).collect();
            let group = plan.open(&Interface::find(name)?, number as u16, filters, places)?;
            groups.push(group.number);
            let (opened, out) = group.split();
            steered_out.push(out);
            for (mine, opened) in rings.iter_mut().zip(opened) {
                mine.extend(opened.into_iter().map(|ring| Box::new(ring) as Box<dyn tidewire_live::Ring>));
            }
        }
        let count = arenas.len();
        let worker = |(index, (arena, rings))| Worker::new(arena, rings, (index, count), settings.merge_window());
        let workers = arenas.into_iter().zip(rings).enumerate().map(worker).collect();
        Ok(Self { workers, steered_out, groups })
    }

    /// Collects until there are so many frames at all workers together, and nothing more comes; what each got.
    pub fn collect(&mut self, wanted: usize) -> Vec<Vec<Delivered>> {
        self.collect_for(wanted, Duration::from_millis(60))
    }

    /// Collects until there are so many frames, whatever comes after them.
    pub fn some(&mut self, wanted: usize) -> Vec<Vec<Delivered>> {
        self.collect_for(wanted, Duration::ZERO)
    }

    fn collect_for(&mut self, wanted: usize, silence: Duration) -> Vec<Vec<Delivered>> {
        let mut delivered = vec![Vec::new(); self.workers.len()];
        let start = Instant::now();
        let mut quiet = Instant::now();
        loop {
            let mut found = 0;
            for (worker, delivered) in self.workers.iter_mut().zip(&mut delivered) {
                found += worker.poll(Duration::from_millis(1), |batch| {
                    let one = |frame: &Frame| Delivered { frame: *frame, bytes: batch.bytes(frame).to_vec() };
                    delivered.extend(batch.frames.iter().map(one));
                });
            }
            if found > 0 {
                quiet = Instant::now();
            }
            let all: usize = delivered.iter().map(Vec::len).sum();
            let long = quiet.elapsed() >= silence;
            if (all >= wanted && long) || start.elapsed() > PATIENCE {
                return delivered;
            }
        }
    }

    /// Frames received and frames dropped, all workers together.
    pub fn counts(&mut self) -> (u64, u64) {
        let counts: Vec<_> = self.workers.iter_mut().map(|worker| worker.counts().unwrap()).collect();
        assert!(counts.iter().all(|counts| counts.failed == 0), "{counts:?}");
        (counts.iter().map(|counts| counts.received).sum(), counts.iter().map(|counts| counts.dropped).sum())
    }
}

/// Settings for small rings on the far end.
pub fn settings(workers: usize) -> LiveSettings {
    LiveSettings::new([FAR]).with_workers(workers).with_ring_bytes(16 << 20).with_pin(false)
}

pub fn bytes(delivered: &[Delivered]) -> Vec<&[u8]> {
    delivered.iter().map(|one| one.bytes.as_slice()).collect()
}
