//! Instances of a program that share a load, and where its packets went.

use std::time::Duration;

use tidewire_gen::traffic::Traffic;

use crate::live::{
    Load, cpu,
    point::offer,
    program::{Program, Running},
    stage::{SENDING_CORE, Stage},
};

/// What a measurement of some instances showed.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Packets offered, by the generator's account.
    pub offered: u64,
    /// The same a second.
    pub offered_pps: f64,
    /// How long, seconds.
    pub seconds: f64,
    /// Packets that the interface dropped.
    pub interface_dropped: u64,
    /// Packets that each instance got.
    pub each: Vec<u64>,
    /// Packets for which the instances' rings had no room.
    pub dropped: u64,
    /// CPU time of all instances as a share of the time.
    pub cpu: f64,
    /// Soft interrupts of the core that receives, the same way.
    pub softirq: f64,
}

impl Group {
    /// Packets that the instances got together.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.each.iter().sum()
    }

    /// What the link received, as a share of what was offered.
    #[must_use]
    pub fn link_received(&self) -> f64 {
        1.0 - self.interface_dropped.min(self.offered) as f64 / self.offered.max(1) as f64
    }

    /// What the instances got, as a share of what the link received.
    #[must_use]
    pub fn application_received(&self) -> f64 {
        self.received() as f64 / self.offered.saturating_sub(self.interface_dropped).max(1) as f64
    }

    /// What their rings had no room for, the same way.
    #[must_use]
    pub fn application_dropped(&self) -> f64 {
        self.dropped as f64 / self.offered.saturating_sub(self.interface_dropped).max(1) as f64
    }

    /// What nobody accounts for: packets that came more than once are below 0.
    #[must_use]
    pub fn unexplained(&self) -> i64 {
        let known = self.received() + self.dropped + self.interface_dropped;
        self.offered.cast_signed() - known.cast_signed()
    }

    /// CPU time of the instances, nanoseconds a packet that they got.
    #[must_use]
    pub fn ns_per_packet(&self) -> f64 {
        self.cpu * self.seconds * 1e9 / self.received().max(1) as f64
    }
}

/// Offers a load to instances.
///
/// # Errors
/// One of them does not start, or does not say what it got; the stage or the generator fails.
pub fn measure(stage: &Stage<'_>, programs: &[Program], load: &Load) -> Result<Group, String> {
    measure_of(stage, programs, load.traffic()?.as_mut(), load)
}

/// The same of other packets, at the load's rate and for its time.
///
/// # Errors
/// As [`measure`].
pub fn measure_of(
    stage: &Stage<'_>,
    programs: &[Program],
    traffic: &mut dyn Traffic,
    load: &Load,
) -> Result<Group, String> {
    let running = programs.iter().map(|program| program.start(stage)).collect::<Result<Vec<_>, _>>()?;
    let dropped = stage.received()?.rx_dropped;
    let used = |running: &[Running]| running.iter().map(Running::cpu_ns).sum::<u64>();
    let (cpu_before, soft_before) = (used(&running), cpu::core(SENDING_CORE).softirq_ns);
    let report = offer(stage, traffic, load)?;
    for one in &running {
        let _ = one.wait_until_idle(Duration::from_secs(5));
    }
    let (cpu_after, soft_after) = (used(&running), cpu::core(SENDING_CORE).softirq_ns);
    let seconds = report.elapsed.as_secs_f64().max(1e-6);
    let share = |before: u64, after: u64| after.saturating_sub(before) as f64 / 1e9 / seconds;
    let mut group = Group {
        offered: report.packets,
        offered_pps: report.packets_per_s(),
        seconds,
        interface_dropped: stage.received()?.rx_dropped.saturating_sub(dropped),
        cpu: share(cpu_before, cpu_after),
        softirq: share(soft_before, soft_after),
        ..Group::default()
    };
    for one in running {
        let (said, _) = one.end(stage)?;
        group.each.push(said.packets.ok_or("an instance did not say what it received")?);
        group.dropped += said.ring_lost.unwrap_or(0);
    }
    // A frame that an AF_XDP ring has no room for counts as dropped by the interface as well.
    group.interface_dropped =
        group.interface_dropped.min(group.offered.saturating_sub(group.received() + group.dropped));
    Ok(group)
}
