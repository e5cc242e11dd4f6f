//! Loss by rate with some microseconds of work per packet, as in NCAP's appendix.

use crate::live::series::{available, single};
use crate::{
    live::{measurement::Load, settings::Settings, testbed::Testbed},
    plot::Plot,
    report::{Goal, Section, Table, percent},
};

/// Work per packet, nanoseconds.
const WORK_NS: [u64; 3] = [10_000, 5_000, 3_000];
/// Packets per second: from half of what 10 µs allow to more than 3 µs allow.
const RATES: [f64; 9] = [50e3, 80e3, 95e3, 110e3, 140e3, 180e3, 220e3, 280e3, 350e3];
/// The ring's memory: libpcap's default. A large one would hide the loss of a short run.
const RING_BYTES: u64 = 2 << 20;

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Loss against rate with 10, 5 and 3 µs of work a packet".into(),
        text: "As the table of NCAP's appendix: each packet costs the program some busy time. 512-byte frames of 1,000 flows; \
               rings of 2 MiB, libpcap's default. With 10 µs no program can hold more than 100 kpps."
            .into(),
        ..Section::default()
    };
    let mut programs = Vec::new();
    for work_ns in WORK_NS {
        let microseconds = work_ns / 1000;
        let (work, ring) = (format!("{work_ns}ns"), RING_BYTES.to_string());
        let options = ["--engine", "packet", "--ring", &ring, "--json", "--work", &work];
        programs.push(settings.tools.tidewire(&format!("tidewire, {microseconds} µs"), "count", &options));
        programs.push(settings.tools.pcap_loop(&format!("libpcap, {microseconds} µs"), work_ns, RING_BYTES));
    }
    let programs = available(programs, &mut section);
    let rates: Vec<f64> = RATES.iter().copied().step_by(if settings.quick { 4 } else { 1 }).collect();
    let load = Load::udp(1000, 512, 0.0, settings.seconds());
    let mut losses: Vec<Vec<Option<f64>>> = Vec::new();
    Testbed::inside(settings.receiving, |testbed| {
        for program in &programs {
            let mut row = Vec::new();
            for &rate in &rates {
                let point = single(testbed, program, &crate::live::series::at(&load, rate), &mut section)?;
                row.push(point.map(|point| point.loss));
            }
            losses.push(row);
        }
        Ok(())
    })?;
    let mut columns = vec!["packets a second"];
    columns.extend(programs.iter().map(|program| program.name.as_str()));
    let mut table = Table::new("Lost, %", &columns);
    for (index, rate) in rates.iter().enumerate() {
        let mut line = vec![format!("{rate:.0}")];
        let cells = losses.iter().map(|row| row.get(index).copied().flatten().map_or("–".into(), percent));
        line.extend(cells);
        table.lines.push(line);
    }
    let mut plot = Plot {
        file: "work".into(),
        title: "Loss against rate with work on each packet".into(),
        axes: ["packets a second".into(), "lost, %".into()],
        y_max: Some(100.0),
        ..Plot::default()
    };
    for (program, row) in programs.iter().zip(&losses) {
        let points = rates.iter().zip(row).filter_map(|(rate, loss)| loss.map(|loss| (*rate, loss * 100.0)));
        plot.curves.push((program.name.clone(), points.collect()));
    }
    section.goals.extend(goals(&programs, &losses));
    section.plots.push(plot);
    section.tables.push(table);
    Ok(section)
}

/// The goal: Tidewire loses no more than libpcap, summed over the rates.
fn goals(programs: &[crate::program::Program], losses: &[Vec<Option<f64>>]) -> Vec<Goal> {
    let sum = |name: String| {
        let index = programs.iter().position(|program| program.name == name)?;
        losses.get(index)?.iter().copied().sum::<Option<f64>>()
    };
    let goal = |work_ns: &u64| {
        let microseconds = work_ns / 1000;
        let ours = sum(format!("tidewire, {microseconds} µs"))?;
        let theirs = sum(format!("libpcap, {microseconds} µs"))?;
        let count = losses.first().map_or(1, Vec::len).max(1) as f64;
        Some(Goal {
            work: None,
            wanted: format!("{microseconds} µs a packet: loses no more than libpcap"),
            figure: format!("{} % against {} %, mean over the rates", percent(ours / count), percent(theirs / count)),
            // Repeated measurements differ by a percent.
            met: Some(ours <= theirs * 1.01 + 0.001 * count),
        })
    };
    WORK_NS.iter().filter_map(goal).collect()
}
