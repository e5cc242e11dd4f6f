use std::{
    io,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

use crate::sys::{
    bpf::Program,
    wait::{monotonic_ns, now_ns},
};

/// Ticks a second that a kernel can be built with (CONFIG_HZ).
const HERTZ: [u64; 4] = [100, 250, 300, 1000];
/// Between two looks at the ticks, when their rate is found out.
const APART: Duration = Duration::from_millis(24);
/// Looks at the tick while waiting for the next.
const LOOKS_MAX: u32 = 1_000_000;
/// Programs report the monotonic time in units of 2 to this power nanoseconds.
const SHIFT: u32 = 20;

/// The tick and, << 32, its monotonic time, as the programs report it (`bpf/layout.h`).
fn clocks(tick: u32, monotonic_ns: u64) -> u64 {
    u64::from(tick) | monotonic_ns >> SHIFT << 32
}

/// Measures the duration of a tick, nanoseconds, with a program that reads it; and reads the clocks. Takes about 30 ms.
pub(super) fn ticks(program: &Program) -> io::Result<(u64, u64)> {
    let (first, begun_ns) = edge(program)?;
    thread::sleep(APART);
    let (last, ended_ns) = edge(program)?;
    let measured_ns = (ended_ns - begun_ns) / u64::from(last.wrapping_sub(first).max(1));
    let off = |hertz: &u64| measured_ns.abs_diff(1_000_000_000 / hertz);
    let tick_ns = 1_000_000_000 / HERTZ.into_iter().min_by_key(off).unwrap_or(HERTZ[0]);
    Ok((tick_ns, clocks(last, ended_ns)))
}

/// Waits for the next tick; its number, and the monotonic time.
fn edge(program: &Program) -> io::Result<(u32, u64)> {
    let now = || program.run(&[0; 64]);
    let before = now()?;
    for _ in 0..LOOKS_MAX {
        let tick = now()?;
        if tick != before {
            return Ok((tick, monotonic_ns()));
        }
    }
    Err(io::Error::other("the kernel's ticks stand still"))
}

/// Turns the kernel's ticks, which programs read at almost no cost (a helper for the time costs 15 ns), into the time of
/// frames' timestamps (nanoseconds since the epoch).
///
/// While packets are counted, the programs report the time every 64 ticks, so that the two do not drift apart. Results are too
/// early by at most two ticks and a millisecond (4 to 21 ms, as the kernel was built; usually 9), never late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock<'a> {
    pub(super) tick_ns: u64,
    /// The programs' report.
    pub(super) clocks: Option<&'a AtomicU64>,
}

impl Clock<'_> {
    fn clocks(&self) -> (u32, u64) {
        let clocks = self.clocks.map_or(0, |clocks| clocks.load(Relaxed));
        // The upper bits of the time are those of now, or of a moment ago.
        let (now, units) = (monotonic_ns() >> SHIFT, clocks >> 32);
        let age = (now as u32).wrapping_sub(units as u32);
        (clocks as u32, now.saturating_sub(age.into()) << SHIFT)
    }

    /// The tick now.
    pub(super) fn tick(&self) -> u32 {
        let (tick, monotonic) = self.clocks();
        tick.wrapping_add((monotonic_ns().saturating_sub(monotonic) / self.tick_ns.max(1)) as u32)
    }

    /// How long ago the tick `last` was, nanoseconds; at most two ticks and a millisecond too long.
    pub(super) fn age_ns(&self, last: u32) -> u64 {
        let (tick, monotonic) = self.clocks();
        let since = i64::from(last.wrapping_sub(tick) as i32) - 1;
        monotonic_ns().saturating_sub(monotonic.saturating_add_signed(since.saturating_mul(self.tick_ns as i64)))
    }

    /// When the tick `last` was.
    pub(super) fn epoch_ns(&self, last: u32) -> u64 {
        now_ns().saturating_sub(self.age_ns(last))
    }
}
