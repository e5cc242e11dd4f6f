//! Attacks on memory and CPU time (`make attack`): their cost, and the loss of honest connections meanwhile.

mod floods;
mod honest;
mod one;

use std::{fmt::Write as _, process::Command};

pub use floods::{Crowd, Flood, Maker};
pub use honest::Load;
pub use one::{Figures, One, frame, one};

/// Memory that a process may use beyond its budget.
const BESIDE_BYTES: u64 = 32 << 20;
/// How often time is measured. The least counts; other load makes the others longer.
const REPEATS: u32 = 5;
/// Memory budgets of the measurements.
const MEMORIES_MIB: [u64; 3] = [16, 64, 1024];

/// How `attack` is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Fewer packets.
    pub quick: bool,
    /// Only floods whose names contain one of these.
    pub only: Vec<String>,
    /// Instead: the share of intact honest connections by the attacker's share of the packets.
    pub curves: bool,
}

impl Options {
    fn floods(&self) -> impl Iterator<Item = Flood> {
        let is_wanted =
            |flood: &Flood| self.only.is_empty() || self.only.iter().any(|name| flood.name().contains(name));
        Flood::ALL.iter().copied().filter(is_wanted)
    }
}

/// A measurement in a separate process.
fn apart(what: &One) -> Result<Figures, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let One { flood, crowd, memory_bytes, packets, share, load } = what;
    let mut command = Command::new(program);
    command.args(["attack-one", flood.name(), "--packets", &packets.to_string(), "--share", &share.to_string()]);
    command.args(["--memory", &memory_bytes.to_string(), "--sources", &crowd.sources.to_string()]);
    command.args(["--destinations", &crowd.destinations.to_string()]);
    command.args(["--at-once", &load.at_once.to_string(), "--late", &load.late_max.to_string()]);
    if crowd.is_v6 {
        command.arg("--ipv6");
    }
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{}: {}", flood.name(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", flood.name()))
}

/// Repeats a measurement: the least time, the greatest peak.
fn least(what: &One) -> Result<Figures, String> {
    let mut least = apart(what)?;
    for _ in 1..REPEATS {
        let Figures { ns_per_packet, peak_bytes, .. } = apart(what)?;
        least.ns_per_packet = least.ns_per_packet.min(ns_per_packet);
        least.peak_bytes = least.peak_bytes.max(peak_bytes);
    }
    Ok(least)
}

/// Runs all floods and returns the tables.
///
/// # Errors
/// A measurement failed; an unknown name.
pub fn run(options: &Options) -> Result<String, String> {
    let has = |name: &&String| Flood::ALL.iter().any(|flood| flood.name().contains(name.as_str()));
    if let Some(name) = options.only.iter().find(|name| !has(name)) {
        let all: Vec<_> = Flood::ALL.iter().map(|flood| flood.name()).collect();
        return Err(format!("no flood's name contains '{name}': expected part of {}", all.join(", ")));
    }
    if options.curves { curves(options) } else { floods(options) }
}

fn floods(options: &Options) -> Result<String, String> {
    let packets = if options.quick { 400_000 } else { 4_000_000 };
    let crowd = Crowd { sources: 1_000_000, destinations: 1, is_v6: false };
    let mut table = String::from(
        "| flood | memory | peak | of budget + 32 MiB | ns a packet | of benign | goal | intact honest connections, half the packets |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mut missed = Vec::new();
    for memory in MEMORIES_MIB {
        let memory_bytes = memory << 20;
        let what = |flood, share| One { flood, crowd, memory_bytes, packets, share, load: Load::USUAL };
        let benign = least(&what(Flood::Benign, 100))?.ns_per_packet;
        for flood in options.floods() {
            let alone = least(&what(flood, 100))?;
            let mixed = apart(&what(flood, 50))?;
            let within = alone.peak_bytes.max(mixed.peak_bytes) as f64 / (memory_bytes + BESIDE_BYTES) as f64;
            let (times, goal) = (alone.ns_per_packet / benign, if flood.is_copied() { 6.0 } else { 4.0 });
            let whole_min = if memory < 64 { 97.0 } else { 99.0 };
            let misses = [
                (within > 1.0, "peak"),
                (times > goal && flood != Flood::Benign, "time"),
                (percent(&mixed) < whole_min, "honest"),
            ];
            let misses = misses.iter().filter(|(is_missed, _)| *is_missed);
            missed.extend(misses.map(|(_, what)| format!("{} at {memory} MiB ({what})", flood.name())));
            let _ = writeln!(
                table,
                "| {} | {memory} MiB | {} MiB | {:.0} % | {:.0} | {:.1} × | {} × | {:.2} % |",
                flood.name(),
                alone.peak_bytes.max(mixed.peak_bytes) >> 20,
                within * 100.0,
                alone.ns_per_packet,
                times,
                goal,
                percent(&mixed),
            );
        }
    }
    let missed = if missed.is_empty() { "none".to_owned() } else { missed.join(", ") };
    let _ = writeln!(
        table,
        "\nGoals: peak within the budget and 32 MiB; time of benign traffic four times at most, six where bytes are copied and \
         compared; 97 % of honest connections intact at 16 MiB, 99 % with more.\nMissed: {missed}"
    );
    Ok(table)
}

fn percent(figures: &Figures) -> f64 {
    figures.whole as f64 * 100.0 / figures.honest.max(1) as f64
}

fn curves(options: &Options) -> Result<String, String> {
    let packets = if options.quick { 300_000 } else { 2_000_000 };
    let mut table = String::from(
        "| flood | memory | attacker | 10 % | 30 % | 50 % | 70 % | 90 % |\n|---|---|---|---|---|---|---|---|\n",
    );
    let crowds = [
        ("1 source", Crowd { sources: 1, destinations: 1, is_v6: false }),
        ("1,000 sources", Crowd { sources: 1000, destinations: 1, is_v6: false }),
        ("10^6 sources", Crowd { sources: 1_000_000, destinations: 1, is_v6: false }),
        ("10^6 sources, IPv6, many destinations", Crowd { sources: 1_000_000, destinations: 10_000, is_v6: true }),
    ];
    for flood in options.floods().filter(|flood| *flood != Flood::Benign) {
        for memory in [16, 64] {
            for (name, crowd) in crowds {
                let _ = write!(table, "| {} | {memory} MiB | {name} |", flood.name());
                for share in [10, 30, 50, 70, 90] {
                    let figures =
                        apart(&One { flood, crowd, memory_bytes: memory << 20, packets, share, load: Load::USUAL })?;
                    let _ = write!(table, " {:.2} |", percent(&figures));
                }
                table.push('\n');
            }
        }
    }
    Ok(table)
}
