//! The overhead of the drop-in library with default settings: the same program over the system's library and over ours, in
//! turn.

use std::path::Path;

use tidewire_gen::{
    Sizes,
    traffic::{Flows, Traffic as _},
};
use tidewire_lab::pcapfile::Writer;

use super::{options::Options, traces::Traces, way::Way};
use crate::{
    live::{
        Load,
        measurement::measure,
        testbed::{Receiving, Testbed},
        tools::RING_BYTES,
    },
    median::median,
    peer_output::Format,
    program::{COUNTER, Program, counted},
    report::{Goal, Section, Table},
};

/// Compares pairs of measurements. A difference below the spread of repeated measurements is not measurable.
fn verdict(what: &str, with: &[f64], without: &[f64], unit: &str) -> (Goal, Vec<String>) {
    let differences: Vec<f64> = with.iter().zip(without).map(|(a, b)| a - b).collect();
    let difference = median(&differences);
    let spread = median(&without.iter().map(|value| (value - median(without)).abs()).collect::<Vec<_>>());
    let line = vec![
        what.to_owned(),
        format!("{:.4} {unit}", median(without)),
        format!("{:.4} {unit}", median(with)),
        format!("{difference:+.4}"),
        format!("{spread:.4}"),
        with.len().to_string(),
    ];
    let goal = Goal {
        work: None,
        wanted: format!("{what}: the library costs nothing measurable"),
        figure: format!(
            "{difference:+.4} {unit}, median of {} pairs; the system's library differs from itself by {spread:.4}",
            with.len()
        ),
        met: Some(difference <= spread.max(median(without) * 0.01)),
    };
    (goal, line)
}

const COLUMNS: [&str; 6] =
    ["measurement", "system's library", "drop-in", "difference, median of pairs", "spread of the same", "pairs"];

fn capture_file(path: &Path, packets: u64) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    let mut writer = Writer::create(path).map_err(words)?;
    let mut flows = Flows::udp(1000, Sizes::fixed(200)?)?;
    let mut frame = vec![0; flows.bytes_max()];
    for number in 0..packets {
        let made = flows.next(number, &mut frame).ok_or("the flows ended")?;
        writer.write(number, frame.get(..made.bytes).unwrap_or_default()).map_err(words)?;
    }
    writer.finish().map(drop).map_err(words)
}

/// tcpdump over a file; `before`: a command that runs it.
fn tcpdump(options: &Options, ours: bool, before: &[&str], path: &Path) -> Program {
    let way = if ours { Way::ours(options, "", &[], 1) } else { Way::stock() };
    let name = path.display().to_string();
    way.program(&[before, &["tcpdump", "-Z", "root", "-r", &name, "-w", "/dev/null"]].concat()).unpinned()
}

/// Instructions of a run, counted by cachegrind.
fn instructions(options: &Options, ours: bool, path: &Path) -> Result<f64, String> {
    counted(&tcpdump(options, ours, &COUNTER, path).run()?.errors)
}

/// `tcpdump -r FILE -w /dev/null`: CPU time, and instructions per packet.
pub(super) fn files(options: &Options) -> Result<Section, String> {
    let mut section = Section {
        title: "Default settings: a file".into(),
        text:
            "`tcpdump -r FILE -w /dev/null` over 200-byte frames, in turn over the system's library and over the drop-in library by \
               LD_PRELOAD. Instructions are cachegrind's: those of 30,000 packets less those of 10,000, so that loading \
               the library does not count."
                .into(),
        ..Section::default()
    };
    let traces = Traces::new(options)?;
    let [large, more, less] = [("large", 1_000_000), ("more", 30_000), ("less", 10_000)].map(|(name, packets)| {
        let path = traces.path(&format!("{name}.pcap"));
        capture_file(&path, packets).map(|()| path)
    });
    let (large, more, less) = (large?, more?, less?);
    let mut table = Table::new("", &COLUMNS);
    let pairs = if options.quick { 5 } else { 15 };
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..pairs {
        for (index, ours) in [false, true].into_iter().enumerate() {
            let usage = tcpdump(options, ours, &[], &large).quiet().run()?.usage;
            if let Some(seconds) = seconds.get_mut(index) {
                seconds.push(usage.cpu_s() * 1e3);
            }
        }
    }
    let [without, with] = &seconds;
    let (goal, line) = verdict("a million packets of a file, CPU", with, without, "ms");
    section.goals.push(goal);
    table.lines.push(line);
    match each(options, &more, &less) {
        Err(why) => section.skipped.push(format!("instructions: {why}")),
        Ok([without, with]) => {
            let (goal, line) = verdict("instructions a packet of a file", &[with], &[without], "");
            section.goals.push(goal);
            table.lines.push(line);
        }
    }
    section.tables.push(table);
    Ok(section)
}

fn each(options: &Options, more: &Path, less: &Path) -> Result<[f64; 2], String> {
    let of =
        |ours| Ok::<_, String>((instructions(options, ours, more)? - instructions(options, ours, less)?) / 20_000.0);
    Ok([of(false)?, of(true)?])
}

/// A counting loop over an interface.
pub(super) fn live(options: &Options) -> Result<Section, String> {
    let mut section = Section {
        title: "Default settings: an interface".into(),
        text:
            "`pcap-loop` without work over 300,000 packets of 64 bytes a second, in turn over the system's library and \
               over the drop-in library by LD_PRELOAD."
                .into(),
        ..Section::default()
    };
    let path = options.programs.join("pcap-loop").display().to_string();
    let words = |_| {
        let words = [path.as_str(), "IFACE", "--buffer", &RING_BYTES.to_string()].map(str::to_owned);
        (words.to_vec(), Format::Loop)
    };
    let pairs = if options.quick { 3 } else { 9 };
    let load = Load::udp(1000, 64, 300e3, 1.0);
    let mut costs = [Vec::new(), Vec::new()];
    Testbed::inside(Receiving::Sender, |testbed| {
        for _ in 0..pairs {
            for (index, way) in [Way::stock(), Way::ours(options, "ours", &[], 1)].iter().enumerate() {
                let measured = measure(testbed, &way.programs(&words), &load)?.succeeded()?;
                if let Some(costs) = costs.get_mut(index) {
                    costs.push(measured.program_ns_per_packet());
                }
            }
        }
        Ok(())
    })?;
    let [without, with] = &costs;
    let (goal, line) = verdict("CPU a packet, live", with, without, "ns");
    section.goals.push(goal);
    let mut table = Table::new("", &COLUMNS);
    table.lines.push(line);
    section.tables.push(table);
    Ok(section)
}
