//! `make bench-pcap`: programs as they are over the system's libpcap and over the drop-in one, alone and as several instances
//! that share their packets; and what the library costs where nothing is asked of it.

mod group;
mod locality;
mod rows;
mod shim;
mod tools;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::live::{
    report::{Section, push_section},
    said,
};

pub use group::Group;

/// How it is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where tables and plots are written.
    pub output: PathBuf,
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build (`pcap-loop`, `libtidewire_pcap.so`).
    pub programs: PathBuf,
    /// The classifier over nDPI, compiled.
    pub ndpi: PathBuf,
    /// Folder of real captures, where there is one.
    pub captures: Option<PathBuf>,
    /// Only rows whose names hold one of these; none: all.
    pub only: Vec<String>,
}

/// Measures a row.
type Row = fn(&Options) -> Result<Section, String>;

const ROWS: &[(&str, Row)] = &[
    ("capture", rows::capture),
    ("counting", rows::counting),
    ("softflowd", rows::softflowd),
    ("ndpi", rows::ndpi),
    ("shim-files", shim::files),
    ("shim-live", shim::live),
    ("locality-files", locality::files),
    ("locality-loss", locality::loss),
    ("locality-programs", locality::programs),
];

/// How it was measured.
const METHOD: &str = "Two network namespaces joined by a veth pair; frames out of the kernel (`tidewire gen`), on core 0, \
which receives them as well. One instance has core 1; two and more share both cores, so that they take time from the \
generator. Rings are of 64 MiB where packets are only counted, and of 4 MiB with applications, where a large one would \
hide what a short run loses. *Link received* is what the interface did not drop, as a share of what was offered; \
*application received* and *dropped* are the programs' own sums, as shares of what the link received. CPU is of all instances \
together, in percent of one core. `unexplained` is what nobody accounts for.\n";

/// Runs all rows that are wanted and writes the tables after each.
///
/// # Errors
/// The tables cannot be written, or networks cannot be had. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    if let Some(why) = tidewire_gen::net::missing() {
        return Err(format!("networks cannot be had here: {why}"));
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    let quick = if options.quick { " QUICK: few and short measurements, not for quoting." } else { "" };
    let date = said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]);
    let mut text = format!(
        "# Benchmark: the drop-in libpcap\n\n{}. {date}. Load average of the machine when it began: {load}.{quick}\n\n{METHOD}",
        crate::bench::machine()
    );
    fs::create_dir_all(&options.output).map_err(|error| error.to_string())?;
    let wanted = |id: &str| options.only.is_empty() || options.only.iter().any(|only| id.contains(only.as_str()));
    for (id, row) in ROWS.iter().filter(|(id, _)| wanted(id)) {
        eprintln!("bench-pcap: {id}");
        let section = row(options).unwrap_or_else(|why| {
            eprintln!("bench-pcap:   FAILED: {why}");
            Section { title: (*id).into(), skipped: vec![format!("failed: {why}")], ..Section::default() }
        });
        for goal in &section.goals {
            let verdict = goal.met.map_or("no figure", |met| if met { "met" } else { "MISSED" });
            let _ = writeln!(text, "\nGoal: {}: {} ({verdict})", goal.wanted, goal.figure);
        }
        push_section(&mut text, &section);
        draw(&section, &options.output)?;
        fs::write(options.output.join("bench-pcap.md"), &text).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn draw(section: &Section, folder: &Path) -> Result<(), String> {
    section.plots.iter().try_for_each(|plot| plot.draw(folder))
}
