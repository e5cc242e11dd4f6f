//! Instructions of a packet, hostile and benign.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use super::{
    rows::{Make, QUICK_VIEWS, ROWS, Row, VIEWS},
    traffic::Made,
};
use crate::program::{CALLGRIND, Program, collected};

/// Most times that a packet of hostile content may cost what one of its twin costs.
const RATIO_MAX: f64 = 8.0;

/// Most times that the second half of a capture may cost what the first half costs: allocators and sorting have steps.
const GROWTH_MAX: f64 = 1.5;

/// Packets of the smallest capture. The others have twice and four times as many.
const PACKETS: usize = 300;
const QUICK_PACKETS: usize = 100;

/// What is measured, and where.
pub struct Options {
    /// Folder for captures while they are needed, and for bench-hostile.md.
    pub output: PathBuf,
    /// The program `tidewire`.
    pub program: PathBuf,
    /// Small captures.
    pub quick: bool,
    /// Only rows whose names contain one of these.
    pub rows: Vec<String>,
}

/// The cost of one kind in one view.
struct Cost {
    /// Instructions of one item.
    item: f64,
    /// The second half against the first.
    growth: f64,
}

/// Measures all rows; the table, and whether all are within their bounds.
///
/// # Errors
/// A program cannot be run, or a file cannot be written.
pub fn run(options: &Options) -> Result<(String, bool), String> {
    fs::create_dir_all(&options.output).map_err(|error| format!("{}: {error}", options.output.display()))?;
    let mut table = String::from(
        "| content | command | instructions | of its twin | ratio | growth | |\n|---|---|---|---|---|---|---|\n",
    );
    let (mut is_within, mut twins) = (true, Vec::new());
    let is_wanted = |row: &&Row| options.rows.is_empty() || options.rows.iter().any(|part| row.name.contains(&**part));
    for row in ROWS.iter().filter(is_wanted) {
        let views = match row.views {
            [] if options.quick => QUICK_VIEWS,
            [] => VIEWS,
            views => views,
        };
        for view in views {
            let hostile = cost(options, row.hostile, view)?;
            let benign = twin(options, row.benign, view, &mut twins)?;
            let ratio = hostile.item / benign;
            let is_row_within = ratio <= RATIO_MAX && hostile.growth <= GROWTH_MAX;
            is_within &= is_row_within;
            let verdict = if is_row_within { "" } else { "**beyond**" };
            let command = view.replace(" {}", "").replace("{out}/", "");
            let line = format!(
                "| {} | `{command}` | {:.0} | {benign:.0} | {ratio:.1} | {:.2} | {verdict} |",
                row.name, hostile.item, hostile.growth
            );
            eprintln!("{line}");
            let _ = writeln!(table, "{line}");
        }
    }
    let _ = writeln!(table, "\n| content | what it is |\n|---|---|");
    for row in ROWS.iter().filter(is_wanted) {
        let _ = writeln!(table, "| {} | {} |", row.name, row.kind);
    }
    Ok((table, is_within))
}

/// The cost of a twin, which several rows may have.
fn twin(
    options: &Options,
    make: Make,
    view: &'static str,
    known: &mut Vec<(Make, &'static str, f64)>,
) -> Result<f64, String> {
    if let Some((.., item)) = known.iter().find(|one| std::ptr::fn_addr_eq(one.0, make) && one.1 == view) {
        return Ok(*item);
    }
    let item = cost(options, make, view)?.item;
    known.push((make, view, item));
    Ok(item)
}

fn cost(options: &Options, make: Make, view: &str) -> Result<Cost, String> {
    let packets = if options.quick { QUICK_PACKETS } else { PACKETS };
    let [one, two, four] = [1, 2, 4].map(|times| measured(options, make, view, packets * times));
    let ((items_1, cost_1), (items_2, cost_2), (items_4, cost_4)) = (one?, two?, four?);
    let first = (cost_2 - cost_1) / (items_2 - items_1);
    let second = (cost_4 - cost_2) / (items_4 - items_2);
    Ok(Cost { item: second, growth: second / first })
}

/// How many items a capture holds, and what it costs to read them.
fn measured(options: &Options, make: Make, view: &str, packets: usize) -> Result<(f64, f64), String> {
    let path = options.output.join("hostile.pcap");
    let places = options.output.join("places");
    let made = || -> std::io::Result<usize> {
        let mut made = Made::create(&path)?;
        let items = make(&mut made, packets);
        made.finish()?;
        let _ = fs::remove_dir_all(&places);
        fs::create_dir_all(&places)?;
        Ok(items)
    };
    let items = made().map_err(|error| format!("{}: {error}", path.display()))?;
    let finished = instructions(options, view, &path, &places);
    let _ = fs::remove_dir_all(&places);
    let _ = fs::remove_file(&path);
    Ok((items as f64, finished?))
}

fn instructions(options: &Options, view: &str, path: &Path, places: &Path) -> Result<f64, String> {
    let (path, places) = (path.to_string_lossy(), places.to_string_lossy());
    let program = options.program.to_string_lossy();
    let words: Vec<String> = view.split(' ').map(|word| word.replace("{}", &path).replace("{out}", &places)).collect();
    let mut command: Vec<&str> = CALLGRIND.to_vec();
    command.push(&program);
    command.extend(words.iter().map(String::as_str));
    command.extend(["--workers", "1"]);
    let finished = Program::new("tidewire", &command).unpinned().run()?;
    collected(&finished.errors).map_err(|error| format!("{}: {error}: {}", command.join(" "), finished.errors))
}
