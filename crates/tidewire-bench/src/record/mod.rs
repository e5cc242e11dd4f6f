//! `make bench-record`: packets to memory and to disk, by Tidewire and by its peers; and how they are found again.

mod cases;
mod look_back;
mod recall;
mod recorders;
mod settings;
mod sizes;

use std::path::PathBuf;

use crate::report::{Page, Results, Section, is_wanted};
use recorders::Recorders;
use settings::Settings;

/// How the benchmark is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for the report and its plots.
    pub output: PathBuf,
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build (`tidewire`, `pcap-loop`, `libtidewire_pcap.so`).
    pub programs: PathBuf,
    /// A folder in memory.
    pub memory: PathBuf,
    /// A folder on a disk.
    pub disk: PathBuf,
    /// Only rows whose names contain one of these; none: all.
    pub only: Vec<String>,
}

/// How all rows are measured.
const METHOD: &str = "Rates: two network namespaces joined by a veth pair, UDP frames of 1,000 flows out of the kernel \
(`tidewire gen`). Core 0 generates and receives, the recorder has core 1 to itself with all of its threads. A rate is held when \
nothing at all is lost (dropped, shed, or left unread), and nothing is left to be written for longer than a tenth of the time. \
All have rings of 64 MiB, and `tidewire record` buffers of 64 MiB behind it; it writes pcapng with index and digest. CPU is that \
of the recorder while packets arrive and until it is idle.\n";

type Row = fn(&Settings) -> Result<Section, String>;

const ROWS: &[(&str, Row)] = &[
    ("memory", sizes::to_memory),
    ("disk", sizes::to_disk),
    ("cases", cases::run),
    ("look-back", look_back::run),
    ("recall", recall::run),
];

/// Measures all wanted rows, writes the report after each, and returns it.
///
/// # Errors
/// The report cannot be written, or network namespaces are not available. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    if let Some(why) = tidewire_gen::net::missing() {
        return Err(format!("network namespaces are not available: {why}"));
    }
    let settings = Settings {
        quick: options.quick,
        programs: options.programs.clone(),
        memory: options.memory.clone(),
        disk: options.disk.clone(),
        recorders: Recorders::new(&options.programs),
    };
    let page =
        Page { name: "bench-record", title: "Benchmark: recording", remarks: String::new(), method: METHOD.to_owned() };
    let mut results = Results::new(page, options.quick);
    for (id, row) in ROWS.iter().filter(|(id, _)| is_wanted(id, &options.only)) {
        results.measure(id, || row(&settings));
        results.write(&options.output)?;
    }
    Ok(results.markdown())
}
