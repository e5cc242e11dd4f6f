//! Stream delivery and pattern matching against libnids: by rate, as Scap's figure 4, and by the number of streams at
//! once, as figure 5.

use std::{fmt::Write as _, fs, path::PathBuf};

use crate::live::series::{available, limit, single};
use crate::{
    live::{
        measurement::{Load, Measurement, TrafficKind},
        settings::Settings,
        sweep::{Plan, Series},
        testbed::Testbed,
        tools::Maybe,
    },
    plot::Plot,
    program::Program,
    report::{Goal, Section, Table, percent, rate},
};

/// Packets per second, up to the most that a generator of whole connections reaches.
const RATES: [f64; 6] = [100e3, 200e3, 350e3, 550e3, 800e3, 1.2e6];
/// Bytes of the servers' frames: the mean size in the trace of Scap's evaluation.
const SIZE: u32 = 800;
/// Number of patterns: as many as Scap's evaluation took from Snort's rules.
const PATTERNS: usize = 2_120;

/// A file of patterns, which is removed with the value.
struct PatternFile(PathBuf);

impl PatternFile {
    /// Random words: as with real rules, matches are rare.
    fn write() -> Result<Self, String> {
        let mut random = tidewire_gen::random::Random::new(7);
        let mut text = String::new();
        for _ in 0..PATTERNS {
            for _ in 0..6 + random.below(14) {
                let letter = b'a' + random.below(26) as u8;
                text.push(char::from(letter));
            }
            let _ = writeln!(text);
        }
        let path = PathBuf::from(format!("/tmp/tidewire-bench-live-{}.patterns", std::process::id()));
        fs::write(&path, text).map_err(|error| error.to_string())?;
        Ok(Self(path))
    }
}

impl Drop for PatternFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn tcp(flows: u64, connections: u64, segments: u32, rate: f64) -> Load {
    Load { kind: TrafficKind::Tcp { connections, segments }, ..Load::udp(flows, SIZE, rate, 0.0) }
}

/// Packets of a connection with this many data segments.
fn packets_each(segments: u32) -> f64 {
    f64::from(7 + segments + segments / 2)
}

fn programs(settings: &Settings, patterns: &PatternFile) -> Vec<Maybe> {
    let file = patterns.0.display().to_string();
    let with = ["--patterns", file.as_str()];
    vec![
        settings.tools.streams("tidewire, delivery", "count", &[]),
        settings.tools.libnids("libnids, delivery", "count", &[]),
        settings.tools.streams("tidewire, matching", "match", &with),
        settings.tools.libnids("libnids, matching", "match", &with),
    ]
}

/// Streams of a measurement that were not followed to their end.
fn lost_streams(point: &Measurement) -> u64 {
    point.connections.unwrap_or(0).saturating_sub(point.output.closed.unwrap_or(0))
}

pub(super) fn by_rate(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Stream delivery and pattern matching by rate".into(),
        text: format!(
            "1,000 TCP connections at once with whole lives, servers' frames of {SIZE} bytes. Both directions of every stream \
             are collected, and counted or searched for {PATTERNS} patterns by the same matcher. No checksums are verified; \
             packet sockets, rings of 64 MiB."
        ),
        ..Section::default()
    };
    let patterns = PatternFile::write()?;
    let programs = available(programs(settings, &patterns), &mut section);
    let rates = if settings.quick { vec![200e3, 650e3] } else { RATES.to_vec() };
    let plan =
        Plan { rates, halvings: if settings.quick { 0 } else { 1 }, again: 1, beyond: usize::from(!settings.quick) };
    let seconds = settings.seconds();
    let mut found = Vec::new();
    Testbed::inside(settings.receiving, |testbed| {
        for program in &programs {
            // As many connections as fill the time at this rate.
            let load = move |rate: f64| tcp(1000, (rate * seconds / packets_each(10)) as u64, 10, rate);
            found.push(crate::live::series::series_of(testbed, Some(program), &load, &plan, &mut section)?);
        }
        Ok(())
    })?;
    section.tables.push(rates_table(&programs, &found));
    for (file, title, of) in [
        ("delivery-loss", "Streams by rate: packets lost", (|point| point.loss * 100.0) as fn(&Measurement) -> f64),
        ("delivery-cpu", "Streams by rate: CPU of the process", |point| point.cpu * 100.0),
        ("delivery-softirq", "Streams by rate: soft interrupt load", |point| point.softirq * 100.0),
    ] {
        let curve = |(program, series): (&Program, &Series<Measurement>)| {
            let points = series.points.iter().map(|(_, point)| (point.offered_bps / 1e9, of(point))).collect();
            (program.name.clone(), points)
        };
        section.plots.push(Plot {
            file: file.into(),
            title: title.into(),
            axes: ["Gbit/s".into(), "%".into()],
            y_max: Some(100.0),
            curves: programs.iter().zip(&found).map(curve).collect(),
            ..Plot::default()
        });
    }
    Ok(section)
}

