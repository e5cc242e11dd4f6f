//! The tables: Markdown to read, JSON to compare.

use std::{fmt::Write, fs, path::Path};

use super::{Comparison, Results, Size, measure::Cost};

/// A comparison in one line.
#[must_use]
pub fn line(comparison: &Comparison) -> String {
    let Comparison { ours, other, ratio, goal, met, figure, .. } = comparison;
    if let Some(why) = &other.failed {
        return format!("{}: no figure ({why})", other.name);
    }
    let seconds = |cost: &Cost| if *figure == "wall" { cost.wall_s } else { cost.cpu_s };
    let verdict = verdict(*met);
    format!("{:.3} s against {:.3} s ({}): {ratio:.2} × {goal} {verdict}", seconds(ours), seconds(other), other.name)
}

fn verdict(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    }
}

fn rates(cost: &Cost, trace: Size) -> String {
    let packets = trace.packets as f64 / cost.cpu_s / 1e6;
    let bits = trace.bytes as f64 * 8.0 / cost.cpu_s / 1e9;
    format!("{packets:.2} | {bits:.1}")
}

fn delivered(cost: &Cost) -> String {
    let of = |name: &str| cost.said[name].as_u64();
    match (of("delivered_bytes"), of("matches")) {
        (Some(bytes), Some(matches)) if matches > 0 => format!("{:.1} MB, {matches} matches", bytes as f64 / 1e6),
        (Some(bytes), _) => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => String::new(),
    }
}

fn cost_line(text: &mut String, cost: &Cost, trace: Size, compared: &str) {
    let memory = cost.peak_bytes as f64 / 1e6;
    if let Some(why) = &cost.failed {
        let why: String = why.chars().filter(|&c| c != '|' && c != '\n').take(60).collect();
        let _ = writeln!(text, "| {} | – | – | – | – | – | {why} | |", cost.name);
        return;
    }
    let (cpu, wall) = (cost.cpu_s, cost.wall_s);
    let _ = writeln!(
        text,
        "| {} | {cpu:.3} | {wall:.3} | {} | {memory:.0} | {} | {compared} |",
        cost.name,
        rates(cost, trace),
        delivered(cost)
    );
}

/// Writes `bench.md` and `bench.json`.
///
/// # Errors
/// What the file system says.
pub fn write(results: &Results, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let json = serde_json::to_string_pretty(results).map_err(|error| error.to_string())?;
    fs::write(folder.join("bench.json"), json).map_err(|error| error.to_string())?;
    fs::write(folder.join("bench.md"), markdown(results)).map_err(|error| error.to_string())
}

/// The tables as Markdown.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = String::from("# Benchmark\n\n");
    let size = if results.quick { "; QUICK: small traces, not for quoting" } else { "" };
    let _ = writeln!(
        text,
        "{}. {}. Median of {} runs after a warm-up{size}.\n",
        results.machine, results.date, results.runs
    );
    text.push_str(
        "CPU seconds are user + system of the whole process, one core each (rows about wall time: all cores); \
         Mpps and Gbit/s are packets and captured bits per CPU second; memory is the greatest resident set.\n\n",
    );
    goals(&mut text, results);
    let mut last = "";
    for comparison in &results.comparisons {
        if comparison.row != last {
            let size = comparison.trace;
            let (packets, megabytes) = (size.packets as f64 / 1e6, size.bytes as f64 / 1e6);
            let _ = writeln!(text, "\n## {}\n\n{packets:.2} M packets, {megabytes:.0} MB.\n", comparison.title);
            text.push_str("| program | CPU s | wall s | Mpps | Gbit/s | memory MB | delivered | compared |\n");
            text.push_str("|---|---|---|---|---|---|---|---|\n");
            cost_line(&mut text, &comparison.ours, comparison.trace, "");
        }
        let Comparison { ratio, goal, met, .. } = comparison;
        let compared = match met {
            None if goal.is_empty() => format!("{ratio:.2} ×"),
            _ => format!("{ratio:.2} × ({goal}: {})", verdict(*met)),
        };
        cost_line(&mut text, &comparison.other, comparison.other_trace, &compared);
        last = &comparison.row;
    }
    concurrency(&mut text, results);
    if !results.notes.is_empty() {
        text.push_str("\n## Absent\n\n");
        for note in &results.notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    text
}

fn goals(text: &mut String, results: &Results) {
    text.push_str("| work | against | ratio | goal | |\n|---|---|---|---|---|\n");
    for comparison in results.comparisons.iter().filter(|comparison| !comparison.goal.is_empty()) {
        let Comparison { title, other, ratio, goal, met, .. } = comparison;
        let ratio = if ratio.is_finite() { format!("{ratio:.2} ×") } else { "no figure".into() };
        let _ = writeln!(text, "| {title} | {} | {ratio} | {goal} | {} |", other.name, verdict(*met));
    }
    for (row, goal, peak) in &results.memory {
        let (peak, goal) = (*peak as f64 / 1e6, *goal as f64 / 1e6);
        let _ = writeln!(
            text,
            "| {row}: peak memory | | {peak:.0} MB | at most {goal:.0} MB | {} |",
            verdict(Some(peak <= goal))
        );
    }
    if let (Some(few), Some(many)) = (results.concurrency.first(), results.concurrency.last()) {
        let ratio = many.ns_per_packet / few.ns_per_packet;
        let title = format!("{} connections at once", many.connections);
        let _ = writeln!(
            text,
            "| {title}: cost per packet | {} at once | {ratio:.2} × | at most 3 × | {} |",
            few.connections,
            verdict(Some(ratio <= 3.0))
        );
        let bytes = many.bytes_per_connection;
        let _ = writeln!(
            text,
            "| {title}: memory a connection | | {bytes:.0} bytes | at most 300 bytes | {} |",
            verdict(Some(bytes <= 300.0))
        );
    }
}

fn concurrency(text: &mut String, results: &Results) {
    if results.concurrency.is_empty() {
        return;
    }
    text.push_str("\n## Connections at once (batches made in memory, the engine's cycles only)\n\n");
    text.push_str(
        "| connections | packets | ns a packet | ns a packet of data | bytes a connection |\n|---|---|---|---|---|\n",
    );
    for figures in &results.concurrency {
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {:.1} | {:.0} |",
            figures.connections,
            figures.packets,
            figures.ns_per_packet,
            figures.ns_per_data_packet,
            figures.bytes_per_connection
        );
    }
}
