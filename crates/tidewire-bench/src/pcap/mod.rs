//! `make bench-pcap`: unmodified programs over the system's libpcap and over the drop-in library, alone and as several
//! instances that share their packets; and the cost of the library with default settings.

mod locality;
mod options;
mod overhead;
mod rows;
mod traces;
mod way;

use std::fs;

use crate::report::{Page, Results, Section, is_wanted};

pub use options::Options;

/// Measures a row.
type Row = fn(&Options) -> Result<Section, String>;

const ROWS: &[(&str, Row)] = &[
    ("capture", rows::capture),
    ("counting", rows::counting),
    ("softflowd", rows::softflowd),
    ("ndpi", rows::ndpi),
    ("shim-files", overhead::files),
    ("shim-live", overhead::live),
    ("locality-files", locality::files),
    ("locality-loss", locality::loss),
    ("locality-programs", locality::programs),
];

/// How all rows are measured.
const METHOD: &str = "Two network namespaces joined by a veth pair; frames out of the kernel (`tidewire gen`), on core 0, \
which receives them as well. One instance has core 1; two and more share both cores, so that they take time from the \
generator. Rings are of 64 MiB where packets are only counted, and of 4 MiB with applications, where a large one would \
hide what a short run loses. *Link received* is what the interface did not drop, as a share of what was offered; \
*application received* and *dropped* are the programs' own sums, as shares of what the link received. CPU is of all instances \
together, in percent of one core. `unexplained` are packets that neither the programs nor a counter of dropped packets account \
for.\n";

/// Measures all wanted rows, writes the report after each, and returns it.
///
/// # Errors
/// The report cannot be written, or network namespaces are not available. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    if let Some(why) = tidewire_gen::net::missing() {
        return Err(format!("network namespaces are not available: {why}"));
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let remarks = format!(" Load average of the machine when it began: {}.", load.split(' ').next().unwrap_or("?"));
    let page =
        Page { name: "bench-pcap", title: "Benchmark: the drop-in libpcap", remarks, method: format!("{METHOD}\n") };
    let mut results = Results::new(page, options.quick);
    for (id, row) in ROWS.iter().filter(|(id, _)| is_wanted(id, &options.only)) {
        results.measure(id, || row(options));
        results.write(&options.output)?;
    }
    Ok(results.markdown())
}
