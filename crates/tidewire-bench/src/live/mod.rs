//! `make bench-live`: peers and Tidewire listening in turn to the same traffic, on one machine in one run.

mod cpu;
pub(crate) mod measurement;
mod rows;
pub(crate) mod running;
pub(crate) mod series;
mod settings;
pub(crate) mod sweep;
pub(crate) mod testbed;
pub(crate) mod tools;

use std::path::PathBuf;

use crate::{
    peer_output::Format,
    program::Program,
    report::{Page, Results, is_wanted},
};
use rows::ROWS;
use settings::Settings;
use testbed::{Receiving, Testbed};
use tools::Tools;

pub use measurement::{Load, Measurement, TrafficKind};

/// How the benchmark is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for the report and its plots.
    pub output: PathBuf,
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build (`tidewire`, `pcap-loop`, `nids-loop`, `stream-loop`).
    pub programs: PathBuf,
    /// Receive in a kernel thread on the program's core, instead of on the generator's core.
    pub threaded: bool,
    /// Only rows whose names contain one of these; none: all.
    pub only: Vec<String>,
}

/// How all rows are measured.
const METHOD: &str = "Two network namespaces joined by a veth pair, frames out of the kernel (`tidewire gen`: XDP live frames). \
The program under test has core 1 to itself; where two workers are named, the second is on core 0. Everything runs at \
nice -20. What was offered is the generator's account; what was received, the programs' own. `lost` is the share of offered \
packets that the program did not get. CPU is in percent of a core while packets were offered, user and system. A rate is held \
when nothing at all is lost and nothing is left in the ring for longer than a tenth of the time; a rate that did not hold is \
tried again once. Rings are of 64 MiB unless said otherwise.\n";

/// Where frames are received: in soft interrupts.
const ON_SENDER: &str = "Core 0 generates and receives: the receiving end's soft interrupts run there, between the generator's \
bursts, which wait for them. So nothing is lost before a program's ring, and the greatest rate is what one core can send *and* \
receive. `softirq` is what receiving took of core 0, by the kernel's ticks.\n";
/// The same with a NAPI thread.
const IN_THREAD: &str = "Core 0 generates; the receiving end's NAPI is a thread on core 1, at a real-time priority, so that it \
interrupts the program as soft interrupts do. Frames that find the interface's ring (256 in a veth) full are lost there. \
`softirq` is the CPU time of that thread.\n";

/// Measures all wanted rows, writes the report after each, and returns it.
///
/// # Errors
/// The report cannot be written, or network namespaces are not available. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    if let Some(why) = tidewire_gen::net::missing() {
        return Err(format!("network namespaces are not available: {why}"));
    }
    let settings =
        Settings { quick: options.quick, receiving: receiving(options.threaded), tools: Tools::new(&options.programs) };
    let method = format!("{METHOD}\n{}\n", if options.threaded { IN_THREAD } else { ON_SENDER });
    let page = Page { name: "bench-live", title: "Benchmark: live", remarks: String::new(), method };
    let mut results = Results::new(page, options.quick);
    results.set("threaded", options.threaded)?;
    let is_default = |id: &str| !options.only.is_empty() || id != rows::TEN_MILLION;
    for (id, row) in ROWS.iter().filter(|(id, _)| is_default(id) && is_wanted(id, &options.only)) {
        results.measure(id, || row(&settings));
        results.write(&options.output)?;
    }
    Ok(results.markdown())
}

fn receiving(threaded: bool) -> Receiving {
    if threaded { Receiving::Thread } else { Receiving::Sender }
}

/// Measures one program once, for profiling; the figures as JSON.
///
/// # Errors
/// The testbed or the generator fails.
pub fn one(words: &[String], load: &Load, threaded: bool) -> Result<String, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = words.first().map(|first| {
        let format = match first.rsplit('/').next().unwrap_or_default() {
            "tcpdump" => Format::Tcpdump,
            "pcap-loop" | "nids-loop" | "stream-loop" => Format::Loop,
            _ => Format::Tidewire,
        };
        Program::new(first, &words).format(format)
    });
    let measured =
        Testbed::inside(receiving(threaded), |testbed| measurement::measure(testbed, program.as_slice(), load))?;
    serde_json::to_string_pretty(&measured).map_err(|error| error.to_string())
}
