//! The report of a benchmark: Markdown to read, JSON to compare, plots.

use std::{fmt::Write, fs, path::Path};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{machine, plot::Plot};

/// A goal, and the figure that was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Goal {
    /// Of a comparison: what was done, and the program that Tidewire is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<[String; 2]>,
    /// The goal.
    pub wanted: String,
    /// The figure.
    pub figure: String,
    /// Whether the goal was reached; `None`: there is no figure.
    pub met: Option<bool>,
}

impl Goal {
    /// The verdict in one word.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        self.met.map_or("no figure", |met| if met { "met" } else { "MISSED" })
    }
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// Its caption; may be empty.
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

/// One row of a benchmark.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// The row's name.
    pub id: String,
    /// The quantity measured.
    pub title: String,
    /// How it is measured.
    pub text: String,
    /// Commands, by the programs' names.
    pub commands: Vec<(String, String)>,
    /// Goals.
    pub goals: Vec<Goal>,
    /// Tables.
    pub tables: Vec<Table>,
    /// All measurements.
    pub points: Vec<Value>,
    /// Quantities that were not measured, and why.
    pub skipped: Vec<String>,
    /// Diagrams.
    #[serde(skip)]
    pub plots: Vec<Plot>,
}

/// The page that results are written to.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The name of the files, without ending: `NAME.md`, `NAME.json`. It begins each line of progress, too.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// Sentences behind machine and date.
    pub remarks: String,
    /// How all rows are measured.
    pub method: String,
}

/// All results of a benchmark.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// The machine: processor, cores, memory, kernel.
    pub machine: String,
    /// The date, UTC.
    pub date: String,
    /// Whether the measurements were few and short.
    pub quick: bool,
    /// Settings and figures that only this benchmark has.
    #[serde(flatten)]
    pub details: Map<String, Value>,
    /// The rows.
    pub sections: Vec<Section>,
    /// Programs absent from every row, and why.
    pub notes: Vec<String>,
    #[serde(skip)]
    page: Page,
}

impl Results {
    /// Empty results of this machine, now.
    #[must_use]
    pub fn new(page: Page, quick: bool) -> Self {
        Self { machine: machine::describe(), date: machine::date(), quick, page, ..Self::default() }
    }

    /// Adds a setting or figure that only this benchmark has.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn set(&mut self, name: &str, value: impl Serialize) -> Result<(), String> {
        let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
        self.details.insert(name.to_owned(), value);
        Ok(())
    }

    /// Measures a row and adds its section. A row that fails is noted.
    pub fn measure(&mut self, id: &str, row: impl FnOnce() -> Result<Section, String>) {
        eprintln!("{}: {id}", self.page.name);
        let section = row().unwrap_or_else(|why| {
            eprintln!("{}:   FAILED: {why}", self.page.name);
            Section { title: id.to_owned(), skipped: vec![format!("failed: {why}")], ..Section::default() }
        });
        self.sections.push(Section { id: id.to_owned(), ..section });
    }

    /// Writes page, JSON and plots into a folder.
    ///
    /// # Errors
    /// The error of the file system, or of the plotting backend.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let words = |error: std::io::Error| error.to_string();
        fs::create_dir_all(folder).map_err(words)?;
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(folder.join(format!("{}.json", self.page.name)), json).map_err(words)?;
        for plot in self.sections.iter().flat_map(|section| &section.plots) {
            plot.draw(folder)?;
        }
        fs::write(folder.join(format!("{}.md", self.page.name)), self.markdown()).map_err(words)
    }

    /// The page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let Page { title, remarks, method, .. } = &self.page;
        let mut text = format!("# {title}\n\n");
        let quick = if self.quick { " QUICK: few and short measurements, not for quoting." } else { "" };
        let _ = writeln!(text, "{}. {}.{remarks}{quick}\n\n{method}", self.machine, self.date);
        self.push_goals(&mut text);
        for section in &self.sections {
            push_section(&mut text, section);
        }
        if !self.notes.is_empty() {
            text.push_str("\n## Absent\n\n");
            for note in &self.notes {
                let _ = writeln!(text, "- {note}");
            }
        }
        text
    }

    /// The goals of all rows: comparisons with what was compared, others with the figure alone.
    fn push_goals(&self, text: &mut String) {
        let goals: Vec<&Goal> = self.sections.iter().flat_map(|section| &section.goals).collect();
        let Some(first) = goals.first() else { return };
        let is_comparison = first.work.is_some();
        text.push_str(match is_comparison {
            true => "| work | against | ratio | goal | |\n|---|---|---|---|---|\n",
            false => "| goal | figure | |\n|---|---|---|\n",
        });
        for goal in goals {
            let Goal { work, wanted, figure, .. } = goal;
            let _ = match (is_comparison, work) {
                (true, work) => {
                    let [work, against] = work.clone().unwrap_or_default();
                    writeln!(text, "| {work} | {against} | {figure} | {wanted} | {} |", goal.verdict())
                }
                (false, _) => writeln!(text, "| {wanted} | {figure} | {} |", goal.verdict()),
            };
        }
    }
}

/// Whether a row is to be measured: its name contains one of `only`, or `only` is empty.
#[must_use]
pub fn is_wanted(id: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|only| id.contains(only.as_str()))
}

fn push_section(text: &mut String, section: &Section) {
    let _ = writeln!(text, "\n## {}", section.title);
    if !section.text.is_empty() {
        let _ = writeln!(text, "\n{}", section.text);
    }
    if !section.commands.is_empty() {
        text.push('\n');
    }
    for (name, command) in &section.commands {
        let _ = writeln!(text, "- {name}: `{command}`");
    }
    for table in section.tables.iter().filter(|table| !table.lines.is_empty()) {
        if !table.title.is_empty() {
            let _ = writeln!(text, "\n{}", table.title);
        }
        let _ = writeln!(text, "\n| {} |", table.columns.join(" | "));
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
    fn a_report_says_what_was_not_measured() {
        let section = Section { title: "A row".into(), skipped: vec!["no such program".into()], ..Section::default() };
        let goal = Goal { wanted: "much".into(), figure: "little".into(), met: Some(false), ..Goal::default() };
        let mut results = Results { sections: vec![Section { goals: vec![goal], ..section }], ..Results::default() };
        let text = results.markdown();
        assert!(text.contains("| much | little | MISSED |") && text.contains("- no such program"));
        let work = Some(["counting".to_owned(), "libnids".to_owned()]);
        let goal = Goal { work, wanted: "at least 2 ×".into(), figure: "3 ×".into(), met: Some(true) };
        results.sections = vec![Section { goals: vec![goal], ..Section::default() }];
        assert!(results.markdown().contains("| counting | libnids | 3 × | at least 2 × | met |"));
    }
}
