//! One measurement: an application over a trace, in the order of arrival or sorted.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde::Serialize;
use tidewire_core::{Batch, Frame};
use tidewire_lab::sys::thread_cpu_ns;
use tidewire_locality::{Key, Sorter};

use super::{apps::Application, traffic::Trace};
use crate::sys::perf::{Callgrind, Counters, callgrind, reference_cycles};

/// Memory that packets arrive in, reused as a ring, bytes: more than any core's second-level cache.
const RING_BYTES: usize = 64 << 20;
/// Packets that arrive together if nothing is sorted: as many as a block of a packet socket's ring holds.
const UNSORTED_FRAMES: usize = 256;
/// Share of the trace, at its beginning, that is not counted.
const WARM_UP: f64 = 0.2;

/// The order in which packets are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// `None`: in order of arrival.
    pub key: Option<Key>,
    /// Packets of a batch.
    pub batch_frames: usize,
}

impl Way {
    /// In order of arrival.
    pub const OFF: Self = Self { key: None, batch_frames: UNSORTED_FRAMES };
}

/// The cost of packets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cost {
    /// Packets that were counted.
    pub packets: u64,
    /// CPU time of the thread (user and system) per packet for the copy into the ring, which the kernel makes otherwise,
    /// nanoseconds.
    pub gather_ns: f64,
    /// The same for sorting.
    pub sort_ns: f64,
    /// The same for the application.
    pub application_ns: f64,
    /// Cycles for sorting and the application: their CPU time times the processor's nominal rate.
    pub cycles: f64,
    /// Hardware counters per packet, over all three.
    pub counters: Vec<(String, f64)>,
    /// The application's findings in all packets.
    pub found: u64,
}

impl Cost {
    /// Sorting and the application, nanoseconds.
    #[must_use]
    pub fn ns(&self) -> f64 {
        self.sort_ns + self.application_ns
    }
}

/// A ring and its frames.
struct Ring {
    memory: Vec<u8>,
    at: usize,
    frames: Vec<Frame>,
}

impl Ring {
    fn gather(&mut self, trace: &Trace, frames: &[Frame]) {
        self.frames.clear();
        let bytes: usize = frames.iter().map(|frame| frame.captured_bytes as usize).sum();
        if self.at + bytes > self.memory.len() {
            self.at = 0;
        }
        for frame in frames {
            let (from, bytes) = (frame.at as usize, frame.captured_bytes as usize);
            let (Some(source), Some(place)) =
                (trace.memory.get(from..from + bytes), self.memory.get_mut(self.at..self.at + bytes))
            else {
                continue;
            };
            place.copy_from_slice(source);
            self.frames.push(frame.with_place(self.at as u32, frame.captured_bytes));
            self.at += bytes;
        }
    }
}

/// Measures an application. Its findings add up over measurements.
pub fn measure(application: &mut dyn Application, trace: &Trace, way: Way) -> Cost {
    let mut sorter = way.key.map(Sorter::new);
    let mut ring = Ring { memory: vec![1; RING_BYTES], at: 0, frames: Vec::new() };
    let warm_up = ((trace.frames.len() as f64 * WARM_UP) as usize).next_multiple_of(way.batch_frames);
    let (warm, counted) = trace.frames.split_at(warm_up.min(trace.frames.len()));
    callgrind(Callgrind::Start);
    run(application, trace, warm, way, &mut sorter, &mut ring);
    callgrind(Callgrind::Zero);
    let mut counters = Counters::start().ok();
    let mut cost = run(application, trace, counted, way, &mut sorter, &mut ring);
    let counted_events = counters.as_mut().map(Counters::read).unwrap_or_default();
    callgrind(Callgrind::Stop);
    let packets = cost.packets.max(1) as f64;
    for figure in [&mut cost.gather_ns, &mut cost.sort_ns, &mut cost.application_ns] {
        *figure /= packets;
    }
    cost.cycles = cost.ns() * nominal_rate();
    cost.counters = counted_events.into_iter().map(|(name, count)| (name.to_owned(), count as f64 / packets)).collect();
    cost.found = application.found();
    cost
}

/// Ticks of the processor's time stamp counter per nanosecond.
fn nominal_rate() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (begun, cycles) = (Instant::now(), reference_cycles());
        std::thread::sleep(Duration::from_millis(50));
        reference_cycles().wrapping_sub(cycles) as f64 / begun.elapsed().as_nanos() as f64
    })
}

fn run(
    application: &mut dyn Application,
    trace: &Trace,
    frames: &[Frame],
    way: Way,
    sorter: &mut Option<Sorter>,
    ring: &mut Ring,
) -> Cost {
    let mut cost = Cost::default();
    let mut order = Vec::new();
    for arrived in frames.chunks(way.batch_frames) {
        let begun = thread_cpu_ns();
        ring.gather(trace, arrived);
        let gathered = thread_cpu_ns();
        let batch = Batch::new(&ring.memory, &ring.frames);
        let sorted;
        if let Some(sorter) = sorter {
            sorter.order(&batch, &mut order);
            sorted = thread_cpu_ns();
            for frame in order.iter().filter_map(|&index| batch.frames.get(index as usize)) {
                application.packet(frame, batch.bytes(frame));
            }
        } else {
            sorted = gathered;
            for frame in batch.frames {
                application.packet(frame, batch.bytes(frame));
            }
        }
        cost.application_ns += thread_cpu_ns().saturating_sub(sorted) as f64;
        cost.gather_ns += gathered.saturating_sub(begun) as f64;
        cost.sort_ns += sorted.saturating_sub(gathered) as f64;
        cost.packets += arrived.len() as u64;
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locality::{apps::Kinds, traffic::Traffic};

    #[test]
    fn every_order_finds_the_same() {
        let trace = Traffic { flows: 300, packets: 3000, seed: 3 }.make();
        for (kind, size) in Kinds::ALL.into_iter().zip([20, 300, 16]) {
            let off = measure(&mut *kind.build(size), &trace, Way::OFF);
            assert!(off.found > 0, "{kind:?}");
            for &key in Key::ALL {
                let way = Way { key: Some(key), batch_frames: 700 };
                let sorted = measure(&mut *kind.build(size), &trace, way);
                assert_eq!(sorted.found, off.found, "{kind:?} {key}");
            }
        }
    }
}
