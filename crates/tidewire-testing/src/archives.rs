//! Archives of packets, read without the crates that write them.

use std::{fs, path::Path};

use serde_json::{Deserializer, Value};

/// Sums these figures over the priorities of all complete segments: the summary of an index is JSON within the file.
///
/// # Panics
/// An index has no summary.
#[must_use]
pub fn sums_of_segments<const N: usize>(archive: &Path, names: [&str; N]) -> [u64; N] {
    let mut sums = [0; N];
    for entry in fs::read_dir(archive).expect("an archive") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "tidx") {
            continue;
        }
        let bytes = fs::read(path).expect("an index");
        let begin = bytes.windows(11).position(|found| found == b"{\"segment\":").expect("a summary");
        let summary = Deserializer::from_slice(&bytes[begin..]).into_iter::<Value>().next();
        let summary = summary.expect("an object").expect("JSON");
        let ledgers = summary["ledger"].as_array().expect("priorities");
        for (sum, name) in sums.iter_mut().zip(names) {
            *sum += ledgers.iter().filter_map(|ledger| ledger[name].as_u64()).sum::<u64>();
        }
    }
    sums
}
