//! How a packet socket's ring fills: `packet_ring INTERFACE SECONDS [RING_MIB]`, while something sends.
//! Prints frames, system calls, how full the blocks were and how long frames waited.
#![forbid(unsafe_code)]

use std::{
    error::Error,
    time::{Duration, Instant},
};

use tidewire_live::{
    Interface, LiveSettings, Ring,
    packet::{Filters, Plan},
    sys::{arena::Arena, wait},
};
use tidewire_wire::Frame;

/// Bytes of a block, as long as the ring has 64 MiB.
const BLOCK_BYTES: u32 = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let interface = arguments.next().ok_or("an interface")?;
    let seconds: u64 = arguments.next().ok_or("seconds")?.parse()?;
    let ring_bytes = arguments.next().map_or(Ok(64), |text| text.parse::<usize>())? << 20;
    let plan = Plan::new(&LiveSettings::new([&interface]).with_ring_bytes(ring_bytes))?;
    let arena = Arena::reserve(plan.place_bytes())?;
    let place = arena.take(plan.place_bytes())?;
    let group = plan.open(&Interface::find(&interface)?, 0, &Filters::default(), vec![vec![place]])?;
    let mut ring = group.rings.into_iter().flatten().next().ok_or("a ring")?;
    let (mut frames, mut waits) = (Vec::<Frame>::new(), 0_u64);
    let (mut count, mut bytes, mut blocks, mut block) = (0_u64, 0_u64, 0_u64, u32::MAX);
    let mut delays = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        ring.collect(&mut frames, 512)?;
        if frames.is_empty() {
            if ring.prepare_wait()? {
                waits += 1;
                wait::readable(&[ring.descriptor()], Duration::from_millis(100))?;
            }
            continue;
        }
        let now = wait::now_ns();
        for frame in frames.drain(..) {
            count += 1;
            bytes += u64::from(frame.captured_bytes);
            if frame.at / BLOCK_BYTES != block {
                block = frame.at / BLOCK_BYTES;
                blocks += 1;
                // The first of a block waited longest.
                delays.push(now.saturating_sub(frame.timestamp.as_nanos()) / 1000);
            }
            ring.give_back(1);
        }
    }
    delays.sort_unstable();
    let counts = ring.counts()?;
    let share = |part: usize| delays.get(delays.len() * part / 1000).copied().unwrap_or(0);
    println!("{count} frames, {bytes} bytes, {} dropped of {}", counts.dropped, counts.dropped + counts.received);
    println!("{:.1} frames a block", count as f64 / blocks.max(1) as f64);
    println!("{:.6} system calls a frame ({waits} waits)", (waits + counts.calls) as f64 / count.max(1) as f64);
    println!("first of a block waited: median {} us, 99 % {} us, longest {} us", share(500), share(990), share(999));
    Ok(())
}
