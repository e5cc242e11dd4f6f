//! Rates that recorders hold, by the length of frames.

use std::path::Path;

use super::{recorders::Scratch, settings::Settings};
use crate::{
    live::{
        measurement::{Load, Measurement},
        series::{at, available, held, limit, series, single},
        sweep::{Plan, Series},
    },
    plot::Plot,
    program::Program,
    report::{Goal, Section, Table, percent, rate},
};

/// Frame sizes, FCS included, bytes.
const SIZES: [u32; 3] = [64, 256, LARGE];
const LARGE: u32 = 1518;
/// Large frames are sent to a disk for so long, seconds: what comes in less fits in the page cache, so that the disk would not matter.
const DISK_SECONDS: f64 = 12.0;
/// Packets a second.
const RATES: [f64; 11] = [100e3, 140e3, 200e3, 280e3, 400e3, 560e3, 800e3, 1.1e6, 1.6e6, 2.2e6, 3.2e6];

pub(super) fn to_memory(settings: &Settings) -> Result<Section, String> {
    rows(settings, &settings.memory, "memory", "Rates held without loss, to memory")
}

pub(super) fn to_disk(settings: &Settings) -> Result<Section, String> {
    rows(settings, &settings.disk, "disk", "Rates held without loss, to the disk")
}

fn rows(settings: &Settings, parent: &Path, place: &str, title: &str) -> Result<Section, String> {
    let text =
        "Frames of three sizes at rising rates. CPU is compared at seven tenths of the rate that the weakest holds.";
    let mut section = Section { title: title.into(), text: text.into(), ..Section::default() };
    let scratch = Scratch::new(parent)?;
    let programs = available(settings.recorders.all(&scratch.0), &mut section);
    let rates = RATES.iter().copied().step_by(if settings.quick { 3 } else { 1 }).collect();
    let plan = Plan { rates, halvings: if settings.quick { 1 } else { 2 }, again: 1, beyond: 1 };
    let mut columns = vec!["bytes a frame"];
    columns.extend(programs.iter().map(|program| program.name.as_str()));
    let mut limits = Table::new("Greatest rate without loss", &columns);
    let mut costs = Table::new("CPU seconds a GB of packets", &columns);
    for size in SIZES {
        let is_long = place == "disk" && size == LARGE && !settings.quick;
        let load = Load::udp(1000, size, 0.0, if is_long { DISK_SECONDS } else { settings.seconds() });
        let mut found: Vec<Series<Measurement>> = Vec::new();
        let mut cost: Vec<Option<f64>> = Vec::new();
        settings.inside(|testbed| {
            for program in &programs {
                found.push(series(testbed, Some(program), &load, &plan, &mut section)?);
            }
            let weakest = found.iter().map(held).filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
            if weakest.is_finite() {
                for program in &programs {
                    let measured = single(testbed, program, &at(&load, weakest * 0.7), &mut section)?;
                    cost.push(measured.filter(|measured| measured.loss == 0.0).map(|measured| cpu_of_gb(&measured)));
                }
            }
            Ok(())
        })?;
        let figure = |cost: &Option<f64>| cost.map_or("–".into(), |cost| format!("{cost:.3}"));
        limits.lines.push(std::iter::once(size.to_string()).chain(found.iter().map(limit)).collect());
        costs.lines.push(std::iter::once(size.to_string()).chain(cost.iter().map(figure)).collect());
        section.goals.extend(goals(place, size, &programs, &found, &cost));
        section.plots.push(curves(place, size, &programs, &found));
    }
    section.tables.extend([limits, costs]);
    Ok(section)
}

fn cpu_of_gb(measured: &Measurement) -> f64 {
    measured.cpu * measured.seconds / (measured.offered_bytes as f64 / 1e9)
}

fn goals(
    place: &str,
    size: u32,
    programs: &[Program],
    found: &[Series<Measurement>],
    cost: &[Option<f64>],
) -> Vec<Goal> {
    let ours = found.first().map_or(0.0, held);
    let peers = found.iter().skip(1).map(held).zip(programs.iter().skip(1));
    let best = peers.max_by(|one, other| one.0.total_cmp(&other.0));
    let mut goals = Vec::new();
    if let Some((theirs, peer)) = best.filter(|best| best.0 > 0.0) {
        goals.push(Goal {
            work: Some([format!("{size}-byte frames to {place}: rate held"), peer.name.clone()]),
            wanted: "at least 1.5 ×".into(),
            figure: format!("{:.2} × ({} against {})", ours / theirs, rate(ours), rate(theirs)),
            met: Some(ours >= 1.5 * theirs),
        });
    }
    let tcpdump = programs.iter().position(|program| program.name == "tcpdump");
    let costs = cost.first().copied().flatten().zip(tcpdump.and_then(|at| cost.get(at).copied().flatten()));
    if let Some((ours, theirs)) = costs {
        goals.push(Goal {
            work: Some([format!("{size}-byte frames to {place}: CPU a GB"), "tcpdump".into()]),
            wanted: "at most 0.7 ×".into(),
            figure: format!("{:.2} × ({ours:.3} s against {theirs:.3} s)", ours / theirs),
            met: Some(ours <= 0.7 * theirs),
        });
    }
    goals
}

fn curves(place: &str, size: u32, programs: &[Program], found: &[Series<Measurement>]) -> Plot {
    let mut plot = Plot {
        file: format!("{place}-{size}"),
        title: format!("Frames of {size} bytes to {place}: lost"),
        axes: ["packets a second".into(), "lost, %".into()],
        x_by_factors: true,
        ..Plot::default()
    };
    for (program, series) in programs.iter().zip(found) {
        let points = series.points.iter().map(|(_, point)| (point.offered_pps, point.loss * 100.0)).collect();
        plot.curves.push((program.name.clone(), points));
    }
    // A curve that stays at the bottom is to be seen.
    let most = plot.curves.iter().flat_map(|curve| &curve.1).map(|point| point.1).fold(1.0, f64::max);
    plot.title.push_str(&format!(" (up to {} %)", percent(most / 100.0)));
    plot.y_max = Some(most * 1.05);
    plot
}
