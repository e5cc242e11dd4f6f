//! Packet sockets and AF_XDP at the same offered rates, as figures 5 and 6 of the fan-out paper.

use crate::live::series::{available, held, limit, series};
use crate::{
    live::{
        measurement::{Load, Measurement},
        settings::Settings,
        sweep::{Plan, Series},
        testbed::Testbed,
        tools::{Maybe, RING_BYTES},
    },
    plot::Plot,
    program::Program,
    report::{Section, Table, percent, rate},
};

/// Frame sizes, FCS included, bytes.
const SIZES: [u32; 6] = [64, 128, 256, 512, 1024, 1500];
/// Packets per second.
const RATES: [f64; 4] = [500e3, 1e6, 1.5e6, 2.2e6];

fn programs(settings: &Settings) -> Vec<Maybe> {
    let tools = &settings.tools;
    let both = |program: Maybe| program.map(Program::unpinned);
    let fanout = ["--fanout", "any", "hash", "-w", "2"];
    let packet = ["--engine", "packet", "--json"];
    let xdp = ["--engine", "xdp", "--tap", "--json"];
    vec![
        tools.tidewire("packet socket", "count", &packet),
        both(tools.tidewire("packet socket, 2 workers (hash)", "count", &[&packet[..], &fanout].concat())),
        tools.tidewire("AF_XDP", "count", &xdp),
        both(tools.tidewire("AF_XDP, 2 workers", "count", &[&xdp[..], &["-w", "2"]].concat())),
        tools.pcap_loop("libpcap loop", 0, RING_BYTES),
    ]
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Packet sockets and AF_XDP at the same rates".into(),
        text: "A program that only counts (`tidewire count`), 1,000 flows, frames of six sizes. With two workers the second is \
               on the generator's core and takes time from it."
            .into(),
        ..Section::default()
    };
    let programs = available(programs(settings), &mut section);
    let sizes: Vec<u32> = if settings.quick { vec![64, 1500] } else { SIZES.to_vec() };
    let rates = if settings.quick { RATES[..].iter().copied().step_by(2).collect() } else { RATES.to_vec() };
    let plan = Plan { rates, halvings: u32::from(!settings.quick), again: 1, beyond: 0 };
    let mut found: Vec<Vec<Series<Measurement>>> = Vec::new();
    Testbed::inside(settings.receiving, |testbed| {
        for program in &programs {
            let mut row = Vec::new();
            for &size in &sizes {
                let load = Load::udp(1000, size, 0.0, 1.0);
                row.push(series(testbed, Some(program), &load, &plan, &mut section)?);
            }
            found.push(row);
        }
        Ok(())
    })?;
    section.tables.push(limits(&programs, &sizes, &found));
    section.tables.push(costs(&programs, &sizes, &found));
    let mut plot = Plot {
        file: "engines".into(),
        title: "Rate held without loss".into(),
        axes: ["bytes a frame".into(), "million packets a second".into()],
        ..Plot::default()
    };
    for (program, row) in programs.iter().zip(&found) {
        let points = sizes.iter().zip(row).map(|(size, series)| (f64::from(*size), held(series) / 1e6)).collect();
        plot.curves.push((program.name.clone(), points));
    }
    section.plots.push(plot);
    Ok(section)
}

fn limits(programs: &[Program], sizes: &[u32], found: &[Vec<Series<Measurement>>]) -> Table {
    let mut table = Table::new("Rate held without loss", &["program"]);
    table.columns.extend(sizes.iter().map(|size| format!("{size} bytes")));
    for (program, row) in programs.iter().zip(found) {
        let mut line = vec![program.name.clone()];
        line.extend(row.iter().map(limit));
        table.lines.push(line);
    }
    table
}

/// CPU and loss at the rates of the plan.
fn costs(programs: &[Program], sizes: &[u32], found: &[Vec<Series<Measurement>>]) -> Table {
    let columns = ["bytes", "rate", "program", "lost %", "CPU %", "softirq %", "Gbit/s", "ns a packet, both"];
    let mut table = Table::new("CPU and loss at the same rates", &columns);
    for (index, size) in sizes.iter().enumerate() {
        for wanted in RATES {
            for (program, row) in programs.iter().zip(found) {
                let Some(series) = row.get(index) else { continue };
                let Some((_, point)) = series.points.iter().find(|(rate, _)| *rate == wanted) else { continue };
                table.lines.push(vec![
                    size.to_string(),
                    rate(point.offered_pps),
                    program.name.clone(),
                    percent(point.loss),
                    percent(point.cpu),
                    percent(point.softirq),
                    format!("{:.2}", point.offered_bps / 1e9),
                    format!("{:.0}", point.ns_per_packet()),
                ]);
            }
        }
    }
    table
}
