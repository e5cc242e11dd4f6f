//! `make bench-sensor`: what the sensor's queues cost, beside other ways from one process to another; and the figures of NCAP.

mod capturing;
pub mod crash;
pub mod ends;
mod in_turn;
mod rows;
mod settings;
mod traffic;

use std::{fs, path::PathBuf};

use crate::report::{Page, Results, is_wanted};
use rows::ROWS;
use settings::Settings;

/// How the benchmark is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for the report and its plots.
    pub output: PathBuf,
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build (`tidewire`, `tidewire-bench`, `queue-loop`, `pcap-loop`, `nids-loop`).
    pub programs: PathBuf,
    /// The compiled peers of a queue (`peers/transport.c`).
    pub transport: PathBuf,
    /// Folder in which traces are made; each is removed after its row.
    pub folder: PathBuf,
    /// A recording of real traffic; without it the row about it is skipped.
    pub big: Option<PathBuf>,
    /// Only rows whose names contain one of these; none: all.
    pub only: Vec<String>,
}

/// How all rows are measured.
const METHOD: &str = "All programs of a row run in turn, round after round, on the same machine in the same run; figures are medians \
over the rounds. Where packets are captured live, two network namespaces are joined by a veth pair; core 0 generates and receives \
frames, and the capturing program has core 1. With two cores there is no third one for analyzers: what is measured with many of them \
is whether the capture suffers, not how work scales.\n";

/// Measures all wanted rows, writes the report after each, and returns it.
///
/// # Errors
/// The report cannot be written. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let settings = Settings {
        quick: options.quick,
        programs: options.programs.clone(),
        transport: options.transport.clone(),
        folder: options.folder.clone(),
        big: options.big.clone(),
    };
    let page = Page {
        name: "bench-sensor",
        title: "Benchmark: the sensor",
        remarks: String::new(),
        method: format!("{METHOD}\n"),
    };
    let mut results = Results::new(page, options.quick);
    results.notes.push("Snort and Suricata: not in Debian 12; libnids stands for the peers of figures 3 to 6".into());
    for (id, row) in ROWS.iter().filter(|(id, _)| is_wanted(id, &options.only)) {
        results.measure(id, || row(&settings));
        results.write(&options.output)?;
    }
    Ok(results.markdown())
}
