//! `tidewire-bench locality`: how the order of packets affects applications with large tables.

pub mod apps;
pub mod measure;
pub mod mixture;
mod rows;
pub mod traffic;

use std::path::{Path, PathBuf};

use tidewire_locality::Key;

use apps::Kinds;
use measure::{Cost, Way, measure};
use traffic::{Trace, Traffic};

use crate::{
    report::{Page, Results, is_wanted},
    sys::perf::Counters,
};

/// One measurement from the command line.
#[derive(Clone, Debug)]
pub struct One {
    /// The application.
    pub kind: Kinds,
    /// See [`Kinds::build`].
    pub size: u64,
    /// A capture instead of generated traffic.
    pub capture: Option<PathBuf>,
    /// Generated traffic.
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

/// How all rows are measured.
const METHOD: &str = "Packets are copied into a ring of 64 MiB (as the kernel does), ordered by `tidewire_locality`, and given \
to an application in the same thread, pinned to a core. Times are the thread's CPU time, user and system; cycles are \
that time at the processor's nominal rate. `off`: in the order of arrival, 256 packets at a time. All ways of a row take turns; \
the middle of three rounds counts. The first fifth of the packets is not counted. What an application finds is the same in every \
order (a test says so).\n\n\
The traffic is made: 100 services by Zipf's law, flows with a preference for few, payloads of 6 to 1,400 bytes in a language of each \
service's own, so that patterns begin to match and automata are walked deep. **It is made to have tables used in their whole \
breadth**: what is saved here is what can be saved, not what every program saves.\n\n\
- `rules`: patterns of two or three words of a service's language, one automaton (deterministic, Aho-Corasick) for each of 101 \
groups, chosen by destination port, else by source port, as Snort does.\n\
- `ngrams`: a Bloom filter of 5-grams for each service (Anagram, RAID 2006).\n\
- `flows`: a flow probe with a record of six cache lines for each flow, all flows known before.\n";

/// Measures all rows whose names contain one of `only` (none: all), writes the report after each, and returns it.
///
/// # Errors
/// The report cannot be written. A row that fails is noted.
pub fn run(folder: &Path, quick: bool, only: &[String]) -> Result<String, String> {
    let effort = rows::Effort { quick };
    let remarks = match Counters::start() {
        Ok(_) => String::new(),
        Err(why) => format!(" No hardware counters here ({why}): misses are simulated."),
    };
    let page = Page { name: "locality", title: "Benchmark: locality", remarks, method: format!("{METHOD}\n") };
    let mut results = Results::new(page, quick);
    for row in ["batch", "tables", "flows", "misses"] {
        for kind in Kinds::ALL {
            let id = format!("{row}-{}", kind.name());
            let has_row = !(row == "tables" && kind == Kinds::Flows || row == "flows" && kind == Kinds::Ngrams);
            if !has_row || !is_wanted(&id, only) {
                continue;
            }
            results.measure(&id, || match row {
                "batch" => Ok(rows::batches(kind, effort)),
                "tables" => Ok(rows::tables(kind, effort)),
                "flows" => Ok(rows::flows(kind, effort)),
                _ => rows::misses(kind, effort),
            });
            results.write(folder)?;
        }
    }
    Ok(results.markdown())
}
