//! The rows of `tidewire-bench locality`.

use std::process::Command;

use tidewire_locality::Key;

use super::{
    apps::Kinds,
    measure::{Cost, Way, measure},
    traffic::Traffic,
};
use crate::{
    plot::{Curve, Plot},
    report::{Section, Table},
};

/// Packets of a batch, as in the paper.
const BATCHES: [usize; 8] = [100, 250, 500, 1000, 2000, 4000, 8000, 16_000];
/// Packets of a batch in rows that vary something else: the paper's best for each application.
const BATCH: usize = 4000;
const FLOW_BATCH: usize = 8000;
/// Flows of the traffic in rows that vary something else.
const FLOWS: u64 = 100_000;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub quick: bool,
}

impl Effort {
    fn rounds(self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    /// Packets: a measurement takes about a second.
    fn packets(self, kind: Kinds) -> u64 {
        let packets = if kind == Kinds::Flows { 600_000 } else { 120_000 };
        if self.quick { packets / 8 } else { packets }
    }
}

/// The size of an application in most rows, and its description.
fn usual(kind: Kinds) -> (u64, &'static str) {
    match kind {
        Kinds::Rules => (300, "300 patterns a service"),
        Kinds::Flows => (1_000_000, "1,000,000 flows"),
        Kinds::Ngrams => (256, "filters of 256 KiB"),
    }
}

/// The median of some rounds for each order. All orders are measured in turn, so that other load affects all alike.
fn in_turn(kind: Kinds, size: u64, flows: u64, ways: &[Way], effort: Effort) -> (u64, Vec<Cost>) {
    let trace = Traffic { flows, packets: effort.packets(kind), seed: 1 }.make();
    let mut application = kind.build(size);
    let mut all: Vec<Vec<Cost>> = vec![Vec::new(); ways.len()];
    for _ in 0..effort.rounds() {
        for (way, costs) in ways.iter().zip(&mut all) {
            costs.push(measure(&mut *application, &trace, *way));
        }
    }
    let middle = |mut costs: Vec<Cost>| {
        costs.sort_by(|a, b| a.ns().total_cmp(&b.ns()));
        costs.swap_remove(costs.len() / 2)
    };
    (application.table_bytes(), all.into_iter().map(middle).collect())
}

fn sorted(key: Key, batch_frames: usize) -> Way {
    Way { key: Some(key), batch_frames }
}

fn megabytes(bytes: u64) -> String {
    if bytes < 10 << 20 { format!("{:.1}", bytes as f64 / 1e6) } else { format!("{:.0}", bytes as f64 / 1e6) }
}

/// The saving compared with unsorted packets, percent.
fn saved(cost: &Cost, off: &Cost) -> f64 {
    (1.0 - cost.ns() / off.ns()) * 100.0
}

fn way_name(way: Way) -> String {
    way.key.map_or_else(|| "off".into(), |key| format!("{key}, {}", way.batch_frames))
}

/// A diagram with room for the legend above the curves.
fn plot(file: String, title: String, axes: [&str; 2], curves: Vec<Curve>) -> Plot {
    const ROOM: f64 = 1.4;
    let greatest = curves.iter().flat_map(|curve| &curve.1).map(|point| point.1).fold(0.0, f64::max);
    Plot {
        file,
        title,
        axes: axes.map(str::to_owned),
        x_by_factors: true,
        y_max: Some(greatest * ROOM),
        curves,
        groups: Vec::new(),
    }
}

/// By the number of packets of a batch: figures 3, 5, 7 and 8 of the paper.
pub(super) fn batches(kind: Kinds, effort: Effort) -> Section {
    let (size, of) = usual(kind);
    let flows = if kind == Kinds::Flows { size } else { FLOWS };
    let mut ways = vec![Way::OFF];
    ways.extend(Key::ALL.iter().flat_map(|&key| BATCHES.map(|batch| sorted(key, batch))));
    let (bytes, costs) = in_turn(kind, size, flows, &ways, effort);
    let off = costs[0].clone();
    let mut columns = vec![
        "key, batch",
        "application, ns",
        "order, ns",
        "together, ns",
        "cycles",
        "saved, %",
        "copy into the ring, ns",
    ];
    columns.extend(off.counters.iter().map(|(name, _)| name.as_str()));
    let mut table = Table::new("Each for a packet; CPU time of the thread, user and system.", &columns);
    for (way, cost) in ways.iter().zip(&costs) {
        let mut line = vec![way_name(*way)];
        line.extend([cost.application_ns, cost.sort_ns, cost.ns(), cost.cycles].map(|figure| format!("{figure:.0}")));
        line.extend([format!("{:.1}", saved(cost, &off)), format!("{:.0}", cost.gather_ns)]);
        line.extend(cost.counters.iter().map(|(_, count)| format!("{count:.1}")));
        table.lines.push(line);
    }
    let mut curves = vec![("off".to_owned(), BATCHES.map(|batch| (batch as f64, off.ns())).to_vec())];
    for &key in Key::ALL {
        let of_key = ways.iter().zip(&costs).filter(|(way, _)| way.key == Some(key));
        curves.push((key.to_string(), of_key.map(|(way, cost)| (way.batch_frames as f64, cost.ns())).collect()));
    }
    let plot = plot(
        format!("locality-batch-{}", kind.name()),
        format!("{}, {of}: time for a packet", kind.name()),
        ["packets of a batch", "application and order, ns"],
        curves,
    );
    Section {
        title: format!("{}: packets of a batch", kind.name()),
        text: format!("{of} ({} MB of tables), traffic of {flows} flows.", megabytes(bytes)),
        tables: vec![table],
        plots: vec![plot],
        ..Section::default()
    }
}

/// The orders compared in rows that vary something else.
fn few_ways(batch: usize) -> Vec<Way> {
    [Way::OFF].into_iter().chain(Key::ALL.iter().map(|&key| sorted(key, batch))).collect()
}

const FEW_COLUMNS: [&str; 6] = ["tables, MB", "off, ns", "port, %", "service, %", "flow, %", "order by service, ns"];

/// One line of a table of [`FEW_COLUMNS`], and a point for each key's curve.
fn few(bytes: u64, costs: &[Cost], x: f64, curves: &mut [Curve]) -> Vec<String> {
    let [off, keys @ ..] = costs else { return Vec::new() };
    let mut line = vec![megabytes(bytes), format!("{:.0}", off.ns())];
    for (cost, curve) in keys.iter().zip(curves) {
        line.push(format!("{:.1}", saved(cost, off)));
        curve.1.push((x, 100.0 - saved(cost, off)));
    }
    line.push(keys.get(1).map_or(String::new(), |cost| format!("{:.0}", cost.sort_ns)));
    line
}

fn key_curves() -> Vec<Curve> {
    Key::ALL.iter().map(|key| (key.to_string(), Vec::new())).collect()
}

/// By the size of the tables: which sizes gain from sorting.
pub(super) fn tables(kind: Kinds, effort: Effort) -> Section {
    let sizes: &[u64] = match kind {
        Kinds::Rules => &[3, 10, 30, 100, 300, 1000],
        _ => &[8, 32, 128, 512, 1024],
    };
    let unit = if kind == Kinds::Rules { "patterns a service" } else { "KiB a service" };
    let columns: Vec<&str> = [unit].into_iter().chain(FEW_COLUMNS).collect();
    let mut table =
        Table::new(format!("Saved by sorting {BATCH} packets by each key, the order's own time included."), &columns);
    let mut curves = key_curves();
    for &size in sizes {
        let (bytes, costs) = in_turn(kind, size, FLOWS, &few_ways(BATCH), effort);
        let mut line = vec![size.to_string()];
        line.extend(few(bytes, &costs, bytes as f64 / 1e6, &mut curves));
        table.lines.push(line);
    }
    let plot = plot(
        format!("locality-tables-{}", kind.name()),
        format!("{}: time for a packet, {BATCH} sorted", kind.name()),
        ["tables, MB", "% of unsorted"],
        curves,
    );
    Section {
        title: format!("{}: size of the tables", kind.name()),
        text: format!("Traffic of {FLOWS} flows of 100 services."),
        tables: vec![table],
        plots: vec![plot],
        ..Section::default()
    }
}

/// By the number of flows.
pub(super) fn flows(kind: Kinds, effort: Effort) -> Section {
    let batch = if kind == Kinds::Flows { FLOW_BATCH } else { BATCH };
    let columns: Vec<&str> = ["flows"].into_iter().chain(FEW_COLUMNS).collect();
    let mut table =
        Table::new(format!("Saved by sorting {batch} packets by each key, the order's own time included."), &columns);
    let mut curves = key_curves();
    let powers = if effort.quick { 3..=6 } else { 3..=7 };
    for count in powers.map(|power| 10_u64.pow(power)) {
        let size = if kind == Kinds::Flows { count } else { usual(kind).0 };
        let (bytes, costs) = in_turn(kind, size, count, &few_ways(batch), effort);
        let mut line = vec![count.to_string()];
        line.extend(few(bytes, &costs, count as f64, &mut curves));
        table.lines.push(line);
    }
    let plot = plot(
        format!("locality-flows-{}", kind.name()),
        format!("{}: time for a packet, {batch} sorted", kind.name()),
        ["flows", "% of unsorted"],
        curves,
    );
    Section {
        title: format!("{}: number of flows", kind.name()),
        text:
            "Which flow sends next is drawn with a preference for few; packets come in trains of up to 8, 256 at once."
                .into(),
        tables: vec![table],
        plots: vec![plot],
        ..Section::default()
    }
}

/// Simulated last-level caches: bytes, ways, description.
const CACHES: [(u64, u64, &str); 3] =
    [(512 << 10, 8, "512 KiB (the paper's machine)"), (1 << 20, 16, "1 MiB (L2)"), (32 << 20, 16, "32 MiB (L3)")];

/// Cache misses per packet: figure 4 of the paper. They are simulated, so that there are figures without hardware counters, and
/// for a cache like that of the paper's machine.
pub(super) fn misses(kind: Kinds, effort: Effort) -> Result<Section, String> {
    let (size, of) = usual(kind);
    let flows = if kind == Kinds::Flows { size } else { FLOWS };
    let packets = if effort.quick { 10_000 } else { 40_000 };
    let batches: &[usize] = if effort.quick { &[4000] } else { &[100, 1000, 4000, 16_000] };
    let ways: Vec<Way> =
        [Way::OFF].into_iter().chain(batches.iter().map(|&batch| sorted(Key::Service, batch))).collect();
    let columns: Vec<&str> =
        ["key, batch", "instructions", "L1d misses"].into_iter().chain(CACHES.map(|cache| cache.2)).collect();
    let mut table =
        Table::new(format!("Each for a packet, {} packets counted after 20 % to warm up.", packets), &columns);
    let mut curves: Vec<_> = CACHES.map(|cache| (cache.2.to_owned(), Vec::new())).to_vec();
    for way in ways {
        let mut line = vec![way_name(way)];
        for (cache, curve) in CACHES.iter().zip(&mut curves) {
            let [instructions, first, last] = simulate(kind, size, flows, packets, way, (cache.0, cache.1))?;
            if line.len() == 1 {
                line.extend([format!("{instructions:.0}"), format!("{first:.1}")]);
            }
            line.push(format!("{last:.1}"));
            let x = if way.key.is_some() { way.batch_frames as f64 } else { 10.0 };
            curve.1.push((x, last));
        }
        table.lines.push(line);
    }
    let plot = plot(
        format!("locality-misses-{}", kind.name()),
        format!("{}, {of}: misses for a packet, by service", kind.name()),
        ["packets of a batch (10: off)", "misses of a cache of this size"],
        curves,
    );
    Ok(Section {
        title: format!("{}: misses", kind.name()),
        text: format!(
            "{of}, traffic of {flows} flows. Simulated by callgrind: L1d of 48 KiB, 12 ways, and one level behind it, of the \
             size that the column names. The copy into the ring, the order and the application are all counted. No prefetch is simulated."
        ),
        tables: vec![table],
        plots: vec![plot],
        ..Section::default()
    })
}

/// Instructions, data misses of the first level, and misses of the last level, each per packet.
fn simulate(
    kind: Kinds,
    size: u64,
    flows: u64,
    packets: u64,
    way: Way,
    (bytes, ways): (u64, u64),
) -> Result<[f64; 3], String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--cache-sim=yes", "--instr-atstart=no", "--callgrind-out-file=/dev/null"]);
    command.args(["--I1=32768,8,64", "--D1=49152,12,64"]).arg(format!("--LL={bytes},{ways},64"));
    command.arg(program).args(["application", kind.name(), &size.to_string()]);
    command.args(["--flows", &flows.to_string(), "--packets", &packets.to_string()]);
    if let Some(key) = way.key {
        command.args(["--key", key.name(), "--batch", &way.batch_frames.to_string()]);
    }
    let output = command.output().map_err(|error| format!("valgrind: {error}; install it to count misses"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let cost: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|_| format!("valgrind: {said}"))?;
    let counted = cost["packets"].as_f64().unwrap_or(f64::NAN);
    let events = after(&said, "Events").ok_or_else(|| format!("valgrind counted nothing: {said}"))?;
    let counts = after(&said, "Collected").ok_or_else(|| format!("valgrind counted nothing: {said}"))?;
    let sum = |names: &[&str]| {
        let of = |(event, count): (&str, &str)| if names.contains(&event) { count.parse::<f64>().ok() } else { None };
        events.split_whitespace().zip(counts.split_whitespace()).filter_map(of).sum::<f64>() / counted
    };
    Ok([sum(&["Ir"]), sum(&["D1mr", "D1mw"]), sum(&["ILmr", "DLmr", "DLmw"])])
}

/// The text behind `name    :` in valgrind's output.
fn after<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    said.lines().find_map(|line| line.split_once(name)?.1.split_once(':').map(|(_, rest)| rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_callgrind_is_parsed() {
        let said = "==1== Events    : Ir Dr Dw\n==1== Collected : 100 20 3\n";
        assert_eq!((after(said, "Events"), after(said, "Collected")), (Some("Ir Dr Dw"), Some("100 20 3")));
    }

    #[test]
    fn a_row_has_a_line_for_each_size() {
        let section = tables(Kinds::Ngrams, Effort { quick: true });
        assert_eq!(section.tables[0].lines.len(), 5);
        assert!(section.tables[0].lines.iter().all(|line| line.len() == section.tables[0].columns.len()));
    }
}
