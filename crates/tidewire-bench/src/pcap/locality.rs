//! Locality through libpcap: unmodified programs, over a file and over an interface.

use std::path::{Path, PathBuf};

use tidewire_gen::traffic::{Replay, ReplaySettings};

use super::{options::Options, traces::Traces, way::Way};
use crate::{
    live::{
        Load,
        measurement::measure_traffic,
        testbed::{Receiving, Testbed},
    },
    locality::{apps::Kinds, mixture::mix, traffic::Traffic},
    median::median,
    peer_output::Format,
    plot::Plot,
    program::Program,
    report::{Section, Table, percent, rate},
};

/// The ring of the paper, bytes.
const RING_BYTES: &str = "16777216";

/// Flows of the traffic, and the size of the application's tables.
fn of(kind: Kinds) -> (u64, u64) {
    match kind {
        Kinds::Rules => (100_000, 300),
        Kinds::Ngrams => (100_000, 256),
        Kinds::Flows => (1_000_000, 1_000_000),
    }
}

fn sorted(options: &Options, key: &str, batch: u32, thread: bool) -> Way {
    let (locality, batch_is) = (format!("TIDEWIRE_LOCALITY={key}"), format!("TIDEWIRE_LOCALITY_BATCH={batch}"));
    let mut variables = vec![locality.as_str(), batch_is.as_str()];
    if thread {
        variables.push("TIDEWIRE_LOCALITY_THREAD=on");
    }
    let name = format!("{key} {batch}{}", if thread { ", thread" } else { "" });
    Way::ours(options, &name, &variables, 1)
}

fn ways(options: &Options) -> Vec<Way> {
    let mut ways = vec![Way::stock(), Way::ours(options, "preloaded, off", &[], 1)];
    ways.extend(
        [("port", 4000), ("service", 4000), ("flow", 4000), ("service", 16_000)]
            .map(|(key, batch)| sorted(options, key, batch, false)),
    );
    ways.push(sorted(options, "service", 4000, true));
    ways.push(sorted(options, "auto", 4000, false));
    ways
}

fn saved(now: f64, off: f64) -> String {
    format!("{:.1}", (1.0 - now / off) * 100.0)
}

