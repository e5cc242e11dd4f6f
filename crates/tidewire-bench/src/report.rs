//! What a run showed: Markdown to read, JSON to compare, plots.

use std::{fmt::Write, fs, path::Path};

use serde::Serialize;

use super::{plot::Plot, point::Point};

/// What is wanted, and what there was.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What is wanted.
    pub wanted: String,
    /// What there was.
    pub figure: String,
    /// Whether it was reached; `None`: there is no figure.
    pub met: Option<bool>,
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The columns' names.
    pub columns: Vec<String>,
    /// The lines.
    pub lines: Vec<Vec<String>>,
}

impl Table {
    /// An empty one.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Self { title: title.into(), columns, lines: Vec::new() }
    }
}

/// One row of the benchmark.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// The row's name.
    pub id: String,
    /// What is measured.
    pub title: String,
    /// How.
    pub text: String,
    /// Commands, by the programs' names.
    pub commands: Vec<(String, String)>,
    /// What is wanted.
    pub goals: Vec<Goal>,
    /// Tables.
    pub tables: Vec<Table>,
    /// All measurements.
    pub points: Vec<Point>,
    /// What was not measured, and why.
    pub skipped: Vec<String>,
    /// Diagrams.
    #[serde(skip)]
    pub plots: Vec<Plot>,
}

/// All of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// The machine.
    pub machine: String,
    /// When.
    pub date: String,
    /// Whether few and short measurements were made.
    pub quick: bool,
    /// Whether frames were received in a thread on the programs' core.
    pub threaded: bool,
    /// The rows.
    pub sections: Vec<Section>,
}

/// Writes `bench-live.md`, `bench-live.json` and the plots.
///
/// # Errors
/// What the file system says.
pub fn write(results: &Results, folder: &Path) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    fs::create_dir_all(folder).map_err(words)?;
    let json = serde_json::to_string_pretty(results).map_err(|error| error.to_string())?;
    fs::write(folder.join("bench-live.json"), json).map_err(words)?;
    for plot in results.sections.iter().flat_map(|section| &section.plots) {
        plot.draw(folder)?;
    }
    fs::write(folder.join("bench-live.md"), markdown(results)).map_err(words)
}

/// How it was measured.
const METHOD: &str = "Two network namespaces joined by a veth pair, frames out of the kernel (`tidewire gen`: XDP live frames). \
The program under test has core 1 to itself; where two workers are named, the second is on core 0. Everything runs at \
nice -20. What was offered is the generator's account; what was received, the programs' own. `lost` is the share of offered \
packets that the program did not get. CPU is in percent of a core while packets were offered, user and system. A rate is held \
when nothing at all is lost and nothing is left in the ring for longer than a tenth of the time; a rate that did not hold is \
tried again once. Rings are of 64 MiB unless said otherwise.\n";

/// Where frames are received.
const ON_SENDER: &str = "Core 0 generates and receives: the receiving end's soft interrupts run there, between the generator's \
bursts, which wait for them. So nothing is lost before a program's ring, and the greatest rate is what one core can send *and* \
receive. `softirq` is what receiving took of core 0, by the kernel's ticks.\n";
/// See `ON_SENDER`.
const IN_THREAD: &str = "Core 0 generates; the receiving end's NAPI is a thread on core 1, at a real-time priority, so that it \
interrupts the program as soft interrupts do. Frames that find the interface's ring (256 in a veth) full are lost there. \
`softirq` is the CPU time of that thread.\n";

/// The tables as Markdown.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = String::from("# Benchmark: live\n\n");
    let size = if results.quick { " QUICK: few and short measurements, not for quoting." } else { "" };
    let _ = writeln!(
        text,
        "{}. {}.{size}\n\n{METHOD}\n{}",
        results.machine,
        results.date,
        if results.threaded { IN_THREAD } else { ON_SENDER }
    );
    let goals: Vec<_> = results.sections.iter().flat_map(|section| &section.goals).collect();
    if !goals.is_empty() {
        text.push_str("| goal | figure | |\n|---|---|---|\n");
    }
    for Goal { wanted, figure, met } in goals {
        let verdict = met.map_or("no figure", |met| if met { "met" } else { "MISSED" });
        let _ = writeln!(text, "| {wanted} | {figure} | {verdict} |");
    }
    for section in &results.sections {
        push_section(&mut text, section);
    }
    text
}

pub(crate) fn push_section(text: &mut String, section: &Section) {
    let _ = writeln!(text, "\n## {}\n\n{}\n", section.title, section.text);
    for (name, command) in &section.commands {
        let _ = writeln!(text, "- {name}: `{command}`");
    }
    for table in section.tables.iter().filter(|table| !table.lines.is_empty()) {
        let _ = writeln!(text, "\n{}\n\n| {} |", table.title, table.columns.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(table.columns.len()));
        for line in &table.lines {
            let _ = writeln!(text, "| {} |", line.join(" | "));
        }
    }
    for plot in &section.plots {
        let _ = writeln!(text, "\n![{}]({}.svg)", plot.title, plot.file);
    }
    if !section.skipped.is_empty() {
        text.push_str("\nNot measured:\n\n");
        for why in &section.skipped {
            let _ = writeln!(text, "- {why}");
        }
    }
}

/// A rate in words.
#[must_use]
pub fn rate(packets_per_s: f64) -> String {
    if packets_per_s >= 1e6 {
        format!("{:.2} Mpps", packets_per_s / 1e6)
    } else {
        format!("{:.0} kpps", packets_per_s / 1e3)
    }
}

/// A share as percent, with as many digits as it has to show.
#[must_use]
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".into(),
        small if small < 0.1 => format!("{small:.4}"),
        some if some < 10.0 => format!("{some:.2}"),
        many => format!("{many:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(rate(14_880_952.0), "14.88 Mpps");
        assert_eq!(rate(250_000.0), "250 kpps");
        assert_eq!(percent(0.0), "0");
        assert_eq!(percent(0.00001), "0.0010");
        assert_eq!(percent(0.345), "34");
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let section = Section { title: "A row".into(), skipped: vec!["no such program".into()], ..Section::default() };
        let goal = Goal { wanted: "much".into(), figure: "little".into(), met: Some(false) };
        let section = Section { goals: vec![goal], ..section };
        let text = markdown(&Results { sections: vec![section], ..Results::default() });
        assert!(text.contains("| much | little | MISSED |") && text.contains("- no such program"));
    }
}
