//! `make bench-live`: peers and Tidewire listening in turn to the same traffic, on one machine in one run.

pub(crate) mod cpu;
pub(crate) mod plot;
pub(crate) mod point;
pub(crate) mod program;
pub(crate) mod report;
mod rows;
pub(crate) mod said;
pub(crate) mod stage;
mod sweep;
pub(crate) mod tools;

use std::{path::PathBuf, process::Command};

use report::{Results, write};
use tools::Tools;

pub use point::{Kind, Load, Point};
pub use report::markdown;
use rows::ROWS;

/// How the benchmark is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where tables and plots are written.
    pub output: PathBuf,
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build (`tidewire`, `pcap-loop`, `nids-loop`).
    pub programs: PathBuf,
    /// Frames are received in a thread of the kernel on the program's core, instead of on the generator's core.
    pub threaded: bool,
    /// Only rows whose names hold one of these; none: all.
    pub only: Vec<String>,
}

/// What rows are given.
pub(crate) struct Bench {
    pub quick: bool,
    pub receiving: stage::Receiving,
    pub tools: Tools,
}

impl Bench {
    /// How long a load is offered.
    pub fn seconds(&self) -> f64 {
        if self.quick { 1.0 } else { 2.0 }
    }
}

/// Runs all rows that are wanted and writes tables and plots after each.
///
/// # Errors
/// The tables cannot be written. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    if let Some(why) = tidewire_gen::net::missing() {
        return Err(format!("networks cannot be had here: {why}"));
    }
    let receiving = if options.threaded { stage::Receiving::Thread } else { stage::Receiving::Sender };
    let bench = Bench { quick: options.quick, receiving, tools: Tools::new(&options.programs) };
    let mut results = Results {
        machine: crate::bench::machine(),
        date: said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        quick: options.quick,
        threaded: options.threaded,
        ..Results::default()
    };
    let by_default = |id: &str| options.only.is_empty() && id != rows::TEN_MILLION;
    let wanted = |id: &str| by_default(id) || options.only.iter().any(|only| id.contains(only.as_str()));
    for (id, row) in ROWS.iter().filter(|(id, _)| wanted(id)) {
        eprintln!("bench-live: {id}");
        let section = row(&bench).unwrap_or_else(|why| {
            eprintln!("bench-live:   FAILED: {why}");
            report::Section { title: (*id).into(), skipped: vec![format!("failed: {why}")], ..Default::default() }
        });
        results.sections.push(report::Section { id: (*id).into(), ..section });
        write(&results, &options.output)?;
    }
    Ok(markdown(&results))
}

/// Measures one program once, for profiling and trying: its point as JSON.
///
/// # Errors
/// The stage or the generator fails.
pub fn one(words: &[String], load: &Load, threaded: bool) -> Result<String, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = words.first().map(|first| {
        let speech = match first.rsplit('/').next().unwrap_or_default() {
            "tcpdump" => said::Speech::Tcpdump,
            "pcap-loop" | "nids-loop" | "stream-loop" => said::Speech::Loop,
            _ => said::Speech::Tidewire,
        };
        program::Program::new(first, &words, speech)
    });
    let receiving = if threaded { stage::Receiving::Thread } else { stage::Receiving::Sender };
    let point = stage::Stage::inside(receiving, |stage| point::measure(stage, program.as_ref(), load))?;
    serde_json::to_string_pretty(&point).map_err(|error| error.to_string())
}

pub(crate) fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