/// Writes generated traffic to a capture.
fn capture(traces: &Traces, traffic: &Traffic) -> Result<PathBuf, String> {
    let path = traces.path(&format!("{}-{}.pcap", traffic.flows, traffic.packets));
    traffic.make().write(&path).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Runs `locality-loop` over a file: nanoseconds per packet, and what it found.
fn over_file(options: &Options, way: &Way, kind: Kinds, path: &Path) -> Result<(f64, u64), String> {
    let program = options.programs.join("locality-loop").display().to_string();
    let (file, size) = (path.display().to_string(), of(kind).1.to_string());
    let program = way.program(&[&program, kind.name(), &size, "--file", &file]);
    // A thread that reads and sorts has the other core.
    let program = if way.name.ends_with("thread") { program.unpinned() } else { program };
    let finished = program.run()?;
    let report = finished.json();
    let number =
        |name: &str| report.get(name).ok_or_else(|| format!("{}: no {name}: {}", way.name, finished.errors.trim()));
    Ok((number("ns_per_packet")?.as_f64().unwrap_or(f64::NAN), number("found")?.as_u64().unwrap_or(0)))
}

/// Applications with large tables that read a file.
pub(super) fn files(options: &Options) -> Result<Section, String> {
    let mut section = Section {
        title: "Locality through libpcap: a file".into(),
        text: "`locality-loop`, a program over libpcap that knows nothing of Tidewire, reads a file; CPU time of its thread for a \
               packet, reading the file included. All ways take turns; the middle of three rounds. With a thread, reading and \
               sorting are on the other core and not in the figure. `auto` spends the first quarter or more on its first trial, in which every other batch is unsorted."
            .into(),
        ..Section::default()
    };
    let traces = Traces::new(options)?;
    let mut table = Table::new("", &["application", "library", "ns", "saved, %"]);
    for kind in Kinds::ALL {
        let packets = if kind == Kinds::Flows { 1_200_000 } else { 300_000 } / if options.quick { 8 } else { 1 };
        let path = capture(&traces, &Traffic { flows: of(kind).0, packets, seed: 1 })?;
        let ways = ways(options);
        let mut all = vec![Vec::new(); ways.len()];
        let mut finds = None;
        for _ in 0..if options.quick { 1 } else { 3 } {
            for (way, times) in ways.iter().zip(&mut all) {
                let (ns, found) = over_file(options, way, kind, &path)?;
                times.push(ns);
                if *finds.get_or_insert(found) != found {
                    section.skipped.push(format!("{} of {}: it found {found}, not {finds:?}", kind.name(), way.name));
                }
            }
        }
        let all: Vec<f64> = all.iter().map(|times| median(times)).collect();
        let off = all.first().copied().unwrap_or(f64::NAN);
        for (way, ns) in ways.iter().zip(all) {
            eprintln!("bench-pcap:   {}, {}: {ns:.0} ns", kind.name(), way.name);
            table.lines.push(vec![kind.name().into(), way.name.clone(), format!("{ns:.0}"), saved(ns, off)]);
        }
    }
    section.tables.push(table);
    Ok(section)
}

/// Figure 6 of the locality buffering paper: loss against rate.
pub(super) fn loss(options: &Options) -> Result<Section, String> {
    let mut section = Section {
        title: "Locality through libpcap: loss against rate (figure 6 of that paper)".into(),
        text: "`locality-loop rules 300` (62 MB of patterns) with a ring of 16 MiB, as in the paper; the same traffic replayed \
               over a cable. CPU time of the program for a packet that it got, and the share of packets that was lost."
            .into(),
        ..Section::default()
    };
    let traces = Traces::new(options)?;
    let path = capture(&traces, &Traffic { flows: 100_000, packets: 120_000, seed: 1 })?;
    let program = options.programs.join("locality-loop").display().to_string();
    let words = |_| {
        let words = [&program, "rules", "300", "--interface", "IFACE", "--buffer", RING_BYTES];
        (words.map(str::to_owned).to_vec(), Format::Loop)
    };
    let ways = [
        Way::stock(),
        Way::ours(options, "ring of ours, off", &["TIDEWIRE_ENGINE=packet"], 1),
        sorted(options, "service", 4000, false),
        sorted(options, "service", 4000, true),
    ];
    let rates: &[f64] =
        if options.quick { &[40e3, 160e3] } else { &[20e3, 40e3, 60e3, 80e3, 100e3, 140e3, 200e3, 300e3] };
    let columns = ["offered", "way", "ns a packet", "lost %", "IF dropped %", "CPU %", "unexplained"];
    let mut table = Table::new("", &columns);
    let mut plot = Plot {
        file: "pcap-locality-loss".into(),
        title: "62 MB of patterns: lost, %".into(),
        axes: ["packets a second".into(), "lost, %".into()],
        y_max: Some(100.0),
        ..Plot::default()
    };
    Testbed::inside(Receiving::Sender, |testbed| {
        for way in &ways {
            let mut curve = Vec::new();
            for &wanted in rates {
                let load = Load::udp(1, 64, wanted, if options.quick { 1.0 } else { 3.0 });
                let settings =
                    ReplaySettings { loops: None, numbered: false, ..ReplaySettings::new(vec![path.clone()]) };
                let mut traffic = Replay::load(settings).map_err(|error| error.to_string())?;
                let mut programs = way.programs(&words);
                // The thread runs on the generator's core.
                if way.name.ends_with("thread") {
                    programs = programs.into_iter().map(Program::unpinned).collect();
                }
                let measured = match measure_traffic(testbed, &programs, &mut traffic, &load)?.succeeded() {
                    Ok(measured) => measured,
                    Err(why) => {
                        section.skipped.push(format!("{}: {why}", way.name));
                        break;
                    }
                };
                let lost = 1.0 - measured.received() as f64 / measured.offered.max(1) as f64;
                eprintln!(
                    "bench-pcap:   {}: {}: lost {} %, {:.0} ns, unexplained {}",
                    way.name,
                    rate(measured.offered_pps),
                    percent(lost),
                    measured.program_ns_per_packet(),
                    measured.not_read()
                );
                curve.push((measured.offered_pps, lost * 100.0));
                table.lines.push(vec![
                    rate(measured.offered_pps),
                    way.name.clone(),
                    format!("{:.0}", measured.program_ns_per_packet()),
                    percent(lost),
                    percent(1.0 - measured.link_received()),
                    percent(measured.cpu),
                    measured.not_read().to_string(),
                ]);
            }
            plot.curves.push((way.name.clone(), curve));
        }
        Ok(())
    })?;
    section.tables.push(table);
    section.plots.push(plot);
    Ok(section)
}

/// Unmodified programs that read a capture, and their arguments.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("tcpdump", &["-Z", "root", "-nr", "FILE"]),
    ("ndpiReader", &["-q", "-i", "FILE"]),
    ("softflowd", &["-d", "-r", "FILE"]),
    ("ngrep", &["-q", "-I", "FILE", "passw|token|cookie"]),
];