fn rates_table(programs: &[Program], found: &[Series<Measurement>]) -> Table {
    let columns =
        ["program", "offered", "Gbit/s", "lost %", "streams lost", "CPU %", "softirq %", "delivered of offered %"];
    let mut table = Table::new("Loss and CPU by rate", &columns);
    for (program, series) in programs.iter().zip(found) {
        for (_, point) in &series.points {
            table.lines.push(vec![
                program.name.clone(),
                rate(point.offered_pps),
                format!("{:.2}", point.offered_bps / 1e9),
                percent(point.loss),
                lost_streams(point).to_string(),
                percent(point.cpu),
                percent(point.softirq),
                delivered(point),
            ]);
        }
        let mut line = vec![program.name.clone(), format!("**holds {}**", limit(series))];
        line.resize(columns.len(), String::new());
        table.lines.push(line);
    }
    table
}

fn delivered(point: &Measurement) -> String {
    let shares = point.output.delivered_bytes.zip(point.payload_bytes);
    shares.map_or("–".into(), |(got, sent)| format!("{:.2}", 100.0 * got as f64 / sent.max(1) as f64))
}

/// Packets per second of the row by streams: a rate that all programs hold with few streams.
const PACED: f64 = 300e3;
/// Least number of packets of a measurement.
const PACKETS_LEAST: u64 = 500_000;

pub(super) fn by_streams(settings: &Settings) -> Result<Section, String> {
    let powers = if settings.quick { vec![2, 5] } else { (1..=6).collect() };
    at_once(settings, powers)
}

/// The next step of `by_streams`, a separate row because it takes as long as all others.
pub(super) fn ten_million(settings: &Settings) -> Result<Section, String> {
    at_once(settings, vec![7])
}

fn at_once(settings: &Settings, powers: Vec<u32>) -> Result<Section, String> {
    let mut section = Section {
        title: "Streams at once".into(),
        text: format!(
            "TCP connections open at once, one packet of each after the other, at {}: a handshake, a request of 200 to 400 \
             bytes, two segments of {SIZE} bytes, FINs. A stream is lost when it was not followed from its SYN to its FINs \
             with all of its bytes. libnids' table holds 2^20 connections, of which it uses three quarters.",
            rate(PACED)
        ),
        ..Section::default()
    };
    let patterns = PatternFile::write()?;
    let table_size = ["--streams", "1048576"];
    let file = patterns.0.display().to_string();
    let matching = ["--patterns", file.as_str(), "--streams", "1048576"];
    let programs = vec![
        settings.tools.streams("tidewire, delivery", "count", &[]),
        settings.tools.libnids("libnids, delivery", "count", &table_size),
        settings.tools.streams("tidewire, matching", "match", &matching[..2]),
        settings.tools.libnids("libnids, matching", "match", &matching),
    ];
    let programs = available(programs, &mut section);
    let columns = [
        "streams at once",
        "program",
        "streams",
        "streams lost",
        "packets lost %",
        "delivered of offered %",
        "CPU %",
        "memory MB",
    ];
    let mut table = Table::new("", &columns);
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = programs.iter().map(|p| (p.name.clone(), Vec::new())).collect();
    Testbed::inside(settings.receiving, |testbed| {
        for power in powers {
            let streams = 10_u64.pow(power);
            let connections = streams.max(PACKETS_LEAST / packets_each(2) as u64);
            for (program, curve) in programs.iter().zip(&mut curves) {
                // They take minutes each, and matching shows nothing that delivery does not.
                if power >= 6 && program.name.contains("matching") {
                    continue;
                }
                let Some(point) = single(testbed, program, &tcp(streams, connections, 2, PACED), &mut section)? else {
                    continue;
                };
                let share = lost_streams(&point) as f64 / connections as f64;
                curve.1.push((streams as f64, share * 100.0));
                table.lines.push(vec![
                    streams.to_string(),
                    program.name.clone(),
                    connections.to_string(),
                    format!("{} ({} %)", lost_streams(&point), percent(share)),
                    percent(point.loss),
                    delivered(&point),
                    percent(point.cpu),
                    format!("{:.0}", point.peak_bytes as f64 / 1e6),
                ]);
                if program.name == "tidewire, delivery" {
                    section.goals.push(Goal {
                        work: None,
                        wanted: format!("{streams} streams at once: none lost"),
                        figure: format!("{} of {connections} lost", lost_streams(&point)),
                        met: Some(lost_streams(&point) == 0),
                    });
                }
            }
        }
        Ok(())
    })?;
    section.tables.push(table);
    section.plots.push(Plot {
        file: "streams".into(),
        title: "Streams lost by the number of streams at once".into(),
        axes: ["streams at once".into(), "lost, %".into()],
        x_by_factors: true,
        y_max: Some(100.0),
        curves,
        ..Plot::default()
    });
    Ok(section)
}
