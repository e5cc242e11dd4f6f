//! `tidewire-lab locality`: what the order of packets does to applications with large tables.

pub mod apps;
pub mod measure;
pub mod mixture;
mod report;
mod rows;
pub mod traffic;

use std::path::{Path, PathBuf};

use tidewire_locality::Key;

use apps::Kinds;
use measure::{Cost, Way, measure};
use traffic::{Trace, Traffic};

use crate::live::report::Section;

/// One measurement from the command line.
#[derive(Clone, Debug)]
pub struct One {
    /// The application.
    pub kind: Kinds,
    /// See [`Kinds::build`].
    pub size: u64,
    /// A capture instead of made traffic.
    pub capture: Option<PathBuf>,
    /// Made traffic.
    pub traffic: Traffic,
    /// `None`: unsorted.
    pub key: Option<Key>,
    /// Packets of a batch.
    pub batch_frames: usize,
}

/// Measures once.
///
/// # Errors
/// The capture cannot be read.
pub fn one(one: &One) -> Result<Cost, String> {
    let trace = match &one.capture {
        Some(path) => Trace::read(path).map_err(|error| error.to_string())?,
        None => one.traffic.make(),
    };
    let way = one.key.map_or(Way::OFF, |key| Way { key: Some(key), batch_frames: one.batch_frames });
    Ok(measure(&mut *one.kind.build(one.size), &trace, way))
}

/// Measures all rows whose names hold one of `only` (none: all) and writes `locality.md` and its plots after each.
///
/// # Errors
/// They cannot be written. A row that fails is noted.
pub fn run(folder: &Path, quick: bool, only: &[String]) -> Result<String, String> {
    let effort = rows::Effort { quick };
    let quick = if quick { " QUICK: few and short measurements, not for quoting." } else { "" };
    let counters = match crate::sys::perf::Counters::start() {
        Ok(_) => String::new(),
        Err(why) => format!(" No hardware counters here ({why}): misses are simulated."),
    };
    let date = crate::live::said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]);
    let machine = format!("{}. {date}.{quick}{counters}", crate::bench::machine());
    let mut sections = Vec::new();
    let mut text = String::new();
    for row in ["batch", "tables", "flows", "misses"] {
        for kind in Kinds::ALL {
            let id = format!("{row}-{}", kind.name());
            let has_row = !(row == "tables" && kind == Kinds::Flows || row == "flows" && kind == Kinds::Ngrams);
            if !has_row || !(only.is_empty() || only.iter().any(|only| id.contains(only.as_str()))) {
                continue;
            }
            eprintln!("locality: {id}");
            let section = match row {
                "batch" => Ok(rows::batches(kind, effort)),
                "tables" => Ok(rows::tables(kind, effort)),
                "flows" => Ok(rows::flows(kind, effort)),
                _ => rows::misses(kind, effort),
            };
            sections.push(section.unwrap_or_else(|why| Section {
                title: id,
                skipped: vec![format!("failed: {why}")],
                ..Section::default()
            }));
            text = report::write(&sections, &machine, folder)?;
        }
    }
    Ok(text)
}