/// Real programs over a capture.
pub(super) fn programs(options: &Options) -> Result<Section, String> {
    let traces = Traces::new(options)?;
    let path = traces.path("mix.pcap");
    let (what, copies) = match &options.captures {
        None => (None, 0),
        Some(folder) => {
            let copies = if options.quick { 1 } else { 6 };
            let (trace, count) = mix(folder, copies)?;
            trace.write(&path).map_err(|error| error.to_string())?;
            (Some((trace.frames.len(), count)), copies)
        }
    };
    let (path, what) = match what {
        Some((packets, count)) => (
            path,
            format!(
                "{packets} packets: {count} captures, {copies} times each, mixed as if all had been seen within 20 seconds"
            ),
        ),
        None => {
            let traffic = Traffic { flows: 100_000, packets: 400_000, seed: 1 };
            (capture(&traces, &traffic)?, format!("{} packets of made traffic (no `--captures`)", traffic.packets))
        }
    };
    let mut section = Section {
        title: "Locality through libpcap: real programs".into(),
        text: format!("{what}. User and system seconds, the middle of the rounds; all ways take turns."),
        ..Section::default()
    };
    let ways = [
        Way::stock(),
        Way::ours(options, "preloaded, off", &[], 1),
        sorted(options, "service", 4000, false),
        sorted(options, "flow", 4000, false),
    ];
    let mut table = Table::new("", &["program", "library", "CPU, s", "saved, %", "spread, s"]);
    for (program, arguments) in PROGRAMS {
        let file = path.display().to_string();
        let words: Vec<&str> =
            [program].iter().chain(arguments).map(|word| if *word == "FILE" { file.as_str() } else { word }).collect();
        section.commands.push((program.into(), [&[program], arguments].concat().join(" ")));
        let mut all = vec![Vec::new(); ways.len()];
        for _ in 0..if options.quick { 1 } else { 5 } {
            for (way, times) in ways.iter().zip(&mut all) {
                let usage = way.program(&words).quiet().run()?.usage;
                if usage.status != 0 {
                    section.skipped.push(format!("{program}, {}: exit status {}", way.name, usage.status));
                }
                times.push(usage.cpu_s());
            }
        }
        let spread = |times: &[f64]| {
            times.iter().fold(f64::MIN, |a, b| a.max(*b)) - times.iter().fold(f64::MAX, |a, b| a.min(*b))
        };
        let off = all.first().map_or(f64::NAN, |times| median(times));
        for (way, times) in ways.iter().zip(all) {
            let (spread, seconds) = (spread(&times), median(&times));
            eprintln!("bench-pcap:   {program}, {}: {seconds:.2} s", way.name);
            table.lines.push(vec![
                program.into(),
                way.name.clone(),
                format!("{seconds:.2}"),
                saved(seconds, off),
                format!("{spread:.2}"),
            ]);
        }
    }
    section.tables.push(table);
    Ok(section)
}
